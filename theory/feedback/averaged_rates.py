"""What does momentum in each worker change in EF21? With an average of the gradients the floor of noise is gone.

v_i averages the gradients of a worker with the weight α, h_i follows v_i by compressed differences, and x moves against
the mean of the h_i. The noise that compression could turn into a bias is smaller by α. Algorithm and argument:
Fatkhullin, Tyurin and Richtárik 2023; constants: ours.
"""

import sympy

from sparsync.theory.feedback.difference_rates import (
    NOISE,
    SMOOTH_WORKERS,
    half_square_step,
    mean_noise_step,
    smooth_step,
)
from sparsync.theory.feedback.residual import DELTA_DOMAIN, EACH_KEPT_BACK, ROOT, jensen_step
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    L,
    T,
    averaging,
    delta,
    estimate_energy,
    eta,
    gap,
    gradient_energy,
    mean_smoothness,
    n,
    variance,
)

_MOMENTUM = (
    r"$x^{+}=x-\frac{\eta}{n}\sum_i h_i$, $v_i^{+}=(1-\alpha)v_i+\alpha g_i(x^{+})$, $h_i^{+}=h_i+C_i(v_i^{+}-h_i)$; "
    r"at first $h_i=v_i$ and $S=\frac{1}{n}\sum_i\mathbb{E}\,\lVert\nabla f_i(x_0)-v_i\rVert^{2}$"
)

_START = gap / (eta * T)
_A = sympy.sqrt(1 - delta)
_KEPT = (1 - averaging) ** 2
AVERAGED_MOVES = (
    eta * L
    + 4
    * (1 + _KEPT)
    * eta**2
    * (_KEPT * L**2 + (1 - delta) * (averaging * mean_smoothness / (1 - _A)) ** 2)
    / (averaging * (2 - averaging)) ** 2
)
"""k of EF21 with momentum: at most 1."""
_AVERAGED_START = 4 * (1 + (1 - delta) * (averaging / (1 - _A)) ** 2) * estimate_energy / (averaging * (2 - averaging))
_AVERAGED_NOISE = 4 * averaging / ((2 - averaging) * n) + 2 * (1 - delta) * averaging**2 / (1 - _A)
_AVERAGED_NOISE += 4 * (1 - delta) * averaging**3 / ((2 - averaging) * (1 - _A) ** 2)


def ef21_momentum_rate() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ 2(f(x_0) − f*)/(ηT) + 4(1 + c²)S/(α(2 − α)T) + σ₀²N where k ≤ 1, c = αa/(1 − a).

    N = 4α/((2 − α)n) + 2a²α²/(1 − a) + 4αc²/(2 − α), a = √(1 − δ); k = ηL + 4(1 + b)η²(bL² + c²L̃²)/(α(2 − α))²,
    b = (1 − α)². All of N falls with α, and its first term with n: the floor of EF21 is gone. At ηL of order α, α of
    order √n/√T, it is of order 1/√(nT). In the library v_i = h_i = 0 at first, and S is mean ‖∇f_i(x_0)‖².

    Source: the algorithm and the argument of Fatkhullin, Tyurin and Richtárik 2023; constants: ours.
    """
    bound = 2 * _START + _AVERAGED_START / T + variance * _AVERAGED_NOISE
    return Statement(
        label="ef21_momentum_rate",
        title="EF21 with momentum in each worker, bounded variance",
        assumptions=(
            SMOOTH_WORKERS,
            _MOMENTUM,
            EACH_KEPT_BACK,
            NOISE,
            r"given all before, the $g_i$ are uncorrelated",
        ),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, sympy.Lt(averaging, 2), sympy.Le(AVERAGED_MOVES, 1)),
        source="argument of Fatkhullin, Tyurin and Richtárik 2023; constants: ours",
        derivation=(
            smooth_step(),
            jensen_step("w_i = 1/n"),
            half_square_step(),
            mean_noise_step(),
            Step(
                "e = h − v, p = v − ∇f(x), Δ = ∇f(x⁺) − ∇f(x): p⁺ = (1 − α)(p − Δ) + αξ, and C acts on "
                "−e − α(p − Δ) + αξ",
                _recursions,
            ),
            Step("2e² + 2p² − (e + p)² = (e − p)², one coordinate", _two_squares),
            Step(
                "b = (1 − α)²: 2(1 + b)bΔ²/(1 − b)² + (2/(1 − b) − 1)p² − (2b/(1 − b))(p − Δ)² is one square",
                _mean_momentum,
            ),
            Step(
                "(a²(e + y)² − e²)/(1 − a) + e² ≤ a²y²/(1 − a)²: the difference is (ay − (1 − a)e)² times a/(1 − a)²",
                _kept_errors,
            ),
            Step(
                "(2K/(1 − b))p² + 2(1 + b)KΔ²/(1 − b)² − ((1 + b)K/(1 − b))(p − Δ)² is one square, "
                "and (1 + b)K/(1 − b) = 2Kb/(1 − b) + K",
                _single_momentum,
            ),
            Step(
                "with the weights 2/(1 − b) of mean p, 1/(1 − a) of e, 2K/(1 − b) of p, K = a²α²/(1 − a)²: the noise "
                "is σ₀²N/2, and what ‖mean h‖² is charged with, 1/2 in all, k/2",
                _charged,
            ),
            Step("summed over t: e = 0 at first, Φ_T ≥ f*", lambda: _momentum_summed(bound), concludes=bound),
            Step("N → 0 as α → 0, and Nn/α → 2", _noise_vanishes),
        ),
    )


_ERROR, _PUSH, _MOMENTUM_ERROR, _MOVED, _S = sympy.symbols("e y p Delta xi", real=True)
_LEFT = sympy.Symbol("b", positive=True)
"""(1 − α)²."""


def _recursions() -> sympy.Basic:
    slope, average, estimate = sympy.symbols("f v h", real=True)
    after = (1 - averaging) * average + averaging * (slope + _MOVED + _S)
    error, momentum = estimate - average, average - slope
    follows = after - (slope + _MOVED) - ((1 - averaging) * (momentum - _MOVED) + averaging * _S)
    lacks = after - estimate - (-error - averaging * (momentum - _MOVED) + averaging * _S)
    return sympy.And(sympy.Eq(sympy.expand(follows), 0), sympy.Eq(sympy.expand(lacks), 0))


def _two_squares() -> sympy.Expr:
    return sympy.expand(2 * _ERROR**2 + 2 * _PUSH**2 - (_ERROR + _PUSH) ** 2 - (_ERROR - _PUSH) ** 2)


def _mean_momentum() -> sympy.Expr:
    left = 2 * (1 + _LEFT) * _LEFT * _MOVED**2 / (1 - _LEFT) ** 2 + (2 / (1 - _LEFT) - 1) * _MOMENTUM_ERROR**2
    left -= 2 * _LEFT / (1 - _LEFT) * (_MOMENTUM_ERROR - _MOVED) ** 2
    return sympy.cancel(left - (_MOMENTUM_ERROR + 2 * _LEFT * _MOVED / (1 - _LEFT)) ** 2)


def _kept_errors() -> sympy.Expr:
    change = (ROOT**2 * (_ERROR + _PUSH) ** 2 - _ERROR**2) / (1 - ROOT) + _ERROR**2
    square = ROOT * (ROOT * _PUSH - (1 - ROOT) * _ERROR) ** 2 / (1 - ROOT) ** 2
    return sympy.cancel((ROOT * _PUSH) ** 2 / (1 - ROOT) ** 2 - change - square)


def _single_momentum() -> sympy.Basic:
    """Over K, which has one worker's p − Δ push the error."""
    charge = (1 + _LEFT) / (1 - _LEFT)
    left = 2 * _MOMENTUM_ERROR**2 / (1 - _LEFT) + 2 * charge * _MOVED**2 / (1 - _LEFT)
    left -= charge * (_MOMENTUM_ERROR - _MOVED) ** 2
    square = (_MOMENTUM_ERROR + charge * _MOVED) ** 2
    return sympy.And(
        sympy.Eq(sympy.cancel(left - square), 0),
        sympy.Eq(sympy.cancel(2 * _LEFT / (1 - _LEFT) + 1 - charge), 0),
    )


def _charged() -> sympy.Basic:
    lost = 1 - _KEPT
    push = (ROOT * averaging / (1 - ROOT)) ** 2
    noise = 2 * averaging**2 / (lost * n) + (ROOT * averaging) ** 2 / (1 - ROOT) + 2 * push * averaging**2 / lost
    moves = eta * L + 4 * (1 + _KEPT) * eta**2 * (_KEPT * L**2 + push * mean_smoothness**2) / lost**2
    return sympy.And(
        sympy.Eq(sympy.cancel(2 * noise - _at(_AVERAGED_NOISE)), 0),
        sympy.Eq(sympy.cancel(moves - _at(AVERAGED_MOVES)), 0),
    )


def _at(expression: sympy.Expr) -> sympy.Expr:
    """In a = √(1 − δ), without simplifying."""
    return expression.subs(_A, ROOT).subs(delta, 1 - ROOT**2)


def _momentum_summed(bound: sympy.Expr) -> sympy.Basic:
    mean, end = sympy.Symbol("mean"), sympy.Symbol("f(x_T)-f*", nonnegative=True)
    weights = (2 + 2 * (ROOT * averaging / (1 - ROOT)) ** 2) / (1 - _KEPT)
    start = gap + eta * weights * estimate_energy
    noise = T * eta * variance * _at(_AVERAGED_NOISE) / 2
    solution = sympy.solve(sympy.Eq(T * eta * mean / 2, start - end + noise), mean)[0]
    reached = sympy.cancel(solution.subs(end, 0) - _at(bound))
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(sympy.cancel(sympy.diff(solution, end)).is_negative is True))


def _noise_vanishes() -> sympy.Basic:
    noise = _at(_AVERAGED_NOISE)
    alone = sympy.cancel(noise / averaging).subs(averaging, 0)
    return sympy.And(sympy.Eq(noise.subs(averaging, 0), 0), sympy.Eq(sympy.cancel(alone * n), 2))


STATEMENTS = by_label(__name__, ef21_momentum_rate)
"""The statements of this file."""
