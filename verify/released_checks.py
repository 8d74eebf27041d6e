"""What evidence is there for the statements about the released rule, besides their derivations?

The rule is run again in fractions from its own few lines, and as `gaussian_k_released` on vectors; the starts that end
within P passes are an exact union of intervals; quantiles and tails are balls (Arb). Ours.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy
import sympy
import torch
from flint import arb, ctx
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.kernels.band_search import count_band
from sparsync.kernels.reference import gaussian_k_released
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.balls import PRECISION_BITS, Positivity, ball_check, exact_ball
from sparsync.verify.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.properties import property_check
from sparsync.verify.smt import Query, smt_check

MOST_PASSES = 7
"""Passes of the rules that a search draws."""
STEPS = 64
"""Ends and ratios of windows are drawn as multiples of 1/STEPS."""
DENSITIES = tuple(Fraction(1, divisor) for divisor in (2, 3, 10, 50, 100, 1000, 10_000, 1_000_000))
"""Where the quantiles of `released_window` are enclosed."""
ROUNDING = 2.0**-50
"""A conversion to float64 moves a logarithm by 2⁻⁵³; the logarithm and the bound are rounded by 2⁻⁵² at most."""
SEED = 20
SAMPLE_SIZE = 20_000
"""d of the vectors."""
STEEPEST = 0.25
"""Above max z φ(z) = φ(1) = 0.242: what a relative error of the scale can move a tail by."""

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


def passes_margin(ratio: Fraction, start: Fraction) -> Fraction:
    """bound − passes for a start in [1/2, 3r/2) and the window [1, r)."""
    bound = int(STATEMENTS["released_passes"].evaluate(window_ratio=ratio))
    taken = passes_to((Fraction(1), ratio), start, bound + 1)
    return Fraction(-1 if taken is None else bound - taken)


def all_starts_end(ratio: Fraction, passes: int) -> bool:
    """Whether every start in [1/2, 3r/2) ends in [1, r) within P passes: an exact cover by intervals."""
    return any(
        lower <= Fraction(1, 2) and upper >= ratio * Fraction(3, 2) for lower, upper in ending_starts(ratio, passes)
    )


def covers_check(_profile: Profile) -> Outcome:
    """`rational`: at every ratio tried the stated passes cover all starts, and one pass less does not."""
    ratios = _tried_ratios()
    stated = [int(STATEMENTS["released_passes"].evaluate(window_ratio=ratio)) for ratio in ratios]
    covered = [
        all_starts_end(ratio, passes) and not all_starts_end(ratio, passes - 1)
        for ratio, passes in zip(ratios, stated, strict=True)
    ]
    return Outcome(earned=bool(covered) and all(covered), detail={"ratios_count": len(ratios), "passes": stated})


def quantiles_check(profile: Profile) -> Outcome:
    """`ball`: the stated ratio of quantiles, rounded to float64, lies in an enclosure widened by that rounding."""
    inside = [_encloses(density) for density in DENSITIES]
    narrow = ball_check(_below_four_thirds())(profile)
    return Outcome(
        earned=all(inside) and narrow.earned,
        detail={"densities_count": len(inside), **narrow.detail},
    )


def vectors_check(_profile: Profile) -> Outcome:
    """`simulated`: `gaussian_k_released` accepts a count iff the vector's window holds one of the six multiples."""
    vectors = _sampled_vectors()
    targets = (20, 200, 1000, 4000)
    agreements = [_kernel_agrees(vector, k) for vector in vectors for k in targets]
    return Outcome(
        earned=all(agrees for agrees, _accepted in agreements),
        detail={
            "vectors_count": len(agreements),
            "accepted_count": sum(accepted for _agrees, accepted in agreements),
        },
    )


def uniform_check(_profile: Profile) -> Outcome:
    """`simulated`: on an even grid of [−1, 1] the released rule returns as many entries as stated."""
    grid = torch.from_numpy((2 * numpy.arange(SAMPLE_SIZE) + 1) / SAMPLE_SIZE - 1)
    targets = [SAMPLE_SIZE // 1000 * factor for factor in (1, 2, 5, 10, 20)]
    returned = [gaussian_k_released(grid, k).indices.numel() / SAMPLE_SIZE for k in targets]
    stated = [STATEMENTS["released_uniform"].evaluate(kappa=Fraction(k, SAMPLE_SIZE)) for k in targets]
    return Outcome(earned=returned == stated, detail={"vectors_count": len(targets), "shares": returned})


def shifted_check(_profile: Profile) -> Outcome:
    """`numeric`: first counts on the quantiles of a shifted Gaussian, within the error of those quantiles."""
    errors = [_share_error(shift, k) for shift in (-4.0, -2.0, -0.5, 0.0, 0.1, 0.5, 2.0) for k in (20, 200, 2000)]
    return Outcome(
        earned=all(error <= tolerance for error, tolerance in errors),
        detail={
            "vectors_count": len(errors),
            "largest_error": max(error for error, _ in errors),
            "largest_error_over_tolerance": max(error / tolerance for error, tolerance in errors),
        },
    )


def unrecovered_check(_profile: Profile) -> Outcome:
    """`simulated`: with θ < −z the released rule returns every entry; the stated first share is 1."""
    k = SAMPLE_SIZE // 1000
    returned = [gaussian_k_released(torch.from_numpy(_quantiles() + shift), k).indices.numel() for shift in (-3.5, -8)]
    stated = [
        STATEMENTS["mean_shift_failure"].evaluate(kappa=Fraction(k, SAMPLE_SIZE), mean_shift=shift)
        for shift in (-3.5, -8)
    ]
    return Outcome(
        earned=[count / SAMPLE_SIZE for count in returned] == stated == [1.0, 1.0], detail={"returned": returned}
    )


def narrow_margin(exponent: int) -> float:
    """bound − z(2κ/3)/z(4κ/3) at κ = (3/4) 2^(−exponent/4), less 1e-14, to which both are computed."""
    density = 0.75 * 2.0 ** (-exponent / 4)
    normal = NormalDist()
    ratio = normal.inv_cdf(density / 3) / normal.inv_cdf(2 * density / 3)
    return STATEMENTS["released_window_narrow"].evaluate(kappa=density) - ratio - 1e-14


def _tried_ratios() -> list[Fraction]:
    """Ratios at which the stated number of passes changes, just below each, between them, and wide ones."""
    steps = [Fraction(3, 2), Fraction(4, 3), Fraction(32, 27), Fraction(9, 8), Fraction(2187, 2048), Fraction(256, 243)]
    below = [step - Fraction(1, 10**6) for step in steps[:-1]]
    between = [(larger + smaller) / 2 for larger, smaller in pairwise(steps)]
    return [Fraction(5), Fraction(2), *steps, *below, *between]


def _encloses(density: Fraction) -> bool:
    with ctx.workprec(PRECISION_BITS):
        enclosure = _quantile(density * 2 / 3) / _quantile(density * 4 / 3)
        stated = exact_ball(Fraction(STATEMENTS["released_window"].evaluate(kappa=density)))
        return bool(abs(enclosure - stated) <= enclosure * exact_ball(Fraction(1, 2**53)))


def _quantile(share: Fraction) -> arb:
    return _level(exact_ball(share))


def _level(share: arb) -> arb:
    """z(κ) = √2 erfc⁻¹(κ)."""
    return arb(2).sqrt() * share.erfcinv()


def _tail(level: arb) -> arb:
    return (level / arb(2).sqrt()).erfc()


def _below_four_thirds() -> Positivity:
    """Some starts of the released rule cannot be corrected in three passes, as these would need r ≥ 3/2."""

    def room(ratio: Fraction) -> Callable[[arb], arb]:
        return lambda kappa: exact_ball(ratio) * _level(kappa * 4 / 3) - _level(kappa * 2 / 3)

    return Positivity(
        claim="z(2κ/3) < (4/3) z(4κ/3) for κ from 1/1000000 to 1/10",
        function=room(Fraction(4, 3)),
        box=((Fraction(1, 10**6), Fraction(1, 10)),),
        false_twin=room(Fraction(6, 5)),
    )


def _tail_more_than_halves() -> Positivity:
    """Scaled by exp(z²/2), so that the difference keeps its size."""

    def room(halvings: int) -> Callable[[arb], arb]:
        def difference(level: arb) -> arb:
            end = (level**2 + halvings * arb(2).log()).sqrt()
            return (_tail(level) / 2 - _tail(end)) * (level**2 / 2).exp()

        return difference

    return Positivity(
        claim="P(|N(0, 1)| > √(z² + 2 ln 2)) < P(|N(0, 1)| > z)/2 for z from 1/64 to 8",
        function=room(2),
        box=((Fraction(1, 64), Fraction(8)),),
        false_twin=room(1),
    )


def _uniform_claims() -> tuple[Positivity, ...]:
    densities = ((Fraction(1, 1000), Fraction(1, 50)),)
    third = arb(3).sqrt()
    return (
        Positivity(
            claim="first and third pass: (3/4) z/√3 > 1",
            function=lambda kappa: 3 * _level(kappa) / (4 * third) - 1,
            box=densities,
            false_twin=lambda kappa: _level(kappa) / (2 * third) - 1,
        ),
        Positivity(
            claim="second pass: 1 − z/(2√3) > 4κ/3",
            function=lambda kappa: 1 - _level(kappa) / (2 * third) - 4 * kappa / 3,
            box=densities,
            false_twin=lambda kappa: 1 - 3 * _level(kappa) / (4 * third) - 4 * kappa / 3,
        ),
    )


def _trap_queries() -> tuple[Query, ...]:
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


def _lift_queries() -> tuple[Query, ...]:
    lower, upper, threshold, inside = sympy.symbols("a b y w", real=True)
    near = (lower > 0, inside >= lower, inside < upper, 2 * threshold >= lower, 2 * threshold < 3 * upper)
    narrow = (*near, 2 * upper < 3 * lower)
    return (
        Query("y is less than 3w", narrow, sympy.Lt(threshold, 3 * inside), sympy.Lt(threshold, 2 * inside)),
        Query("y is more than w/3", narrow, sympy.Gt(3 * threshold, inside), sympy.Gt(2 * threshold, inside)),
    )


def _sign_query() -> Query:
    mean, deviation, level, density = sympy.symbols("mu sigma z kappa", real=True)
    return Query(
        claim="a raised negative threshold is negative",
        premises=(deviation > 0, level > 0, mean < -level * deviation, density > 0),
        conclusion=sympy.Lt(3 * (mean + level * deviation), 0),
        false_twin=sympy.Lt(3 * (mean + level * deviation), mean),
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


def _passes_members() -> st.SearchStrategy[tuple[Fraction, Fraction]]:
    ratios = st.integers(0, STEPS).map(lambda step: Fraction(256, 243) + Fraction(step, STEPS))
    places = st.integers(0, STEPS**2 - 1).map(lambda step: Fraction(step, STEPS**2))
    return st.tuples(ratios, places).map(lambda drawn: (drawn[0], (1 + drawn[1] * (3 * drawn[0] - 1)) / 2))


def _narrow_members() -> st.SearchStrategy[tuple[int]]:
    return st.tuples(st.integers(1, 160))


def _sampled_vectors() -> list[NDArray[numpy.float64]]:
    generator = numpy.random.default_rng(SEED)
    normal, exponential = generator.standard_normal(SAMPLE_SIZE), generator.laplace(size=SAMPLE_SIZE)
    heavy = [generator.standard_t(degrees, SAMPLE_SIZE) for degrees in (2.5, 3, 5)]
    uniform = generator.uniform(-1, 1, SAMPLE_SIZE)
    sparse = normal * (generator.uniform(size=SAMPLE_SIZE) < 0.1)
    return [normal, exponential, *heavy, uniform, sparse, normal + 0.5, normal - 0.5, normal - 4, exponential + 1]


def _kernel_agrees(vector: NDArray[numpy.float64], k: int) -> tuple[bool, bool]:
    """Whether kernel and statement agree that the count is accepted, and whether it is."""
    least, largest = count_band(k)
    descending = numpy.sort(abs(vector))[::-1]
    lower, upper = descending[largest], descending[least - 1]
    start = vector.mean() - NormalDist().inv_cdf(k / SAMPLE_SIZE / 2) * vector.std(ddof=1)
    predicted = bool(start > 0 and any(lower <= float(m) * start < upper for m in multiples(3)))
    accepted = least <= gaussian_k_released(torch.from_numpy(vector.copy()), k).indices.numel() <= largest
    return predicted == accepted, accepted


def _quantiles() -> NDArray[numpy.float64]:
    """d quantiles of N(0, 1), of which the share above any level is that of the law to 1/d."""
    shares = (torch.arange(SAMPLE_SIZE, dtype=torch.float64) + 0.5) / SAMPLE_SIZE
    levels: NDArray[numpy.float64] = torch.special.ndtri(shares).numpy()
    return levels


def _share_error(shift: float, k: int) -> tuple[float, float]:
    """Distance from the stated share of what the first pass counts among the quantiles, and its tolerance.

    Scaled to standard deviation 1, both tails of the quantiles err by 1/d and by max z φ(z) times the scale's error.
    """
    levels = _quantiles()
    deviation = float(levels.std(ddof=1))
    vector = levels / deviation + shift
    threshold = shift - NormalDist().inv_cdf(k / SAMPLE_SIZE / 2)
    share = int(numpy.count_nonzero(abs(vector) > threshold)) / SAMPLE_SIZE
    stated = STATEMENTS["mean_shift_failure"].evaluate(kappa=Fraction(k, SAMPLE_SIZE), mean_shift=shift)
    tolerance = 2 * (1 / SAMPLE_SIZE + STEEPEST * abs(1 - deviation) / min(1, deviation))
    return abs(share - stated), tolerance


CHECKS: dict[str, dict[Grade, Check]] = {
    "released_reachable": {
        "smt": smt_check(*_trap_queries()),
        "property": property_check(_reachable_members, reachable_margin),
        "simulated": vectors_check,
    },
    "released_starts": {"property": property_check(_starts_members, starts_margin)},
    "released_passes": {
        "smt": smt_check(*_trap_queries(), *_lift_queries()),
        "rational": covers_check,
        "property": property_check(_passes_members, passes_margin),
    },
    "released_window": {"ball": quantiles_check},
    "released_window_narrow": {
        "ball": ball_check(_tail_more_than_halves()),
        "property": property_check(_narrow_members, narrow_margin),
    },
    "released_uniform": {"ball": ball_check(*_uniform_claims()), "simulated": uniform_check},
    "mean_shift_failure": {"smt": smt_check(_sign_query()), "numeric": shifted_check, "simulated": unrecovered_check},
}
"""Every check of these statements, by label and grade; `verify/selector_checks.py` merges them into its own."""
