"""How many passes does the released rule need, if their number is not limited? The gaps of a rotation say it exactly.

The rule is the rotation by ln(3/2) on a circle of length ln 3 (`theory/selectors/released_rule.py`). From a start near
the window it ends once the thresholds counted leave no gap on that circle that is wider than the window. All is ours.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from numbers import Integral

import sympy

from sparsync.theory.contraction.tail import is_nonnegative_polynomial
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    fall_count,
    fall_power,
    passes_taken,
    rise_count,
    rise_power,
    window_ratio,
    worst_passes,
)

SUFFICIENT_RATIOS = {
    3: sympy.Rational(3, 2),
    5: sympy.Rational(4, 3),
    8: sympy.Rational(32, 27),
    11: sympy.Rational(9, 8),
    19: sympy.Rational(2187, 2048),
    27: sympy.Rational(256, 243),
}
"""Numbers of passes, each with the smallest window ratio for which it is enough; smaller ratios need the next one."""

WINDOW_START, WINDOW_END = sympy.symbols("a b", positive=True)
"""The accepted thresholds are [a, b)."""
STARTS = (
    Given("least_start", "t_0", "≥", 4 * WINDOW_START / 9),
    Given("end_of_starts", "e", "=", 2 * WINDOW_END, words="$t_0<e$ with {}"),
)
"""How far from the window the rule may start."""

_RISE = 3**rise_power / sympy.Integer(2) ** rise_count
"""U, the factor of q₊ moves."""
_FALL = 2**fall_count / sympy.Integer(3) ** fall_power
"""W, one over the factor of q₋ moves."""


def released_passes() -> Statement:
    """From a start in [4a/9, 2b), 3, 5, 8, 11, 19 or 27 passes end in the window if r is 3/2, 4/3, …, 256/243 or more.

    Each number is sharp: for any smaller r some start needs more. P passes suffice iff no gap between neighbours among
    (3/2)^j, j < P, on the circle of R⁺ modulo 3 is longer than the window; the gaps are rational numbers. At κ = 0.001
    the window of a centred Gaussian has r = 1.061 and needs 27 passes in the worst case. A start outside [4a/9, 2b)
    first comes nearer by a factor 2 or 3/2 with every pass; no larger range does for all r. For narrower windows see
    `released_worst_passes`.
    """
    pieces = [(passes, sympy.Ge(window_ratio, smallest)) for passes, smallest in SUFFICIENT_RATIOS.items()]
    bound = sympy.Piecewise(*pieces[:-1], (pieces[-1][0], True))
    return Statement(
        label="released_passes",
        title="passes that the released rule needs without a limit",
        assumptions=(
            r"the accepted thresholds are $[a,b)$ with $r=b/a$",
            *STARTS,
        ),
        relation=sympy.Le(passes_taken, bound, evaluate=False),
        domain=(pieces[-1][1],),
        source="ours; the gaps are those of the three-gap theorem (Sós 1958)",
        derivation=(
            Step("the moves 1/2 and 3/2 are equal modulo 3", lambda: sympy.Rational(3, 2) / sympy.Rational(1, 2) - 3),
            _outer_step(),
            Step("r ≥ 3/2: the third threshold counted from [a/2, 3b/2) is in the window at the latest", _wide_window),
            Step("r < 3/2: the moves from [a/2, 3b/2) stay in [a/2, 3b/2)", _narrow_window_traps),
            Step("r < 3/2: a threshold there that equals one of the window modulo 3 is in the window", _one_lift),
            Step("the largest gap of P points modulo 3 falls to each ratio at that P, not before", _largest_gaps),
            Step(
                "so the bound is the first P whose largest gap is at most r",
                lambda: _first_sufficient(bound),
                concludes=bound,
                argued="that P passes are enough where no gap of P thresholds is longer than the window",
            ),
        ),
    )


def released_worst_passes() -> Statement:
    """The worst start in [4a/9, 2b) takes q₊ + q₋ passes, for every window 1 < r < 2: no window is out of reach.

    q₊ is the least number of moves after which a threshold is, up to powers of three, larger by a factor
    U = 3^a₊/2^q₊ ≤ r, and q₋ the least after which it is smaller by a factor W = 2^q₋/3^a₋ ≤ r. Both with
    a₊q₋ − a₋q₊ = 1, they are right for max(U, W) ≤ r < UW, which makes both exceed 1. From the first pair, U = 3/2 and
    W = 4/3, every other comes by dividing the larger factor by the smaller (`rotation_pair`), so that these windows
    adjoin and fill 1 < r < 2.
    27 passes for r = 1.06, 84 for 1.02, 233 for 1.01, 2593 for 1.001.
    """
    bound = rise_count + fall_count
    return Statement(
        label="released_worst_passes",
        title="passes that the released rule needs without a limit, worst start",
        assumptions=(
            r"the accepted thresholds are $[a,b)$ with $r=b/a$",
            r"$U=3^{a_{+}}/2^{q_{+}}$ and $W=2^{q_{-}}/3^{a_{-}}$ with $a_{+}q_{-}-a_{-}q_{+}=1$, and"
            r" $\max(U,W)\le r<UW$",
            *STARTS,
        ),
        relation=sympy.Eq(worst_passes, bound),
        domain=(
            sympy.Eq(rise_power * fall_count - fall_power * rise_count, 1),
            *(sympy.Ge(window_ratio, _RISE), sympy.Ge(window_ratio, _FALL), sympy.Lt(window_ratio, _RISE * _FALL)),
        ),
        source="ours; the gaps are those of the three-gap theorem (Sós 1958)",
        derivation=(
            Step("W ≤ r < UW gives U > 1, and U ≤ r < UW gives W > 1", _factors_exceed_one),
            _outer_step(),
            Step("r ≥ 3/2: the third threshold counted from [a/2, 3b/2) is in the window at the latest", _wide_window),
            Step("two passes are not enough from [a/2, 2a/3), which a raise leaves below a", _third_is_needed),
            Step("r < 3/2: the moves from [a/2, 3b/2) stay in [a/2, 3b/2)", _narrow_window_traps),
            Step("r < 3/2: a threshold there that equals one of the window modulo 3 is in the window", _one_lift),
            Step("modulo 3, q₊ moves multiply by U and q₋ moves divide by W", _moves_of_pair),
            Step(
                "of q₊ + q₋ thresholds, the first q₋ are followed q₊ later, the others preceded q₋ earlier", _partners
            ),
            Step("q₋ arcs of ln U and q₊ of ln W are once around, ln 3: none passes over a threshold", _once_around),
            Step("so many thresholds have no gap above max(U, W) ≤ r", lambda: _arcs() - bound, concludes=bound),
            Step(
                "the last lies between arcs U and W: without it a window r < UW can be missed",
                _last_is_needed,
                argued="that some start near the window has the window inside that gap",
            ),
            Step("q moves and 3^a are x = aq₋ − qa₋ and y = qa₊ − aq₊ times those of the pair", _any_moves),
            Step("fewer than q₊ moves rise by UW or more, or not at all; so for falls", _pair_is_least),
            Step("U/W and W, or U and W/U, are the next pair; its product is max(U, W)", _next_pair),
            Step("the first pair is 3/2 and 4/3, with product 2", _first_pair),
            Step(
                "no power of three is one of two: the logarithms are incommensurable, the factors tend to 1",
                _odd_even,
                argued="that the factors tend to 1, as those of a continued fraction that does not end",
            ),
        ),
    )


def _outer_step() -> Step:
    return Step(
        "a start in [4a/9, a/2) or [3b/2, 2b) ends at the third threshold at the latest, or goes on as its triple or "
        "its third does, which is in [a/2, 3b/2) and not in the window",
        _outer_starts,
    )


_TARGET = sympy.Symbol("x", positive=True)
_LOWER, _SLACK = sympy.symbols("above_lower_end slack", nonnegative=True)
_UPPER = sympy.Symbol("below_upper_end", positive=True)
_EARLIER, _LATER = sympy.symbols("earlier later", integer=True, nonnegative=True)


def rotation_pair(ratio: Fraction) -> tuple[int, int, int, int]:
    """q₊, a₊, q₋ and a₋ for a window of ratio r, so that q₊ + q₋ passes are enough from the worst start.

    Raises:
        ValueError: the ratio is not between 1 and 2.
    """
    if not 1 < ratio < 2:
        raise ValueError(f"the ratio must be above 1 and below 2, got {ratio}")
    rise, fall = (1, 1), (2, 1)
    while _exceeds(3 ** rise[1], 2 ** rise[0], ratio) or _exceeds(2 ** fall[0], 3 ** fall[1], ratio):
        both = (rise[0] + fall[0], rise[1] + fall[1])
        # Their product with the right sign: 3^a/2^q above 1 is a new rise, below 1 a new fall.
        rise, fall = (both, fall) if 3 ** both[1] > 2 ** both[0] else (rise, both)
    return *rise, *fall


def _exceeds(numerator: int, denominator: int, ratio: Fraction) -> bool:
    """By products: a fraction would be reduced first, which takes long for powers."""
    return numerator * ratio.denominator > ratio.numerator * denominator


def largest_gap(count: int) -> Fraction:
    """The largest ratio between neighbours among (3/2)^j, j < count, on the circle of R⁺ modulo 3.

    Raises:
        ValueError: count is not an integer of at least 1.
    """
    if not isinstance(count, Integral) or count < 1:
        raise ValueError(f"count must be an integer of at least 1, got {count}")
    points = [Fraction(1)]
    while len(points) < count:
        raised = points[-1] * Fraction(3, 2)
        points.append(raised if raised < 3 else raised / 3)
    around = [*sorted(points), Fraction(3)]
    return max(larger / smaller for smaller, larger in pairwise(around))


def _wide_window() -> sympy.Basic:
    """b = 3a/2 + slack: raised twice, [a/2, a) passes a but not b; [b, 3b/2) halved is below b, raised then above a."""
    upper_end = sympy.Rational(3, 2) * _TARGET + _SLACK
    rooms = (
        sympy.Rational(9, 4) * (_TARGET / 2 + _LOWER) - _TARGET,
        upper_end - sympy.Rational(3, 2) * (_TARGET - _UPPER),
        upper_end - (sympy.Rational(3, 2) * upper_end - _UPPER) / 2,
        sympy.Rational(3, 4) * (upper_end + _LOWER) - _TARGET,
    )
    return sympy.And(*(is_nonnegative_polynomial(room, _TARGET, _LOWER, _UPPER, _SLACK) for room in rooms))


def _outer_starts() -> sympy.Basic:
    """The triple of y in [4a/9, a/2) is halved to 3y/2, as y is raised, if r ≤ 4/3; if not, 9y/4 is in the window.

    The third of y in [3b/2, 2b) is raised to y/2, as y is halved, if r ≤ 3/2; if not, y/2 is in the window.
    """
    third, half = sympy.Rational(1, 3), sympy.Rational(1, 2)
    low, below_half = 4 * _TARGET / 9 + _LOWER, _TARGET / 2 - _UPPER
    narrow, wide = 4 * _TARGET / 3 - _SLACK, 4 * _TARGET / 3 + _SLACK
    rooms = [
        *(3 * low - narrow, sympy.Rational(3, 2) * (_TARGET + _SLACK) - 3 * below_half),
        *(sympy.Rational(9, 4) * low - _TARGET, wide - sympy.Rational(9, 4) * below_half),
    ]
    # Now b is x.
    high, below_end = 3 * _TARGET / 2 + _LOWER, 2 * _TARGET - _UPPER
    start_of_narrow, start_of_wide = 2 * _TARGET / 3 + _SLACK, 2 * _TARGET / 3 - _SLACK
    rooms += [
        *(start_of_narrow - third * below_end, third * high - half * _TARGET),
        *(half * high - start_of_wide, _TARGET - half * below_end),
    ]
    return sympy.And(*(is_nonnegative_polynomial(room, _TARGET, _LOWER, _UPPER, _SLACK) for room in rooms))


def _third_is_needed() -> sympy.Basic:
    return is_nonnegative_polynomial(_TARGET - sympy.Rational(3, 2) * (2 * _TARGET / 3 - _UPPER), _TARGET, _UPPER)


def _factors_exceed_one() -> sympy.Basic:
    """UW = r + above and r = W + slack."""
    factor, above = sympy.symbols("W above", positive=True)
    other = sympy.cancel((factor + _SLACK + above) / factor - 1)
    return sympy.S(bool(other.is_positive))


def _narrow_window_traps() -> sympy.Basic:
    """y in [b, 3b/2) is halved, y in [a/2, a) raised, with b = a + slack."""
    upper_end = _TARGET + _SLACK
    half, raised = sympy.Rational(1, 2), sympy.Rational(3, 2)
    rooms = (
        half * (upper_end + _LOWER) - half * _TARGET,
        raised * upper_end - half * (raised * upper_end - _UPPER),
        raised * (half * _TARGET + _LOWER) - half * _TARGET,
        raised * upper_end - raised * (_TARGET - _UPPER),
    )
    return sympy.And(*(is_nonnegative_polynomial(room, _TARGET, _LOWER, _UPPER, _SLACK) for room in rooms))


def _one_lift() -> sympy.Basic:
    """Two elements of [a/2, 3b/2) and [a, b) have a quotient strictly between 1/(2r) > 1/3 and 3r/2 < 3."""
    narrow = sympy.Rational(3, 2) - _UPPER
    least = 3 - 2 * narrow
    greatest = 3 - 3 * narrow / 2
    return sympy.And(is_nonnegative_polynomial(least, _UPPER), is_nonnegative_polynomial(greatest, _UPPER))


def _largest_gaps() -> sympy.Basic:
    pairs = ((passes, Fraction(int(ratio.p), int(ratio.q))) for passes, ratio in SUFFICIENT_RATIOS.items())
    return sympy.S(all(largest_gap(passes) == ratio < largest_gap(passes - 1) for passes, ratio in pairs))


def _first_sufficient(bound: sympy.Expr) -> sympy.Basic:
    """Gaps never grow with P, so their steps from 3 passes on are those of the bound."""
    gaps = [largest_gap(passes) for passes in range(1, max(SUFFICIENT_RATIOS) + 1)]
    ratios = sorted(set(gaps[2:]), reverse=True)
    first = [1 + gaps.index(ratio) for ratio in ratios]
    values = [bound.subs(window_ratio, sympy.Rational(ratio.numerator, ratio.denominator)) for ratio in ratios]
    return sympy.S(gaps == sorted(gaps, reverse=True) and first == values)


def _moves_of_pair() -> sympy.Basic:
    raised = sympy.Rational(3, 2) ** rise_count * 3 ** (rise_power - rise_count) / _RISE
    lowered = sympy.Rational(3, 2) ** fall_count * 3 ** (fall_power - fall_count) * _FALL
    return sympy.And(*(sympy.Eq(sympy.simplify(quotient), 1) for quotient in (raised, lowered)))


def _partners() -> sympy.Basic:
    """Number j of the threshold: j < q₋ has j + q₊ < q₊ + q₋; q₋ ≤ j < q₊ + q₋ has 0 ≤ j − q₋ < q₊."""
    first, others = {fall_count: _EARLIER + 1 + _LATER}, {rise_count: _EARLIER + 1 + _LATER}
    rooms = (
        (rise_count + fall_count - 1 - (_EARLIER + rise_count)).subs(first),
        (fall_count + _EARLIER) - fall_count,
        (rise_count - 1 - ((fall_count + _EARLIER) - fall_count)).subs(others),
    )
    return sympy.And(*(is_nonnegative_polynomial(room, _EARLIER, _LATER) for room in rooms))


def _once_around() -> sympy.Expr:
    """q₋ ln U + q₊ ln W − ln 3 where a₊q₋ = 1 + a₋q₊."""
    logarithms = (sympy.expand_log(sympy.log(factor), force=True) for factor in (_RISE, _FALL))
    around = sympy.expand(sum(count * log for count, log in zip((fall_count, rise_count), logarithms, strict=True)))
    return sympy.expand(around.subs(rise_power, (1 + fall_power * rise_count) / fall_count)) - sympy.log(3)


def _arcs() -> sympy.Expr:
    """Thresholds that have a partner: j from 0 to q₋ − 1 with a later one, from q₋ to q₋ + q₊ − 1 with an earlier."""
    number = sympy.Symbol("j", integer=True)
    later = sympy.summation(1, (number, 0, fall_count - 1))
    return sympy.expand(later + sympy.summation(1, (number, fall_count, fall_count + rise_count - 1)))


def _last_is_needed() -> sympy.Basic:
    """j = q₊ + q₋ − 1 is reached from j − q₊ < q₋ by an arc U, and starts an arc W, since j ≥ q₋."""
    last = rise_count + fall_count - 1
    return sympy.And(
        sympy.Eq(fall_count - 1 - (last - rise_count), 0),
        is_nonnegative_polynomial((last - fall_count).subs(rise_count, 1 + _LATER), _LATER),
    )


def _any_moves() -> sympy.Basic:
    moves, power = sympy.symbols("q a", integer=True)
    first, second = power * fall_count - moves * fall_power, moves * rise_power - power * rise_count
    determinant = rise_power * fall_count - fall_power * rise_count
    rooms = (
        first * rise_count + second * fall_count - determinant * moves,
        first * rise_power + second * fall_power - determinant * power,
    )
    return sympy.And(*(sympy.Eq(sympy.expand(room), 0) for room in rooms))


def _pair_is_least() -> sympy.Basic:
    """Moves that are x times the first and y times the second of the pair, where x and y are integers.

    With ln U = u and ln W = w they rise by xu − yw: for x ≥ 1 and y ≥ 0 they are q₊ or more, for x ≥ 1 and y < 0 they
    rise by u + w or more, for x ≤ 0 and y ≥ 0 they do not rise, for x ≤ 0 and y < 0 their number is negative.
    """
    rise, fall = sympy.symbols("u w", positive=True)
    beyond, behind = 1 + _EARLIER, -_LATER
    rooms = (
        beyond * rise_count + _LATER * fall_count - rise_count,
        (beyond * rise + (1 + _LATER) * fall) - (rise + fall),
        -(behind * rise - _EARLIER * fall),
        -(behind * rise_count - (1 + _EARLIER) * fall_count),
    )
    generators = (_EARLIER, _LATER, rise, fall, rise_count, fall_count)
    return sympy.And(*(is_nonnegative_polynomial(room, *generators) for room in rooms))


def _next_pair() -> sympy.Basic:
    """The determinant stays 1, whichever of the two is replaced by both together, which multiply by U/W."""
    moves, power = rise_count + fall_count, rise_power + fall_power
    determinant = rise_power * fall_count - fall_power * rise_count
    quotient = sympy.expand_log(sympy.log(3**power / sympy.Integer(2) ** moves * _FALL / _RISE), force=True)
    rooms = (
        power * fall_count - fall_power * moves - determinant,
        rise_power * moves - power * rise_count - determinant,
        quotient,
    )
    return sympy.And(*(sympy.Eq(sympy.expand(room), 0) for room in rooms))


def _first_pair() -> sympy.Basic:
    first = {rise_count: 1, rise_power: 1, fall_count: 2, fall_power: 1}
    determinant = rise_power * fall_count - fall_power * rise_count
    return sympy.And(
        *(sympy.Eq(_RISE.subs(first), sympy.Rational(3, 2)), sympy.Eq(_FALL.subs(first), sympy.Rational(4, 3))),
        *(sympy.Eq((_RISE * _FALL).subs(first), 2), sympy.Eq(determinant.subs(first), 1)),
    )


def _odd_even() -> sympy.Basic:
    return sympy.And(sympy.S(bool((3**rise_power).is_odd)), sympy.S(bool((sympy.Integer(2) ** rise_count).is_even)))


STATEMENTS = by_label(__name__, released_passes, released_worst_passes)
"""The statements of this file."""
