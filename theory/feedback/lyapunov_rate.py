"""How small does error feedback of one worker make the gradient, if the residual is charged with what drives it?

`nonconvex_rate_minkowski` takes every residual to be as large as any can be. But E‖e + ηg‖² holds the product ‖e‖‖∇f‖
and not ‖e‖σ, so that small gradients leave small residuals. The Lyapunov function f(x − e) + ωL‖e‖² of
`worker_rates.py` shows it, and where the second moment is bounded its best weight has a closed form. Ours.
"""

import sympy

from sparsync.theory.feedback.rates import SMOOTH, descent_step, nonconvex_rate_minkowski
from sparsync.theory.feedback.residual import CONTRACTION, DELTA_DOMAIN, INVERSE_ODDS, ROOT, at_root
from sparsync.theory.feedback.worker_rates import descent_of_workers
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
    n,
    residual_weight,
    sigma_squared,
    variance,
)

_START = gap / (eta * T)
_NOISE = eta * L * sigma_squared
_COST = eta * L * (1 - delta) / delta
"""c: below 1/2 the rate is finite."""
STEP_SHARE = eta * L * (1 + 2 * residual_weight * (1 - delta)) ** 2 / (4 * residual_weight * delta)
"""h: η over the largest step size for which the Lyapunov function of weight ω descends."""
WEIGHTED_NUMERATOR = _START + _NOISE / 2 + residual_weight * (1 - delta) * _NOISE
WEIGHTED_RATE = WEIGHTED_NUMERATOR / (1 - STEP_SHARE)
"""The bound of each weight ω with h < 1."""
_LARGEST_STEP = 2 * (1 - ROOT) / (L * (1 + ROOT))
"""The step size from which on error feedback need not descend, as `descent_without_bounded_gradients` shows."""

_E, _G = sympy.symbols("e G", real=True)
_P, _Q = sympy.symbols("p q", nonnegative=True)
_M_ROOT, _R_ROOT = sympy.symbols("sqrt_M r", positive=True)
_ENERGY = (_R_ROOT**2 / (1 - delta) - (1 - delta) * _M_ROOT**2) / delta
"""σ² by r² = (1 − δ)((1 − δ)M + δσ²)."""


def nonconvex_rate_lyapunov() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ (N/2 + (1 − c)F + √(c²F² + cN(F + N/2)))/(1 − 2c), F = (f(x_0) − f*)/(ηT), N = ηLσ².

    Here c = ηL(1 − δ)/δ < 1/2. It is the smallest bound that a weight ω of the residual gives; for each weight
    `descent_of_workers` at n = 1, ζ = 0, σ₀² = σ² is larger. Where `nonconvex_rate_minkowski` is below σ² and δ < 1,
    this is smaller; where it is σ², so is this, and the same runs come as near to it; beyond σ² neither says anything.
    Without its start it is N/(2(1 − √(2c))): for δ = 1/1000 and a quarter of the largest step, 2(1 − a)/(L(1 + a)),
    a 500th of `nonconvex_rate_minkowski`. There `descent_of_workers` at ω = 1/6 is less than 1/5000 larger, so what is
    new is the closed form, and that it holds up to the largest step.

    Source: ours.
    """
    root = sympy.sqrt(_COST**2 * _START**2 + _COST * _NOISE * (_START + _NOISE / 2))
    bound = (_NOISE / 2 + (1 - _COST) * _START + root) / (1 - 2 * _COST)
    return Statement(
        label="nonconvex_rate_lyapunov",
        title="smooth functions, bounded second moments, one worker, best Lyapunov function",
        assumptions=(
            SMOOTH,
            *CONTRACTION,
            "one worker",
        ),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Lt(2 * eta * L * (1 - delta), delta)),
        source="ours",
        derivation=(*_proof(bound), *_comparisons(bound)),
    )


def _proof(bound: sympy.Expr) -> tuple[Step, ...]:
    """A Lyapunov function for every weight, and its best weight."""
    return (
        descent_step(),
        Step("E(e + ηg)² = e² + 2ηeG + η²E g², one coordinate: g has the mean G = ∇f(x)", _second_moment),
        Step(
            "Φ = f(x̃) + ωL‖e‖², x̃ = x − e, p = ‖e‖, q = ‖G‖: its mean change, without the terms in σ², is at most "
            "−η(q² − Lpq) + ωL((1 − δ)(p² + 2ηpq) − p²), which is "
            "−η(1 − h)q² − ωLδ(p − ηq(1 + 2ω(1 − δ))/(2ωδ))², h = ηL(1 + 2ω(1 − δ))²/(4ωδ)",
            _drift,
            argued="the products of ∇f(x) with ∇f(x̃) and e, by Cauchy and Schwarz",
        ),
        Step(
            "summed over t, Φ_0 = f(x_0), Φ_T ≥ f*: (1 − h)M ≤ F + N/2 + ω(1 − δ)N for every ω > 0, where M is the "
            "mean of E‖∇f(x_t)‖², F = (f(x_0) − f*)/(ηT), N = ηLσ²",
            _summed,
        ),
        Step(
            "c = ηL(1 − δ)/δ, r² = (1 − δ)((1 − δ)M + δσ²): hM + ω(1 − δ)N is cM + √(cM(cM + N)) and the square "
            "ηL(√M − 2ωr)²/(4ωδ)",
            _best_weight,
        ),
        Step(
            "the bound solves M = F + N/2 + cM + √(cM(cM + N)): with ω = √M/(2r) of this M, for which "
            "(1 − h)M = F + N/2 + ω(1 − δ)N makes h < 1, it is proved, and no weight gives less",
            lambda: _solved(bound),
            concludes=bound,
        ),
    )


def _comparisons(bound: sympy.Expr) -> tuple[Step, ...]:
    """Where the bound is attained, and that it is below those of the other files."""
    return (
        Step("for δ = 1 it is F + N/2, which e = 0 leaves of the descent lemma", lambda: _uncompressed(bound)),
        Step("without its start it is N/(2(1 − √(2c)))", lambda: _without_start(bound)),
        Step(
            "that is σ² at ηL = 2(1 − a)/(1 + a), a = √(1 − δ): f' = Lx cut off at ±σ comes as near as one likes",
            lambda: _attained(bound),
        ),
        Step(
            "`nonconvex_rate_minkowski` is μ²σ² = F + N/2 + √B μσ, √B = ηLσa/(1 − a); it is larger for μ < 1, as "
            "(√B μσ − cM)² − cM(cM + N) at M = μ²σ² is 2a(1 + a)(1 − μ)(ηLaμσ²/δ)²",
            _below_minkowski,
        ),
        Step("`descent_of_workers` has another h, larger by ηL(1 + 2ω(1 − δ))/2", _below_workers),
        Step(
            "at δ = 1/1000, ηL = (1 − a)/(2(1 + a)) and without start: `nonconvex_rate_minkowski` is 500 to 501 "
            "times this, and `descent_of_workers` at ω = 1/6 less than 1/5000 more than this",
            lambda: _example(bound),
        ),
    )


def _second_moment() -> sympy.Expr:
    deviation, noise_energy = sympy.Symbol("xi", real=True), sympy.Symbol("noise_energy", nonnegative=True)
    square = sympy.Poly(sympy.expand((_E + eta * (_G + deviation)) ** 2), deviation)
    moments = {(0,): sympy.Integer(1), (1,): sympy.Integer(0), (2,): noise_energy}
    mean = sympy.Add(*(factor * moments[power] for power, factor in square.terms()))
    return sympy.expand(mean - (_E**2 + 2 * eta * _E * _G + eta**2 * (_G**2 + noise_energy)))


def _drift() -> sympy.Expr:
    """⟨∇f(x̃), ∇f(x)⟩ ≥ q² − Lpq and ⟨e, ∇f(x)⟩ ≤ pq by Cauchy and Schwarz."""
    change = -eta * (_Q**2 - L * _P * _Q)
    change += residual_weight * L * ((1 - delta) * (_P**2 + 2 * eta * _P * _Q) - _P**2)
    square = (_P - eta * _Q * (1 + 2 * residual_weight * (1 - delta)) / (2 * residual_weight * delta)) ** 2
    return sympy.cancel(change + eta * (1 - STEP_SHARE) * _Q**2 + residual_weight * L * delta * square)


def _summed() -> sympy.Basic:
    """What the inequality leaves to the right of (1 − h)M, the end of the run included."""
    end = sympy.Symbol("f(x_T)-f*", nonnegative=True)
    per_step = L * eta**2 * sigma_squared / 2 + residual_weight * L * (1 - delta) * eta**2 * sigma_squared
    right = sympy.expand((gap - end + T * per_step) / (T * eta))
    reached = sympy.cancel(right.subs(end, 0) - WEIGHTED_NUMERATOR)
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(sympy.diff(right, end).is_negative is True))


def _best_weight() -> sympy.Basic:
    """In √M and r, with σ² put in from them: √(cM(cM + N)) is ηL√M r/δ."""
    energy = _M_ROOT**2
    product = eta * L * _M_ROOT * _R_ROOT / delta
    noise = _NOISE.subs(sigma_squared, _ENERGY)
    root = sympy.cancel(product**2 - _COST * energy * (_COST * energy + noise))
    square = eta * L * (_M_ROOT - 2 * residual_weight * _R_ROOT) ** 2 / (4 * residual_weight * delta)
    left = STEP_SHARE * energy + residual_weight * (1 - delta) * noise
    return sympy.And(sympy.Eq(root, 0), sympy.Eq(sympy.cancel(left - _COST * energy - product - square), 0))


def _solved(bound: sympy.Expr) -> sympy.Basic:
    """The quadratic has two roots; M(1 − c) − F − N/2, which is to be a square root, is positive at the larger."""
    start, noise, root, above = sympy.symbols("F N root y", positive=True)
    cost = 1 / (2 + above)
    square = cost**2 * start**2 + cost * noise * (start + noise / 2)
    energy = (noise / 2 + (1 - cost) * start + root) / (1 - 2 * cost)
    product = sympy.cancel(energy * (1 - cost) - start - noise / 2)
    quadratic = sympy.fraction(sympy.cancel(product**2 - cost * energy * (cost * energy + noise)))[0]
    values = {start: _START, noise: _NOISE, above: 1 / _COST - 2}
    stated = energy.subs(root, sympy.sqrt(square)).subs(values, simultaneous=True)
    parts = sympy.fraction(product)
    return sympy.And(
        sympy.Eq(sympy.rem(quadratic, sympy.fraction(sympy.cancel(root**2 - square))[0], root), 0),
        sympy.sympify(all(sympy.expand(part).is_positive is True for part in parts)),
        sympy.Eq(sympy.simplify(stated - bound), 0),
    )


def _uncompressed(bound: sympy.Expr) -> sympy.Expr:
    return bound.subs(delta, 1) - _START - _NOISE / 2


def _without_start(bound: sympy.Expr) -> sympy.Expr:
    """In z = √(2c)."""
    z = sympy.Symbol("z", positive=True)
    value = bound.subs({gap: 0, delta: 2 * eta * L / (2 * eta * L + z**2)}, simultaneous=True)
    return sympy.simplify(value - _NOISE / (2 * (1 - z)))


def _attained(bound: sympy.Expr) -> sympy.Expr:
    value = bound.subs(gap, 0).subs(eta, _LARGEST_STEP).subs(delta, 1 - ROOT**2)
    return sympy.simplify(value.subs(ROOT, INVERSE_ODDS) - sigma_squared)


def _below_minkowski() -> sympy.Basic:
    """Its quadratic, and what is left of it where the same M is put into that of the bound."""
    share = sympy.Symbol("mu", positive=True)
    residual = at_root(eta * L * sympy.sqrt(sigma_squared) * sympy.sqrt(1 - delta) / (1 - sympy.sqrt(1 - delta)))
    older = at_root(nonconvex_rate_minkowski().bound)
    quadratic = sympy.expand(sympy.simplify((older - _START - _NOISE / 2) ** 2 - residual**2 * older))
    cost, energy = at_root(_COST), share**2 * sigma_squared
    product = residual * share * sympy.sqrt(sigma_squared) - cost * energy
    unit = at_root(eta * L * ROOT * share * sigma_squared / delta)
    claimed = 2 * ROOT * (1 + ROOT) * (1 - share) * unit**2
    left = sympy.cancel(product**2 - cost * energy * (cost * energy + _NOISE) - claimed)
    return sympy.And(sympy.Eq(sympy.simplify(quadratic), 0), sympy.Eq(left, 0))


def _below_workers() -> sympy.Expr:
    single = descent_of_workers().bound.subs({n: 1, dissimilarity: 0, variance: sigma_squared})
    share = 1 - WEIGHTED_NUMERATOR / single
    return sympy.cancel(share - STEP_SHARE - eta * L * (1 + 2 * residual_weight * (1 - delta)) / 2)


def _example(bound: sympy.Expr) -> sympy.Basic:
    values = {delta: sympy.Rational(1, 1000), gap: 0, sigma_squared: 1, L: 1, n: 1, dissimilarity: 0, variance: 1}
    step = (_LARGEST_STEP / 4).subs({L: 1, ROOT: sympy.sqrt(1 - values[delta])})
    older, weighted, best = (
        rate.subs(eta, step).subs(values).subs(residual_weight, sympy.Rational(1, 6))
        for rate in (nonconvex_rate_minkowski().bound, descent_of_workers().bound, bound)
    )
    return sympy.And(500 * best < older, older < 501 * best, 5000 * weighted < 5001 * best)


STATEMENTS = by_label(__name__, nonconvex_rate_lyapunov)
"""The statements of this file."""
