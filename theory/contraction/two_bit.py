"""Why do two levels leave at least 8/(n + 6) of the energy? The steps of `two_bit_values`.

The largest magnitude is 1. Of the others N are above the mean μ, with sum X, and r ≥ 1 are not, with sum Y. A value v
at the level c keeps v² − (v − c)² = c(2v − c) of its energy. Since each value takes the nearer level, at least as much
is kept as by h for the largest and l for all others (A), and as by h for all above μ and l for the rest (B). Ours.
"""

from functools import partial

import sympy

from sparsync.theory.contraction.tail import is_nonnegative_polynomial
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import value_count

ABOVE, BELOW = sympy.symbols("N r", nonnegative=True)
"""How many values other than the largest lie above the mean, and how many do not."""
UPPER, LOWER = sympy.symbols("X Y", nonnegative=True)
"""Their sums."""
_MORE, _REST, _EXTRA = sympy.symbols("a e x", nonnegative=True)
COUNT = ABOVE + 1 + BELOW
MEAN = (1 + UPPER + LOWER) / COUNT
HIGH, LOW = (1 + UPPER) / (ABOVE + 1), LOWER / BELOW


def two_bit_steps(bound: sympy.Expr) -> tuple[Step, ...]:
    """The steps; λ = 1 − bound is the share that is kept at least."""
    return (
        Step("v² − (v − c)² = c(2v − c), largest for the nearer c: |v − l| ≤ |v − h| where 2v ≤ l + h", _kept_by_level),
        Step("A = h(2 − h) + l(2X − Nl) + rl² and B = (N + 1)h² + rl²", _two_choices),
        Step("Σv² ≤ 1 + (1 + μ)X − Nμ + μY, since (1 − v)(v − μ) ≥ 0 above μ and v² ≤ μv below", _chords),
        Step("X ≥ Nμ means X(r + 1) ≥ N(1 + Y)", _least_upper),
        Step("r ≤ N + 1, n ≥ 4: B ≥ λΣv² for all such X and Y", lambda: _case_b(bound)),
        Step("r ≥ N + 2: A − λΣv² is concave in X, and A ≥ B at h = 2/(N + 2)", lambda: _concave(bound)),
        Step("r ≥ N + 2: A ≥ λΣv² at the least X", lambda: _case_a(bound)),
        Step("r ≥ N + 2: B ≥ λΣv² for h ≥ 2/(N + 2)", lambda: _case_high(bound)),
        Step("n = 3, r = 1: 2h² + Y² ≥ λ(1 + X² + Y²) for 1/2 ≤ X ≤ 1", lambda: _three_values(bound)),
        Step("n = 2: both values are levels, and the bound is 0", lambda: bound.subs(value_count, 2)),
        Step(
            "n even, N = n/2 − 1 values at 2/(n + 2), zeros: both levels lose (n − 2)/(n + 6)",
            lambda: _limit_vector(bound),
            concludes=bound,
            argued="a little above 2/(n + 2), these values are above the mean",
        ),
    )


def _kept_by_level() -> sympy.Basic:
    value, level, other = sympy.symbols("v l h", nonnegative=True)
    kept = level * (2 * value - level)
    identity = sympy.expand(value**2 - (value - level) ** 2 - kept)
    difference = sympy.factor(
        (value - other) ** 2 - (value - level) ** 2 - (other - level) * (level + other - 2 * value)
    )
    return sympy.And(sympy.Eq(identity, 0), sympy.Eq(sympy.expand(difference), 0))


def _kept_a() -> sympy.Expr:
    return HIGH * (2 - HIGH) + LOW * (2 * UPPER - ABOVE * LOW) + BELOW * LOW**2


def _kept_b() -> sympy.Expr:
    return (ABOVE + 1) * HIGH**2 + BELOW * LOW**2


def _two_choices() -> sympy.Basic:
    """Σ c(2v − c) over a group is c(2Σv − count·c); the lower group has Σv = rl, the upper one (N + 1)h = 1 + X."""
    level = sympy.Symbol("c", nonnegative=True)

    def group(total: sympy.Expr, count: sympy.Expr, at: sympy.Expr) -> sympy.Expr:
        return (level * (2 * total - count * level)).subs(level, at)

    first = group(1, 1, HIGH) + group(UPPER, ABOVE, LOW) + group(LOWER, BELOW, LOW)
    second = group(1 + UPPER, ABOVE + 1, HIGH) + group(LOWER, BELOW, LOW)
    return sympy.And(sympy.Eq(sympy.simplify(first - _kept_a()), 0), sympy.Eq(sympy.simplify(second - _kept_b()), 0))


def _energy() -> sympy.Expr:
    return 1 + (1 + MEAN) * UPPER - ABOVE * MEAN + MEAN * LOWER


def _chords() -> sympy.Basic:
    value, mean = sympy.symbols("v mu", nonnegative=True)
    above = sympy.expand((1 + mean) * value - mean - value**2 - (1 - value) * (value - mean))
    below = sympy.expand(mean * value - value**2 - value * (mean - value))
    return sympy.And(sympy.Eq(above, 0), sympy.Eq(below, 0))


def _least_upper() -> sympy.Expr:
    return sympy.expand((UPPER - ABOVE * MEAN) * COUNT - (UPPER * (BELOW + 1) - ABOVE * (1 + LOWER)))


def _room(kept: sympy.Expr, bound: sympy.Expr) -> sympy.Expr:
    return kept - (1 - bound).subs(value_count, COUNT) * _energy()


_LEAST_UPPER = ABOVE * (1 + LOWER) / (BELOW + 1)


def _case_b(bound: sympy.Expr) -> sympy.Basic:
    room = _room(_kept_b(), bound).subs(UPPER, _LEAST_UPPER + _EXTRA)
    shapes = (
        {BELOW: 3 + _REST, ABOVE: 2 + _REST + _MORE},
        {BELOW: 2, ABOVE: 1 + _MORE},
        {BELOW: 1, ABOVE: 3 + _MORE},
        {BELOW: 1, ABOVE: 2},
    )
    return sympy.And(*(_is_nonnegative(room.subs(shape)) for shape in shapes))


def _concave(bound: sympy.Expr) -> sympy.Basic:
    bend = sympy.diff(_room(_kept_a(), bound), UPPER, 2)
    last = ABOVE / (ABOVE + 2)
    level = sympy.simplify(HIGH.subs(UPPER, last) - 2 / (ABOVE + 2))
    # What A has more than B there, N l (2X/N − l), with 2X ≥ 2Nμ ≥ 2Nl: X = Nl + slack.
    more = sympy.simplify((_kept_a() - _kept_b()).subs(UPPER, last) - LOW * (2 * last - ABOVE * LOW))
    name = sympy.Symbol("l", nonnegative=True)
    slack = name * (2 * (ABOVE * name + _EXTRA) - ABOVE * name)
    return sympy.And(
        _is_nonnegative(-bend),
        sympy.Eq(level, 0),
        sympy.Eq(more, 0),
        is_nonnegative_polynomial(sympy.expand(slack), name, ABOVE, _EXTRA),
    )


def _case_a(bound: sympy.Expr) -> sympy.Basic:
    room = _room(_kept_a(), bound).subs(UPPER, _LEAST_UPPER).subs(BELOW, ABOVE + 2 + _MORE)
    return sympy.And(*(_is_nonnegative(room.subs(ABOVE, start)) for start in (0, 1, 2 + ABOVE)))


def _case_high(bound: sympy.Expr) -> sympy.Basic:
    """X = N/(N + 2) + x; without other values above the mean there is no X to vary."""
    room = _room(_kept_b(), bound).subs(UPPER, ABOVE / (ABOVE + 2) + _EXTRA).subs(BELOW, ABOVE + 2 + _MORE)
    return sympy.And(*(_is_nonnegative(room.subs(ABOVE, start)) for start in (1, 2 + ABOVE)))


def _is_nonnegative(quotient: sympy.Expr) -> sympy.Basic:
    """A quotient of polynomials, the numerator of degree two in x and Y, and all symbols ≥ 0.

    Where a coefficient of Y or of xY is negative, completing squares asks 4ACF ≥ B²C + D²A of A + BY + Cx² + DxY + FY².
    """
    numerator, denominator = sympy.fraction(sympy.cancel(sympy.together(quotient)))
    counts = (ABOVE, BELOW, _MORE, _REST)
    polynomial = sympy.Poly(numerator, _EXTRA, LOWER)
    if polynomial.total_degree() > 2:
        return sympy.false
    is_positive = partial(_has_no_negative, counts=counts)
    constant, first, square, cross, linear, other = (
        polynomial.coeff_monomial(_EXTRA**power * LOWER**rank)
        for power, rank in ((0, 0), (1, 0), (2, 0), (1, 1), (0, 1), (0, 2))
    )
    squares = all(is_positive(part) for part in (constant, first, square, other, denominator))
    linear, cross = (0 if is_positive(part) else part for part in (linear, cross))
    if square == 0:
        room = 4 * constant * other - linear**2
    else:
        room = 4 * constant * square * other - linear**2 * square - cross**2 * constant
    settled = (linear == 0 and cross == 0) or is_positive(sympy.expand(room))
    return sympy.true if squares and settled else sympy.false


def _has_no_negative(part: sympy.Expr, *, counts: tuple[sympy.Symbol, ...]) -> bool:
    coefficients = sympy.Poly(sympy.expand(part), *counts, _EXTRA, LOWER).coeffs()
    return all(bool(coefficient >= 0) for coefficient in coefficients)


def _three_values(bound: sympy.Expr) -> sympy.Basic:
    """At n = 3 the energy is known exactly; the room is concave in X, and positive at 1/2 and at 1, for all Y."""
    kept = (1 - bound).subs(value_count, 3)
    room = (1 + UPPER) ** 2 / 2 + LOWER**2 - kept * (1 + UPPER**2 + LOWER**2)
    ends = [is_nonnegative_polynomial(sympy.expand(room.subs(UPPER, end)), LOWER) for end in (sympy.Rational(1, 2), 1)]
    # X ≥ (1 + Y)/2 by the least X.
    least = sympy.Eq(_LEAST_UPPER.subs({ABOVE: 1, BELOW: 1}), (1 + LOWER) / 2)
    return sympy.And(sympy.Lt(sympy.diff(room, UPPER, 2), 0), *ends, least)


def _limit_vector(bound: sympy.Expr) -> sympy.Basic:
    place = 2 / (value_count + 2)
    shape = {ABOVE: value_count / 2 - 1, BELOW: value_count / 2, LOWER: 0, UPPER: (value_count / 2 - 1) * place}
    energy = (1 + ABOVE * place**2).subs(shape)
    mean = sympy.Eq(sympy.simplify(MEAN.subs(shape) - place), 0)
    lost = [sympy.simplify(1 - kept.subs(shape) / energy - bound) for kept in (_kept_a(), _kept_b())]
    nearer = sympy.Eq(sympy.simplify(HIGH.subs(shape) / 2 - place), 0)
    return sympy.And(mean, nearer, *(sympy.Eq(loss, 0) for loss in lost))
