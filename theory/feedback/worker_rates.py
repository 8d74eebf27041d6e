"""What does error feedback cost where n workers keep residuals of their own, and their functions differ?

u_i = e_i + η g_i, x⁺ = x − mean C_i(u_i), e_i⁺ = u_i − C_i(u_i), f = mean f_i. The Lyapunov function is
f(x − mean e_i) + ωL mean ‖e_i‖², whose weight ω is free. The residuals are split into their mean, which pays for the
gradient as for one worker, and the deviations from it, which pay for the heterogeneity ζ². Ours.
"""

import sympy

from sparsync.theory.feedback.rates import VARIANCE_RATE, descent_step, noise_step
from sparsync.theory.feedback.residual import DELTA_DOMAIN, EACH_KEPT_BACK, ROOT, at_root, below_one
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    dissimilarity,
    eta,
    gap,
    gradient_energy,
    i,
    n,
    residual_weight,
    variance,
)

WORKERS = (
    Given("dissimilarity", r"\frac{1}{n}\sum_i\lVert\nabla f_i(x_t)-\nabla f(x_t)\rVert^{2}", "≤", dissimilarity),
    r"$u_i=e_i+\eta g_i$, $x^{+}=x-\frac{1}{n}\sum_i C_i(u_i)$, $e_i^{+}=u_i-C_i(u_i)$, at first $e_i=0$",
    EACH_KEPT_BACK,
    r"given $x$ and all $e_i$, the $g_i$ are uncorrelated, of mean $\nabla f_i(x)$",
    Given("variance", r"\mathbb{E}[\lVert g_i-\nabla f_i(x)\rVert^{2}\mid x,e_1,\dots,e_n]", "≤", variance),
)
"""The algorithm, and what is assumed of the workers' functions, compressors and gradients."""
_START = gap / (eta * T)
_STEP_SHARE = eta * L * (1 - delta / 2 + residual_weight * (1 - delta) + 1 / (4 * residual_weight)) / delta
"""η over the largest step size for which the Lyapunov function descends."""
_NOISE = variance / (2 * n) + residual_weight * (1 - delta) * (variance + dissimilarity / delta)
"""What noise and heterogeneity add to the Lyapunov function per step, over η²L."""

_P, _Q, _R, _ZETA = sympy.symbols("p q r zeta", nonnegative=True)


def descent_of_workers() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ ((f(x_0) − f*)/(ηT) + ηL(σ₀²/(2n) + ω(1 − δ)(σ₀² + ζ²/δ)))/(1 − h) for every ω with h < 1.

    h = (ηL/δ)(1 − δ/2 + ω(1 − δ) + 1/(4ω)). At n = 1, ζ = 0 and ω = 1/(2√(1 − δ)), which allows the largest step, it is
    `descent_without_bounded_gradients`. At η = √(n/T) and ω = √η it is (f(x_0) − f* + Lσ₀²/2)/√(nT) to first order, as
    if every worker sent everything: neither compression nor heterogeneity costs the speed-up.

    Source: ours.
    """
    bound = (_START + eta * L * _NOISE) / (1 - _STEP_SHARE)
    return Statement(
        label="descent_of_workers",
        title="n workers, bounded variance and heterogeneity",
        assumptions=(
            r"$f=\frac{1}{n}\sum_i f_i$, $\nabla f$ is $L$-Lipschitz, $f\ge f^{*}$",
            *WORKERS,
            r"$\omega$ is any positive number",
        ),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Lt(_STEP_SHARE, 1)),
        source="ours",
        derivation=(
            descent_step(),
            noise_step(),
            Step("one more worker adds σ₀² to the variance of the sum, so that of the mean is σ₀²/n", _noise_of_mean),
            Step("mean y_i² = (mean y_i)² + mean (y_i − mean y_i)², for residuals, gradients and their sums", _split),
            Step(
                "p = ‖mean e_i‖, q = ‖∇f(x)‖: −η(q² − Lpq) + Lη²q²/2 + ωL((1 − δ)(p + ηq)² − p²) is "
                "−η(1 − h)q² − ωLδ(p − ηq(1 + 2ω(1 − δ))/(2ωδ))²",
                _mean_part,
                argued="that no more is left of the products of ∇f(x) with ∇f(x̃) and e: Cauchy and Schwarz",
            ),
            Step(
                "r² = mean ‖e_i − mean e_i‖²: (1 − δ)(r + ηζ)² − r² is (1 − δ)η²ζ²/δ − δ(r − (1 − δ)ηζ/δ)²",
                _deviation_part,
            ),
            Step("summed over t: Φ_0 = f(x_0), Φ_T ≥ f*", lambda: _summed(bound), concludes=bound),
            Step("h is smallest at ω = 1/(2a): otherwise larger by (ηL/δ)(2aω − 1)²/(4ω)", _best_weight),
            Step("at n = 1, ζ = 0 and that ω it is the rate of one worker", lambda: _one_worker(bound)),
            Step("at η = √(n/T) and ω = √η, √(nT) times it tends to f(x_0) − f* + Lσ₀²/2", lambda: _speed_up(bound)),
        ),
    )


def _noise_of_mean() -> sympy.Basic:
    """E(S + ξ)² for a sum S of i noises and one more; then the variance of n, over n²."""
    total, noise = sympy.symbols("S xi", real=True)
    moments = {(0, 0): sympy.Integer(1), (1, 0): sympy.Integer(0), (0, 1): sympy.Integer(0), (1, 1): sympy.Integer(0)}
    moments |= {(2, 0): i * variance, (0, 2): variance}
    terms = sympy.Poly((total + noise) ** 2, total, noise).terms()
    following = sympy.Add(*(factor * moments[powers] for powers, factor in terms))
    recursion = sympy.expand(following - (i + 1) * variance)
    mean = sympy.cancel((i * variance).subs(i, n) / n**2 - variance / n)
    return sympy.And(sympy.Eq(recursion, 0), sympy.Eq(mean, 0))


def _split() -> sympy.Expr:
    y, mean = sympy.IndexedBase("y", real=True), sympy.Symbol("mean", real=True)
    deviations = sympy.Sum((y[i] - mean) ** 2, (i, 1, n)).expand().doit()
    factored = sympy.Add(*(term.factor() for term in sympy.Add.make_args(deviations))) / n
    total, energy = (sympy.Sum(y[i] ** power, (i, 1, n)) for power in (1, 2))
    return sympy.expand(energy / n - (mean**2 + factored).subs(mean, total / n))


def _mean_part() -> sympy.Expr:
    """⟨∇f(x̃), ∇f(x)⟩ ≥ q² − Lpq and ‖mean e_i + η∇f‖² ≤ (p + ηq)² by Cauchy and Schwarz."""
    kept = residual_weight * (1 - delta)
    change = -eta * (_Q**2 - L * _P * _Q) + L * eta**2 * _Q**2 / 2
    change += L * (kept * (_P + eta * _Q) ** 2 - residual_weight * _P**2)
    square = (_P - eta * _Q * (1 + 2 * kept) / (2 * residual_weight * delta)) ** 2
    return sympy.cancel(change + eta * (1 - _STEP_SHARE) * _Q**2 + residual_weight * L * delta * square)


def _deviation_part() -> sympy.Expr:
    change = (1 - delta) * (_R + eta * _ZETA) ** 2 - _R**2
    largest = (1 - delta) * eta**2 * _ZETA**2 / delta
    return sympy.cancel(change - largest + delta * (_R - (1 - delta) * eta * _ZETA / delta) ** 2)


def _summed(bound: sympy.Expr) -> sympy.Basic:
    mean, end = sympy.Symbol("mean"), sympy.Symbol("f(x_T)-f*", nonnegative=True)
    weighted = residual_weight * L * (1 - delta) * eta**2
    per_step = L * eta**2 * variance / (2 * n) + weighted * variance + weighted * dissimilarity / delta
    solution = sympy.solve(sympy.Eq(T * eta * (1 - _STEP_SHARE) * mean, gap - end + T * per_step), mean)[0]
    reached = sympy.cancel(solution.subs(end, 0) - bound)
    # The end only lowers the mean: its factor is −1/(ηT(1 − h)), and h < 1 by the domain.
    slope = sympy.cancel(sympy.diff(solution, end) * (1 - _STEP_SHARE))
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(slope.is_negative is True))


def _best_weight() -> sympy.Basic:
    share = at_root(_STEP_SHARE)
    excess = share - share.subs(residual_weight, 1 / (2 * ROOT))
    claimed = eta * L * (2 * ROOT * residual_weight - 1) ** 2 / (4 * residual_weight * (1 - ROOT**2))
    positive = below_one(eta * L / (4 * residual_weight * (1 - ROOT**2)))
    return sympy.And(sympy.Eq(sympy.cancel(excess - claimed), 0), positive)


def _one_worker(bound: sympy.Expr) -> sympy.Expr:
    single = bound.subs({n: 1, dissimilarity: 0, residual_weight: 1 / (2 * ROOT)})
    return sympy.cancel(at_root(single) - at_root(VARIANCE_RATE))


def _speed_up(bound: sympy.Expr) -> sympy.Expr:
    """In ω = √η, where T = n/η² and √(nT) = n/η."""
    scaled = sympy.cancel((bound * n / eta).subs(T, n / eta**2).subs(eta, residual_weight**2))
    return sympy.cancel(scaled.subs(residual_weight, 0) - (gap + L * variance / 2))


STATEMENTS = by_label(__name__, descent_of_workers)
"""The statements of this file."""
