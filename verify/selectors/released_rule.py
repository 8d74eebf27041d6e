"""What evidence is there for the statements about the released rule, besides their derivations?

The rule is run again in fractions from its own few lines, and as `gaussian_k_released` on vectors; the starts that end
within P passes are an exact union of intervals. The worst start is in `verify/selectors/released_rotation.py`, laws are
in `verify/selectors/released_laws.py`. Ours.
"""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy
import sympy
import torch
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.kernels.band_search import count_band
from sparsync.kernels.reference import gaussian_k_released
from sparsync.theory.language.symbols import pass_count
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

MOST_PASSES = 7
"""Passes of the rules that a search draws."""
STEPS = 64
"""Ends and ratios of windows are drawn as multiples of 1/STEPS."""
ROUNDING = 2.0**-50
"""A conversion to float64 moves a logarithm by 2⁻⁵³; the logarithm and the bound are rounded by 2⁻⁵² at most."""
SEED = 20
SAMPLE_SIZE = 20_000
"""d of the vectors."""
WINDOW_COUNT = 20
"""k of the vectors whose window is placed around one multiple of the start."""
PASS_COUNT = 3
"""Passes of the released rule."""
CANDIDATE_PASSES = 5
"""Of the multiples that so many passes could count, vectors show which the released rule does."""
Window = tuple[Fraction, Fraction]
"""Accepted thresholds [a, b)."""


def passes_to(window: Window, start: Fraction, limit: int) -> int | None:
    """The pass at which the rule counts a threshold inside the window, or None if none of `limit` does."""
    lower, upper = window
    threshold = start
    for number in range(1, limit + 1):
        if lower <= threshold < upper:
            return number
        threshold = threshold / 2 if threshold >= upper else threshold * 3 / 2
    return None


def multiples(passes: int) -> dict[Fraction, int]:
    """Each 3^i/2^j with 0 ≤ i ≤ j < P, and the pass j + 1 that counts that multiple of the start."""
    return {Fraction(3**ups, 2**moves): moves + 1 for moves in range(passes) for ups in range(moves + 1)}


def reachable_margin(start: Fraction, window: Window, passes: int) -> Fraction:
    """0 if the rule ends where the statement says and its multiples are as many as stated, else −1."""
    lower, upper = window
    reached = multiples(passes)
    predicted = min((number for m, number in reached.items() if lower <= m * start < upper), default=None)
    as_many = len(reached) == STATEMENTS["released_reachable"].evaluate(pass_count=passes)
    return Fraction(0 if as_many and passes_to(window, start, passes) == predicted else -1)


def ending_starts(ratio: Fraction, passes: int) -> list[Window]:
    """The starts that end in [1, r) within P passes, as disjoint intervals in ascending order."""
    pieces = sorted((1 / multiple, ratio / multiple) for multiple in multiples(passes))
    merged: list[Window] = []
    for lower, upper in pieces:
        if merged and lower <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(upper, merged[-1][1]))
        else:
            merged.append((lower, upper))
    return merged


def starts_margin(ratio: Fraction, passes: int) -> float:
    """bound − Σ ln(end/begin) over the union of starts; equal within rounding where the intervals are disjoint."""
    product = math.prod((upper / lower for lower, upper in ending_starts(ratio, passes)), start=Fraction(1))
    bound = STATEMENTS["released_starts"].evaluate(pass_count=passes, window_ratio=ratio)
    return bound * (1 + ROUNDING) + ROUNDING - math.log(product)


def all_starts_end(ratio: Fraction, passes: int, starts: Window) -> bool:
    """Whether every start of an interval ends in [1, r) within P passes: an exact cover by intervals."""
    least, end = starts
    return any(lower <= least and upper >= end for lower, upper in ending_starts(ratio, passes))


def vectors_check(_profile: Profile) -> Outcome:
    """`simulated`: `gaussian_k_released` accepts a count iff the vector's window holds a multiple of three passes.

    Vectors are samples of laws, and some whose narrow window holds one multiple, which must be as many as stated.
    """
    sampled = [_kernel_agrees(vector, k) for vector in _sampled_vectors() for k in (20, 200, 1000, 4000)]
    placed = [_kernel_agrees(_vector_around(m), WINDOW_COUNT) for m in sorted(multiples(CANDIDATE_PASSES))]
    reached_count = sum(accepted for _agrees, accepted in placed)
    stated = STATEMENTS["released_reachable"].fraction(pass_count=PASS_COUNT)
    return Outcome(
        earned=all(agrees for agrees, _accepted in (*sampled, *placed)) and reached_count == stated,
        detail={
            "vectors_count": len(sampled) + len(placed),
            "accepted_count": sum(accepted for _agrees, accepted in sampled),
            "reached_multiples_count": reached_count,
        },
    )


def reachable_queries() -> tuple[Query, ...]:
    """The number of multiples by induction on the passes."""
    passes = sympy.Symbol("P", real=True)
    bound = STATEMENTS["released_reachable"].bound.subs(pass_count, passes)
    following = bound.subs(passes, passes + 1)
    return (
        Query("one pass counts the start", (sympy.Eq(passes, 1),), sympy.Eq(bound, 1), sympy.Eq(bound, 2)),
        Query(
            claim="pass P + 1 adds the P + 1 multiples 3^i/2^P, 0 ≤ i ≤ P",
            premises=(passes >= 1,),
            conclusion=sympy.Eq(following - bound, passes + 1),
            false_twin=sympy.Eq(following - bound, passes),
        ),
    )


def trap_queries() -> tuple[Query, ...]:
    """The moves from [a/2, 3b/2) stay there, for a window [a, b) or the one point a = b."""
    lower, upper, threshold = sympy.symbols("a b y", real=True)
    window = (lower > 0, upper >= lower)
    high = (*window, threshold >= upper, 2 * threshold < 3 * upper)
    low = (*window, 2 * threshold >= lower, threshold < lower)
    return (
        Query("a halving stays above a/2", high, sympy.Ge(threshold, lower), sympy.Ge(threshold, 2 * lower)),
        Query("a halving stays below 3b/2", high, sympy.Lt(threshold, 3 * upper), sympy.Lt(threshold, upper)),
        Query("a raise stays above a/2", low, sympy.Ge(3 * threshold, lower), sympy.Ge(3 * threshold, 2 * lower)),
        Query("a raise stays below 3b/2", low, sympy.Lt(threshold, upper), sympy.Lt(3 * threshold, 2 * upper)),
    )


def _reachable_members() -> st.SearchStrategy[tuple[Fraction, Window, int]]:
    """Windows that begin near a multiple of the start, so that many hold one."""
    starts = st.integers(1, 5 * STEPS).map(lambda step: Fraction(step, STEPS))

    def windows(start: Fraction) -> st.SearchStrategy[Window]:
        nearby = st.sampled_from(sorted(multiples(MOST_PASSES)))
        offsets = st.integers(-STEPS // 2, STEPS // 2).map(lambda step: 1 + Fraction(step, STEPS))
        widths = st.integers(1, 2 * STEPS).map(lambda step: 1 + Fraction(step, STEPS))
        drawn = st.tuples(nearby, offsets, widths)
        return drawn.map(lambda parts: (start * parts[0] * parts[1], start * parts[0] * parts[1] * parts[2]))

    return starts.flatmap(lambda start: st.tuples(st.just(start), windows(start), st.integers(1, MOST_PASSES)))


def _starts_members() -> st.SearchStrategy[tuple[Fraction, int]]:
    ratios = st.integers(1, 3 * STEPS).map(lambda step: 1 + Fraction(step, STEPS))
    return st.tuples(ratios, st.integers(1, MOST_PASSES))


def _sampled_vectors() -> list[NDArray[numpy.float64]]:
    generator = numpy.random.default_rng(SEED)
    normal, exponential = generator.standard_normal(SAMPLE_SIZE), generator.laplace(size=SAMPLE_SIZE)
    heavy = [generator.standard_t(degrees, SAMPLE_SIZE) for degrees in (2.5, 3, 5)]
    uniform = generator.uniform(-1, 1, SAMPLE_SIZE)
    sparse = normal * (generator.uniform(size=SAMPLE_SIZE) < 0.1)
    return [normal, exponential, *heavy, uniform, sparse, normal + 0.5, normal - 0.5, normal - 4, exponential + 1]


def _vector_around(multiple: Fraction) -> NDArray[numpy.float64]:
    """A vector whose window [1, 11/10) holds `multiple` times the start of the rule, which is 21/20 there.

    As many entries as the fewest accepted are 11/10 or more, so many at 1 that both are too many, and the others zero;
    two of the large ones set the standard deviation, hence the start. Every magnitude comes with both signs.
    """
    least, largest = count_band(WINDOW_COUNT)
    inner, outer = least // 2 - 1, (largest - least) // 2 + 1
    start = 1.05 / float(multiple)
    energy = (start / -NormalDist().inv_cdf(WINDOW_COUNT / SAMPLE_SIZE / 2)) ** 2 * (SAMPLE_SIZE - 1)
    spike = math.sqrt(energy / 2 - inner * 1.1**2 - outer)
    half = numpy.concatenate([[spike], numpy.full(inner, 1.1), numpy.ones(outer)])
    return numpy.concatenate([half, -half, numpy.zeros(SAMPLE_SIZE - 2 * len(half))])


def _kernel_agrees(vector: NDArray[numpy.float64], k: int) -> tuple[bool, bool]:
    """Whether kernel and statement agree that the count is accepted, and whether it is."""
    least, largest = count_band(k)
    descending = numpy.sort(abs(vector))[::-1]
    lower, upper = descending[largest], descending[least - 1]
    start = vector.mean() - NormalDist().inv_cdf(k / SAMPLE_SIZE / 2) * vector.std(ddof=1)
    predicted = bool(start > 0 and any(lower <= float(m) * start < upper for m in multiples(PASS_COUNT)))
    accepted = least <= gaussian_k_released(torch.from_numpy(vector.copy()), k).indices.numel() <= largest
    return predicted == accepted, accepted


CHECKS: dict[str, dict[Grade, Check]] = {
    "released_reachable": {
        "smt": smt_check(reachable_queries, *trap_queries()),
        "property": property_check(_reachable_members, reachable_margin),
        "simulated": vectors_check,
    },
    "released_starts": {"property": property_check(_starts_members, starts_margin)},
}
"""The checks of this file, by label and grade; `verify/selectors/count_band.py` merges them into its own."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "released_starts": (Edge("window_ratio >= 1", {"pass_count": 3, "window_ratio": Fraction(31, 32)}),),
}
"""What is said of the conditions, by label."""
