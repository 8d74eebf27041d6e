"""What is the answer to a question about a method? The rate in floating point, and what is proved of it. Ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from sparsync.verify.worst_case_rates.certify import (
    Bound,
    Solved,
    Unproved,
    energy,
    lyapunov_bound,
    solved,
)
from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.method_file import Method
from sparsync.verify.worst_case_rates.programmes import Array, Solution, SolverError, least
from sparsync.verify.worst_case_rates.quadratics import Slowest, slowest_quadratic
from sparsync.verify.worst_case_rates.questions import (
    Quotient,
    Search,
    lyapunov_search,
    named_factor,
    worst_case,
)
from sparsync.verify.worst_case_rates.record import lyapunov_record, quotient_record
from sparsync.verify.worst_case_rates.search import LARGEST, RESOLUTION, Found, least_factor
from sparsync.verify.worst_case_rates.systems import RATE, quotient_system
from sparsync.verify.worst_case_rates.vectors import Vector

RANK = 1e-5
"""An eigenvalue of a Gram matrix, in units of the largest, that counts as zero."""


@dataclass(frozen=True)
class Asked:
    """What is asked about a method.

    Args:
        steps: N; None asks for a factor of one step.
        initial: what is measured at the start instead of what the method says.
        performance: what is measured at the end, likewise.
        search: look for a Lyapunov function although the method names one.
    """

    steps: int | None = None
    initial: str | None = None
    performance: str | None = None
    search: bool = False


@dataclass(frozen=True)
class Answer:
    """A rate.

    Args:
        said: what it is the rate of.
        rate: in floating point.
        tolerance: of the solver, or the distance at which bisection ended.
        second: what SCS says, or why it says nothing.
        upper: a proof that the rate is no larger.
        lower: a proof that it is no smaller; None where none is looked for.
        slowest: the slowest quadratic, for one step; None where a step is no matrix.
        made_of: what a Lyapunov function that was searched is made of.
        dimension: of the worst case that the solver found.
        points: its points, each the place x - x* and the gradient, in coordinates of that dimension.
        multipliers: of the known inequalities, in floating point, by name.
        remarks: what keeps the rate from being exact.
        record: the certificate; None if nothing was proved.
    """

    said: str
    rate: float
    tolerance: float
    second: float | str
    upper: Bound | Unproved
    lower: Bound | Unproved | None
    slowest: Slowest | None
    made_of: tuple[str, ...]
    dimension: int | None
    points: list[dict[str, Any]]
    multipliers: dict[str, float]
    remarks: list[str]
    record: dict[str, Any] | None


def answer(method: Method, asked: Asked, advance: Callable[[], None] = lambda: None) -> Answer:
    """The answer to what is asked.

    Args:
        method: about which.
        asked: what.
        advance: is called after each programme of a bisection.

    Raises:
        MethodError: the method is none, or what is asked does not exist.
        SolverError: there is no rate, or a solver fails; the message says which.
    """
    if _searches(method, asked):
        return _searched(method, lyapunov_search(method, performance=asked.performance), advance)
    return _quotient(method, _quotient_of(method, asked), one_step=asked.steps is None)


def rate_alone(method: Method, asked: Asked) -> float:
    """The rate in floating point, for a comparison of many parameters; infinite where there is none.

    Raises:
        MethodError: see `answer`.
    """
    try:
        if _searches(method, asked):
            question = lyapunov_search(method, performance=asked.performance)
            found = least_factor(question, resolution=100 * RESOLUTION)
            return float(LARGEST) if found is None else float(found.factor)
        return least(quotient_system(_quotient_of(method, asked)), RATE, roughly=True).objective
    except SolverError:
        return float("inf")


def _searches(method: Method, asked: Asked) -> bool:
    if asked.steps is None and asked.initial is not None:
        raise MethodError("--initial is for --steps: a Lyapunov function is of one step from any state")
    if asked.steps is not None and asked.search:
        raise MethodError("--search is of one step from any state, and --steps of a run")
    named = method.has("lyapunov") and not asked.search
    if named and asked.steps is None and asked.performance is not None:
        raise MethodError(f"{method.name} names a Lyapunov function: --performance is for --search or --steps")
    return asked.steps is None and not named


def _quotient_of(method: Method, asked: Asked) -> Quotient:
    if asked.steps is None:
        return named_factor(method)
    return worst_case(method, asked.steps, initial=asked.initial, performance=asked.performance)


def _quotient(method: Method, question: Quotient, *, one_step: bool) -> Answer:
    try:
        found = solved(question)
    except SolverError as error:
        raise SolverError(f"{question.said}: {_meaning(error)}", error.status) from error
    solution, upper, lower = found.solution, found.upper, found.lower
    proved = [bound if isinstance(bound, Bound) else None for bound in (upper, lower)]
    names = [known.name for known in question.known]
    dimension, points = _worst_case(question, solution)
    return Answer(
        said=question.said,
        rate=solution.objective,
        tolerance=_distance(found) if math.isinf(solution.tolerance) else solution.tolerance,
        second=_second_opinion(question),
        upper=upper,
        lower=lower,
        slowest=slowest_quadratic(method) if one_step else None,
        made_of=(),
        dimension=dimension,
        points=points,
        multipliers={name: solution.values[name] for name in names if name in solution.values},
        remarks=question.problem.remarks(),
        record=quotient_record(question, proved[0], proved[1]) if any(proved) else None,
    )


def _searched(method: Method, question: Search, advance: Callable[[], None]) -> Answer:
    found: Found | None = least_factor(question, advance)
    if found is None:
        raise SolverError(f"{question.said}: there is none with a factor up to {LARGEST}")
    upper = lyapunov_bound(question, float(found.factor))
    if found.rough and isinstance(upper, Unproved):
        about = f"a factor of {float(found.factor):.3g} seems possible to a solver that calls itself inaccurate"
        raise SolverError(f"{question.said}: {about}, and no function was proved")
    second: float | str = "no function was proved that it could be asked about"
    if isinstance(upper, Bound):
        share = 1 / max(abs(value) for name, value in upper.unknowns.items() if name[0] in "Pp")
        before, after = (share * energy(own, upper) for own in (question.before, question.after))
        second = _second_opinion(Quotient(question.problem, before, (after,), question.known, ""))
    return Answer(
        said=question.said,
        rate=float(found.factor),
        tolerance=float(found.factor - (found.below or 0)),
        second=second,
        upper=upper,
        lower=None,
        slowest=slowest_quadratic(method),
        made_of=question.before.names,
        dimension=None,
        points=[],
        multipliers={},
        remarks=question.problem.remarks(),
        record=lyapunov_record(question, upper) if isinstance(upper, Bound) else None,
    )


def _distance(found: Solved) -> float:
    assert isinstance(found.upper, Bound)
    assert isinstance(found.lower, Bound)
    return float(found.upper.value - found.lower.value)


def _second_opinion(question: Quotient) -> float | str:
    try:
        return least(quotient_system(question), RATE, solver="SCS").objective
    except SolverError as error:
        return f"{error}"


def _meaning(error: SolverError) -> str:
    if "infeasible" in error.status:
        return f"no multipliers prove any rate, the worst case is unbounded ({error})"
    if "unbounded" in error.status:
        return (
            f"every rate is proved: what is measured at the start is zero, or conditions exclude each other ({error})"
        )
    return str(error)


def _worst_case(question: Quotient, found: Solution) -> tuple[int | None, list[dict[str, Any]]]:
    """The dimension of what the solver found dual, and its points as coordinates."""
    (own,) = quotient_system(question).sums
    matrix = found.matrices[0]
    if matrix.shape[0] != len(own.names):
        return None, []
    weights, vectors = numpy.linalg.eigh((matrix + matrix.T) / 2)
    kept = weights > RANK * max(weights.max(initial=0.0), 0.0)
    frame: Array = vectors[:, kept] * numpy.sqrt(weights[kept])
    place = {name: number for number, name in enumerate(own.names)}

    def coordinates(vector: Vector) -> list[float]:
        found = numpy.zeros(frame.shape[1])
        for name, share in vector.coefficients.items():
            if name in place:
                found += float(share) * frame[place[name]]
        return [float(entry) for entry in found]

    points = [
        {"worker": worker, "place": coordinates(point.move), "gradient": coordinates(point.gradient)}
        for worker, points in enumerate(question.problem.points)
        for point in points
    ]
    return int(kept.sum()), points


def closed_form(method: Method, asked: Asked) -> float | None:
    """What the method's own `closed_form(steps)` says; steps is None for one step; None if it says nothing.

    Raises:
        MethodError: it is no number.
    """
    if not method.has("closed_form"):
        return None
    said = method.call("closed_form", asked.steps)
    if said is None:
        return None
    try:
        return float(said)
    except (TypeError, ValueError) as error:
        raise MethodError(f"{method.name}.closed_form must return a number or None, got {said!r}") from error
