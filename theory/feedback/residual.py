"""How much does error feedback keep back? Two bounds on E‖e_t‖², with the steps that the rates reuse.

One step is E‖e⁺‖² ≤ (1 − δ)E‖e + ηg‖² with E‖g‖² ≤ σ². Young's inequality splits the square; its free parameter is the
whole difference between the bound of Karimireddy et al. 2019 and the sharp one, which Minkowski's inequality also
gives. ROOT is a = √(1 − δ). Inequalities hold coordinate by coordinate, or for norms, so expectations may be taken.
"""

from dataclasses import replace

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import delta, eta, i, j, n, residual_energy, sigma_squared

ROOT = sympy.Symbol("a", positive=True)
"""a = √(1 − δ): ‖u − C(u)‖ ≤ a‖u‖ in the mean square."""
ODDS = sympy.Symbol("y", positive=True)
"""a = 1/(1 + y) runs through (0, 1) where y runs through (0, ∞): polynomials in y show their signs."""
INVERSE_ODDS = 1 / (1 + ODDS)

DELTA_DOMAIN = (sympy.Le(delta, 1),)
"""0 < δ ≤ 1; the lower end comes with the symbol."""

UPDATE = r"$u_t=e_t+\eta g_t$, $x_{t+1}=x_t-C(u_t)$, $e_{t+1}=u_t-C(u_t)$"
"""The algorithm from any state."""
KEPT_BACK = Given(
    "kept_back",
    r"\mathbb{E}\,\lVert u-C(u)\rVert^{2}/\lVert u\rVert^{2}",
    "≤",
    1 - delta,
    words=r"{} for every $u\neq0$, $C(0)=0$, and what $C$ draws is independent of all before",
)
EACH_KEPT_BACK = replace(
    KEPT_BACK,
    left=r"\mathbb{E}\,\lVert u-C_i(u)\rVert^{2}/\lVert u\rVert^{2}",
    words=r"{} for every $u\neq0$, $C_i(0)=0$, and what the $C_i$ draw is independent of all before",
)
"""The same of the compressor of every worker."""
SECOND_MOMENT = Given("second_moment", r"\mathbb{E}\,\lVert g_t\rVert^{2}", "≤", sigma_squared)
CONTRACTION = (rf"{UPDATE}, $e_0=0$", KEPT_BACK, SECOND_MOMENT)
"""The algorithm and the two hypotheses on its second moments. Draws that are kept break both bounds on the residual."""

_PUSH = eta**2 * sigma_squared
RESIDUAL_BOUND = 4 * _PUSH * (1 - delta) / delta**2
"""The bound of Karimireddy et al. 2019."""
RESIDUAL_MINKOWSKI = _PUSH * (1 - delta) / (1 - sympy.sqrt(1 - delta)) ** 2
"""The sharp bound."""

_E, _H = sympy.symbols("e h", real=True)
_GAMMA = sympy.Symbol("gamma", positive=True)


def residual_bound() -> Statement:
    """E‖e_t‖² ≤ 4(1 − δ)η²σ²/δ² for all t.

    Source: Karimireddy, Rebjock, Stich and Jaggi 2019, bound on the error.
    """
    return Statement(
        label="residual_bound",
        title="energy kept back, by Young's inequality",
        assumptions=CONTRACTION,
        relation=sympy.Le(residual_energy, RESIDUAL_BOUND, evaluate=False),
        domain=DELTA_DOMAIN,
        source="Karimireddy, Rebjock, Stich and Jaggi 2019",
        derivation=young_steps(),
    )


def residual_minkowski() -> Statement:
    """E‖e_t‖² ≤ η²σ²(1 − δ)/(1 − √(1 − δ))² for all t: at most `residual_bound`, and no smaller constant is true.

    It is (1 + √(1 − δ))²/4 times that bound: between a quarter (δ → 1) and all of it (δ → 0).

    Source: ours.
    """
    return Statement(
        label="residual_minkowski",
        title="energy kept back, sharp",
        assumptions=CONTRACTION,
        relation=sympy.Le(residual_energy, RESIDUAL_MINKOWSKI, evaluate=False),
        domain=DELTA_DOMAIN,
        source="ours",
        derivation=minkowski_steps(),
    )


def young_steps() -> tuple[Step, ...]:
    """The steps of the bound with 4(1 − δ)/δ²: Young's parameter is δ/(2(1 − δ))."""
    return (
        contraction_step(),
        Step("(1 + γ)e² + (1 + 1/γ)h² − (e + h)² = (γe − h)²/γ, one coordinate", _young),
        Step(
            "(1 − δ)(1 + γ) = 1 − δ/2 at γ = δ/(2(1 − δ)), where (1 − δ)(1 + 1/γ) = (1 − δ)(2 − δ)/δ", _lemma_parameter
        ),
        Step("the step r ↦ (1 − δ/2)r + (1 − δ)(2 − δ)η²σ²/δ keeps r at or below its fixed point", _lemma_induction),
        Step("the fixed point 2(1 − δ)(2 − δ)η²σ²/δ² ≤ 4(1 − δ)η²σ²/δ²", _lemma_level, concludes=RESIDUAL_BOUND),
    )


def minkowski_steps() -> tuple[Step, ...]:
    """The steps of the sharp bound, in a = √(1 − δ) < 1: Young's parameter is (1 − a)/a."""
    return (
        contraction_step(),
        Step("e²/a + h²/(1 − a) − (e + h)² = ((1 − a)e − ah)²/(a(1 − a)), one coordinate", _optimal_young),
        Step("the step r ↦ ar + a²η²σ²/(1 − a) keeps r at or below a²η²σ²/(1 − a)²", _induction),
        Step("no other parameter γ gives a smaller fixed point", _parameter_is_optimal),
        Step("the fixed point is the bound at a = √(1 − δ)", _level_is_bound, concludes=RESIDUAL_MINKOWSKI),
        Step("for δ = 1 both sides are zero: E‖e⁺‖² ≤ 0", lambda: RESIDUAL_MINKOWSKI.subs(delta, 1)),
        Step("it is (1 + a)²/4 ≤ 1 times 4(1 − δ)η²σ²/δ²", _below_lemma),
        Step("C(u) = (1 − a)u, g constant: e_t = aησ(1 − a^t)/(1 − a), whose square tends to the bound", _attained),
    )


def contraction_step() -> Step:
    """What a random compressor keeps back of a vector that its draw does not depend on."""
    return Step(
        "E‖e⁺‖² ≤ (1 − δ)E‖e + ηg‖², and inequalities of coordinates may be added and averaged",
        None,
        argued="given all before, C is drawn anew, and the mean of the conditional means is the mean",
    )


def jensen_step(weights: str) -> Step:
    """(Σ w_i)(Σ w_i y_i²) − (Σ w_i y_i)² = ½ Σ_i Σ_j w_i w_j (y_i − y_j)², for any number of terms."""
    return Step(f"Jensen with {weights} ≥ 0: (Σ w y)² ≤ (Σ w)(Σ w y²)", _jensen)


def below_one(expression: sympy.Expr) -> sympy.Basic:
    """True iff the expression is ≥ 0 for 0 < a < 1: in y its quotient has no negative coefficient."""
    parts = sympy.fraction(sympy.cancel(expression.subs(ROOT, INVERSE_ODDS)))
    return sympy.sympify(all(sympy.expand(part).is_nonnegative is True for part in parts))


def at_root(expression: sympy.Expr) -> sympy.Expr:
    """The expression with δ = 1 − a²."""
    return sympy.simplify(expression.subs(delta, 1 - ROOT**2))


def _young() -> sympy.Expr:
    difference = (1 + _GAMMA) * _E**2 + (1 + 1 / _GAMMA) * _H**2 - (_E + _H) ** 2
    return sympy.cancel(difference - (_GAMMA * _E - _H) ** 2 / _GAMMA)


def _lemma_parameter() -> sympy.Expr:
    energy = sympy.Symbol("r")
    claimed = (1 - delta / 2) * energy + (1 - delta) * (2 - delta) / delta * _PUSH
    return sympy.cancel(_lemma_map(energy) - claimed)


def _lemma_map(energy: sympy.Expr) -> sympy.Expr:
    """(1 − δ) times the split square of `_young` at the parameter chosen, with E‖h‖² at its largest."""
    chosen = delta / (2 * (1 - delta))
    return sympy.cancel((1 - delta) * ((1 + chosen) * energy + (1 + 1 / chosen) * _PUSH))


def _fixed_point(step: sympy.Expr, energy: sympy.Symbol) -> sympy.Expr:
    return sympy.solve(sympy.Eq(step, energy), energy)[0]


def _up_to_one(expression: sympy.Expr) -> sympy.Basic:
    """True iff the expression is ≥ 0 for 0 < δ ≤ 1: with δ = 1/(1 + y), y ≥ 0, nothing is subtracted."""
    odds = sympy.Symbol("y", nonnegative=True)
    parts = sympy.fraction(sympy.cancel(expression.subs(delta, 1 / (1 + odds))))
    return sympy.sympify(all(sympy.expand(part).is_nonnegative is True for part in parts))


def _lemma_induction() -> sympy.Basic:
    energy, slack = sympy.Symbol("r"), sympy.Symbol("slack", nonnegative=True)
    level = _fixed_point(_lemma_map(energy), energy)
    return sympy.And(_up_to_one(level), _up_to_one(level - _lemma_map(level - slack)))


def _lemma_level() -> sympy.Basic:
    energy = sympy.Symbol("r")
    return _up_to_one(RESIDUAL_BOUND - _fixed_point(_lemma_map(energy), energy))


def _optimal_young() -> sympy.Expr:
    difference = _E**2 / ROOT + _H**2 / (1 - ROOT) - (_E + _H) ** 2
    return sympy.cancel(difference - ((1 - ROOT) * _E - ROOT * _H) ** 2 / (ROOT * (1 - ROOT)))


def _map(energy: sympy.Expr) -> sympy.Expr:
    """a² times the split square of `_optimal_young`, with E‖h‖² at its largest."""
    return ROOT**2 * (energy / ROOT + _PUSH / (1 - ROOT))


def _level() -> sympy.Expr:
    energy = sympy.Symbol("r")
    return _fixed_point(_map(energy), energy)


def _induction() -> sympy.Basic:
    slack = sympy.Symbol("slack", nonnegative=True)
    return sympy.And(below_one(_level()), below_one(_level() - _map(_level() - slack)))


def _parameter_is_optimal() -> sympy.Basic:
    """The fixed point with γ, less the best, is a²((1 − a) − aγ)²/((1 − a)²γ(1 − a²(1 + γ)))."""
    energy = sympy.Symbol("r")
    other = _fixed_point(ROOT**2 * ((1 + _GAMMA) * energy + (1 + 1 / _GAMMA) * _PUSH), energy)
    square = (ROOT * ((1 - ROOT) - ROOT * _GAMMA)) ** 2 * _PUSH
    positive = (1 - ROOT) ** 2 * _GAMMA * (1 - ROOT**2 * (1 + _GAMMA))
    return sympy.cancel(other - _level() - square / positive)


def _level_is_bound() -> sympy.Expr:
    return sympy.cancel(at_root(RESIDUAL_MINKOWSKI) - _level())


def _below_lemma() -> sympy.Basic:
    factor = (1 + ROOT) ** 2 / 4
    identity = sympy.cancel(_level() - factor * at_root(RESIDUAL_BOUND))
    return sympy.And(sympy.Eq(identity, 0), below_one(1 - factor))


def _attained() -> sympy.Basic:
    time, magnitude = sympy.Symbol("t", integer=True, nonnegative=True), sympy.Symbol("s", nonnegative=True)

    def residual(at: sympy.Expr) -> sympy.Expr:
        return ROOT * eta * magnitude * (1 - ROOT**at) / (1 - ROOT)

    recursion = sympy.simplify(residual(time + 1) - ROOT * (residual(time) + eta * magnitude))
    power = sympy.limit(INVERSE_ODDS**time, time, sympy.oo)
    rest = residual(time).subs(ROOT**time, power) ** 2 - _level().subs(sigma_squared, magnitude**2)
    return sympy.And(sympy.Eq(residual(sympy.Integer(0)), 0), sympy.Eq(recursion, 0), sympy.Eq(sympy.cancel(rest), 0))


def _jensen() -> sympy.Expr:
    w, y = sympy.IndexedBase("w", nonnegative=True), sympy.IndexedBase("y", real=True)
    double = sympy.Sum(w[i] * w[j] * (y[i] - y[j]) ** 2 / 2, (i, 1, n), (j, 1, n))
    terms = (term.factor() for term in sympy.Add.make_args(double.expand()))
    total, mean, energy = (sympy.Sum(w[i] * y[i] ** power, (i, 1, n)) for power in range(3))
    return sympy.expand(sympy.Add(*terms).xreplace({j: i}) - (total * energy - mean**2))


STATEMENTS = by_label(__name__, residual_bound, residual_minkowski)
"""The statements of this file."""
