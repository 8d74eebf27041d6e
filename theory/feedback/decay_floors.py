"""Is the floor that a decaying memory leaves really there? Three states that it never leaves, though f still slopes.

Where workers differ, what the memory forgets of one need not cancel what it forgets of the others; nor need what it
forgets of noise have the mean zero. For scaling compressors both parts of the floor of `decayed_descent.py` are
attained in full; for Top-k, from no memory and from the first step on, all of the first at β = 0 and at least the share
k/d of it always. For β = 1 there is no floor: nothing is forgotten. Ours.
"""

import sympy

from sparsync.theory.feedback.decayed import DECAY_DOMAIN, inside
from sparsync.theory.feedback.residual import ROOT
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    d,
    delta,
    dissimilarity,
    eta,
    k,
    residual_decay,
    resting_energy,
    slope_share,
    variance,
)

_A = sympy.sqrt(1 - delta)
_LOST = 1 - residual_decay
HETEROGENEITY_FLOOR = _LOST**2 * (1 - delta) * dissimilarity / (delta * (1 - residual_decay**2 * (1 - delta)))
"""The floor of `decayed_descent_of_workers` without noise."""
NOISE_FLOOR = _LOST**2 * (1 - delta) * variance / delta
"""The same without heterogeneity."""
PLUS_SHARE = (1 + _A) * (1 - residual_decay * _A) / (2 * (1 - residual_decay * (1 - delta)))
"""Share of the workers whose slope is +σ."""

_WIDTH = sympy.Symbol("w", positive=True)
_SIGMA = sympy.Symbol("sigma", positive=True)
_P = sympy.Symbol("p", real=True)
_TIME = sympy.Symbol("t", integer=True, nonnegative=True)


def decayed_floor() -> Statement:
    """‖∇f(x)‖² = (1 − β)²(1 − δ)ζ²/(δ(1 − β²(1 − δ))), at rest, for one coordinate and C_i(u) = (1 ∓ √(1 − δ))u.

    All slopes have the same size σ, and ‖∇f(x)‖² = ((1 − β)a/(1 − βa²))²σ². No step size makes it smaller. It is the
    floor of `decayed_descent_of_workers`, so neither can be improved; and of the floor ((1 − β)aσ/(1 − βa))² of
    `local_feedback_rate` it is more than a quarter.

    Source: ours.
    """
    bound = HETEROGENEITY_FLOOR
    return Statement(
        label="decayed_floor",
        title="workers that differ, memory that decays: a state that is never left",
        assumptions=(
            r"$u_i=\beta e_i+\eta f_i'(x)$, $x^{+}=x-\frac{1}{n}\sum_i C_i(u_i)$, $e_i^{+}=u_i-C_i(u_i)$; $x$ and all "
            r"$e_i$ do not change",
            Given(
                "plus_share",
                "p",
                "=",
                PLUS_SHARE,
                r"the share {} of the workers has $f_i'(x)=\sigma$ and $C_i(u)=(1-\sqrt{1-\delta})\,u$, the others "
                r"$f_i'(x)=-\sigma$ and $C_i(u)=(1+\sqrt{1-\delta})\,u$",
            ),
            r"$\zeta^{2}=\frac{1}{n}\sum_i(f_i'(x)-f'(x))^{2}$",
        ),
        relation=sympy.Eq(resting_energy, bound),
        domain=(sympy.Le(delta, 1), *DECAY_DOMAIN),
        source="ours",
        derivation=(
            Step("e = λ(βe + ηg) is λ/(1 − βλ) ηg, and (1 − λ)/(1 − βλ) ηg is sent", _at_rest),
            Step("with p of σ, λ = a, and 1 − p of −σ, λ = −a, the mean of what is sent is 0", _nothing_moves),
            Step("0 ≤ p ≤ 1", _is_share),
            Step("f' = (2p − 1)σ = (1 − β)aσ/(1 − βa²), and ζ² = σ² − f'²", lambda: _energy(bound), concludes=bound),
            Step("of ((1 − β)aσ/(1 − βa))² it is more than a quarter: 1 − βa²: 2(1 − βa) is larger", _quarter),
        ),
    )


def decayed_top_k_floor() -> Statement:
    """‖∇f(x)‖² = λ²(1 − β)²((d − k)/k)ζ² for Top-k and two workers, 0 < λ < 1: x never moves, from no memory on.

    f_{1,2} slope by ±ζ/√k in k coordinates and by λ(1 − β)ζ/√k in all others. A decaying memory of the small slope
    grows to less than the large one, so Top-k always sends the k coordinates that cancel. With δ = k/d and λ → 1 it is
    1 − β²(1 − δ) times the floor of `decayed_floor`: at β = 0 all of it.

    Source: ours.
    """
    bound = slope_share**2 * _LOST**2 * (d - k) / k * dissimilarity
    slope = slope_share * _LOST * sympy.sqrt(dissimilarity / k)
    return Statement(
        label="decayed_top_k_floor",
        title="two workers, Top-k, memory that decays: a point that is never left",
        assumptions=(
            r"$u_i=\beta e_i+\eta\nabla f_i(x)$, $x^{+}=x-\frac{1}{2}\sum_i\mathrm{Top}_k(u_i)$, "
            r"$e_i^{+}=u_i-\mathrm{Top}_k(u_i)$, $e_i=0$ at the start",
            Given(
                "slope",
                r"\partial_jf_{1,2}(x)",
                "=",
                slope,
                r"$\partial_jf_{1,2}(x)=\pm\zeta/\sqrt{k}$ for $j\le k$ and {} for $j>k$, as for "
                r"$f_{1,2}=\frac{L}{2}\lVert x\rVert^{2}\pm\zeta\sum_{j\le k}x_j/\sqrt{k}$",
            ),
        ),
        relation=sympy.Eq(resting_energy, bound),
        domain=(sympy.Le(k, d), *DECAY_DOMAIN, sympy.Lt(slope_share, 1)),
        source="ours",
        derivation=(
            Step("a coordinate never sent is at ηs(1 − β^t)/(1 − β) before it is compressed the t-th time", _unsent),
            Step("with s = λ(1 − β)ζ/√k that is less than ηζ/√k by ηζ(1 − λ(1 − β^t))/√k", lambda: _smaller(slope)),
            Step("the k sent are ±ηζ/√k, leave nothing, and cancel in the mean: x stays", _cancel),
            Step("‖∇f(x)‖² is the sum of d − k squares of s", lambda: (d - k) * slope**2 - bound, concludes=bound),
            Step("at λ = 1 it is 1 − β²(1 − δ) times `decayed_floor` at δ = k/d", lambda: _share_of_floor(bound)),
        ),
    )


def decayed_noise_floor() -> Statement:
    """f'(x)² = (1 − β)²((1 − δ)/δ)σ₀² for one worker, noise of two values, and E C(u) = 0: on average x does not move.

    The compressor keeps back aw of u = w and of u = −w. Where f has this slope on a stretch as long as many
    ησ₀√(T/δ), x stays on it with a probability near one for T steps, and (f(x_0) − f*)/(ηT) is of order 1/√T: no rate
    has a smaller term for the noise as T → ∞.

    Source: ours.
    """
    bound = NOISE_FLOOR
    return Statement(
        label="decayed_noise_floor",
        title="one worker, noise, memory that decays: a slope on which nothing moves on average",
        assumptions=(
            r"$u=\beta e+\eta g$, $e^{+}=u-C(u)$, $x^{+}=x-C(u)$; $\mathbb{E}\,g=f'(x)$ and "
            r"$\mathbb{E}\,(g-f'(x))^{2}=\sigma_0^{2}$",
            Given(
                "kept",
                "u-C(u)",
                "=",
                _A * _WIDTH,
                r"$u$ is $w$ or $-w$, {}, and $e$ is the same",
            ),
            r"$\mathbb{E}\,C(u)=0$",
        ),
        relation=sympy.Eq(resting_energy, bound),
        domain=(sympy.Le(delta, 1), *DECAY_DOMAIN),
        source="ours",
        derivation=(
            Step("aw is kept back of ±w: the square is (1 − δ)w²", lambda: (ROOT * _WIDTH) ** 2 - ROOT**2 * _WIDTH**2),
            Step("E C(u) = 0 iff E u = aw: w has the probability (1 + a)/2", _balanced_noise),
            Step("E u = βe + ηf' with e = aw gives f' = (1 − β)aw/η", _mean_slope),
            Step("E u² = w² gives η²σ₀² = (1 − a²)w²", _noise_energy),
            Step("f'² = (1 − β)²a²w²/η² is the bound", lambda: _noise_floor(bound), concludes=bound),
        ),
    )


def _rest(kept: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """Residual and what is sent, over ηg, for C(u) = (1 − λ)u."""
    return kept / (1 - residual_decay * kept), (1 - kept) / (1 - residual_decay * kept)


def _at_rest() -> sympy.Basic:
    kept = sympy.Symbol("lambda", real=True)
    residual, sent = _rest(kept)
    corrected = residual_decay * residual + 1
    differences = (residual - kept * corrected, sent - (1 - kept) * corrected)
    return sympy.And(*(sympy.Eq(sympy.cancel(difference), 0) for difference in differences))


def _share() -> sympy.Expr:
    return PLUS_SHARE.subs(delta, 1 - ROOT**2)


def _nothing_moves() -> sympy.Expr:
    plus, minus = _rest(ROOT)[1], _rest(-ROOT)[1]
    return sympy.cancel(sympy.simplify(_share()) * plus - (1 - sympy.simplify(_share())) * minus)


def _is_share() -> sympy.Basic:
    share = sympy.simplify(_share())
    return sympy.And(inside(share), inside(1 - share))


def _energy(bound: sympy.Expr) -> sympy.Basic:
    slope = (2 * sympy.simplify(_share()) - 1) * _SIGMA
    stated = _LOST * ROOT * _SIGMA / (1 - residual_decay * ROOT**2)
    energy = bound.subs(delta, 1 - ROOT**2).subs(dissimilarity, _SIGMA**2 - slope**2)
    spread = _P * (_SIGMA - (2 * _P - 1) * _SIGMA) ** 2 + (1 - _P) * (_SIGMA + (2 * _P - 1) * _SIGMA) ** 2
    differences = (slope - stated, slope**2 - energy, sympy.expand(spread - _SIGMA**2 * (1 - (2 * _P - 1) ** 2)))
    return sympy.And(*(sympy.Eq(sympy.cancel(difference), 0) for difference in differences))


def _quarter() -> sympy.Basic:
    """The share is ((1 − βa)/(1 − βa²))², and 2(1 − βa) − (1 − βa²) is (1 − β) + β(1 − a)²."""
    room = 2 * (1 - residual_decay * ROOT) - (1 - residual_decay * ROOT**2)
    share = _LOST * ROOT / (1 - residual_decay * ROOT**2) / (_LOST * ROOT / (1 - residual_decay * ROOT))
    same = sympy.cancel(share - (1 - residual_decay * ROOT) / (1 - residual_decay * ROOT**2))
    return sympy.And(inside(room), sympy.Eq(same, 0))


def _unsent() -> sympy.Basic:
    """u_1 = ηs and u_{t+1} = βu_t + ηs."""
    slope = sympy.Symbol("s", positive=True)

    def level(at: sympy.Expr) -> sympy.Expr:
        return eta * slope * (1 - residual_decay**at) / (1 - residual_decay)

    recursion = sympy.simplify(level(_TIME + 1) - residual_decay * level(_TIME) - eta * slope)
    return sympy.And(sympy.Eq(recursion, 0), sympy.Eq(sympy.simplify(level(sympy.Integer(1)) - eta * slope), 0))


def _smaller(slope: sympy.Expr) -> sympy.Basic:
    """The room is positive for λ < 1 and 0 ≤ β^t ≤ 1."""
    large = eta * sympy.sqrt(dissimilarity / k)
    level = eta * slope * (1 - residual_decay**_TIME) / _LOST
    room = sympy.simplify(large - level - large * (1 - slope_share * (1 - residual_decay**_TIME)))
    odds, power = sympy.Symbol("y", positive=True), sympy.Symbol("power", nonnegative=True)
    rest = (1 - slope_share * (1 - power)).subs(slope_share, 1 / (1 + odds))
    return sympy.And(sympy.Eq(room, 0), sympy.sympify(sympy.together(rest).is_positive is True))


def _cancel() -> sympy.Expr:
    large = eta * sympy.sqrt(dissimilarity / k)
    return (large + (-large)) / 2


def _share_of_floor(bound: sympy.Expr) -> sympy.Expr:
    floor = HETEROGENEITY_FLOOR.subs(delta, k / d)
    return sympy.cancel(bound.subs(slope_share, 1) - (1 - residual_decay**2 * (1 - k / d)) * floor)


def _balanced_noise() -> sympy.Basic:
    share = (1 + ROOT) / 2
    mean = sympy.expand(share * _WIDTH - (1 - share) * _WIDTH - ROOT * _WIDTH)
    sent = share * (_WIDTH - ROOT * _WIDTH) + (1 - share) * (-_WIDTH - ROOT * _WIDTH)
    return sympy.And(sympy.Eq(mean, 0), sympy.Eq(sympy.expand(sent), 0), inside(1 - share))


def _mean_slope() -> sympy.Expr:
    slope = sympy.Symbol("slope", real=True)
    equation = sympy.Eq(residual_decay * ROOT * _WIDTH + eta * slope, ROOT * _WIDTH)
    return sympy.cancel(sympy.solve(equation, slope)[0] - _LOST * ROOT * _WIDTH / eta)


def _noise_energy() -> sympy.Expr:
    """The variance of u is that of ηg."""
    return sympy.expand(_WIDTH**2 - (ROOT * _WIDTH) ** 2 - (1 - ROOT**2) * _WIDTH**2)


def _noise_floor(bound: sympy.Expr) -> sympy.Expr:
    values = {delta: 1 - ROOT**2, variance: (1 - ROOT**2) * _WIDTH**2 / eta**2}
    return sympy.cancel((_LOST * ROOT * _WIDTH / eta) ** 2 - bound.subs(values, simultaneous=True))


STATEMENTS = by_label(__name__, decayed_floor, decayed_noise_floor, decayed_top_k_floor)
"""The statements of this file."""
