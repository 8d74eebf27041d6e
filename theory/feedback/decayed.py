"""What does a decay of the residual change? u = βe + h: the memory is shorter, and what it forgets is lost.

With β < 1 the residual is smaller, the virtual iterate is pushed by what was forgotten, and of a constant gradient a
fixed share never arrives. h is ηg, or what H local steps change. The form is that of SparseLoCo (arXiv 2508.15706),
whose paper was not read; nothing here is taken from it. Rates: `local_steps.py`, `decayed_descent.py`. Ours.
"""

import sympy

from sparsync.theory.feedback.residual import DELTA_DOMAIN, KEPT_BACK, RESIDUAL_MINKOWSKI, ROOT, at_root
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    T,
    d,
    delta,
    eta,
    forgotten_energy,
    i,
    k,
    mean_change,
    mean_residual,
    n,
    next_virtual_iterate,
    ratio,
    residual_decay,
    residual_energy,
    sigma_squared,
    virtual_iterate,
)

DECAY_DOMAIN = (sympy.Le(residual_decay, 1),)
"""0 ≤ β ≤ 1; the lower end comes with the symbol."""
DECAYED_UPDATE = r"$u_t=\beta e_t+h_t$, $e_{t+1}=u_t-C(u_t)$, $e_0=0$"
BOUNDED_CHANGE = Given(
    "change_energy",
    r"\mathbb{E}\,\lVert h_t\rVert^{2}",
    "≤",
    eta**2 * sigma_squared,
    r"{}, for $h_t=\eta g_t$ or for what local steps change",
)

BETA_ODDS = sympy.Symbol("z", nonnegative=True)
"""β = 1/(1 + z) runs through (0, 1] where z runs through [0, ∞)."""
ODDS = sympy.Symbol("y", positive=True)
"""a = 1/(1 + y) runs through (0, 1)."""

_A = sympy.sqrt(1 - delta)
_PUSH = eta * sympy.sqrt(sigma_squared)
KEPT = _A / (1 - residual_decay * _A)
"""ρ = a/(1 − βa): the largest residual, in pushes ησ."""
DECAYED_RESIDUAL = KEPT**2 * eta**2 * sigma_squared
"""The bound of `decayed_residual`."""

_R, _H, _C = sympy.symbols("r h c", real=True)
_TIME = sympy.Symbol("t", integer=True, nonnegative=True)


def decayed_residual() -> Statement:
    """E‖e_t‖² ≤ (1 − δ)η²σ²/(1 − βa)², a = √(1 − δ), for all t: no smaller constant is true.

    A memory that loses 1 − β = m(1 − a)/a per step has a residual of 1/(1 + m) times the length: what a decay takes
    off it is large once 1 − β is larger than 1 − a, which is about δ/2.

    Source: ours; for β = 1 it is `residual_minkowski`.
    """
    return Statement(
        label="decayed_residual",
        title="energy kept back by a memory that decays, sharp",
        assumptions=(DECAYED_UPDATE, KEPT_BACK, BOUNDED_CHANGE),
        relation=sympy.Le(residual_energy, DECAYED_RESIDUAL, evaluate=False),
        domain=(*DELTA_DOMAIN, *DECAY_DOMAIN),
        source="ours",
        derivation=(
            *recursion_steps(),
            Step("ησρ(1 − (βa)^t) is at most ησρ, ρ = a/(1 − βa), whose square is the bound", _level, DECAYED_RESIDUAL),
            Step("for δ = 1 it is 0, for β = 0 it is (1 − δ)η²σ²", _ends),
            Step("for β = 1 it is `residual_minkowski`", lambda: _undecayed(DECAYED_RESIDUAL - RESIDUAL_MINKOWSKI)),
            Step("1 − β = m(1 − a)/a divides ρ by 1 + m: a/(1 − βa) = a/((1 − a)(1 + m))", _shortened),
            Step("C(u) = (1 − a)u and a constant h attain the recursion at every t", _attained),
        ),
    )


def decayed_virtual_iterate() -> Statement:
    """x̃⁺ = x̃ − Δ̄ + (1 − β)ē for x̃ = x − ē, whatever is sent: what the memory forgets pushes x̃ back.

    For x − βē it is the same with the residual after the step: (x − βē)⁺ = (x − βē) − Δ̄ + (1 − β)ē⁺. That one is
    nearer to x, by the factor β, and is x itself for β = 0; the rate of `local_steps.py` uses it.

    Source: ours; for β = 1 it is `virtual_iterate`.
    """
    bound = virtual_iterate - mean_change + (1 - residual_decay) * mean_residual
    return Statement(
        label="decayed_virtual_iterate",
        title="a memory that decays loses a share of the residual per step",
        assumptions=(
            r"$\tilde{x}=x-\bar{e}$, and a bar is the mean over the workers",
            r"$u_i=\beta e_i+\Delta_i$, $x^{+}=x-\frac{1}{n}\sum_i C_i(u_i)$, $e_i^{+}=u_i-C_i(u_i)$, any $C_i$, any "
            r"$\Delta_i$",
        ),
        relation=sympy.Eq(next_virtual_iterate, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("n workers: (x − mean C_i(u_i)) − mean e_i⁺ = x̃ − Δ̄ + (1 − β)ē", lambda: _moved(bound), bound),
            Step("x − βē moves by −Δ̄ + (1 − β)ē⁺", _moved_nearer),
            Step("β = 1: x̃ moves by −Δ̄", lambda: bound.subs(residual_decay, 1) - virtual_iterate + mean_change),
            Step("Σ_{t<T} sent + e_T + (1 − β) Σ_{t<T} e_t − Σ_{t<T} Δ_t does not change with T: it is e_0", _account),
        ),
    )


def forgotten_mass() -> Statement:
    """E‖Σ_{t<T} h_t − Σ_{t<T} C(u_t) − e_T‖² ≤ ((1 − β)ρησ(T − (1 − (βa)^T)/(1 − βa)))², ρ = a/(1 − βa).

    It is attained for every T by a constant gradient and C(u) = (1 − a)u: of all that is created the share
    (1 − β)a/(1 − βa) is lost in the long run. Of Top-k and d equal gradients see `decayed_drift_equal`.

    Source: ours.
    """
    bound = ((1 - residual_decay) * KEPT * _PUSH * _counted(_A)) ** 2
    return Statement(
        label="forgotten_mass",
        title="what a memory that decays has lost after T steps, sharp",
        assumptions=(DECAYED_UPDATE, KEPT_BACK, BOUNDED_CHANGE),
        relation=sympy.Le(forgotten_energy, bound, evaluate=False),
        domain=(*DELTA_DOMAIN, *DECAY_DOMAIN),
        source="ours",
        derivation=(
            *recursion_steps(),
            Step("Σ_{t<T} sent + e_T + (1 − β) Σ_{t<T} e_t − Σ_{t<T} h_t does not change with T: it is e_0", _account),
            Step(
                "E(Σ e_t)² ≤ (Σ √E e_t²)²: one more term r, with E⟨S, e⟩ ≤ sr, gives (s + r)² at most",
                _one_more_term,
                argued="that E⟨S, e⟩ ≤ sr, by Cauchy and Schwarz",
            ),
            Step("Σ_{t<T} ησρ(1 − (βa)^t) = ησρ(T − (1 − (βa)^T)/(1 − βa))", _sum_of_levels),
            Step("times 1 − β, squared, it is the bound", lambda: _forgotten(bound), concludes=bound),
            Step("C(u) = (1 − a)u and a constant h attain the recursion at every t", _attained),
            Step("over T²η²σ² the bound tends to ((1 − β)ρ)²", lambda: _lost_share(bound)),
        ),
    )


def decayed_drift_equal() -> Statement:
    """Top-k, a constant gradient of equal magnitudes, k | d: ε = 1 − (1 − β^N)²/(N − 2βs + β²s₂), N = d/k.

    s = (1 − β^N)/(1 − β) and s₂ = (1 − β^{2N})/(1 − β²). Each coordinate is sent every N-th step, at (1 − β^N)/(1 − β)
    increments. So δ/κ falls from 3 at β = 1 to 1 as κ → 0 at a fixed β < 1, and s/N of what is created is sent. Were
    rates to differ, no bound better than 1 − κ would be true for a fixed β < 1: coordinates that are hardly ever sent
    stay near the threshold. The noise twin, a decaying random walk, has no closed form known to us.

    Source: ours; its limit β → 1 is `steady_drift_equal`.
    """
    bound = 1 - 1 / _cycle_energy(d / k)
    return Statement(
        label="decayed_drift_equal",
        title="Top-k with a memory that decays, constant equal magnitudes",
        assumptions=(
            r"$g$ constant, $|g_i|>0$ the same for all $i$",
            r"$u=\beta e+\eta g$ with a fixed $\eta>0$, $e^{+}=u-\mathrm{Top}_k(u)$, $e_0=0$; the step is $d/k$ or "
            r"later",
        ),
        relation=sympy.Eq(ratio, bound, evaluate=False),
        domain=(sympy.Le(k, d), sympy.Eq(sympy.Mod(d, k), 0), sympy.Lt(residual_decay, 1)),
        source="ours",
        derivation=(
            Step("after j increments a coordinate is at (1 − β^j)/(1 − β), which grows with j", _levels_grow),
            Step(
                "so the d − (t−1)k coordinates at the highest level t hold the k sent, as without a decay",
                _top_level,
                argued="that Top-k sends by level, and levels keep their order",
            ),
            Step("Σ_{j≤N} ((1 − β^j)/(1 − β^N))² in closed form", _sum_of_squares),
            Step("one of every N levels is sent: ε = 1 − 1/Σ", lambda: 1 - 1 / _cycle_energy(d / k) - bound, bound),
            Step("β → 1 gives (N + 1)(2N + 1)/(6N), that of `steady_drift_equal`", _limit_without_decay),
            Step("δ/κ → 1 as N → ∞", _limit_of_small_density),
            Step("of N increments (1 − β^N)/(1 − β) arrive", _arriving),
        ),
    )


def recursion_steps() -> tuple[Step, ...]:
    """r_t = √E‖e_t‖² obeys r⁺ ≤ a(βr + ησ), so that r_t ≤ ησρ(1 − (βa)^t)."""
    return (
        Step(
            "E‖βe + h‖² ≤ (βr + ησ)²: with c = E⟨e, h⟩ the difference is 2β(rh − c)",
            lambda: sympy.expand(
                (residual_decay * _R + _H) ** 2
                - (residual_decay**2 * _R**2 + 2 * residual_decay * _C + _H**2)
                - 2 * residual_decay * (_R * _H - _C)
            ),
            argued="that c ≤ rh, by Cauchy and Schwarz",
        ),
        Step("ησρ(1 − (βa)^t) is 0 at t = 0 and becomes a(β· + ησ) of itself at t + 1", _recursion),
    )


def inside(expression: sympy.Expr) -> sympy.Basic:
    """True iff the expression is ≥ 0 for 0 < a < 1, 0 < β ≤ 1: with the odds y and z no coefficient is negative."""
    odds = {ROOT: 1 / (1 + ODDS), residual_decay: 1 / (1 + BETA_ODDS)}
    parts = sympy.fraction(sympy.cancel(sympy.together(expression.subs(odds, simultaneous=True))))
    return sympy.sympify(all(sympy.expand(part).is_nonnegative is True for part in parts))


def _level_at(time: sympy.Expr) -> sympy.Expr:
    return ROOT / (1 - residual_decay * ROOT) * (1 - (residual_decay * ROOT) ** time)


def _recursion() -> sympy.Basic:
    following = sympy.simplify(_level_at(_TIME + 1) - ROOT * (residual_decay * _level_at(_TIME) + 1))
    return sympy.And(sympy.Eq(_level_at(sympy.Integer(0)), 0), sympy.Eq(following, 0))


def _level() -> sympy.Basic:
    highest = ROOT / (1 - residual_decay * ROOT)
    reached = sympy.cancel(at_root(DECAYED_RESIDUAL) - (highest * eta) ** 2 * sigma_squared)
    return sympy.And(sympy.Eq(reached, 0), inside(highest), inside(1 - residual_decay * ROOT))


def _ends() -> sympy.Basic:
    whole = DECAYED_RESIDUAL.subs(residual_decay, 0) - (1 - delta) * eta**2 * sigma_squared
    return sympy.And(sympy.Eq(DECAYED_RESIDUAL.subs(delta, 1), 0), sympy.Eq(sympy.expand(whole), 0))


def _undecayed(difference: sympy.Expr) -> sympy.Expr:
    return sympy.simplify(difference.subs(residual_decay, 1))


def _shortened() -> sympy.Expr:
    lost = sympy.Symbol("m", nonnegative=True)
    decay = 1 - lost * (1 - ROOT) / ROOT
    return sympy.cancel(ROOT / (1 - decay * ROOT) - ROOT / ((1 - ROOT) * (1 + lost)))


def _attained() -> sympy.Expr:
    """u = βe + h, and what (1 − a)u leaves is au: the recursion with equality."""
    u = residual_decay * _R + _H
    return sympy.expand((u - (1 - ROOT) * u) - ROOT * (residual_decay * _R + _H))


def _means() -> tuple[sympy.Expr, sympy.Expr, sympy.Expr, sympy.Expr]:
    """mean C_i, mean e_i, mean e_i⁺ and mean Δ_i, as sums."""
    e, change, sent = (sympy.IndexedBase(name, real=True) for name in ("e", "Delta", "C"))

    def mean(term: sympy.Expr) -> sympy.Expr:
        return sympy.Sum(term, (i, 1, n)) / n

    kept = residual_decay * e[i] + change[i] - sent[i]
    return mean(sent[i]), mean(e[i]), mean(kept), mean(change[i])


def _moved(bound: sympy.Expr) -> sympy.Expr:
    x = sympy.Symbol("x", real=True)
    sent, kept, following, change = _means()
    values = {virtual_iterate: x - kept, mean_change: change, mean_residual: kept}
    return sympy.expand(((x - sent) - following - bound.subs(values, simultaneous=True)).expand())


def _moved_nearer() -> sympy.Expr:
    x = sympy.Symbol("x", real=True)
    sent, kept, following, change = _means()
    claimed = (x - residual_decay * kept) - change + (1 - residual_decay) * following
    return sympy.expand(((x - sent) - residual_decay * following - claimed).expand())


def _account() -> sympy.Expr:
    """Sent, kept and forgotten, less what was created, at T + 1 minus the same at T."""
    e, change, sent = sympy.symbols("e_T Delta_T C_T", real=True)
    total_sent, total_kept, total_created = sympy.symbols("sent kept created", real=True)
    lost = 1 - residual_decay
    before = total_sent + e + lost * total_kept - total_created
    following = residual_decay * e + change - sent
    after = (total_sent + sent) + following + lost * (total_kept + e) - (total_created + change)
    return sympy.expand(after - before)


def _one_more_term() -> sympy.Expr:
    total = sympy.Symbol("s", real=True)
    return sympy.expand((total + _R) ** 2 - (total**2 + 2 * _C + _R**2) - 2 * (total * _R - _C))


def _counted(root: sympy.Expr) -> sympy.Expr:
    """T − (1 − (βa)^T)/(1 − βa)."""
    return T - (1 - (residual_decay * root) ** T) / (1 - residual_decay * root)


def _sum_of_levels() -> sympy.Basic:
    total = ROOT / (1 - residual_decay * ROOT) * _counted(ROOT).subs(T, _TIME)
    moved = sympy.simplify(total.subs(_TIME, _TIME + 1) - total - _level_at(_TIME))
    return sympy.And(sympy.Eq(sympy.simplify(total.subs(_TIME, 0)), 0), sympy.Eq(moved, 0))


def _forgotten(bound: sympy.Expr) -> sympy.Expr:
    length = (1 - residual_decay) * ROOT / (1 - residual_decay * ROOT) * _PUSH * _counted(ROOT)
    return sympy.simplify(bound.subs(delta, 1 - ROOT**2) - length**2)


def _lost_share(bound: sympy.Expr) -> sympy.Expr:
    """With (βa)^T = 0, which it tends to; T² is what remains of the count."""
    power = sympy.Symbol("power")
    value = bound.subs(delta, 1 - ROOT**2).subs((residual_decay * ROOT) ** T, power).subs(power, 0)
    share = sympy.limit(sympy.cancel(value / (T**2 * eta**2 * sigma_squared)), T, sympy.oo)
    return sympy.simplify(share - ((1 - residual_decay) * ROOT / (1 - residual_decay * ROOT)) ** 2)


_CYCLE = sympy.Symbol("N", integer=True, positive=True)
_INCREMENT = sympy.Symbol("j", integer=True, positive=True)
_BETA = sympy.Symbol("beta", positive=True)


def _cycle_energy(cycle: sympy.Expr, decay: sympy.Expr = residual_decay) -> sympy.Expr:
    """Σ_{j≤N} ((1 − β^j)/(1 − β^N))²."""
    first = (1 - decay**cycle) / (1 - decay)
    second = (1 - decay ** (2 * cycle)) / (1 - decay**2)
    return (cycle - 2 * decay * first + decay**2 * second) / (1 - decay**cycle) ** 2


def _levels_grow() -> sympy.Basic:
    """u_{j+1} = βu_j + 1 from u_0 = 0; and the next exceeds it by β^j."""
    level = (1 - _BETA**_INCREMENT) / (1 - _BETA)
    following = level.subs(_INCREMENT, _INCREMENT + 1)
    recursion = sympy.simplify(following - (_BETA * level + 1))
    growth = sympy.simplify(following - level - _BETA**_INCREMENT)
    return sympy.And(sympy.Eq(recursion, 0), sympy.Eq(growth, 0), sympy.sympify((_BETA**_INCREMENT).is_positive))


def _top_level() -> sympy.Basic:
    step = sympy.Symbol("t", integer=True, positive=True)
    remaining = sympy.Symbol("s", integer=True, nonnegative=True)

    def count(at: sympy.Expr) -> sympy.Expr:
        return d - (at - 1) * k

    surplus = sympy.expand((count(step) - k).subs(d, (step + remaining) * k))
    recursion = sympy.expand(count(step) - k - count(step + 1))
    return sympy.And(
        sympy.Eq(recursion, 0), sympy.sympify(bool(surplus.is_nonnegative)), sympy.Eq(surplus.subs(remaining, 0), 0)
    )


def _sum_of_squares() -> sympy.Basic:
    """The sum of (1 − β^j)² up to N: 0 for N = 0, and it grows by the next term."""

    def closed(cycle: sympy.Expr) -> sympy.Expr:
        return _cycle_energy(cycle, _BETA) * (1 - _BETA**cycle) ** 2

    index = sympy.Symbol("N", integer=True, positive=True)
    growth = sympy.simplify(closed(index + 1) - closed(index) - (1 - _BETA ** (index + 1)) ** 2)
    first = sympy.simplify(closed(sympy.Integer(1)) - (1 - _BETA) ** 2)
    return sympy.And(sympy.Eq(growth, 0), sympy.Eq(first, 0))


def _limit_without_decay() -> sympy.Basic:
    """Each level (1 − β^j)/(1 − β^N) tends to j/N, whose squares sum to (N + 1)(2N + 1)/(6N)."""
    level = sympy.limit((1 - _BETA**_INCREMENT) / (1 - _BETA**_CYCLE), _BETA, 1)
    total = sympy.summation((_INCREMENT / _CYCLE) ** 2, (_INCREMENT, 1, _CYCLE))
    difference = sympy.simplify(total - (_CYCLE + 1) * (2 * _CYCLE + 1) / (6 * _CYCLE))
    return sympy.And(sympy.Eq(sympy.simplify(level - _INCREMENT / _CYCLE), 0), sympy.Eq(difference, 0))


def _limit_of_small_density() -> sympy.Expr:
    """N/Σ with β^N = 0, which it tends to for β < 1."""
    power = sympy.Symbol("power")
    energy = _cycle_energy(_CYCLE, _BETA).subs(_BETA ** (2 * _CYCLE), power**2).subs(_BETA**_CYCLE, power)
    return sympy.limit(sympy.cancel(_CYCLE / energy.subs(power, 0)), _CYCLE, sympy.oo) - 1


def _arriving() -> sympy.Basic:
    """The geometric sum is 1 for N = 1, and grows by β^N."""
    sent = (1 - _BETA**_CYCLE) / (1 - _BETA)
    growth = sympy.simplify(sent.subs(_CYCLE, _CYCLE + 1) - sent - _BETA**_CYCLE)
    return sympy.And(sympy.Eq(sympy.simplify(sent.subs(_CYCLE, 1) - 1), 0), sympy.Eq(growth, 0))


STATEMENTS = by_label(__name__, decayed_residual, decayed_virtual_iterate, forgotten_mass, decayed_drift_equal)
"""The statements of this file."""
