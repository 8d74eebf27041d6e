"""How fast does descent on stale gradients converge if they never turn away from the present one? Coherence.

Dai, Zhou, Dong, Zhang and Xing 2018, as described to us and not read, measure how far gradients of the last steps agree
with the present one, and choose steps by it. Constants, conditions and proof are ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.powers import PowerSum
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, T, coherence, eta, gap, gradient_energy, j, tau, variance

_ROOT, _BEFORE = sympy.symbols("r q", positive=True)
"""√(T + 1) and √T."""
_MORE = sympy.Symbol("more", nonnegative=True)
_NOW = sympy.Symbol("t", integer=True, nonnegative=True)
FOLLOWS_FROM = 7
"""Number of updates from which the form that was described to us follows."""


def coherence_rate() -> Statement:
    """min E‖∇f(x_t)‖² ≤ ((τ + 1)L(f(x_0) − f*)/ν² + σ₀²H_T/(2(τ + 1)))/W_T, W_T = Σ_{j≤T} (1/√j − 1/(2j)) ≥ √T/2.

    H_T = Σ 1/j ≤ 1 + ln T. One update without noise attains it at τ = 0 and ν = 1. As described to us, Dai et al. 2018
    have √T for W_T and σ²ln T/(τ + 1) for the noise: that follows for T ≥ 7, and is false for T = 1, where f = Lx²/2
    has twice as much. The noise term falls with τ because the steps do; ν is a property of the run, which nothing
    guarantees, and the steps need it beforehand.

    Source: form: Dai, Zhou, Dong, Zhang and Xing 2018, not read; ours.
    """
    bound = (_uses() * L * gap / coherence**2 + variance * _harmonic() / (2 * _uses())) / _weights()
    return Statement(
        label="coherence_rate",
        title="Rate of descent on coherent stale gradients",
        assumptions=_assumptions(),
        relation=sympy.Le(gradient_energy, bound, evaluate=False),
        domain=(),
        source="form: Dai et al. 2018, not read; ours",
        derivation=(
            Step(
                "E f(x_{t+1}) ≤ E f(x_t) − η_tνG_t + Lη_t²(G_{t−l} + σ₀²)/2, G_t = E‖∇f(x_t)‖²",
                _one_step,
                argued="for other noise than of two values",
            ),
            Step("x_t is used in τ + 1 steps at most, none before t, and with no larger η", _later_steps_are_shorter),
            Step(
                "so Σ_t (νη_t − (τ + 1)Lη_t²/2)G_t ≤ f(x_0) − f* + Lσ₀²Σ_t η_t²/2, where the weights are "
                "ν²/((τ + 1)L) · (1/√(t + 1) − 1/(2(t + 1))) > 0",
                _weights_at_step,
                argued="the sum over t",
            ),
            Step("Ση_t² = ν²H_T/((τ + 1)L)²", _squares_of_steps),
            Step(
                "the least of the G_t is the right side over the sum of the weights",
                lambda: _least() - bound,
                concludes=bound,
            ),
            Step("T = 1, τ = 0, ν = 1: f = Lx²/2 has ‖∇f‖² = 2L(f − f*), the bound", lambda: _single_update(bound)),
            Step("W_1 = 1/2, and W_T − √T/2 never falls", lambda: _grows(sympy.Rational(1, 2))),
            Step("W_7 > √7, and W_T − √T does not fall from T = 1 on", _reaches_root),
            Step("H_7 < 2 ln 7, and H_T − 2 ln T falls: 1/(T + 1) ≤ ln(1 + 1/T)", _noise_is_smaller),
        ),
    )


def _assumptions() -> tuple[str | Given, ...]:
    return (
        r"$x_{t+1}=x_t-\eta_t g_t$",
        Given("step_size", r"\eta_t", "=", _step(j - 1), words="{} for $j=t+1$"),
        Given(
            "smoothness",
            r"\lVert\nabla f(x)-\nabla f(y)\rVert/\lVert x-y\rVert",
            "≤",
            L,
            words=r"$f\geq f^{*}$, {} for all $x\neq y$",
        ),
        Given("delay", "l", "≤", tau, words=r"$g_t$ is $\nabla f(x_{t-l})$, $0\leq l\leq t$ and {}, and noise"),
        Given(
            "variance",
            r"\mathbb{E}\,\lVert g_t-\nabla f(x_{t-l})\rVert^2",
            "≤",
            variance,
            words="whose mean given all before is $0$, {}",
        ),
        Given(
            "coherence",
            r"\mathbb{E}\langle\nabla f(x_t),\nabla f(x_{t-l})\rangle/\mathbb{E}\lVert\nabla f(x_t)\rVert^2",
            "≥",
            coherence,
        ),
    )


def _uses() -> sympy.Expr:
    """Steps in which one gradient may be used."""
    return tau + 1


def _harmonic() -> sympy.Expr:
    return PowerSum(T, sympy.S.NegativeOne)


def _weight(number: sympy.Expr) -> sympy.Expr:
    return 1 / sympy.sqrt(number) - 1 / (2 * number)


def _weights() -> sympy.Expr:
    """The sum of the weights, power by power."""
    powers = (term.as_coeff_exponent(j) for term in sympy.Add.make_args(sympy.expand(_weight(j))))
    return sympy.Add(*(factor * PowerSum(T, power) for factor, power in powers))


def _step(now: sympy.Expr) -> sympy.Expr:
    return coherence / (_uses() * L * sympy.sqrt(now + 1))


def _one_step() -> sympy.Basic:
    # One coordinate; noise of ±s with variance s², and ⟨∇f(x_t), ∇f(x_{t−l})⟩ = ν‖∇f(x_t)‖² + more.
    present, stale, noise = sympy.symbols("present stale noise", real=True)
    moved = sympy.Add(
        *(-eta * present * (stale + sign * noise) + L * eta**2 * (stale + sign * noise) ** 2 / 2 for sign in (1, -1))
    )
    mean = sympy.expand(moved / 2)
    product = coherence * present**2 + _MORE
    claimed = -eta * coherence * present**2 + L * eta**2 * (stale**2 + noise**2) / 2
    return decided(sympy.expand(claimed - mean.subs(present * stale, product) - eta * _MORE) == 0)


def _later_steps_are_shorter() -> sympy.Basic:
    later = sympy.Symbol("later", integer=True, nonnegative=True)
    uses = sympy.summation(1, (later, 0, tau))
    shorter = sympy.factor(_step(_NOW) ** 2 - _step(_NOW + later) ** 2)
    return decided(sympy.expand(uses - _uses()) == 0 and shorter.is_nonnegative)


def _weights_at_step() -> sympy.Basic:
    weight = coherence * _step(_NOW) - _uses() * L * _step(_NOW) ** 2 / 2
    differs = sympy.simplify(weight - coherence**2 / (_uses() * L) * _weight(_NOW + 1))
    # With r = √(t + 1) ≥ 1: 1/r − 1/(2r²) = (2r − 1)/(2r²).
    positive = sympy.factor(_weight(_ROOT**2)).subs(_ROOT, 1 + _MORE)
    return decided(differs == 0 and positive.is_positive)


def _squares_of_steps() -> sympy.Expr:
    by_number = sympy.simplify(_step(j - 1) ** 2 * (_uses() * L / coherence) ** 2)
    return sympy.Sum(by_number, (j, 1, T)) - _harmonic().rewrite(sympy.Sum)


def _least() -> sympy.Expr:
    squares = coherence**2 * _harmonic() / (_uses() * L) ** 2
    return (gap + L * variance * squares / 2) / (coherence**2 / (_uses() * L) * _weights())


def _single_update(bound: sympy.Expr) -> sympy.Expr:
    iterate = sympy.Symbol("x", real=True)
    value = bound.subs({T: 1, tau: 0, coherence: 1, variance: 0, gap: L * iterate**2 / 2}).doit()
    return sympy.simplify(value - (L * iterate) ** 2)


def _growth(share: sympy.Expr) -> sympy.Expr:
    """2r²(r + q) times the growth of W_T − share·√T at one update more, where r² = q² + 1, so r − q = 1/(r + q)."""
    return sympy.expand((2 * _ROOT - 1) * (_ROOT + _BEFORE) - 2 * share * _ROOT**2)


def _is_growth(share: sympy.Expr) -> bool:
    growth = _weight(_ROOT**2) - share * (_ROOT - _BEFORE)
    differs = sympy.expand(sympy.expand(growth * 2 * _ROOT**2 * (_ROOT + _BEFORE)) - _growth(share))
    return bool(sympy.rem(differs, _ROOT**2 - _BEFORE**2 - 1, _ROOT) == 0)


def _grows(share: sympy.Expr) -> sympy.Basic:
    # T ≥ 1: r ≥ 1.
    room = sympy.expand(_growth(share).subs(_ROOT, 1 + _MORE))
    return decided(_is_growth(share) and room.is_nonnegative and _weights().subs(T, 1).doit() == share)


def _reaches_root() -> sympy.Basic:
    share = sympy.Integer(1)
    further = sympy.Symbol("further", nonnegative=True)
    # r ≥ q ≥ 1.
    room = sympy.expand(_growth(share).subs(_ROOT, 1 + further + _MORE).subs(_BEFORE, 1 + further))
    reached = _first_weights(FOLLOWS_FROM) - sympy.sqrt(FOLLOWS_FROM)
    before = _first_weights(FOLLOWS_FROM - 1) - sympy.sqrt(FOLLOWS_FROM - 1)
    return decided(_is_growth(share) and room.is_nonnegative and reached.is_positive and before.is_negative)


def _first_weights(updates: int) -> sympy.Expr:
    return _weights().subs(T, updates).rewrite(sympy.Sum).doit()


def _noise_is_smaller() -> sympy.Basic:
    updates = sympy.Symbol("u", positive=True)
    # ln(1 + 1/u) − 1/(u + 1) decreases to 0.
    room = sympy.log(1 + 1 / updates) - 1 / (updates + 1)
    falls = sympy.factor(sympy.simplify(sympy.diff(room, updates)))
    start = 2 * sympy.log(FOLLOWS_FROM) - _harmonic().subs(T, FOLLOWS_FROM).doit()
    return decided(falls.is_negative and sympy.limit(room, updates, sympy.oo) == 0 and start.is_positive)


STATEMENTS = by_label(__name__, coherence_rate)
"""The statements of this file."""
