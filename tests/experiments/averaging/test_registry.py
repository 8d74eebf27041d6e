"""Every collective conserves mass, and those without a rounding of their own give the same bits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.averaging.payloads import mean_in_rank_order
from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager
from sparsync.kernels.payload import SparsePayload
from tests.support.averaging.drawn_payloads import payloads_of_workers

SAME_BITS = ("sparse", "dense", "balanced", "auto")
"""In rank order, as in the simulation; "hierarchical" brackets otherwise, "dense_bfloat16" rounds."""


def drawn(**options: Any) -> st.SearchStrategy[list[SparsePayload]]:
    return st.integers(1, 6).flatmap(lambda count: payloads_of_workers(count, **options))


@pytest.mark.parametrize("name", SAME_BITS)
@settings(max_examples=40)
@given(payloads=drawn())
def test_the_mean_has_the_bits_of_an_addition_in_rank_order(name: str, payloads: list[SparsePayload]) -> None:
    assert torch.equal(LocalAverager(name).average(payloads).mean, mean_in_rank_order(payloads))


@pytest.mark.parametrize("name", COLLECTIVES)
@settings(max_examples=40)
@given(payloads=drawn(whole=True), node_size=st.integers(1, 4))
def test_whole_numbers_arrive_exactly_once_each(name: str, payloads: list[SparsePayload], node_size: int) -> None:
    """Sums of six numbers up to 3 are exact in every dtype, whatever the order; only the division rounds."""
    total = torch.stack([payload.dense() for payload in payloads]).double().sum(dim=0)
    expected = total.to(payloads[0].values.dtype) / len(payloads)
    averager = LocalAverager(name, node_size=node_size)
    for _ in range(2):
        assert torch.equal(averager.average(payloads).mean, expected)


@given(payloads=drawn(), node_size=st.integers(1, 4))
def test_the_order_of_nodes_changes_the_mean_by_roundings_only(payloads: list[SparsePayload], node_size: int) -> None:
    vectors = torch.stack([payload.dense() for payload in payloads]).double()
    mean = LocalAverager("hierarchical", node_size=node_size).average(payloads).mean
    # As many additions as workers, and the division, each relative to Σ|x|/P; halves also lose what is subnormal.
    finest = torch.finfo(mean.dtype)
    bound = 2 * len(payloads) * (finest.eps / 2 * vectors.abs().mean(dim=0) + finest.smallest_normal * finest.eps)
    assert bool(((mean.double() - vectors.mean(dim=0)).abs() <= bound).all())


@pytest.mark.parametrize("averager", [LocalAverager, GroupAverager])
def test_a_node_of_no_workers_is_refused(averager: Any) -> None:
    with pytest.raises(ValueError, match="node_size must be at least 1, got 0"):
        averager("hierarchical", node_size=0)
