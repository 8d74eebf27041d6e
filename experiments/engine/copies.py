"""Which blocks of the shared model does a worker hold as they are? What it need not read again when it goes on."""

from __future__ import annotations

from collections import deque

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
        self._given: list[dict[int, int]] = [{} for _ in range(view.worker_count)]
        """by worker and block, as of which version it was given last, though that may not be there; 0 is the initial"""
        self._due: dict[int, deque[int]] = {}
        """by worker, the bytes of its readings that are on their way, which come as they were ordered"""

    def added(self, message: Message, version: int) -> None:
        """The message is part of the model as of this version."""
        if message.blocks is None:
            self._all_changed = version
        else:
            self._changed.update(dict.fromkeys(message.blocks, version))

    def gives(self, worker: int, blocks: tuple[int, ...] | None) -> dict[int, int]:
        """The worker is given these blocks (None: all) as they are now: of each, as of which version it had it."""
        given = self._given[worker]
        wanted = range(len(self._view.block_bytes)) if blocks is None else blocks
        known = {block: given.get(block, 0) for block in wanted}
        given.update(dict.fromkeys(known, self._view.version))
        return known

    def pulls(self, worker: int, pull: Pull) -> None:
        """The worker reads blocks, and goes on.

        Raises:
            PolicyError: one that it leaves out has changed since it read it.
        """
        view = self._view
        if pull.blocks is None:
            self._read_all[worker] = view.version
            self._read[worker].clear()
            return
        left_out = set(range(len(view.block_bytes))).difference(pull.blocks)
        old = sorted(block for block in left_out if not self._is_known(worker, block))
        if old:
            raise PolicyError(
                f"worker {worker} cannot go on without blocks {old}, which have changed since it read them"
            )
        self._reads(worker, pull.blocks, view.version)

    def fetches(self, worker: int, size: int) -> None:
        """A reading of so many bytes besides what it does has begun."""
        self._due.setdefault(worker, deque()).append(size)
        self._view.fetching.add(worker)

    def fetched(self, worker: int, blocks: tuple[int, ...], version: int) -> tuple[int, bool]:
        """It has ended, as of the version at which it had begun: its bytes, and was it the worker's last one?"""
        self._reads(worker, blocks, version)
        size, is_last = self._due[worker].popleft(), not self._due[worker]
        if is_last:
            self._view.fetching.discard(worker)
        return size, is_last

    def departs(self, worker: int) -> None:
        """Nothing of it is on its way any more, and should it come back it has the initial model alone."""
        self._due.pop(worker, None)
        self._given[worker].clear()
        self._view.fetching.discard(worker)

    def _is_known(self, worker: int, block: int) -> bool:
        changed = max(self._all_changed, self._changed.get(block, 0))
        return changed <= max(self._read_all[worker], self._read[worker].get(block, 0))

    def _reads(self, worker: int, blocks: tuple[int, ...], version: int) -> None:
        known = self._read[worker]
        for block in blocks:
            known[block] = max(version, known.get(block, 0))
