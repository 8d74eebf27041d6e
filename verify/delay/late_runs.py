"""What regret does descent on late views have? Real runs on linear losses, in exact numbers or certified balls.

A loss g_t·x on a line is convex, and its regret against 0 is g_t x̃_t. Absolute and hinge losses have the same runs with
gradients that follow the views. Numbers are rationals or balls of Arb, so that no rounding decides. Ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

import sympy
from flint import arb, fmpq

from sparsync.theory.language.symbols import T, extra_count, lipschitz, n, radius, staleness
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.ball_expressions import ball_value

Number = Any
"""An fmpq or an arb; python-flint's annotations do not relate the two."""
Update = tuple[int, int]
"""(iteration, worker), both from 1; the sequential order is that of these pairs."""
Numbers = Mapping[sympy.Symbol, object]
"""Exact numbers and balls by symbol; ℓ and F are 1 if they are not among them."""

UNITS = {lipschitz: sympy.S.One, radius: sympy.S.One}
FINEST = 10**9
"""Roots are rounded down to multiples of one over this."""
ALONE = ((15, 0), (13, 2))
"""(updates on coordinates of their own, start of two on a common one over that of these), see `alone_margin`."""
SHRUNK = tuple(fmpq(parts, 4) for parts in (4, 3, 2, 1))
"""Shares of a gradient that are tried."""


def rational(value: Fraction | int) -> fmpq:
    """The number for exact sums with balls."""
    return fmpq(value.numerator, value.denominator)


def ball_of(expression: sympy.Expr, numbers: Numbers) -> arb:
    """A ball that contains the expression at these numbers."""
    known = {symbol: value for symbol, value in numbers.items() if isinstance(value, arb)}
    exact = {symbol: sympy.Rational(str(value)) for symbol, value in numbers.items() if symbol not in known}
    found: arb = ball_value(expression.xreplace({**UNITS, **exact} if not known else _without(known) | exact), known)
    return found


def _without(known: Mapping[sympy.Symbol, arb]) -> dict[sympy.Symbol, sympy.Expr]:
    return {symbol: one for symbol, one in UNITS.items() if symbol not in known}


def stated(label: str, numbers: Numbers) -> arb:
    """A ball that contains the bound of the statement."""
    return ball_of(STATEMENTS[label].bound, numbers)


def assumed(label: str, name: str, numbers: Numbers) -> arb:
    """A ball that contains what an assumption of the statement says of a number."""
    return ball_of(STATEMENTS[label].given(name), numbers)


def assumed_unit(label: str, name: str) -> fmpq:
    """What an assumption says of a number for ℓ = F = 1."""
    return fmpq(*map(int, STATEMENTS[label].given(name).xreplace(UNITS).as_numer_denom()))


def assumed_share(label: str, name: str, symbol: sympy.Symbol) -> Fraction:
    """What an assumption says of a number, over the symbol that bounds it: a run may have as many times that."""
    return Fraction(str(STATEMENTS[label].given(name) / symbol))


def numbers_of(workers: int, slack: int, updates: int, extra: int = 0) -> dict[sympy.Symbol, object]:
    """n, s, T and r, as bounds name them."""
    return {n: workers, staleness: slack, T: updates, extra_count: extra}


def in_rounds(workers: int, rounds: int) -> list[Update]:
    """All updates in order."""
    return [(k, worker) for k in range(1, rounds + 1) for worker in range(1, workers + 1)]


def decaying_steps(scale: Number, updates: int) -> list[arb]:
    """σ/√t."""
    return [scale / arb(number).sqrt() for number in range(1, updates + 1)]


def confined(start: Number, wishes: Sequence[fmpq], steps: Sequence[Number], square: fmpq) -> list[fmpq]:
    """Gradients as wished, or as much smaller as keeps the square of every iterate at `square` or below.

    Args:
        start: x_1, whose square is no more.
        wishes: by update in order.
        steps: likewise.
        square: largest x².
    """
    gradients: list[fmpq] = []
    iterate = start
    for wish, step in zip(wishes, steps, strict=True):
        tried = (share * wish for share in SHRUNK)
        taken = next((part for part in tried if (iterate - step * part) ** 2 <= square), fmpq(0))
        gradients.append(taken)
        iterate = iterate - step * taken
    return gradients


def regret_on_views(
    start: Number,
    gradients: Mapping[Update, fmpq],
    steps: Mapping[Update, Number],
    views: Mapping[Update, Iterable[Update]],
) -> Number:
    """Σ g_t x̃_t, where a view is the start less all steps that it holds."""
    total: Number = fmpq(0)
    for update, held in views.items():
        view = start
        for other in held:
            view = view - steps[other] * gradients[other]
        total = total + view * gradients[update]
    return total


def worst_views(gradients: Mapping[Update, fmpq], slack: int) -> dict[Update, list[Update]]:
    """The views that cost the most for these gradients: a window permits to choose of every pair by its sign."""
    return {update: [other for other in gradients if _is_held(update, other, gradients, slack)] for update in gradients}


def _is_held(update: Update, other: Update, gradients: Mapping[Update, fmpq], slack: int) -> bool:
    if other[1] == update[1] or other[0] < update[0] - slack:
        return other < update
    if other[0] > update[0] - 1 + slack:
        return False
    agree = gradients[update] * gradients[other]
    return bool(agree < 0 if agree else other < update)


def square_radius(label: str, numbers: Numbers) -> Fraction:
    """F² for which the assumed step size is 1, for ℓ = 1."""
    exact = {symbol: sympy.Rational(str(value)) for symbol, value in numbers.items()}
    return 1 / Fraction(str(sympy.expand(STATEMENTS[label].given("step_size").xreplace({**UNITS, **exact}) ** 2)))


def bound_square(label: str, square: Fraction, numbers: Numbers) -> Fraction:
    """The square of the bound for ℓ = 1, where F² is rational and F need not be."""
    exact = {symbol: sympy.Rational(str(value)) for symbol, value in numbers.items()}
    values = {**exact, lipschitz: sympy.S.One, radius: sympy.sqrt(sympy.Rational(square))}
    return Fraction(str(sympy.expand(STATEMENTS[label].bound.xreplace(values) ** 2)))


def root_below(square: Fraction) -> Fraction:
    """A rational number that is not above the root, and near it."""
    scaled = square * FINEST**2
    return Fraction(isqrt(scaled.numerator // scaled.denominator), FINEST)


def alone_margin(label: str, singles: int, relative: int) -> Fraction:
    """bound² − regret² of one worker whose step size is the one assumed, 1; it tells other step sizes from that.

    Losses are absolute values, of a coordinate of its own for most updates, and of a common one for the last two.

    Args:
        label: the statement.
        singles: updates on coordinates of their own.
        relative: start of the common coordinate over theirs.
    """
    numbers = {symbol: value for symbol, value in numbers_of(1, 0, singles + 2).items() if symbol is not extra_count}
    square = square_radius(label, numbers)
    longest, half = (Fraction(str(assumed_unit(label, name))) for name in ("longest_gradient", "half_square"))
    start = root_below(2 * half * square / (singles + relative**2))
    common = relative * start
    regret = longest * (singles * start + common + abs(common - longest))
    return bound_square(label, square, numbers) - regret**2
