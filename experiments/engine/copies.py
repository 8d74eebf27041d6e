"""Which blocks of the shared model does a worker hold as they are? What it need not read again when it goes on."""

from __future__ import annotations

from sparsync.experiments.engine.effects import Pull
from sparsync.experiments.engine.horizon import PolicyError
from sparsync.experiments.engine.view import Message, View


class Copies:
    """When each block changed last, and as of when each worker has it.

    Args:
        view: of the run.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._all_changed = 0
        """version since which not all blocks have changed together"""
        self._changed: dict[int, int] = {}
        """version of the last change of a block alone"""
        self._read_all = [0] * view.worker_count
        self._read: list[dict[int, int]] = [{} for _ in range(view.worker_count)]
        """of what was read since then, by worker and block, as of which version"""
        self._due: dict[int, int] = {}
        """by worker, how many of its readings are on their way"""

    def added(self, message: Message, version: int) -> None:
        """The message is part of the model as of this version."""
        if message.blocks is None:
            self._all_changed = version
        else:
            self._changed.update(dict.fromkeys(message.blocks, version))

    def pulls(self, worker: int, pull: Pull) -> int:
        """The worker reads blocks, and goes on: their bytes.

        Raises:
            PolicyError: one that it leaves out has changed since it read it.
        """
        view = self._view
        if pull.blocks is None:
            self._read_all[worker] = view.version
            self._read[worker].clear()
            return sum(view.block_bytes)
        left_out = set(range(len(view.block_bytes))).difference(pull.blocks)
        old = sorted(block for block in left_out if not self._is_known(worker, block))
        if old:
            raise PolicyError(
                f"worker {worker} cannot go on without blocks {old}, which have changed since it read them"
            )
        return self._reads(worker, pull.blocks, view.version)

    def fetches(self, worker: int) -> None:
        """A reading besides what it does has begun."""
        self._due[worker] = self._due.get(worker, 0) + 1
        self._view.fetching.add(worker)

    def fetched(self, worker: int, blocks: tuple[int, ...], version: int) -> bool:
        """It has ended, as of the version at which it had begun; was it the worker's last one?"""
        self._reads(worker, blocks, version)
        self._due[worker] -= 1
        if self._due[worker]:
            return False
        self._view.fetching.discard(worker)
        return True

    def departs(self, worker: int) -> None:
        """Nothing of it is on its way any more."""
        self._due.pop(worker, None)
        self._view.fetching.discard(worker)

    def _is_known(self, worker: int, block: int) -> bool:
        changed = max(self._all_changed, self._changed.get(block, 0))
        return changed <= max(self._read_all[worker], self._read[worker].get(block, 0))

    def _reads(self, worker: int, blocks: tuple[int, ...], version: int) -> int:
        known = self._read[worker]
        for block in blocks:
            known[block] = max(version, known.get(block, 0))
        return sum(self._view.block_bytes[block] for block in blocks)
