"""How likely is a regret far above its expected bound, where workers wait for a random sample of the others only?

A view then misreads a random number of updates. Probabilistic synchronous parallel (Wang, Catterall and Mortier 2017,
as described to us and not read) has a bound of Bernstein's kind on the average regret; this one is of Hoeffding's kind,
for lags that depend on the past. Ours; the lemma: Hoeffding 1963; dependent terms: Azuma 1967.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.delay.stale_regret import CONVEX, START, ssp_regret_fixed_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    T,
    eta,
    lipschitz,
    misread_cap,
    misread_mean,
    radius,
    regret_excess,
    regret_tail,
)

_SHARE = sympy.Symbol("p", positive=True)
"""Expected lag over the largest, as far as it is allowed."""
_SLOPE = sympy.Symbol("lambda", positive=True)
_SCALED = sympy.Symbol("u", nonnegative=True)
"""u = λb."""


def regret_tail_bound() -> Statement:
    """Pr{R/T ≥ F²/(ηT) + ηℓ²(1/2 + m) + x} ≤ exp(−2T(x/(ηℓ²b))²).

    With η ∝ 1/√T the first terms are O(1/√T), and the probability falls like exp(−const · T²x²): the step makes late
    updates small. A bound of the form exp(−const · T), as described to us, is what a step that does not shrink gives.

    Source: ours; form: Wang, Catterall and Mortier 2017, not read.
    """
    bound = sympy.exp(-2 * T * (regret_excess / (eta * lipschitz**2 * misread_cap)) ** 2)
    return Statement(
        label="regret_tail",
        title="Probability of a large regret, random lags",
        assumptions=(
            CONVEX,
            START,
            r"$x_{t+1}=x_t-\eta g_t$, and $\tilde{x}_t$ is $x_t$ but for $\gamma_t$ of the $\eta g_l$, those "
            r"lacked with $l<t$ or held already with $l\geq t$",
            Given("largest", r"\gamma_t", "≤", misread_cap),
            Given("mean", r"\mathbb{E}[\gamma_t]", "≤", misread_mean, words="{} given everything before $t$"),
        ),
        relation=sympy.Le(regret_tail, bound, evaluate=False),
        domain=(),
        source="ours; form: Wang, Catterall and Mortier 2017, not read",
        derivation=(
            *ssp_regret_fixed_step().derivation[:3],
            Step(
                "so R ≤ F²/η + ηℓ²T/2 + ηℓ²Σγ_t, and the event needs Σ(γ_t − m) ≥ s = Tx/(ηℓ²)",
                _needs_large_lags,
            ),
            Step("for m ≥ b that never is; let m < b, p = m/b", _never_beyond_cap),
            Step("e^{λγ} is below its chord between 0 and b, whose mean grows with that of γ", _chord),
            Step("K(u) = ln(1 − p + pe^u) − pu has K(0) = K'(0) = 0, and K'' = q(1 − q) ≤ 1/4", _curvature),
            Step("so E e^{λ(γ − m)} ≤ e^{λ²b²/8}: u²/8 has the curvature 1/4", _square_has_curvature),
            Step(
                "T factors, one after the other: exp(Tλ²b²/8 − λs) is least at λ = 4s/(Tb²)",
                _is_least,
                argued="that expectations given what is before multiply, and Markov's inequality",
            ),
            Step("where it is the bound", lambda: _at_least(bound), concludes=bound),
        ),
    )


def _threshold() -> sympy.Expr:
    """s."""
    return T * regret_excess / (eta * lipschitz**2)


def _needs_large_lags() -> sympy.Expr:
    lags = sympy.Symbol("lags", nonnegative=True)
    most = radius**2 / eta + eta * lipschitz**2 * T / 2 + eta * lipschitz**2 * lags
    exceeded = T * (radius**2 / (eta * T) + eta * lipschitz**2 * (sympy.Rational(1, 2) + misread_mean) + regret_excess)
    needed = sympy.solve(sympy.Eq(most, exceeded), lags)[0]
    return sympy.simplify(needed - T * misread_mean - _threshold())


def _never_beyond_cap() -> sympy.Basic:
    short, more = sympy.symbols("short more", nonnegative=True)
    excess = sympy.expand((misread_cap - short) - (misread_cap + more))
    return decided(excess.is_nonpositive and _threshold().is_positive)


def _chord() -> sympy.Basic:
    lag = sympy.Symbol("lag", nonnegative=True)
    chord = 1 - lag / misread_cap + lag / misread_cap * sympy.exp(_SLOPE * misread_cap)
    ends = [sympy.simplify((chord - sympy.exp(_SLOPE * lag)).subs(lag, end)) for end in (0, misread_cap)]
    convex = sympy.diff(sympy.exp(_SLOPE * lag), lag, 2)
    # e^y − 1 = y∫_0^1 e^{sy} ds > 0.
    position = sympy.Symbol("position", nonnegative=True)
    size = _SLOPE * misread_cap
    grows = sympy.integrate(size * sympy.exp(position * size), (position, 0, 1)) / misread_cap
    return decided(ends == [0, 0] and convex.is_positive and sympy.simplify(sympy.diff(chord, lag) - grows) == 0)


def _exponent() -> sympy.Expr:
    """K."""
    return sympy.log(1 - _SHARE + _SHARE * sympy.exp(_SCALED)) - _SHARE * _SCALED


def _curvature() -> sympy.Basic:
    share = _SHARE * sympy.exp(_SCALED) / (1 - _SHARE + _SHARE * sympy.exp(_SCALED))
    starts = [sympy.simplify(sympy.diff(_exponent(), _SCALED, order).subs(_SCALED, 0)) for order in (0, 1)]
    differs = sympy.simplify(sympy.diff(_exponent(), _SCALED, 2) - share * (1 - share))
    part = sympy.Symbol("q", real=True)
    room = sympy.factor(sympy.expand(sympy.Rational(1, 4) - part * (1 - part)))
    return decided(starts == [0, 0] and differs == 0 and room.is_nonnegative)


def _square() -> sympy.Expr:
    return (_SLOPE * misread_cap) ** 2 / 8


def _square_has_curvature() -> sympy.Basic:
    in_scaled = _square().subs(_SLOPE, _SCALED / misread_cap)
    starts = [sympy.diff(in_scaled, _SCALED, order).subs(_SCALED, 0) for order in (0, 1)]
    return decided(starts == [0, 0] and sympy.diff(in_scaled, _SCALED, 2) == sympy.Rational(1, 4))


def _best_slope() -> sympy.Expr:
    return 4 * _threshold() / (T * misread_cap**2)


def _is_least() -> sympy.Expr:
    threshold = sympy.Symbol("s", positive=True)
    best = _best_slope().subs(regret_excess, threshold * eta * lipschitz**2 / T)
    exponent = T * _square() - _SLOPE * threshold
    above = exponent - exponent.subs(_SLOPE, best)
    return sympy.expand(above - T * misread_cap**2 * (_SLOPE - best) ** 2 / 8)


def _at_least(bound: sympy.Expr) -> sympy.Expr:
    exponent = (T * _square() - _SLOPE * _threshold()).subs(_SLOPE, _best_slope())
    return sympy.simplify(exponent - sympy.log(bound))


STATEMENTS = by_label(__name__, regret_tail=regret_tail_bound)
"""The statements of this file."""
