"""How are positions written? In Rice code, 12 bits each within chunks, or as they are: the definition, in numpy.

"rice", for each block of 1024 entries: with the n gaps g_i = index_i − index_(i−1) − 1 (the index before the first is
−1), one byte b; the low b bits of every gap, packed; then for every gap ⌊g_i/2^b⌋ zeros and a one, from the lowest bit
of a byte up, filled with zeros to a byte. b is the smallest that minimises n(1 + b) + Σ⌊g_i/2^b⌋. That is convex in b,
and at its minimum Σ⌊g_i/2^b⌋ ≤ 3n: readers refuse more. Keeping low bits and quotients apart costs no bit and makes
both fast to read. Source: Golomb 1966, Rice and Plaunt 1971; two planes as in Elias 1974 and Fano 1971, and never
longer than their code of the same b, for the gaps add up to less than d.

"int12": two bytes m, one byte w, for each chunk of 4096 positions its number of entries less m in w bits, packed; then
of every index its low 12 bits, packed. m is the least such number, w the bits that the largest needs. Nothing where
there is no entry.

"int32": four bytes each.
"""

from __future__ import annotations

import numpy as np

from sparsync.kernels.chunks import CHUNK_SIZE, chunk_count
from sparsync.kernels.codec_bits import (
    BLOCK_SIZE,
    COUNTS,
    INDICES,
    PARAMETER,
    UNARY,
    CodecError,
    Cursor,
    Integers,
    blocks,
    pack,
    packed_bytes,
    uint16,
    unpack,
)

INDEX_CODES = {"rice": 0, "int32": 1, "int12": 2}
"""How positions may be written, with the number on the wire."""

LARGEST_PARAMETER = 30
_UNARY_BITS_EACH = 4
_CHUNK_BITS = CHUNK_SIZE.bit_length() - 1


def write_indices(indices: Integers, dimension: int, code: int) -> bytes:
    """The bytes of indices [m], ascending and unique in [0, dimension), by the code of a number of `INDEX_CODES`."""
    if code == INDEX_CODES["int32"]:
        return indices.astype("<i4").tobytes()
    if code == INDEX_CODES["int12"]:
        return _write_int12(indices, dimension)
    gaps = np.diff(indices, prepend=-1) - 1
    return b"".join(_write_rice(gaps[block]) for block in blocks(len(gaps)))


def read_indices(cursor: Cursor, count: int, dimension: int, code: int) -> Integers:
    """The inverse of `write_indices`: indices [count].

    Raises:
        CodecError: the bytes end early, or hold what `write_indices` cannot have written.
    """
    if code == INDEX_CODES["int32"]:
        indices = cursor.take(4 * count).view("<i4").astype(np.int64)
        return _checked(indices, dimension)
    if code == INDEX_CODES["int12"]:
        return _read_int12(cursor, count, dimension)
    indices = np.zeros(count, dtype=np.int64)
    before = -1
    for block in blocks(count):
        size = block.stop - block.start
        indices[block] = before + np.cumsum(_read_rice(cursor, size) + 1)
        before = int(indices[block.stop - 1])
        if before >= dimension:
            raise CodecError(INDICES)
    return indices


def fewest_index_bytes(count: int, code: int) -> int:
    """No `count` entries take fewer bytes."""
    if code == INDEX_CODES["int32"]:
        return 4 * count
    if code == INDEX_CODES["int12"]:
        return 3 + packed_bytes(count, _CHUNK_BITS) if count else 0
    return _block_count(count) + packed_bytes(count, 1)


def most_index_bytes(count: int, dimension: int, code: int) -> int:
    """No `count` positions in [0, dimension) take more bytes.

    For "rice": with one b for all blocks the bits are at most m(1 + b) + ⌊(d − m)/2^b⌋, and each block's own b is no
    worse. To fill bytes takes at most 7 bits a block, and 7 more for the low bits of the last.
    """
    if code == INDEX_CODES["int32"]:
        return 4 * count
    if code == INDEX_CODES["int12"]:
        width = min(count, CHUNK_SIZE).bit_length()
        return 3 + packed_bytes(chunk_count(dimension), width) + packed_bytes(count, _CHUNK_BITS) if count else 0
    if not count:
        return 0
    # The smallest b with ⌈⌊(d − m)/2^b⌋/2⌉ ≤ m: one bit more would save no more than it costs.
    parameter = ((dimension - count) // (2 * count + 1)).bit_length()
    bits = count * (1 + parameter) + ((dimension - count) >> parameter)
    return _block_count(count) + (bits + 7 * _block_count(count) + 7) // 8


def _block_count(count: int) -> int:
    return -(-count // BLOCK_SIZE)


def _write_rice(gaps: Integers) -> bytes:
    costs = [len(gaps) * (1 + parameter) + int((gaps >> parameter).sum()) for parameter in range(LARGEST_PARAMETER + 1)]
    parameter = costs.index(min(costs))
    quotients = gaps >> parameter
    unary = np.zeros(int(quotients.sum()) + len(gaps), dtype=np.uint8)
    unary[np.cumsum(quotients + 1) - 1] = 1
    low, high = pack(gaps, parameter), np.packbits(unary, bitorder="little")
    return bytes([parameter]) + low.tobytes() + high.tobytes()


def _read_rice(cursor: Cursor, size: int) -> Integers:
    parameter = int(cursor.take(1)[0])
    if parameter > LARGEST_PARAMETER:
        raise CodecError(PARAMETER)
    low = unpack(cursor.take(packed_bytes(size, parameter)), size, parameter)
    unary = cursor.peek(packed_bytes(size, _UNARY_BITS_EACH))
    ones = np.unpackbits(unary, bitorder="little").nonzero()[0]
    # The last one that belongs here ends its byte.
    if len(ones) < size or (len(ones) > size and ones[size] // 8 == ones[size - 1] // 8):
        raise CodecError(UNARY)
    cursor.position += int(ones[size - 1]) // 8 + 1
    quotients = np.diff(ones[:size], prepend=-1) - 1
    return (quotients << parameter) + low


def _write_int12(indices: Integers, dimension: int) -> bytes:
    if not len(indices):
        return b""
    counts = np.bincount(indices // CHUNK_SIZE, minlength=chunk_count(dimension))
    least, width = int(counts.min()), int(np.ptp(counts)).bit_length()
    packed = pack(counts - least, width), pack(indices % CHUNK_SIZE, _CHUNK_BITS)
    return uint16(least) + bytes([width]) + packed[0].tobytes() + packed[1].tobytes()


def _read_int12(cursor: Cursor, count: int, dimension: int) -> Integers:
    if not count:
        return np.zeros(0, dtype=np.int64)
    least, width, chunks = int(cursor.take(2).view("<u2")[0]), int(cursor.take(1)[0]), chunk_count(dimension)
    if width > _CHUNK_BITS + 1 or least > CHUNK_SIZE:
        raise CodecError(PARAMETER)
    if width == 0 and least * chunks != count:
        raise CodecError(COUNTS)
    starts = np.zeros(count, dtype=np.int64)
    filled = 0
    for block in blocks(chunks):
        size = block.stop - block.start
        counts = least + unpack(cursor.take(packed_bytes(size, width)), size, width)
        end = filled + int(counts.sum())
        if end > count:
            raise CodecError(COUNTS)
        starts[filled:end] = np.repeat(np.arange(block.start, block.stop), counts)
        filled = end
    if filled != count:
        raise CodecError(COUNTS)
    places = np.zeros(count, dtype=np.int64)
    for block in blocks(count):
        size = block.stop - block.start
        places[block] = unpack(cursor.take(packed_bytes(size, _CHUNK_BITS)), size, _CHUNK_BITS)
    return _checked(starts * CHUNK_SIZE + places, dimension)


def _checked(indices: Integers, dimension: int) -> Integers:
    if len(indices) and (bool((np.diff(indices, prepend=-1) <= 0).any()) or int(indices[-1]) >= dimension):
        raise CodecError(INDICES)
    return indices
