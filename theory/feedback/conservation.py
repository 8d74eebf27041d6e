"""What does error feedback keep back, and what is still true of what it sends?

u_t = e_t + η g_t is compressed, x_{t+1} = x_t − C(u_t), e_{t+1} = u_t − C(u_t), e_0 = 0, and C contracts:
E‖u − C(u)‖² ≤ (1 − δ)‖u‖². Rates: `rates.py`, `worker_rates.py`, `lyapunov_rate.py`; 1/δ²: `complexity.py`.
Sources are named per statement; algorithm and lemma: Karimireddy, Rebjock, Stich and Jaggi 2019.
"""

from collections.abc import Sequence

import sympy

from sparsync.theory.feedback.residual import (
    CONTRACTION,
    DELTA_DOMAIN,
    RESIDUAL_MINKOWSKI,
    ROOT,
    jensen_step,
    minkowski_steps,
)
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    balance,
    delta,
    drift,
    eta,
    gradient,
    i,
    mean_ratio,
    n,
    next_virtual_iterate,
    sigma_squared,
    step_variation,
    virtual_iterate,
)

EXPLICIT_WORKERS = 4
"""Largest number of workers, and largest d, for which the family without contraction is written out."""

Vector = tuple[sympy.Expr, ...]
"""Coordinates of one worker's vector."""


def uncompressed_path() -> Statement:
    """x̃_{t+1} = x̃_t − η_t g_t for x̃ = x − e, whatever C sends; hence Σ sent + e_T = e_0 + Σ η_t g_t.

    Source: Karimireddy, Rebjock, Stich and Jaggi 2019; Stich, Cordonnier and Jaggi 2018.
    """
    bound = virtual_iterate - eta * gradient
    return Statement(
        label="virtual_iterate",
        title="error feedback loses nothing",
        assumptions=(
            r"$\tilde{x}=x-\frac{1}{n}\sum_i e_i$ and $g$ is the mean of the $g_i$",
            r"$u_i=e_i+\eta g_i$, $x^{+}=x-\frac{1}{n}\sum_i C_i(u_i)$, $e_i^{+}=u_i-C_i(u_i)$, any $C_i$, any steps",
        ),
        relation=sympy.Eq(next_virtual_iterate, bound),
        domain=(),
        source="Karimireddy, Rebjock, Stich and Jaggi 2019",
        derivation=(
            Step("one worker: (x − C(u)) − (u − C(u)) = (x − e) − ηg", lambda: _one_worker(bound), concludes=bound),
            Step("n workers: the same with x − mean C_i(u_i), mean e_i and mean g_i", lambda: _all_workers(bound)),
            Step("Σ_{t<T} sent + e_T − Σ_{t<T} η_t g_t does not change with T: it is e_0", _conservation),
        ),
    )


def step_outside() -> Statement:
    """Memory of raw gradients, x_{t+1} = x_t − η_t C(e_t + g_t): x̃ = x − ηe gains (η_t − η_{t+1}) e_{t+1} per step.

    The sum of these terms has E‖·‖² ≤ V²σ²(1 − δ)/(1 − √(1 − δ))², V the total variation of the step sizes. It is
    zero for a constant step, and a warm-up counts as much as a decay.

    Source: ours.
    """
    bound = step_variation**2 * RESIDUAL_MINKOWSKI.subs(eta, 1)
    return Statement(
        label="step_outside",
        title="step size outside the memory",
        assumptions=(
            r"$u_t=e_t+g_t$, $x_{t+1}=x_t-\eta_t C(u_t)$, $e_{t+1}=u_t-C(u_t)$, $e_0=0$, $\tilde{x}_t=x_t-\eta_t e_t$",
            r"$V=\sum_{t<T}|\eta_t-\eta_{t+1}|$, and the step sizes are not random",
            *CONTRACTION[1:],
        ),
        relation=sympy.Le(drift, bound, evaluate=False),
        domain=DELTA_DOMAIN,
        source="ours",
        derivation=(
            Step("x̃_{t+1} = x̃_t − η_t g_t + (η_t − η_{t+1}) e_{t+1}", _replayed_residual),
            Step("for e_{t+1} ≠ 0 the added term vanishes only at η_{t+1} = η_t", _vanishes_if_constant),
            *minkowski_steps(),
            jensen_step("w_t = |η_t − η_{t+1}|"),
            Step("hence E‖Σ w_t e_{t+1}‖² ≤ V · Σ w_t E‖e_{t+1}‖² ≤ V² max E‖e‖²", lambda: _drift(bound), bound),
            Step("attained in the limit: constant g, C(u) = (1 − a)u, one change of the step by V", _drift_attained),
        ),
    )


def mean_of_local_top_k() -> Statement:
    """u_1 = (1, b), u_2 = (−b, −1), Top-1: the relative error of the average is b²/(1 − b)², unbounded as b → 1.

    So averaging what the workers' own Top-k send contracts the average by no factor, for no n ≥ 2 and no k < d. Only
    ‖mean(u_i − C(u_i))‖² ≤ (1 − δ) mean‖u_i‖² remains, which is what the analyses of error feedback use.

    Source: ours.
    """
    bound = balance**2 / (1 - balance) ** 2
    return Statement(
        label="mean_of_local_top_k",
        title="the mean of local Top-k is not a contraction of the mean",
        assumptions=(
            r"$u_1=(1,b)$, $u_2=(-b,-1)$, $k=1$",
            r"for $1\le k<d$ and $n\ge 2$: coordinates $\pm 2$ that cancel, zeros, and workers with $u_i=0$ are added",
        ),
        relation=sympy.Eq(mean_ratio, bound),
        domain=(sympy.Lt(balance, 1),),
        source="ours",
        derivation=(
            Step("the family at n = 2, d = 2, k = 1", lambda: _family_ratio(2, 2, 1) - _kept(bound), concludes=bound),
            Step(f"the family for all n, d ≤ {EXPLICIT_WORKERS} and k < d", lambda: _all_sizes(bound)),
            Step("b = √R/(1 + √R) < 1 has the ratio R: every size of error occurs", lambda: _any_ratio(bound)),
            Step("(1, 0.9) and (−1, 0.9): ratio 1, nothing of the mean is sent", _cancelling_example),
            jensen_step("w_i = 1/n"),
        ),
    )


_STEP, _NEXT_STEP = sympy.symbols("eta_t eta_next", positive=True)
_NEXT_RESIDUAL = sympy.Symbol("e_next", real=True)
_EXCESS = sympy.Symbol("y", nonnegative=True)
"""b = y/(1 + y) runs through [0, 1) where y runs through [0, ∞)."""


def _one_worker(bound: sympy.Expr) -> sympy.Expr:
    x, e = sympy.symbols("x e", real=True)
    corrected = e + eta * gradient
    sent = sympy.Function("C")(corrected)
    return sympy.expand((x - sent) - (corrected - sent) - bound.subs(virtual_iterate, x - e))


def _all_workers(bound: sympy.Expr) -> sympy.Expr:
    x = sympy.Symbol("x", real=True)
    e, g, sent = (sympy.IndexedBase(name, real=True) for name in ("e", "g", "C"))

    def mean(term: sympy.Expr) -> sympy.Expr:
        return sympy.Sum(term, (i, 1, n)) / n

    following = (x - mean(sent[i])) - mean(e[i] + eta * g[i] - sent[i])
    uncompressed = bound.subs({virtual_iterate: x - mean(e[i]), gradient: mean(g[i])}, simultaneous=True)
    return (following - uncompressed).expand()


def _conservation() -> sympy.Expr:
    """Sent and kept, less what was applied, at T + 1 minus the same at T."""
    e, g, step, sent = sympy.symbols("e_T g_T eta_T C_T", real=True)
    total_sent, total_applied = sympy.symbols("sent applied", real=True)
    before = total_sent + e - total_applied
    after = (total_sent + sent) + (e + step * g - sent) - (total_applied + step * g)
    return sympy.expand(after - before)


def _replayed_residual() -> sympy.Expr:
    return _added_term() - (_STEP - _NEXT_STEP) * _NEXT_RESIDUAL


def _added_term() -> sympy.Expr:
    """x̃_{t+1} − x̃_t + η_t g_t with the memory of raw gradients, in terms of e_{t+1}."""
    x, e = sympy.symbols("x e", real=True)
    sent = e + gradient - _NEXT_RESIDUAL
    following = (x - _STEP * sent) - _NEXT_STEP * _NEXT_RESIDUAL
    return sympy.expand(following - (x - _STEP * e) + _STEP * gradient)


def _vanishes_if_constant() -> sympy.Basic:
    residual = sympy.Symbol("e_next", real=True, nonzero=True)
    roots = sympy.solve(_added_term().subs(_NEXT_RESIDUAL, residual), _NEXT_STEP)
    return sympy.And(sympy.Eq(len(roots), 1), sympy.Eq(roots[0], _STEP))


def _drift(bound: sympy.Expr) -> sympy.Basic:
    slack = sympy.Symbol("slack", nonnegative=True)
    energy = RESIDUAL_MINKOWSKI.subs(eta, 1) - slack
    excess = sympy.expand(step_variation * (step_variation * energy) - bound)
    return sympy.true if excess.is_nonpositive else sympy.false


def _drift_attained() -> sympy.Expr:
    """e = a(e + 1)·√σ² at rest, and the drift is V·e after one change of the step."""
    e = sympy.Symbol("e")
    magnitude = sympy.Symbol("s", nonnegative=True)
    at_rest = sympy.solve(sympy.Eq(e, ROOT * (e + magnitude)), e)[0]
    bound = (step_variation**2 * RESIDUAL_MINKOWSKI.subs(eta, 1)).subs(
        {delta: 1 - ROOT**2, sigma_squared: magnitude**2}
    )
    return sympy.simplify((step_variation * at_rest) ** 2 - bound)


def _kept(expression: sympy.Expr) -> sympy.Expr:
    return sympy.cancel(expression.subs(balance, _EXCESS / (1 + _EXCESS)))


def _top(vector: Vector, count: int) -> Vector:
    """The `count` largest magnitudes, by signs that sympy proves; an undecided comparison is an error."""
    kept: set[int] = set()
    for rank in range(count):
        rest = [position for position in range(len(vector)) if position not in kept]
        largest = [a for a in rest if all(sympy.factor(vector[a] ** 2 - vector[b] ** 2).is_nonnegative for b in rest)]
        if not largest:
            raise ValueError(f"no coordinate is the largest after {rank} of {vector}")
        kept.add(largest[0])
    return tuple(value if position in kept else sympy.Integer(0) for position, value in enumerate(vector))


def _mean_error_ratio(workers: Sequence[Vector], count: int) -> sympy.Expr:
    sent = [_top(vector, count) for vector in workers]
    means = [sympy.Add(*column) / len(workers) for column in zip(*workers, strict=True)]
    errors = [
        mean - sympy.Add(*column) / len(workers) for mean, column in zip(means, zip(*sent, strict=True), strict=True)
    ]
    return sympy.cancel(sympy.Add(*(x**2 for x in errors)) / sympy.Add(*(x**2 for x in means)))


def _family_ratio(worker_count: int, dimension: int, count: int) -> sympy.Expr:
    b = _EXCESS / (1 + _EXCESS)
    cancelling, zeros = (sympy.Integer(2),) * (count - 1), (sympy.Integer(0),) * (dimension - count - 1)
    first = (*cancelling, sympy.Integer(1), b, *zeros)
    second = (*(-value for value in cancelling), -b, sympy.Integer(-1), *zeros)
    idle = (sympy.Integer(0),) * dimension
    return _mean_error_ratio((first, second, *(idle,) * (worker_count - 2)), count)


def _all_sizes(bound: sympy.Expr) -> sympy.Basic:
    sizes = range(2, EXPLICIT_WORKERS + 1)
    ratios = [_family_ratio(workers, size, count) for workers in sizes for size in sizes for count in range(1, size)]
    return sympy.And(*(sympy.Eq(sympy.cancel(ratio - _kept(bound)), 0) for ratio in ratios))


def _any_ratio(bound: sympy.Expr) -> sympy.Basic:
    root = sympy.Symbol("sqrt_R", nonnegative=True)
    value = root / (1 + root)
    below_one = sympy.cancel(1 - value).is_positive
    return sympy.And(sympy.Eq(sympy.cancel(bound.subs(balance, value) - root**2), 0), sympy.sympify(below_one))


def _cancelling_example() -> sympy.Expr:
    b = sympy.Rational(9, 10)
    return _mean_error_ratio(((sympy.Integer(1), b), (sympy.Integer(-1), b)), 1) - 1


STATEMENTS = by_label(
    __name__, virtual_iterate=uncompressed_path, step_outside=step_outside, mean_of_local_top_k=mean_of_local_top_k
)
"""The statements of this file."""
