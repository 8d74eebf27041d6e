"""How are real numbers added up without an error that depends on their order? As integers of 64 bits.

Integers modulo 2⁶⁴ add up exactly in any order, and masks among them cancel; what is rounded is each number, once. The
bounds are the statements `fixed_point_error` and `fixed_point_room`.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

WORD_BITS = 64
"""Of an integer that is added up."""


@dataclass(frozen=True)
class FixedPoint:
    """Real numbers as integers, a sum of which can be decoded: x is the nearest integer to 2^bits·x.

    Args:
        fraction_bits: after the point.

    Raises:
        ValueError: `fraction_bits` is not in 0 … 52.
    """

    fraction_bits: int = 32

    def __post_init__(self) -> None:
        if not 0 <= self.fraction_bits <= 52:
            raise ValueError(f"fraction_bits must lie in 0 … 52, got {self.fraction_bits}")

    @property
    def scale(self) -> int:
        """2^bits."""
        return 1 << self.fraction_bits

    def largest(self, client_count: int) -> float:
        """The largest magnitude of which so many sum up to less than 2⁶³: n·scale·this < 2⁶³."""
        return ((1 << (WORD_BITS - 1)) - 1) // client_count // self.scale

    def encode(self, vector: Tensor, client_count: int) -> Tensor:
        """[m] int64, of a vector [m] of floats on the CPU; the product with the scale is exact in float64.

        Raises:
            ValueError: an entry is not finite, or so large that a sum of as many clients could overflow.
        """
        largest, exact = self.largest(client_count), vector.double()
        if not bool((exact.abs() <= largest).all()):
            found = float(exact.abs().max())
            raise ValueError(f"an entry of magnitude {found} among {client_count} clients, of at most {largest:g} each")
        return (exact * self.scale).round().long()

    def decode(self, total: Tensor) -> Tensor:
        """[m] float64."""
        return total.double() / self.scale
