"""For which laws does the threshold rule released with Gaussian-k find its range? Windows and starts of laws.

The rule (`theory/selectors/released_rule.py`) starts at μ + zσ, z = Φ⁻¹(1 − κ/2), with the mean and standard deviation
of u, and counts |u|. Here counts are those of a law, which a long vector of independent coordinates approaches. All is
ours.
"""

from __future__ import annotations

import sympy

from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import counted_share, kappa, mean_shift, returned_share, window_ratio

GREATEST_DENSITY = sympy.Rational(3, 4)
"""From this density on, sending every coordinate is an accepted count."""

_LEAST, _FEW, _MOST = sympy.Rational(1, 1000), sympy.Rational(1, 50), sympy.Rational(2, 25)
"""Densities in the range of `released_uniform`; up to the second nothing is returned."""


def released_window() -> Statement:
    """r = z(2κ/3)/z(4κ/3) for a centred Gaussian of any scale: 1.061 at κ = 0.001, against moves of 1/2 and 3/2."""
    bound = _level(2) / _level(4)
    return Statement(
        label="released_window",
        title="thresholds accepted by the released rule, centred Gaussian",
        assumptions=(
            r"$u$ is a centred Gaussian, counts are those of the law",
            r"$z(\kappa)=\Phi^{-1}(1-\kappa/2)$",
        ),
        relation=sympy.Eq(window_ratio, bound),
        domain=(sympy.Lt(kappa, GREATEST_DENSITY),),
        source="ours",
        kind="definition",
        derivation=(
            Step("P(|u| > σz) = erfc(z/√2), whatever the scale σ", _tail_of_scaled),
            Step("it falls strictly in z: the accepted thresholds are one interval", _tail_falls),
            Step("it is 4κ/3 at z(4κ/3): both are 1 at κ = 3/4 and grow alike", lambda: _has_tail(_level(4), 4)),
            Step("it is 2κ/3 at r z(4κ/3)", lambda: _has_tail(bound * _level(4), 2), concludes=bound),
        ),
    )


def released_window_narrow() -> Statement:
    """r ≤ √(1 + 2 ln 2/z²), z = z(4κ/3), for a centred Gaussian: the window closes like ln 2/z² as κ → 0.

    Across the window the tail halves, and the hazard rate φ/(1 − Φ) exceeds z (Gordon 1941, Mills' ratio), so
    ln 2 ≥ ∫ z dz. For other laws r follows alike: 2^(1/α) for a tail z^(−α), 1 + ln 2/ln(3/(4κ)) for Laplace.
    """
    bound = sympy.sqrt(1 + 2 * sympy.log(2) / _level(4) ** 2)
    return Statement(
        label="released_window_narrow",
        title="thresholds accepted by the released rule, upper bound",
        assumptions=(
            r"$u$ is a centred Gaussian, counts are those of the law",
            r"$z(\kappa)=\Phi^{-1}(1-\kappa/2)$",
        ),
        relation=sympy.Le(window_ratio, bound, evaluate=False),
        domain=(sympy.Lt(kappa, GREATEST_DENSITY),),
        source="ours, from Mills' ratio (Gordon 1941)",
        derivation=(
            Step("φ(z) − z(1 − Φ(z)) falls in z", _mills_falls),
            Step("and tends to 0, so it is positive: the hazard rate exceeds z", _mills_limit),
            Step("ln((4κ/3)/(2κ/3)) = ln 2 is the integral of the hazard over the window", _tail_halves),
            Step(
                "∫ z dz ≤ ln 2 from z(4κ/3) to r z(4κ/3): r² ≤ 1 + 2 ln 2/z²",
                lambda: _window_from_hazard(bound),
                concludes=bound,
            ),
        ),
    )


def released_uniform() -> Statement:
    """For the uniform law on [−a, a] three passes return the share max(0, 1 − (√3/4) z(κ)) for κ from 0.00054 to 0.107.

    These are the densities at which the first pass counts too few, 1 − z/√3 < 2κ/3, and the second, at half of the
    Gaussian start, too many; three quarters of the start end the passes, in range or not. That is nothing for κ ≤ 1/50
    (δ = 0) and 24 % of all at κ = 2/25, three times too much: the count is in range for κ from 0.0230 to 0.0257 only.
    At smaller densities the second pass may count nothing: at κ = 1/10000 the third returns 44 %.
    """
    level = NormalQuantile(kappa)
    root = sympy.sqrt(3)
    bound = sympy.Max(0, 1 - root / 4 * level)
    return Statement(
        label="released_uniform",
        title="share that the released rule returns, uniform law",
        assumptions=(
            r"$u$ is uniform on $[-a,a]$; counts, mean and standard deviation are those of the law; three passes",
            r"$z(\kappa)=\Phi^{-1}(1-\kappa/2)$",
        ),
        relation=sympy.Eq(returned_share, bound),
        domain=(sympy.Gt(level, root * (1 - 2 * kappa / 3)), sympy.Lt(level, 2 * root * (1 - 4 * kappa / 3))),
        source="ours",
        derivation=(
            Step("the standard deviation is a/√3, so t₀ = z(κ) a/√3", _uniform_deviation),
            Step("P(|u| > t) = max(0, 1 − t/a)", _uniform_tail),
            Step("z > √3(1 − 2κ/3): the first pass counts less than 2κ/3", lambda: _first_is_too_few(level)),
            Step("z < 2√3(1 − 4κ/3): the second, at t₀/2, counts more than 4κ/3", lambda: _second_is_too_many(level)),
            Step("P(|u| > 3t₀/4) = max(0, 1 − (√3/4) z(κ))", lambda: _third_share() - bound, concludes=bound),
            Step("z(κ) falls in κ", _quantile_falls),
            Step(
                "z(1/1000) < 2√3 (1 − (4/3)/50), z(1/50) < 2√3 (1 − (4/3) 2/25) and z(2/25) > √3: 1/1000 ≤ κ ≤ 2/25 do",
                _usual_densities,
            ),
            Step("z(1/50) > 4/√3: for κ ≤ 1/50 the third pass counts nothing", lambda: _exceeds(4 / root, _FEW)),
        ),
    )


def mean_shift_failure() -> Statement:
    """From μ + zσ a Gaussian of mean μ = θσ has the share min(1, κ/2 + Q(z + 2θ)) at the first pass, Q = 1 − Φ.

    The rule compares |u| with a quantile of u. Where θ ≤ −z the threshold is not positive: every coordinate is counted,
    and as a raise by 3/2 leaves a negative threshold negative, for κ < 3/4 every later pass counts and returns all. At
    κ = 0.001 the first count is in range for θ from −0.073 to 0.149 only.
    """
    level = NormalQuantile(kappa)
    bound = sympy.Min(1, kappa / 2 + _upper_tail(level + 2 * mean_shift))
    return Statement(
        label="mean_shift_failure",
        title="first count of the released rule, shifted Gaussian",
        assumptions=(
            r"$u$ is Gaussian with mean $\theta\sigma$; counts, mean and standard deviation are those of the law",
            r"the rule starts at $(\theta+z(\kappa))\sigma$, $z(\kappa)=\Phi^{-1}(1-\kappa/2)$",
        ),
        relation=sympy.Eq(counted_share, bound),
        domain=(sympy.Le(kappa, 1),),
        source="ours",
        derivation=(
            Step("P(u > t) + P(u < −t) = κ/2 + Q(z + 2θ) for t = (θ + z)σ", lambda: _side_integrals() - _sides(bound)),
            Step("which is 1 at θ = −z, where t = 0", lambda: _sides(bound).subs(mean_shift, -_LEVEL) - 1),
            Step(
                "and falls in θ: it is above 1 iff t < 0, where all coordinates are counted",
                lambda: sympy.S(bool(sympy.diff(_sides(bound), mean_shift).is_negative)),
                concludes=bound,
            ),
            Step(
                "t < 0 gives 3t/2 < 0, and all coordinates are more than 4κ/3 of them for κ < 3/4: every later pass "
                "counts all, and returns them",
                _never_recovers,
            ),
        ),
    )


_LEVEL, _DEVIATION = sympy.symbols("z sigma", positive=True)
_SLACK = sympy.Symbol("slack", nonnegative=True)
_BELOW = sympy.Symbol("below", positive=True)


def _two_sided_tail(level: sympy.Expr) -> sympy.Expr:
    """P(|N(0, 1)| > z) = erfc(z/√2)."""
    return sympy.erfc(level / sympy.sqrt(2))


def _level(thirds: int) -> sympy.Expr:
    """z(κ·thirds/3)."""
    return NormalQuantile(thirds * kappa / 3)


def _upper_tail(level: sympy.Expr) -> sympy.Expr:
    """Q(z) = P(N(0, 1) > z)."""
    return sympy.erfc(level / sympy.sqrt(2)) / 2


def _density(level: sympy.Expr) -> sympy.Expr:
    return sympy.exp(-(level**2) / 2) / sympy.sqrt(2 * sympy.pi)


def _tail_of_scaled() -> sympy.Expr:
    coordinate = sympy.Symbol("u", positive=True)
    density = 2 * _density(coordinate / _DEVIATION) / _DEVIATION
    share = sympy.integrate(density, (coordinate, _DEVIATION * _LEVEL, sympy.oo))
    return (share - _two_sided_tail(_LEVEL)).rewrite(sympy.erf)


def _tail_falls() -> sympy.Basic:
    return sympy.S(bool(sympy.diff(_two_sided_tail(_LEVEL), _LEVEL).is_negative))


def _has_tail(level: sympy.Expr, thirds: int) -> sympy.Basic:
    """P(|N(0, 1)| > level) = κ·thirds/3: the derivatives in κ agree, and both sides are 1 where κ·thirds = 3."""
    difference = _two_sided_tail(level) - thirds * kappa / 3
    return sympy.And(
        sympy.Eq(sympy.simplify(sympy.diff(difference, kappa)), 0),
        sympy.Eq(difference.subs(kappa, sympy.Rational(3, thirds)), 0),
    )


def _quantile_falls() -> sympy.Basic:
    return sympy.S(bool(sympy.diff(NormalQuantile(kappa), kappa).is_negative))


def _mills_falls() -> sympy.Expr:
    difference = _density(_LEVEL) - _LEVEL * _upper_tail(_LEVEL)
    return sympy.diff(difference, _LEVEL) + _upper_tail(_LEVEL)


def _mills_limit() -> sympy.Expr:
    return sympy.limit(_density(_LEVEL) - _LEVEL * _upper_tail(_LEVEL), _LEVEL, sympy.oo)


def _tail_halves() -> sympy.Basic:
    hazard = -sympy.diff(sympy.log(_upper_tail(_LEVEL)), _LEVEL)
    fall = sympy.log(4 * kappa / 3) - sympy.log(2 * kappa / 3) - sympy.log(2)
    return sympy.And(
        sympy.Eq(sympy.simplify(hazard - _density(_LEVEL) / _upper_tail(_LEVEL)), 0),
        sympy.Eq(sympy.expand_log(fall, force=True), 0),
    )


def _window_from_hazard(bound: sympy.Expr) -> sympy.Basic:
    """With ∫ z dz = ln 2 − slack, the square of the bound exceeds r² by a non-negative multiple of the slack."""
    coordinate = sympy.Symbol("y", positive=True)
    area = sympy.integrate(coordinate, (coordinate, _LEVEL, window_ratio * _LEVEL))
    squared = sympy.solve(sympy.Eq(area, sympy.log(2) - _SLACK), window_ratio**2)[0]
    excess = sympy.simplify(bound.subs(_level(4), _LEVEL) ** 2 - squared)
    return sympy.And(sympy.S(bool(excess.is_nonnegative)), sympy.Eq(excess.subs(_SLACK, 0), 0))


def _sides(bound: sympy.Expr) -> sympy.Expr:
    """What the bound caps at 1, as a function of z: κ is the tail at z."""
    (shares,) = (argument for argument in bound.args if argument != 1)
    return shares.subs(NormalQuantile(kappa), _LEVEL).subs(kappa, _two_sided_tail(_LEVEL)).rewrite(sympy.erf)


def _side_integrals() -> sympy.Expr:
    """P(u > t) + P(u < −t) for u ~ N(θσ, σ²) and t = (θ + z)σ."""
    coordinate = sympy.Symbol("u", real=True)
    density = _density((coordinate - mean_shift * _DEVIATION) / _DEVIATION) / _DEVIATION
    threshold = (mean_shift + _LEVEL) * _DEVIATION
    right = sympy.integrate(density, (coordinate, threshold, sympy.oo))
    left = sympy.integrate(density, (coordinate, -sympy.oo, -threshold))
    return sympy.expand((right + left).rewrite(sympy.erf))


def _never_recovers() -> sympy.Basic:
    raised = sympy.Rational(3, 2) * -_BELOW
    excess = 1 - sympy.Rational(4, 3) * (GREATEST_DENSITY - _BELOW)
    return sympy.And(raised < 0, excess > 0)


def _uniform_deviation() -> sympy.Expr:
    end = sympy.Symbol("a", positive=True)
    coordinate = sympy.Symbol("u", real=True)
    return sympy.sqrt(sympy.integrate(coordinate**2 / (2 * end), (coordinate, -end, end))) - end / sympy.sqrt(3)


def _exceeds(level: sympy.Expr, density: sympy.Rational) -> sympy.Basic:
    """z(κ) > level iff the tail at the level exceeds κ."""
    return _two_sided_tail(level) > density


def _undercuts(least: sympy.Rational, greatest: sympy.Rational) -> sympy.Basic:
    """1 − z/(2√3) > 4κ/3 at the worst of both sides, the least κ on the left and the greatest on the right."""
    level = 2 * sympy.sqrt(3) * (1 - sympy.Rational(4, 3) * greatest)
    return _two_sided_tail(level) < least


def _usual_densities() -> sympy.Basic:
    """The least density on the left and the greatest on the right of z < 2√3(1 − 4κ/3), in two parts."""
    return sympy.And(_undercuts(_LEAST, _FEW), _undercuts(_FEW, _MOST), _exceeds(sympy.sqrt(3), _MOST))


def _uniform_share(fraction: sympy.Expr) -> sympy.Expr:
    """1 − t/a at this fraction of t₀ = z(κ) a/√3, which is 0 or less from t = a on."""
    return 1 - fraction * NormalQuantile(kappa) / sympy.sqrt(3)


def _uniform_tail() -> sympy.Expr:
    end, threshold = sympy.symbols("a t", positive=True)
    coordinate = sympy.Symbol("u", positive=True)
    return sympy.expand(sympy.integrate(1 / end, (coordinate, threshold, end)) - (1 - threshold / end))


def _first_is_too_few(level: sympy.Expr) -> sympy.Basic:
    """At z = √3(1 − 2κ/3) + more: 2κ/3 less the share is positive; it is so where the share is cut at 0 too."""
    more = sympy.Symbol("more", positive=True)
    at_level = _uniform_share(sympy.Integer(1)).subs(level, sympy.sqrt(3) * (1 - 2 * kappa / 3) + more)
    return sympy.S(bool(sympy.expand(2 * kappa / 3 - at_level).is_positive))


def _second_is_too_many(level: sympy.Expr) -> sympy.Basic:
    """At z = 2√3(1 − 4κ/3) − less."""
    less = sympy.Symbol("less", positive=True)
    at_level = _uniform_share(sympy.Rational(1, 2)).subs(level, 2 * sympy.sqrt(3) * (1 - 4 * kappa / 3) - less)
    return sympy.S(bool(sympy.expand(at_level - 4 * kappa / 3).is_positive))


def _third_share() -> sympy.Expr:
    """P(|u| > t) for t = (3/4) z(κ) a/√3."""
    return sympy.Max(0, sympy.expand(_uniform_share(sympy.Rational(3, 4))))


STATEMENTS = by_label(__name__, released_window, released_window_narrow, released_uniform, mean_shift_failure)
"""The statements of this file."""
