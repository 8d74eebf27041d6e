"""How small does error feedback make the gradient of a smooth function? Rates with their exact constants.

All start from the virtual iterate x̃ = x − e, which moves by −ηg: the descent lemma at x̃ costs the difference of the
gradients at x̃ and x, of size at most L‖e‖. `residual.py` bounds e where the second moment of g is bounded; where only
the variance is, a Lyapunov function pays for it. Sums run over t = 0, …, T − 1. Sources are named per statement.
"""

import sympy

from sparsync.theory.feedback.residual import (
    CONTRACTION,
    DELTA_DOMAIN,
    INVERSE_ODDS,
    ODDS,
    RESIDUAL_BOUND,
    RESIDUAL_MINKOWSKI,
    ROOT,
    UPDATE,
    at_root,
    below_one,
    jensen_step,
    minkowski_steps,
    young_steps,
)
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    eta,
    gap,
    gradient_energy,
    sigma_squared,
    stationary_energy,
    variance,
)

SMOOTH = r"$\nabla f$ is $L$-Lipschitz, $f\ge f^{*}$, $\mathbb{E}[g_t\mid x_t,e_t]=\nabla f(x_t)$"
WORKERS = r"for $n$ workers $C(u_t)$, $e_t$ and $g_t$ are means, and $\delta$ and $\sigma^{2}$ hold for each worker"

_A = sympy.sqrt(1 - delta)
_START = gap / (eta * T)
_NOISE = eta * L * sigma_squared
_STEP_SHARE = eta * L * (1 + _A) / (2 * (1 - _A))
"""η over the largest step size for which error feedback descends, 2(1 − a)/(L(1 + a))."""
VARIANCE = Given("variance", r"\mathbb{E}[\lVert g_t-\nabla f(x_t)\rVert^{2}\mid x_t,e_t]", "≤", variance)
VARIANCE_RATE = (_START + eta * L * variance * (1 + _A) / 2) / (1 - _STEP_SHARE)
"""The bound of `descent_without_bounded_gradients`."""

_G, _D, _E = sympy.symbols("G D e", real=True)
_THETA = sympy.Symbol("theta", positive=True)
_M_ROOT, _B_ROOT = sympy.symbols("sqrt_M sqrt_B", positive=True)
_P, _Q = sympy.symbols("p q", nonnegative=True)
_SQUARE_FACTOR = L * (1 + ROOT) / (2 * ROOT * (1 - ROOT))


def nonconvex_rate() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ 2(f(x_0) − f*)/(ηT) + ηLσ² + 4(1 − δ)η²L²σ²/δ².

    Source: the argument of Karimireddy, Rebjock, Stich and Jaggi 2019, Theorem II, whose T + 1 is our T. We have not
    compared the printed constants. Half the middle term would be too little: `stationary_gradient` refutes it. Nor can
    the last be smaller by any factor: f' = Lx cut off at ±σ, L = 2(1 − a)/(η(1 + a)), comes as near to it as one likes,
    as T → ∞ and δ → 0.
    """
    bound = 2 * _START + _NOISE + L**2 * RESIDUAL_BOUND
    return Statement(
        label="nonconvex_rate",
        title="smooth functions, bounded second moments",
        assumptions=(SMOOTH, *CONTRACTION, WORKERS),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=DELTA_DOMAIN,
        source="argument of Karimireddy, Rebjock, Stich and Jaggi 2019; constants: ours",
        derivation=(
            *young_steps(),
            jensen_step("w_i = 1/n"),
            descent_step(),
            Step("−(G + D)G ≤ −G²/2 + D²/2: the difference is (G + D)²/2, one coordinate", _half_and_half),
            Step("summed over t and divided by ηT/2, with f(x̃_T) ≥ f*", lambda: _summed(bound), concludes=bound),
            Step(
                "|f'| = σ for ever: C(u) = (1 + a)u takes x = (1 + a)ησ/(2(1 − a)), e = aησ/(1 − a) to −x, −e", _cycle
            ),
            Step("with L = σ/x it tends to σ² without its start, as δ → 0", lambda: _attained_at_zero(bound)),
        ),
    )


def nonconvex_rate_minkowski() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ (√B + √(B + 4A))²/4, A = (f(x_0) − f*)/(ηT) + ηLσ²/2, B = L² times `residual_minkowski`.

    It is at most 2A + B ≤ `nonconvex_rate`, and A, the rate of SGD without compression, for δ = 1. No constant factor
    can be taken off for any δ: f' = Lx cut off at ±σ, L = 2(1 − a)/(η(1 + a)), comes as near to it as one likes, as
    T → ∞. At smaller ηL better bounds exist, such as `descent_without_bounded_gradients` at half of it, for small δ.

    Source: ours.
    """
    residual_root = eta * L * sympy.sqrt(sigma_squared) * _A / (1 - _A)
    bound = (residual_root + sympy.sqrt(residual_root**2 + 4 * (_START + _NOISE / 2))) ** 2 / 4
    return Statement(
        label="nonconvex_rate_minkowski",
        title="smooth functions, bounded second moments, sharp residual",
        assumptions=(SMOOTH, *CONTRACTION, WORKERS),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=DELTA_DOMAIN,
        source="ours",
        derivation=(
            *minkowski_steps(),
            jensen_step("w_i = 1/n"),
            descent_step(),
            Step("−GD ≤ θG²/2 + D²/(2θ): the difference is (θG + D)²/(2θ), one coordinate", _weighted_product),
            Step("so (1 − θ/2)M ≤ A + B/(2θ); θ = √(B/M*) < 2 gives M ≤ M*, where M* = A + √(B M*)", _best_weight),
            Step("M* = (√B + √(B + 4A))²/4", lambda: _root_form(bound, residual_root), concludes=bound),
            Step("√B is L times the root of the sharp residual", lambda: _is_residual_root(residual_root)),
            Step("M* ≤ 2A + B: the difference is (√(B + 4A) − √B)²/4", _below_sum),
            Step("for δ = 1 it is A", lambda: bound.subs(delta, 1) - _START - _NOISE / 2),
            Step(
                "|f'| = σ for ever: C(u) = (1 + a)u takes x = (1 + a)ησ/(2(1 − a)), e = aησ/(1 − a) to −x, −e", _cycle
            ),
            Step("with L = σ/x it is then σ² without its start, for every δ", lambda: _attained(bound)),
        ),
    )


def stationary_gradient() -> Statement:
    """E|f'(x)|² = (ηLσ²/2)/(1 − ηLa/(1 − a)), a = √(1 − δ), for f = Lx²/2, C(u) = (1 + a)u, E g² = σ², at rest.

    So for T → ∞ no rate of the form of `nonconvex_rate` holds with ηLσ²/2 for its middle term: as a → 0 this exceeds
    ηLσ²/2 by a term of order a, while the residual term is of order a². At δ = 1 the value is ηLσ²/2 itself.

    Source: ours.
    """
    bound = _NOISE / 2 / (1 - eta * L * _A / (1 - _A))
    return Statement(
        label="stationary_gradient",
        title="a quadratic at rest: what no rate can exclude",
        assumptions=(
            UPDATE,
            r"$f(x)=Lx^{2}/2$, $\mathbb{E}[g_t\mid x_t,e_t]=f'(x_t)$",
            Given("amplification", "C(u)/u", "=", 1 + _A),
            Given("second_moment", r"\mathbb{E}\,g_t^{2}", "=", sigma_squared),
            r"$\mathbb{E}\,x_t^{2}$, $\mathbb{E}\,x_te_t$ and $\mathbb{E}\,e_t^{2}$ do not change with $t$",
        ),
        relation=sympy.Eq(stationary_energy, bound),
        domain=(*DELTA_DOMAIN, sympy.Lt(_STEP_SHARE, 1)),
        source="ours",
        derivation=(
            Step("C(u) = (1 + a)u keeps back −au, of energy (1 − δ)u²", _keeps_back),
            Step("the moments at rest, solved from the update", lambda: _stationary_moments(bound), concludes=bound),
            Step(
                "at a = 1/16: above ηLσ²/2 + 4(1 − δ)η²L²σ²/δ² for every ηL below the limit",
                lambda: _half_is_too_little(bound),
            ),
        ),
    )


def descent_without_bounded_gradients() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ ((f(x_0) − f*)/(ηT) + ηLσ₀²(1 + a)/2)/(1 − (ηL/2)(1 + a)/(1 − a)), a = √(1 − δ).

    Only the variance σ₀² is bounded. Φ = f(x − e) + (L/(2a))‖e‖² descends for every step below 2(1 − a)/(L(1 + a)),
    and at that step C(u) = (1 + a)u does not converge on f = Lx²/2. Without noise, η = (1 − a)/(L(1 + a)) gives
    2L(f(x_0) − f*)(1 + a)/((1 − a)T), the rate of gradient descent times (1 + a)/(1 − a).

    Source: ours.
    """
    bound = VARIANCE_RATE
    return Statement(
        label="descent_without_bounded_gradients",
        title="smooth functions, bounded variance",
        assumptions=(
            SMOOTH,
            *CONTRACTION[:2],
            VARIANCE,
        ),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Lt(_STEP_SHARE, 1)),
        source="ours",
        derivation=(
            descent_step(),
            noise_step(),
            Step(
                "Φ = f(x̃) + (L/2a)‖e‖², p = ‖e‖, q = ‖∇f(x)‖: what Φ falls by, beyond η(1 − ηL(1 + a)/(2(1 − a)))q² "
                "− η²Lσ₀²(1 + a)/2, is L(1 + a)((1 − a)p − aηq)²/(2a(1 − a))",
                _lyapunov_square,
                argued="the products of ∇f(x) with ∇f(x̃) and e, by Cauchy and Schwarz",
            ),
            Step("that square has a positive factor", lambda: below_one(_SQUARE_FACTOR)),
            Step("summed over t: Φ_0 = f(x_0), Φ_T ≥ f*", lambda: _lyapunov_summed(bound), concludes=bound),
            Step("for δ = 1, e = 0: f itself falls by η(1 − ηL/2)q² − η²Lσ₀²/2", _uncompressed_descent),
            Step("at η = 2(1 − a)/(L(1 + a)) the update of (x, e) for C(u) = (1 + a)u has eigenvalue −1", _limit),
        ),
    )


def descent_step() -> Step:
    """f(x̃ − ηg) ≤ f(x̃) − η⟨∇f(x̃), g⟩ + Lη²‖g‖²/2; there ∇f(x̃) = ∇f(x) + D with ‖D‖ ≤ L‖x̃ − x‖ = L‖e‖."""

    def remainder() -> sympy.Expr:
        length, s = sympy.symbols("r s", nonnegative=True)
        return sympy.integrate(L * s * length * length, (s, 0, 1)) - L * length**2 / 2

    return Step(
        "∫_0^1 ‖∇f(x̃ + s r) − ∇f(x̃)‖‖r‖ ds ≤ ∫_0^1 L s‖r‖² ds = L‖r‖²/2, for r = −ηg",
        remainder,
        argued="the inequality is that ∇f is L-Lipschitz; means are taken given x, e",
    )


def noise_step() -> Step:
    """The second moment of the corrected gradient, where the noise of the gradient has mean zero and variance σ₀²."""

    def remainder() -> sympy.Expr:
        noise = sympy.Symbol("xi", real=True)
        square = sympy.Poly(sympy.expand((_E + eta * (_G + noise)) ** 2), noise)
        moments = {(0,): sympy.Integer(1), (1,): sympy.Integer(0), (2,): variance}
        mean = sympy.Add(*(factor * moments[power] for power, factor in square.terms()))
        return sympy.expand(mean - ((_E + eta * _G) ** 2 + eta**2 * variance))

    return Step("E(e + ηg)² = (e + ηG)² + η²σ₀², one coordinate: the noise has mean zero", remainder)


def _half_and_half() -> sympy.Expr:
    return sympy.expand((-(_G**2) / 2 + _D**2 / 2) + (_G + _D) * _G - (_G + _D) ** 2 / 2)


def _summed(bound: sympy.Expr) -> sympy.Basic:
    """Solve the summed inequality for the mean of E‖∇f‖²; slacks stand for what each bound leaves."""
    mean = sympy.Symbol("mean")
    end, energy = sympy.symbols("f(x_T)-f* slack", nonnegative=True)
    per_step = L * eta**2 * sigma_squared / 2 + eta * L**2 * (RESIDUAL_BOUND - energy) / 2
    solution = sympy.solve(sympy.Eq(T * eta * mean / 2, gap - end + T * per_step), mean)[0]
    excess = sympy.expand(solution - bound)
    reached = sympy.simplify(excess.subs({end: 0, energy: 0}))
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(sympy.simplify(excess).is_nonpositive is True))


def _weighted_product() -> sympy.Expr:
    difference = _THETA * _G**2 / 2 + _D**2 / (2 * _THETA) + _G * _D
    return sympy.cancel(difference - (_THETA * _G + _D) ** 2 / (2 * _THETA))


def _best_weight() -> sympy.Basic:
    """With A = M − √B√M the weight √B/√M turns (A + B/(2θ))/(1 − θ/2) into M; A > 0 makes it less than 1."""
    start = _M_ROOT**2 - _B_ROOT * _M_ROOT
    weight = _B_ROOT / _M_ROOT
    value = (start + _B_ROOT**2 / (2 * weight)) / (1 - weight / 2)
    above = sympy.Symbol("slack", positive=True)
    below_two = sympy.cancel((2 - weight).subs(_M_ROOT, _B_ROOT + above))
    return sympy.And(sympy.Eq(sympy.cancel(value - _M_ROOT**2), 0), sympy.sympify(below_two.is_positive is True))


def _root_form(bound: sympy.Expr, residual_root: sympy.Expr) -> sympy.Basic:
    start, remainder = sympy.symbols("A B_root", positive=True)
    roots = [root for root in sympy.solve(_M_ROOT**2 - remainder * _M_ROOT - start, _M_ROOT) if root.is_positive]
    values = {start: _START + _NOISE / 2, remainder: residual_root}
    gaps = [sympy.simplify(root.subs(values, simultaneous=True) ** 2 - bound) for root in roots]
    return sympy.sympify(gaps == [0])


def _is_residual_root(residual_root: sympy.Expr) -> sympy.Expr:
    return sympy.simplify(at_root(residual_root) ** 2 - L**2 * at_root(RESIDUAL_MINKOWSKI))


def _below_sum() -> sympy.Expr:
    """In s = √(B + 4A)."""
    s = sympy.Symbol("s", positive=True)
    start = (s**2 - _B_ROOT**2) / 4
    return sympy.expand(2 * start + _B_ROOT**2 - (_B_ROOT + s) ** 2 / 4 - (s - _B_ROOT) ** 2 / 4)


_SIGMA = sympy.Symbol("sigma", positive=True)
_SIDE, _KEPT = (1 + ROOT) * eta * _SIGMA / (2 * (1 - ROOT)), ROOT * eta * _SIGMA / (1 - ROOT)
"""x and e of the cycle, which a run enters where a constant slope σ has built the residual."""


def _cycle() -> sympy.Basic:
    corrected = _KEPT + eta * _SIGMA
    following = (_SIDE - (1 + ROOT) * corrected, -ROOT * corrected)
    return sympy.And(
        *(sympy.Eq(sympy.cancel(new + old), 0) for new, old in zip(following, (_SIDE, _KEPT), strict=True))
    )


def _at_cycle(bound: sympy.Expr) -> sympy.Expr:
    """The bound as T → ∞, in a = 1/(1 + y)."""
    values = {gap: 0, L: _SIGMA / _SIDE, sigma_squared: _SIGMA**2, delta: 1 - ROOT**2}
    return sympy.simplify(bound.subs(values).subs(ROOT, INVERSE_ODDS))


def _attained(bound: sympy.Expr) -> sympy.Expr:
    value = _at_cycle(bound)
    squares = {root: sympy.sqrt(root.base.factor()) for root in value.atoms(sympy.Pow) if root.exp == sympy.S.Half}
    return sympy.cancel(value.xreplace(squares) - _SIGMA**2)


def _attained_at_zero(bound: sympy.Expr) -> sympy.Expr:
    return sympy.cancel(_at_cycle(bound)).subs(ODDS, 0) - _SIGMA**2


def _keeps_back() -> sympy.Expr:
    u = sympy.Symbol("u", real=True)
    return sympy.expand((u - (1 + ROOT) * u) ** 2 - at_root(1 - delta) * u**2)


def _stationary_moments(bound: sympy.Expr) -> sympy.Expr:
    """E x², E xe, E e² from x⁺ = x − (1 + a)u, e⁺ = −au, u = e + ηg, with E[g | x, e] = Lx and E g² = σ²."""
    x, e, g = sympy.symbols("x e g", real=True)
    xx, xe, ee = sympy.symbols("xx xe ee", real=True)
    u = e + eta * g
    moments = {x**2: xx, x * e: xe, e**2: ee, g**2: sigma_squared, g * x: L * xx, g * e: L * xe}

    def mean(product: sympy.Expr) -> sympy.Expr:
        terms = sympy.Poly(sympy.expand(product), x, e, g).terms()
        return sympy.Add(*(factor * moments[x**a * e**b * g**c] for (a, b, c), factor in terms))

    following = (x - (1 + ROOT) * u, -ROOT * u)
    equations = [
        mean(following[0] ** 2) - xx,
        mean(following[0] * following[1]) - xe,
        mean(following[1] ** 2) - ee,
    ]
    solution = sympy.solve(equations, [xx, xe, ee], dict=True)[0]
    return sympy.simplify(L**2 * solution[xx] - at_root(bound))


def _half_is_too_little(bound: sympy.Expr) -> sympy.Basic:
    """The excess over σ² at a = 1/16, where η is 1/(1 + left) of its limit: a quotient of positive polynomials."""
    left = sympy.Symbol("left", positive=True)
    excess = (bound - (_NOISE / 2 + L**2 * RESIDUAL_BOUND)).subs(delta, 1 - sympy.Rational(1, 16) ** 2)
    step = sympy.solve(sympy.Eq(_STEP_SHARE.subs(delta, 1 - sympy.Rational(1, 16) ** 2), 1 / (1 + left)), eta)[0]
    parts = sympy.fraction(sympy.cancel((excess / sigma_squared).subs(eta, step)))
    return sympy.sympify(all(sympy.expand(part).is_positive is True for part in parts))


def _lyapunov_square() -> sympy.Expr:
    """⟨∇f(x̃), ∇f(x)⟩ ≥ q² − Lpq and ‖e + η∇f‖² ≤ (p + ηq)² by Cauchy and Schwarz."""
    weight = L / (2 * ROOT)
    change = -eta * (_Q**2 - L * _P * _Q) + L * eta**2 * (_Q**2 + variance) / 2
    change += weight * (ROOT**2 * ((_P + eta * _Q) ** 2 + eta**2 * variance) - _P**2)
    claimed = -eta * (1 - at_root(_STEP_SHARE)) * _Q**2 + eta**2 * L * variance * (1 + ROOT) / 2
    return sympy.cancel(claimed - change - _SQUARE_FACTOR * ((1 - ROOT) * _P - ROOT * eta * _Q) ** 2)


def _lyapunov_summed(bound: sympy.Expr) -> sympy.Basic:
    mean, end = sympy.Symbol("mean"), sympy.Symbol("f(x_T)-f*", nonnegative=True)
    per_step = eta**2 * L * variance * (1 + ROOT) / 2
    solution = sympy.solve(sympy.Eq(T * eta * (1 - at_root(_STEP_SHARE)) * mean, gap - end + T * per_step), mean)[0]
    reached = sympy.cancel(solution.subs(end, 0) - at_root(bound))
    # The end only lowers the mean: its factor is −1/(ηT(1 − share)), and share < 1 by the domain.
    slope = sympy.cancel(sympy.diff(solution, end) * (1 - at_root(_STEP_SHARE)))
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(slope.is_negative is True))


def _uncompressed_descent() -> sympy.Expr:
    fall = eta * (1 - _STEP_SHARE.subs(delta, 1)) * _Q**2 - eta**2 * L * variance / 2
    return sympy.expand(eta * _Q**2 - L * eta**2 * (_Q**2 + variance) / 2 - fall)


def _limit() -> sympy.Basic:
    step = 2 * (1 - ROOT) / (L * (1 + ROOT))
    update = sympy.Matrix([[1 - (1 + ROOT) * eta * L, -(1 + ROOT)], [-ROOT * eta * L, -ROOT]])
    at_limit = sympy.cancel((update + sympy.eye(2)).det().subs(eta, step))
    return sympy.And(sympy.Eq(at_limit, 0), sympy.Eq(sympy.simplify(at_root(_STEP_SHARE).subs(eta, step)), 1))


STATEMENTS = by_label(
    __name__, nonconvex_rate, nonconvex_rate_minkowski, stationary_gradient, descent_without_bounded_gradients
)
"""The statements of this file."""
