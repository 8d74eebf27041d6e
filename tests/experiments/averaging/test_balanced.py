"""Every owner receives about as many entries, wherever they lie, and what a worker hands over stays O(k)."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.averaging import balanced
from sparsync.experiments.averaging.balanced import (
    SAMPLES_PER_REGION,
    _sample,
    region_starts,
)
from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.kernels.payload import SparsePayload
from tests.support.averaging.drawn_payloads import payloads_of_workers


@given(st.integers(2, 6).flatmap(lambda count: payloads_of_workers(count, largest_dimension=400)))
def test_no_owner_receives_more_than_the_bound(payloads: list[SparsePayload]) -> None:
    worker_count, counts = len(payloads), [payload.count for payload in payloads]
    sample_count = SAMPLES_PER_REGION * worker_count
    starts = region_starts(torch.stack([_sample(payload, sample_count) for payload in payloads]), counts)
    assert starts == sorted(starts)
    borders = [0, *starts, payloads[0].dimension]
    every = torch.cat([payload.indices for payload in payloads])
    received = [int(((first <= every) & (every < end)).sum()) for first, end in pairwise(borders)]
    most = sum(counts) / worker_count + 2 * sum(counts) / sample_count + worker_count
    assert sum(received) == sum(counts) or not any(counts)
    assert max(received) <= most


def crowded(worker_count: int, first: int) -> list[SparsePayload]:
    """A thousand entries each, in a hundredth of the coordinates, of which all choose the same."""
    indices = torch.arange(first, first + 1000, dtype=torch.int32)
    return [SparsePayload(torch.ones(1000), indices, 100_000) for _ in range(worker_count)]


def test_where_all_choose_the_same_each_hands_over_less_than_two_payloads_however_many_there_are() -> None:
    for worker_count in (2, 4, 8, 16):
        averager = LocalAverager("balanced")
        averager.average(crowded(worker_count, 500))
        sent_bytes = averager.average(crowded(worker_count, 500)).sent_bytes
        # Entries, sums of a region of 1.5 times the average with the longest for padding, and numbers.
        entries = 8 * (1000 * (worker_count - 1) / worker_count + 1.5 * 1000 / worker_count + worker_count)
        assert sent_bytes / worker_count <= ENVELOPE_BYTES + entries + 8 * (2 * (worker_count - 1) + 3)


def test_regions_are_chosen_anew_when_their_time_is_over_and_for_another_dimension(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(balanced, "REFRESH_CALLS", 3)
    averager, worker_count = LocalAverager("balanced"), 4
    here = crowded(worker_count, 500)
    sizes = [averager.average(here).sent_bytes for _ in range(5)]
    told = worker_count * SAMPLES_PER_REGION * worker_count * 4
    assert [size - sizes[1] for size in sizes] == [told, 0, 0, told, 0]
    shorter = [SparsePayload(payload.values, payload.indices, 2000) for payload in here]
    assert averager.average(shorter).sent_bytes == sizes[0]


def test_regions_that_entries_have_left_cost_bytes_and_no_bits() -> None:
    averager = LocalAverager("balanced")
    averager.average(crowded(4, 500))
    moved = averager.average(crowded(4, 90_000))
    assert torch.equal(moved.mean, LocalAverager("sparse").average(crowded(4, 90_000)).mean)
    assert moved.sent_bytes > LocalAverager("balanced").average(crowded(4, 90_000)).sent_bytes
