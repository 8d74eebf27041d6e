"""The oracle of `experiments/planners/density.py`: every count, with rates that are roots of a polynomial."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy

from sparsync.experiments.planners.density import DENSE, SPARSE, Question
from sparsync.experiments.planners.plan import Plan
from tests.support.planning.oracle import Oracle

SMALL_DIMENSION, MEDIUM_DIMENSION = 12, 120
CAPTURED = {
    "top_k": lambda kappa: kappa,
    "square_convex": lambda kappa: 1 - (1 - kappa) ** 2,
    "bell_shaped": lambda kappa: 1 - (1 - kappa) ** 3,
    "laplace_law": lambda kappa: kappa * (1 + math.log(1 / kappa) + math.log(1 / kappa) ** 2 / 2),
    "steady_drift": lambda kappa: 3 * kappa / (1 + 2 * kappa),
    "steady_noise": lambda kappa: 6 * kappa / (1 + 5 * kappa),
}
"""δ by density, for the laws that are drawn."""


def drawn(numbers: random.Random, dimension: int) -> Question:
    """Links on which exchanges take from a tenth to ten times as long as computing, some hidden, some steps bounded."""
    workers = numbers.randint(1, 9)
    compute = numbers.uniform(0.5, 2)
    return Question(
        dimension=dimension,
        workers=workers,
        bandwidth=8 * dimension * workers * 10 ** numbers.uniform(-0.5, 1.5),
        compute_seconds=compute,
        latency_seconds=numbers.choice((0.0, 0.01)),
        hidden_seconds=numbers.choice((0.0, 0.5)) * compute,
        ratio=numbers.choice(list(CAPTURED)),
        condition_number=numbers.choice((1.0, numbers.uniform(1, 50))),
        tolerance=10 ** numbers.uniform(-8, -1),
        collectives=numbers.choice(((DENSE, SPARSE), (SPARSE,))),
        most_steps=numbers.choice((None, None, numbers.randint(1, 500))),
        goal=numbers.choice(("tolerance", "tolerance", "step")),
    )


def small(numbers: random.Random) -> Question:
    return drawn(numbers, numbers.randint(1, SMALL_DIMENSION))


def medium(numbers: random.Random) -> Question:
    return drawn(numbers, MEDIUM_DIMENSION)


@lru_cache
def steps(delta: float, condition_number: float, tolerance: float) -> int:
    """ρ is the square of the largest root of λ² − tλ − s, t = (1 − s)r."""
    root, spread = math.sqrt(1 - delta), (condition_number - 1) / (condition_number + 1)
    rate = max(abs(numpy.roots([1, -(1 - root) * spread, -root]))) ** 2
    return 1 if rate == 0 else max(1, math.ceil(math.log(tolerance) / math.log(rate)))


def exchange_seconds(question: Question, collective: str, count: int) -> float:
    """A ring's rounds, after and before n − 1 rounds of headers of 64 bytes."""
    others = question.workers - 1
    if collective == SPARSE:
        sent, rounds = others * 8 * count, 3 * others
    else:
        sent, rounds = math.ceil(2 * others * 4 * question.dimension / question.workers), 4 * others
    return 8 * (sent + 2 * others * 64) / question.bandwidth + rounds * question.latency_seconds


def objectives(question: Question) -> dict[tuple[str, int], float]:
    """Seconds by collective and count, of those within the steps allowed."""
    found = {}
    for collective in question.collectives:
        for count in range(1, question.dimension + 1) if collective == SPARSE else (question.dimension,):
            delta = min(1.0, CAPTURED[question.ratio](count / question.dimension))
            needed = steps(delta, question.condition_number, question.tolerance)
            exposed = max(0.0, exchange_seconds(question, collective, count) - question.hidden_seconds)
            repeats = needed if question.goal == "tolerance" else 1
            if question.most_steps is None or needed <= question.most_steps:
                found[collective, count] = repeats * (question.compute_seconds + exposed)
    return found


def brute(question: Question) -> float | None:
    return min(objectives(question).values(), default=None)


def program(question: Question) -> float | None:
    """One of the listed counts is chosen."""
    cvxpy: Any = import_module("cvxpy")

    listed = list(objectives(question).values())
    if not listed:
        return None
    scale = max(listed)
    chosen = cvxpy.Variable(len(listed), boolean=True)
    problem = cvxpy.Problem(cvxpy.Minimize(chosen @ [seconds / scale for seconds in listed]), [chosen.sum() == 1])
    problem.solve(solver=cvxpy.HIGHS, mip_rel_gap=1e-9)
    assert problem.status == cvxpy.OPTIMAL, problem.status
    return float(problem.value) * scale


def objective_of(question: Question, plan: Plan) -> float:
    collective, count = plan.choice["collective"], plan.choice["k"]
    assert isinstance(collective, str)
    assert isinstance(count, int)
    exposed = max(0.0, plan.parts["latency"] + plan.parts["transfer"] - plan.parts["hidden"])
    assert math.isclose(plan.parts["compute"] + exposed, plan.objective, rel_tol=1e-12)
    return objectives(question)[collective, count]


def more(question: Question, numbers: random.Random) -> Question:
    """A faster link."""
    return replace(question, bandwidth=question.bandwidth * numbers.uniform(1, 4))


ORACLE = Oracle(small, brute, medium, program, objective_of, more)
