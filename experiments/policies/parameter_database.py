"""Parameter database: no barrier for all workers, but one for each block of the model, between those who touch it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Add, Alarm, Effect, Look, Send
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message, View
from sparsync.verify.monitors.guarantee import Guarantee

Blocks = tuple[tuple[int, ...], ...]
Part = tuple[int, ...] | None
"""What is versioned by itself: one block, or the whole model (None)."""


def read_blocks(text: str) -> Blocks:
    """The blocks of each worker from a text: workers apart by /, blocks by +, a worker of none is empty.

    Raises:
        ValueError: it is none; the message says what it must be.
    """
    row = r"(\d+(\+\d+)*)?"
    if not text or not re.fullmatch(f"{row}(/{row})*", text, flags=re.ASCII):
        raise ValueError("blocks of each worker, such as 0+1/1")
    return tuple(tuple(int(block) for block in row.split("+") if block) for row in text.split("/"))


@dataclass(eq=False)
class ParameterDatabase(Policy):
    """A worker starts a step once every block it reads holds the last step of all who write it: BSP's numbers, sooner.

    There is one copy of each block: reports on it of step t + 1 are added, together and in worker order, when all its
    writers have reported and all its readers have read step t. Workers must change nothing but the blocks they write.
    Weights are 1/(workers that are there or left after that step), so that reports weigh as in a round of all; with
    whole models 1/(reports). One that joins counts its steps from the least of the others.

    Args:
        reads: blocks that each worker reads; None is all of them. On a command line 0+1/1 is: worker 0 reads blocks 0
            and 1, worker 1 block 1.
        writes: blocks that each worker writes, a part of what it reads; None is all. With neither this is BSP.

    Source: Goel, Agrawal, Chawla, Elmagarmid 2015, from its abstract; the rule in these terms is ours.
    """

    reads: Blocks | None = field(default=None, metadata={"read": read_blocks})
    writes: Blocks | None = field(default=None, metadata={"read": read_blocks})

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("reads", "writes"):
            _require_blocks(name, getattr(self, name))
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
        self._parts: list[Part] = sorted({part for parts in self._reads for part in parts}, key=_order)
        self._writers: dict[Part, list[int]] = {part: [] for part in self._parts}
        self._readers: dict[Part, list[int]] = {part: [] for part in self._parts}
        for worker in range(count):
            for part in self._writes[worker]:
                self._writers[part].append(worker)
            for part in self._reads[worker]:
                self._readers[part].append(worker)
        self._steps = [0] * count
        self._pending: set[tuple[int, Part]] = set()
        """(worker, part) written in its last step and not added yet"""
        self._reports: dict[Part, list[Message]] = {part: [] for part in self._parts}
        """that have arrived; those that were added since the part was surveyed last included"""
        effects = super().attach(view)
        self._survey()
        return effects

    def on_step(self, worker: int) -> Iterable[Effect]:
        """One report for each block that it writes."""
        self._steps[worker] += 1
        self._pending.update((worker, part) for part in self._writes[worker])
        sends = [Send(worker, part) for part in self._writes[worker]]
        return sends or self._reminder()

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """The last report on a block completes its next version."""
        part = message.blocks
        self._reports[part].append(message)
        if self._is_pending(message):
            self._missing[part].discard(message.worker)
        if not self._missing[part]:
            self._complete.add(part)
        additions = self._additions([part])
        return [*additions, *self._reminder()] if additions else []

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        """Readers have read since additions were tried last."""
        del key
        additions = self._additions(sorted(self._complete, key=_order))
        return [*additions, *self._reminder()] if additions else []

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """A block may have waited for one that is gone."""
        view = self.view
        self._pending = {(other, part) for other, part in self._pending if other != worker}
        if worker in view.alive:
            waited_for = {other for other, _ in self._pending}
            others = [self._steps[other] - (other in waited_for) for other in view.alive if other != worker]
            self._steps[worker] = min(others, default=self._steps[worker])
        self._survey()
        return [*self._additions(sorted(self._complete, key=_order)), *self._reminder()]

    def gate(self, worker: int) -> bool:
        """Every block it reads holds all that its writers made in as many steps as the worker has finished."""
        return not any(0 <= self._versions[part] < self._steps[worker] for part in self._reads[worker])

    def guarantee(self) -> Guarantee:
        """A worker's step is in the model before its next one; with whole models, what BSP promises."""
        return Guarantee(gap=1, staleness=0, deferral=0) if self.writes is None else Guarantee(deferral=0)

    def _survey(self) -> None:
        """Count anew, as membership has changed."""
        self._gone = sorted(steps for worker, steps in enumerate(self._steps) if worker not in self.view.alive)
        self._versions: dict[Part, int] = {}
        """steps of all its writers that a part holds; negative if nobody writes it any more"""
        self._missing: dict[Part, set[int]] = {}
        """whose reports the next version lacks"""
        self._complete: set[Part] = set()
        """parts of which reports are there and none is missing"""
        for part in self._parts:
            self._survey_part(part)

    def _survey_part(self, part: Part) -> None:
        held = {worker: self._held(worker, part) for worker in self._writers[part] if worker in self.view.alive}
        version = self._versions[part] = min(held.values(), default=-1)
        reports = self._reports[part] = [message for message in self._reports[part] if message.uid in self.view.inbox]
        present = {message.worker for message in reports if self._is_pending(message)}
        self._missing[part] = {worker for worker, steps in held.items() if steps == version} - present
        if reports and not self._missing[part]:
            self._complete.add(part)
        else:
            self._complete.discard(part)

    def _held(self, worker: int, part: Part) -> int:
        """Steps of the worker that the part holds."""
        return self._steps[worker] - ((worker, part) in self._pending)

    def _members(self, step: int) -> int:
        """Workers that are there, or went when they had finished this step."""
        return self.view.alive_count + len(self._gone) - bisect_left(self._gone, step)

    def _is_read(self, part: Part) -> bool:
        """Have all readers begun a step on this version, or a later one?"""
        view = self.view
        begun = (
            self._steps[worker] + (worker not in view.waiting) for worker in self._readers[part] if worker in view.alive
        )
        return all(count > self._versions[part] for count in begun)

    def _is_pending(self, message: Message) -> bool:
        """Is it of its worker's last step, and not of an earlier life?"""
        worker = message.worker
        return (worker, message.blocks) in self._pending and message.clock == self.view.clock[worker]

    def _additions(self, parts: Iterable[Part]) -> list[Effect]:
        """The next versions of those parts that are complete and read, and whose gates they may open."""
        effects: list[Effect] = []
        for part in parts:
            if part in self._complete and self._is_read(part):
                effects += self._next_version(part)
        return effects

    def _next_version(self, part: Part) -> list[Effect]:
        """All reports of it, with those of workers gone; nobody's who is a step ahead."""
        version = self._versions[part]
        reports = [
            message
            for message in sorted(self._reports[part], key=lambda message: (message.worker, message.uid))
            if message.uid in self.view.inbox
            and (not self._is_pending(message) or self._held(message.worker, part) == version)
        ]
        self._pending.difference_update([(message.worker, part) for message in reports if self._is_pending(message)])
        self._survey_part(part)
        if not reports:
            return []
        weight = 1 / (len(reports) if part is None else self._members(version + 1))
        messages = tuple(message.uid for message in reports)
        return [Add(messages, (weight,) * len(messages)), Look(tuple(self._readers[part]))]

    def _reminder(self) -> list[Alarm]:
        """Additions that wait for readers only are tried again once gates have opened."""
        return [Alarm(self.view.now, "readers")] if self._complete else []


def _require_blocks(name: str, blocks: object) -> None:
    rows = () if blocks is None else blocks
    if isinstance(rows, tuple | list) and all(isinstance(row, tuple | list) for row in rows):
        for row in rows:
            for block in row:
                require_count(f"a block of {name}", block, least=0)
    else:
        raise ValueError(f"{name} must be tuples of blocks, one for each worker, got {blocks!r}")


def _order(part: Part) -> tuple[int, ...]:
    return part or ()


def _parts(blocks: Blocks, view: View) -> list[tuple[Part, ...]]:
    if len(blocks) != view.worker_count:
        raise ValueError(f"blocks of {len(blocks)} workers for {view.worker_count} of them")
    strangers = [block for row in blocks for block in row if not 0 <= block < len(view.block_bytes)]
    if strangers:
        raise ValueError(f"there are blocks 0 to {len(view.block_bytes) - 1}, got {strangers[0]}")
    return [tuple((block,) for block in sorted(set(row))) for row in blocks]
