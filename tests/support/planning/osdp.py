"""Sharded models otherwise: every way to keep every operator, and an integer program over ways and batches together."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.planners.osdp import Operator, Sharding
from sparsync.experiments.planners.plan import Plan
from tests.support.planning.oracle import Oracle

WHOLE = 1


class Kept(NamedTuple):
    """A way to keep an operator, and what it costs."""

    kind: str
    slices: int
    bytes: int
    seconds: float
    buffer: int


def message(question: Sharding, size: int) -> float:
    return question.link.latency_seconds + size * question.link.seconds_per_byte


def kept(question: Sharding, operator: Operator, kind: str, slices: int) -> Kept:
    """Counted from messages: each device sends so many, of such a size, to its neighbour."""
    devices, parameters = question.device_count, operator.parameter_count
    own = math.ceil(parameters / devices)
    if kind == "replicated":
        seconds = 2 * (devices - 1) * message(question, own * question.value_bytes)
        return Kept(kind, WHOLE, parameters * question.state_bytes, seconds, 0)
    if kind == "sparse":
        pairs = max(1, round(question.density * parameters))
        seconds = (devices - 1) * message(question, pairs * (question.value_bytes + question.index_bytes))
        return Kept(kind, WHOLE, parameters * (question.state_bytes + 4), seconds, 0)
    slice_bytes = own * question.value_bytes / slices
    seconds = 3 * (devices - 1) * slices * message(question, 0)
    seconds += 3 * (devices - 1) * slices * slice_bytes * question.link.seconds_per_byte
    largest = math.ceil(own / slices) * devices
    return Kept(kind, slices, own * question.state_bytes, seconds, 2 * largest * question.value_bytes)


def every_way(question: Sharding, operator: Operator) -> list[Kept]:
    own = math.ceil(operator.parameter_count / question.device_count)
    kinds = [("replicated", WHOLE), *([("sparse", WHOLE)] if question.density < 1 else [])]
    kinds += [("sharded", slices) for slices in question.slice_counts if slices <= own]
    return [kept(question, operator, kind, slices) for kind, slices in kinds]


def cost(question: Sharding, batch: int, chosen: Iterable[Kept]) -> tuple[float, float]:
    """Bytes of a device, and seconds per sample."""
    chosen = list(chosen)
    memory = sum(way.bytes for way in chosen) + max(way.buffer for way in chosen)
    memory += batch * sum(operator.activation_bytes for operator in question.operators)
    seconds = sum(way.seconds for way in chosen)
    seconds += batch * sum(operator.compute_seconds for operator in question.operators)
    return memory, seconds / (batch * question.device_count)


def batches(question: Sharding) -> Iterable[int]:
    each = sum(operator.activation_bytes for operator in question.operators)
    return question.batches or range(1, question.memory_bytes // each + 1)


def costs(question: Sharding) -> list[tuple[float, float]]:
    ways = [every_way(question, operator) for operator in question.operators]
    return [cost(question, batch, chosen) for batch in batches(question) for chosen in itertools.product(*ways)]


def least_of_all(question: Sharding) -> float | None:
    return min((rate for memory, rate in costs(question) if memory <= question.memory_bytes), default=None)


def by_program(question: Sharding) -> float | None:
    """The batch is chosen with the ways; a buffer is as large as each that is chosen."""
    cvxpy: Any = import_module("cvxpy")

    ways = [every_way(question, operator) for operator in question.operators]
    rows = [way for found in ways for way in found]
    sizes = list(batches(question))
    chosen = cvxpy.Variable((len(rows), len(sizes)), boolean=True)
    batch, buffer = cvxpy.Variable(len(sizes), boolean=True), cvxpy.Variable()
    constraints, first = [cvxpy.sum(batch) == 1], 0
    for found in ways:
        constraints.append(cvxpy.sum(chosen[first : first + len(found)], axis=0) == batch)
        first += len(found)
    taken = cvxpy.sum(chosen, axis=1)
    unit = question.memory_bytes
    each = sum(operator.activation_bytes for operator in question.operators)
    constraints.append(buffer >= cvxpy.multiply([way.buffer / unit for way in rows], taken))
    states = [way.bytes / unit for way in rows] @ taken
    constraints.append(states + buffer + [each * size / unit for size in sizes] @ batch <= 1)
    rates = np.outer([way.seconds for way in rows], [1 / (size * question.device_count) for size in sizes])
    objective = cvxpy.sum(cvxpy.multiply(rates, chosen))
    program = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    program.solve(solver=cvxpy.HIGHS, mip_rel_gap=0, mip_abs_gap=0)
    if program.status == cvxpy.INFEASIBLE:
        return None
    assert program.status == cvxpy.OPTIMAL, program.status
    computing = sum(operator.compute_seconds for operator in question.operators) / question.device_count
    return float(program.value) + computing


def objective_of(question: Sharding, plan: Plan) -> float:
    choice = plan.choice
    operators = choice["operators"]
    assert isinstance(operators, dict)
    assert set(operators) == {operator.name for operator in question.operators}
    chosen = [
        kept(question, operator, operators[operator.name]["kept"], operators[operator.name]["slices"])
        for operator in question.operators
    ]
    assert all(way in every_way(question, operator) for way, operator in zip(chosen, question.operators, strict=True))
    batch = choice["batch"]
    assert isinstance(batch, int)
    assert batch in batches(question)
    memory, rate = cost(question, batch, chosen)
    assert memory == choice["memory_bytes"]
    assert memory <= question.memory_bytes
    return rate


def drawn(numbers: random.Random, *, most_operators: int, most_parameters: int) -> Sharding:
    sizes = [numbers.randint(1, most_parameters) for _ in range(numbers.randint(1, most_operators))]
    operators = tuple(
        Operator(f"operator {place}", numbers.choice(sizes), numbers.randint(0, 40), numbers.choice([0.0, 0.01, 0.3]))
        for place in range(len(sizes))
    )
    question = Sharding(
        operators=operators,
        device_count=numbers.randint(1, 4),
        memory_bytes=1,
        link=Link(numbers.choice([0.0, 0.1, 1.0]), numbers.choice([0.0, 0.01, 0.1])),
        batches=tuple(sorted(numbers.sample(range(1, 9), numbers.randint(1, 3)))),
        slice_counts=(1, *numbers.sample([2, 3, 4], numbers.randint(0, 2))),
        density=numbers.choice([1.0, 0.5, 0.1, 0.01]),
        state_bytes=numbers.choice([4, 8, 16]),
        value_bytes=numbers.choice([2, 4]),
        index_bytes=numbers.choice([2, 4]),
    )
    ways = [every_way(question, operator) for operator in operators]
    low, _ = cost(question, question.batches[0], [min(found, key=lambda way: way.bytes) for found in ways])
    high, _ = cost(question, question.batches[-1], [max(found, key=lambda way: way.bytes) for found in ways])
    memory = numbers.randint(int(low * 0.8), int(max(low, high) * 1.1))
    is_open = any(operator.activation_bytes for operator in operators) and numbers.random() < 0.3
    return replace(question, memory_bytes=max(1, memory), batches=() if is_open else question.batches)


def medium(numbers: random.Random) -> Sharding:
    question = drawn(numbers, most_operators=20, most_parameters=200)
    return replace(question, batches=question.batches or (2, 5))


def more(question: Sharding, numbers: random.Random) -> Sharding:
    return replace(question, memory_bytes=question.memory_bytes + numbers.randint(1, question.memory_bytes))


ORACLE = Oracle(
    small=lambda numbers: drawn(numbers, most_operators=3, most_parameters=30),
    brute=least_of_all,
    medium=medium,
    program=by_program,
    objective_of=objective_of,
    more=more,
)
"""What the planner `osdp` is held to."""
