"""The oracle of `experiments/planners/switch_point.py`: every switch in both orders, stability by simulation."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any

from sparsync.experiments.planners.plan import Plan
from sparsync.experiments.planners.switch_point import Link, Question
from tests.support.planning.oracle import Oracle

MARGIN = 0.03
"""Relative: no product of step size and curvature that is drawn lies nearer to a limit of stability."""
PERIODS = 40
"""For which the recursion is followed, of the slowest oscillation: at that margin it has grown or shrunk by then."""


def drawn(numbers: random.Random, updates: int) -> Question:
    """Step sizes that mostly fall, curvatures that grow and fall, workers of several speeds, most with a link."""
    workers = numbers.randint(1, 5)
    delay = numbers.choice((None, numbers.randint(0, 6)))
    products = []
    for update in range(updates):
        while True:
            step = numbers.uniform(0.3, 1.2) * 2 * 0.7 ** (4 * update / updates)
            if not near_limit(step / workers, workers - 1 if delay is None else delay):
                products.append(step)
                break
    curvatures = [numbers.uniform(0.5, 20) for _ in range(updates)]
    dimension = numbers.randint(1, 1000)
    link = Link(
        dimension=dimension,
        bandwidth=64 * dimension * 10 ** numbers.uniform(0, 2),
        latency_seconds=numbers.choice((0.0, 0.02)),
        density=numbers.choice((1.0, numbers.uniform(0.01, 0.5))),
        hidden_seconds=numbers.choice((0.0, 0.3)),
        server_bandwidth=numbers.choice((None, 64 * dimension * 10 ** numbers.uniform(0, 3))),
    )
    return Question(
        step_sizes=tuple(product / curvature for product, curvature in zip(products, curvatures, strict=True)),
        curvatures=tuple(curvatures),
        worker_seconds=tuple(numbers.uniform(0.5, 3) for _ in range(workers)),
        link=numbers.choice((None, link)),
        delay=delay,
        least_fraction=numbers.choice((0.0, 0.25, 0.5)),
        restart_seconds=numbers.choice((0.0, numbers.uniform(0, 3))),
        target_seconds=numbers.choice((None, None, updates * numbers.uniform(1, 3))),
    )


def small(numbers: random.Random) -> Question:
    return drawn(numbers, numbers.randint(1, 8))


def medium(numbers: random.Random) -> Question:
    return drawn(numbers, 60)


def near_limit(step: float, delay: int) -> bool:
    """Does the recursion decay on one side of the margin and grow on the other?"""
    return decays(step * (1 - MARGIN), delay) != decays(step * (1 + MARGIN), delay)


@lru_cache(maxsize=4096)
def decays(step: float, delay: int) -> bool:
    """Is x_{t+1} = x_t − a x_{t−τ} smaller in the last of several periods than in the first?"""
    period = 4 * delay + 2
    iterates = [1.0] * (delay + 1)
    for _ in range(PERIODS * period):
        iterates.append(iterates[-1] - step * iterates[-1 - delay])
    return max(map(abs, iterates[-period:])) < max(map(abs, iterates[: 2 * period]))


def is_safe(question: Question, update: int) -> bool:
    """Would reports at this update's step size and curvature settle, if both lasted?"""
    workers = len(question.worker_seconds)
    step = question.asynchronous_step_scale * question.step_sizes[update] * question.curvatures[update] / workers
    return decays(step, workers - 1 if question.delay is None else question.delay)


def mode_seconds(question: Question) -> tuple[float, float]:
    """Of an update at a barrier, and of one without."""
    workers, link = len(question.worker_seconds), question.link
    if link is None:
        return max(question.worker_seconds), workers / sum(1 / seconds for seconds in question.worker_seconds)
    count = max(1, round(link.density * link.dimension))
    bits = 8 * (min(4 * link.dimension, 8 * count) + 64)
    others = workers - 1
    ring = 8 * (math.ceil(8 * others * link.dimension / workers) + 128 * others) / link.bandwidth
    gather = 8 * (8 * others * count + 128 * others) / link.bandwidth
    collective = min(ring + 4 * others * link.latency_seconds, gather + 3 * others * link.latency_seconds)
    barrier = max(question.worker_seconds) + max(0.0, collective - link.hidden_seconds)
    exposed = max(0.0, 2 * (bits / link.bandwidth + link.latency_seconds) - link.hidden_seconds)
    rates = sum(1 / (seconds + exposed) for seconds in question.worker_seconds)
    return barrier, max(workers / rates, workers * bits / (link.server_bandwidth or link.bandwidth))


def run_seconds(question: Question, is_synchronous: list[bool]) -> float | None:
    """Of a run by update; None where an asynchronous one is not safe, or too few are synchronous, or it ends late."""
    barrier, free = mode_seconds(question)
    if any(not safe and not waits for waits, safe in zip(is_synchronous, safe_updates(question), strict=True)):
        return None
    if sum(is_synchronous) < question.least_fraction * len(is_synchronous):
        return None
    switches = sum(before != after for before, after in pairwise(is_synchronous))
    seconds = math.fsum(barrier if waits else free for waits in is_synchronous) + switches * question.restart_seconds
    return seconds if question.target_seconds is None or seconds <= question.target_seconds else None


@lru_cache(maxsize=8)
def safe_updates(question: Question) -> tuple[bool, ...]:
    return tuple(is_safe(question, update) for update in range(len(question.step_sizes)))


def brute(question: Question) -> float | None:
    updates = len(question.step_sizes)
    runs = [[update < switch for update in range(updates)] for switch in range(updates + 1)]
    runs += [[not waits for waits in run] for run in runs]
    found = [seconds for run in runs if (seconds := run_seconds(question, run)) is not None]
    return min(found, default=None)


def program(question: Question) -> float | None:
    """A binary variable for each update, for the order, and for a change of modes."""
    cvxpy: Any = import_module("cvxpy")

    barrier, free = mode_seconds(question)
    updates = len(question.step_sizes)
    waits = cvxpy.Variable(updates, boolean=True)
    is_first, changes = cvxpy.Variable(boolean=True), cvxpy.Variable(boolean=True)
    rises = waits[1:] - waits[:-1]
    unsafe = [0.0 if safe else 1.0 for safe in safe_updates(question)]
    constraints = [
        waits >= unsafe,
        waits.sum() >= question.least_fraction * updates,
        rises <= 1 - is_first,
        -rises <= is_first,
        changes >= waits[0] - waits[-1],
        changes >= waits[-1] - waits[0],
    ]
    seconds = free * updates + (barrier - free) * waits.sum() + question.restart_seconds * changes
    problem = cvxpy.Problem(cvxpy.Minimize(seconds), constraints)
    problem.solve(solver=cvxpy.HIGHS, mip_rel_gap=1e-9)
    assert problem.status == cvxpy.OPTIMAL, problem.status
    is_late = question.target_seconds is not None and problem.value > question.target_seconds
    return None if is_late else float(problem.value)


def objective_of(question: Question, plan: Plan) -> float:
    updates, switch, order = plan.choice["total_steps"], plan.choice["switch_update"], plan.choice["order"]
    assert isinstance(updates, int)
    assert isinstance(switch, int)
    assert updates == len(question.step_sizes)
    run = [(update < switch) == (order == "synchronous_first") for update in range(updates)]
    assert sum(run) == round(float(str(plan.choice["bsp_fraction"])) * updates)
    seconds = run_seconds(question, run)
    assert seconds is not None
    assert math.isclose(sum(plan.parts.values()), seconds, rel_tol=1e-12)
    return seconds


def more(question: Question, numbers: random.Random) -> Question:
    """Faster workers, or a faster link."""
    faster = numbers.uniform(1, 3)
    if question.link is None or numbers.random() < 0.5:
        return replace(question, worker_seconds=tuple(seconds / faster for seconds in question.worker_seconds))
    own = question.link.server_bandwidth
    link = replace(question.link, bandwidth=faster * question.link.bandwidth, server_bandwidth=own and faster * own)
    return replace(question, link=link)


ORACLE = Oracle(small, brute, medium, program, objective_of, more)
