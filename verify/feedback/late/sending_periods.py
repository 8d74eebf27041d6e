"""What evidence is there that momentum gains little where coordinates are sent in turn, besides the derivations?

The recursion itself is run, step by step in fractions, from two states; that gives the map of a period, whose trace
and determinant are of degree 1 in the step size. Where its roots lie is then decided exactly. The sums G and P of the
derivation are not used. Only the bounds are read from `theory/`. Ours.
"""

from fractions import Fraction
from itertools import product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import sending_period
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

PERIODS = (1, 2, 3, 5, 8)
MOMENTA = tuple(Fraction(part, 16) for part in (0, 4, 8, 12, 14, 15))
SHARES = (Fraction(1, 100), Fraction(1, 2), Fraction(127, 128), Fraction(129, 128), Fraction(2))
"""Of the stated limit: where a step size is tried."""
CONDITION_NUMBERS = (Fraction(2), Fraction(20), Fraction(10**5))


def period_map(period: int, momentum: Fraction, size: Fraction) -> tuple[Fraction, Fraction]:
    """Trace and determinant of a period of N steps, by running it from (x, m) = (1, 0) and (0, 1).

    Args:
        period: N.
        momentum: γ.
        size: a = ηλ.
    """
    (xx, mx), (xm, mm) = (_run(period, momentum, size, Fraction(x), Fraction(1 - x)) for x in (1, 0))
    return xx + mm, xx * mm - xm * mx


def _run(period: int, momentum: Fraction, size: Fraction, x: Fraction, buffer: Fraction) -> tuple[Fraction, Fraction]:
    residual = Fraction(0)
    for step in range(1, period + 1):
        residual += size * x
        buffer *= momentum
        if step == period:
            buffer += residual
        x -= buffer
    return x, buffer


def is_stable(trace: Fraction, determinant: Fraction, radius: Fraction = Fraction(1)) -> bool:
    """Whether both roots of z² − trace z + determinant are smaller than a radius (Schur and Cohn)."""
    scaled, product_of_roots = trace / radius, determinant / radius**2
    return abs(product_of_roots) < 1 and abs(scaled) < 1 + product_of_roots


def largest_step(period: int, momentum: Fraction) -> Fraction | None:
    """The supremum of the stable ηλ; None if there is none. Trace and determinant are affine, so it is a quotient.

    Raises:
        ArithmeticError: they are not affine.
    """
    at = [period_map(period, momentum, Fraction(size)) for size in (0, 1, 2)]
    for place in (0, 1):
        if at[2][place] - at[1][place] != at[1][place] - at[0][place]:
            raise ArithmeticError(f"trace or determinant is not affine in the step size: {at}")
    (trace, determinant), (trace_slope, slope) = at[0], (at[1][0] - at[0][0], at[1][1] - at[0][1])
    # det < 1 and 1 + trace + det > 0 hold at small steps; the third condition, 1 − trace + det > 0, at all.
    ends = [(1 - determinant) / slope] if slope > 0 else []
    below = trace_slope + slope
    ends += [-(1 + trace + determinant) / below] if below < 0 else []
    return min(ends) if ends else None


def limit_margin(period: int, momentum: Fraction, share: Fraction) -> Fraction:
    """1 if a share of the stated limit is stable iff it is below one, else −1."""
    stated = STATEMENTS["round_robin_limit"].fraction(sending_period=period, momentum=momentum)
    found = is_stable(*period_map(period, momentum, share * stated))
    return Fraction(1 if found == (share < 1) else -1)


def reach_margin(period: int, momentum: Fraction) -> Fraction:
    """1 − the largest effective step over its bound."""
    largest = largest_step(period, momentum)
    if largest is None:
        return Fraction(-1)
    return 1 - largest / (1 - momentum) / STATEMENTS["round_robin_reach"].fraction(sending_period=period)


def rate_margin(period: int, momentum: Fraction, effective: Fraction) -> Fraction:
    """1 if no radius below the stated one holds both roots, else −1."""
    stated = STATEMENTS["round_robin_rate"].fraction(sending_period=period, effective_step=effective)
    if stated <= 0:
        return Fraction(1)
    found = period_map(period, momentum, effective * (1 - momentum))
    return Fraction(-1 if is_stable(*found, radius=stated) else 1)


def speed_margin(period: int, momentum: Fraction, share: Fraction, condition: Fraction) -> Fraction:
    """The same of the worst of curvatures 1/condition and 1, at a share of the stable limit.

    Args:
        period: N, at least 2.
        momentum: γ.
        share: of the largest stable step at curvature 1, below one.
        condition: L/μ.
    """
    largest = largest_step(period, momentum)
    stated = STATEMENTS["round_robin_speed"].fraction(sending_period=period, mu=1 / condition, smoothness=1)
    if largest is None or stated <= 0:
        return Fraction(1)
    sizes = (share * largest / condition, share * largest)
    is_faster = all(is_stable(*period_map(period, momentum, size), radius=stated) for size in sizes)
    return Fraction(-1 if is_faster else 1)


def double_root(momentum: Fraction) -> Fraction:
    """The effective step at which the heavy ball has a double root: (1 − √γ)²/(1 − γ), for γ a square."""
    root = Fraction(*(round(part**0.5) for part in momentum.as_integer_ratio()))
    return (1 - root) ** 2 / (1 - momentum)


def limit_runs(_profile: Profile) -> Outcome:
    """`rational`: every period, momentum and share of the limit of a grid."""
    margins = [limit_margin(*case) for case in product(PERIODS, MOMENTA, SHARES)]
    return Outcome(earned=min(margins) >= 0, detail={"runs_count": len(margins)})


def rate_runs(_profile: Profile) -> Outcome:
    """`rational`: a grid, and the heavy ball where it is best for a curvature."""
    cases = [(period, momentum, share / period) for period, momentum, share in product(PERIODS, MOMENTA, SHARES[:2])]
    roots = [Fraction(part, 64) for part in (32, 56, 62, 63)]
    cases += [(1, root**2, double_root(root**2)) for root in roots]
    margins = [rate_margin(*case) for case in cases]
    return Outcome(earned=min(margins) >= 0, detail={"runs_count": len(margins)})


def speed_runs(_profile: Profile) -> Outcome:
    """`rational`: a grid of periods, momenta, step sizes and condition numbers."""
    cases = product(PERIODS[1:], MOMENTA, SHARES[:3], CONDITION_NUMBERS)
    margins = [speed_margin(*case) for case in cases]
    return Outcome(earned=min(margins) >= 0, detail={"runs_count": len(margins)})


def reach_queries() -> tuple[Query, ...]:
    """From what the two conditions of stability give: hN(1 − G) ≤ 4 and hG(N − 1) ≤ 2."""
    first, second, step, period, last = sympy.symbols("A B h N G", real=True)
    numerator, denominator = sympy.fraction(
        sympy.together(STATEMENTS["round_robin_reach"].bound.xreplace({sending_period: period}))
    )
    whole = (step > 0, period >= 2, last >= 0, last < 1)
    weighted = sympy.Eq(2 * (1 + last) * first + 2 * (1 - last) * second, period * (1 - last))
    below = (step * first <= 1, step * second <= 1)
    return (
        Query(
            "the two limits, weighted",
            (*whole, weighted, *below),
            step * period * (1 - last) <= 4,
            step * period * (1 - last) <= 3,
        ),
        Query(
            "both sides of G",
            (*whole, step * period * (1 - last) <= 4, step * last * (period - 1) <= 2),
            step * denominator <= numerator,
            2 * step * denominator <= numerator,
        ),
    )


def _cases() -> st.SearchStrategy[tuple[int, Fraction]]:
    return st.tuples(st.integers(1, 9), st.fractions(0, Fraction(31, 32), max_denominator=32))


def _limit_cases() -> st.SearchStrategy[tuple[int, Fraction, Fraction]]:
    shares = st.one_of(
        st.sampled_from(SHARES), st.fractions(Fraction(1, 9), 3, max_denominator=9).filter(lambda x: x != 1)
    )
    return st.tuples(_cases(), shares).map(lambda drawn: (*drawn[0], drawn[1]))


def _rate_cases() -> st.SearchStrategy[tuple[int, Fraction, Fraction]]:
    steps = st.fractions(Fraction(1, 99), Fraction(1, 2), max_denominator=99)
    drawn = st.tuples(_cases(), steps).map(lambda pair: (*pair[0], pair[1] / pair[0][0]))
    best = st.integers(1, 63).map(lambda part: (1, Fraction(part, 64) ** 2, double_root(Fraction(part, 64) ** 2)))
    return st.one_of(drawn, best)


def _speed_cases() -> st.SearchStrategy[tuple[int, Fraction, Fraction, Fraction]]:
    later = _cases().filter(lambda case: case[0] > 1)
    drawn = st.tuples(later, st.sampled_from(SHARES[:3]), st.sampled_from(CONDITION_NUMBERS))
    return drawn.map(lambda each: (*each[0], each[1], each[2]))


EDGES: dict[str, tuple[Remark, ...]] = {
    "round_robin_limit": (Edge("momentum < 1", {"momentum": Fraction(1), "sending_period": 3}),),
    "round_robin_reach": (Edge("sending_period >= 2", {"sending_period": 1}),),
    "round_robin_speed": (
        Edge("sending_period >= 2", {"sending_period": 1, "mu": 1, "smoothness": 1}),
        Unneeded("mu <= smoothness", "curvatures from μ to L are meant; beyond, the bound is negative from N = 2 on"),
    ),
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "round_robin_limit": {"rational": limit_runs, "property": property_check(_limit_cases, limit_margin)},
    "round_robin_reach": {
        "smt": smt_check(reach_queries),
        "property": property_check(lambda: _cases().filter(lambda case: case[0] > 1), reach_margin),
    },
    "round_robin_rate": {"rational": rate_runs, "property": property_check(_rate_cases, rate_margin)},
    "round_robin_speed": {"rational": speed_runs, "property": property_check(_speed_cases, speed_margin)},
}
"""Every check of these statements, by label and grade."""
