"""Payloads in the codec: every receiver reads what the sender says it sent, and their mean is that of what is read."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.averaging.coded import CodedPayload, require_code, value_code
from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.averaging.messages import AllGather, Message
from sparsync.experiments.averaging.payloads import mean_in_rank_order
from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.training import collectives
from sparsync.experiments.training.arrivals import Call
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager
from sparsync.kernels.codec import Values, encode, encoded_bound, quantised
from sparsync.kernels.magnitude import NonFiniteError
from sparsync.kernels.payload import SparsePayload
from tests.support.workers import run_workers

WORLD_SIZE, DIMENSION = 3, 400
CODES: tuple[Values, ...] = get_args(Values)
CHANGED_BYTES = {"magic": 1, "dimension": 9, "value": 25, "last": -1}
"""By name, a byte of the message that is spoilt on its way."""


def payload_of(rank: int, dtype: torch.dtype = torch.float32) -> SparsePayload:
    """Rank 1 has selected nothing."""
    chosen = torch.arange(rank, DIMENSION, 4 + 2 * rank)[: 0 if rank == 1 else None]
    values = torch.randn(len(chosen), generator=torch.Generator().manual_seed(rank), dtype=dtype)
    return SparsePayload(values, chosen.to(torch.int32), DIMENSION)


def coded(values: Values) -> list[CodedPayload]:
    return [CodedPayload(payload_of(rank), values) for rank in range(WORLD_SIZE)]


@given(
    st.sampled_from(CODES),
    st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=0, max_size=40),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_a_coded_payload_holds_what_the_codec_says_is_read(
    values: Values, entries: list[float], dtype: torch.dtype
) -> None:
    payload = SparsePayload(torch.tensor(entries, dtype=dtype), torch.arange(len(entries)).int() * 3, 200)
    made, expected = CodedPayload(payload, values), quantised(payload, values=values)
    assert made.values.dtype == dtype
    assert torch.equal(made.values, expected.values)
    assert made.indices.tolist() == payload.indices.tolist()
    assert made.size_bytes == len(encode(payload, values=values))
    assert (made.dimension, value_code(made), value_code(payload)) == (200, values, "exact")


@pytest.mark.parametrize("values", CODES)
def test_the_mean_is_of_what_is_read_and_bytes_are_of_the_longest_message(values: Values) -> None:
    payloads = coded(values)
    average = LocalAverager("sparse").average(payloads)
    assert torch.equal(average.mean, mean_in_rank_order(payloads))
    room = encoded_bound(max(payload.count for payload in payloads), DIMENSION, values=values)
    assert average.sent_bytes == WORLD_SIZE * (room + ENVELOPE_BYTES)
    assert all(len(payload.message) <= room for payload in payloads)


def test_few_bits_are_fewer_bytes() -> None:
    found = [LocalAverager("sparse").average(coded(values)).sent_bytes for values in ("fp32", "bf16", "int8", "int2")]
    plain = LocalAverager("sparse").average([payload_of(rank) for rank in range(WORLD_SIZE)]).sent_bytes
    assert [plain, *found] == sorted([plain, *found], reverse=True)
    assert len({plain, *found}) == len(CODES)


def said_by(averager: GroupAverager, payload: SparsePayload) -> str:
    try:
        averager.average([payload])
    except ExchangeError as error:
        return str(error)
    return "nothing"


def spoilt(place: int) -> str:
    """What this rank says where rank 0 receives another byte from rank 2."""
    answer = collectives.answer

    def changing(message: Message, call: Call) -> list[torch.Tensor]:
        received = answer(message, call)
        is_entries = isinstance(message, AllGather) and message.mine.numel() != ENVELOPE_BYTES // 2
        if is_entries and dist.get_rank() == 0:
            length = len(coded("int8")[2].message)
            received[2][place if place >= 0 else length + place] ^= 64
        return received

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collectives, "answer", changing)
        return said_by(GroupAverager("sparse"), coded("int8")[dist.get_rank()])


def exchange() -> dict[str, object]:
    rank = dist.get_rank()
    said: dict[str, object] = {values: GroupAverager("sparse").average([coded(values)[rank]]) for values in CODES}
    said |= {name: spoilt(place) for name, place in CHANGED_BYTES.items()}
    said["other code"] = said_by(GroupAverager("sparse"), coded("int2" if rank == 1 else "int8")[rank])
    said["no code"] = said_by(GroupAverager("sparse"), payload_of(rank) if rank == 1 else coded("int8")[rank])
    said["exact code"] = said_by(GroupAverager("sparse"), payload_of(rank) if rank == 1 else coded("exact")[rank])
    return said


@pytest.fixture(scope="module")
def said() -> list[dict[str, object]]:
    return run_workers(exchange, WORLD_SIZE)


@pytest.mark.parametrize("values", CODES)
def test_ranks_have_the_bits_of_the_simulation(values: Values, said: list[dict[str, object]]) -> None:
    expected = LocalAverager("sparse").average(coded(values))
    for words in said:
        found = words[values]
        assert isinstance(found, type(expected))
        assert torch.equal(found.mean, expected.mean)
        assert found.sent_bytes == expected.sent_bytes


@pytest.mark.parametrize("case", CHANGED_BYTES)
def test_a_message_that_changes_on_its_way_ends_the_step_on_all_ranks(case: str, said: list[dict[str, object]]) -> None:
    expected = "sparse, step 0: rank 0 received from rank 2 other entries than were sent"
    assert [words[case] for words in said] == [expected] * WORLD_SIZE


@pytest.mark.parametrize("case", ["other code", "no code", "exact code"])
def test_ranks_with_other_codes_refuse_each_other(case: str, said: list[dict[str, object]]) -> None:
    for words in said:
        assert words[case] == said[0][case]
        assert str(words[case]).startswith("sparse, step 0: averagers of different settings")


@pytest.mark.parametrize("collective", [name for name in COLLECTIVES if name != "sparse"])
def test_codes_travel_by_one_collective(collective: str) -> None:
    require_code("exact", collective)
    with pytest.raises(ValueError, match=f"code 'int8' travel by the collective 'sparse', not by '{collective}'"):
        require_code("int8", collective)


def test_a_code_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match="unknown value code 'int4'; known: "):
        require_code("int4", "sparse")


def test_a_value_that_is_not_finite_in_the_code_is_refused() -> None:
    payload = SparsePayload(torch.tensor([1e300], dtype=torch.float64), torch.tensor([0]).int(), 1)
    with pytest.raises(NonFiniteError):
        CodedPayload(payload, "bf16")
