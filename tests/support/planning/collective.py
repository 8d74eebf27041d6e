"""The oracle of `experiments/planners/collective.py`: every collective is played, message by message."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from typing import Any

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.planners.parts.collective_seconds import COLLECTIVES, IN_NODES, Question
from sparsync.experiments.planners.plan import Plan
from sparsync.verify.cost.simulated import schedules
from sparsync.verify.cost.simulated.simulations import SIMULATIONS, Case
from tests.support.planning.oracle import Oracle


def drawn(numbers: random.Random, most_nodes: int) -> Question:
    """Messages that cost as much as all bytes, nothing, or anything between; some collectives only."""
    node_size = numbers.choice((1, 1, 2, 3))
    dimension = numbers.randint(1, 60)
    many = numbers.random() < 0.8
    return Question(
        workers=node_size * numbers.randint(1, most_nodes // node_size),
        dimension=dimension,
        density=numbers.choice((1.0, sixteenths(numbers, 1), 2.0 ** -numbers.randint(0, 9))),
        link=some_link(numbers, dimension),
        merge_seconds_per_byte=numbers.choice((0.0, sixteenths(numbers, 1))),
        value_bytes=numbers.choice((2, 4)),
        index_bytes=numbers.choice((1, 4)),
        fresh_share=numbers.choice((0.0, 1.0, sixteenths(numbers, 1))),
        node_size=node_size,
        inner_link=some_link(numbers, dimension) if node_size > 1 else None,
        allowed=tuple(numbers.sample(COLLECTIVES, numbers.randint(2, 5))) if many else IN_NODES,
    )


def some_link(numbers: random.Random, dimension: int) -> Link:
    """A byte takes about a second, a message up to as long as a vector."""
    latencies = (0.0, sixteenths(numbers, 4 * dimension), sixteenths(numbers, 4))
    return Link(numbers.choice(latencies), sixteenths(numbers, 2))


def sixteenths(numbers: random.Random, most: int) -> float:
    """A positive number up to some other, short as a fraction, so that what is played stays so."""
    return numbers.randint(1, 16 * most) / 16


def small(numbers: random.Random) -> Question:
    return drawn(numbers, 6)


def medium(numbers: random.Random) -> Question:
    return drawn(numbers, 12)


def case_of(question: Question) -> Case:
    """The question as a case that can be played; flat collectives stay inside the only node."""
    link, inner = question.link, question.inner_link or question.link
    if question.workers == question.node_size:
        link = inner
    count = max(1, round(Fraction(question.density) * question.dimension))

    def union(workers: int) -> Fraction:
        return min(Fraction(question.dimension), count + Fraction(question.fresh_share) * count * (workers - 1))

    return Case(
        dimension=question.dimension,
        count=Fraction(count),
        union=union(question.workers),
        node_union=union(question.node_size),
        value_bytes=Fraction(question.value_bytes),
        index_bytes=Fraction(question.index_bytes),
        link=schedules.Link(Fraction(link.latency_seconds), Fraction(link.seconds_per_byte)),
        inner_link=schedules.Link(Fraction(inner.latency_seconds), Fraction(inner.seconds_per_byte)),
        merge_seconds=Fraction(question.merge_seconds_per_byte),
        node_count=question.workers // question.node_size,
        node_size=question.node_size,
    )


def played(question: Question) -> dict[str, float]:
    """Seconds of all that may and can be played."""
    case = case_of(question)
    able = [name for name in question.allowed if question.node_size > 1 or not name.startswith("hierarchical")]
    return {name: float(SIMULATIONS[name](case, random.Random(0))) for name in able}


def brute(question: Question) -> float | None:
    return min(played(question).values(), default=None)


def program(question: Question) -> float | None:
    """One of those that were played is chosen."""
    cvxpy: Any = import_module("cvxpy")

    seconds = list(played(question).values())
    if not seconds:
        return None
    scale = max(seconds) or 1.0
    chosen = cvxpy.Variable(len(seconds), boolean=True)
    cost = chosen @ [one / scale for one in seconds]
    problem = cvxpy.Problem(cvxpy.Minimize(cost), [chosen.sum() == 1])
    problem.solve(solver=cvxpy.HIGHS)
    assert problem.status == cvxpy.OPTIMAL, problem.status
    return float(problem.value) * scale


def objective_of(question: Question, plan: Plan) -> float:
    name = plan.choice["collective"]
    assert isinstance(name, str)
    assert name in question.allowed
    return played(replace(question, allowed=(name,)))[name]


def more(question: Question, numbers: random.Random) -> Question:
    """A faster link, faster additions, or more that is allowed."""
    link, inner = question.link, question.inner_link
    faster = Link(link.latency_seconds * numbers.random(), link.seconds_per_byte * numbers.random())
    quicker = Link(inner.latency_seconds / 2, inner.seconds_per_byte / 2) if inner else None
    return numbers.choice(
        (
            replace(question, link=faster),
            replace(question, inner_link=quicker),
            replace(question, merge_seconds_per_byte=question.merge_seconds_per_byte / 2),
            replace(question, allowed=COLLECTIVES),
        )
    )


ORACLE = Oracle(small, brute, medium, program, objective_of, more)
"""Everything is tried."""
