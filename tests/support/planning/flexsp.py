"""Groups of devices otherwise: every micro-batch and every grouping, and an integer program for both."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from sparsync.experiments.planners.flexsp import SequenceBatch
from sparsync.experiments.planners.plan import Plan
from tests.support.planning.oracle import Oracle


def seconds(question: SequenceBatch, length: int, size: int) -> float:
    computing = (question.square_seconds * length * length + question.token_seconds * length) / size
    if size == 1:
        return computing
    rate = dict(zip(question.sizes[1:], question.bandwidths, strict=True))[size]
    return computing + question.token_bytes * length / size / rate


def partitions(members: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
    """Every way to put members into blocks."""
    if not members:
        yield []
        return
    first, *rest = members
    for blocks in partitions(tuple(rest)):
        yield [(first,), *blocks]
        for place, block in enumerate(blocks):
            yield [*blocks[:place], (first, *block), *blocks[place + 1 :]]


def block_seconds(question: SequenceBatch, block: Sequence[int], size: int) -> float:
    """Of a group's sequences; infinite where it cannot hold them."""
    lengths = [question.lengths[place] for place in block]
    if sum(lengths) > size * question.token_capacity:
        return math.inf
    return sum(seconds(question, length, size) for length in lengths)


def quickest(question: SequenceBatch, members: tuple[int, ...]) -> float:
    """The least makespan of one micro-batch."""
    alone = cache(lambda block, size: block_seconds(question, block, size))
    return min(
        max(alone(block, size) for block, size in zip(blocks, sizes, strict=True))
        for blocks in partitions(members)
        for sizes in product(question.sizes, repeat=len(blocks))
        if sum(sizes) <= question.device_count
    )


def least_of_all(question: SequenceBatch) -> float | None:
    one = cache(lambda members: quickest(question, members) + question.fixed_seconds)
    everything = tuple(range(len(question.lengths)))
    least = min(sum(one(members) for members in batches) for batches in partitions(everything))
    return None if math.isinf(least) else least


def most_batches(question: SequenceBatch) -> int:
    """No more micro-batches are worth their fixed time: not more than those of one sequence each, on all devices."""
    alone = [seconds(question, length, question.device_count) for length in question.lengths]
    best = [min(seconds(question, length, size) for size in question.sizes) for length in question.lengths]
    packed, room = 0, 0
    for length in sorted(question.lengths):
        packed, room = (
            (packed, room - length)
            if room >= length
            else (
                packed + 1,
                question.device_count * question.token_capacity - length,
            )
        )
    spare = packed * question.fixed_seconds + sum(alone) - max(best)
    count = len(question.lengths)
    return count if question.fixed_seconds == 0 else max(packed, min(count, int(spare / question.fixed_seconds + 1e-9)))


def by_program(question: SequenceBatch) -> float | None:
    """A group of each micro-batch for each place that it may have; the first sequence is in the first micro-batch."""
    cvxpy: Any = import_module("cvxpy")

    if max(question.lengths) > question.device_count * question.token_capacity:
        return None
    sizes = [size for size in question.sizes for _ in range(question.device_count // size)]
    count = len(question.lengths)
    times = np.asarray([[seconds(question, length, size) for size in sizes] for length in question.lengths])
    total, assigned, constraints = cvxpy.Constant(0), cvxpy.Constant([0] * count), []
    before = cvxpy.Constant(1)
    for _ in range(most_batches(question)):
        works = cvxpy.Variable((count, len(sizes)), boolean=True)
        is_there, is_used, end = (
            cvxpy.Variable(len(sizes), boolean=True),
            cvxpy.Variable(boolean=True),
            cvxpy.Variable(),
        )
        tokens = list(question.lengths) @ works
        rooms = [size * question.token_capacity for size in sizes]
        constraints += [
            end >= cvxpy.sum(cvxpy.multiply(times, works), axis=0),
            tokens <= cvxpy.multiply(rooms, is_there),
            sizes @ is_there <= question.device_count * is_used,
            is_used <= before,
        ]
        constraints += [
            is_there[place] >= is_there[place + 1]
            for place in range(len(sizes) - 1)
            if sizes[place] == sizes[place + 1]
        ]
        before = is_used
        total = total + question.fixed_seconds * is_used + end
        assigned = assigned + cvxpy.sum(works, axis=1)
    program = cvxpy.Problem(cvxpy.Minimize(total), [*constraints, assigned == 1])
    program.solve(solver=cvxpy.HIGHS, mip_rel_gap=0, mip_abs_gap=0)
    assert program.status == cvxpy.OPTIMAL, program.status
    return float(program.value)


def objective_of(question: SequenceBatch, plan: Plan) -> float:
    batches = plan.choice["micro_batches"]
    assert isinstance(batches, list)
    done = sorted(place for groups in batches for group in groups for place in group["sequences"])
    assert done == list(range(len(question.lengths)))
    total = 0.0
    for groups in batches:
        assert sum(group["device_count"] for group in groups) <= question.device_count
        ends = [block_seconds(question, group["sequences"], group["device_count"]) for group in groups]
        assert not math.isinf(max(ends))
        total += question.fixed_seconds + max(ends)
    return total


def drawn(numbers: random.Random, *, most_sequences: int, devices: Sequence[int]) -> SequenceBatch:
    lengths = tuple(
        numbers.choice([2, 5, 9, 16, 40]) + numbers.randint(0, 3) for _ in range(numbers.randint(1, most_sequences))
    )
    device_count = numbers.choice(devices)
    fair = max(max(lengths), sum(lengths) / 2) / device_count
    return SequenceBatch(
        lengths=lengths,
        device_count=device_count,
        token_capacity=max(1, int(fair * numbers.choice([0.8, 1.0, 1.5, 3.0]))),
        square_seconds=numbers.choice([0.0, 0.01, 0.1]),
        token_seconds=numbers.choice([0.1, 1.0]),
        fixed_seconds=numbers.choice([0.0, 1.0, 20.0]),
        token_bytes=numbers.choice([0.0, 1.0, 4.0]),
        bandwidths=tuple(numbers.choice([1.0, 4.0, 20.0]) for _ in range(device_count.bit_length() - 1)),
    )


def medium(numbers: random.Random) -> SequenceBatch:
    """With a fixed time that is not worth many micro-batches."""
    question = drawn(numbers, most_sequences=7, devices=(4,))
    return replace(question, fixed_seconds=sum(seconds(question, length, 4) for length in question.lengths))


def more(question: SequenceBatch, numbers: random.Random) -> SequenceBatch:
    """More tokens fit, or some groups exchange faster."""
    if numbers.random() < 0.5 or not question.bandwidths:
        return replace(question, token_capacity=question.token_capacity + numbers.randint(1, question.token_capacity))
    return replace(question, bandwidths=tuple(rate * numbers.choice([1, 2]) for rate in question.bandwidths))


ORACLE = Oracle(
    small=lambda numbers: drawn(numbers, most_sequences=5, devices=(1, 2, 4)),
    brute=least_of_all,
    medium=medium,
    program=by_program,
    objective_of=objective_of,
    more=more,
)
"""What the planner `flexsp` is held to."""
