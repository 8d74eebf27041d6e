"""How the reference of the wire format reads and writes bytes: a cursor, and numbers of a fixed number of bits.

Bits go from the lowest of a byte up, numbers from their lowest bit up, words from their lowest byte up. Ours.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Floats = NDArray[np.float32]

BLOCK_SIZE = 1024
"""Entries that share a Rice parameter, a scale or two levels."""

FAULTS = {
    1: "is not finite",
    2: "is not above the index before it, or not below d",
    3: "the bytes end early",
    4: "no encoder writes this parameter",
    5: "the unary part holds another number of ones, or too many zeros",
    6: "no encoder writes this scale or this value",
    7: "the counts of the chunks are not those of the entries",
    8: "bytes are left over",
}
"""What can be wrong with entries (1 and 2) or bytes, by the number in an op's report; 0 is none."""
NOT_FINITE, INDICES, ENDS_EARLY, PARAMETER, UNARY, SCALE, COUNTS, LEFT_OVER = FAULTS


class CodecError(Exception):
    """Something in `FAULTS`; the cursor stands where it was found."""

    def __init__(self, number: int) -> None:
        super().__init__(FAULTS[number])
        self.number = number


class Cursor:
    """The bytes of a body that are not read yet."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self.position = 0

    @property
    def left_count(self) -> int:
        """How many are not read yet."""
        return len(self._data) - self.position

    def take(self, count: int) -> Bytes:
        """The next bytes.

        Raises:
            CodecError: there are fewer.
        """
        taken = self.peek(count)
        if len(taken) < count:
            raise CodecError(ENDS_EARLY)
        self.position += count
        return taken

    def peek(self, count: int) -> Bytes:
        """The next bytes, or fewer at the end, without going on."""
        return self._data[self.position : self.position + count]


def blocks(count: int, size: int = BLOCK_SIZE) -> Iterator[slice]:
    """The places of each block, the last one shorter."""
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


def pack(numbers: Integers, bit_count: int) -> Bytes:
    """Numbers [n] of `bit_count` bits in ⌈n · bit_count / 8⌉ bytes; higher bits are dropped, the last bits are zero."""
    bits = (numbers[:, None] >> np.arange(bit_count)) & 1
    return np.packbits(bits.astype(np.uint8).ravel(), bitorder="little")


def unpack(data: Bytes, count: int, bit_count: int) -> Integers:
    """The inverse of `pack`: numbers [count]."""
    bits = np.unpackbits(data, count=count * bit_count, bitorder="little").reshape(count, bit_count)
    return bits.astype(np.int64) @ (np.int64(1) << np.arange(bit_count, dtype=np.int64))


def packed_bytes(count: int, bit_count: int) -> int:
    """How many bytes `pack` makes of so many numbers."""
    return -(-count * bit_count // 8)


def uint16(number: int) -> bytes:
    """Two bytes, the lower first."""
    return number.to_bytes(2, "little")
