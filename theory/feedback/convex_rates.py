"""How fast does error feedback with noise come to the minimum of a convex function, without bounded gradients?

The virtual iterate x̃ = x − mean e_i moves by −η mean g_i, and ‖x̃ − x*‖² + ω mean ‖e_i‖² is the Lyapunov function; its
weight ω is free. The virtual iterate and its use for convex functions: Stich, Cordonnier and Jaggi 2018; without
bounded gradients: Stich and Karimireddy 2019. Lyapunov functions, several workers and all constants: ours.
"""

from dataclasses import replace

import sympy

from sparsync.theory.feedback.rates import VARIANCE, noise_step
from sparsync.theory.feedback.residual import DELTA_DOMAIN, KEPT_BACK, ROOT, at_root
from sparsync.theory.feedback.worker_rates import WORKERS
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    dissimilarity,
    epsilon,
    eta,
    mean_excess,
    mu,
    n,
    residual_weight,
    start_distance,
    variance,
    virtual_distance,
    weighted_excess,
)
from sparsync.theory.tight_rates.feedback_steps import S, feedback_factor, feedback_step
from sparsync.theory.tight_rates.interpolation import Point, interpolation, interpolation_steps
from sparsync.theory.tight_rates.rates import ef_tight_rate

_CHARGE = 1 + residual_weight * (1 - delta)
"""c: what the square of ηg is charged with, in x̃ and in the residuals."""
CONVEX_SHARE = eta * L * (1 + residual_weight) * _CHARGE / (residual_weight * delta)
"""h: η over the largest step size at which the whole gain is left."""
_NOISE = variance / n + residual_weight * (1 - delta) * (variance + dissimilarity / delta)
_LEFT = delta - eta * mu * (1 / residual_weight + sympy.Rational(1, 2))
"""What is left of the contraction where all else shrinks by 1 − ημ/2."""
STRONG_SHARE = eta * L * _CHARGE * (1 + _CHARGE / (residual_weight * _LEFT))
_STRONG_NOISE = variance / n + residual_weight * (1 - delta) * (variance + dissimilarity / _LEFT)
_SHRINKS = 1 - eta * mu / 2
_ROOT_EPSILON = sympy.sqrt(epsilon)
_FACTOR = feedback_factor(_ROOT_EPSILON) ** 2
_BEST_STEP = feedback_step(_ROOT_EPSILON)

_P, _Q, _R, _ZETA, _EXCESS = sympy.symbols("p q r zeta D", nonnegative=True)
_X, _E = sympy.symbols("x e", real=True)


def convex_feedback_rate() -> Statement:
    """mean_t E f(x_t) − f* ≤ (‖x_0 − x*‖²/(2ηT) + (η/2)(σ₀²/n + ω(1 − δ)(σ₀² + ζ²/δ)))/min(1, 2 − h), h < 2.

    ω > 0 is free, h = ηL(1 + ω)(1 + ω(1 − δ))/(ωδ); f of the average iterate is not larger. At n = 1, ζ = 0 and
    ω = 1/a, a = √(1 − δ), h = ηL(1 + a)/(1 − a), and noise costs at most twice what it costs SGD, for every δ. At
    η = √(n/T) and ω = √η it is (‖x_0 − x*‖² + σ₀²)/(2√(nT)) to first order, as if every worker sent everything.

    Source: the argument of Stich and Karimireddy 2019 for one worker; Lyapunov function, workers and constants: ours.
    """
    bound = (start_distance / (2 * eta * T) + eta * _NOISE / 2) / sympy.Min(1, 2 - CONVEX_SHARE)
    return Statement(
        label="convex_feedback_rate",
        title="convex functions, bounded variance, the average iterate",
        assumptions=(
            r"$f=\frac{1}{n}\sum_i f_i$ is convex with a minimiser $x^{*}$, $\nabla f$ is $L$-Lipschitz",
            *WORKERS,
            r"$\omega$ is any positive number",
        ),
        relation=sympy.Le(mean_excess, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Lt(CONVEX_SHARE, 2)),
        source="argument of Stich and Karimireddy 2019; constants: ours",
        derivation=(
            *_common_steps(),
            Step("μ = 0: ⟨∇f(x), x − x*⟩ ≥ D + q²/2L for D = f(x) − f*, q = ‖∇f(x)‖", _convex_gain),
            Step(
                "c = 1 + ω(1 − δ), p = ‖mean e_i‖: 2ηpq + η²q² + ω((1 − δ)(p + ηq)² − p²) is hηq²/L and the square "
                "−ωδ(p − ηcq/(ωδ))²",
                _convex_square,
            ),
            _deviation_step("(1 − δ)(r + ηζ)² − r² is (1 − δ)η²ζ²/δ and the square −δ(r − (1 − δ)ηζ/δ)²", delta),
            Step("−2ηD − (1 − h)ηq²/L is at most −2ηD·min(1, 2 − h), as 0 ≤ q² ≤ 2LD", _both_sides_of_one),
            Step("summed over t", lambda: _convex_summed(bound), concludes=bound),
            Step("at n = 1, ω = 1/a: h = ηL(1 + a)/(1 − a), and σ₀² has the factor η(1 + a)/2", _best_weight),
            Step("at η = √(n/T), ω = √η: √(nT) times it tends to (‖x_0 − x*‖² + σ₀²)/2", _speed_up),
        ),
    )


def strongly_convex_feedback_rate() -> Statement:
    """Σ w_t(E f(x_t) − f*)/Σ w_t ≤ (μ‖x_0 − x*‖²/(4(ρ^(−T) − 1)) + ηN/2)/(1 − μ/L), w_t = ρ^(−t−1), ρ = 1 − ημ/2.

    N = σ₀²/n + ω(1 − δ)(σ₀² + ζ²/χ), χ = δ − ημ(1/ω + 1/2) > 0, and ηLc(1 + c/(ωχ)) ≤ 1 with c = 1 + ω(1 − δ): linear
    in the start, and with η of order ln T/(μT), ω of order √η, noise costs σ₀²/(nμT) up to the logarithm. f of the
    average with the same weights is not larger.

    Source: the argument of Stich, Cordonnier and Jaggi 2018 and of Stich and Karimireddy 2019; constants: ours.
    """
    start = mu * start_distance / (4 * (_SHRINKS ** (-T) - 1))
    bound = (start + eta * _STRONG_NOISE / 2) / (1 - mu / L)
    return Statement(
        label="strongly_convex_feedback_rate",
        title="strongly convex functions, bounded variance, weighted average",
        assumptions=(
            r"$f=\frac{1}{n}\sum_i f_i$ is $\mu$-strongly convex, $\nabla f$ is $L$-Lipschitz, "
            r"$w_t=(1-\eta\mu/2)^{-t-1}$ for $t<T$",
            *WORKERS,
            r"$\omega$ is any positive number",
        ),
        relation=sympy.Le(weighted_excess, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Lt(mu, L), sympy.Lt(delta - _LEFT, delta), sympy.Le(STRONG_SHARE, 1)),
        source="argument of Stich and Karimireddy 2019; constants: ours",
        derivation=(
            *_common_steps(),
            Step("⟨∇f(x), x − x*⟩ ≥ (1 − μ/L)D + q²/2L + μ‖x − x*‖²/2: 1 − μ/L times the interpolation", _strong_gain),
            Step("‖x − x*‖² ≥ ‖x̃ − x*‖²/2 − ‖e‖²: the difference is ‖x̃ − x* + 2e‖²/2, for e = mean e_i", _distance),
            Step(
                "with p² charged with ημ + ωημ/2 more: 2ηpq + η²q² + ω((1 − δ)(p + ηq)² − p²) + ημ(1 + ω/2)p² is "
                "h'ηq²/L, h' = ηLc(1 + c/(ωχ)), and the square −ωχ(p − ηcq/(ωχ))²",
                _strong_square,
            ),
            _deviation_step(
                "(1 − δ)(r + ηζ)² − (1 − ημ/2)r² is at most (1 − δ)η²ζ²/χ: 1 − ημ/2 − (1 − δ) ≥ χ",
                delta - eta * mu / 2,
            ),
            Step("(1 − δ)(1 + (1 − δ)/(δ − m)) ≤ (1 − δ)/χ for m = ημ/2, χ ≤ δ − m", _deviation_is_paid),
            Step(
                "Ψ⁺ ≤ ρΨ − 2η(1 − μ/L)D + η²N, times w_t and summed; Σ w_t = (ρ^(−T) − 1)/(1 − ρ)",
                lambda: _strong_summed(bound),
                concludes=bound,
            ),
        ),
    )


def feedback_at_tight_rate() -> Statement:
    """V_T ≤ θ^(2T)‖x_0 − x*‖² + η²σ₀²(1 + √ε)(1 − θ^(2T))/(1 − θ²) at the best step size, θ² of `ef_tight_rate`.

    V = E‖x − e − x*‖² + E‖e‖²/√ε, for the last iterate of one worker. The first term cannot be smaller, by the
    quadratics of `ef_tight_rate`; all of it is attained for ε = 0.

    Source: the rate without noise: Thomsen, Taylor and Dieuleveut 2025; with noise: ours.
    """
    noise = _BEST_STEP**2 * variance * (1 + _ROOT_EPSILON)
    bound = _FACTOR**T * start_distance + noise * (1 - _FACTOR**T) / (1 - _FACTOR)
    return Statement(
        label="feedback_at_tight_rate",
        title="strongly convex functions, bounded variance, last iterate at the tight rate",
        assumptions=(
            r"$f$ is $L$-smooth and $\mu$-strongly convex, one worker, error feedback, at first $e=0$",
            Given("step_size", r"\eta", "=", _BEST_STEP),
            replace(KEPT_BACK, right=epsilon),
            r"$\mathbb{E}[g_t\mid x_t,e_t]=\nabla f(x_t)$; $e_T=0$ if $\epsilon=0$",
            VARIANCE,
        ),
        relation=sympy.Le(virtual_distance, bound, evaluate=False),
        domain=(sympy.Le(mu, L), sympy.Lt(epsilon, 1)),
        source="rate without noise: Thomsen, Taylor and Dieuleveut 2025; with noise: ours",
        derivation=(
            noise_step(),
            Step("without noise V shrinks by θ², as `ef_tight_rate` says", _tight_factor),
            Step("noise adds η²σ₀² to E‖x̃ − x*‖² and εη²σ₀² to E‖e‖²", _tight_noise),
            Step("V_t ≤ V(t) with V(0) = ‖x_0 − x*‖² and V(t + 1) = θ²V(t) + η²σ₀²(1 + √ε)", _tight_recursion),
            Step("V(T) is the bound", lambda: _tight_solution() - bound, concludes=bound),
            Step("at ε = 0 and f = μx²/2 or Lx²/2 every step is an equality: (1 − ηm)² = θ²", _attained_uncompressed),
        ),
    )


def _common_steps() -> tuple[Step, ...]:
    return (
        interpolation_steps()[0],
        noise_step(),
        Step(
            "‖x̃ − ηg − x*‖² = ‖x̃ − x*‖² − 2η⟨g, x − x*⟩ + 2η⟨g, e⟩ + η²‖g‖², where x̃ = x − e, one coordinate",
            _virtual_move,
        ),
    )


def _virtual_move() -> sympy.Expr:
    slope = sympy.Symbol("g", real=True)
    after = (_X - _E - eta * slope) ** 2
    return sympy.expand(after - (_X - _E) ** 2 + 2 * eta * slope * _X - 2 * eta * slope * _E - eta**2 * slope**2)


def _gain() -> sympy.Expr:
    """⟨∇f(x), x − x*⟩ − (1 − μ/L)D − q²/2L − μ‖x − x*‖²/2 less 1 − μ/L times what interpolation has below zero.

    Written for scalars, x* = 0 and f* = 0.
    """
    point = Point(*sympy.symbols("x pi phi", real=True))
    product = point.gradient * point.position
    gain = product - (1 - mu / L) * point.value - point.gradient**2 / (2 * L) - mu * point.position**2 / 2
    at_minimiser = interpolation(Point(*(sympy.Integer(0),) * 3), point)
    # The pair in this order holds f(x) − f* − ⟨∇f(x), x − x*⟩, and is ≤ 0.
    return sympy.cancel(gain + (1 - mu / L) * at_minimiser)


def _strong_gain() -> sympy.Expr:
    return _gain()


def _convex_gain() -> sympy.Expr:
    return sympy.limit(_gain(), mu, 0)


def _convex_square() -> sympy.Expr:
    change = 2 * eta * _P * _Q + eta**2 * _Q**2
    change += residual_weight * ((1 - delta) * (_P + eta * _Q) ** 2 - _P**2)
    square = residual_weight * delta * (_P - eta * _CHARGE * _Q / (residual_weight * delta)) ** 2
    return sympy.cancel(change + square - CONVEX_SHARE * eta * _Q**2 / L)


def _deviation_step(claim: str, left: sympy.Expr) -> Step:
    """r² = mean ‖e_i − mean e_i‖²; what the heterogeneity pushes it by."""

    def remainder() -> sympy.Expr:
        change = (1 - delta) * (_R + eta * _ZETA) ** 2 - (1 - delta + left) * _R**2
        largest = (1 - delta) * eta**2 * _ZETA**2 * (1 + (1 - delta) / left)
        return sympy.cancel(change - largest + left * (_R - (1 - delta) * eta * _ZETA / left) ** 2)

    return Step(claim, remainder)


def _both_sides_of_one() -> sympy.Basic:
    """h = 1/(1 + y) or h = 1 + y; q² = 2LD − s, s ≥ 0."""
    room, slack = sympy.symbols("y s", nonnegative=True)

    def change(share: sympy.Expr, square: sympy.Expr) -> sympy.Expr:
        return -2 * eta * _EXCESS - (1 - share) * eta * square / L

    below = sympy.cancel(-2 * eta * _EXCESS - change(1 / (1 + room), slack))
    beyond = sympy.expand(-2 * eta * _EXCESS * (1 - room) - change(1 + room, 2 * L * _EXCESS - slack))
    return sympy.sympify(below.is_nonnegative is True and beyond.is_nonnegative is True)


def _convex_summed(bound: sympy.Expr) -> sympy.Basic:
    end = sympy.Symbol("Psi_T", nonnegative=True)
    gain = sympy.Min(1, 2 - CONVEX_SHARE)
    right = start_distance - end + T * eta**2 * _NOISE
    solution = right / (2 * eta * T * gain)
    reached = sympy.simplify(solution.subs(end, 0) - bound)
    slope = sympy.cancel(sympy.diff(right, end))
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(slope.is_negative is True))


def _best_weight() -> sympy.Basic:
    share, charge = (at_root(part.subs(residual_weight, 1 / ROOT)) for part in (CONVEX_SHARE, _CHARGE))
    return sympy.And(
        sympy.Eq(sympy.cancel(share - eta * L * (1 + ROOT) / (1 - ROOT)), 0),
        sympy.Eq(sympy.cancel(charge - 1 - ROOT), 0),
    )


def _speed_up() -> sympy.Basic:
    """In ω = √η, where T = n/η² and √(nT) = n/η; h → 0, so that the minimum is 1."""
    bound = start_distance / (2 * eta * T) + eta * _NOISE / 2
    scaled = sympy.cancel((bound * n / eta).subs(T, n / eta**2).subs(eta, residual_weight**2))
    limit = scaled.subs(residual_weight, 0) - (start_distance + variance) / 2
    share = sympy.cancel(CONVEX_SHARE.subs(eta, residual_weight**2)).subs(residual_weight, 0)
    return sympy.And(sympy.Eq(sympy.cancel(limit), 0), sympy.Eq(share, 0))


def _distance() -> sympy.Expr:
    """In X = x̃ − x*, x − x* = X + e."""
    return sympy.expand((_X + _E) ** 2 - _X**2 / 2 + _E**2 - (_X + 2 * _E) ** 2 / 2)


def _strong_square() -> sympy.Expr:
    change = 2 * eta * _P * _Q + eta**2 * _Q**2
    change += residual_weight * ((1 - delta) * (_P + eta * _Q) ** 2 - _P**2)
    change += eta * mu * (1 + residual_weight / 2) * _P**2
    square = residual_weight * _LEFT * (_P - eta * _CHARGE * _Q / (residual_weight * _LEFT)) ** 2
    return sympy.cancel(change + square - STRONG_SHARE * eta * _Q**2 / L)


def _deviation_is_paid() -> sympy.Basic:
    """With δ − m = χ + s: (1 − δ)/χ less the other is (1 − δ)(s + mχ)/(χ(χ + s)), which is ≥ 0."""
    left, more, shrink = sympy.symbols("chi s m", nonnegative=True)
    whole = left + more + shrink
    difference = 1 / left - (1 + (1 - whole) / (left + more))
    return sympy.Eq(sympy.cancel(difference - (more + shrink * left) / (left * (left + more))), 0)


def _strong_summed(bound: sympy.Expr) -> sympy.Basic:
    ratio, index, count = sympy.Symbol("rho", positive=True), sympy.Symbol("t", integer=True), sympy.Symbol("T")
    total = (ratio**-count - 1) / (1 - ratio)
    recursion = sympy.simplify(total.subs(count, index + 1) - total.subs(count, index) - ratio ** (-index - 1))
    weights = (_SHRINKS ** (-T) - 1) / (1 - _SHRINKS)
    solution = (start_distance + eta**2 * _STRONG_NOISE * weights) / (2 * eta * (1 - mu / L) * weights)
    return sympy.And(
        sympy.Eq(recursion, 0), sympy.Eq(total.subs(count, 0), 0), sympy.Eq(sympy.simplify(solution - bound), 0)
    )


def _tight_factor() -> sympy.Expr:
    return ef_tight_rate().bound - _FACTOR


def _tight_noise() -> sympy.Expr:
    """The second moment of the noise in V, the residual's share over s = √ε."""
    virtual, kept = eta**2 * variance, S**2 * eta**2 * variance
    return sympy.cancel(virtual + kept / S - eta**2 * variance * (1 + S))


_RATIO = sympy.Symbol("rho", positive=True)


def _solution(time: sympy.Expr, noise: sympy.Expr) -> sympy.Expr:
    return _RATIO**time * start_distance + noise * (1 - _RATIO**time) / (1 - _RATIO)


def _tight_recursion() -> sympy.Basic:
    time, noise = sympy.Symbol("t", integer=True, nonnegative=True), sympy.Symbol("K", nonnegative=True)
    recursion = sympy.simplify(_solution(time + 1, noise) - _RATIO * _solution(time, noise) - noise)
    return sympy.And(sympy.Eq(recursion, 0), sympy.Eq(_solution(sympy.Integer(0), noise), start_distance))


def _tight_solution() -> sympy.Expr:
    noise = _BEST_STEP**2 * variance * (1 + _ROOT_EPSILON)
    return _solution(T, noise).subs(_RATIO, _FACTOR)


def _attained_uncompressed() -> sympy.Basic:
    factor, step = (part.subs(epsilon, 0) for part in (_FACTOR, _BEST_STEP))
    spread = sympy.Symbol("y", nonnegative=True)
    factor = sympy.simplify(factor.subs(L, mu + spread))
    gaps = [(1 - step * curvature) ** 2 for curvature in (mu, L)]
    return sympy.And(*(sympy.Eq(sympy.simplify(gap_.subs(L, mu + spread) - factor), 0) for gap_ in gaps))


STATEMENTS = by_label(__name__, convex_feedback_rate, strongly_convex_feedback_rate, feedback_at_tight_rate)
"""The statements of this file."""
