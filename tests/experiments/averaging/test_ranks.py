"""Real ranks say to each other what the simulation says: every collective gives equal bits and counts its bytes."""

from __future__ import annotations

import os
import pickle
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from sparsync.experiments.averaging.link import NOMINAL_LINK, Link
from sparsync.experiments.averaging.messages import Average
from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.training import collectives
from sparsync.experiments.training.arrivals import Call
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager, measure_link
from sparsync.kernels.payload import SparsePayload
from tests.support.averaging.drawn_payloads import HARD_CASES, drawn_cases, hard_case
from tests.support.workers import run_workers

WORLD_SIZES = (2, 3, 4)
NODE_SIZE = 2
"""With three workers the last node has one."""
DRAWN_COUNT = 12
CASES = "SPARSYNC_TEST_CASES"
"""The environment variable that tells ranks which file holds the payloads of all."""
LINKS = {"nominal": NOMINAL_LINK, "slow to begin": Link(1.0, 0.0), "narrow": Link(0.0, 1.0)}
VARIANTS = [(name, "nominal") for name in COLLECTIVES] + [("auto", name) for name in LINKS if name != "nominal"]


class Handed:
    """Counts what a rank hands to torch.distributed, and of that what goes to other nodes; put in its place."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.bytes = self.between_nodes_bytes = 0
        patch.setattr(collectives, "_all_gather", self._counting(collectives._all_gather))
        patch.setattr(dist, "batch_isend_irecv", self._counting_swaps(dist.batch_isend_irecv))

    def _counting(self, function: Any) -> Any:
        def call(mine: torch.Tensor, place: Call) -> list[torch.Tensor]:
            self._count(mine, others=dist.get_world_size(place.group) > NODE_SIZE)
            gathered: list[torch.Tensor] = function(mine, place)
            return gathered

        return call

    def _counting_swaps(self, function: Any) -> Any:
        def call(operations: list[dist.P2POp]) -> Any:
            for operation in operations:
                if operation.op is dist.isend:
                    assert operation.peer != dist.get_rank()
                    self._count(operation.tensor, others=operation.peer // NODE_SIZE != dist.get_rank() // NODE_SIZE)
            return function(operations)

        return call

    def _count(self, tensor: torch.Tensor, *, others: bool) -> None:
        size = tensor.numel() * tensor.element_size()
        self.bytes += size
        self.between_nodes_bytes += size * others


def exchange() -> dict[tuple[str, str], list[tuple[Average, int, int]]]:
    """By collective and link: for each case the mean with what was claimed, and what this rank handed over."""
    rank = dist.get_rank()
    cases = pickle.loads(Path(os.environ[CASES]).read_bytes())
    seen: dict[tuple[str, str], list[tuple[Average, int, int]]] = {}
    for name, link in VARIANTS:
        averager = GroupAverager(name, rank_order=True, node_size=NODE_SIZE, link=LINKS[link])
        seen[name, link] = []
        for payloads in cases:
            with pytest.MonkeyPatch.context() as patch:
                handed = Handed(patch)
                average = averager.average([payloads[rank]])
            seen[name, link].append((average, handed.bytes, handed.between_nodes_bytes))
    return seen


@cache
def cases_of(world_size: int) -> list[list[SparsePayload]]:
    return drawn_cases(world_size, DRAWN_COUNT)


@cache
def seen(world_size: int) -> list[dict[tuple[str, str], list[tuple[Average, int, int]]]]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder) / "cases"
        file.write_bytes(pickle.dumps(cases_of(world_size)))
        patch.setenv(CASES, str(file))
        return run_workers(exchange, world_size)


@cache
def simulated(world_size: int, name: str, link: str) -> list[Average]:
    averager = LocalAverager(name, node_size=NODE_SIZE, link=LINKS[link])
    return [averager.average(payloads) for payloads in cases_of(world_size)]


@pytest.mark.parametrize(("name", "link"), VARIANTS)
@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_every_rank_has_the_bits_of_the_simulation_and_claims_its_bytes(world_size: int, name: str, link: str) -> None:
    expected = simulated(world_size, name, link)
    for of_rank in seen(world_size):
        assert len(of_rank[name, link]) == len(expected) == len(HARD_CASES) + DRAWN_COUNT
        for (average, _, _), simulation in zip(of_rank[name, link], expected, strict=True):
            assert average.mean.dtype == simulation.mean.dtype
            assert torch.equal(average.mean, simulation.mean)
            assert average.sent_bytes == simulation.sent_bytes
            assert average.between_nodes_bytes == simulation.between_nodes_bytes
            assert average.collective == simulation.collective


@pytest.mark.parametrize(("name", "link"), VARIANTS)
@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_the_bytes_claimed_are_those_handed_to_torch(world_size: int, name: str, link: str) -> None:
    by_rank = [of_rank[name, link] for of_rank in seen(world_size)]
    for of_ranks in zip(*by_rank, strict=True):
        average = of_ranks[0][0]
        assert average.sent_bytes == sum(handed for _, handed, _ in of_ranks)
        if average.between_nodes_bytes is not None:
            assert average.between_nodes_bytes == sum(handed for _, _, handed in of_ranks)


@pytest.mark.parametrize("world_size", WORLD_SIZES)
def test_auto_chooses_otherwise_on_other_links(world_size: int) -> None:
    everything = [*HARD_CASES].index("everything")
    chosen = {link: simulated(world_size, "auto", link)[everything].collective for link in LINKS}
    # In rank order whole vectors are gathered in one message, as entries are, and without indices it is shorter.
    assert (chosen["slow to begin"], chosen["narrow"]) == ("sparse", "dense")
    last = [*HARD_CASES].index("the last place alone")
    assert simulated(world_size, "auto", "narrow")[last].collective == "sparse"


def said_of(payload: SparsePayload, name: str, node_size: int = 1) -> str:
    """What is said of a payload, empty if it was averaged."""
    try:
        GroupAverager(name, node_size=node_size, link=NOMINAL_LINK).average([payload])
    except ValueError as error:
        return str(error)
    return ""


def refuse() -> dict[str, Any]:
    """What a rank is told of payloads and nodes that differ, and that it can go on."""
    rank = dist.get_rank()
    payload = hard_case("one region", dist.get_world_size())[rank]
    longer = SparsePayload(payload.values, payload.indices, payload.dimension + rank)
    wider = SparsePayload(payload.values.to((torch.float32, torch.float64)[rank % 2]), payload.indices, 1000)
    whole = SparsePayload(payload.values.to((torch.float32, torch.int32)[rank % 2]), payload.indices, 1000)
    told: dict[str, Any] = {
        name: [said_of(wrong, name) for wrong in (longer, wider, whole, payload)] for name in COLLECTIVES
    }
    told["nodes"] = said_of(payload, "hierarchical", node_size=1 + rank)
    averager = GroupAverager("auto")
    told["chosen"] = [averager.average([payload]).collective for _ in range(2)]
    told["link"] = measure_link()
    return told


@pytest.fixture(scope="module")
def told() -> list[dict[str, Any]]:
    return run_workers(refuse, 2)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_payloads_that_differ_are_refused_on_all_ranks_which_go_on(name: str, told: list[dict[str, Any]]) -> None:
    for rank in range(2):
        longer, wider, whole, good = told[rank][name]
        assert longer == f"{name}, step 0: payloads of different dimensions: 1000 on rank 0, 1001 on rank 1"
        assert (
            wider == f"{name}, step 0: payloads of different dtypes: torch.float32 on rank 0, torch.float64 on rank 1"
        )
        assert whole.startswith(f"{name}, step 0: rank 1 has a payload whose dtype is none of ")
        assert good == ""


def test_nodes_of_different_sizes_are_refused_on_all_ranks(told: list[dict[str, Any]]) -> None:
    assert {of_rank["nodes"] for of_rank in told} == {
        "hierarchical, step 0: nodes of different sizes: 1 on rank 0, 2 on rank 1"
    }


def test_all_ranks_measure_one_link_and_choose_alike(told: list[dict[str, Any]]) -> None:
    assert told[0]["link"] == told[1]["link"]
    assert told[0]["link"].latency_seconds > 0
    assert told[0]["chosen"] == told[1]["chosen"]
    assert None not in told[0]["chosen"]
