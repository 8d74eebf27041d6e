"""What evidence is there for the statements of `theory/feedback/complexity.py`, besides their derivations?

Power laws: the extremal vectors of each class, in fractions. Laws: quadrature of the density, with the level found by
a root finder. Residual and crossover: exact runs and exact arithmetic. Ours.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
from hypothesis import strategies as st

from sparsync.theory.language.symbols import compression as c
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, tail_ratio
from sparsync.verify.feedback.admission import rational_root, substituted
from sparsync.verify.feedback.queries import (
    crossover_queries,
    power_law_queries,
    square_residual_queries,
    variance_crossover_queries,
)
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import smt_check

DIGITS = 20
"""Working precision of the quadrature."""
TOLERANCE = 1e-14
"""Relative: the bound is a float (2⁻⁵³, about 1.1e-16); the quadrature's own error is orders below at 20 digits."""
COMPRESSIONS = (1, 2, 10, 1000, 10000, 10**50)
"""Values of c = d/k at which the laws are integrated; at the last, 1 − 1/c has no float of its own."""

EXTREMAL_CLASSES = {
    "complexity_classical": "top_k",
    "complexity_square": "square_convex",
    "complexity_cubic": "bell_shaped",
}
"""Which class of vectors attains the contraction factor."""


def extremal_check(profile: Profile, *, label: str) -> Outcome:
    """`rational`: for all k ≤ d the extremal vector of the class has this δ and this 1/δ² at c = d/k, exactly."""
    weights, missed, count = CLASS_WEIGHTS[EXTREMAL_CLASSES[label]], 0, 0
    for dimension in profile.dimensions:
        for sent in range(1, dimension + 1):
            kept_share, compression = tail_ratio(weights(dimension), sent), Fraction(dimension, sent)
            missed += STATEMENTS[label].fraction(compression=compression) != 1 / (1 - kept_share) ** 2
            missed += substituted(STATEMENTS[label].given("kept_back"), {"compression": compression}) != kept_share
            count += 1
    return Outcome(earned=count > 0 and missed == 0, detail={"vectors_count": count, "missed_count": missed})


def quadrature_check(_profile: Profile, *, label: str, density: Callable[[Any], Any]) -> Outcome:
    """`numeric`: 1/δ² by quadrature of the law of |u|, from the level above which the share 1/c lies."""
    errors = []
    with mpmath.workdps(DIGITS):
        energy = _tail(density, mpmath.mpf(0), power=2)
        for compression in COMPRESSIONS:
            level = _level(density, compression)
            sent = _tail(density, level, power=2)
            value = STATEMENTS[label].evaluate(compression=compression)
            errors.append(float(abs(value / (energy / sent) ** 2 - 1)))
    return Outcome(
        earned=max(errors) <= TOLERANCE,
        detail={"levels_count": len(errors), "largest_relative_error": max(errors)},
    )


def normal_density(x: Any) -> Any:
    """Density of |u| for a standard normal u."""
    return mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-(x**2) / 2)


def laplace_density(x: Any) -> Any:
    """Density of |u| for a Laplace u of scale 1."""
    return mpmath.exp(-x)


def kept_steps_margin(compression: Fraction, step: Fraction, magnitude: Fraction, signs: list[int]) -> Fraction:
    """1 − max_t |e_t|²/bound for e⁺ = ±a(e + ησ) with a² and σ² as assumed; 1 where c = 1 and nothing is kept back."""
    statement = STATEMENTS["residual_square"]
    root = rational_root(substituted(statement.given("kept_back"), {"compression": compression}))
    longest = rational_root(substituted(statement.given("second_moment"), {"second_moment": magnitude**2}))
    residual = largest = Fraction(0)
    for sign in signs:
        residual = sign * root * (residual + step * longest)
        largest = max(largest, residual**2)
    bound = statement.fraction(compression=compression, step_size=step, second_moment=magnitude**2)
    return 1 - largest / bound if bound else 1 - largest


def crossover_margin(update_count: Fraction, smoothness: Fraction, delta: Fraction) -> Fraction:
    """−|1 − (compression/noise)²| at T*; −1 if the two terms are in the wrong order at the other T given.

    The terms are 4(1 − δ)η²L²σ²/δ² and ηLσ², with η² as assumed.
    """
    step_square = STATEMENTS["crossover"].given("step_size") ** 2

    def quotient_square(count: Fraction) -> Fraction:
        return (4 * (1 - delta) * smoothness / delta**2) ** 2 * substituted(step_square, {"T": count})

    crossing = STATEMENTS["crossover"].fraction(smoothness=smoothness, delta=delta)
    if (quotient_square(update_count) <= 1) != (update_count >= crossing):
        return Fraction(-1)
    return -abs(1 - quotient_square(crossing)) if crossing else Fraction(0)


def constant_cost_margin(
    root: Fraction, smoothness: Fraction, gap: Fraction, variance: Fraction, factor: Fraction
) -> Fraction:
    """1 − quotient/(2(1 + a)) for the rates with δ and with δ = 1 at √T = factor·√T*, where the factor is at least 1.

    A smaller factor is the share of the way from the limit of the step size to T*; there the start is left out, and
    the margin is that by which the quotient exceeds 2(1 + a). Where T* is not where they are equal without a start,
    (1 − ηL/2) = 2(1 − η/limit), the margin is −|1 − T*/T|.
    """
    lowest_root = 1 / largest_stable_step(root, smoothness)
    crossing_root = 2 * lowest_root - smoothness / 2
    count = STATEMENTS["crossover_variance"].fraction(smoothness=smoothness, delta=1 - root**2)
    if count != crossing_root**2:
        return -abs(1 - count / crossing_root**2)
    step = STATEMENTS["crossover_variance"].given("step_size")
    is_before = factor < 1
    count_root = lowest_root + factor * (crossing_root - lowest_root) if is_before else factor * crossing_root
    eta = substituted(step, {"T": count_root**2})
    start, push = Fraction(0) if is_before else gap / (eta * count_root**2), eta * smoothness * variance / 2
    compressed = (start + push * (1 + root)) / (1 - lowest_root * eta)
    plain = (start + push) / (1 - smoothness * eta / 2)
    room = 1 - compressed / (2 * (1 + root) * plain)
    return -room if is_before else room


def largest_stable_step(root: Fraction, smoothness: Fraction) -> Fraction:
    """The η at which −1 becomes an eigenvalue of error feedback with C(u) = (1 + a)u on Lx²/2.

    (e, x) ↦ (−a(e + ηLx), x − (1 + a)(e + ηLx)); the determinant of the map plus one is affine in η.
    """

    def determinant(step: Fraction) -> Fraction:
        pull = step * smoothness
        return (1 - root) * (2 - (1 + root) * pull) - root * pull * (1 + root)

    at_zero, at_one = determinant(Fraction(0)), determinant(Fraction(1))
    return at_zero / (at_zero - at_one)


def _tail(density: Callable[[Any], Any], level: Any, *, power: int) -> Any:
    """The integral of x^power times the density from the level on; scaled, for mpmath stops at an absolute error."""
    largest = density(level)
    pieces = [level, level + 1, level + 3, level + 10, level + 40, mpmath.inf]
    return largest * mpmath.quad(lambda x: x**power * (density(x) / largest), pieces)


def _level(density: Callable[[Any], Any], compression: int) -> Any:
    """The level above which the share 1/c lies, by the secant rule on the logarithm of the share."""
    if compression == 1:
        return mpmath.mpf(0)

    def excess(level: Any) -> Any:
        return mpmath.log(_tail(density, level, power=0) * compression)

    return mpmath.findroot(excess, (mpmath.mpf(1), mpmath.mpf(2)))


def _kept_steps_cases() -> st.SearchStrategy[Any]:
    sizes = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(2)])
    compressions = st.integers(4, 40).map(lambda numerator: Fraction(numerator, 4))
    steady = st.integers(1, 30).map(lambda count: [1] * count)
    signs = st.one_of(steady, st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=30))
    return st.tuples(compressions, sizes, sizes, signs)


def _crossover_cases() -> st.SearchStrategy[Any]:
    sizes = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(7)])
    deltas = st.integers(1, 16).map(lambda numerator: Fraction(numerator, 16))
    return st.tuples(st.integers(1, 10**6).map(Fraction), sizes, deltas)


def _constant_cost_cases() -> st.SearchStrategy[Any]:
    sizes = st.sampled_from([Fraction(1, 100), Fraction(1), Fraction(7)])
    roots = st.integers(1, 63).map(lambda numerator: Fraction(numerator, 64))
    factors = st.integers(1, 40).map(lambda numerator: Fraction(numerator, 8))
    return st.tuples(roots, sizes, sizes, sizes, factors)


_NO_SELECTION = "no selection sends more entries than there are"

EDGES: dict[str, tuple[Remark, ...]] = {
    "complexity_classical": (Unneeded("compression >= 1", _NO_SELECTION),),
    "complexity_square": (Unneeded("compression >= 1", _NO_SELECTION),),
    "complexity_cubic": (Unneeded("compression >= 1", _NO_SELECTION),),
    "complexity_gaussian": (Edge("compression >= 1", {"compression": Fraction(15, 16)}),),
    "complexity_laplace": (Unneeded("compression >= 1", _NO_SELECTION),),
    "residual_square": (Unneeded("compression >= 1", _NO_SELECTION),),
    "crossover": (Unneeded("delta <= 1", "a compressor keeps nothing back already where δ = 1"),),
    "crossover_variance": (Edge("delta < 1", {"delta": Fraction(33, 32), "smoothness": 10}),),
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "complexity_classical": {"rational": partial(extremal_check, label="complexity_classical")},
    "complexity_square": {
        "smt": smt_check(
            partial(power_law_queries, "complexity_square", exponent=2, lower=(c**2 + c) / 4, upper=(c**2 + c + 2) / 4)
        ),
        "rational": partial(extremal_check, label="complexity_square"),
    },
    "complexity_cubic": {
        "smt": smt_check(
            partial(
                power_law_queries,
                "complexity_cubic",
                exponent=3,
                lower=(c**2 + 2 * c) / 9,
                upper=(c**2 + 2 * c + 6) / 9,
            )
        ),
        "rational": partial(extremal_check, label="complexity_cubic"),
    },
    "complexity_gaussian": {
        "numeric": partial(quadrature_check, label="complexity_gaussian", density=normal_density),
    },
    "complexity_laplace": {
        "numeric": partial(quadrature_check, label="complexity_laplace", density=laplace_density),
    },
    "residual_square": {
        "smt": smt_check(square_residual_queries),
        "property": property_check(_kept_steps_cases, kept_steps_margin),
    },
    "crossover": {
        "smt": smt_check(crossover_queries),
        "property": property_check(_crossover_cases, crossover_margin),
    },
    "crossover_variance": {
        "smt": smt_check(variance_crossover_queries),
        "property": property_check(_constant_cost_cases, constant_cost_margin),
    },
}
"""Every check of these statements, by label and grade."""
