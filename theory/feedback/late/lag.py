"""By how many steps does error feedback trail SGD? The energy that is sent and not created says so.

Let m be the persistent part of the gradient and e the residual. To first order the loss feels of the residual only
Λ = ⟨m, mean e⟩/‖m‖²: the steps by which what has arrived of m trails what SGD would have applied. Energy balance gives
Λ for every selector, and of a constant gradient no selector has less than φ/(2κ) − 1/2, where φ ≤ 1 says how flat m is.
Coordinates under noise: `coordinate_lag.py`; what momentum makes of it: `sending_periods.py`. Ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.feedback.residual import jensen_step
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    created_energy,
    first_energy,
    flatness,
    kappa,
    lag,
    last_energy,
    persistent_energy,
    sent_energy,
    total_aligned,
    total_created,
    total_sent,
)

WHOLE = r"$u_t=e_t+g_t$, $e_{t+1}=u_t-C(u_t)$, and every entry of $C(u)$ is $0$ or that of $u$"
"""Error feedback with any selector that sends whole entries."""
PERSISTENT = r"$g_t=m\neq0$ at every step"
CYCLES = (
    r"$\Lambda$ and $\kappa$, the share of entries sent, are means over a period that leaves the residual as it was"
)
FLATNESS = r"$\varphi=\lVert m\rVert_1^{2}/(d\lVert m\rVert^{2})$"
DENSITY_DOMAIN = (sympy.Le(kappa, 1), sympy.Le(flatness, 1))

_E, _G, _U = sympy.symbols("e g u", real=True)
_SENT = sympy.Symbol("s", real=True)
"""1 where an entry is sent, 0 where not: s² = s."""
_PLACE = sympy.Symbol("j", integer=True, nonnegative=True)


def feedback_energy() -> Statement:
    """Σ‖C(u_t)‖² = Σ‖g_t‖² + 2 Σ⟨e_t, g_t⟩ + ‖e_0‖² − ‖e_T‖², on every path, for any gradients.

    It fails for compressors that change what they send: scaling by 1/2 sends a quarter of the energy.

    Source: ours.
    """
    bound = total_created + 2 * total_aligned + first_energy - last_energy
    return Statement(
        label="feedback_energy",
        title="Energy that error feedback sends, any selector",
        assumptions=(WHOLE,),
        relation=sympy.Eq(total_sent, bound),
        domain=(),
        source="ours",
        derivation=(
            _step_energy(),
            Step("so both sides of the sum grow by the same in step T", lambda: _telescopes(bound), concludes=bound),
            Step("for T = 0 both sides are zero", lambda: _at_start(bound)),
        ),
    )


def energy_lag() -> Statement:
    """Λ = (E‖C(u)‖² − E‖g‖²)/(2‖m‖²) at rest: the lag is what is sent above what is created, in steps of m.

    Source: ours.
    """
    bound = (sent_energy - created_energy) / (2 * persistent_energy)
    return Statement(
        label="energy_lag",
        title="Lag of error feedback at rest, any selector",
        assumptions=(
            WHOLE,
            r"given all before step $t$, $\mathbb{E}\,g_t=m\neq0$, the same at every step",
            r"$\mathbb{E}\,\lVert e_t\rVert^{2}$ and $\mathbb{E}\,e_t$ do not change with $t$",
        ),
        relation=sympy.Eq(lag, bound),
        domain=(),
        source="ours",
        derivation=(
            _step_energy(),
            Step("E⟨e, g⟩ = ⟨E e, m⟩ = Λ‖m‖²", None, argued="e is known before g is drawn, and E g = m then"),
            Step(
                "at rest nothing of ‖e‖² is gained: sent = created + 2Λ‖m‖²", lambda: _at_rest(bound), concludes=bound
            ),
        ),
    )


def persistent_lag_least() -> Statement:
    """Λ ≥ φ/(2κ) − 1/2 for every selector that sends whole entries; a threshold hit exactly attains it.

    Source: ours.
    """
    bound = flatness / (2 * kappa) - sympy.Rational(1, 2)
    return Statement(
        label="persistent_lag_least",
        title="Least lag of error feedback, persistent gradient, any selector",
        assumptions=(WHOLE, PERSISTENT, CYCLES, FLATNESS),
        relation=sympy.Ge(lag, bound, evaluate=False),
        domain=DENSITY_DOMAIN,
        source="ours",
        derivation=(
            Step("between two sends g steps apart the residual of an entry sums to m g(g − 1)/2", _gap_sum),
            jensen_step("w = 1, y the gaps of an entry"),
            Step("so its mean is at least m(N − 1)/2, N the mean gap", _mean_residual_in_gaps),
            jensen_step("w = 1/N_i, y = |m_i|N_i"),
            Step(
                "Σ m²N ≥ ‖m‖₁²/Σ(1/N) = φ‖m‖²/κ, and Λ = Σ m²(N − 1)/(2‖m‖²)",
                lambda: _from_cycles(_CAUCHY_SCHWARZ) - bound,
                concludes=bound,
            ),
        ),
    )


def persistent_lag_threshold() -> Statement:
    """Λ < φ/(2κ) where every entry is sent at one threshold: rounding to whole steps costs at most the half step.

    With `persistent_lag_least` the lag is known to half a step. Both ends are approached: this one where most of ‖m‖²
    is in entries that are sent at every step.

    Source: ours.
    """
    bound = flatness / (2 * kappa)
    return Statement(
        label="persistent_lag_threshold",
        title="Lag of error feedback at one threshold, persistent gradient",
        assumptions=(
            PERSISTENT,
            r"every entry is sent and set to $0$ as soon as $\lvert u_i\rvert\ge\tau$, with $\tau>0$ and $m_i\neq0$",
            CYCLES,
            FLATNESS,
        ),
        relation=sympy.Le(lag, bound, evaluate=False),
        domain=DENSITY_DOMAIN,
        source="ours",
        derivation=(
            Step(
                "N = ⌈τ/|m|⌉ has τ/|m| ≤ N < τ/|m| + 1, so m²(N − 1) < τ|m| and 1/N ≤ |m|/τ",
                _whole_steps,
            ),
            Step(
                "summed: Λ < τ‖m‖₁/(2‖m‖²) and κ ≤ ‖m‖₁/(τd), so Λ < φ/(2κ)",
                lambda: _from_threshold() - bound,
                concludes=bound,
            ),
        ),
    )


def _step_energy() -> Step:
    return Step("‖C(u)‖² = ‖g‖² + 2⟨e, g⟩ + ‖e‖² − ‖e⁺‖², entry by entry", _energy_of_a_step)


def _energy_of_a_step() -> sympy.Expr:
    corrected = _E + _G
    sent, kept = (_SENT * corrected) ** 2, ((1 - _SENT) * corrected) ** 2
    return sympy.expand(sympy.expand(sent - (_G**2 + 2 * _E * _G + _E**2 - kept)).subs(_SENT**2, _SENT))


def _telescopes(bound: sympy.Expr) -> sympy.Expr:
    """The growth of the bound in a step, less the energy of `_step_energy`."""
    created, aligned, kept = sympy.symbols("gg eg ee", real=True)
    grown = {
        total_created: total_created + created,
        total_aligned: total_aligned + aligned,
        last_energy: kept,
    }
    return sympy.expand(bound.subs(grown, simultaneous=True) - bound - (created + 2 * aligned + last_energy - kept))


def _at_start(bound: sympy.Expr) -> sympy.Expr:
    return bound.subs({total_created: 0, total_aligned: 0, last_energy: first_energy})


def _at_rest(bound: sympy.Expr) -> sympy.Expr:
    balance = created_energy + 2 * lag * persistent_energy - sent_energy
    return sympy.solve(balance, lag)[0] - bound


_NORM = sympy.Symbol("M", positive=True)
"""‖m‖²."""
_SIZE = sympy.Symbol("a", positive=True)
"""|m_i|."""
_LEVEL = sympy.Symbol("tau", positive=True)
_CAUCHY_SCHWARZ = flatness * _NORM / kappa
"""The least Σ m²N: ‖m‖₁²/Σ(1/N) with ‖m‖₁² = φd‖m‖² and Σ(1/N) ≤ κd."""


def _gap_sum() -> sympy.Expr:
    gap = sympy.Symbol("g", integer=True, positive=True)
    return sympy.expand(sympy.summation(_SIZE * _PLACE, (_PLACE, 0, gap - 1)) - _SIZE * gap * (gap - 1) / 2)


def _mean_residual_in_gaps() -> sympy.Expr:
    """J gaps that sum to P = JN have Σ g² ≥ P²/J."""
    gap_count, mean_gap = sympy.symbols("J N", positive=True)
    whole = gap_count * mean_gap
    return sympy.expand(_SIZE * (whole**2 / gap_count - whole) / (2 * whole) - _SIZE * (mean_gap - 1) / 2)


def _from_cycles(weighted_cycles: sympy.Expr) -> sympy.Expr:
    """Λ from Σ m²N."""
    return sympy.expand((weighted_cycles - _NORM) / (2 * _NORM))


def _whole_steps() -> sympy.Basic:
    """With N = τ/a + f, 0 ≤ f < 1, written f = 1/(1 + y), or 0."""
    odds = sympy.Symbol("y", positive=True)
    room = [
        sympy.expand(_LEVEL * _SIZE - _SIZE**2 * (_LEVEL / _SIZE + part - 1)) for part in (sympy.S.Zero, 1 / (1 + odds))
    ]
    slower = sympy.factor(_SIZE / _LEVEL - 1 / (_LEVEL / _SIZE + 1 / (1 + odds)))
    return decided(all(sympy.factor(each).is_positive for each in room) and slower.is_positive)


def _from_threshold() -> sympy.Expr:
    """τ‖m‖₁/(2‖m‖²) at the largest τ = ‖m‖₁/(κd)."""
    total, dimension = sympy.symbols("m_1 d", positive=True)
    largest = total / (kappa * dimension)
    return (largest * total / (2 * _NORM)).subs(total, sympy.sqrt(flatness * dimension * _NORM))


STATEMENTS = by_label(__name__, feedback_energy, energy_lag, persistent_lag_least, persistent_lag_threshold)
"""The statements of this file."""
