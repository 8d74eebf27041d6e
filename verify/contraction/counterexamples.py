"""Where does the bound (1 − k/d)² fail? Named vectors that obey some wording of its hypothesis and break the bound.

Each wording is a predicate that the vector is checked against, and both sides of the inequality are exact. The bound is
that of Shi, Chu, Cheung and See 2019; the wordings are ours, readings of a hypothesis whose printed form we have not
seen. All examples are ours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from math import isqrt

import sympy

from sparsync.theory.language.symbols import t
from sparsync.verify.contraction.weights import tail_ratio

Squares = tuple[Fraction, ...]
Wording = Callable[[Sequence[Fraction]], bool]


@dataclass(frozen=True)
class Counterexample:
    """A vector that obeys a wording and whose relative error exceeds (1 − k/d)².

    Args:
        wording: the hypothesis in words.
        obeys: the hypothesis as a predicate on the sorted squares.
        make_squares: returns v [d], sorted squares, non-increasing; called once, when first needed.
        count: k.
    """

    wording: str
    obeys: Wording
    make_squares: Callable[[], Squares]
    count: int

    @cached_property
    def squares(self) -> Squares:
        """v [d], exact."""
        return self.make_squares()

    @property
    def ratio(self) -> Fraction:
        """The relative error of Top-k: Σ_{i>k} v_i / Σ v_i."""
        return tail_ratio(self.squares, self.count)

    @property
    def claimed(self) -> Fraction:
        """(1 − k/d)², what the wording promises."""
        return (1 - Fraction(self.count, len(self.squares))) ** 2

    def refutes(self) -> bool:
        """True iff the squares are sorted, obey the wording and exceed the claimed bound."""
        return is_sorted(self.squares) and self.obeys(self.squares) and self.ratio > self.claimed


def is_sorted(squares: Sequence[Fraction]) -> bool:
    """v_1 ≥ v_2 ≥ … ≥ v_d ≥ 0 and v_1 > 0."""
    return squares[0] > 0 and squares[-1] >= 0 and all(larger >= smaller for larger, smaller in pairwise(squares))


def is_below_zero_based_line(squares: Sequence[Fraction]) -> bool:
    """v_i/v_1 ≤ 1 − (i − 1)/d for i = 1..d: ranks counted from zero, as they are commonly plotted."""
    dimension = len(squares)
    return all(v * dimension <= squares[0] * (dimension - rank) for rank, v in enumerate(squares))


def is_convex(squares: Sequence[Fraction]) -> bool:
    """v_i − 2 v_{i+1} + v_{i+2} ≥ 0."""
    gaps = [larger - smaller for larger, smaller in pairwise(squares)]
    return all(gap >= next_gap for gap, next_gap in pairwise(gaps))


def is_convex_below_zero_based_line(squares: Sequence[Fraction]) -> bool:
    """Both wordings at once."""
    return is_convex(squares) and is_below_zero_based_line(squares)


def is_below_line_in_cells(squares: Sequence[Fraction]) -> bool:
    """v_i ≤ ∫ (1 − t) dt over cell i = (d − i + 1/2)/d²: the integrals of a profile with π²(t) ≤ 1 − t."""
    dimension = len(squares)
    return all(v * dimension**2 <= dimension - rank - Fraction(1, 2) for rank, v in enumerate(squares))


def is_bell_shaped_about_its_mean(squares: Sequence[Fraction]) -> bool:
    """The magnitudes, all of one sign, are symmetric about their mean, and commoner the nearer they are to it."""
    magnitudes = [_square_root(v) for v in squares]
    mean = sum(magnitudes, Fraction(0)) / len(magnitudes)
    multiplicities = {value: magnitudes.count(value) for value in magnitudes}
    symmetric = all(multiplicities.get(2 * mean - value) == many for value, many in multiplicities.items())
    outwards = [multiplicities[value] for value in sorted(multiplicities) if value >= mean]
    return symmetric and outwards == sorted(outwards, reverse=True)


def is_symmetric_about_zero(squares: Sequence[Fraction]) -> bool:
    """Every magnitude occurs an even number of times, so that signs can make the coordinates symmetric about zero."""
    return all(squares.count(v) % 2 == 0 for v in squares)


def on_the_line(dimension: int) -> Squares:
    """v_i = d + 1 − i: exactly on the zero-based reference line, with ratio (1 − k/d)(1 − k/(d+1)).

    Raises:
        ValueError: dimension is below 2.
    """
    if dimension < 2:
        raise ValueError(f"dimension must be at least 2, got {dimension}")
    return tuple(Fraction(rest) for rest in range(dimension, 0, -1))


def profile_cells(profile_square: sympy.Expr, dimension: int) -> Squares:
    """∫ π²(t) dt over each of d equal cells, exactly: a vector whose ratio at k is the profile's at κ = k/d.

    Args:
        profile_square: π² as an expression in the symbol t.
        dimension: d.
    """
    edges = [sympy.Rational(rank, dimension) for rank in range(dimension + 1)]
    cells = (sympy.integrate(profile_square, (t, *cell)) for cell in pairwise(edges))
    return tuple(Fraction(int(cell.p), int(cell.q)) for cell in cells)


def below_line_extremal(dimension: int, level: int) -> Squares:
    """v_1 = 1, then constant at level/d until the zero-based line is met, then on the line.

    Raises:
        ValueError: level is not in 1..d.
    """
    if not 1 <= level <= dimension:
        raise ValueError(f"level must be between 1 and {dimension}, got {level}")
    following = (min(level, dimension - rank) for rank in range(1, dimension))
    return (Fraction(1), *(Fraction(value, dimension) for value in following))


def squares_of(*magnitudes: int) -> Squares:
    """The squares of integer magnitudes."""
    return tuple(Fraction(magnitude) ** 2 for magnitude in magnitudes)


def one_then_flat() -> Squares:
    """(1, 1/10 nine times): convex, and below the zero-based line of d = 10."""
    return (Fraction(1), *(Fraction(1, 10),) * 9)


def capped_line_cells() -> Squares:
    """π² = min(1/2, 1 − t) in four cells: shrinking the head of the profile shrinks the total more than the tail."""
    return profile_cells(sympy.Min(sympy.Rational(1, 2), 1 - t), 4)


COUNTEREXAMPLES: dict[str, Counterexample] = {
    "two_coordinates": Counterexample(
        wording="squares convex in rank and below the zero-based line",
        obeys=is_convex_below_zero_based_line,
        make_squares=partial(on_the_line, 2),
        count=1,
    ),
    "on_the_line": Counterexample(
        wording="squares convex in rank and on the zero-based line",
        obeys=is_convex_below_zero_based_line,
        make_squares=partial(on_the_line, 10),
        count=3,
    ),
    "one_then_flat": Counterexample(
        wording="squares convex in rank and below the zero-based line",
        obeys=is_convex_below_zero_based_line,
        make_squares=one_then_flat,
        count=5,
    ),
    "constant": Counterexample(
        wording="squares convex in rank",
        obeys=is_convex,
        make_squares=partial(squares_of, *(1,) * 10),
        count=3,
    ),
    "capped_line_profile": Counterexample(
        wording="a profile with π² below the line 1 − t, integrated over cells",
        obeys=is_below_line_in_cells,
        make_squares=capped_line_cells,
        count=2,
    ),
    "below_line_extremal": Counterexample(
        wording="squares below the zero-based line",
        obeys=is_below_zero_based_line,
        make_squares=partial(below_line_extremal, 10, 5),
        count=3,
    ),
    "shifted_mean": Counterexample(
        wording="coordinates bell-shaped about a mean that is not zero",
        obeys=is_bell_shaped_about_its_mean,
        make_squares=partial(squares_of, 9, 8, 8, 7, 7, 7, 6, 6, 5),
        count=3,
    ),
    "bimodal": Counterexample(
        wording="coordinates symmetric about zero, with two modes",
        obeys=is_symmetric_about_zero,
        make_squares=partial(squares_of, 11, 11, 10, 10, 10, 10, 9, 9),
        count=4,
    ),
}
"""Every counterexample by name; each is checked in the ledger by `refutes`."""


def _square_root(square: Fraction) -> Fraction:
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root * root != square:
        raise ValueError(f"the magnitudes must be rational, got the square {square}")
    return root
