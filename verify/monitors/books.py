"""How do monitors add sketches? Exactly, so that whatever rounding they meet is the run's own, which a bound covers.

A book holds what a computed vector should be the sum of. The run computes that sum entry by entry: m products of a
weight and an entry, added one after the other, lie within (m + 2)u of the sum of their magnitudes, u the unit of
rounding (2 for a product whose weight is rounded too, 1 for each addition). A sketch of d entries in double precision
lies within (d + 1)2⁻⁵³ of its size. With ε = 2u + d 2⁻⁵², the unit roundoff of the header, both together stay within
(m + 1)ε times all sizes, that of the recorded sum included. Second-order terms and underflow are not counted. On a grid
ε is 0, and equality is exact.

Sizes are norms, so they are held to the triangle inequality: a sum is no larger than all its parts together, and no
part larger than the sum and the others. A size that is blown up, which would widen the bound on rounding, is found out.
Ours, by the standard model of rounding (Higham 2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

from sparsync.verify.monitors.trace import Event, Header, Mass

SIZE_ROUNDOFF = 2.0**-52
"""Relative, of each addition of sizes."""
NORM_ERROR = 2.0**-20
"""Relative; above (d + 2)2⁻⁵², that of a norm in double precision, for d up to 2³¹."""


class BrokenPromiseError(Exception):
    """What a monitor raises; the judge adds the trace."""


Handlers = dict[type[Event], Callable[[Any], None]]


class Monitor(Protocol):
    """Judges one kind of promise, with books of its own."""

    def handlers(self) -> Handlers:
        """What to call for which events; each may raise `BrokenPromiseError`."""
        ...


class Book:
    """An exact sum of weighted sketches.

    The sums share a denominator: one greatest common divisor for all of them, where fractions would need one each.

    Args:
        header: of the run; it says how many sums a sketch has, and how the run rounds.
    """

    __slots__ = ("_denominator", "_header", "_numerators", "largest", "size", "term_count")

    def __init__(self, header: Header) -> None:
        self._header = header
        self.clear()

    @property
    def sums(self) -> list[Fraction]:
        """Of the weighted sketches, exact."""
        return [Fraction(numerator, self._denominator) for numerator in self._numerators]

    def clear(self) -> None:
        """The sum of nothing."""
        self._numerators, self._denominator = [0] * len(self._header.initial.sums), 1
        self.size = 0.0
        self.largest = 0.0
        """size of the largest term"""
        self.term_count = 0

    def add(self, mass: Mass, weight: float | Fraction = 1) -> None:
        """Add weight · mass.

        Raises:
            BrokenPromiseError: the sketch has another number of sums than the header's, or they exceed its size.
        """
        sums, size = mass
        if len(sums) != len(self._numerators):
            raise BrokenPromiseError(
                f"a sketch has {len(sums)} sums where those of the run have {len(self._numerators)}"
            )
        # Not for a NaN either.
        largest = size * (1 + self._header.unit_roundoff)
        if not largest < float("inf") or not all(abs(value) <= largest for value in sums):
            raise BrokenPromiseError(f"a sketch of size {size} cannot have the sums {sums}")
        if not size:
            return
        times, over = weight.as_integer_ratio()
        ratios = [value.as_integer_ratio() for value in sums]
        common = math.lcm(*(denominator for _, denominator in ratios))
        self._gain([times * numerator * (common // denominator) for numerator, denominator in ratios], over * common)
        share = abs(float(weight)) * size
        self.size += share
        if share > self.largest:
            self.largest = share
        self.term_count += 1

    def add_book(self, other: Book) -> None:
        """Add all that another book holds."""
        self._gain(other._numerators, other._denominator)
        self.size += other.size
        self.largest = max(self.largest, other.largest)
        self.term_count += other.term_count

    def _gain(self, numerators: list[int], denominator: int) -> None:
        ours, theirs = denominator, self._denominator
        if ours != theirs:
            shared = math.gcd(ours, theirs)
            ours, theirs = ours // shared, theirs // shared
        else:
            ours = theirs = 1
        self._numerators = [
            here * ours + there * theirs for here, there in zip(self._numerators, numerators, strict=True)
        ]
        self._denominator *= ours

    def tolerance(self, recorded: Mass) -> float:
        """How far from the exact sum a computed one may lie; see the module.

        Raises:
            BrokenPromiseError: sizes too large to be added.
        """
        size = self.size + recorded.size
        if not size < float("inf"):
            raise BrokenPromiseError(f"sketches of a size of {size} together cannot be judged")
        return (self.term_count + 1) * self._header.unit_roundoff * size

    def room(self, size: float) -> float:
        """By how much sizes, this one among them, may fail to add up: rounding of the run, and of their own sum."""
        return (self.term_count + 1) * (self._header.unit_roundoff + SIZE_ROUNDOFF) * (self.size + size)

    def require_size(self, size: float, what: str) -> None:
        """A vector of this size can be the sum of the terms; see the module.

        Raises:
            BrokenPromiseError: it is larger than all of them together, or one of them than it and the others.
        """
        room = self.room(size)
        if size > self.size + room:
            raise BrokenPromiseError(f"{what} has a size of {size}, all that it is the sum of only {self.size}")
        others = self.size - self.largest + size
        if self.largest > others + room:
            raise BrokenPromiseError(
                f"{what} has a size of {size}, {others} with the other parts; one part alone has {self.largest}"
            )

    def distance(self, other: Book) -> Fraction:
        """The largest difference from a sum of another book."""
        ours, theirs = self._denominator, other._denominator
        pairs = zip(self._numerators, other._numerators, strict=True)
        return Fraction(max(abs(here * theirs - there * ours) for here, there in pairs), ours * theirs)

    def settle(self, recorded: Mass, what: str) -> None:
        """Compare with what the run says, and go on from that.

        Args:
            recorded: the run's own sketch of the sum.
            what: its name, for the message.

        Raises:
            BrokenPromiseError: they differ by more than rounding explains, or by their sizes they cannot be equal.
        """
        expected, tolerance = Book(self._header), self.tolerance(recorded)
        expected.add_book(self)
        self.clear()
        self.add(recorded)
        excess = self.distance(expected)
        if excess > tolerance:
            should = expected.as_mass().sums
            raise BrokenPromiseError(
                f"{what} is {recorded.sums}, but the ledger has {should}: off by {float(excess):.6g}, "
                f"rounding explains {tolerance:.3g}"
            )
        expected.require_size(recorded.size, what)
        # What is kept in parts may be larger than they are together.
        self.largest = 0.0

    def as_mass(self) -> Mass:
        """The sum as a sketch, rounded."""
        return Mass(tuple(map(float, self.sums)), self.size)
