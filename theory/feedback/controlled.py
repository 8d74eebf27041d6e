"""What does EControl gain by feeding a share of its residual back? The speed-up of n workers, and no heterogeneity.

u_i = αe_i + g_i − h_i is compressed, h_i⁺ = h_i + C_i(u_i) is what x moves against, and e_i⁺ = e_i + g_i − h_i⁺ is kept
of all gradients: so x − η mean e_i moves by −η mean g_i, as for error feedback, while h_i follows the gradient, as in
EF21. Algorithm: Gao, Islamov and Stich 2024; Lyapunov function and constants, which are not sharp: ours.
"""

import sympy

from sparsync.theory.feedback.difference_rates import (
    NOISE,
    SMOOTH_WORKERS,
    mean_noise_step,
    smooth_step,
)
from sparsync.theory.feedback.residual import DELTA_DOMAIN, EACH_KEPT_BACK, jensen_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    control,
    delta,
    estimate_energy,
    eta,
    gap,
    gradient,
    gradient_energy,
    mean_smoothness,
    n,
    next_virtual_iterate,
    variance,
    virtual_iterate,
)

ECONTROL = (
    r"$u_i=\alpha e_i+g_i-h_i$, $h_i^{+}=h_i+C_i(u_i)$, $e_i^{+}=e_i+g_i-h_i^{+}$, "
    r"$x^{+}=x-\frac{\eta}{n}\sum_i h_i^{+}$"
)
_THETA = 1 - sympy.sqrt(1 - delta)
_STEP_DOMAIN = sympy.Le(12 * eta * mean_smoothness, _THETA)

_t = sympy.Symbol("tau", positive=True)
"""τ = 1 − √(1 − δ), in (0, 1]."""
_ODDS, _ROOM = sympy.symbols("y z", nonnegative=True)
"""τ = 1/(1 + y), and what is left of a step size."""
_E, _W, _R, _S, _MOVED = sympy.symbols("e w r xi Delta", real=True)
_CONTROL = _t / 4
"""α."""
_FIRST = 1 - 3 * _t / 4
"""The weight of R in Jensen's inequality for w; the other three have τ/4 each."""


def econtrol_path() -> Statement:
    """x̃⁺ = x̃ − ηg for x̃ = x − η mean e_i, whatever is sent and whatever α is; hence Σ h + e_T = e_0 + Σ g.

    Source: Gao, Islamov and Stich 2024; re-derived.
    """
    bound = virtual_iterate - eta * gradient
    return Statement(
        label="econtrol_path",
        title="EControl loses nothing",
        assumptions=(ECONTROL, r"$\tilde{x}=x-\frac{\eta}{n}\sum_i e_i$, $g$ is the mean of the $g_i$, any $C_i$"),
        relation=sympy.Eq(next_virtual_iterate, bound),
        domain=(),
        source="Gao, Islamov and Stich 2024; re-derived",
        derivation=(
            Step(
                "(x − ηh⁺) − η(e + g − h⁺) = (x − ηe) − ηg, for one worker and for means", lambda: _path(bound), bound
            ),
        ),
    )


def econtrol_rate() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ (5/2)((f(x_0) − f*)/(ηT) + 64η²L²S/(τ³T) + ηLσ₀²/(2n) + 320η²L²σ₀²/τ⁴), τ = 1 − √(1 − δ).

    α = τ/4 and 12ηL̃ ≤ τ. Nothing is assumed of how the functions differ, and noise costs ηLσ₀²/n to first order, as if
    every worker sent everything: EF21 has no speed-up, and error feedback pays for ζ². The constants are not sharp.

    Source: the algorithm and the orders: Gao, Islamov and Stich 2024; Lyapunov function and constants: ours.
    """
    bound = gap / (eta * T) + 64 * (eta * L) ** 2 * estimate_energy / (_THETA**3 * T)
    bound += eta * L * variance / (2 * n) + 320 * (eta * L) ** 2 * variance / _THETA**4
    bound = sympy.Rational(5, 2) * bound
    return Statement(
        label="econtrol_rate",
        title="EControl, bounded variance",
        assumptions=(
            SMOOTH_WORKERS,
            f"{ECONTROL}; at first $e_i=0$ and "
            r"$S=\frac{1}{n}\sum_i\mathbb{E}\,\lVert\nabla f_i(x_0)-h_i\rVert^{2}$",
            Given("control", r"\alpha", "=", _THETA / 4),
            EACH_KEPT_BACK,
            NOISE,
            r"given all before, the $g_i$ are uncorrelated",
        ),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Le(L, mean_smoothness), _STEP_DOMAIN),
        source="algorithm and orders: Gao, Islamov and Stich 2024; constants: ours",
        derivation=(
            smooth_step(),
            jensen_step("w_i = 1/n"),
            mean_noise_step(),
            Step(
                "−GK = (G − K)²/2 − G²/2 − K²/2 for the gradients at x and x̃, ‖G − K‖ ≤ ηL‖mean e_i‖, one coordinate",
                lambda: sympy.expand((_E - _W) ** 2 / 2 - _E**2 / 2 - _W**2 / 2 + _E * _W),
            ),
            Step(
                "R = u − C(u), w = αe + ∇f_i(x) − h: u = w + ξ, e⁺ = (1 − α)e + R, w⁺ = (1 + α)R − α²e − ξ + Δ, and "
                "h⁺ = ∇f_i(x) + αe + ξ − R",
                _recursions,
            ),
            Step("(1 − α)e² + R²/α − ((1 − α)e + R)² = (1 − α)(αe − R)²/α, one coordinate", _kept),
            Step("(1 + α)(1 − τ) ≤ 1 − 3τ/4, so that (1 + α)²R²/(1 − 3τ/4) ≤ (1 − 3τ/4)(w² + σ₀²)", _contracts),
            Step(
                "with the weights 8η²L²/τ of ‖e‖² and 64η²L²/τ³ of ‖w‖²: in the mean change of Φ over η, that of w² is "
                "≤ 0, that of ‖e‖² too, that of q² ≤ −2/5, and that of σ₀² ≤ ηL/(2n) + 320η²L²/τ⁴",
                _change,
            ),
            Step("summed over t: w = ∇f_i(x_0) − h_i at first, Φ_T ≥ f*", lambda: _summed(bound), concludes=bound),
        ),
    )


def _path(bound: sympy.Expr) -> sympy.Expr:
    x, h, g = sympy.symbols("x h g", real=True)
    after = (x - eta * h) - eta * (_E + g - h)
    return sympy.expand(after - bound.subs({virtual_iterate: x - eta * _E, gradient: g}, simultaneous=True))


def _recursions() -> sympy.Basic:
    slope, estimate = sympy.symbols("f h", real=True)
    noisy = slope + _S
    corrected = control * _E + noisy - estimate
    following = estimate + corrected - _R
    kept = _E + noisy - following
    lacking = control * _E + slope - estimate
    after = control * kept + slope + _MOVED - following
    return sympy.And(
        sympy.Eq(sympy.expand(corrected - lacking - _S), 0),
        sympy.Eq(sympy.expand(kept - (1 - control) * _E - _R), 0),
        sympy.Eq(sympy.expand(after - ((1 + control) * _R - control**2 * _E - _S + _MOVED)), 0),
        sympy.Eq(sympy.expand(following - (slope + control * _E + _S - _R)), 0),
    )


def _kept() -> sympy.Expr:
    left = (1 - control) * _E**2 + _R**2 / control - ((1 - control) * _E + _R) ** 2
    return sympy.cancel(left - (1 - control) * (control * _E - _R) ** 2 / control)


def _at_odds(expression: sympy.Expr) -> sympy.Basic:
    """True iff it is ≥ 0 for 0 < τ ≤ 1, L ≤ L̃ and 12ηL̃ ≤ τ: in y, z and a share of L̃ nothing is subtracted."""
    share, size = sympy.symbols("l c", nonnegative=True)
    values = {
        L: 1 / (1 + share),
        mean_smoothness: sympy.Integer(1),
        eta: _t / (12 * (1 + _ROOM)),
        n: 1 + size,
    }
    # No common factor is looked for: signs show without.
    parts = sympy.fraction(sympy.together(expression.subs(values, simultaneous=True).subs(_t, 1 / (1 + _ODDS))))
    return sympy.sympify(all(sympy.expand(part).is_nonnegative is True for part in parts))


def _contracts() -> sympy.Basic:
    return sympy.And(_at_odds(_FIRST - (1 + _CONTROL) * (1 - _t)), sympy.Eq(sympy.expand(_FIRST + 3 * _t / 4), 1))


def _change() -> sympy.Basic:
    """Coefficients of q², ‖e‖², w² and σ₀²; E‖R‖² ≤ (1 − τ)²(w² + σ₀²), E‖mean h⁺‖² ≤ 4(q² + α²‖e‖² + σ₀² + E‖R‖²)."""
    slopes, errors, lacks = sympy.symbols("Q E W", nonnegative=True)
    kept = (1 - _t) ** 2 * (lacks + variance)
    moves = 4 * (eta * mean_smoothness) ** 2 * (slopes + _CONTROL**2 * errors + variance + kept)
    weight = 8 * (eta * L) ** 2 / _t
    other = 8 * weight / _t**2
    change = -slopes / 2 + (eta * L) ** 2 * errors / 2 + eta * L * (slopes + variance / n) / 2
    change += weight * ((1 - _CONTROL) * errors + kept / _CONTROL - errors)
    rest = _CONTROL**4 * errors + variance + moves
    change += other * (_FIRST * (lacks + variance) + rest / (_t / 4) - lacks)
    terms = sympy.Poly(sympy.expand(change), slopes, errors, lacks, variance)
    at_slopes, at_errors, at_lacks = (terms.coeff_monomial(term) for term in (slopes, errors, lacks))
    noise = eta * L / (2 * n) + 320 * (eta * L) ** 2 / _t**4
    return sympy.And(
        _at_odds(-sympy.Rational(2, 5) - at_slopes),
        _at_odds(-at_errors),
        _at_odds(-at_lacks),
        _at_odds(noise - terms.coeff_monomial(variance)),
    )


def _summed(bound: sympy.Expr) -> sympy.Basic:
    mean, end = sympy.Symbol("mean"), sympy.Symbol("f(x_T)-f*", nonnegative=True)
    start = gap + eta * 64 * (eta * L) ** 2 * estimate_energy / _t**3
    noise = eta * L / (2 * n) + 320 * (eta * L) ** 2 / _t**4
    solution = sympy.solve(sympy.Eq(2 * T * eta * mean / 5, start - end + T * eta * noise * variance), mean)[0]
    reached = sympy.cancel(solution.subs(end, 0) - bound.subs(_THETA, _t))
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(sympy.cancel(sympy.diff(solution, end)).is_negative is True))


STATEMENTS = by_label(__name__, econtrol_path, econtrol_rate)
"""The statements of this file."""
