"""A header arrives as it was packed or is none; one pass finds wrong indices, and a checksum what was changed."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.averaging.checksum import checksum, entries_checksums, index_fault, misplaced
from sparsync.experiments.averaging.header import (
    DTYPES,
    HEADER_BYTES,
    VERSION,
    ExchangeError,
    Fault,
    Header,
    headers_in,
    require_fitting,
    unpacked_header,
)
from sparsync.experiments.averaging.payloads import Entries, packed
from sparsync.experiments.averaging.registry import COLLECTIVES

CPU = torch.device("cpu")
WORDS = st.integers(0, 2**32 - 1)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
HEADERS = st.builds(
    Header,
    kind=st.sampled_from(["gather", "mean", "link", "outer step", *COLLECTIVES]),
    step=WORDS,
    dimension=st.integers(0, 2**63 - 1),
    dtype=st.sampled_from([None, *DTYPES]),
    count=NUMBERS,
    checksum=NUMBERS,
    node_size=WORDS,
    settings=WORDS,
    is_closing=st.booleans(),
    fault=st.sampled_from(Fault),
)
ONE = Header("sparse", 3, dimension=10, dtype=torch.float32, count=2, checksum=5)


@given(HEADERS)
def test_a_header_arrives_as_it_was_packed(header: Header) -> None:
    packed = header.packed()
    assert len(packed) == HEADER_BYTES == header.message(CPU).numel()
    assert unpacked_header(packed) == header


@given(HEADERS, st.integers(0, HEADER_BYTES - 1), st.integers(1, 255))
def test_with_any_byte_changed_it_is_no_header_of_this_version(header: Header, place: int, by: int) -> None:
    changed = bytearray(header.packed())
    changed[place] ^= by
    assert not isinstance(unpacked_header(bytes(changed)), Header)


@given(st.binary(max_size=2 * HEADER_BYTES))
def test_what_was_not_packed_is_no_header(message: bytes) -> None:
    assert not isinstance(unpacked_header(message), Header)


def refused(headers: list[bytes]) -> str:
    messages = [torch.frombuffer(bytearray(header), dtype=torch.uint8) for header in headers]
    with pytest.raises(ExchangeError) as caught:
        require_fitting(headers_in(messages, "sparse, step 3"))
    return str(caught.value)


def test_ranks_of_another_protocol_or_of_none_are_named() -> None:
    newer = bytearray(ONE.packed())
    newer[4] = VERSION + 1
    said = refused([ONE.packed(), bytes(newer), bytes(HEADER_BYTES)])
    assert f"rank 1 speaks version {VERSION + 1} of the protocol, and others version {VERSION}" in said
    assert "what rank 2 sent is no header" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "gather"}, "ranks are in different calls: sparse of step 3 on rank 0, gather of step 3 on rank 1"),
        ({"step": 2}, "ranks are in different calls: sparse of step 3 on rank 0, sparse of step 2 on rank 1"),
        ({"is_closing": True}, "sparse of step 3 on rank 0, sparse of step 3 (its end) on rank 1"),
        ({"dimension": 11}, "sparse, step 3: payloads of different dimensions: 10 on rank 0, 11 on rank 1"),
        ({"dtype": torch.float64}, "different dtypes: torch.float32 on rank 0, torch.float64 on rank 1"),
        ({"node_size": 2}, "nodes of different sizes: 1 on rank 0, 2 on rank 1"),
        ({"settings": 7}, "averagers of different settings, digests of which are: 0 on rank 0, 7 on rank 1"),
        ({"fault": Fault.RANGE, "count": 0, "checksum": -1}, "rank 1 would send index -1 at place 0, outside [0, 10)"),
        ({"fault": Fault.CHANGED, "count": 0}, "rank 1 received from rank 0 other entries than were sent"),
    ],
)
def test_what_differs_is_named_with_ranks_kinds_and_steps(changes: dict[str, Any], said: str) -> None:
    assert said in refused([ONE.packed(), replace(ONE, **changes).packed()])


@pytest.mark.parametrize(
    ("indices", "found"),
    [
        ([], (Fault.NONE, 0, 0)),
        ([0, 9], (Fault.NONE, 0, 0)),
        ([-1], (Fault.RANGE, 0, -1)),
        ([3, 10], (Fault.RANGE, 1, 10)),
        ([3, 3], (Fault.ORDER, 1, 3)),
        ([1, 5, 2, 7], (Fault.ORDER, 2, 2)),
        ([4, -2, 9], (Fault.RANGE, 1, -2)),
    ],
)
def test_the_first_index_that_cannot_be_is_named(indices: list[int], found: tuple[Fault, int, int]) -> None:
    assert index_fault(torch.tensor(indices, dtype=torch.int32), 10) == found


@given(st.lists(st.lists(st.integers(-2, 12), max_size=6), min_size=1, max_size=3))
def test_indices_can_be_if_they_are_a_sorted_set_of_places(vectors: list[list[int]]) -> None:
    can_be = [indices == sorted({*indices} & {*range(10)}) for indices in vectors]
    found = misplaced([torch.tensor(indices, dtype=torch.int32) for indices in vectors], 10)
    assert [not wrong for wrong in found.tolist()] == can_be


@st.composite
def messages(draw: st.DrawFn) -> tuple[torch.Tensor, torch.dtype]:
    """Packed entries of any indices at all."""
    count, dtype = draw(st.integers(1, 40)), draw(st.sampled_from(DTYPES))
    generator = torch.Generator().manual_seed(draw(WORDS))
    values = torch.randn(count, generator=generator).to(dtype)
    indices = torch.randint(-(2**31), 2**31, (count,), generator=generator).to(torch.int32)
    return packed(Entries(values, indices)), dtype


def checksum_of(message: torch.Tensor, dtype: torch.dtype) -> int:
    return int(entries_checksums([message], dtype))


@given(messages(), st.data())
def test_a_changed_byte_anywhere_changes_the_checksum(given_message: tuple[Any, Any], data: st.DataObject) -> None:
    message, dtype = given_message
    before = checksum_of(message, dtype)
    message[data.draw(st.integers(0, len(message) - 1))] ^= data.draw(st.integers(1, 255))
    assert checksum_of(message, dtype) != before


@given(messages(), st.data())
def test_two_different_words_that_change_places_change_the_checksum(
    given_message: tuple[Any, Any], data: st.DataObject
) -> None:
    message, dtype = given_message
    before = checksum_of(message, dtype)
    words = message.view(torch.int16 if dtype.itemsize == 2 else torch.int32)
    one, other = (data.draw(st.integers(0, len(words) - 1)) for _ in range(2))
    is_same = bool(words[one] == words[other])
    words[[one, other]] = words[[other, one]]
    assert (checksum_of(message, dtype) == before) is is_same


@given(st.lists(messages(), min_size=1, max_size=3), st.integers(0, 7))
def test_padding_and_company_change_no_checksum(given_messages: list[tuple[Any, Any]], padding: int) -> None:
    dtype = given_messages[0][1]
    alone = [message for message, its_dtype in given_messages if its_dtype == dtype]
    longest = max(map(len, alone)) + padding * dtype.itemsize * 2
    together = [torch.nn.functional.pad(message, (0, longest - len(message))) for message in alone]
    expected = [checksum_of(message, dtype) for message in alone]
    assert entries_checksums(together, dtype).tolist() == expected


def test_the_checksum_is_the_sum_of_words_by_their_places() -> None:
    values = torch.tensor([1.5, -2.0], dtype=torch.float64)
    indices = torch.tensor([-1, 2**31 - 1], dtype=torch.int32)
    words = [*indices.tolist(), *values.view(torch.int32).tolist()]
    exact = sum(place * word for place, word in enumerate(words, start=1))
    assert (checksum_of(packed(Entries(values, indices)), torch.float64) - exact) % 2**64 == 0


def test_a_checksum_of_many_words_is_the_same_sum() -> None:
    words = torch.randint(-(2**31), 2**31, (100_003,), generator=torch.Generator().manual_seed(1)).to(torch.int32)
    exact = sum(place * word for place, word in enumerate(words.tolist(), start=1))
    assert (int(checksum(words)) - exact) % 2**64 == 0


def test_the_words_that_open_a_header_are_those_of_every_version() -> None:
    assert re.match(rb"SPSW\x01", ONE.packed())
