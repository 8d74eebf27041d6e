"""Bytes that no encoder wrote are refused with a `ValueError`, or are a payload like any other."""

from __future__ import annotations

import random
import struct
import tracemalloc
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.kernels import codec, codec_reference, native_build
from sparsync.kernels.codec import HEADER_BYTES, Indices, decode, encode
from sparsync.kernels.codec_bits import FAULTS
from sparsync.kernels.payload import SparsePayload
from tests.support.codec.mutations import mutated, seeds
from tests.support.codec.payloads import payload_at

ORDINARY_COUNT, SLOW_COUNT = 6000, 1_000_000
INDICES: tuple[Indices, ...] = ("rice", "int32", "int12")


def judged(data: bytes) -> SparsePayload | str:
    """What `decode` says; whatever it accepts is sound."""
    try:
        payload = decode(data)
    except ValueError as error:
        return str(error)
    indices = payload.indices
    assert bool(payload.values.isfinite().all())
    assert bool((indices.diff() > 0).all())
    assert payload.count == 0 or 0 <= int(indices[0]) <= int(indices[-1]) < payload.dimension
    return payload


def is_same(one: SparsePayload | str, other: SparsePayload | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    raw = [payload.values.view(torch.uint8) for payload in (one, other)]
    return torch.equal(*raw) and torch.equal(one.indices, other.indices) and one.dimension == other.dimension


def message_with(*, at: int, form: str, number: int, indices: Indices = "rice") -> bytes:
    """A message of 1100 entries with something else in one place."""
    data = bytearray(encode(payload_at("one more than a block"), indices=indices))
    struct.pack_into(form, data, at, number)
    return bytes(data)


def body_of(values: bytes, positions: bytes, *, count: int, dimension: int, code: tuple[int, int]) -> bytes:
    """A message put together by hand; `code` is that of the values and of the indices."""
    length = HEADER_BYTES + len(values) + len(positions)
    return struct.pack("<4s4B2IQ", b"spsy", 1, 2, *code, dimension, count, length) + values + positions


def test_mutated_messages_are_refused_or_sound_and_both_ways_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = list(islice(mutated(random.Random(3)), ORDINARY_COUNT))
    by_library = [judged(data) for data in inputs]
    monkeypatch.setattr(codec, "_operators", lambda: codec_reference)
    differing = [data for data, found in zip(inputs, by_library, strict=True) if not is_same(judged(data), found)]
    assert differing == []
    refusals = [found for found in by_library if isinstance(found, str)]
    assert ORDINARY_COUNT / 3 < len(refusals) < ORDINARY_COUNT * 19 / 20
    # All that can be wrong occurs.
    for number, what in FAULTS.items():
        expected = {1: "a value is not finite", 2: "indices do not ascend below d"}.get(number, what)
        assert any(found.endswith(expected) for found in refusals), expected


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_million_mutated_messages_are_refused_or_sound(part: int) -> None:
    refused = sum(isinstance(judged(data), str) for data in islice(mutated(random.Random(part)), SLOW_COUNT // 4))
    assert SLOW_COUNT / 12 < refused < SLOW_COUNT / 4


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_sound(data: bytes) -> None:
    judged(data)
    judged(b"spsy\x01" + data)


@pytest.mark.slow
def test_every_beginning_of_a_message_is_refused() -> None:
    for message in seeds()[15:45]:
        for length in range(len(message)):
            with pytest.raises(ValueError):  # noqa: PT011  # any of several reasons
                decode(message[:length])


@pytest.mark.parametrize("indices", INDICES)
def test_every_beginning_that_says_that_it_is_whole_is_refused(indices: Indices) -> None:
    message = encode(payload_at("one more than a block"), values="int2", indices=indices)
    for length in range(HEADER_BYTES, len(message)):
        with pytest.raises(ValueError):  # noqa: PT011  # any of several reasons
            decode(message[:16] + length.to_bytes(8, "little") + message[HEADER_BYTES:length])


@pytest.mark.parametrize(
    ("at", "form", "number", "message"),
    [
        (0, "<B", 0, "not a message of version 1"),
        (4, "<B", 2, "not a message of version 1"),
        (5, "<B", 4, "no message has dtype, value code and index code 4, 1, 0"),
        (5, "<B", 0, "no message has dtype, value code and index code 0, 1, 0"),
        (6, "<B", 5, "no message has dtype, value code and index code 2, 5, 0"),
        (7, "<B", 3, "no message has dtype, value code and index code 2, 1, 3"),
        (8, "<I", 2**31, "got m = 1025, d = 2147483648"),
        (8, "<I", 1024, "got m = 1025, d = 1024"),
        (12, "<I", 50_000, "50000 entries need 206323"),
        (16, "<Q", 2**63, "the message says that it has 9223372036854775808 bytes"),
        (16, "<Q", HEADER_BYTES, "the message says that it has 24 bytes"),
        (24 + 2, "<H", 0x7F80, "before byte 4124 of .*: a value is not finite"),
        (24 + 4100, "<B", 31, "no encoder writes this parameter"),
        (24 + 4100, "<B", 30, "indices do not ascend below d|bytes end early|holds another number"),
    ],
)
def test_a_field_that_is_wrong_is_named(at: int, form: str, number: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(message_with(at=at, form=form, number=number))


@pytest.mark.parametrize(
    ("positions", "code"),
    [
        (struct.pack("<2i", 3, 3), 1),
        (struct.pack("<2i", 4, 3), 1),
        (struct.pack("<2i", -1, 3), 1),
        (struct.pack("<2i", 3, 9), 1),
        (bytes([2, 0b1111, 0b110]), 0),  # gaps of 7 and 3 reach 11
        (b"\x02\x00\x00" + bytes([3, 48, 0]), 2),  # 3 and 3 in the only chunk
        (b"\x02\x00\x00" + bytes([3, 144, 0]), 2),  # 3 and 9
    ],
)
def test_positions_out_of_order_or_range_are_refused(positions: bytes, code: int) -> None:
    data = body_of(bytes(8), positions, count=2, dimension=9, code=(1, code))
    with pytest.raises(ValueError, match="indices do not ascend below d"):
        decode(data)


def test_what_only_looks_like_an_encoding_is_refused() -> None:
    """Scales, levels and counts that no encoder writes, and a gap so long that 32 bits would wrap."""
    at = (b"\x00\x03", 3)
    for scale in (0, 255):
        with pytest.raises(ValueError, match="no encoder writes this scale"):
            decode(body_of(bytes([scale, 1, 1]), at[0], count=2, dimension=9, code=(3, 0)))
        with pytest.raises(ValueError, match="no encoder writes this scale"):
            decode(body_of(bytes([scale, 1, 0, 1, 0, 0]), at[0], count=2, dimension=9, code=(4, 0)))
    with pytest.raises(ValueError, match="no encoder writes this scale"):
        decode(body_of(b"\x7f\x80\x01", at[0], count=2, dimension=9, code=(3, 0)))
    for positions in (b"\x01\x00\x00\x03\x30\x00", b"\x00\x00\x01\x01\x03\x30\x00"):
        with pytest.raises(ValueError, match="the counts of the chunks"):
            decode(body_of(bytes(8), positions, count=2, dimension=9, code=(1, 2)))
    wrapping = bytes([30]) + (2**30 - 1).to_bytes(4, "little") * 2
    with pytest.raises(ValueError):  # noqa: PT011  # any of several reasons
        decode(body_of(bytes(8), wrapping + b"\x88", count=2, dimension=2**31 - 1, code=(1, 0)))


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_message_of_few_bytes_that_claims_many_entries_allocates_little(code: int) -> None:
    """2³¹ − 1 entries would be 17 GB."""
    data = body_of(bytes(60), bytes(60), count=2**31 - 1, dimension=2**31 - 1, code=(4, code))
    tracemalloc.start()
    with pytest.raises(ValueError, match="2147483647 entries need"):
        decode(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_entries_that_are_allocated_for_have_at_least_three_bits_each() -> None:
    """The largest m that a header may claim over n bytes, asked of what it allocates by."""
    for length in (100, 1000, 10_000):
        counts = [count for count in range(8 * length) if _is_accepted(count, length)]
        assert max(counts, default=0) <= 8 * (length - HEADER_BYTES) / 3


def _is_accepted(count: int, length: int) -> bool:
    data = struct.pack("<4s4B2IQ", b"spsy", 1, 2, 4, 0, 2**31 - 1, count, length) + bytes(length - HEADER_BYTES)
    try:
        decode(data)
    except ValueError as error:
        return "entries need" not in str(error)
    return True


def test_the_native_ops_are_what_was_tested_here() -> None:
    if "cpu" not in native_build.library().devices:
        pytest.skip(native_build.library().reason)
    assert codec._operators() is torch.ops.sparsync
