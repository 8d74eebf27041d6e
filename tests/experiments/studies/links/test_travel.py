"""What is counted on a link is what the formulas of the collectives say that their times consist of."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.averaging.header import HEADER_BYTES
from sparsync.experiments.averaging.link import Link, Load, dense_seconds, sparse_seconds
from sparsync.experiments.averaging.messages import AllGather, AllReduce, Message, Swap
from sparsync.experiments.studies.links.travel import Travel, gathered, message_travel, reduced

# A link on which a message takes a second and its bytes nothing, and the reverse: the formulas then count.
MESSAGES, BYTES = Link(1.0, 0.0), Link(0.0, 1.0)
CPU = torch.device("cpu")


def bytes_of(size: int) -> torch.Tensor:
    return torch.zeros(size, dtype=torch.uint8)


@given(st.integers(1, 64), st.integers(0, 10**6), st.sampled_from([2, 4, 8]))
def test_travel_is_what_times_are_made_of(workers: int, count: int, value_bytes: int) -> None:
    load = Load(workers, count, workers * count, dimension=count + 1, value_bytes=value_bytes)
    headers = gathered(workers, HEADER_BYTES) + gathered(workers, HEADER_BYTES)
    sparse = headers + gathered(workers, count * (value_bytes + 4))
    dense = headers + reduced(workers, (count + 1) * value_bytes)
    for travel, seconds in ((sparse, sparse_seconds), (dense, dense_seconds)):
        # Sums and products of a few numbers, each rounded once.
        assert travel.message_count == pytest.approx(seconds(MESSAGES, load), rel=1e-15)
        assert travel.sent_bytes == pytest.approx(seconds(BYTES, load), rel=1e-15)


@pytest.mark.parametrize(
    ("message", "travel"),
    [
        (AllGather(bytes_of(10)), Travel(3, 30)),
        (AllReduce(torch.zeros(20)), Travel(6, 120)),
        (Swap({1: bytes_of(5), 2: bytes_of(0), 3: bytes_of(7)}, {}, CPU), Travel(2, 12)),
        (Swap({}, {1: 9}, CPU), Travel(0, 0)),
    ],
    ids=["all-gather", "all-reduce", "to some", "to nobody"],
)
def test_every_message_of_a_collective_is_counted(message: Message, travel: Travel) -> None:
    assert message_travel(message, 4) == travel
