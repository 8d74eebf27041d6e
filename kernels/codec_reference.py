"""The ops `sparsync::encode_` and `sparsync::decode_` in numpy: what the native ops must equal byte for byte.

They write and read a body: values (`codec_values.py`), then positions (`codec_indices.py`). The header before it is
written and checked in `codec.py`. Where there is no compiler they are the substitute.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sparsync.kernels.codec_bits import ENDS_EARLY, INDICES, LEFT_OVER, NOT_FINITE, Bytes, CodecError, Cursor
from sparsync.kernels.codec_indices import read_indices, write_indices
from sparsync.kernels.codec_values import first_non_finite, read_values, write_values


def encode_(values: Tensor, indices: Tensor, dimension: int, value_code: int, index_code: int, body: Tensor) -> Tensor:
    """Write values and positions to `body`; nothing is written where an entry is refused.

    Args:
        values: [m] float32, for the code "exact" of any floating dtype.
        indices: [m] int32.
        dimension: d.
        value_code: number in `VALUE_CODES`.
        index_code: number in `INDEX_CODES`.
        body: uint8, long enough; changed.

    Returns:
        [2] int64: 0 and the number of bytes; or a number of `FAULTS` and the entry that is wrong.
    """
    raw, positions = _bytes_of(values), indices.numpy().astype(np.int64)
    refused = first_non_finite(raw, values.dtype)
    if refused is not None:
        return torch.tensor([NOT_FINITE, refused])
    rises = (np.diff(positions, prepend=-1) > 0) & (positions < dimension)
    if not rises.all():
        return torch.tensor([INDICES, int(rises.argmin())])
    written = write_values(raw, value_code) + write_indices(positions, dimension, index_code)
    if len(written) > body.numel():
        return torch.tensor([ENDS_EARLY, body.numel()])
    body.numpy()[: len(written)] = np.frombuffer(written, dtype=np.uint8)
    return torch.tensor([0, len(written)])


def decode_(body: Tensor, dimension: int, value_code: int, index_code: int, values: Tensor, indices: Tensor) -> Tensor:
    """Read the values and positions of a body, all of which belongs to them.

    Args:
        body: uint8, any bytes.
        dimension: d.
        value_code: number in `VALUE_CODES`.
        index_code: number in `INDEX_CODES`.
        values: [m], as in `encode_`; changed, garbage where a fault is reported.
        indices: [m] int32; changed likewise.

    Returns:
        [2] int64: a number of `FAULTS`, or 0, and how many bytes were read.
    """
    cursor = Cursor(body.numpy())
    try:
        _bytes_of(values)[:] = read_values(cursor, values.numel(), values.dtype, value_code)
        indices.numpy()[:] = read_indices(cursor, indices.numel(), dimension, index_code)
        fault = LEFT_OVER if cursor.left_count else 0
    except CodecError as found:
        fault = found.number
    return torch.tensor([fault, cursor.position])


def _bytes_of(values: Tensor) -> Bytes:
    """The memory of a contiguous tensor; numpy has no bfloat16."""
    found: Bytes = values.view(torch.uint8).numpy()
    return found
