"""How much does Top-k capture once error feedback has run for long? Laws of the residual it settles into.

Idealised model: a coordinate adds its increment to its residual at every step and is sent, and set back to zero, when
its magnitude has reached the threshold τ; the density κ is the share of coordinates sent per step, and the ratio is
1 − (energy sent per step)/(energy of u per step). Coordinate i needs N_i increments of size τ/N_i to cross. Ours.
"""

import sympy

from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, k, kappa, ratio

DENSITY_DOMAIN = (sympy.Le(kappa, 1),)

CYCLE = sympy.Symbol("N", integer=True, positive=True)
"""Increments from zero to the threshold."""
LEVEL = sympy.Symbol("j", integer=True, nonnegative=True)
"""A value of u in units of its increment."""
RATE = sympy.Symbol("r", positive=True)
"""Sends per step of one coordinate; their mean over the coordinates is κ."""
SPREAD = sympy.Symbol("V", nonnegative=True)
"""Variance of the rates over the coordinates."""


def steady_drift() -> Statement:
    """Persistent gradients: ε ≤ (1 − κ)/(1 + 2κ), so δ ≥ 3κ/(1 + 2κ), whatever the coordinates' rates.

    Source: ours.
    """
    bound = (1 - kappa) / (1 + 2 * kappa)
    return Statement(
        label="steady_drift",
        title="Threshold under error feedback, persistent gradient, any rates",
        assumptions=(
            r"from $0$, every coordinate adds a constant $\tau/N_i$ per step, $N_i$ a positive integer, and is sent "
            r"and set to $0$ at $\tau$",
            r"$\kappa$ is the mean of $1/N_i$, and energies are summed over a common period of the $N_i$",
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=DENSITY_DOMAIN,
        source="ours",
        derivation=(
            *_drift_steps(),
            Step("r ∈ (0, 1] gives E r² ≤ E r: V ≤ κ − κ²", _largest_spread),
            Step("δ falls with V", _decreases_in_spread),
            Step(
                "at V = κ − κ² the ratio is (1 − κ)/(1 + 2κ)",
                lambda: 1 - _drift_capture().subs(SPREAD, kappa - kappa**2) - bound,
                concludes=bound,
            ),
        ),
    )


def steady_drift_equal() -> Statement:
    """Top-k, a constant gradient of equal magnitudes, k | d: ε = (1 − κ)(2 − κ)/((1 + κ)(2 + κ)); δ/κ → 3.

    No idealisation: from a zero residual, d/k steps lead to the levels 1, …, d/k, each taken by k coordinates, and the
    highest level is sent at every step from then on.

    Source: ours.
    """
    bound = (d - k) * (2 * d - k) / ((d + k) * (2 * d + k))
    in_density = bound.subs({k: kappa * d})
    return Statement(
        label="steady_drift_equal",
        title="Top-k under error feedback, constant gradient of equal magnitudes",
        assumptions=(
            r"the gradient is constant, $\lvert g_i\rvert>0$ the same for all $i$, $k$ divides $d$",
            r"$u=e+\eta g$ with a fixed $\eta>0$, $e^{+}=u-\mathrm{Top}_k(u)$, $e_0=0$; the step is $d/k$ or later",
        ),
        relation=sympy.Eq(ratio, bound, evaluate=False),
        domain=(sympy.Eq(sympy.Mod(d, k), 0),),
        source="ours",
        derivation=(
            Step(
                "before step t < d/k sends, d − (t−1)k coordinates are at level t and k at each lower one", _top_level
            ),
            Step("these are at least k, and exactly k at t = d/k", _top_level_suffices),
            *_drift_steps(),
            Step(
                "equal rates have V = 0, and with κ = k/d the ratio is (d − k)(2d − k)/((d + k)(2d + k))",
                lambda: 1 - _drift_capture().subs({SPREAD: 0, kappa: k / d}, simultaneous=True) - bound,
                concludes=bound,
            ),
            Step("δ/κ → 3 as κ → 0", lambda: sympy.limit((1 - in_density) / kappa, kappa, 0) - 3),
            Step("(1 − κ)³ lies below: feedback does not keep the third rung", lambda: _exceeds_cube(in_density)),
        ),
    )


def steady_noise() -> Statement:
    """Pure noise: ε = (1 − κ)/(1 + 5κ), so δ = 6κ/(1 + 5κ), whatever the coordinates' scales.

    Each coordinate is a symmetric random walk with steps ±τ/N_i, sent on reaching ±τ, after N_i² steps on the average;
    energies are means over many steps.

    Source: ours.
    """
    bound = (1 - kappa) / (1 + 5 * kappa)
    return Statement(
        label="steady_noise",
        title="Threshold under error feedback, pure noise, any scales",
        assumptions=(
            r"from $0$, every coordinate moves by $\pm\tau/N_i$ with equal chance per step, whatever came before, "
            r"and is sent and set to $0$ at $\pm\tau$; $N_i$ is a positive integer",
            r"$\kappa$ is the mean of $1/N_i^2$, and energies are means over the first $t$ steps, as $t\to\infty$",
        ),
        relation=sympy.Eq(ratio, bound, evaluate=False),
        domain=DENSITY_DOMAIN,
        source="ours",
        derivation=(
            Step(
                "visits G(j) = N − |j| per cycle solve G(j) = (G(j−1) + G(j+1))/2 for 0 < j < N", _visits_are_harmonic
            ),
            Step("and G(0) = 1 + (G(−1) + G(1))/2, G(N) = 0: each cycle starts at zero and ends at N", _visits_at_ends),
            Step("a cycle lasts Σ G = N² steps, so r = 1/N²", lambda: _sum_of_visits(1) - CYCLE**2),
            Step("Σ j² G(j) = N²(N² − 1)/6", lambda: _sum_of_visits(LEVEL**2) - CYCLE**2 * (CYCLE**2 - 1) / 6),
            Step("with the N² of the sent value, u² sums to N²(N² + 5)/6 per cycle", _noise_energy),
            Step(
                "energy per step in units of τ²: sent r, in all (1 + 5r)/6, both linear in r", _noise_energy_is_linear
            ),
            Step(
                "averaged over coordinates: ε = 1 − 6κ/(1 + 5κ)",
                lambda: 1 - _noise_capture(kappa) - bound,
                concludes=bound,
            ),
            Step("δ/κ → 6 as κ → 0", lambda: sympy.limit((1 - bound) / kappa, kappa, 0) - 6),
        ),
    )


def _drift_steps() -> tuple[Step, ...]:
    return (
        Step("a cycle of N steps visits τ/N, 2τ/N, …, τ, with energy τ²(N + 1)(2N + 1)/(6N)", _drift_energy),
        Step("energy per step in units of τ²: sent r, in all (1 + r)(2 + r)/6, for r = 1/N", _drift_energy_per_step),
        Step("averaged over coordinates with E r = κ, E r² = κ² + V: δ = 6κ/(2 + 3κ + κ² + V)", _drift_average),
    )


def _drift_energy() -> sympy.Expr:
    energy = sympy.summation((LEVEL / CYCLE) ** 2, (LEVEL, 1, CYCLE))
    return energy - (CYCLE + 1) * (2 * CYCLE + 1) / (6 * CYCLE)


def _drift_energy_per_step() -> sympy.Expr:
    energy = sympy.summation((LEVEL / CYCLE) ** 2, (LEVEL, 1, CYCLE)) / CYCLE
    return energy.subs(CYCLE, 1 / RATE) - (1 + RATE) * (2 + RATE) / 6


def _drift_average() -> sympy.Expr:
    """The polynomial in r is averaged term by term: r → κ, r² → κ² + V."""
    energy = sympy.Poly((1 + RATE) * (2 + RATE) / 6, RATE)
    moments = {0: sympy.Integer(1), 1: kappa, 2: kappa**2 + SPREAD}
    mean = sympy.Add(*(coefficient * moments[power] for (power,), coefficient in energy.terms()))
    return kappa / mean - _drift_capture()


def _drift_capture() -> sympy.Expr:
    return 6 * kappa / (2 + 3 * kappa + kappa**2 + SPREAD)


def _largest_spread() -> sympy.Basic:
    """r − r² is non-negative on (0, 1]; its mean is κ − κ² − V."""
    room = sympy.Symbol("room", nonnegative=True)
    share = 1 / (1 + room)
    return sympy.true if sympy.factor(share - share**2).is_nonnegative else sympy.false


def _decreases_in_spread() -> sympy.Basic:
    return sympy.true if sympy.factor(-sympy.diff(_drift_capture(), SPREAD)).is_positive else sympy.false


def _count_at_top(step: sympy.Expr) -> sympy.Expr:
    return d - (step - 1) * k


def _top_level() -> sympy.Basic:
    """The k sent return to level 1 with the next increment, the others at t go on to t + 1, lower ones keep their k."""
    step = sympy.Symbol("t", integer=True, positive=True)
    recursion = _count_at_top(step) - k - _count_at_top(step + 1)
    return sympy.And(sympy.Eq(sympy.expand(recursion), 0), sympy.Eq(_count_at_top(sympy.Integer(1)), d))


def _top_level_suffices() -> sympy.Basic:
    step, remaining = sympy.Symbol("t", integer=True, positive=True), sympy.Symbol("s", integer=True, nonnegative=True)
    surplus = sympy.expand((_count_at_top(step) - k).subs(d, (step + remaining) * k))
    return sympy.And(sympy.true if surplus.is_nonnegative else sympy.false, sympy.Eq(surplus.subs(remaining, 0), 0))


def _exceeds_cube(bound: sympy.Expr) -> sympy.Basic:
    """ε − (1 − κ)³ over κ²(1 − κ): positive for 0 < κ < 1, written in κ = 1/(1 + room)."""
    room = sympy.Symbol("room", positive=True)
    numerator, denominator = sympy.fraction(sympy.factor((bound - (1 - kappa) ** 3).subs(kappa, 1 / (1 + room))))
    return sympy.true if sympy.expand(numerator * denominator).is_positive else sympy.false


def _visits(level: sympy.Expr) -> sympy.Expr:
    return CYCLE - sympy.Abs(level)


def _visits_are_harmonic() -> sympy.Expr:
    inner = sympy.Symbol("j", integer=True, positive=True)
    return _visits(inner) - (_visits(inner - 1) + _visits(inner + 1)) / 2


def _visits_at_ends() -> sympy.Basic:
    start = _visits(sympy.Integer(0)) - 1 - (_visits(sympy.Integer(-1)) + _visits(sympy.Integer(1))) / 2
    return sympy.And(sympy.Eq(start, 0), sympy.Eq(_visits(CYCLE), 0))


def _sum_of_visits(weight: sympy.Expr | int) -> sympy.Expr:
    """Σ_{|j| < N} weight(j) G(j) for an even weight."""
    terms = sympy.sympify(weight) * (CYCLE - LEVEL)
    return sympy.expand(2 * sympy.summation(terms, (LEVEL, 1, CYCLE - 1)) + terms.subs(LEVEL, 0))


def _noise_energy() -> sympy.Expr:
    return _sum_of_visits(LEVEL**2) + CYCLE**2 - CYCLE**2 * (CYCLE**2 + 5) / 6


def _noise_energy_is_linear() -> sympy.Expr:
    """Energy per cycle, times the increment's square τ²/N², divided by the N² steps, at N² = 1/r."""
    per_step = (_sum_of_visits(LEVEL**2) + CYCLE**2) / CYCLE**4
    return per_step.subs(CYCLE, 1 / sympy.sqrt(RATE)) - (1 + 5 * RATE) / 6


def _noise_capture(rate: sympy.Expr) -> sympy.Expr:
    return 6 * rate / (1 + 5 * rate)


STATEMENTS = by_label(__name__, steady_drift, steady_drift_equal, steady_noise)
"""The statements of this file."""
