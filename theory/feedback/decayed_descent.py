"""What does a decaying memory cost n workers whose gradients have a bounded variance and differ by a bounded amount?

Φ = f(x − ē) + (w/η) mean ‖e_i‖², whose weight w is free. x − ē moves by −ηḡ + (1 − β)ē (`decayed_virtual_iterate`), and
ē is known when g is drawn: so noise enters the descent as σ₀²/n, and what is forgotten is charged to the residual. The
residuals are split into mean and deviations as in `worker_rates.py`, which this generalises to β ≤ 1. Ours.
"""

import sympy

from sparsync.theory.feedback.decay_floors import HETEROGENEITY_FLOOR
from sparsync.theory.feedback.decayed import DECAY_DOMAIN, inside
from sparsync.theory.feedback.rates import descent_step, noise_step
from sparsync.theory.feedback.residual import DELTA_DOMAIN, KEPT_BACK, ROOT
from sparsync.theory.feedback.worker_rates import descent_of_workers
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
    memory_weight,
    n,
    residual_decay,
    residual_weight,
    variance,
)

_W = memory_weight
_LOST = 1 - residual_decay
ALIGNED = _LOST * (1 - eta * L) + 2 * _W * (1 - delta) * residual_decay
"""What ⟨∇f(x), ē⟩ enters with; at ηL ≤ 1 it is not negative."""
_PRODUCT = eta * L + sympy.Abs(ALIGNED)
"""c: the coefficient of pq/η."""
_GAIN, _LOSS = _W * (1 - residual_decay**2 * (1 - delta)), _LOST * (3 - residual_decay) * eta * L / 2
SQUARE = _GAIN - _LOSS
"""d: minus the coefficient of p²/η²."""
STEP_SHARE = eta * L / 2 + _W * (1 - delta) + _PRODUCT**2 / (4 * SQUARE)
"""h: below 1 the Lyapunov function descends."""
_SPREAD = variance + dissimilarity / (1 - residual_decay**2 * (1 - delta))
_NUMERATOR = gap / (eta * T) + eta * L * variance / (2 * n) + _W * (1 - delta) * _SPREAD

_P, _Q, _R, _X, _ZETA = sympy.symbols("p q r s zeta", nonnegative=True)


def decayed_descent_of_workers() -> Statement:
    """min_t E‖∇f(x_t)‖² ≤ ((f(x_0) − f*)/(ηT) + ηLσ₀²/(2n) + w(1 − δ)(σ₀² + ζ²/(1 − β²(1 − δ))))/(1 − h), all w, h < 1.

    h = ηL/2 + w(1 − δ) + (ηL + |(1 − β)(1 − ηL) + 2w(1 − δ)β|)²/(4(w(1 − β²(1 − δ)) − (1 − β)(3 − β)ηL/2)). With β = 1
    and w = ωηL it is `descent_of_workers`. For β < 1, as T → ∞ and η → 0, the best w leaves the floor
    (1 − β)²((1 − δ)/δ)(σ₀² + ζ²/(1 − β²(1 − δ))): both parts are attained (`decayed_floor`, `decayed_noise_floor`), so
    that neither can be smaller. Workers without noise that do not differ have no floor, whatever β. One local step; for
    more see `local_feedback_rate`.

    Source: ours.
    """
    bound = _NUMERATOR / (1 - STEP_SHARE)
    return Statement(
        label="decayed_descent_of_workers",
        title="n workers, memory that decays, bounded variance and heterogeneity",
        assumptions=(
            Given(
                "lipschitz",
                r"\lVert\nabla f(x)-\nabla f(y)\rVert/\lVert x-y\rVert",
                "≤",
                L,
                r"$f=\frac{1}{n}\sum_i f_i\ge f^{*}$, and {} for all $x\neq y$",
            ),
            Given(
                "spread",
                r"\frac{1}{n}\sum_i\lVert\nabla f_i(x_t)-\nabla f(x_t)\rVert^{2}",
                "≤",
                dissimilarity,
            ),
            r"$u_i=\beta e_i+\eta g_i$, $x^{+}=x-\frac{1}{n}\sum_i C_i(u_i)$, $e_i^{+}=u_i-C_i(u_i)$, at first $e_i=0$",
            KEPT_BACK,
            Given(
                "noise",
                r"\mathbb{E}\,\lVert g_i-\nabla f_i(x)\rVert^{2}",
                "≤",
                variance,
                r"given $x$ and all $e_i$, the $g_i$ are uncorrelated, of mean $\nabla f_i(x)$, and {}",
            ),
            r"any $w>0$",
        ),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(
            *DELTA_DOMAIN,
            *DECAY_DOMAIN,
            sympy.Lt(_LOSS, _GAIN),
            sympy.Lt(STEP_SHARE, 1),
        ),
        source="ours",
        derivation=(*_proof(bound), *_special_cases(bound)),
    )


def _proof(bound: sympy.Expr) -> tuple[Step, ...]:
    return (
        descent_step(),
        noise_step(),
        Step(
            "p = ‖ē‖, q = ‖∇f(x)‖, s = ⟨∇f(x), ē⟩: the mean change of f(x − ē) is at most −ηq² + ηLpq + "
            "(1 − β)(s + Lp²) + (L/2)(η²q² − 2η(1 − β)s + (1 − β)²p² + η²σ₀²/n)",
            _descent,
            argued="that ⟨∇f(x − ē) − ∇f(x), v⟩ ≤ Lp‖v‖, by Cauchy and Schwarz",
        ),
        Step(
            "mean ‖βe_i + ηg_i‖² is ‖βē + η∇f‖² and the deviations' (βr + ηζ)² at most, and η²σ₀²",
            _split,
            argued="that the deviations' mean product is at most rζ, by Cauchy and Schwarz",
        ),
        Step(
            "over η, the change of Φ is −(1 − h)q² − d(p/η − cq/(2d))² − (|b|pq − bs)/η at most, and the terms of "
            "noise and deviations; b = (1 − β)(1 − ηL) + 2w(1 − δ)β, c = ηL + |b|",
            _mean_part,
            argued="that bs ≤ |b|pq, by Cauchy and Schwarz",
        ),
        Step(
            "(1 − δ)(βr + ηζ)² − r² is (1 − δ)η²ζ²/(1 − β²(1 − δ)) and minus a square with a factor > 0",
            _deviation_part,
        ),
        Step("summed over t: Φ_0 = f(x_0), Φ_T ≥ f*", lambda: _summed(bound), concludes=bound),
    )


def _special_cases(bound: sympy.Expr) -> tuple[Step, ...]:
    return (
        Step("β = 1, w = ωηL: `descent_of_workers`", lambda: _undecayed(bound)),
        Step("at ηL = 0 and w = 1/y, (1 − h)/w is y − a² − ((1 − β)y + 2a²β)²/(4(1 − β²a²))", _few),
        Step("whose largest value over y is (1 − a²)/(1 − β)²", _best_weight),
        Step("so the floor is (1 − β)²((1 − δ)/δ)(σ₀² + ζ²/(1 − β²(1 − δ))), that of `decayed_floor`", _floor),
        Step("with σ₀ = ζ = 0 only the start is left", lambda: _start_only(bound)),
        Step("that best weight is positive: 2(1 − β²a²)/(1 − β)² − 2a²β/(1 − β) > 0", _weight_positive),
    )


def _descent() -> sympy.Expr:
    """x − ē moves by −v, v = η∇f − (1 − β)ē, and noise; ⟨∇f(x), v⟩ = ηq² − (1 − β)s, and its length's square."""
    product = eta * _Q**2 - _LOST * _X
    length = eta**2 * _Q**2 - 2 * eta * _LOST * _X + _LOST**2 * _P**2
    change = -product + L * _P * (eta * _Q + _LOST * _P) + L / 2 * (length + eta**2 * variance / n)
    claimed = -eta * _Q**2 + eta * L * _P * _Q + _LOST * (_X + L * _P**2)
    claimed += L / 2 * (eta**2 * _Q**2 - 2 * eta * _LOST * _X + _LOST**2 * _P**2 + eta**2 * variance / n)
    return sympy.expand(change - claimed)


def _split() -> sympy.Basic:
    """Two numbers per worker, for two workers; the cross terms of means and deviations cancel."""
    e, f, g, h = sympy.symbols("e_1 e_2 g_1 g_2", real=True)
    first, second = residual_decay * e + eta * g, residual_decay * f + eta * h
    mean = (first + second) / 2
    deviation = (residual_decay * (e - f) + eta * (g - h)) / 2
    split = sympy.expand((first**2 + second**2) / 2 - mean**2 - deviation**2)
    product = sympy.Symbol("c", real=True)
    square = residual_decay**2 * _R**2 + 2 * residual_decay * eta * product + eta**2 * _ZETA**2
    largest = sympy.expand((residual_decay * _R + eta * _ZETA) ** 2 - square)
    return sympy.And(
        sympy.Eq(split, 0), sympy.Eq(sympy.expand(largest - 2 * residual_decay * eta * (_R * _ZETA - product)), 0)
    )


def _mean_part() -> sympy.Expr:
    kept = 1 - delta
    change = -eta * _Q**2 + eta * L * _P * _Q + _LOST * (_X + L * _P**2)
    change += L / 2 * (eta**2 * _Q**2 - 2 * eta * _LOST * _X + _LOST**2 * _P**2)
    length = residual_decay**2 * _P**2 + 2 * residual_decay * eta * _X + eta**2 * _Q**2
    change += _W / eta * (kept * length - _P**2)
    square = SQUARE * (_P / eta - _PRODUCT * _Q / (2 * SQUARE)) ** 2
    claimed = -(1 - STEP_SHARE) * _Q**2 - square - (sympy.Abs(ALIGNED) * _P * _Q - ALIGNED * _X) / eta
    size = sympy.Symbol("size", nonnegative=True)
    return sympy.cancel((change / eta - claimed).replace(sympy.Abs, lambda _part: size))


def _deviation_part() -> sympy.Basic:
    kept = ROOT**2
    room = 1 - residual_decay**2 * kept
    change = kept * (residual_decay * _R + eta * _ZETA) ** 2 - _R**2
    square = room * (_R - kept * residual_decay * eta * _ZETA / room) ** 2
    return sympy.And(
        sympy.Eq(sympy.cancel(change - kept * eta**2 * _ZETA**2 / room + square), 0), inside(sympy.sympify(room))
    )


def _summed(bound: sympy.Expr) -> sympy.Basic:
    mean, share = sympy.symbols("mean h")
    end = sympy.Symbol("f(x_T)-f*", nonnegative=True)
    per_step = eta * (eta * L * variance / (2 * n) + _W * (1 - delta) * _SPREAD)
    solution = sympy.solve(sympy.Eq(T * eta * (1 - share) * mean, gap - end + T * per_step), mean)[0]
    reached = sympy.cancel(solution.subs(end, 0) * (1 - share) - _NUMERATOR) + bound - _NUMERATOR / (1 - STEP_SHARE)
    # The end only lowers the mean: its factor is −1/(ηT(1 − h)), and h < 1 by the domain.
    slope = sympy.cancel(sympy.diff(solution, end) * (1 - share))
    return sympy.And(sympy.Eq(reached, 0), sympy.sympify(slope.is_negative is True))


def _undecayed(bound: sympy.Expr) -> sympy.Expr:
    plain = bound.subs(residual_decay, 1).subs(_W, residual_weight * eta * L)
    return sympy.cancel(_at_ratio(plain - descent_of_workers().bound))


_Y = sympy.Symbol("y", positive=True)


def _at_ratio(expression: sympy.Expr) -> sympy.Expr:
    """With δ = 1/(1 + z), β = 1/(1 + v): 1 − δ and 1 − β are visibly ≥ 0, so that |b| is b where ηL ≤ 1."""
    kept, forgotten = sympy.symbols("z v", nonnegative=True)
    written = expression.subs({delta: 1 / (1 + kept), residual_decay: 1 / (1 + forgotten)}, simultaneous=True)
    return written.replace(sympy.Abs, lambda part: sympy.Abs(sympy.factor(part)))


def _per_weight() -> sympy.Expr:
    """(1 − h)/w at ηL = 0, in y = 1/w and a."""
    kept = ROOT**2
    return _Y - kept - (_LOST * _Y + 2 * kept * residual_decay) ** 2 / (4 * (1 - residual_decay**2 * kept))


def _best_place() -> sympy.Expr:
    kept = ROOT**2
    return 2 * (1 - residual_decay**2 * kept) / _LOST**2 - 2 * kept * residual_decay / _LOST


def _few() -> sympy.Expr:
    share = STEP_SHARE.subs(L, 0).subs(_W, 1 / _Y)
    return sympy.cancel(_at_ratio((1 - share) * _Y - _per_weight().subs(ROOT, sympy.sqrt(1 - delta))))


def _best_weight() -> sympy.Basic:
    """A parabola that opens downwards: its value is the largest less a square."""
    largest = (1 - ROOT**2) / _LOST**2
    square = _LOST**2 * (_Y - _best_place()) ** 2 / (4 * (1 - residual_decay**2 * ROOT**2))
    return sympy.Eq(sympy.cancel(_per_weight() - largest + square), 0)


def _floor() -> sympy.Expr:
    best = (1 - delta) * _SPREAD * _LOST**2 / delta
    noise = (1 - delta) * variance * _LOST**2 / delta
    return sympy.cancel(best - noise - HETEROGENEITY_FLOOR)


def _start_only(bound: sympy.Expr) -> sympy.Expr:
    return sympy.simplify(bound.subs({variance: 0, dissimilarity: 0}) * (1 - STEP_SHARE) - gap / (eta * T))


def _weight_positive() -> sympy.Basic:
    """Times (1 − β)²/2 it is 1 − β²a² − a²β(1 − β) = 1 − a²β."""
    value = sympy.cancel(_best_place() * _LOST**2 / 2)
    same = sympy.expand(value - (1 - ROOT**2 * residual_decay))
    return sympy.And(sympy.Eq(same, 0), inside(1 - ROOT**2 * residual_decay))


STATEMENTS = by_label(__name__, decayed_descent_of_workers)
"""The statements of this file."""
