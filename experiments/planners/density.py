"""Which density reaches a tolerance soonest on this link? Steps that error feedback needs, times seconds of a step.

Steps are those of the tight rate (`ef_tight_rate`) at its best step size, with the contraction δ that a statement gives
for the density. A step computes and then exchanges by one of the collectives of `theory/calculator.py`, part of it
hidden. Where δ is linear in the density none is better than the largest, and where the workers are as many as δ/κ the
ring that sends everything is best on any link, but for its latency (`linear_gain_seconds`, `sparse_overtakes_ring`):
rates for the worst case ask for dense exchanges.

Every count k is a choice. Steps do not increase with k, and seconds of a step do not decrease: so between two counts no
total is below steps at the upper times seconds at the lower, and intervals where that is no better than a total already
found are left out. What remains is the least total of all counts, whatever the law; to roundings. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

import numpy
import sympy
from numpy.typing import NDArray

from sparsync.experiments.planners.parts.captured import CAPTURES, Floats, captured_share
from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.theory import calculator
from sparsync.theory.language.symbols import L, mu
from sparsync.theory.tight_rates.feedback_steps import S, feedback_factor, feedback_step

DENSE, SPARSE = "dense all-reduce, float32", "sparse all-gather, float32 + int32"
"""Names of exchanges in `theory/calculator.py`."""
LARGEST_DIMENSION = 2**50
"""Up to which a count over it is a density that a double holds."""
_PARTS_COUNT, _CHUNK_COUNT = 16, 2**14
"""Into which an interval is divided, and intervals that are divided at once."""

Counts = NDArray[numpy.int64]


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        dimension: d.
        workers: n.
        bandwidth: bits per second of each worker's link.
        compute_seconds: of a step.
        latency_seconds: of one round of a collective.
        hidden_seconds: of the exchange, that pass while the step computes; at most compute_seconds.
        ratio: the statement that gives ε = 1 − δ at a density, one of `CAPTURES`.
        condition_number: L/μ.
        tolerance: factor by which the Lyapunov function is to shrink.
        collectives: that may be chosen, of `DENSE` and `SPARSE`.
        most_steps: the accuracy budget, steps that may be taken; None is no limit.
        goal: "tolerance" makes the seconds to the tolerance least, "step" those of one step within most_steps.

    Raises:
        ValueError: a field out of range, named with its value.
    """

    dimension: int
    workers: int
    bandwidth: float
    compute_seconds: float
    latency_seconds: float = 0.0
    hidden_seconds: float = 0.0
    ratio: str = "steady_drift"
    condition_number: float = 10.0
    tolerance: float = 1e-6
    collectives: tuple[str, ...] = (DENSE, SPARSE)
    most_steps: int | None = None
    goal: Literal["tolerance", "step"] = "tolerance"

    def __post_init__(self) -> None:
        if not 1 <= self.dimension <= LARGEST_DIMENSION:
            raise ValueError(f"dimension must lie in [1, {LARGEST_DIMENSION}], got {self.dimension}")
        self.at(self.dimension)
        if not 0 < self.compute_seconds < math.inf:
            raise ValueError(f"compute_seconds must be positive, got {self.compute_seconds}")
        if not 0 <= self.hidden_seconds <= self.compute_seconds:
            raise ValueError(f"hidden_seconds must lie in [0, {self.compute_seconds}], got {self.hidden_seconds}")
        if self.ratio not in CAPTURES:
            raise ValueError(f"ratio must be one of {', '.join(CAPTURES)}, got {self.ratio!r}")
        if not self.collectives or set(self.collectives) - {DENSE, SPARSE}:
            raise ValueError(f"collectives must be some of {DENSE!r} and {SPARSE!r}, got {self.collectives}")
        if self.most_steps is not None and self.most_steps < 1:
            raise ValueError(f"most_steps must be at least 1, got {self.most_steps}")
        if self.goal not in ("tolerance", "step"):
            raise ValueError(f"goal must be 'tolerance' or 'step', got {self.goal!r}")

    def at(self, count: int) -> calculator.Question:
        """The calculator's question at a count."""
        return calculator.Question(
            density=count / self.dimension,
            dimension=self.dimension,
            workers=self.workers,
            bandwidth=self.bandwidth,
            latency_seconds=self.latency_seconds,
            condition_number=self.condition_number,
            tolerance=self.tolerance,
        )


@dataclass(frozen=True)
class Candidate:
    """One choice.

    Args:
        collective: name of the exchange.
        count: k.
        steps: to the tolerance.
        step_seconds: of one step.
    """

    collective: str
    count: int
    steps: int
    step_seconds: float

    @property
    def seconds(self) -> float:
        """To the tolerance."""
        return self.steps * self.step_seconds


def plan(question: Question) -> Plan:
    """The collective and the k of the least seconds, over all 1 ≤ k ≤ d; the objective is that of the goal.

    Parts are those of the objective: it is compute + what of latency and transfer exceeds hidden.

    Raises:
        InfeasibleError: even without compression there are more steps than allowed.
    """
    found = [_best(question, collective) for collective in question.collectives]
    candidates = [candidate for candidate in found if candidate is not None]
    if not candidates:
        least = int(steps_needed(question, numpy.array([question.dimension]))[0])
        raise InfeasibleError(
            f"most_steps allows {question.most_steps} steps, and without compression {least} are needed"
        )
    best = min(candidates, key=lambda candidate: _objective(question, candidate))
    repeats = best.steps if question.goal == "tolerance" else 1
    exchange = _exchange(question, best.collective, best.count)
    transfer = 8 * exchange.sent_bytes / question.bandwidth
    density = best.count / question.dimension
    return Plan(
        planner="density",
        choice={
            "collective": best.collective,
            "k": best.count,
            "density": density,
            "steps": best.steps,
            "step_seconds": best.step_seconds,
            "smoothness_times_step_size": _step_size(question, density),
        },
        objective=_objective(question, best),
        parts={
            "compute": repeats * question.compute_seconds,
            "latency": repeats * max(0.0, exchange.seconds - transfer),
            "transfer": repeats * transfer,
            "hidden": repeats * min(question.hidden_seconds, exchange.seconds),
        },
        binding=_binding(question, best),
        remarks=_remarks(question, best, candidates),
    )


def steps_needed(question: Question, counts: Counts) -> NDArray[numpy.int64]:
    """⌈ln tol/ln ρ⌉ by count, at least 1; ρ = θ² is the tight rate at the best step size.

    1 − θ² = (1 − s)(1 − r)θ(1 + θ)/(θ + s), as `ef_small_delta` proves, keeps all digits where δ is small.
    """
    delta = numpy.minimum(captured_share(question.ratio)(counts / question.dimension), 1.0)
    root = numpy.sqrt(1 - delta)
    theta = _factor()(root, 1.0, question.condition_number)
    whole = theta + root
    share = numpy.divide(theta * (1 + theta), whole, out=numpy.ones_like(whole), where=whole > 0)
    # At θ = 0 one step arrives.
    gap = numpy.where(theta > 0, delta / (1 + root) * (2 / (question.condition_number + 1)) * share, 1.0)
    with numpy.errstate(divide="ignore"):
        steps = numpy.ceil(-math.log(question.tolerance) / -numpy.log1p(-gap))
    return cast(NDArray[numpy.int64], numpy.maximum(steps, 1.0).astype(numpy.int64))


def step_seconds(question: Question, collective: str, counts: Counts) -> Floats:
    """Of one step by count: computing, and what of the exchange is not hidden."""
    first, last = (_exchange(question, collective, count) for count in (1, question.dimension))
    # Bytes are a straight line in k, and rounds the same for every k.
    entry_bytes = (last.sent_bytes - first.sent_bytes) // max(1, question.dimension - 1)
    latency = first.seconds - 8 * first.sent_bytes / question.bandwidth
    seconds = 8 * (first.sent_bytes + entry_bytes * (counts - 1)) / question.bandwidth + latency
    return question.compute_seconds + numpy.maximum(0.0, seconds - question.hidden_seconds)


def _exchange(question: Question, collective: str, count: int) -> calculator.Exchange:
    return next(exchange for exchange in calculator.exchanges(question.at(count)) if exchange.name == collective)


@lru_cache
def _factor() -> Callable[[Floats, float, float], Floats]:
    """θ by s, μ and L."""
    return cast(Callable[[Floats, float, float], Floats], sympy.lambdify((S, mu, L), feedback_factor(S), "numpy"))


def _step_size(question: Question, density: float) -> float:
    """Lη* at the density."""
    delta = min(1.0, float(captured_share(question.ratio)(numpy.array([density]))[0]))
    numbers = {S: math.sqrt(1 - delta), mu: 1.0, L: question.condition_number}
    return float(feedback_step(S).subs(numbers)) * question.condition_number


def _objective(question: Question, candidate: Candidate) -> float:
    return candidate.seconds if question.goal == "tolerance" else candidate.step_seconds


def _best(question: Question, collective: str) -> Candidate | None:
    """The best count of a collective; None if none keeps within the steps allowed."""
    dimension = question.dimension
    least = dimension if collective == DENSE else 1
    if question.most_steps is not None:
        allowed = question.most_steps
        if steps_needed(question, numpy.array([dimension]))[0] > allowed:
            return None
        least = max(least, _first(lambda count: steps_needed(question, numpy.array([count]))[0] <= allowed, dimension))
    if question.goal == "step":
        return _candidate(question, collective, least)
    return _candidate(question, collective, _least_total(question, collective, least))


def _first(holds: Callable[[int], bool], last: int) -> int:
    """The first count that holds, where all beyond it do and the last does."""
    lower, upper = 0, last
    while upper - lower > 1:
        middle = (lower + upper) // 2
        lower, upper = (lower, middle) if holds(middle) else (middle, upper)
    return upper


def _candidate(question: Question, collective: str, count: int) -> Candidate:
    counts = numpy.array([count])
    steps = int(steps_needed(question, counts)[0])
    return Candidate(collective, count, steps, float(step_seconds(question, collective, counts)[0]))


def _least_total(question: Question, collective: str, least: int) -> int:
    """The count of the least total from `least` to d, by intervals that are divided until no other can be better."""
    best, best_count = math.inf, least
    chunks = [numpy.array([[least, question.dimension]])]
    while chunks:
        intervals = chunks.pop()
        points = _divided(intervals)
        steps = steps_needed(question, points.ravel()).reshape(points.shape)
        seconds = step_seconds(question, collective, points.ravel()).reshape(points.shape)
        totals = steps * seconds
        place = int(totals.argmin())
        if totals.flat[place] < best:
            best, best_count = float(totals.flat[place]), int(points.flat[place])
        # With equally many steps at both ends the lower end is best, and it is known.
        within = (steps[:, :-1] > steps[:, 1:]) & (points[:, 1:] - points[:, :-1] > 1)
        within &= steps[:, 1:] * seconds[:, :-1] < best
        lower, upper = points[:, :-1][within], points[:, 1:][within]
        left = numpy.stack((lower, upper), axis=1)
        chunks += [left[first : first + _CHUNK_COUNT] for first in range(0, len(left), _CHUNK_COUNT)]
    return best_count


def _divided(intervals: Counts) -> Counts:
    """By interval, its ends and counts between them: in equal ratios, which from a ratio near 1 are equal distances."""
    lower, upper = intervals[:, :1].astype(numpy.float64), intervals[:, 1:].astype(numpy.float64)
    shares = numpy.arange(_PARTS_COUNT + 1) / _PARTS_COUNT
    points = numpy.rint(lower * (upper / lower) ** shares).astype(numpy.int64)
    points[:, 0], points[:, -1] = intervals[:, 0], intervals[:, 1]
    return numpy.clip(points, intervals[:, :1], intervals[:, 1:])


def _binding(question: Question, best: Candidate) -> tuple[str, ...]:
    if question.most_steps is None or best.count == 1 or best.collective == DENSE:
        return ()
    before = steps_needed(question, numpy.array([best.count - 1]))[0]
    return (f"most_steps: {question.most_steps} steps",) if before > question.most_steps else ()


def _remarks(question: Question, best: Candidate, candidates: list[Candidate]) -> tuple[str, ...]:
    others = [
        f"{other.collective} would take {_objective(question, other):.6g} seconds with k = {other.count}"
        for other in candidates
        if other is not best
    ]
    if best.count == question.dimension:
        return tuple(others)
    gain = best.steps / int(steps_needed(question, numpy.array([question.dimension]))[0])
    return (*others, f"sending everything would need 1/{gain:.4g} of the steps")
