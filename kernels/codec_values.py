"""How are values written? As they are, in float32, bfloat16, or 8 or 2 bits with a scale: the definition, in numpy.

Scales belong to blocks of 1024 entries, not to the payload: indices ascend, so a block is mostly of one layer, and
layers differ in scale. Each is a power of two. So scaling rounds nothing, an eight-bit scale is enough, and the error
v − Q(v) is exact in float32 (see `quantised` in `codec.py`); a free scale would save at most one bit of eight.

"exact": the bits, in the payload's own dtype. "fp32": float32, of float64 the nearest. The others start from that:

- "bf16": the nearest finite bfloat16, ties to even.
- "int8", for each block: one byte E, the biased exponent of the largest magnitude (1 for subnormals and zeros); then q
  in [−127, 127] for each value, the nearest integer to v/s, ties to even, with s = 2^(E − 127 − 6). Q(v) = qs.
- "int2", for each block: E; two levels l and h, two bytes each; then two bits a value, bit 1 its sign, bit 0 set for
  h. Q(v) = ±ls or ±hs with s = 2^(E − 127 − 15). With M = ⌊|v|/s⌋ < 2^16, l is the mean of the M that are at most
  their mean, h of those above it (l where there are none), all means rounded down; h stands for M > ⌊(l + h)/2⌋. That
  is one step of Lloyd's iteration (1957, 1982) from the mean. In every block ‖v − Q(v)‖ ≤ ‖v‖, since a mean that is
  rounded down is no worse than 0 for its group. Source: ours, after the 2-bit values of SparseLoCo (arXiv 2508.15706).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sparsync.kernels.codec_bits import (
    BLOCK_SIZE,
    NOT_FINITE,
    SCALE,
    Bytes,
    CodecError,
    Cursor,
    Floats,
    Integers,
    blocks,
    pack,
    packed_bytes,
    uint16,
    unpack,
)

_SINGLE = (torch.float32, torch.float64)


@dataclass(frozen=True)
class ValueCode:
    """One way to write values.

    Args:
        number: on the wire.
        bits: of a value; 0 as many as the dtype has.
        block_bytes: of a block's scale or levels.
        dtypes: of payloads that may be written so.
    """

    number: int
    bits: int
    block_bytes: int
    dtypes: tuple[torch.dtype, ...]


VALUE_CODES = {
    "exact": ValueCode(0, 0, 0, (torch.float16, torch.bfloat16, *_SINGLE)),
    "fp32": ValueCode(1, 32, 0, _SINGLE),
    "bf16": ValueCode(2, 16, 0, _SINGLE),
    "int8": ValueCode(3, 8, 1, _SINGLE),
    "int2": ValueCode(4, 2, 5, _SINGLE),
}
"""How values may be written."""

_BIAS, _LARGEST_EXPONENT, _MAGNITUDE = 127, 254, 0x7FFFFFFF
_LARGEST_BFLOAT16 = 0x7F7F
_INT8_BITS, _LARGEST_INT8, _INT2_BITS = 6, 127, 15
_EXPONENT_MASKS = {
    torch.float16: 0x7C00,
    torch.bfloat16: 0x7F80,
    torch.float32: 0x7F800000,
    torch.float64: 0x7FF0000000000000,
}


def value_bytes(count: int, code: ValueCode, dtype: torch.dtype) -> int:
    """How many bytes the values of `count` entries take, whatever they are."""
    return -(-count // BLOCK_SIZE) * code.block_bytes + packed_bytes(count, code.bits or 8 * dtype.itemsize)


def first_non_finite(raw: Bytes, dtype: torch.dtype) -> int | None:
    """The first value that is not finite, if there is one.

    Args:
        raw: the bytes of values of a dtype.
        dtype: of the values.
    """
    mask = _EXPONENT_MASKS[dtype]
    (found,) = ((raw.view(f"<u{dtype.itemsize}") & mask) == mask).nonzero()
    return int(found[0]) if len(found) else None


def write_values(raw: Bytes, number: int) -> bytes:
    """The bytes of values by the code of a number.

    Args:
        raw: the bytes of finite values; of float32 but for the code "exact".
        number: see `VALUE_CODES`.
    """
    if number in (VALUE_CODES["exact"].number, VALUE_CODES["fp32"].number):
        return raw.tobytes()
    values: Floats = raw.view("<f4")
    if number == VALUE_CODES["bf16"].number:
        return _write_bfloat16(values)
    write = _write_int8 if number == VALUE_CODES["int8"].number else _write_int2
    return b"".join(write(values[block]) for block in blocks(len(values)))


def read_values(cursor: Cursor, count: int, dtype: torch.dtype, number: int) -> Bytes:
    """The inverse of `write_values`: the bytes of `count` values, of float32 but for the code "exact".

    Raises:
        CodecError: the bytes end early, or hold what `write_values` cannot have written.
    """
    if number in (VALUE_CODES["int8"].number, VALUE_CODES["int2"].number):
        read = _read_int8 if number == VALUE_CODES["int8"].number else _read_int2
        floats = np.zeros(count, np.float32)
        for block in blocks(count):
            floats[block] = read(cursor, block.stop - block.start)
        return floats.view(np.uint8)
    if number == VALUE_CODES["bf16"].number:
        parts = [cursor.take(2 * (block.stop - block.start)) for block in blocks(count)]
        words = np.concatenate([np.zeros(0, np.uint8), *parts]).view("<u2").astype("<u4")
        raw = (words << 16).view(np.uint8)
    else:
        raw = cursor.take(count * dtype.itemsize)
    if first_non_finite(raw, dtype) is not None:
        raise CodecError(NOT_FINITE)
    return raw


def _write_bfloat16(values: Floats) -> bytes:
    bits = values.view("<u4").astype(np.int64)
    magnitudes = bits & _MAGNITUDE
    nearest = (magnitudes + 0x7FFF + (magnitudes >> 16 & 1)) >> 16
    rounded: Integers = bits >> 31 << 15 | np.minimum(nearest, _LARGEST_BFLOAT16)
    return rounded.astype("<u2").tobytes()


def _exponent(values: Floats) -> int:
    return max(1, int((values.view("<u4") & _MAGNITUDE).max()) >> 23)


def _write_int8(values: Floats) -> bytes:
    exponent = _exponent(values)
    # In float64 no power of two that occurs here rounds anything.
    steps = np.rint(np.ldexp(values.astype(np.float64), _INT8_BITS + _BIAS - exponent))
    return bytes([exponent]) + np.clip(steps, -_LARGEST_INT8, _LARGEST_INT8).astype(np.int8).tobytes()


def _read_int8(cursor: Cursor, size: int) -> Floats:
    exponent, steps = int(cursor.take(1)[0]), cursor.take(size).view(np.int8)
    _check_exponent(exponent)
    if int(steps.min()) < -_LARGEST_INT8:
        raise CodecError(SCALE)
    values: Floats = np.ldexp(steps.astype(np.float32), exponent - _BIAS - _INT8_BITS)
    return values


def _write_int2(values: Floats) -> bytes:
    exponent = _exponent(values)
    scaled = np.ldexp(np.abs(values.astype(np.float64)), _INT2_BITS + _BIAS - exponent)
    steps = scaled.astype(np.int64)
    low, high = _levels(steps)
    is_high = steps > (low + high) // 2
    codes = np.signbit(values).astype(np.int64) << 1 | is_high
    return bytes([exponent]) + uint16(low) + uint16(high) + pack(codes, VALUE_CODES["int2"].bits).tobytes()


def _levels(steps: Integers) -> tuple[int, int]:
    upper = steps > int(steps.sum()) // len(steps)
    low = int(steps[~upper].sum()) // int((~upper).sum())
    return low, int(steps[upper].sum()) // int(upper.sum()) if upper.any() else low


def _read_int2(cursor: Cursor, size: int) -> Floats:
    exponent = int(cursor.take(1)[0])
    levels = [int(cursor.take(2).view("<u2")[0]) for _ in range(2)]
    codes = unpack(cursor.take(packed_bytes(size, VALUE_CODES["int2"].bits)), size, VALUE_CODES["int2"].bits)
    _check_exponent(exponent)
    chosen = np.array(levels, dtype=np.float32)[codes & 1]
    magnitudes = np.ldexp(chosen, exponent - _BIAS - _INT2_BITS)
    values: Floats = np.where(codes & 2, -magnitudes, magnitudes)
    return values


def _check_exponent(exponent: int) -> None:
    if not 1 <= exponent <= _LARGEST_EXPONENT:
        raise CodecError(SCALE)
