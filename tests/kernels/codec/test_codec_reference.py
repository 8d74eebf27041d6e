"""The native ops write, read and refuse what their definition in numpy does, byte for byte."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.kernels import codec, codec_reference, native_build
from sparsync.kernels.codec import HEADER_BYTES, Indices, Values, encode
from sparsync.kernels.codec_bits import ENDS_EARLY
from sparsync.kernels.codec_indices import INDEX_CODES
from sparsync.kernels.codec_values import VALUE_CODES
from sparsync.kernels.payload import SparsePayload
from tests.support.codec.mutations import mutated
from tests.support.codec.payloads import POSITIONS, payload_at, payload_of, payloads
from tests.support.hard_vectors import DTYPES, HARD_VECTORS

needs_native = pytest.mark.skipif(
    "cpu" not in native_build.library().devices, reason="the native library serves no CPU here"
)
pytestmark = needs_native
VALUES: tuple[Values, ...] = ("exact", "fp32", "bf16", "int8", "int2")
INDICES: tuple[Indices, ...] = ("rice", "int32", "int12")


def both(payload: SparsePayload, values: Values, indices: Indices) -> list[bytes]:
    """The message by the library and by the definition."""
    found = [encode(payload, values=values, indices=indices)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_operators", lambda: codec_reference)
        found.append(encode(payload, values=values, indices=indices))
    return found


def arguments(**changed: object) -> tuple[Any, ...]:
    """Of `encode_`: two entries of a vector of length 9."""
    usual = {
        "values": torch.tensor([1.0, -2.0]),
        "indices": torch.tensor([3, 5], dtype=torch.int32),
        "dimension": 9,
        "value_code": VALUE_CODES["int8"].number,
        "index_code": INDEX_CODES["rice"],
        "body": torch.zeros(64, dtype=torch.uint8),
    }
    return tuple((usual | changed).values())


@pytest.mark.parametrize("indices", INDICES)
@pytest.mark.parametrize("values", VALUES)
def test_both_write_the_same_message_at_positions_of_every_shape(values: Values, indices: Indices) -> None:
    for positions in POSITIONS:
        native, reference = both(payload_at(positions), values, indices)
        assert native == reference, positions


@pytest.mark.parametrize("vector", HARD_VECTORS)
def test_both_write_the_same_message_of_hard_vectors(vector: str) -> None:
    for values in VALUES:
        native, reference = both(payload_of(vector, torch.float32), values, "rice")
        assert native == reference, values
    for dtype in DTYPES:
        native, reference = both(payload_of(vector, dtype), "exact", "int12")
        assert native == reference, dtype


@given(payload=payloads(torch.float32), values=st.sampled_from(VALUES), indices=st.sampled_from(INDICES))
def test_both_write_the_same_message_of_drawn_payloads(
    payload: SparsePayload, values: Values, indices: Indices
) -> None:
    native, reference = both(payload, values, indices)
    assert native == reference


def test_both_read_as_far_and_give_the_same_report() -> None:
    """Of bodies as they arrive, under the dimension, count and codes of the header, wherever the op takes those."""
    asked = 0
    for data in islice(mutated(random.Random(5)), 3000):
        number = len(data) > HEADER_BYTES and data[6]
        if not number or number > 4 or data[7] > 2:
            continue
        dimension, count = (int.from_bytes(data[at : at + 4], "little") for at in (8, 12))
        if not count <= min(dimension, 5000) or dimension >= 2**31:
            continue
        body = torch.frombuffer(bytearray(data[HEADER_BYTES:]), dtype=torch.uint8)
        reports = []
        for operators in (torch.ops.sparsync, codec_reference):
            values, indices = torch.zeros(count), torch.zeros(count, dtype=torch.int32)
            reports.append(operators.decode_(body, dimension, number, data[7], values, indices).tolist()[0])
        assert reports[0] == reports[1], data
        asked += 1
    assert asked > 1000


@pytest.mark.parametrize("indices", INDICES)
@pytest.mark.parametrize("values", VALUES)
def test_a_body_that_is_too_short_is_not_written_beyond(values: Values, indices: Indices) -> None:
    """`encode_into` never gives one; the op must not trust that."""
    payload = payload_at("one more than a block")
    length = len(encode(payload, values=values, indices=indices)) - HEADER_BYTES
    for missing in (1, 2, length // 2, length):
        memory = torch.full((length + 64,), 0xA5, dtype=torch.uint8)
        report = torch.ops.sparsync.encode_(
            payload.values,
            payload.indices,
            payload.dimension,
            VALUE_CODES[values].number,
            INDEX_CODES[indices],
            memory[: length - missing],
        )
        assert int(report[0]) == ENDS_EARLY
        assert bool((memory[length - missing :] == 0xA5).all())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"values": torch.zeros(3)}, "vectors of one length"),
        ({"values": torch.zeros(1, 2)}, "vectors of one length"),
        ({"values": torch.zeros(4)[::2]}, "not contiguous"),
        ({"values": torch.zeros(2, dtype=torch.int32)}, "values must be float16|this value code wants float32"),
        ({"values": torch.zeros(2, dtype=torch.int32), "value_code": 0}, "values must be float16"),
        ({"values": torch.zeros(2).double()}, "this value code wants float32"),
        ({"indices": torch.zeros(2, dtype=torch.int64)}, "indices must be int32"),
        ({"body": torch.zeros(64)}, "the body must be a vector of uint8"),
        ({"dimension": -1}, "d must lie in"),
        ({"dimension": 2**31 + 1}, "d must lie in"),
        ({"dimension": 1}, "2 entries do not fit a vector of length 1"),
        ({"value_code": 5}, "unknown value code 5"),
        ({"value_code": -1}, "unknown value code -1"),
        ({"index_code": 3}, "unknown index code 3"),
    ],
)
def test_an_op_refuses_arguments_that_could_lead_it_astray(changed: dict[str, object], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.ops.sparsync.encode_(*arguments(**changed))


def test_torch_finds_the_ops_in_order() -> None:
    """Schema, what they change, and the shapes that they return."""
    torch.library.opcheck(torch.ops.sparsync.encode_.default, arguments())
    values, indices, dimension, value_code, index_code, body = arguments()
    body = body[: int(torch.ops.sparsync.encode_(values, indices, dimension, value_code, index_code, body)[1])]
    torch.library.opcheck(
        torch.ops.sparsync.decode_.default, (body, dimension, value_code, index_code, values, indices)
    )
