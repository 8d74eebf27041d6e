"""Which functions show a method one coordinate after the other? Two chains, and what is true of each piece of them.

A gradient at a point whose entries are zero from the j-th on is zero beyond the j-th. The quadratic chain is
Nesterov's (2004), ended so that its minimiser is 1, q, q², …; the form of the other one, products Ψ(x_{i−1})Φ(x_i), is
that of Carmon, Duchi, Hinder and Sidford 2020. Its pieces are quadratic and one-sided, which is ours, and costs less.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, mu

PLACE = sympy.Symbol("x", real=True)
"""The variable of a piece."""
RATIO = (sympy.sqrt(L) - sympy.sqrt(mu)) / (sympy.sqrt(L) + sympy.sqrt(mu))
"""q."""
_ROOT_L, _ROOT_MU = sympy.symbols("sqrt_L sqrt_mu", positive=True)
WRITTEN = (1, 2, 3, 4)
"""Lengths of chains that are written out."""
SMOOTHNESS = sympy.Rational(25, 3)
"""L of the chain of pieces; a search finds no curvature beyond 7."""
HEIGHT = sympy.Rational(6, 5)
"""The largest value of Φ, by which each link lets the function fall."""
SATURATED = sympy.Rational(6, 5)
"""From here on Ψ and Φ do not change."""


@dataclass(frozen=True)
class Pieces:
    """A function that is a polynomial between breaks.

    Args:
        breaks: in increasing order.
        formulas: one more, in `PLACE`, from left to right.
    """

    breaks: tuple[sympy.Rational, ...]
    formulas: tuple[sympy.Expr, ...]

    def at(self, value: sympy.Rational) -> sympy.Expr:
        """The value at a number."""
        piece = sum(1 for end in self.breaks if value >= end)
        return sympy.sympify(self.formulas[piece]).subs(PLACE, value)

    def derivative(self) -> "Pieces":
        """Piece by piece; at a break the formula to its right."""
        return Pieces(self.breaks, tuple(sympy.diff(formula, PLACE) for formula in self.formulas))

    def is_continuous(self) -> bool:
        """Whether neighbouring formulas agree at every break."""
        pairs = zip(self.breaks, self.formulas, self.formulas[1:], strict=False)
        return all(sympy.sympify(left - right).subs(PLACE, end) == 0 for end, left, right in pairs)


_TENTHS = tuple(sympy.Rational(part, 10) for part in range(13))
OPENING = Pieces(
    (_TENTHS[0], _TENTHS[4], _TENTHS[6], _TENTHS[10]),
    (
        sympy.S.Zero,
        sympy.Rational(25, 12) * PLACE**2,
        sympy.Rational(5, 3) * PLACE - sympy.Rational(1, 3),
        1 - sympy.Rational(25, 12) * (1 - PLACE) ** 2,
        sympy.S.One,
    ),
)
"""Ψ: how far the coordinate before lets the next one count, from 0 at x ≤ 0 to 1 at x ≥ 1."""
DROP = Pieces(
    (-_TENTHS[2], _TENTHS[0], _TENTHS[10], _TENTHS[12]),
    (
        sympy.S.Zero,
        sympy.Rational(5, 2) * (PLACE + sympy.Rational(1, 5)) ** 2,
        PLACE + sympy.Rational(1, 10),
        HEIGHT - sympy.Rational(5, 2) * (HEIGHT - PLACE) ** 2,
        HEIGHT,
    ),
)
"""Φ: from 0 at x ≤ −1/5 to 6/5 at x ≥ 6/5."""
WALL = Pieces(
    (-_TENTHS[2], _TENTHS[0]), (-PLACE - sympy.Rational(1, 10), sympy.Rational(5, 2) * PLACE**2, sympy.S.Zero)
)
"""P: what a negative coordinate costs."""

_OPEN, _SLOPE, _DROP_SLOPE, _WALL_SLOPE, _NEXT_DROP, _OPENING_SLOPE = sympy.symbols(
    "Psi phi phi_slope wall_slope Phi psi_slope", real=True
)


def quadratic_chain_steps() -> tuple[Step, ...]:
    """That Nesterov's chain is in the class, where its minimiser is, and what its gradient shows."""
    return (
        Step(
            "f = μ‖x‖²/2 + (L − μ)/8·B − (√L + √μ)²/4·x_1 with B = x_1² + Σ_{i<d}(x_i − x_{i+1})² + (1 − q)x_d² ≥ 0, "
            "and 4‖x‖² − B is x_1² + Σ_{i<d}(x_i + x_{i+1})² + (1 + q)x_d² ≥ 0: each link, and both ends",
            _form_is_bounded,
        ),
        Step("for d ≤ 4 both sums are written out", _forms_written),
        Step(
            "x*_i = q^(i−1): there −q^(i−2) + 2q^(i−1) − q^i is −4μ/(L − μ)·q^(i−1), the first entry of ∇f is 0, "
            "and so is the last",
            _minimiser,
        ),
        Step("if x_{i−1}, x_i and x_{i+1} are 0, i ≥ 2, so is entry i of ∇f", _shows_one_more),
    )


def piecewise_chain_steps() -> tuple[Step, ...]:
    """That the chain of pieces has the stated smoothness, slope and gap."""
    return (
        Step("Ψ, Φ and P and their derivatives are continuous", _are_smooth),
        Step("Ψ rises from 0 to 1, with a slope of at most 5/3; Φ from 0 to 6/5, with a slope of at most 1", _ranges),
        Step(
            "F = Σ P(x_i) − Φ(x_1) − Σ_{i≥2} Ψ(x_{i−1})Φ(x_i): off the diagonal its second derivatives are "
            "−Ψ'(x_{i−1})Φ'(x_i), at most 5/3; on it P'' − Ψ(x_{i−1})Φ''(x_i) − Ψ''(x_i)Φ(x_{i+1}), of which one term "
            "at most is not a share of 5",
            _curvatures,
        ),
        Step(
            "rows sum to 5 + 2·5/3 = 25/3 at most: ∇F is 25/3-Lipschitz",
            lambda: 5 + 2 * sympy.Rational(5, 3) - SMOOTHNESS,
            argued="that no eigenvalue exceeds the largest sum of a row (Gershgorin), and that a continuous gradient "
            "with such pieces is Lipschitz",
        ),
        Step("P' − Φ' = −1 for all x ≤ 1", _full_slope),
        Step(
            "let x_N = 0 and x_i be the first coordinate below 1: Ψ(x_{i−1}) = 1, and entry i of ∇F is "
            "P' − Φ' − Ψ'(x_i)Φ(x_{i+1}) ≤ −1",
            _entry_is_large,
        ),
        Step("if x_{i−1} and x_i are 0, i ≥ 2, so is entry i of ∇F", _next_is_hidden),
        Step("at 6/5 for the first j coordinates and 0 for the others ‖∇F‖ is 1 for j < N and 0 for j = N", _greedy),
        Step(
            "F(0) = −1/10, and F ≥ −6N/5, which is F at 6/5 throughout: the gap is (12N − 1)/10",
            lambda: decided(DROP.at(_TENTHS[0]) == _TENTHS[1] and DROP.at(SATURATED) == HEIGHT),
        ),
    )


def _link(sign: int) -> Callable[[sympy.Expr, sympy.Expr], sympy.Expr]:
    return lambda first, second: (first + sign * second) ** 2


def _form_is_bounded() -> sympy.Basic:
    """Of 4x² one link on each side takes 2x² of a coordinate; the ends take 2x² together with their own terms."""
    one, other, ratio = sympy.symbols("x y q", real=True)
    link = sympy.expand(_link(-1)(one, other) + _link(1)(one, other) - 2 * one**2 - 2 * other**2)
    first, last = one**2 + one**2, (1 - ratio) * one**2 + (1 + ratio) * one**2
    return decided(link == 0 and sympy.expand(first - last) == 0 and first == 2 * one**2)


def _forms_written() -> sympy.Basic:
    ratio = sympy.Symbol("q", real=True)
    gaps = []
    for length in WRITTEN:
        x = sympy.symbols(f"x_1:{length + 1}", real=True)
        below = x[0] ** 2 + sum(_link(-1)(*pair) for pair in pairwise(x)) + (1 - ratio) * x[-1] ** 2
        above = x[0] ** 2 + sum(_link(1)(*pair) for pair in pairwise(x)) + (1 + ratio) * x[-1] ** 2
        gaps.append(sympy.expand(below + above - 4 * sum(value**2 for value in x)))
    return decided(gaps == [0] * len(WRITTEN))


def _minimiser() -> sympy.Basic:
    """In √L and √μ: (L − μ)/4 times the rows of the form's matrix, with 2 − q at the end."""
    ratio = (_ROOT_L - _ROOT_MU) / (_ROOT_L + _ROOT_MU)
    curvature, convexity = (_ROOT_L**2 - _ROOT_MU**2) / 4, _ROOT_MU**2
    pull = (_ROOT_L + _ROOT_MU) ** 2 / 4
    inner = curvature * (2 * ratio - 1 - ratio**2) + convexity * ratio
    first = curvature * (2 - ratio) + convexity - pull
    last = curvature * ((2 - ratio) * ratio - 1) + convexity * ratio
    # A chain of one coordinate has one entry, the first and last at once.
    single = curvature * (2 - ratio) + convexity - pull
    return decided(all(sympy.cancel(entry) == 0 for entry in (inner, first, last, single)))


def _shows_one_more() -> sympy.Expr:
    before, here, after = sympy.symbols("x_- x x_+", real=True)
    ratio = sympy.Symbol("q", real=True)
    inner = mu * here + (L - mu) / 4 * (2 * here - before - after)
    last = mu * here + (L - mu) / 4 * ((2 - ratio) * here - before)
    return sympy.Abs(inner.subs({before: 0, here: 0, after: 0})) + sympy.Abs(last.subs({before: 0, here: 0}))


def _are_smooth() -> sympy.Basic:
    return decided(
        all(pieces.is_continuous() and pieces.derivative().is_continuous() for pieces in (OPENING, DROP, WALL))
    )


def _ranges() -> sympy.Basic:
    """Slopes are linear between breaks, so that their extremes are there; values rise where none is negative."""
    slopes = [[pieces.derivative().at(end) for end in pieces.breaks] for pieces in (OPENING, DROP)]
    ends = [(pieces.formulas[0], pieces.formulas[-1]) for pieces in (OPENING, DROP)]
    linear = all(sympy.degree(formula, PLACE) <= 2 for pieces in (OPENING, DROP) for formula in pieces.formulas[1:-1])
    signs = all(slope >= 0 for found in slopes for slope in found)
    largest = (max(slopes[0]), max(slopes[1])) == (sympy.Rational(5, 3), 1)
    return decided(linear and signs and largest and ends == [(0, 1), (0, HEIGHT)])


def _curvatures() -> sympy.Basic:
    """Ψ'' is at most 25/6, in (0, 1) only, Φ'' and P'' at most 5, outside only; in (−1/5, 0) P'' − ΨΦ'' = 5(1 − Ψ)."""
    second = [pieces.derivative().derivative().formulas for pieces in (OPENING, DROP, WALL)]
    opening = (0, sympy.Rational(25, 6), 0, -sympy.Rational(25, 6), 0)
    together = sympy.expand(second[2][1] - _OPEN * second[1][1] - 5 * (1 - _OPEN))
    return decided(
        tuple(second[0]) == opening
        and tuple(second[1]) == (0, 5, 0, -5, 0)
        and tuple(second[2]) == (0, 5, 0)
        and together == 0
        and sympy.Rational(25, 6) * HEIGHT == 5
        and (OPENING.breaks[0], OPENING.breaks[-1]) == (DROP.breaks[1], DROP.breaks[2])
    )


def _full_slope() -> sympy.Basic:
    drop, wall = DROP.derivative().formulas, WALL.derivative().formulas
    below = [sympy.expand(wall[piece] - drop[piece] + 1) for piece in range(3)]
    return decided(below == [0, 0, 0] and WALL.breaks == DROP.breaks[:2] and DROP.breaks[2] == 1)


def _entry_is_large() -> sympy.Basic:
    """With Ψ = 1 and P' − Φ' = −1 the entry is −1 less a product of two numbers that are not negative."""
    slope, drop = sympy.symbols("psi_slope Phi", nonnegative=True)
    entry = _WALL_SLOPE - _OPEN * _DROP_SLOPE - slope * drop
    beyond = -1 - entry.subs({_OPEN: 1, _WALL_SLOPE: _DROP_SLOPE - 1})
    return decided(OPENING.at(sympy.S.One) == 1 and sympy.expand(beyond).is_nonnegative)


def _entry(before: sympy.Rational, here: sympy.Rational, after: sympy.Rational) -> sympy.Expr:
    """Entry i ≥ 2 of ∇F."""
    opening, drop, wall = OPENING.derivative(), DROP.derivative(), WALL.derivative()
    return wall.at(here) - OPENING.at(before) * drop.at(here) - opening.at(here) * DROP.at(after)


def _next_is_hidden() -> sympy.Basic:
    zero, after = sympy.S.Zero, sympy.Symbol("x_+", real=True)
    opening, drop, wall = OPENING.derivative(), DROP.derivative(), WALL.derivative()
    entry = wall.at(zero) - OPENING.at(zero) * drop.at(zero) - opening.at(zero) * after
    return sympy.expand(entry)


def _greedy() -> sympy.Basic:
    """Coordinates at 6/5 show nothing, the first at 0 shows 1, those behind it nothing; the first link has Ψ = 1."""
    high, zero = SATURATED, sympy.S.Zero
    told = [_entry(high, high, high), _entry(high, high, zero)]
    shown = [_entry(high, zero, zero)]
    return decided(told == [0, 0] and shown == [-1] and _entry(zero, zero, zero) == 0)
