"""Logical workers on devices otherwise: every number of places on each type, and an integer program of one step."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from importlib import import_module
from typing import Any

from sparsync.experiments.planners.easyscale import DeviceType, Job
from sparsync.experiments.planners.plan import Plan
from tests.support.planning.oracle import Oracle


def drawn(numbers: random.Random, *, most_devices: int, most_logical: int) -> Job:
    types = tuple(
        DeviceType(
            numbers.randint(0, most_devices),
            numbers.choice([0.1, 0.7, 1.0, 1.5, 4.0]),
            numbers.choice([None, numbers.randint(0, 4)]),
        )
        for _ in range(numbers.randint(1, 3))
    )
    return Job(numbers.randint(1, most_logical), types)


def least_of_all(question: Job) -> float | None:
    """A device of a type hosts no more than the type's places: all numbers of places that hold the logical workers."""
    count = question.logical_count
    most = [own.most(count) if own.device_count else 0 for own in question.types]
    overloads = [
        max(one / own.capability for one, own in zip(places, question.types, strict=True))
        for places in itertools.product(*(range(one + 1) for one in most))
        if sum(one * own.device_count for one, own in zip(places, question.types, strict=True)) >= count
    ]
    return min(overloads, default=None)


def by_program(question: Job) -> float | None:
    cvxpy: Any = import_module("cvxpy")

    overload, constraints, total = cvxpy.Variable(), [], cvxpy.Constant(0)
    for own in question.types:
        if own.device_count:
            hosted = cvxpy.Variable(own.device_count, integer=True)
            constraints += [hosted >= 0, hosted <= own.most(question.logical_count)]
            constraints.append(own.capability * overload >= hosted)
            total = total + hosted.sum()
    program = cvxpy.Problem(cvxpy.Minimize(overload), [*constraints, total == question.logical_count])
    program.solve(solver=cvxpy.HIGHS)
    if program.status == cvxpy.INFEASIBLE:
        return None
    assert program.status == cvxpy.OPTIMAL, program.status
    return float(program.value)


def objective_of(question: Job, plan: Plan) -> float:
    hosted, most = plan.choice["hosted"], plan.choice["most_hosted"]
    assert isinstance(hosted, list)
    assert isinstance(most, list)
    assert [len(devices) for devices in hosted] == [own.device_count for own in question.types]
    assert sum(sum(devices) for devices in hosted) == question.logical_count
    assert most == [max(devices, default=0) for devices in hosted]
    assert all(
        0 <= one <= own.most(one) for devices, own in zip(hosted, question.types, strict=True) for one in devices
    )
    found: float = max(one / own.capability for one, own in zip(most, question.types, strict=True))
    lost, did = plan.choice["waste"], plan.choice["throughput"]
    capability = sum(own.device_count * own.capability for own in question.types)
    assert isinstance(lost, float)
    # Terms of up to Σ N C are added, a rounding of each.
    assert math.isclose(capability - lost, question.logical_count / found, rel_tol=1e-12, abs_tol=1e-14 * capability)
    assert did == question.logical_count / found
    return found


def more(question: Job, numbers: random.Random) -> Job:
    """A device more, faster ones, more memory, or fewer logical workers."""
    place = numbers.randrange(len(question.types))
    own = question.types[place]
    better = [
        replace(own, device_count=own.device_count + 1),
        replace(own, capability=2 * own.capability),
        replace(own, cap=None if own.cap is None else own.cap + 1),
    ]
    types = list(question.types)
    types[place] = numbers.choice(better)
    if numbers.random() < 0.25:
        return replace(question, logical_count=max(1, question.logical_count - 1))
    return replace(question, types=tuple(types))


ORACLE = Oracle(
    small=lambda numbers: drawn(numbers, most_devices=3, most_logical=8),
    brute=least_of_all,
    medium=lambda numbers: drawn(numbers, most_devices=4, most_logical=20),
    program=by_program,
    objective_of=objective_of,
    more=more,
)
"""What the planner `easyscale` is held to."""
