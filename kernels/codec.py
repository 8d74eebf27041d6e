"""A payload as bytes: `decode(encode(payload))`, and the same into a buffer of fixed size for a collective.

It comes between a selection and the collective. Positions in Rice code take about log₂(e·d/m) bits each, values 32, 16,
8 or 2. What the values lose belongs into the residual: send `quantised(payload)` and `keep_error` the difference.

A message is a header of 24 bytes, little-endian, and a body (`codec_values.py`, `codec_indices.py`). The header is
"spsy"; one byte each for the version, the payload's dtype, the value code and the index code; four bytes d; four bytes
m; eight bytes the length of the message, header included, so that it may lie in a larger buffer. There is no checksum:
the transports below have theirs, and a byte that one of them changed unnoticed is as bad in a dense gradient.

`decode` takes any bytes. It reads none outside, and either returns finite values at ascending positions below d, or
raises. It allocates for no more entries than the bytes that are there can hold: an entry has at least three bits.

The ops `sparsync::encode_` and `sparsync::decode_` do the work on the CPU, or their definition in numpy
(`codec_reference.py`) where there is no compiler; both with the same bytes.
"""

from __future__ import annotations

import struct
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from sparsync.kernels import codec_reference, native_build
from sparsync.kernels.codec_bits import FAULTS, INDICES, NOT_FINITE
from sparsync.kernels.codec_indices import INDEX_CODES, fewest_index_bytes, most_index_bytes
from sparsync.kernels.codec_values import VALUE_CODES, ValueCode, value_bytes
from sparsync.kernels.magnitude import NonFiniteError
from sparsync.kernels.payload import SparsePayload

Values = Literal["exact", "fp32", "bf16", "int8", "int2"]
"""Names in `VALUE_CODES`."""
Indices = Literal["rice", "int32", "int12"]
"""Names in `INDEX_CODES`."""

_HEADER = struct.Struct("<4s4B2IQ")
_MAGIC, _VERSION = b"spsy", 1
_LARGEST_DIMENSION = 2**31 - 1
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_CODES_BY_NUMBER = {code.number: name for name, code in VALUE_CODES.items()}

HEADER_BYTES = _HEADER.size
"""Bytes before the values."""


class _Header(NamedTuple):
    """What the first bytes of a message say, in their order."""

    magic: bytes
    version: int
    dtype: int
    value_code: int
    index_code: int
    dimension: int
    entry_count: int
    length: int


def encode(payload: SparsePayload, *, values: Values = "fp32", indices: Indices = "rice") -> bytes:
    """The payload's message; `decode` gives `quantised(payload, values=values)` back.

    Args:
        payload: on the CPU, finite, with ascending indices.
        values: "exact" for any dtype; "fp32", "bf16", "int8" or "int2" for float32, and for float64 after rounding.
        indices: "rice" is the shortest; "int12" has 12 bits each, for `chunked_top_k`; "int32" as they are.

    Raises:
        ValueError: a name is unknown or not for this dtype, a value is not finite (in float32, if that is asked for),
            indices do not ascend within [0, d), d ≥ 2³¹, or the payload is on another device.
    """
    bound = encoded_bound(payload.count, payload.dimension, values=values, indices=indices, dtype=payload.values.dtype)
    buffer = torch.empty(bound, dtype=torch.uint8)
    length = encode_into(payload, buffer, values=values, indices=indices)
    message: bytes = buffer[:length].numpy().tobytes()
    return message


def encode_into(payload: SparsePayload, buffer: Tensor, *, values: Values = "fp32", indices: Indices = "rice") -> int:
    """Write the payload's message to the head of a buffer; return its length in bytes. The rest of the buffer is free.

    Args:
        payload: as in `encode`.
        buffer: [≥ `encoded_bound`] uint8 on the CPU, contiguous; shares no memory with the payload.
        values: as in `encode`.
        indices: as in `encode`.

    Raises:
        ValueError: as `encode`, or the buffer is not as said; the buffer has not changed then.
    """
    held, dtype = payload.values.detach(), payload.values.dtype
    bound = encoded_bound(payload.count, payload.dimension, values=values, indices=indices, dtype=dtype)
    if held.device.type != "cpu":
        raise ValueError(f"the payload must be on the CPU, got {held.device}")
    _check_bytes(buffer)
    if buffer.numel() < bound:
        raise ValueError(f"the buffer must have {bound} bytes, as encoded_bound says, got {buffer.numel()}")
    code, index_code = VALUE_CODES[values], INDEX_CODES[indices]
    written = held if values == "exact" else held.float()
    operator = _operators().encode_
    fault, found = operator(
        written.contiguous(),
        payload.indices.contiguous(),
        payload.dimension,
        code.number,
        index_code,
        buffer[HEADER_BYTES:],
    ).tolist()
    if fault:
        error = NonFiniteError if fault == NOT_FINITE else ValueError
        raise error(_refusal(fault, found, payload))
    header = _Header(
        _MAGIC,
        _VERSION,
        _DTYPES.index(dtype),
        code.number,
        index_code,
        payload.dimension,
        payload.count,
        HEADER_BYTES + found,
    )
    _HEADER.pack_into(buffer.numpy().data, 0, *header)
    return header.length


def decode(data: bytes | bytearray | memoryview | Tensor) -> SparsePayload:
    """The payload of a message, in the dtype that was encoded; bytes after the message are not looked at.

    Args:
        data: any bytes, or a tensor [n] uint8 on the CPU, contiguous.

    Raises:
        ValueError: the bytes are not a message of this version, or break off, or hold what `encode` cannot have
            written: a value that is not finite, positions that do not ascend below d.
    """
    buffer = data if isinstance(data, Tensor) else _tensor_of(data)
    _check_bytes(buffer)
    header = _header_of(buffer)
    dtype, name = _DTYPES[header.dtype], _CODES_BY_NUMBER[header.value_code]
    values = torch.empty(header.entry_count, dtype=dtype if name == "exact" else torch.float32)
    indices = torch.empty(header.entry_count, dtype=torch.int32)
    fault, position = (
        _operators()
        .decode_(
            buffer[HEADER_BYTES : header.length],
            header.dimension,
            header.value_code,
            header.index_code,
            values,
            indices,
        )
        .tolist()
    )
    if fault:
        what = "a value is not finite" if fault == NOT_FINITE else FAULTS[fault]
        what = "indices do not ascend below d" if fault == INDICES else what
        raise ValueError(f"not a payload, before byte {HEADER_BYTES + position} of {header.length}: {what}")
    return SparsePayload(values.to(dtype), indices, header.dimension)


def encoded_bound(
    count: int,
    dimension: int,
    *,
    values: Values = "fp32",
    indices: Indices = "rice",
    dtype: torch.dtype = torch.float32,
) -> int:
    """No message of so many entries is longer, in bytes, wherever they are; grows with the count.

    Args:
        count: m, 0 ≤ m ≤ d; of a rule that sends up to some number, that number.
        dimension: d < 2³¹.
        values: as in `encode`.
        indices: as in `encode`.
        dtype: of the payload.

    Raises:
        ValueError: an argument is not as said.
    """
    code = _value_code(values, dtype)
    if indices not in INDEX_CODES:
        raise ValueError(f"unknown index code {indices!r}; known: {', '.join(INDEX_CODES)}")
    if not 0 <= count <= dimension <= _LARGEST_DIMENSION:
        raise ValueError(f"expected 0 <= m <= d < 2^31, got m = {count}, d = {dimension}")
    return HEADER_BYTES + value_bytes(count, code, dtype) + most_index_bytes(count, dimension, INDEX_CODES[indices])


def quantised(payload: SparsePayload, *, values: Values) -> SparsePayload:
    """The payload that every receiver decodes, bit for bit, whatever the index code.

    The error v − Q(v) of a float32 value is a float32 for "fp32", "bf16" and "int8": both are multiples of the last
    place of v, and |v − Q(v)| ≤ |v|. For "int2" it is where |v| ≥ |Q(v)|/2, by the same reason; below that the
    subtraction rounds once. The same holds of float64 values and errors.

    Args:
        payload: as in `encode`.
        values: as in `encode`.

    Raises:
        ValueError: as `encode`.
    """
    return decode(encode(payload, values=values, indices="int32"))


def quantisation_error(payload: SparsePayload, sent: SparsePayload) -> Tensor:
    """v − Q(v) for every entry, [m] in the payload's dtype, rounded where `quantised` says so.

    Args:
        payload: what was selected.
        sent: `quantised` of it.

    Raises:
        ValueError: the two have other positions or another dtype.
    """
    if sent.dimension != payload.dimension or not torch.equal(sent.indices, payload.indices):
        raise ValueError(f"{sent} is not at the positions of {payload}")
    if sent.values.dtype != payload.values.dtype:
        raise ValueError(f"the payload is {payload.values.dtype}, what was sent {sent.values.dtype}")
    return payload.values - sent.values


def keep_error(residual: Tensor, payload: SparsePayload, sent: SparsePayload) -> None:
    """e ← e + v − Q(v) at the positions of a payload, in place: sent + kept is again what was selected from.

    A selection leaves e = 0 there. Then e + Q(v) = v exactly wherever v − Q(v) is exact, see `quantised`.

    Args:
        residual: [d], of the payload's dtype and device; changed.
        payload: what was selected.
        sent: `quantised` of it.

    Raises:
        ValueError: the three do not belong together; nothing has changed then.
    """
    error = quantisation_error(payload, sent)
    if residual.shape != (payload.dimension,):
        raise ValueError(f"the residual must be a vector of length {payload.dimension}, got {tuple(residual.shape)}")
    if (residual.dtype, residual.device) != (error.dtype, error.device):
        expected, got = f"{error.dtype} on {error.device}", f"{residual.dtype} on {residual.device}"
        raise ValueError(f"the residual must be {expected}, got {got}")
    residual[payload.indices.long()] += error


def _operators() -> Any:
    """The ops of the library, or their definition."""
    return torch.ops.sparsync if "cpu" in native_build.library().devices else codec_reference


def _value_code(values: str, dtype: torch.dtype) -> ValueCode:
    code = VALUE_CODES.get(values)
    if code is None:
        raise ValueError(f"unknown value code {values!r}; known: {', '.join(VALUE_CODES)}")
    if dtype not in code.dtypes:
        raise ValueError(f"{values!r} is not for values of {dtype}")
    return code


def _check_bytes(buffer: Tensor) -> None:
    if buffer.dtype != torch.uint8 or buffer.ndim != 1 or not buffer.is_contiguous():
        shape = tuple(buffer.shape)
        raise ValueError(f"expected a contiguous vector of uint8, got {buffer.dtype} of shape {shape}")
    if buffer.device.type != "cpu":
        raise ValueError(f"the bytes must be on the CPU, got {buffer.device}")


def _tensor_of(data: bytes | bytearray | memoryview) -> Tensor:
    """A copy: torch warns of memory that may not be written, and bytes are such."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if len(data) else torch.empty(0, dtype=torch.uint8)


def _header_of(buffer: Tensor) -> _Header:
    """The header, checked as far as it can be without the body: nothing of its size has been allocated."""
    if buffer.numel() < HEADER_BYTES:
        raise ValueError(f"a message has at least {HEADER_BYTES} bytes, got {buffer.numel()}")
    header = _Header(*_HEADER.unpack_from(buffer.numpy().data))
    if (header.magic, header.version) != (_MAGIC, _VERSION):
        raise ValueError(f"not a message of version {_VERSION}: it begins with {header.magic!r}, {header.version}")
    name = _CODES_BY_NUMBER.get(header.value_code)
    is_known = name is not None and header.index_code in INDEX_CODES.values() and header.dtype < len(_DTYPES)
    if name is None or not is_known or _DTYPES[header.dtype] not in VALUE_CODES[name].dtypes:
        codes = f"{header.dtype}, {header.value_code}, {header.index_code}"
        raise ValueError(f"no message has dtype, value code and index code {codes}")
    if not header.entry_count <= header.dimension <= _LARGEST_DIMENSION:
        raise ValueError(f"expected m <= d < 2^31, got m = {header.entry_count}, d = {header.dimension}")
    dtype = _DTYPES[header.dtype]
    fewest = HEADER_BYTES + value_bytes(header.entry_count, VALUE_CODES[name], dtype)
    fewest += fewest_index_bytes(header.entry_count, header.index_code)
    if not fewest <= header.length <= buffer.numel():
        claimed = f"{header.length} bytes, {header.entry_count} entries need {fewest}, there are {buffer.numel()}"
        raise ValueError(f"the message says that it has {claimed}")
    return header


def _refusal(fault: int, entry: int, payload: SparsePayload) -> str:
    """What is wrong with an entry that an op refused."""
    if fault == NOT_FINITE:
        return f"entry {entry} is not finite in the dtype that is sent: {payload.values[entry].item()}"
    if fault == INDICES:
        index = int(payload.indices[entry])
        return f"index {entry} is {index}, which {FAULTS[fault]} = {payload.dimension}"
    raise AssertionError(FAULTS[fault])
