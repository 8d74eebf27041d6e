"""What master and workers of a farm say to each other: an iteration after the other, and what single parts take.

Rank 0 is the master, ranks from 1 to K are workers with neighbouring blocks each, all others wait for the next talk.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor

from sparsync.experiments.bulk.jacobi import (
    POSITION,
    VALUE,
    Block,
    Change,
    change,
    make_block,
    packed,
    tree_sum,
    unpacked,
)
from sparsync.experiments.parties.talk import Talk, give, take

NOTHING = torch.empty(0, dtype=torch.uint8)


@dataclass(frozen=True)
class Job:
    """What is computed, and how.

    Args:
        unknowns: d.
        block_count: equal blocks of rows.
        kept: values that a block sets in an iteration; all its rows is Jacobi's method.
        iterations: at most.
        tolerance: it ends when the approximation moves no farther than this in an iteration.
        work_seconds: how long a worker sleeps for each block.
        message_seconds: how long the master sleeps before it tells a worker something, however little.
        byte_seconds: how much longer for each byte of it.
        seed: of the linear system.
    """

    unknowns: int
    block_count: int
    kept: int
    iterations: int
    tolerance: float
    work_seconds: float
    message_seconds: float
    byte_seconds: float
    seed: int

    @property
    def rows(self) -> int:
        """Of a block."""
        return self.unknowns // self.block_count

    @property
    def is_dense(self) -> bool:
        """Whole approximations are told, without positions."""
        return self.kept == self.rows

    def blocks(self, worker: int, workers: int) -> list[int]:
        """Numbers of the blocks of a worker, from 0, which are those beside each other."""
        share = self.block_count // workers
        return list(range(worker * share, (worker + 1) * share))

    def link_seconds(self, message: Tensor) -> float:
        """How long the master sleeps before a message."""
        return self.message_seconds + self.byte_seconds * message.numel()

    def told_bytes(self) -> int:
        """Of an approximation, or of what changed in it."""
        each = VALUE.itemsize if self.is_dense else POSITION.itemsize + VALUE.itemsize
        return self.block_count * self.kept * each


@dataclass(frozen=True)
class Course:
    """What became of an iteration after the other.

    Args:
        seconds: of each.
        master_seconds: of each, what the master took once all answers were there.
        digest: of the bits of all iterates.
        change: how far the last one is from the one before.
        approximation: [d], the last one.
    """

    seconds: tuple[float, ...]
    master_seconds: tuple[float, ...]
    digest: str
    change: float
    approximation: Tensor


def master(job: Job, workers: int) -> Talk[Course]:
    """Iterate with so many workers, from zero.

    Raises:
        ExchangeError: a worker is lost, or does not come in time.
    """
    approximation = torch.zeros(job.unknowns, dtype=VALUE)
    said, seconds, own, digest, moved = packed(approximation), [], [], hashlib.sha256(), 0.0
    for _ in range(job.iterations):
        began = time.perf_counter()
        for worker in range(1, workers + 1):
            time.sleep(job.link_seconds(said))
            yield from give(worker, "approximation", said)
        answers = []
        for worker in range(1, workers + 1):
            answers.append((yield from take(worker, "answer")))
        arrived = time.perf_counter()
        changes = [part for answer in answers for part in _read(answer, job, job.block_count // workers)]
        said, moved = _advance(approximation, changes, job)
        ended = time.perf_counter()
        seconds.append(ended - began)
        own.append(ended - arrived)
        digest.update(approximation.numpy().data)
        if moved <= job.tolerance:
            break
    for worker in range(1, workers + 1):
        yield from give(worker, "approximation", NOTHING)
    return Course(tuple(seconds), tuple(own), digest.hexdigest(), moved, approximation)


def worker(job: Job, number: int, workers: int, blocks: dict[int, Block]) -> Talk[None]:
    """Answer the master until it has no more to say; nothing is said to one who does not take part.

    Args:
        job: what is computed.
        number: its own, from 0.
        workers: who take part.
        blocks: those that it knows; what it lacks it makes.

    Raises:
        ExchangeError: the master is lost, or does not come in time.
    """
    if number >= workers:
        return
    own = known(job, job.blocks(number, workers), blocks)
    approximation, is_first = torch.zeros(job.unknowns, dtype=VALUE), True
    while True:
        said = yield from take(0, "approximation", is_patient=is_first)
        if not said.numel():
            return
        if is_first or job.is_dense:
            (approximation,) = unpacked(said, (job.unknowns, VALUE))
        else:
            count = job.block_count * job.kept
            values, positions = unpacked(said, (count, VALUE), (count, POSITION))
            approximation[positions.long()] = values
        is_first = False
        changes = [change(block, approximation, job.kept, job.work_seconds) for block in own]
        yield from give(0, "answer", _written(changes, job))


def known(job: Job, numbers: Sequence[int], blocks: dict[int, Block]) -> list[Block]:
    """Blocks by their numbers; those that are not there yet are made."""
    for number in numbers:
        if number not in blocks:
            blocks[number] = make_block(job.unknowns, job.rows, number, job.seed)
    return [blocks[number] for number in numbers]


def _written(changes: Sequence[Change], job: Job) -> Tensor:
    """Values, energies and, where not all rows are set, positions."""
    values = torch.cat([one.values for one in changes])
    energies = torch.cat([one.energy for one in changes])
    positions = [] if job.is_dense else [torch.cat([one.positions for one in changes])]
    return packed(values, energies, *positions)


def _read(answer: Tensor, job: Job, blocks: int) -> list[Change]:
    """The changes of a worker's blocks; without positions all rows are set, in their order."""
    count = blocks * job.kept
    parts = [(count, VALUE), (blocks, VALUE)]
    if job.is_dense:
        values, energies = unpacked(answer, *parts)
        empty = torch.empty(0, dtype=POSITION)
        return [Change(empty, *pair) for pair in zip(values.split(job.kept), energies.split(1), strict=True)]
    values, energies, positions = unpacked(answer, *parts, (count, POSITION))
    split = zip(positions.split(job.kept), values.split(job.kept), energies.split(1), strict=True)
    return [Change(*triple) for triple in split]


def _advance(approximation: Tensor, changes: Sequence[Change], job: Job) -> tuple[Tensor, float]:
    """Set what changes, in place: what is told next, and how far it moved if all rows did."""
    values = torch.cat([one.values for one in changes])
    moved = float(tree_sum([one.energy for one in changes]).sqrt())
    if job.is_dense:
        approximation.copy_(values)
        return packed(approximation), moved
    positions = torch.cat([one.positions for one in changes])
    approximation[positions.long()] = values
    return packed(values, positions), moved


@dataclass(frozen=True)
class Constants:
    """What the parts of an iteration take, in seconds; those of messages are the master's own.

    Args:
        dispatch: to tell a worker who waits for it, with nothing to tell.
        send: t_s, beyond that, of a whole approximation.
        collect: to take an answer that is ready, with nothing in it.
        receive: t_r, beyond that, of all rows' answers.
        work: t_w, of all blocks by one worker.
    """

    dispatch: float
    send: float
    collect: float
    receive: float
    work: float

    @property
    def latency(self) -> float:
        """L, of a message each way: half of both, as only their sum counts where phases follow each other."""
        return (self.dispatch + self.collect) / 2


LEAST_SECONDS = 1e-9
"""A difference of times that noise has made smaller counts as this: a clock's tick."""
READY_SECONDS = 0.005
"""After this an answer with no work in it is ready."""
REPEATS = 15
"""Messages of a kind are timed as often, and the median counts."""
WORK_REPEATS = 5


def ask_constants(job: Job) -> Talk[Constants]:
    """The master's side of measuring, with the first worker.

    Raises:
        ExchangeError: it is lost, or does not come in time.
    """
    whole = packed(torch.zeros(job.unknowns, dtype=VALUE))
    silent, told, answered = [], [], []
    for _ in range(REPEATS):
        silent.append((yield from _trip(NOTHING, 0, job)))
        told.append((yield from _trip(whole, 0, job)))
        answered.append((yield from _trip(NOTHING, whole.numel(), job)))
    (work,) = (yield from take(1, "work", is_patient=True)).tolist()
    return Constants(
        dispatch=median(trip.there for trip in silent),
        send=_median_gain([trip.there for trip in silent], [trip.there for trip in told]),
        collect=median(trip.back for trip in silent),
        receive=_median_gain([trip.back for trip in silent], [trip.back for trip in answered]),
        work=work,
    )


def _median_gain(before: Sequence[float], after: Sequence[float]) -> float:
    """Of neighbours in time, so that what else the machine does falls out."""
    return max(median(late - early for early, late in zip(before, after, strict=True)), LEAST_SECONDS)


@dataclass(frozen=True)
class _Trip:
    """Seconds of the master for a message there, and for one back that is ready."""

    there: float
    back: float


def _trip(there: Tensor, back: int, job: Job) -> Talk[_Trip]:
    """A message there and one of so many bytes back.

    Raises:
        ValueError: another number of bytes came back.
    """
    began = time.perf_counter()
    time.sleep(job.link_seconds(there))
    yield from give(1, "trip", there)
    told = time.perf_counter()
    time.sleep(READY_SECONDS)
    ready = time.perf_counter()
    found = yield from take(1, "trip")
    ended = time.perf_counter()
    if found.numel() != back:
        raise ValueError(f"a trip came back with {found.numel()} bytes, expected {back}")
    return _Trip(told - began, ended - ready)


def answer_constants(job: Job, number: int, blocks: dict[int, Block]) -> Talk[None]:
    """The worker's side; only the first one is asked."""
    if number:
        return
    whole = packed(torch.zeros(job.unknowns, dtype=VALUE))
    for _ in range(REPEATS):
        for back in (NOTHING, NOTHING, whole):
            yield from take(0, "trip")
            yield from give(0, "trip", back)
    own = known(job, range(job.block_count), blocks)
    approximation, seconds = torch.zeros(job.unknowns, dtype=VALUE), []
    for _ in range(WORK_REPEATS):
        began = time.perf_counter()
        for block in own:
            change(block, approximation, job.kept, job.work_seconds)
        seconds.append(time.perf_counter() - began)
    yield from give(0, "work", torch.tensor([median(seconds)], dtype=torch.float64), is_patient=True)
