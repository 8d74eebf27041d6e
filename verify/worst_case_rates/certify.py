"""Between which fractions does a rate certainly lie? Proofs on both sides, in fractions alone, where they round.

The simplest fraction that the solver cannot tell from its rate is tried first, so that a rate such as 1/6 comes out as
1/6; then fractions a little above (or below), up to a thousandth. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sparsync.verify.worst_case_rates.programmes import Solution, SolverError, least
from sparsync.verify.worst_case_rates.questions import Features, Quotient, Search
from sparsync.verify.worst_case_rates.rounding import NotRoundedError, exact_solution, with_room
from sparsync.verify.worst_case_rates.systems import (
    RATE,
    System,
    lyapunov_system,
    quotient_system,
    worst_case_system,
)
from sparsync.verify.worst_case_rates.vectors import Form, total

SAME = 2e-7
"""Two rates that a solver does not tell apart, in units of the larger of the rate and one."""
DENOMINATOR = 300
"""The largest of a simple fraction: a rate has one so near by chance in one case of fifty."""
PLACES = 5
"""The most of a decimal that counts as simple."""
MARGINS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""How far a bound may lie from the rate, in units of the rate."""
DIGITS = 9
"""Significant digits of such a bound."""


@dataclass(frozen=True)
class Bound:
    """A proved bound.

    Args:
        value: of the rate.
        unknowns: multipliers, or a Gram matrix and values, that prove it.
    """

    value: Fraction
    unknowns: Mapping[str, Fraction]


@dataclass(frozen=True)
class Unproved:
    """No bound.

    Args:
        reason: why the last attempt failed.
    """

    reason: str


@dataclass(frozen=True)
class Solved:
    """A rate with what is proved of it.

    Args:
        solution: of the solver.
        upper: a fraction that the rate does not exceed.
        lower: a fraction that the worst case reaches.
    """

    solution: Solution
    upper: Bound | Unproved
    lower: Bound | Unproved

    @property
    def proved(self) -> bool:
        """True iff both sides are, near each other."""
        if isinstance(self.upper, Unproved) or isinstance(self.lower, Unproved):
            return False
        return float(self.upper.value - self.lower.value) <= 3 * MARGINS[-1] * max(abs(float(self.upper.value)), SAME)


def solved(question: Quotient) -> Solved:
    """The rate of a question: the solver's, if it is sure; else the first rough one of which both sides are proved.

    Raises:
        SolverError: the worst case is unbounded, nothing is possible, or the solver fails.
    """
    system = quotient_system(question)
    sure: Solved | None = None
    failed: SolverError | None = None
    # With forced zeros as equations a solver sees more clearly, if the zeros are the right ones, which proofs tell.
    for forced, roughly in ((False, False), (True, False), (False, True), (True, True)):
        try:
            solution = least(with_room(system) if forced else system, RATE, roughly=roughly)
        except SolverError as error:
            failed = failed or error
            continue
        found = Solved(solution, *bounds(question, solution.objective))
        if found.proved:
            return found
        if not (forced or roughly):
            sure = found
    if sure is not None:
        return sure
    raise failed or SolverError("what the solver found is inaccurate, and was not proved on both sides")


def bounds(question: Quotient, rate: float) -> tuple[Bound | Unproved, Bound | Unproved]:
    """Fractions that the rate of a question does not exceed, and that the worst case reaches.

    Args:
        question: what is asked.
        rate: in floating point.
    """
    (own,) = quotient_system(question).sums

    def above(value: Fraction) -> System:
        return quotient_system(question, value)

    def below(value: Fraction) -> System:
        return worst_case_system(question, own.names, value)

    for simple in _simple(rate):
        upper = _first([simple], above)
        lower = _first([simple], below) if isinstance(upper, Bound) else upper
        if isinstance(lower, Bound):
            return upper, lower
    return _first(_nearby(rate, above=True), above), _first(_nearby(rate, above=False), below)


def lyapunov_bound(question: Search, factor: float) -> Bound | Unproved:
    """A fraction for which there is a Lyapunov function."""
    return _first(
        [*_simple(factor), *_nearby(factor, above=True)], lambda value: lyapunov_system(question, value, scaled=False)
    )


def energy(own: Features, bound: Bound) -> Form:
    """V at features, with the coefficients of a bound."""
    pairs = [(i, j) for i in range(len(own.vectors)) for j in range(i, len(own.vectors))]
    return total(
        [
            *((bound.unknowns[f"P {i},{j}"], own.vectors[i] @ own.vectors[j]) for i, j in pairs),
            *((bound.unknowns[f"p {place}"], value) for place, value in enumerate(own.values)),
        ]
    )


def _first(candidates: Iterable[Fraction], system: Callable[[Fraction], System]) -> Bound | Unproved:
    reason = "no candidate"
    for value in candidates:
        try:
            return Bound(value, exact_solution(system(value)))
        except NotRoundedError as error:
            reason = str(error)
    return Unproved(reason)


def _simple(rate: float) -> Iterator[Fraction]:
    """The simple fraction that may be the rate itself, if there is one."""
    exact = Fraction(rate)
    for simple in (exact.limit_denominator(DENOMINATOR), Fraction(round(exact * 10**PLACES), 10**PLACES)):
        if abs(float(simple - exact)) <= SAME * max(1.0, abs(rate)):
            yield simple
            return


def _nearby(rate: float, *, above: bool) -> Iterator[Fraction]:
    sign, rounded = (1, math.ceil) if above else (-1, math.floor)
    for margin in MARGINS:
        shifted = rate + sign * margin * (abs(rate) or 1.0)
        scale = Fraction(10) ** (DIGITS - math.ceil(math.log10(abs(shifted))))
        yield Fraction(rounded(Fraction(shifted) * scale)) / scale
