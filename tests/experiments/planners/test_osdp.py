"""Sharded models: what fits, what would help, known networks, and what a lower density does."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.planners import osdp
from sparsync.experiments.planners.osdp import Operator, Sharding
from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.experiments.sizing.buckets import bucketed, named_operators
from sparsync.experiments.sizing.step import Conditions
from tests.support.planning import osdp as oracle

LINK = Link(20e-6, 1 / 12e9)
SPEED = 50e12
"""Operations per second."""


def sharding(operators: tuple[Operator, ...], memory: int, **options: Any) -> Sharding:
    return Sharding(operators, **{"device_count": 8, "memory_bytes": memory, "link": LINK, **options})


def replicated_share(question: Sharding, plan: Plan) -> float:
    operators = plan.choice["operators"]
    assert isinstance(operators, dict)
    sizes = {operator.name: operator.parameter_count for operator in question.operators}
    kept = [sizes[name] for name, way in operators.items() if way["kept"] != osdp.SHARDED]
    return sum(kept) / sum(sizes.values())


@cache
def operators_of(name: str) -> tuple[Operator, ...]:
    """Of a network that is known by name."""
    conditions = Conditions(8, 10**12, 1e9, operations_per_second=SPEED, batch=1)
    return conditions.question(bucketed(named_operators(name), 1)).operators


def middling(name: str, **options: Any) -> Sharding:
    """With memory for shards, a fifth of what replicas need more, and batches of 4."""
    operators = operators_of(name)
    parameters = sum(operator.parameter_count for operator in operators)
    activations = sum(operator.activation_bytes for operator in operators)
    memory = 5 * parameters + 4 * activations
    return sharding(operators, memory, batches=(4,), **options)


def test_a_plan_is_there_exactly_where_the_least_need_fits() -> None:
    numbers = random.Random(1)
    for _ in range(30):
        question = oracle.drawn(numbers, most_operators=3, most_parameters=20)
        question = replace(question, batches=question.batches or (2,))
        least = int(min(memory for memory, _ in oracle.costs(question)))
        assert osdp.plan(replace(question, memory_bytes=least)).choice["memory_bytes"] == least
        if least > 1:
            message = f"the limit is {least - 1} bytes of a device, and the least need is {least}"
            with pytest.raises(InfeasibleError, match=message):
                osdp.plan(replace(question, memory_bytes=least - 1))


def test_the_memory_that_would_help_is_the_least_that_does() -> None:
    numbers = random.Random(2)
    helps = []
    for _ in range(60):
        question = oracle.drawn(numbers, most_operators=3, most_parameters=20)
        question = replace(question, batches=question.batches or (1, 2, 3, 4, 5))
        if min(memory for memory, _ in oracle.costs(question)) > question.memory_bytes:
            continue
        found = osdp.plan(question)
        better = [memory for memory, rate in oracle.costs(question) if rate < found.objective * (1 - 1e-9)]
        said = [int(match[1]) for remark in found.remarks if (match := re.match(r"(\d+) bytes more", remark))]
        assert said == ([int(min(better)) - question.memory_bytes] if better else [])
        assert found.binding == (("memory_bytes",) if better else ())
        helps.append(bool(better))
    assert 0.2 < sum(helps) / len(helps) < 1


def test_where_every_batch_may_be_chosen_the_next_one_may_help() -> None:
    operator = Operator("only", 8, activation_bytes=10, compute_seconds=1.0)
    question = Sharding((operator,), 2, 200, Link(1.0, 0.0))
    found = osdp.plan(question)
    # A replica takes 128 bytes, and seven samples 70. A shard with its buffer takes 96, and eleven samples 110: 14 s
    # for 22 samples instead of 9 s for 14.
    assert (found.choice["batch"], found.choice["memory_bytes"]) == (7, 198)
    assert found.remarks[-1].startswith("6 bytes more a device would do a sample in 0.636364 s instead of 0.642857 s")


@pytest.mark.parametrize("name", ["resnet50", "gpt2", "bert_large"])
def test_a_known_network_is_planned_no_worse_than_all_sharded(name: str) -> None:
    question = middling(name)
    found = osdp.plan(question)
    ways = [osdp.ways(question, operator.parameter_count) for operator in question.operators]
    exchange = sum(min(way.seconds for way in own if way.kind == osdp.SHARDED) for own in ways)
    sharded = (exchange / 4 + question.compute_seconds) / 8
    assert found.objective < sharded
    assert oracle.objective_of(question, found) == pytest.approx(found.objective, rel=1e-12)
    assert sum(found.parts.values()) == pytest.approx(found.objective, rel=1e-12)


@pytest.mark.parametrize("density", [1.0, 0.01])
def test_a_known_network_is_planned_as_the_program_says(density: float) -> None:
    """Operators of a size are counted here; buffers are forced up by the ways that are taken at all."""
    cvxpy: Any = import_module("cvxpy")

    question = middling("bert_large", density=density)
    sizes = sorted({operator.parameter_count for operator in question.operators})
    counts = [sum(operator.parameter_count == size for operator in question.operators) for size in sizes]
    rows = [(place, way) for place, size in enumerate(sizes) for way in osdp.ways(question, size)]
    taken = cvxpy.Variable(len(rows), integer=True)
    is_taken, buffer = cvxpy.Variable(len(rows), boolean=True), cvxpy.Variable()
    belongs = np.asarray([[own == place for own, _ in rows] for place in range(len(sizes))], dtype=float)
    states, buffers = (
        np.asarray(values) / question.memory_bytes
        for values in ([way.state_bytes for _, way in rows], [way.buffer_bytes for _, way in rows])
    )
    samples = 4 * question.activation_bytes / question.memory_bytes
    program = cvxpy.Problem(
        cvxpy.Minimize(np.asarray([way.seconds for _, way in rows]) @ taken),
        [
            taken >= 0,
            belongs @ taken == counts,
            taken <= cvxpy.multiply(belongs.T @ np.asarray(counts), is_taken),
            buffer >= cvxpy.multiply(buffers, is_taken),
            states @ taken + buffer + samples <= 1,
        ],
    )
    program.solve(solver=cvxpy.HIGHS, mip_rel_gap=0, mip_abs_gap=0)
    least = (float(program.value) / 4 + question.compute_seconds) / 8
    assert osdp.plan(question).objective == pytest.approx(least, rel=1e-6)


def test_with_batches_that_are_given_residuals_take_the_memory_of_replicas() -> None:
    """Fewer operators are replicated at a lower density, and a sample is quicker nevertheless."""
    questions = [middling("resnet50", density=density) for density in (1.0, 0.1, 0.01)]
    plans = [osdp.plan(question) for question in questions]
    dense, _, sparse = (replicated_share(question, found) for question, found in zip(questions, plans, strict=True))
    assert dense > sparse
    assert [found.objective for found in plans] == sorted((found.objective for found in plans), reverse=True)
    assert plans[0].parts["sparse"] == 0 < plans[-1].parts["sparse"]


def test_with_plenty_of_memory_only_the_density_decides_who_is_replicated() -> None:
    """Beyond κ* a shard is quicker than a sparse replica, but then a dense replica is quicker still."""
    operator = (Operator("only", 4096, 1),)
    for density, kind in ((0.2, "replicated"), (0.12, "sparse"), (0.05, "sparse")):
        found = osdp.plan(sharding(operator, 10**6, batches=(1,), density=density, value_bytes=4, link=Link(0, 1e-9)))
        assert found.choice["operators"] == {"only": {"kept": kind, "slices": 1}}


def test_slices_are_taken_where_a_whole_operator_does_not_fit() -> None:
    operators = (Operator("large", 8000, 1), Operator("small", 8, 1))
    wide = sharding(operators, 2 * 8008 * 2 + 16 * 1001 + 2, batches=(1,))
    narrow = replace(wide, memory_bytes=16 * 1001 + 2 * 8008)
    slices = list[int]()
    for question in (wide, narrow):
        kept = osdp.plan(question).choice["operators"]
        assert isinstance(kept, dict)
        slices.append(kept["large"]["slices"])
    assert slices[0] == 1 < slices[1]
    assert osdp.plan(narrow).objective > osdp.plan(wide).objective


def test_one_device_needs_no_plan_and_no_memory_would_help() -> None:
    question = replace(middling("resnet50"), device_count=1, memory_bytes=10**12)
    found = osdp.plan(question)
    assert found.objective == pytest.approx(question.compute_seconds, rel=1e-12)
    assert found.binding == ()
    assert "no amount of memory would make a sample quicker" in found.remarks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device_count": 0}, "device_count must be at least 1, got 0"),
        ({"memory_bytes": 1.5}, "memory_bytes must be an int, got 1.5"),
        ({"density": 0.0}, r"density must lie in \(0, 1\], got 0.0"),
        ({"slice_counts": (2,)}, "and one slice"),
        ({"batches": (0,)}, "batches must be at least 1, got 0"),
        ({"operators": ()}, "there must be an operator"),
        ({"operators": (Operator("a", 1, 1), Operator("a", 2, 1))}, "different names"),
        ({"operators": (Operator("a", 0, 1),)}, "parameter_count of a must be at least 1, got 0"),
        ({"operators": (Operator("a", 1, -1),)}, "activation_bytes of a must be at least 0, got -1"),
        ({"operators": (Operator("a", 1, 1, -2.0),)}, "compute_seconds of a must be at least 0, got -2.0"),
        (
            {"operators": (Operator("a", 1),)},
            "batches must be given where over 10000 samples could fit, of 0 bytes each",
        ),
        ({"memory_bytes": 10_001}, "of 1 bytes each in 10001"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {"operators": (Operator("a", 1, 1),), "memory": 100, **options}
    if "memory_bytes" in options:
        asked["memory"] = asked.pop("memory_bytes")
    with pytest.raises(ValueError, match=message):
        sharding(**asked)
