"""What changes where error feedback is used with momentum, after the workers' updates are added up or before they are
compressed?

After: m⁺ = γm + mean C_i(u_i), x⁺ = x − m⁺. Before: each worker compresses e_i + ηm_i, m_i⁺ = γm_i + g_i, as deep
gradient compression does without masking. A virtual iterate z exists for both, and moves by −Hg, H = η/(1 − γ). It is
as far from x for both; but momentum before compression makes the residual itself 1/(1 − γ) times as large. Ours.
"""

from collections.abc import Callable

import sympy

from sparsync.theory.feedback.rates import SMOOTH, descent_step
from sparsync.theory.feedback.residual import (
    CONTRACTION,
    DELTA_DOMAIN,
    INVERSE_ODDS,
    RESIDUAL_MINKOWSKI,
    ROOT,
    jensen_step,
    minkowski_steps,
)
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    beta,
    delta,
    eta,
    gap,
    gradient,
    gradient_energy,
    lag_energy,
    next_virtual_iterate,
    residual_energy,
    sigma_squared,
    variance,
    virtual_iterate,
)

AFTER = (
    r"$u_i=e_i+\eta g_i$, $m^{+}=\gamma m+\frac{1}{n}\sum_i C_i(u_i)$, $x^{+}=x-m^{+}$, $e_i^{+}=u_i-C_i(u_i)$, "
    r"$z=x-(\gamma m+\frac{1}{n}\sum_i e_i)/(1-\gamma)$, at first $e_i=m=0$"
)
BEFORE = (
    r"$m_i^{+}=\gamma m_i+g_i$, $u_i=e_i+\eta m_i^{+}$, $x^{+}=x-\frac{1}{n}\sum_i C_i(u_i)$, $e_i^{+}=u_i-C_i(u_i)$, "
    r"$z=x-\frac{1}{n}\sum_i(e_i+\gamma\eta m_i/(1-\gamma))$, at first $e_i=m_i=0$"
)
_MEANS = r"$g$ is the mean of the $g_i$"
_CONTRACTS, _BOUNDED = CONTRACTION[1:]
MOMENTUM_DOMAIN = (*DELTA_DOMAIN, sympy.Lt(beta, 1))
"""0 < δ ≤ 1 and 0 ≤ γ < 1; the lower ends come with the symbols."""

_A = sympy.sqrt(1 - delta)
_REACH = eta / (1 - beta)
"""H: what a gradient moves x by in the end."""
_LAG_ROOT = eta * sympy.sqrt(sigma_squared) * (_A / ((1 - _A) * (1 - beta)) + beta / (1 - beta) ** 2)

_M, _E, _G, _U, _C, _Z = sympy.symbols("m e g u c z", real=True)
_SIGMA = sympy.Symbol("s", nonnegative=True)
_SLACK = sympy.Symbol("slack", nonnegative=True)
_SHARE = sympy.Symbol("share", positive=True)
"""Of momentum: γ = share/(1 + share)."""


def momentum_after_path() -> Statement:
    """z⁺ = z − ηg/(1 − γ) for z = x − (γm + mean e_i)/(1 − γ): momentum on the sum of what was sent.

    Source: ours.
    """
    return _path("momentum_after_path", "momentum after aggregation loses nothing", AFTER, _after_path)


def momentum_before_path() -> Statement:
    """z⁺ = z − ηg/(1 − γ) for z = x − mean(e_i + γηm_i/(1 − γ)): momentum in each worker before compression.

    Source: ours.
    """
    return _path("momentum_before_path", "momentum before compression loses nothing", BEFORE, _before_path)


def momentum_residual() -> Statement:
    """E‖e_t‖² ≤ η²σ²(1 − δ)/((1 − √(1 − δ))²(1 − γ)²) for momentum before compression, and no less for a constant g.

    After aggregation it is the bound of `residual_minkowski`, which momentum does not change: 1/(1 − γ)² times less.

    Source: ours.
    """
    bound = RESIDUAL_MINKOWSKI / (1 - beta) ** 2
    return Statement(
        label="momentum_residual",
        title="energy kept back with momentum before compression, sharp",
        assumptions=(BEFORE, _CONTRACTS, _BOUNDED),
        relation=sympy.Le(residual_energy, bound, evaluate=False),
        domain=MOMENTUM_DOMAIN,
        source="ours",
        derivation=(
            Step("‖m⁺‖ ≤ γ‖m‖ + σ keeps ‖m‖ at or below σ/(1 − γ)", _momentum_is_kept),
            *(
                step
                for step in minkowski_steps()
                if step.concludes is None and "g constant" not in step.claim and "4(1 − δ)" not in step.claim
            ),
            Step("with E‖m‖² ≤ σ²/(1 − γ)² for E‖g‖² ≤ σ²", lambda: _pushed(bound), concludes=bound),
            Step(
                "g constant, C(u) = (1 − a)u: m and e tend to σ/(1 − γ) and aησ/((1 − a)(1 − γ))", lambda: _rest(bound)
            ),
        ),
    )


def momentum_noise_residual() -> Statement:
    """E e² = η²σ₀²(1 − δ)(1 + aγ)/(δ(1 − aγ)(1 − γ²)), a = √(1 − δ), for pure noise and C(u) = (1 − a)u, at rest.

    Without momentum before compression it is η²σ₀²(1 − δ)/δ: momentum makes it (1 + aγ)/((1 − aγ)(1 − γ²)) times as
    large, which is 1/(1 − γ²) for a = 0 and tends to 1/(1 − γ)² as a → 1, as for a constant gradient.

    Source: ours.
    """
    bound = eta**2 * variance * (1 - delta) * (1 + _A * beta) / (delta * (1 - _A * beta) * (1 - beta**2))
    return Statement(
        label="momentum_noise_residual",
        title="energy kept back of pure noise, with momentum before compression",
        assumptions=(
            BEFORE,
            r"one worker, $g_t$ uncorrelated, of mean $0$",
            Given("variance", r"\mathbb{E}\,g_t^{2}", "=", variance),
            Given("kept", r"(u-C(u))/u", "=", _A),
            r"$\mathbb{E}\,m^{2}$, $\mathbb{E}\,me$ and $\mathbb{E}\,e^{2}$ do not change with $t$",
        ),
        relation=sympy.Eq(residual_energy, bound),
        domain=MOMENTUM_DOMAIN,
        source="ours",
        derivation=(
            Step("the moments at rest, solved from the update", lambda: _noise_moments(bound), concludes=bound),
            Step("over its value at γ = 0, as a → 1, it is 1/(1 − γ)²", lambda: _noise_grows(bound)),
        ),
    )


def momentum_lag() -> Statement:
    """E‖x_t − z_t‖² ≤ (Hσ(a/(1 − a) + γ/(1 − γ)))², H = η/(1 − γ), a = √(1 − δ), after and before; sharp for both.

    The residual of momentum after aggregation is smaller, but each part of it that is sent late is then repeated.

    Source: ours.
    """
    bound = _LAG_ROOT**2
    return Statement(
        label="momentum_lag",
        title="how far momentum and compression hold x back, sharp",
        assumptions=(f"either {AFTER}", f"or {BEFORE}", _CONTRACTS, _BOUNDED),
        relation=sympy.Le(lag_energy, bound, evaluate=False),
        domain=MOMENTUM_DOMAIN,
        source="ours",
        derivation=(*_lag_steps(bound, concludes=bound), jensen_step("w_i = 1/n")),
    )


def momentum_rate_after() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ (√B + √(B + 4A))²/4, A = (f(x_0) − f*)/(HT) + HLσ²/2, B = L² times `momentum_lag`.

    H = η/(1 − γ); momentum after aggregation. For γ = 0 it is `nonconvex_rate_minkowski`, which is attained. The part
    of B that is due to γ is the price of a proof by norms: full gradients with momentum descend without it.

    Source: ours.
    """
    return _rate("momentum_rate_after", "smooth functions, momentum after aggregation", AFTER)


def momentum_rate_before() -> Statement:
    """The bound of `momentum_rate_after`, for momentum in each worker before compression.

    With C(u) = (1 − λ)u, λ constant, both orders give the same x_t, because then they are one filter after the other.

    Source: ours.
    """
    return _rate("momentum_rate_before", "smooth functions, momentum before compression", BEFORE)


def _path(label: str, title: str, algorithm: str, move: Callable[[], sympy.Expr]) -> Statement:
    bound = virtual_iterate - eta * gradient / (1 - beta)
    return Statement(
        label=label,
        title=title,
        assumptions=(algorithm, f"{_MEANS}, any $C_i$"),
        relation=sympy.Eq(next_virtual_iterate, bound),
        domain=(sympy.Lt(beta, 1),),
        source="ours",
        derivation=(
            Step(
                "z⁺ − z + ηg/(1 − γ) = 0, whatever is sent; it is linear, so that means over the workers obey it",
                lambda: sympy.cancel(move().subs(gradient, _G) - (bound - virtual_iterate).subs(gradient, _G)),
                concludes=bound,
            ),
        ),
    )


def _after_path() -> sympy.Expr:
    """z⁺ − z, c being sent."""
    kept = _E + eta * _G - _C
    moved = beta * _M + _C
    return (-moved - (beta * moved + kept) / (1 - beta)) + (beta * _M + _E) / (1 - beta)


def _before_path() -> sympy.Expr:
    """z⁺ − z, c being sent."""
    moved = beta * _M + _G
    kept = _E + eta * moved - _C
    return (-_C - kept - beta * eta * moved / (1 - beta)) + _E + beta * eta * _M / (1 - beta)


def _rate(label: str, title: str, algorithm: str) -> Statement:
    lag = L * _LAG_ROOT
    # Written out: what is simplified is shorter so.
    start = gap * (1 - beta) / (eta * T) + eta * L * sigma_squared / (2 * (1 - beta))
    bound = _root_bound(lag, start)
    return Statement(
        label=label,
        title=title,
        assumptions=(algorithm, SMOOTH.replace("x_t,e_t", r"\text{all before}"), _CONTRACTS, _BOUNDED),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=MOMENTUM_DOMAIN,
        source="ours",
        derivation=(
            *_lag_steps(_LAG_ROOT**2),
            jensen_step("w_i = 1/n"),
            descent_step(),
            Step(
                "z moves by −Hg, and ⟨∇f(z), ∇f(x)⟩ ≥ q² − L‖x − z‖q: summed, M ≤ A + √B √M for the mean M of q²",
                lambda: _descends(start),
            ),
            Step(
                "M − √B √M − A is (√M − s)(√M + A/s) for s = (√B + √(B + 4A))/2, so that √M ≤ s",
                _largest_root,
                concludes=bound,
            ),
        ),
    )


def _lag_steps(bound: sympy.Expr, *, concludes: sympy.Expr | None = None) -> tuple[Step, ...]:
    """In norms: s = σ, a = √(1 − δ), and r = aησ/(1 − a) is the largest residual after aggregation."""
    return (
        Step("‖e⁺‖ ≤ a(‖e‖ + ησ) keeps ‖e‖ at or below r = aησ/(1 − a)", _residual_is_kept),
        Step("after: y = γm + e = (1 − γ)(x − z) has y⁺ = γy + γηg + (1 − γ)e⁺", _lag_recursion),
        Step("γ‖y‖ + γησ + (1 − γ)r keeps ‖y‖ at or below γησ/(1 − γ) + r", _lag_is_kept),
        Step("before: ‖m‖ ≤ σ/(1 − γ) and ‖e‖ ≤ r/(1 − γ)", _before_is_kept),
        Step("both give ‖x − z‖ ≤ (ησ/(1 − γ))(a/(1 − a) + γ/(1 − γ))", lambda: _lags(bound), concludes=concludes),
        Step(
            "g constant, C(u) = (1 − a)u: both tend to it, as the maps have the eigenvalues a, γ < 1",
            lambda: _lags_attained(bound),
        ),
    )


def _stays(level: sympy.Expr, step: Callable[[sympy.Expr], sympy.Expr]) -> sympy.Basic:
    """A step that does not decrease in a norm, and has the level for its fixed point, keeps it at or below that."""
    reached = sympy.cancel(step(level) - level)
    rises = sympy.cancel((step(level) - step(level - _SLACK)).subs(_VALUES, simultaneous=True))
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(rises.is_nonnegative is True))


_VALUES = {beta: _SHARE / (1 + _SHARE), ROOT: INVERSE_ODDS}
_RESIDUAL = ROOT * eta * _SIGMA / (1 - ROOT)
_LAG = beta * eta * _SIGMA / (1 - beta) + _RESIDUAL


def _momentum_is_kept() -> sympy.Basic:
    return _stays(_SIGMA / (1 - beta), lambda norm: beta * norm + _SIGMA)


def _residual_is_kept() -> sympy.Basic:
    return _stays(_RESIDUAL, lambda norm: ROOT * (norm + eta * _SIGMA))


def _lag_recursion() -> sympy.Expr:
    kept = _E + eta * _G - _C
    lag, after = beta * _M + _E, beta * (beta * _M + _C) + kept
    return sympy.expand(after - beta * lag - beta * eta * _G - (1 - beta) * kept)


def _lag_is_kept() -> sympy.Basic:
    return _stays(_LAG, lambda norm: beta * norm + beta * eta * _SIGMA + (1 - beta) * _RESIDUAL)


def _before_is_kept() -> sympy.Basic:
    kept = _stays(_RESIDUAL / (1 - beta), lambda norm: ROOT * (norm + eta * _SIGMA / (1 - beta)))
    return sympy.And(_momentum_is_kept(), kept)


def _in_root(bound: sympy.Expr) -> sympy.Expr:
    return bound.subs(sigma_squared, _SIGMA**2).subs(_A, ROOT).subs(delta, 1 - ROOT**2)


def _lags(bound: sympy.Expr) -> sympy.Basic:
    after = _LAG / (1 - beta)
    before = _RESIDUAL / (1 - beta) + beta * eta / (1 - beta) * _SIGMA / (1 - beta)
    return sympy.And(*(sympy.Eq(sympy.cancel(lag**2 - _in_root(bound)), 0) for lag in (after, before)))


def _lags_attained(bound: sympy.Expr) -> sympy.Basic:
    """The fixed points of (m, e), and the triangular maps' eigenvalues."""
    sent = (1 - ROOT) * (_E + eta * _SIGMA)
    after = {_M: beta * _M + sent, _E: ROOT * (_E + eta * _SIGMA)}
    moved = beta * _M + _SIGMA
    before = {_M: moved, _E: ROOT * (_E + eta * moved)}
    lags = ((beta * _M + _E) / (1 - beta), _E + beta * eta * _M / (1 - beta))
    held = []
    for update, lag in zip((after, before), lags, strict=True):
        at_rest = sympy.solve([sympy.Eq(new, old) for old, new in update.items()], [_M, _E], dict=True)[0]
        held.append(sympy.Eq(sympy.cancel(lag.subs(at_rest) ** 2 - _in_root(bound)), 0))
        jacobian = sympy.Matrix([[sympy.diff(new, old) for old in (_M, _E)] for new in update.values()])
        held.append(sympy.Eq(sympy.expand((jacobian - _Z * sympy.eye(2)).det() - (beta - _Z) * (ROOT - _Z)), 0))
    return sympy.And(*held)


def _pushed(bound: sympy.Expr) -> sympy.Expr:
    return sympy.simplify(RESIDUAL_MINKOWSKI.subs(sigma_squared, sigma_squared / (1 - beta) ** 2) - bound)


def _rest(bound: sympy.Expr) -> sympy.Basic:
    momentum = _SIGMA / (1 - beta)
    kept = _RESIDUAL / (1 - beta)
    return sympy.And(
        sympy.Eq(sympy.cancel(beta * momentum + _SIGMA - momentum), 0),
        sympy.Eq(sympy.cancel(ROOT * (kept + eta * momentum) - kept), 0),
        sympy.Eq(sympy.cancel(kept**2 - _in_root(bound)), 0),
    )


def _noise_moments(bound: sympy.Expr) -> sympy.Expr:
    """E m², E me and E e² from m⁺ = γm + g, e⁺ = a(e + ηm⁺), E g = 0, E g² = σ₀²."""
    mm, me, ee = sympy.symbols("mm me ee", real=True)
    moments = {_M**2: mm, _M * _E: me, _E**2: ee, _G**2: variance, _G * _M: 0, _G * _E: 0}

    def mean(product: sympy.Expr) -> sympy.Expr:
        terms = sympy.Poly(sympy.expand(product), _M, _E, _G).terms()
        return sympy.Add(*(factor * moments[_M**p * _E**q * _G**r] for (p, q, r), factor in terms))

    moved = beta * _M + _G
    kept = ROOT * (_E + eta * moved)
    equations = [mean(moved**2) - mm, mean(moved * kept) - me, mean(kept**2) - ee]
    solution = sympy.solve(equations, [mm, me, ee], dict=True)[0]
    return sympy.cancel(solution[ee] - _in_root(bound))


def _noise_grows(bound: sympy.Expr) -> sympy.Expr:
    ratio = sympy.cancel(_in_root(bound) / _in_root(bound).subs(beta, 0))
    return sympy.cancel(ratio.subs(ROOT, 1) - 1 / (1 - beta) ** 2)


def _descends(start: sympy.Expr) -> sympy.Expr:
    """gap − HT(M − √B√M) + TH²Lσ²/2 ≥ 0, divided by HT."""
    mean, product = sympy.symbols("M R", nonnegative=True)
    summed = gap - _REACH * T * (mean - product) + T * _REACH**2 * L * sigma_squared / 2
    return sympy.cancel(summed / (_REACH * T) - (start + product - mean))


def _root_bound(remainder: sympy.Expr, start: sympy.Expr) -> sympy.Expr:
    return (remainder + sympy.sqrt(remainder**2 + 4 * start)) ** 2 / 4


def _largest_root() -> sympy.Basic:
    mean_root, remainder, start = sympy.symbols("sqrt_M sqrt_B A", positive=True)
    largest = (remainder + sympy.sqrt(remainder**2 + 4 * start)) / 2
    quadratic = mean_root**2 - remainder * mean_root - start
    # A/s is s − √B, for the root s.
    factored = (mean_root - largest) * (mean_root + largest - remainder)
    return sympy.And(
        sympy.Eq(sympy.expand(quadratic - factored), 0),
        sympy.Eq(sympy.expand(largest**2 - _root_bound(remainder, start)), 0),
        sympy.Eq(sympy.expand(largest * (largest - remainder) - start), 0),
    )


STATEMENTS = by_label(
    __name__,
    momentum_after_path,
    momentum_before_path,
    momentum_residual,
    momentum_noise_residual,
    momentum_lag,
    momentum_rate_after,
    momentum_rate_before,
)
"""The statements of this file."""
