"""What does a better contraction factor save? 1/δ² as a function of the compression c = d/k, and what it counts.

With η = 1/√T the compression term of `nonconvex_rate` is of order 1/(δ²T), so it is below the noise, of order 1/√T,
only from T of order 1/δ⁴ on: `crossover`. Where the variance is bounded, T of order 1/δ² is enough:
`crossover_variance`. The bounds on Top-k enter with κ = 1/c. Ours; square bound: Shi, Chu, Cheung and See 2019.
"""

from dataclasses import replace

import sympy

from sparsync.theory.feedback.rates import VARIANCE_RATE
from sparsync.theory.feedback.residual import (
    CONTRACTION,
    DELTA_DOMAIN,
    INVERSE_ODDS,
    KEPT_BACK,
    RESIDUAL_BOUND,
    RESIDUAL_MINKOWSKI,
    ROOT,
    SECOND_MOMENT,
    at_root,
    below_one,
)
from sparsync.theory.language.given import Given
from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement, written
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    compression,
    crossover,
    delta,
    eta,
    gap,
    inverse_square,
    residual_energy,
    sigma_squared,
    variance,
)

TOP_K_SHARE = r"$\delta$ is the share of $\lVert u\rVert^{2}$ that Top-$k$ sends"
STEP_SIZE = Given("step_size", r"\eta", "=", 1 / sympy.sqrt(T))
COMPRESSION_DOMAIN = (sympy.Ge(compression, 1),)
"""1 ≤ k ≤ d."""

_c = compression
_EXCESS = sympy.Symbol("y", nonnegative=True)
"""c − 1: polynomials in it show their signs."""
_x = sympy.Symbol("x", positive=True)
"""A magnitude."""
_LEVEL = sympy.Symbol("z", positive=True)
"""The magnitude above which a coordinate is sent."""


def complexity_classical() -> Statement:
    """1/δ² = c² for Rand_k, and for Top-k on any vector: δ = 1/c.

    Source: Stich, Cordonnier and Jaggi 2018 for δ.
    """
    return _power_law(
        "complexity_classical",
        exponent=1,
        title="1/δ² for the classical bound",
        kept_back=1 - 1 / _c,
        bound=_c**2,
        limits=(_c**2, _c**2),
        source="Stich, Cordonnier and Jaggi 2018",
    )


def complexity_square() -> Statement:
    """1/δ² = c⁴/(2c − 1)², between c²/4 and (c² + c + 2)/4, for the exponent 2.

    Source: Shi, Chu, Cheung and See 2019 for δ; the two sides ours.
    """
    return _power_law(
        "complexity_square",
        exponent=2,
        title="1/δ² for the exponent 2",
        kept_back=(1 - 1 / _c) ** 2,
        bound=_c**4 / (2 * _c - 1) ** 2,
        limits=((_c**2 + _c) / 4, (_c**2 + _c + 2) / 4),
        source="Shi, Chu, Cheung and See 2019",
    )


def complexity_cubic() -> Statement:
    """1/δ² = c⁶/(3c² − 3c + 1)², between c²/9 and (c² + 2c + 6)/9, for the exponent 3.

    Source: ours.
    """
    return _power_law(
        "complexity_cubic",
        exponent=3,
        title="1/δ² for the exponent 3",
        kept_back=(1 - 1 / _c) ** 3,
        bound=_c**6 / (3 * _c**2 - 3 * _c + 1) ** 2,
        limits=((_c**2 + 2 * _c) / 9, (_c**2 + 2 * _c + 6) / 9),
        source="ours",
    )


def complexity_gaussian() -> Statement:
    """1/δ² for coordinates with a centred normal law: δ = κ + 2zφ(z) with P(|u| > z) = κ = 1/c.

    Source: ours.
    """
    level = NormalQuantile(1 / _c)
    bound = 1 / (1 / _c + sympy.sqrt(2 / sympy.pi) * level * sympy.exp(-(level**2) / 2)) ** 2
    return Statement(
        label="complexity_gaussian",
        title="1/δ² for a normal law",
        assumptions=(
            r"independent $u_i\sim N(0,s^{2})$, $d\to\infty$ at $k/d=1/c$, $z(\kappa)=\Phi^{-1}(1-\kappa/2)$",
            TOP_K_SHARE,
        ),
        relation=sympy.Eq(inverse_square, bound),
        domain=COMPRESSION_DOMAIN,
        source="ours",
        kind="definition",
        derivation=(
            Step("2zφ(z) + P(|u| > z) has the derivative −2z²φ(z) in z, and is 1 at z = 0", _normal_energy),
            Step(
                "P(|u| > z) = 1 − erf(z/√2) = 1/c at the level used: both are 1 at c = 1, with equal derivatives in c",
                lambda: _normal_share(level),
            ),
            Step("1/δ² at that level", lambda: _normal_factor(level, bound), concludes=bound),
        ),
    )


def complexity_laplace() -> Statement:
    """1/δ² = 4c²/(l² + 2l + 2)², l = ln c, for coordinates with a centred Laplace law.

    Source: ours.
    """
    log = sympy.log(_c)
    bound = 4 * _c**2 / (log**2 + 2 * log + 2) ** 2
    return Statement(
        label="complexity_laplace",
        title="1/δ² for a Laplace law",
        assumptions=(
            r"independent $u_i$, Laplace about $0$, $d\to\infty$ at $k/d=1/c$",
            TOP_K_SHARE,
        ),
        relation=sympy.Eq(inverse_square, bound),
        domain=COMPRESSION_DOMAIN,
        source="ours",
        kind="definition",
        derivation=(
            Step("P(|u| > l) = ∫_l^∞ e^(−x) dx = 1/c at l = ln c", lambda: _exponential(0).subs(_LEVEL, log) - 1 / _c),
            Step("1/δ, the quotient of ∫_0^∞ and ∫_l^∞ of x²e^(−x)", lambda: _laplace_factor(bound), concludes=bound),
        ),
    )


def residual_square() -> Statement:
    """E‖e_t‖² ≤ (c − 1)²η²σ² where the exponent 2 holds at every step: at most c − 1 steps are kept back.

    Source: ours.
    """
    bound = (_c - 1) ** 2 * eta**2 * sigma_squared
    return Statement(
        label="residual_square",
        title="energy kept back for the exponent 2",
        assumptions=(CONTRACTION[0], replace(KEPT_BACK, right=(1 - 1 / _c) ** 2), SECOND_MOMENT, "$c=d/k$"),
        relation=sympy.Le(residual_energy, bound, evaluate=False),
        domain=COMPRESSION_DOMAIN,
        source="ours",
        kind="definition",
        derivation=(
            Step("`residual_minkowski` at √(1 − δ) = 1 − 1/c", lambda: _square_residual(bound), concludes=bound),
        ),
    )


def crossover_count() -> Statement:
    """At η = 1/√T: 4(1 − δ)η²L²σ²/δ² ≤ ηLσ² iff T ≥ T* = 16L²(1 − δ)²/δ⁴, not at T of order 1/δ².

    Source: ours.
    """
    bound = 16 * L**2 * (1 - delta) ** 2 / delta**4
    return Statement(
        label="crossover",
        title="updates until compression costs less than noise",
        assumptions=(
            STEP_SIZE,
            r"$\sigma^{2}>0$; $4(1-\delta)\eta^{2}L^{2}\sigma^{2}/\delta^{2}\le\eta L\sigma^{2}$ is "
            r"true for $T\ge T^{*}$ and false before",
        ),
        relation=sympy.Eq(crossover, bound),
        domain=DELTA_DOMAIN,
        source="ours",
        kind="definition",
        derivation=(
            Step("compression over noise is √(T*/T)", lambda: _term_quotient(bound), concludes=bound),
            Step("at T = 1/δ² it is 4L(1 − δ)/δ: larger, not smaller, for small δ", _at_inverse_square),
        ),
    )


def crossover_variance() -> Statement:
    """At η = 1/√T from T* = L²(1 + 3a)²/(4(1 − a)²) on, a = √(1 − δ): at most 2(1 + a) ≤ 4 times the rate of SGD.

    Both rates are those of `descent_without_bounded_gradients`, with δ and with δ = 1. For the exponent 2, where
    a = 1 − 1/c, T* is L²(4c − 3)²/4; it is of order 1/δ², where `crossover` is of order 1/δ⁴.

    Source: ours.
    """
    root = sympy.sqrt(1 - delta)
    bound = L**2 * (1 + 3 * root) ** 2 * (1 + root) ** 2 / (4 * delta**2)
    return Statement(
        label="crossover_variance",
        title="updates until compression costs a constant, bounded variance",
        assumptions=(
            STEP_SIZE,
            r"$a=\sqrt{1-\delta}$, and the rate is "
            r"$((f(x_0)-f^{*})/(\eta T)+\eta L\sigma_0^{2}(1+a)/2)/(1-\eta L(1+a)/(2(1-a)))$",
            r"for all $f(x_0)-f^{*}$ and $\sigma_0^{2}$ the rate with $\delta$ is at most $2(1+a)$ times that with "
            r"$\delta=1$ from $T^{*}$ on, and for no smaller $T$ with $\eta L(1+a)<2(1-a)$",
        ),
        relation=sympy.Eq(crossover, bound),
        domain=(sympy.Lt(delta, 1),),
        source="ours",
        derivation=(
            Step(
                "without a start, one T has the quotient 2(1 + a)", lambda: _where_noise_costs(bound), concludes=bound
            ),
            Step(
                "for a smaller step, 2(1 + a) times the rate with δ = 1 less the rate with δ is ≥ 0", _costs_a_constant
            ),
            Step("for a larger one, without a start, it is < 0", _costs_more),
            Step("for the exponent 2 it is L²(4c − 3)²/4", lambda: _at_square(bound)),
        ),
    )


def _power_law(
    label: str,
    *,
    exponent: int,
    title: str,
    kept_back: sympy.Expr,
    bound: sympy.Expr,
    limits: tuple[sympy.Expr, sympy.Expr],
    source: str,
) -> Statement:
    """1/δ² for 1 − δ = (1 − 1/c)^exponent, between two polynomials in c."""
    lower, upper = limits
    factor = 1 / (1 - kept_back) ** 2
    return Statement(
        label=label,
        title=title,
        assumptions=(Given("kept_back", r"1-\delta", "=", kept_back, words="{} at $c=d/k$"),),
        relation=sympy.Eq(inverse_square, bound),
        domain=COMPRESSION_DOMAIN,
        source=source,
        kind="definition",
        derivation=(
            Step(
                f"1/(1 − (1 − 1/c)^{exponent})² = {_written(bound)}",
                lambda: sympy.cancel(factor - bound),
                concludes=bound,
            ),
            Step(
                f"c²/{exponent**2} ≤ {_written(lower)} ≤ 1/δ²", lambda: _is_between(_c**2 / exponent**2, lower, factor)
            ),
            Step(f"1/δ² ≤ {_written(upper)} ≤ c²", lambda: _is_between(factor, upper, _c**2)),
        ),
    )


def _written(expression: sympy.Expr) -> str:
    return written(expression.xreplace({_c: sympy.Symbol("c")}))


def _is_between(smallest: sympy.Expr, middle: sympy.Expr, largest: sympy.Expr) -> sympy.Basic:
    """True iff smallest ≤ middle ≤ largest for c ≥ 1: no coefficient in c − 1 is negative."""
    differences = (middle - smallest, largest - middle)
    quotients = (sympy.fraction(sympy.cancel(x.subs(_c, 1 + _EXCESS))) for x in differences)
    return sympy.sympify(all(sympy.expand(part).is_nonnegative is True for parts in quotients for part in parts))


def _normal_sent(level: sympy.Expr) -> sympy.Expr:
    """E[u²; |u| > z] for the standard normal law."""
    return 1 - sympy.erf(level / sympy.sqrt(2)) + sympy.sqrt(2 / sympy.pi) * level * sympy.exp(-(level**2) / 2)


def _normal_energy() -> sympy.Basic:
    density = sympy.exp(-(_LEVEL**2) / 2) / sympy.sqrt(2 * sympy.pi)
    slope = sympy.simplify(sympy.diff(_normal_sent(_LEVEL), _LEVEL) + 2 * _LEVEL**2 * density)
    total = sympy.integrate(2 * _LEVEL**2 * density, (_LEVEL, 0, sympy.oo))
    return sympy.And(sympy.Eq(slope, 0), sympy.Eq(_normal_sent(sympy.Integer(0)), total))


def _normal_share(level: sympy.Expr) -> sympy.Basic:
    difference = 1 - NormalQuantile.mass(level) - 1 / _c
    slope = sympy.simplify(sympy.diff(difference, _c))
    return sympy.And(sympy.Eq(slope, 0), sympy.Eq(difference.subs(_c, 1), 0))


def _normal_factor(level: sympy.Expr, bound: sympy.Expr) -> sympy.Expr:
    sent = _normal_sent(level).subs(NormalQuantile.mass(level), 1 - 1 / _c)
    return 1 / sent**2 - bound


def _exponential(power: int) -> sympy.Expr:
    return sympy.integrate(_x**power * sympy.exp(-_x), (_x, _LEVEL, sympy.oo))


def _laplace_factor(bound: sympy.Expr) -> sympy.Expr:
    quotient = sympy.integrate(_x**2 * sympy.exp(-_x), (_x, 0, sympy.oo)) / _exponential(2)
    return quotient.subs(_LEVEL, sympy.log(_c)) ** 2 - bound


def _square_residual(bound: sympy.Expr) -> sympy.Expr:
    residual = RESIDUAL_MINKOWSKI.subs(delta, 1 - (1 - 1 / (1 + _EXCESS)) ** 2)
    return sympy.simplify(residual - bound.subs(_c, 1 + _EXCESS))


def _term_quotient(bound: sympy.Expr) -> sympy.Basic:
    """The quotient of the terms, squared, is T*/T; it falls in T, so T ≥ T* is where it is at most 1."""
    count = sympy.Symbol("T", positive=True)
    quotient = (L**2 * RESIDUAL_BOUND / (eta * L * sigma_squared)).subs(eta, 1 / sympy.sqrt(count))
    solved = sympy.solve(sympy.Eq(quotient**2, 1), count)
    return sympy.And(sympy.Eq(len(solved), 1), sympy.Eq(sympy.simplify(solved[0] - bound), 0))


def _at_inverse_square() -> sympy.Expr:
    quotient = (L**2 * RESIDUAL_BOUND / (eta * L * sigma_squared)).subs(eta, delta)
    return sympy.simplify(quotient - 4 * L * (1 - delta) / delta)


def _rates(step: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """The rate with δ = 1 − a² and with δ = 1."""
    compressed, plain = (VARIANCE_RATE.subs(delta, factor).subs(eta, step) for factor in (1 - ROOT**2, 1))
    return compressed, plain


def _where_noise_costs(bound: sympy.Expr) -> sympy.Expr:
    """Solved for η."""
    compressed, plain = (rate.subs(gap, 0) for rate in _rates(eta))
    solved = sympy.solve(sympy.Eq(sympy.cancel(compressed / plain), 2 * (1 + ROOT)), eta)
    return sympy.cancel(sympy.Add(*solved) ** -2 - at_root(bound))


def _costs_a_constant() -> sympy.Basic:
    """ηL = 2(1 − a)/((1 + 3a)(1 + y)), y ≥ 0."""
    compressed, plain = _rates(2 * (1 - ROOT) / ((1 + 3 * ROOT) * (1 + _EXCESS) * L))
    return below_one(2 * (1 + ROOT) * plain - compressed)


def _costs_more() -> sympy.Basic:
    """ηL = 2(1 − a)/(1 + a + 2a/(1 + y)), y > 0, which is below the limit 2(1 − a)/(1 + a)."""
    beyond = sympy.Symbol("beyond", positive=True)
    compressed, plain = _rates(2 * (1 - ROOT) / ((1 + ROOT + 2 * ROOT / (1 + beyond)) * L))
    excess = sympy.cancel((compressed - 2 * (1 + ROOT) * plain).subs(gap, 0) / variance)
    parts = sympy.fraction(sympy.cancel(excess.subs(ROOT, INVERSE_ODDS)))
    return sympy.sympify(all(sympy.expand(part).is_positive is True for part in parts))


def _at_square(bound: sympy.Expr) -> sympy.Expr:
    value = bound.subs(delta, 1 - (1 - 1 / (1 + _EXCESS)) ** 2)
    return sympy.simplify(value - (L * (4 * _c - 3) / 2).subs(_c, 1 + _EXCESS) ** 2)


STATEMENTS = by_label(
    __name__,
    complexity_classical,
    complexity_square,
    complexity_cubic,
    complexity_gaussian,
    complexity_laplace,
    residual_square,
    crossover=crossover_count,
    crossover_variance=crossover_variance,
)
"""The statements of this file."""
