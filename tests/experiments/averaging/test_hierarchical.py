"""Between nodes travels the union of a node's supports, once for each other node; of one node, nothing."""

from __future__ import annotations

import torch

from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.training.collectives import LocalAverager
from sparsync.kernels.payload import SparsePayload

NUMBER_BYTES, ENTRY_BYTES = 8, 8


def alike(worker_count: int) -> list[SparsePayload]:
    indices = torch.arange(0, 500, 5, dtype=torch.int32)
    return [SparsePayload(torch.ones(100), indices, 500) for _ in range(worker_count)]


def test_one_node_says_nothing_to_others() -> None:
    assert LocalAverager("hierarchical", node_size=4).average(alike(4)).between_nodes_bytes == 0


def test_a_node_that_chooses_alike_sends_as_much_as_one_worker() -> None:
    for node_size in (1, 2, 4):
        average = LocalAverager("hierarchical", node_size=node_size).average(alike(2 * node_size))
        between = 2 * node_size * ENVELOPE_BYTES + 2 * (2 * NUMBER_BYTES + 100 * ENTRY_BYTES)
        assert average.between_nodes_bytes == between
        inside = 2 * (node_size - 1) * (3 * NUMBER_BYTES + 2 * 100 * ENTRY_BYTES)
        assert average.sent_bytes == between + inside


def test_flat_collectives_know_of_no_nodes() -> None:
    assert LocalAverager("sparse", node_size=2).average(alike(4)).between_nodes_bytes is None


def test_sums_are_bracketed_by_nodes() -> None:
    """1 + 2⁻⁵³ is 1, but two of these halves of a last place, added in a node of their own, make one."""
    last_place = 2.0**-52
    values = [1.0, 0.0, last_place / 2, last_place / 2]
    payloads = [
        SparsePayload(torch.tensor([value], dtype=torch.float64), torch.zeros(1, dtype=torch.int32), 1)
        for value in values
    ]
    assert LocalAverager("hierarchical", node_size=2).average(payloads).mean.item() == (1 + last_place) / 4
    assert LocalAverager("sparse").average(payloads).mean.item() == 1 / 4
