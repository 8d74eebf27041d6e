"""What evidence is there for the statements about laws under the released rule, besides their derivations?

Quantiles and tails are balls (Arb), with shares computed from the law and the moves of the rule; `gaussian_k_released`
runs on the quantiles of a law and on an even grid. Ours.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy
import sympy
import torch
from flint import arb, ctx
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparsync.kernels.reference import gaussian_k_released
from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.symbols import kappa
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.balls import PRECISION_BITS, Positivity, ball_check, exact_ball
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

DENSITIES = tuple(Fraction(1, divisor) for divisor in (2, 3, 10, 50, 100, 1000, 10_000, 1_000_000))
"""Where the quantiles of `released_window` are enclosed."""
UNIFORM_DENSITIES = tuple(Fraction(share, 2000) for share in (2, 10, 40, 50, 60, 100, 160, 200))
"""Where the share returned of a uniform law is enclosed; nothing is returned at the first three."""
SHIFTED_DENSITIES = tuple(Fraction(1, divisor) for divisor in (2, 10, 100, 1000))
SHIFTS = tuple(Fraction(shift, 10) for shift in (-80, -40, -20, -5, 0, 1, 5, 20))
"""Means over standard deviations at which a first share is computed."""
ROUNDING = Fraction(1, 2**53)
"""A float is this near, relative to it, to the number that it stands for."""
SAMPLE_SIZE = 20_000
"""d of the vectors."""
STEEPEST = 0.25
"""Above max z φ(z) = φ(1) = 0.242: what a relative error of the scale can move a tail by."""
BROKEN = Fraction(7, 8)
"""The false twin of a bound: so much of it is too little."""

_FUNCTIONS: Mapping[type[sympy.Expr], Callable[[Sequence[arb]], arb]] = {
    sympy.Add: lambda parts: sum(parts, arb(0)),
    sympy.Mul: lambda parts: math.prod(parts, start=arb(1)),
    sympy.Pow: lambda parts: parts[0] ** parts[1],
    sympy.log: lambda parts: parts[0].log(),
}


def bound_ball(bound: sympy.Expr, values: Mapping[sympy.Expr, arb]) -> arb:
    """A ball that contains a bound made of sums, products, powers and logarithms.

    Args:
        bound: the expression.
        values: balls for some of its parts, at least for its symbols.

    Raises:
        ValueError: a part of the bound is of another kind and has no value.
    """
    if bound in values:
        return values[bound]
    if isinstance(bound, sympy.Rational):
        return exact_ball(Fraction(int(bound.p), int(bound.q)))
    if bound.func not in _FUNCTIONS:
        raise ValueError(f"no ball is known for {bound}")
    return _FUNCTIONS[bound.func]([bound_ball(part, values) for part in bound.args])


def quantiles_check(profile: Profile) -> Outcome:
    """`ball`: the stated ratio of quantiles, rounded to float64, lies in an enclosure widened by that rounding."""
    inside = [_encloses("released_window", _window_ratio(density), kappa=density) for density in DENSITIES]
    return _with_claims(inside, (_below_four_thirds(),), profile)


def uniform_balls(profile: Profile) -> Outcome:
    """`ball`: the passes end as claimed at every density, and the stated share is that of the third threshold."""
    inside = [_encloses("released_uniform", _uniform_share(share), kappa=share) for share in UNIFORM_DENSITIES]
    return _with_claims(inside, _uniform_claims(), profile)


def shifted_balls(profile: Profile) -> Outcome:
    """`ball`: the stated first share, rounded to float64, lies in an enclosure of P(|u| > t) by its two sides."""
    inside = [
        _encloses("mean_shift_failure", _shifted_share(density, shift), kappa=density, mean_shift=shift)
        for density in SHIFTED_DENSITIES
        for shift in SHIFTS
    ]
    return _with_claims(inside, (), profile)


def uniform_check(_profile: Profile) -> Outcome:
    """`simulated`: on an even grid of [−1, 1] the released rule returns the stated share, within 2/d.

    The grid's standard deviation exceeds 1/√3 by the factor √((d + 1)/d) < 1 + 1/(2d), which moves a threshold below 1
    by less than 1/(2d); the share of the grid above a threshold is that of the law to 1/d.
    """
    grid = torch.from_numpy((2 * numpy.arange(SAMPLE_SIZE) + 1) / SAMPLE_SIZE - 1)
    returned = [gaussian_k_released(grid, int(share * SAMPLE_SIZE)).indices.numel() for share in UNIFORM_DENSITIES]
    errors = [
        abs(count / SAMPLE_SIZE - STATEMENTS["released_uniform"].evaluate(kappa=share))
        for count, share in zip(returned, UNIFORM_DENSITIES, strict=True)
    ]
    return Outcome(
        earned=all(error <= 2 / SAMPLE_SIZE for error in errors),
        detail={"vectors_count": len(errors), "returned": returned, "largest_error": max(errors)},
    )


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


def narrow_claims() -> tuple[Positivity, ...]:
    """Across a window as wide as the bound the tail more than halves; scaled by exp(z²/2) to keep its size."""

    def room(factor: Fraction) -> Callable[[arb], arb]:
        def difference(level: arb) -> arb:
            values = {NormalQuantile(4 * kappa / 3): level, kappa: _tail(level) * 3 / 4}
            width = exact_ball(factor) * bound_ball(STATEMENTS["released_window_narrow"].bound, values)
            return (_tail(level) / 2 - _tail(width * level)) * (level**2 / 2).exp()

        return difference

    return (
        Positivity(
            claim="P(|N(0, 1)| > bound · z) < P(|N(0, 1)| > z)/2 for z from 1/64 to 8",
            function=room(Fraction(1)),
            box=((Fraction(1, 64), Fraction(8)),),
            false_twin=room(BROKEN),
        ),
    )


def narrow_margin(exponent: int) -> float:
    """bound − z(2κ/3)/z(4κ/3) at κ = (3/4) 2^(−exponent/4), less 1e-14, to which both are computed."""
    density = 0.75 * 2.0 ** (-exponent / 4)
    normal = NormalDist()
    ratio = normal.inv_cdf(density / 3) / normal.inv_cdf(2 * density / 3)
    return STATEMENTS["released_window_narrow"].evaluate(kappa=density) - ratio - 1e-14


def returned_share(density: Fraction) -> float:
    """What three passes return of the uniform law on [−1, 1], pass by pass; floats, far from any tie."""
    threshold, share = -NormalDist().inv_cdf(float(density) / 2) / math.sqrt(3), 0.0
    for _ in range(3):
        share = max(0.0, 1 - threshold)
        if share < 2 * density / 3:
            threshold /= 2
        elif share > 4 * density / 3:
            threshold *= 1.5
        else:
            break
    return share


def _with_claims(inside: Sequence[bool], claims: Sequence[Positivity], profile: Profile) -> Outcome:
    """Earned iff every enclosure holds its stated number and every claim has a cover."""
    covered = ball_check(*claims)(profile) if claims else Outcome(earned=True, detail={})
    return Outcome(
        earned=bool(inside) and all(inside) and covered.earned,
        detail={"enclosures_count": len(inside), **covered.detail},
    )


def _encloses(label: str, enclosure: Callable[[], arb], **numbers: Fraction) -> bool:
    """Whether the bound, rounded to a float, is in the ball widened by that rounding."""
    with ctx.workprec(PRECISION_BITS):
        value = enclosure()
        stated = exact_ball(Fraction(STATEMENTS[label].evaluate(**numbers)))
        return bool(abs(value - stated) <= abs(value) * exact_ball(ROUNDING))


def _window_ratio(density: Fraction) -> Callable[[], arb]:
    """z(2κ/3)/z(4κ/3)."""
    return lambda: _level(exact_ball(density * 2 / 3)) / _level(exact_ball(density * 4 / 3))


def _uniform_share(density: Fraction) -> Callable[[], arb]:
    """P(|u| > 3t₀/4) for u uniform on [−1, 1], whose standard deviation is 1/√3."""

    def share() -> arb:
        start = _level(exact_ball(density)) / arb(3).sqrt()
        return (1 - start / 2 * 3 / 2).max(arb(0))

    return share


def _shifted_share(density: Fraction, shift: Fraction) -> Callable[[], arb]:
    """P(|θ + N(0, 1)| > t) for t = θ + z: the sum of both sides, or 1 where t is negative."""

    def share() -> arb:
        mean = exact_ball(shift)
        threshold = mean + _level(exact_ball(density))
        sides = (threshold - mean, threshold + mean)
        return arb(1) if threshold < 0 else sum(((side / arb(2).sqrt()).erfc() / 2 for side in sides), arb(0))

    return share


def _level(share: arb) -> arb:
    """z(κ) = √2 erfc⁻¹(κ)."""
    return arb(2).sqrt() * share.erfcinv()


def _tail(level: arb) -> arb:
    return (level / arb(2).sqrt()).erfc()


def _below_four_thirds() -> Positivity:
    """Some starts of the released rule cannot be corrected in three passes, as these would need r ≥ 3/2."""

    def room(ratio: Fraction) -> Callable[[arb], arb]:
        return lambda share: exact_ball(ratio) * _level(share * 4 / 3) - _level(share * 2 / 3)

    return Positivity(
        claim="z(2κ/3) < (4/3) z(4κ/3) for κ from 1/1000000 to 1/10",
        function=room(Fraction(4, 3)),
        box=((Fraction(1, 10**6), Fraction(1, 10)),),
        false_twin=room(Fraction(6, 5)),
    )


def _uniform_claims() -> tuple[Positivity, ...]:
    densities = ((Fraction(11, 20_000), Fraction(107, 1000)),)
    root = arb(3).sqrt()
    return (
        Positivity(
            claim="first pass: 1 − z/√3 < 2κ/3",
            function=lambda share: 2 * share / 3 - (1 - _level(share) / root),
            box=densities,
            false_twin=lambda share: 2 * share / 3 - (1 - _level(share) / (2 * root)),
        ),
        Positivity(
            claim="second pass: 1 − z/(2√3) > 4κ/3",
            function=lambda share: 1 - _level(share) / (2 * root) - 4 * share / 3,
            box=densities,
            false_twin=lambda share: 1 - 3 * _level(share) / (4 * root) - 4 * share / 3,
        ),
    )


def _narrow_members() -> st.SearchStrategy[tuple[int]]:
    return st.tuples(st.integers(1, 160))


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
    "released_window": {"ball": quantiles_check},
    "released_window_narrow": {
        "ball": ball_check(narrow_claims),
        "property": property_check(_narrow_members, narrow_margin),
    },
    "released_uniform": {"ball": uniform_balls, "simulated": uniform_check},
    "mean_shift_failure": {"ball": shifted_balls, "numeric": shifted_check, "simulated": unrecovered_check},
}
"""The checks of this file, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "released_window": (Edge("kappa < 3/4", {"kappa": Fraction(99, 128)}),),
    "released_window_narrow": (Edge("kappa < 3/4", {"kappa": Fraction(99, 128)}),),
    "released_uniform": (
        Edge(
            "NormalQuantile(kappa) > sqrt(3)*(1 - 2*kappa/3)",
            {"kappa": Fraction(23, 200)},
            left=lambda: returned_share(Fraction(23, 200)),
        ),
        Edge(
            "NormalQuantile(kappa) < 2*sqrt(3)*(1 - 4*kappa/3)",
            {"kappa": Fraction(1, 2000)},
            left=lambda: returned_share(Fraction(1, 2000)),
        ),
    ),
    "mean_shift_failure": (Edge("kappa <= 1", {"kappa": Fraction(33, 32), "mean_shift": 0}),),
}
"""What is said of the conditions, by label."""
