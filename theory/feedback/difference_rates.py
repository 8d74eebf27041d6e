"""How small does EF21 make the gradient where gradients are noisy? It comes to a floor that no step size lowers.

A worker sends what its estimate h_i of its gradient lacks, and x moves against the mean of the estimates. Functions may
differ without any bound. But compression makes a bias of the noise, and its largest size is known exactly; it falls
neither with the step size nor with the number of workers. `averaged_rates.py` removes it. Algorithm: Richtárik,
Sokolov and Fatkhullin 2021; constants and the sharp floor: ours.
"""

import sympy

from sparsync.theory.feedback.residual import DELTA_DOMAIN, EACH_KEPT_BACK, ROOT, at_root, jensen_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    estimate_energy,
    eta,
    free_share,
    gap,
    gradient_energy,
    mean_smoothness,
    stationary_energy,
    variance,
)

SMOOTH_WORKERS = (
    r"$f=\frac{1}{n}\sum_i f_i\ge f^{*}$, $\nabla f$ is $L$-Lipschitz, "
    r"$\frac{1}{n}\sum_i\lVert\nabla f_i(x)-\nabla f_i(y)\rVert^{2}\le\tilde{L}^{2}\lVert x-y\rVert^{2}$"
)
NOISE = Given(
    "variance",
    r"\frac{1}{n}\sum_i\mathbb{E}\,\lVert g_i-\nabla f_i(x)\rVert^{2}",
    "≤",
    variance,
    words=r"given all before it, $g_i$ has the mean $\nabla f_i(x)$, and {}",
)
_EF21 = (
    r"$u_i=g_i-h_i$, $h_i^{+}=h_i+C_i(u_i)$, $x^{+}=x-\frac{\eta}{n}\sum_i h_i^{+}$; "
    r"$S=\frac{1}{n}\sum_i\mathbb{E}\,\lVert\nabla f_i(x_0)-h_i\rVert^{2}$ at first"
)

_START = gap / (eta * T)
_ODDS = (1 - delta) / delta
MOVES = eta * L + (eta * mean_smoothness) ** 2 * (1 - delta) * (1 - delta * (1 - free_share)) / (
    delta**2 * free_share * (1 - free_share)
)
"""k: below 1 the Lyapunov function of EF21 pays for the moves of x."""
_SLACK = (1 - MOVES) * (1 - free_share)
"""z."""
_FLOOR = (1 - delta**2 * _SLACK) / (delta**2 * _SLACK * (1 - free_share))
SHARP_FLOOR = variance * (1 - delta**2) / delta**2
"""What is left as η → 0."""

_Q, _B, _V, _W, _N, _Y = sympy.symbols("q b v w nu y", nonnegative=True)
_G, _H, _S = sympy.symbols("G H xi", real=True)
_PARAMETER = sympy.Symbol("theta", positive=True)


def ef21_rate() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ 2(f(x_0) − f*)/(ηT) + (1 − δ)S/(δ(1 − r)T) + σ₀²(1 − δ²z)/(δ²z(1 − r)), z = (1 − k)(1 − r).

    k = ηL + η²L̃²(1 − δ)(1 − δ(1 − r))/(δ²r(1 − r)) < 1, for any 0 < r < 1. Nothing is assumed of how the functions
    differ, nor of how the noise of one worker depends on that of another. As η → 0 and r → 0 the last term falls to
    σ₀²(1 − δ²)/δ² and no further, and `ef21_floor` attains that, so the floor is sharp; n cannot lower it.
    Error feedback has no such floor: `descent_of_workers` tends to 0 with η, but pays for the heterogeneity ζ².
    Without noise and at r = a/(1 + a), a = √(1 − δ), k = ηL + (ηL̃a/(1 − a))² is the step size of EF21 as published.

    Source: the algorithm and, without noise, the argument of Richtárik, Sokolov and Fatkhullin 2021; the rest ours.
    """
    bound = 2 * _START + _ODDS * estimate_energy / ((1 - free_share) * T) + variance * _FLOOR
    return Statement(
        label="ef21_rate",
        title="EF21, bounded variance",
        assumptions=(SMOOTH_WORKERS, _EF21, EACH_KEPT_BACK, NOISE, r"any $r>0$"),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Lt(free_share, 1), sympy.Lt(MOVES, 1)),
        source="algorithm: Richtárik, Sokolov and Fatkhullin 2021; constants and floor: ours",
        derivation=(
            smooth_step(),
            jensen_step("w_i = 1/n"),
            *_mean_steps(),
            Step(
                "(1 + 1/s)Δ² + (1 + s)R² − (Δ + R)² = (Δ − sR)²/s, one coordinate: h_i⁺ lacks Δ_i more after a move",
                lambda: _split(_G, _H, 1),
            ),
            Step(
                "(1 + θ)v² + (1 + 1/θ)ξ² − (v − ξ)² = (θv + ξ)²/θ, one coordinate: v is R_i less its mean, given all "
                "before the noise ξ, which is not correlated with that mean",
                lambda: _split(_S, _H, -1),
            ),
            Step(
                "with s = rδ/(1 − δ), 2λ = (1 − δ)/(δ(1 − r)), 1 + θ = 1/((1 − δ)(1 + s + k/(2λ))), Φ = f(x) + ηλ mean "
                "‖∇f_i(x) − h_i‖²: its mean change over η is at most −q²/2 − (1 − k)w²/2 + σ₀²(1 − δ²z)/(2δ²z(1 − r)), "
                "q = ‖∇f(x)‖, w = ‖E mean h_i⁺‖",
                _change,
            ),
            Step("θ > 0: 1/(1 − δ) − (1 + s + k/(2λ)) is δz/(1 − δ)", _parameter_is_positive),
            Step("summed over t: Φ_0 = f(x_0) + ηλS, Φ_T ≥ f*", lambda: _summed(bound), concludes=bound),
            Step("at k = r = 0 the factor of σ₀² is (1 − δ²)/δ²", _sharp),
            Step(
                "(1 − δ(1 − r))/(r(1 − r)) is least at r = a/(1 + a), where k = ηL + (ηL̃a/(1 − a))²: otherwise larger "
                "by ((1 + a)r − a)²/(r(1 − r))",
                _published_step,
            ),
        ),
    )


def ef21_floor() -> Statement:
    """E‖∇f(x_t)‖² = σ₀²(1 − δ²)/δ² for all t, for every η and n, for f_i = Lx_1²/2 on three coordinates.

    The noise is ±σ₀ on the second and third coordinate in turn. C, which contracts every u by 1 − δ, sends the old
    noise and enlarges the new one to match, and leaves the first coordinate alone: h_i has no part of the gradient.
    By `ef21_rate` no instance has more as η → 0. It is the known failure of EF21 with stochastic gradients. Top-1
    comes to a third of it on two coordinates: noise ±σ₀ on the first at every other step, |f'| < σ₀ on the second.

    Source: that there is one: Fatkhullin, Tyurin and Richtárik 2023; this instance and the sharp constant: ours.
    """
    bound = SHARP_FLOOR
    return Statement(
        label="ef21_floor",
        title="EF21, bounded variance: what no step size removes",
        assumptions=(
            r"EF21 with any $\eta$ and $n$, $f_i(x)=Lx_{(1)}^{2}/2$ for $x\in\mathbb{R}^{3}$, at first $x_{(1)}=b/L$",
            Given("start", r"b^{2}", "=", SHARP_FLOOR),
            r"noise $\pm\sigma_0$ with equal chance, on the coordinates $2$ and $3$ in turn",
            Given(
                "estimate",
                r"h^{2}",
                "=",
                variance / delta**2,
                words=r"$h_i=(0,\pm h,0)$ or $(0,0,\pm h)$ from the last noise, {}",
            ),
            r"$C(u)=(0,u_{(2)},\mathrm{sgn}(u_{(3)})\lvert u_{(2)}\rvert)$ if $\lvert u_{(2)}\rvert\ge"
            r"\lvert u_{(3)}\rvert$, likewise if not, where that contracts $u$ by $1-\delta$; else $C(u)=u$",
        ),
        relation=sympy.Eq(stationary_energy, bound),
        domain=DELTA_DOMAIN,
        source="that there is one: Fatkhullin, Tyurin and Richtárik 2023; instance and sharp constant: ours",
        derivation=(
            Step("the noise has the mean 0 and the variance σ₀²", _noise_of_floor),
            Step(
                "u = (b, −pσ₀/δ, qσ₀) for signs p, q: C(u) = (0, −pσ₀/δ, qσ₀/δ), and ‖u − C(u)‖² = (1 − δ)‖u‖²",
                _contracts_on_floor,
            ),
            Step("σ₀/δ ≥ σ₀: the larger of the two is the old noise", _old_is_larger),
            Step("h + C(u) = (0, 0, qσ₀/δ) has no first coordinate: x_1 stays, and f' is b", _rests_on_floor),
            Step("b² is what `ef21_rate` tends to as η, r → 0, T → ∞", lambda: _is_reached(bound), concludes=bound),
        ),
    )


def smooth_step() -> Step:
    """f(x + r) ≤ f(x) + ⟨∇f(x), r⟩ + L‖r‖²/2."""

    def remainder() -> sympy.Expr:
        length, s = sympy.symbols("r s", nonnegative=True)
        return sympy.integrate(L * s * length * length, (s, 0, 1)) - L * length**2 / 2

    return Step("∫_0^1 ‖∇f(x + s r) − ∇f(x)‖‖r‖ ds ≤ ∫_0^1 L s‖r‖² ds = L‖r‖²/2, for the move r of x", remainder)


def half_square_step() -> Step:
    """−⟨G, H⟩ in squares."""
    return Step(
        "−GH = (H − G)²/2 − G²/2 − H²/2, one coordinate",
        lambda: sympy.expand((_H - _G) ** 2 / 2 - _G**2 / 2 - _H**2 / 2 + _G * _H),
    )


def mean_noise_step() -> Step:
    """E(y + ξ)² for a noise of mean zero and variance σ₀²."""

    def remainder() -> sympy.Expr:
        square = sympy.Poly((_G + _S) ** 2, _S)
        moments = {(0,): sympy.Integer(1), (1,): sympy.Integer(0), (2,): variance}
        mean = sympy.Add(*(factor * moments[power] for power, factor in square.terms()))
        return sympy.expand(mean - _G**2 - variance)

    return Step("E(y + ξ)² = y² + σ₀², one coordinate: the noise has mean zero, whatever came before", remainder)


def _mean_steps() -> tuple[Step, ...]:
    """What is known of u_i, of R_i = u_i − C_i(u_i), and of the move."""
    return (
        mean_noise_step(),
        half_square_step(),
        Step(
            "h_i⁺ = ∇f_i(x) + ξ_i − R_i: u_i − R_i is what is sent",
            lambda: sympy.expand(_H + ((_G + _S) - _H) - _Y - (_G + _S - _Y)),
        ),
    )


def _split(first: sympy.Symbol, second: sympy.Symbol, sign: int) -> sympy.Expr:
    """Young's inequality as a square: first²(1 + 1/θ) + second²(1 + θ) − (second + sign·first)²."""
    split = (1 + 1 / _PARAMETER) * first**2 + (1 + _PARAMETER) * second**2 - (second + sign * first) ** 2
    return sympy.cancel(split - (first - sign * _PARAMETER * second) ** 2 / _PARAMETER)


_K = sympy.Symbol("k", positive=True)
"""MOVES, below 1."""
_MOVE_SHARE = free_share * delta / (1 - delta)
"""s."""
_WEIGHT = _ODDS / (2 * (1 - free_share))
"""λ."""
_PRESSURE = 1 + _MOVE_SHARE + _K / (2 * _WEIGHT)
"""1 + s + k/(2λ): what E‖v − ξ‖² is charged with, over λ."""


def _change() -> sympy.Basic:
    """With mean E‖R_i‖² = b² + v², and E‖R_i − ξ_i‖² = b² + E‖v − ξ‖² by the split of R_i in its mean and the rest.

    k/2 is what E‖mean h_i⁺‖² = w² + E‖mean (v − ξ)‖² is charged with, by the descent lemma and by Δ.
    """
    moves = eta * L + 2 * _WEIGHT * (1 + 1 / _MOVE_SHARE) * (eta * mean_smoothness) ** 2
    parameter = 1 / ((1 - delta) * _PRESSURE) - 1
    energy = (_B**2 + _V**2) / (1 - delta) - variance
    noise = _WEIGHT * _PRESSURE * ((1 + parameter) * _V**2 + (1 + 1 / parameter) * variance)
    change = -(_Q**2) / 2 - (1 - _K) * _W**2 / 2 + _B**2 / 2 + _WEIGHT * ((1 + _MOVE_SHARE) * _B**2 - energy) + noise
    slack = (1 - _K) * (1 - free_share)
    floor = variance * (1 - delta**2 * slack) / (2 * delta**2 * slack * (1 - free_share))
    claimed = -(_Q**2) / 2 - (1 - _K) * _W**2 / 2 + floor
    return sympy.And(sympy.Eq(sympy.cancel(moves - MOVES), 0), sympy.Eq(sympy.cancel(change - claimed), 0))


def _parameter_is_positive() -> sympy.Expr:
    slack = (1 - _K) * (1 - free_share)
    return sympy.cancel(1 / (1 - delta) - _PRESSURE - delta * slack / (1 - delta))


def _summed(bound: sympy.Expr) -> sympy.Basic:
    mean, end = sympy.Symbol("mean"), sympy.Symbol("f(x_T)-f*", nonnegative=True)
    start = gap + eta * _WEIGHT * estimate_energy
    solution = sympy.solve(sympy.Eq(T * eta * mean / 2, start - end + T * eta * variance * _FLOOR / 2), mean)[0]
    reached = sympy.cancel(solution.subs(end, 0) - bound)
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(sympy.cancel(sympy.diff(solution, end)).is_negative is True))


def _sharp() -> sympy.Expr:
    slack = sympy.Symbol("z", positive=True)
    factor = _FLOOR.subs(_SLACK, slack).subs(free_share, 0).subs(slack, 1)
    return sympy.cancel(variance * factor - SHARP_FLOOR)


def _published_step() -> sympy.Basic:
    ratio = (1 - delta * (1 - free_share)) / (free_share * (1 - free_share))
    excess = at_root(ratio) - (1 + ROOT) ** 2 - ((1 + ROOT) * free_share - ROOT) ** 2 / (free_share * (1 - free_share))
    published = eta * L + (eta * mean_smoothness * ROOT / (1 - ROOT)) ** 2
    at_best = MOVES.subs({free_share: ROOT / (1 + ROOT), delta: 1 - ROOT**2}, simultaneous=True)
    return sympy.And(sympy.Eq(sympy.cancel(excess), 0), sympy.Eq(sympy.cancel(at_best - published), 0))


_SIGNS = sympy.symbols("p q", real=True)
"""Two signs: p² = q² = 1."""
_SIGMA = sympy.sqrt(variance)


def _noise_of_floor() -> sympy.Basic:
    values = (_SIGMA, -_SIGMA)
    mean, energy = (sympy.Add(*(value**power for value in values)) / 2 for power in (1, 2))
    return sympy.And(sympy.Eq(mean, 0), sympy.Eq(energy, variance))


def _floor_vectors() -> tuple[sympy.Matrix, sympy.Matrix, sympy.Matrix]:
    """h, u and C(u) at rest, the noise being on the third coordinate."""
    old, new = _SIGNS
    bias = sympy.sqrt(SHARP_FLOOR)
    estimate = sympy.Matrix([0, old * _SIGMA / delta, 0])
    corrected = sympy.Matrix([bias, 0, new * _SIGMA]) - estimate
    return estimate, corrected, sympy.Matrix([0, -old * _SIGMA / delta, new * _SIGMA / delta])


def _contracts_on_floor() -> sympy.Expr:
    _, corrected, sent = _floor_vectors()
    lost, whole = (part.dot(part) for part in (corrected - sent, corrected))
    return sympy.cancel(sympy.expand(lost - (1 - delta) * whole).subs({sign**2: 1 for sign in _SIGNS}))


def _old_is_larger() -> sympy.Basic:
    odds = sympy.Symbol("y", nonnegative=True)
    return sympy.sympify(sympy.cancel((1 / delta - 1).subs(delta, 1 / (1 + odds))).is_nonnegative is True)


def _rests_on_floor() -> sympy.Basic:
    estimate, _, sent = _floor_vectors()
    after = estimate + sent
    return sympy.And(*(sympy.Eq(value, wanted) for value, wanted in zip(after, (0, 0, sent[2]), strict=True)))


def _is_reached(bound: sympy.Expr) -> sympy.Expr:
    rate = ef21_rate().bound.subs({T: 1 / free_share**2, eta: free_share**2 / L, gap: 0, estimate_energy: 0})
    return sympy.limit(sympy.cancel(rate), free_share, 0) - bound


STATEMENTS = by_label(__name__, ef21_rate, ef21_floor)
"""The statements of this file."""
