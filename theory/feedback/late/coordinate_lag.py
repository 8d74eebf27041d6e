"""By how many steps does a coordinate trail SGD that is sent at a threshold? Between a sixth and half of its cycle.

The threshold model of `steady_state.py` with drift and noise at once: gambler's ruin gives the mean time T between two
sends, and `energy_lag` the lag Λ. Whatever the noise, (T − 1)/6 ≤ Λ ≤ (T − 1)/2. Ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import lag, level_count, send_rate, up_probability

WALK = (
    r"from $0$, a coordinate moves by $a$ with chance $p$ and by $-a$ otherwise, whatever came before, and is sent and "
    r"set to $0$ at $\pm Na$"
)
AT_REST = r"$\Lambda$ and $r$ are means over the first $t$ steps, as $t\to\infty$"

_PLACE = sympy.Symbol("j", integer=True, nonnegative=True)
_ODDS = sympy.Symbol("w", nonnegative=True)
"""w = (1 − p)/p, in [0, 1) for an upward drift."""
_X = sympy.Symbol("x", positive=True)
"""tanh x = 2p − 1."""
_MORE = sympy.Symbol("h", integer=True, nonnegative=True)


def coordinate_lag() -> Statement:
    """Λ = (N(2p − 1)(1 + w^N)/(1 − w^N) − 1)/(2(2p − 1)²), w = (1 − p)/p; (N − 1)/2 at p = 1, → (N² − 1)/6 at p → 1/2.

    Source: ours; the mean time to the threshold is that of the gambler's ruin.
    """
    bound = _lag_of(_cycle_in(_odds_of(up_probability)), 2 * up_probability - 1)
    return Statement(
        label="coordinate_lag",
        title="Lag of a coordinate that is sent at a threshold",
        assumptions=(WALK, AT_REST),
        relation=sympy.Eq(lag, bound),
        domain=(sympy.Gt(up_probability, sympy.Rational(1, 2)), sympy.Le(up_probability, 1)),
        source="ours",
        derivation=(
            Step("steps to ±N from level j solve T(j) = 1 + pT(j + 1) + (1 − p)T(j − 1)", _duration_recurs),
            Step("and are 0 at ±N", _duration_ends),
            Step("from 0 they are T = (N/(2p − 1))(1 − w^N)/(1 + w^N), w = (1 − p)/p", _duration_from_zero),
            Step(
                "a cycle sends N²a², a step creates a², m = (2p − 1)a: energy_lag gives the bound",
                lambda: _from_energies(bound),
                concludes=bound,
                argued="that the walk comes to rest: its chain is finite, and starts anew whenever it is sent",
            ),
            Step(
                "at p = 1 it is (N − 1)/2",
                lambda: sympy.simplify(bound.subs(up_probability, 1)) - (level_count - 1) / 2,
            ),
            Step("as p → 1/2 it tends to (N² − 1)/6", lambda: _limit_of(bound)),
        ),
    )


def lag_most() -> Statement:
    """Λ ≤ (1/r − 1)/2 whatever p and N: half the time between two sends, attained without noise.

    Source: ours.
    """
    bound = (1 / send_rate - 1) / 2
    return Statement(
        label="lag_most",
        title="Largest lag of a coordinate that is sent at a rate",
        assumptions=(WALK, AT_REST, r"$p\neq\frac12$"),
        relation=sympy.Le(lag, bound, evaluate=False),
        domain=(sympy.Le(send_rate, 1),),
        source="ours",
        derivation=(
            _hyperbolic_step(),
            Step(
                "(T − 1)/2 − Λ has the sign of sinh 2Nx − N sinh 2x",
                lambda: _upper_room(bound),
                concludes=bound,
            ),
            Step("its Taylor coefficients are those of sinh times N^{2k+1} − N ≥ 0, k = 0, 1, …", _powers_exceed),
            Step("at p = 1, r = 1/N: equality", lambda: _rest_without_noise(bound)),
        ),
    )


def lag_least() -> Statement:
    """Λ ≥ (1/r − 1)/6 whatever p and N: a sixth of the time between two sends, approached by a slight drift in noise.

    Source: ours.
    """
    bound = (1 / send_rate - 1) / 6
    return Statement(
        label="lag_least",
        title="Least lag of a coordinate that is sent at a rate",
        assumptions=(WALK, AT_REST, r"$p\neq\frac12$"),
        relation=sympy.Ge(lag, bound, evaluate=False),
        domain=(sympy.Le(send_rate, 1),),
        source="ours",
        derivation=(
            _hyperbolic_step(),
            Step(
                "Λ − (T − 1)/6 has the sign of F(Nx) − F(x), F(y) = 3y/tanh y − y tanh y",
                lambda: _lower_room(bound),
                concludes=bound,
            ),
            Step("2 sinh²y cosh²y F′(y) = sinh z (cosh z + 2) − z(2 cosh z + 1), z = 2y", _slope_of_room),
            Step("the coefficient of z^{2k+1}/(2k + 1)! there is 4^k + 2 − 2(2k + 1), and 0 at k = 0", _coefficients),
            Step("it is 0 at k = 1 and grows with k", _coefficients_grow),
        ),
    )


def _odds_of(probability: sympy.Expr) -> sympy.Expr:
    return (1 - probability) / probability


def _lag_of(cycle: sympy.Expr, drift: sympy.Expr) -> sympy.Expr:
    """From a cycle's 1/(drift·T), a factor of N², and the drift per a."""
    return (level_count**2 * drift * cycle - 1) / (2 * drift**2)


def _cycle_in(odds: sympy.Expr) -> sympy.Expr:
    """1/(T(2p − 1)), where T is the mean number of steps of a cycle."""
    return (1 + odds**level_count) / (level_count * (1 - odds**level_count))


def _duration(level: sympy.Expr, power: sympy.Expr) -> sympy.Expr:
    """T(j) in w, where `power` stands for w^{j + N}."""
    drift = (1 - _ODDS) / (1 + _ODDS)
    share = (1 - power) / (1 - _ODDS ** (2 * level_count))
    return (2 * level_count * share - (level + level_count)) / drift


def _duration_recurs() -> sympy.Expr:
    power = sympy.Symbol("W")
    up, down = 1 / (1 + _ODDS), _ODDS / (1 + _ODDS)
    after = up * _duration(_PLACE + 1, power * _ODDS) + down * _duration(_PLACE - 1, power / _ODDS)
    return sympy.simplify(_duration(_PLACE, power) - 1 - after)


def _duration_ends() -> sympy.Basic:
    low = _duration(-level_count, sympy.Integer(1))
    high = _duration(level_count, _ODDS ** (2 * level_count))
    return sympy.And(sympy.Eq(sympy.simplify(low), 0), sympy.Eq(sympy.simplify(high), 0))


def _duration_from_zero() -> sympy.Expr:
    drift = (1 - _ODDS) / (1 + _ODDS)
    power = sympy.Symbol("W", positive=True)
    found = _duration(sympy.Integer(0), power).subs(_ODDS ** (2 * level_count), power**2)
    return sympy.simplify(found - (1 / (_cycle_in(_ODDS) * drift)).subs(_ODDS**level_count, power))


def _from_energies(bound: sympy.Expr) -> sympy.Expr:
    """(sent − created)/(2m²) with sent = N²a²/T, created a², m = (2p − 1)a."""
    drift, size = 2 * up_probability - 1, sympy.Symbol("a", positive=True)
    per_step = level_count**2 * size**2 * drift * _cycle_in(_odds_of(up_probability))
    return sympy.simplify((per_step - size**2) / (2 * (drift * size) ** 2) - bound)


def _lag_in_x() -> sympy.Expr:
    """The bound of `coordinate_lag` at tanh x = 2p − 1, where w = e^{−2x}."""
    drift = sympy.tanh(_X)
    return (level_count * drift / sympy.tanh(level_count * _X) - 1) / (2 * drift**2)


def _cycle_in_x() -> sympy.Expr:
    """T = 1/r there."""
    return level_count * sympy.tanh(level_count * _X) / sympy.tanh(_X)


def _differ_from_x() -> list[sympy.Expr]:
    """The lag and the cycle of `coordinate_lag` less those in x."""
    drift, odds = sympy.tanh(_X), sympy.exp(-2 * _X)
    pairs = (
        (_lag_of(_cycle_in(odds), drift), _lag_in_x()),
        (1 / (_cycle_in(odds) * drift), _cycle_in_x()),
        (_odds_of((1 + drift) / 2), odds),
    )
    return [sympy.simplify((one - other).rewrite(sympy.exp)) for one, other in pairs]


def _limit_of(bound: sympy.Expr) -> sympy.Basic:
    """The constant term of the series in x, where the bound is that expression in x."""
    differs = sympy.simplify(bound - _lag_of(_cycle_in(_odds_of(up_probability)), 2 * up_probability - 1))
    constant = sympy.series(_lag_in_x(), _X, 0, 2).removeO().subs(_X, 0)
    target = sympy.expand(constant - (level_count**2 - 1) / 6)
    return decided(not any((differs, target, *_differ_from_x())))


def _hyperbolic_step() -> Step:
    return Step(
        "at tanh x = 2p − 1: Λ = (N tanh x/tanh Nx − 1)/(2 tanh²x), 1/r = T = N tanh Nx/tanh x",
        lambda: decided(not any(_differ_from_x())),
        argued="p < 1/2 is the mirror image, and p = 1 the limit x → ∞",
    )


def _upper_room(bound: sympy.Expr) -> sympy.Expr:
    room = bound.subs(send_rate, 1 / _cycle_in_x()) - _lag_in_x()
    positive = 4 * sympy.tanh(level_count * _X) * sympy.tanh(_X) ** 2
    scaled = room * positive * (sympy.cosh(level_count * _X) * sympy.cosh(_X)) ** 2
    stated = sympy.sinh(2 * level_count * _X) - level_count * sympy.sinh(2 * _X)
    return _rational(scaled - stated)


def _powers_exceed() -> sympy.Basic:
    """N^{2k} = 1 + an excess ≥ 0, by its logarithm."""
    excess = sympy.Symbol("excess", nonnegative=True)
    logarithm = 2 * _PLACE * sympy.log(1 + _MORE)
    return decided(logarithm.is_nonnegative and ((1 + _MORE) * (1 + excess) - (1 + _MORE)).expand().is_nonnegative)


def _rest_without_noise(bound: sympy.Expr) -> sympy.Expr:
    return bound.subs(send_rate, 1 / level_count) - (level_count - 1) / 2


def _room(at: sympy.Expr) -> sympy.Expr:
    """F(y)."""
    return 3 * at / sympy.tanh(at) - at * sympy.tanh(at)


def _lower_room(bound: sympy.Expr) -> sympy.Expr:
    room = _lag_in_x() - bound.subs(send_rate, 1 / _cycle_in_x())
    return _rational(6 * sympy.tanh(_X) * _X * room - (_room(level_count * _X) - _room(_X)))


def _doubled(at: sympy.Expr) -> sympy.Expr:
    return sympy.sinh(at) * (sympy.cosh(at) + 2) - at * (2 * sympy.cosh(at) + 1)


def _slope_of_room() -> sympy.Expr:
    scaled = 2 * (sympy.sinh(_X) * sympy.cosh(_X)) ** 2 * sympy.diff(_room(_X), _X)
    return _rational(scaled - _doubled(2 * _X))


def _coefficient(place: sympy.Expr) -> sympy.Expr:
    """Of z^{2k+1}/(2k + 1)!, for k ≥ 1: sinh 2z/2 has 4^k, 2 sinh z has 2, and 2z cosh z has 2(2k + 1)."""
    return 4**place + 2 - 2 * (2 * place + 1)


def _coefficients() -> sympy.Basic:
    parts = sympy.sinh(2 * _X) / 2 + 2 * sympy.sinh(_X) - 2 * _X * sympy.cosh(_X) - _X
    differs = sympy.simplify((_doubled(_X) - parts).rewrite(sympy.exp))
    series = sympy.series(parts, _X, 0, 20).removeO()
    powers = range(10)
    stated = [_coefficient(sympy.Integer(place)) - (place == 0) for place in powers]
    found = [series.coeff(_X, 2 * place + 1) * sympy.factorial(2 * place + 1) for place in powers]
    return decided(differs == 0 and stated == found and stated[0] == 0)


def _coefficients_grow() -> sympy.Basic:
    """From k = 1 + h to the next: 3·4^k − 4, with 4^h = 1 + an excess ≥ 0."""
    excess = sympy.Symbol("excess", nonnegative=True)
    grown = sympy.expand(_coefficient(_MORE + 2) - _coefficient(_MORE + 1))
    growth = sympy.expand(grown.subs(4**_MORE, 1 + excess))
    is_larger = (_MORE * sympy.log(4)).is_nonnegative
    return decided(_coefficient(sympy.Integer(1)) == 0 and is_larger and growth.is_positive)


def _rational(expression: sympy.Expr) -> sympy.Expr:
    """In q = e^x and Q = e^{Nx}, brought to one fraction: 0 iff the expression is."""
    in_powers = expression.rewrite(sympy.exp)
    symbols = sympy.symbols("Q q", positive=True)
    for symbol, power in zip(symbols, (sympy.exp(level_count * _X), sympy.exp(_X)), strict=True):
        in_powers = in_powers.subs(power, symbol)
    return sympy.cancel(sympy.together(in_powers))


STATEMENTS = by_label(__name__, coordinate_lag, lag_most, lag_least)
"""The statements of this file."""
