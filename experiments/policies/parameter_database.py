"""Parameter database: no barrier for all workers, but one for each block of the model, between those who touch it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from sparsync.experiments.engine.effects import Add, Alarm, Effect, Send
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.view import Message, View
from sparsync.verify.monitors import Guarantee

Blocks = tuple[tuple[int, ...], ...]
Part = tuple[int, ...] | None
"""What is versioned by itself: one block, or the whole model (None)."""


@dataclass(eq=False)
class ParameterDatabase(Policy):
    """A worker starts a step once every block it reads holds the last step of all who write it: BSP's numbers, sooner.

    There is one copy of each block: reports on it of step t + 1 are added, together and in worker order, when all its
    writers have reported and all its readers have read step t. Workers must change nothing but the blocks they write.
    Weights are 1/(workers that are there or left after that step), so that reports weigh as in a round of all; with
    whole models 1/(reports). One that joins counts its steps from the least of the others.

    Args:
        reads: blocks that each worker reads; None is all of them.
        writes: blocks that each worker writes, a part of what it reads; None is all. With neither this is BSP.

    Source: Goel, Agrawal, Chawla, Elmagarmid 2015, from its abstract; the rule in these terms is ours.
    """

    reads: Blocks | None = None
    writes: Blocks | None = None

    def __post_init__(self) -> None:
        if self.reads is not None and self.writes is None:
            raise ValueError(f"whoever writes all blocks reads them all, but reads are {self.reads}")
        if self.reads is not None and self.writes is not None:
            if len(self.reads) != len(self.writes):
                raise ValueError(f"reads of {len(self.reads)} workers, but writes of {len(self.writes)}")
            for worker, (reads, writes) in enumerate(zip(self.reads, self.writes, strict=True)):
                if not set(writes) <= set(reads):
                    raise ValueError(f"worker {worker} writes blocks {writes} but reads only {reads}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Every block is there in its initial version.

        Raises:
            ValueError: the blocks are of another number of workers, or not there.
        """
        count = view.worker_count
        whole: list[tuple[Part, ...]] = [(None,)] * count
        everything = (tuple(range(len(view.block_bytes))),) * count
        self._writes = whole if self.writes is None else _parts(self.writes, view)
        self._reads = whole if self.writes is None else _parts(self.reads or everything, view)
        self._parts: list[Part] = sorted({part for parts in self._reads for part in parts}, key=lambda part: part or ())
        self._steps = [0] * count
        self._pending: set[tuple[int, Part]] = set()
        """(worker, part) written in its last step and not added yet"""
        return super().attach(view)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """One report for each block that it writes."""
        self._steps[worker] += 1
        self._pending.update((worker, part) for part in self._writes[worker])
        sends = [Send(worker, part) for part in self._writes[worker]]
        return sends or self._reminder()

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """The last report on a block completes its next version."""
        additions = self._additions([message.blocks])
        return [*additions, *self._reminder()] if additions else []

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        """Readers have read since additions were tried last."""
        del key
        additions = self._additions(self._parts)
        return [*additions, *self._reminder()] if additions else []

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """A block may have waited for one that is gone."""
        view = self.view
        self._pending = {(other, part) for other, part in self._pending if other != worker}
        if worker in view.alive:
            waited_for = {other for other, _ in self._pending}
            others = [self._steps[other] - (other in waited_for) for other in view.alive if other != worker]
            self._steps[worker] = min(others, default=self._steps[worker])
        return [*self._additions(self._parts), *self._reminder()]

    def gate(self, worker: int) -> bool:
        """Every block it reads holds all that its writers made in as many steps as the worker has finished."""
        return all(
            self._written(other, part) >= self._steps[worker]
            for part in self._reads[worker]
            for other in self._writers(part)
        )

    def guarantee(self) -> Guarantee:
        """A worker's step is in the model before its next one; with whole models, what BSP promises."""
        return Guarantee(gap=1, staleness=0, deferral=0) if self.writes is None else Guarantee(deferral=0)

    def _writers(self, part: Part) -> list[int]:
        return [worker for worker in sorted(self.view.alive) if part in self._writes[worker]]

    def _written(self, worker: int, part: Part) -> int:
        """Steps of the worker that the part holds."""
        return self._steps[worker] - ((worker, part) in self._pending)

    def _members(self, step: int) -> int:
        """Workers that are there, or went when they had finished this step."""
        alive = self.view.alive
        return sum(worker in alive or finished >= step for worker, finished in enumerate(self._steps))

    def _is_read(self, part: Part, version: int) -> bool:
        """Have all readers begun a step on this version, or a later one?"""
        view = self.view
        begun = (
            self._steps[worker] + (worker not in view.waiting) for worker in view.alive if part in self._reads[worker]
        )
        return all(count > version for count in begun)

    def _complete(self, part: Part) -> tuple[int, list[Message]]:
        """The part's version, and the reports of its next one if all are there; with them, those of workers gone."""
        writers = self._writers(part)
        version = min((self._written(worker, part) for worker in writers), default=-1)
        needed = {worker for worker in writers if self._written(worker, part) == version}
        reports = [message for message in self.view.inbox_by_worker() if message.blocks == part]
        present = {message.worker for message in reports if self._is_pending(message)}
        if not needed <= present:
            return version, []
        return version, [message for message in reports if message.worker in needed or not self._is_pending(message)]

    def _is_pending(self, message: Message) -> bool:
        """Is it of its worker's last step, and not of an earlier life?"""
        worker = message.worker
        return (worker, message.blocks) in self._pending and message.clock == self.view.clock[worker]

    def _additions(self, parts: Iterable[Part]) -> list[Add]:
        additions = []
        for part in parts:
            version, reports = self._complete(part)
            if reports and self._is_read(part, version):
                weight = 1 / (len(reports) if part is None else self._members(version + 1))
                additions.append(Add(tuple(message.uid for message in reports), (weight,) * len(reports)))
                self._pending.difference_update([(m.worker, part) for m in reports if self._is_pending(m)])
        return additions

    def _reminder(self) -> list[Alarm]:
        """Additions that wait for readers only are tried again once gates have opened."""
        return [Alarm(self.view.now, "readers")] if any(self._complete(part)[1] for part in self._parts) else []


def _parts(blocks: Blocks, view: View) -> list[tuple[Part, ...]]:
    if len(blocks) != view.worker_count:
        raise ValueError(f"blocks of {len(blocks)} workers for {view.worker_count} of them")
    strangers = [block for row in blocks for block in row if not 0 <= block < len(view.block_bytes)]
    if strangers:
        raise ValueError(f"there are blocks 0 to {len(view.block_bytes) - 1}, got {strangers[0]}")
    return [tuple((block,) for block in sorted(set(row))) for row in blocks]
