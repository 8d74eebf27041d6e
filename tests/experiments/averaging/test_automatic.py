"""The predictions are those of the ring model, and "auto" takes the collective that is fastest by them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.averaging.automatic import CANDIDATES, fastest, measured_link
from sparsync.experiments.averaging.header import HEADER_BYTES
from sparsync.experiments.averaging.link import (
    Link,
    Load,
    balanced_seconds,
    dense_seconds,
    expected_union,
    sparse_seconds,
)
from sparsync.experiments.averaging.messages import AllGather, answer_each_other
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.kernels.payload import SparsePayload
from sparsync.theory.calculator import Question, exchanges

LOADS = st.builds(
    lambda workers, dimension, share: load_of(workers, max(1, int(share * dimension)), dimension),
    st.integers(1, 64),
    st.integers(1, 10**6),
    st.floats(0, 1),
)


def load_of(workers: int, count: int, dimension: int) -> Load:
    return Load(workers, count, workers * count, dimension, value_bytes=4)


@given(LOADS)
def test_sparse_and_dense_are_predicted_as_by_the_calculator(load: Load) -> None:
    question = Question(
        density=load.largest_count / load.dimension,
        dimension=load.dimension,
        workers=load.worker_count,
        bandwidth=1e9,
        latency_seconds=1e-4,
    )
    # The calculator's k is the density times d, rounded.
    load = replace(load, largest_count=question.count, total_count=question.count * load.worker_count)
    dense, _, sparse = exchanges(question)
    link = Link(1e-4, 8e-9)
    assert sparse_seconds(link, load) == pytest.approx(sparse.seconds, rel=1e-12)
    # The calculator rounds a worker's bytes up.
    assert dense_seconds(link, load) == pytest.approx(dense.seconds, rel=1e-12, abs=8e-9)


def ring_seconds(link: Link, workers: int, *sizes: float) -> float:
    return (workers - 1) * sum(link.latency_seconds + size * link.seconds_per_byte for size in sizes)


def test_balanced_is_six_rounds_of_headers_numbers_entries_and_sums() -> None:
    link, load = Link(1e-4, 1e-9), load_of(4, 100, 400)
    union = 400 * (1 - 0.75**4)
    assert expected_union(load) == pytest.approx(union, rel=1e-14)
    expected = ring_seconds(link, 4, HEADER_BYTES, 16, 8 * 100 / 4, 24, 8 * union / 4, HEADER_BYTES)
    assert balanced_seconds(link, load) == pytest.approx(expected, rel=1e-14)


@given(LOADS)
def test_the_expected_union_lies_between_a_payload_and_what_can_be(load: Load) -> None:
    union, rounding = expected_union(load), 1 + 1e-9
    assert load.largest_count <= union * rounding
    assert union <= min(load.dimension, load.total_count) * rounding


def test_each_candidate_is_fastest_somewhere() -> None:
    narrow = Link(1e-6, 1e-8)
    loads = {count: load_of(16, count, 10**6) for count in (1000, 80_000, 10**6)}
    assert [fastest(narrow, load) for load in loads.values()] == ["sparse", "balanced", "dense"]
    assert set(CANDIDATES) == {"sparse", "balanced", "dense"}


def test_a_lone_worker_chooses_the_first() -> None:
    assert fastest(Link(1.0, 1.0), load_of(1, 10, 10)) == "sparse"


def test_auto_follows_the_counts_from_call_to_call() -> None:
    averager = LocalAverager("auto", link=Link(1e-9, 1e-8))
    few = [SparsePayload(torch.ones(1), torch.zeros(1, dtype=torch.int32), 1000) for _ in range(4)]
    all_of_them = [SparsePayload(torch.ones(1000), torch.arange(1000, dtype=torch.int32), 1000) for _ in range(4)]
    chosen = [averager.average(payloads).collective for payloads in (few, all_of_them, few)]
    assert chosen == ["sparse", "dense", "sparse"]


class SlowRing:
    """A clock that an all-gather on a ring puts forward, for one of the workers by half as much again."""

    def __init__(self, link: Link, workers: int) -> None:
        self.link, self.workers, self.now = link, workers, 0.0

    def perf_counter(self) -> float:
        return self.now

    def passing(self, conversation: Generator[Any, Any, Link], share: float) -> Generator[Any, Any, Link]:
        answer = None
        while True:
            try:
                message = conversation.send(answer)
            except StopIteration as end:
                found: Link = end.value
                return found
            assert isinstance(message, AllGather)
            answer = yield message
            self.now += share * self.link.all_gather_seconds(self.workers, message.mine.numel())


@pytest.mark.parametrize("workers", [2, 5])
def test_the_link_that_is_measured_is_that_of_the_slowest(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = SlowRing(Link(1e-3, 1e-7), workers)
    monkeypatch.setattr("time.perf_counter", ring.perf_counter)
    shares = [1.0] * (workers - 1) + [1.5]
    # Workers take turns on one clock, so that each sees the time of all that is said before it goes on.
    found = answer_each_other([ring.passing(measured_link(workers, torch.device("cpu")), share) for share in shares])
    assert found.latency_seconds == pytest.approx(1e-3 * sum(shares), rel=1e-3)
    assert found.seconds_per_byte == pytest.approx(1e-7 * sum(shares), rel=1e-3)


def test_a_lone_worker_has_a_link_that_takes_no_time() -> None:
    conversation = measured_link(1, torch.device("cpu"))
    with pytest.raises(StopIteration) as end:
        next(conversation)
    assert end.value.value == Link(0.0, 0.0)


@pytest.mark.parametrize("value", [-1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("name", ["latency_seconds", "seconds_per_byte"])
def test_a_link_of_no_time_that_can_be_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a finite number that is not negative, got {value}"):
        Link(**{"latency_seconds": 0.0, "seconds_per_byte": 0.0, name: value})
