"""What do random delays and late commits do to the iterate? Momentum on the average, and a bounded distance.

A gradient of geometric age makes the expected move a moving average (Mitliagkas, Zhang, Hadjis and Ré 2016; used for
ADSP by Hu, Wang and Wu 2020). What is under way and what a compressor keeps back add up to the distance from the
virtual iterate (Mania et al. 2017 for delay, Stich and Karimireddy 2019 for both). The sharp constant is ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.feedback.residual import CONTRACTION, DELTA_DOMAIN, INVERSE_ODDS, ROOT, at_root, below_one
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    arrival_share,
    delta,
    eta,
    gradient,
    local_count,
    mean_move,
    next_mean_move,
    perturbation,
    sigma_squared,
    tau,
)

SIGMA = sympy.Symbol("sigma", nonnegative=True)
"""σ, the root of the bound on second moments."""
NOW = sympy.Symbol("t", integer=True, nonnegative=True)
"""Number of a step."""
AGE = sympy.Symbol("l", integer=True, nonnegative=True)
"""How many updates ago a gradient was taken."""


def geometric_staleness() -> Statement:
    """D_t = (1 − p)D_{t−1} − ηpE∇f(x_t) for D_t = E[x_{t+1} − x_t]: gradients of geometric age act like momentum 1 − p.

    The step that goes with it is ηp. A mean age of τ̄ = (1 − p)/p gives the momentum τ̄/(1 + τ̄). It holds for the
    expected move; the iterates themselves do not follow a heavy ball.

    Source: Mitliagkas, Zhang, Hadjis and Ré 2016.
    """
    bound = _averaged(mean_move, gradient)
    return Statement(
        label="geometric_staleness",
        title="Expected move, gradients of geometric age",
        assumptions=(
            r"$x_{t+1}=x_t-\eta\nabla f(x_{t-l})$, where $l$ has probability $p(1-p)^{l}$, whatever else happens",
            r"nothing moves where $l>t$; $D_t=\mathbb{E}[x_{t+1}-x_t]$, $D_{-1}=0$ and "
            r"$g_t=\mathbb{E}\,\nabla f(x_t)$, in each coordinate",
        ),
        relation=sympy.Eq(next_mean_move, bound),
        domain=(sympy.Le(arrival_share, 1),),
        source="Mitliagkas, Zhang, Hadjis and Ré 2016",
        derivation=(
            Step("Σ_l p(1 − p)^l G_{t−l} = p(1 − p)^t S_t with S_t = Σ_{l≤t} (1 − p)^−l G_l, term by term", _reordered),
            Step("S_t = S_{t−1} + (1 − p)^−t G_t gives the recursion", _recursion, concludes=bound),
            Step("the factor of one gradient in all moves, ηpΣ_l (1 − p)^l, is η: nothing is lost", _all_arrives),
            Step("the mean age is (1 − p)/p, and 1 − p = τ̄/(1 + τ̄)", _mean_age),
            Step("p = 1 is descent without delay", lambda: bound.subs(arrival_share, 1) + eta * gradient),
        ),
    )


def additive_perturbation() -> Statement:
    """E‖x̃_t − x_t‖² ≤ η²σ²(τ + H√(1 − δ)/(1 − √(1 − δ)))²: what is late and what is kept back add up.

    H is the number of gradients that a worker adds up before it compresses. It is attained in the limit t → ∞, and at
    most 2(τησ)² + 2(Hησ)²(1 − δ)/(1 − √(1 − δ))², the sum of the squares of both parts.

    Source: ours; form: Mania et al. 2017, Stich and Karimireddy 2019.
    """
    # √(1 − δ)/(1 − √(1 − δ)) without a difference that loses digits for small δ.
    kept_back = sympy.sqrt(1 - delta) * (1 + sympy.sqrt(1 - delta)) / delta
    bound = eta**2 * sigma_squared * (tau + local_count * kept_back) ** 2
    return Statement(
        label="additive_perturbation",
        title="Distance from the virtual iterate, delay and residual together",
        assumptions=(
            r"$\tilde{x}_t-x_t=-e_t-\eta\sum g_l$ over at most $\tau$ gradients that are not yet compressed",
            r"$u=e+\eta\sum g_l$ over at most $H$ gradients, $e^{+}=u-C(u)$, $e_0=0$",
            r"which $g_l$ are summed when is fixed in advance",
            *CONTRACTION[1:],
        ),
        relation=sympy.Le(perturbation, bound, evaluate=False),
        domain=DELTA_DOMAIN,
        source="ours; form: Mania et al. 2017, Stich and Karimireddy 2019",
        derivation=(
            Step("(1 + γ)y² + (1 + 1/γ)z² − (y + z)² = (γy − z)²/γ, one coordinate", _young),
            Step("at γ = Z/Y for E y² ≤ Y², E z² ≤ Z² this gives E(y + z)² ≤ (Y + Z)²", _minkowski),
            Step("so m gradients have E‖Σ‖² ≤ m²σ²: one more gives (m + 1)²σ²", _sum_of_gradients),
            Step("a = √(1 − δ): the step r ↦ a(r + Hησ) keeps r at or below Hησa/(1 − a)", _residual_stays),
            Step("(τησ + Hησa/(1 − a))² is the bound", lambda: _both_parts() - _at_level(bound), concludes=bound),
            Step("2Y² + 2Z² − (Y + Z)² is a square: twice the squares of both parts is no less", _sum_of_squares),
            Step("C(u) = (1 − a)u, g constant: e = aHησ(1 − a^t)/(1 − a) tends to the residual's part", _attained),
        ),
    )


def _averaged(move: sympy.Expr, taken: sympy.Expr) -> sympy.Expr:
    return (1 - arrival_share) * move - eta * arrival_share * taken


def _kept() -> sympy.Symbol:
    """1 − p where it is not 0; a letter of its own, so that powers combine."""
    return sympy.Symbol("kept", positive=True)


def _reordered() -> sympy.Expr:
    gradients, taken_at = sympy.Function("G"), sympy.Symbol("u", integer=True, nonnegative=True)
    by_age = _kept() ** AGE * gradients(NOW - AGE)
    by_time = _kept() ** NOW * _kept() ** -taken_at * gradients(taken_at)
    return sympy.powsimp(by_age.subs(AGE, NOW - taken_at) - by_time)


def _recursion() -> sympy.Expr:
    gradients, prefix = sympy.Function("G"), sympy.Function("S")

    def move(step: sympy.Expr) -> sympy.Expr:
        return -eta * (1 - _kept()) * _kept() ** step * prefix(step)

    grown = move(NOW).subs(prefix(NOW), prefix(NOW - 1) + _kept() ** -NOW * gradients(NOW))
    stated = _averaged(move(NOW - 1), gradients(NOW)).subs(arrival_share, 1 - _kept())
    return sympy.powsimp(sympy.expand(grown - stated))


def _all_arrives() -> sympy.Expr:
    odds = sympy.Symbol("odds", positive=True)
    kept = 1 / (1 + odds)
    return sympy.simplify(eta * (1 - kept) * sympy.summation(kept**AGE, (AGE, 0, sympy.oo)) - eta)


def _mean_age() -> sympy.Basic:
    odds = sympy.Symbol("odds", positive=True)
    kept = 1 / (1 + odds)
    mean = sympy.simplify((1 - kept) * sympy.summation(AGE * kept**AGE, (AGE, 0, sympy.oo)))
    return decided(sympy.simplify(mean - kept / (1 - kept)) == 0 and sympy.simplify(mean / (1 + mean) - kept) == 0)


def _young() -> sympy.Expr:
    first, second = sympy.symbols("y z", real=True)
    share = sympy.Symbol("gamma", positive=True)
    split = (1 + share) * first**2 + (1 + 1 / share) * second**2
    return sympy.cancel(split - (first + second) ** 2 - (share * first - second) ** 2 / share)


def _split(first: sympy.Expr, second: sympy.Expr, *, fewer: sympy.Expr, less: sympy.Expr) -> sympy.Expr:
    """(1 + γ)E y² + (1 + 1/γ)E z² at γ = Z/Y, where E y² and E z² fall short of Y² and Z²."""
    return (1 + second / first) * (first**2 - fewer) + (1 + first / second) * (second**2 - less)


def _minkowski() -> sympy.Basic:
    first, second = sympy.symbols("Y Z", positive=True)
    fewer, less = sympy.symbols("fewer less", nonnegative=True)
    room = (first + second) ** 2 - _split(first, second, fewer=fewer, less=less)
    return decided(sympy.expand(room).is_nonnegative)


def _sum_of_gradients() -> sympy.Basic:
    added, deviation = sympy.Symbol("m", positive=True), sympy.Symbol("sigma", positive=True)
    zero = sympy.Integer(0)
    return sympy.expand(_split(added * deviation, deviation, fewer=zero, less=zero) - ((added + 1) * deviation) ** 2)


def _level() -> sympy.Expr:
    """What the root of the residual's energy never exceeds."""
    energy = sympy.Symbol("r")
    return sympy.solve(sympy.Eq(energy, ROOT * (energy + local_count * eta * SIGMA)), energy)[0]


def _residual_stays() -> sympy.Basic:
    slack = sympy.Symbol("slack", nonnegative=True)
    next_residual = ROOT * (_level() - slack + local_count * eta * SIGMA)
    return sympy.And(below_one(_level()), below_one(_level() - next_residual))


def _both_parts() -> sympy.Expr:
    return sympy.expand((tau * eta * SIGMA + _level()) ** 2)


def _at_level(bound: sympy.Expr) -> sympy.Expr:
    return at_root(bound.subs(sigma_squared, SIGMA**2))


def _sum_of_squares() -> sympy.Basic:
    late, kept = sympy.symbols("late kept", nonnegative=True)
    return decided(sympy.factor(sympy.expand(2 * late**2 + 2 * kept**2 - (late + kept) ** 2)).is_nonnegative)


def _attained() -> sympy.Basic:
    def residual(step: sympy.Expr) -> sympy.Expr:
        return ROOT * local_count * eta * SIGMA * (1 - ROOT**step) / (1 - ROOT)

    recursion = sympy.simplify(residual(NOW + 1) - ROOT * (residual(NOW) + local_count * eta * SIGMA))
    vanishes = sympy.limit(INVERSE_ODDS**NOW, NOW, sympy.oo)
    rest = sympy.simplify(residual(NOW).subs(ROOT**NOW, vanishes) - _level())
    return decided(residual(sympy.Integer(0)) == 0 and recursion == 0 and rest == 0)


STATEMENTS = by_label(__name__, geometric_staleness, additive_perturbation)
"""The statements of this file."""
