"""Whatever ranks say that does not belong together, or is changed on its way, is an error on all of them, alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.distributed as dist

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.averaging.link import NOMINAL_LINK, Link
from sparsync.experiments.averaging.messages import Message
from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.training import collectives
from sparsync.experiments.training.arrivals import Call
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager, measure_link
from sparsync.kernels.payload import SparsePayload
from tests.support.workers import run_workers

WORLD_SIZE, DIMENSION = 3, 90
BAD_INDICES = {
    "below": ([-1], "index -1 at place 0, outside [0, 90)"),
    "beyond": ([3, 90], "index 90 at place 1, outside [0, 90)"),
    "twice": ([3, 3], "index 3 at place 1, not above the one before it"),
    "falling": ([5, 2], "index 2 at place 1, not above the one before it"),
}
CHANGED = {
    # Collective, the rank that receives, the message of its conversation, whether in rank order; what all say.
    "sparse": ("sparse", 1, 1, True, "rank 1 received from rank 2 other entries than were sent"),
    "part": ("balanced", 1, 3, True, "rank 1 received from rank 2 other entries than were sent"),
    "regions": ("balanced", 1, 1, True, "ranks [1] have another result than rank 0 from the same vectors"),
    "sum": ("balanced", 1, 5, True, "rank 1 received from rank 2 other entries than were sent"),
    "member": ("hierarchical", 0, 1, True, "rank 0 received from rank 1 other entries than were sent"),
    "leader": ("hierarchical", 0, 3, True, "rank 0 received from rank 2 other entries than were sent"),
    "told": ("hierarchical", 1, 5, True, "rank 1 received from rank 0 other entries than were sent"),
    "vector": ("dense", 1, 1, True, "ranks [1] have another result than rank 0 from the same vectors"),
    "total": ("dense", 1, 1, False, "ranks [1] have another result than rank 0 from the same vectors"),
    "half": ("dense_bfloat16", 2, 1, False, "ranks [2] have another result than rank 0 from the same vectors"),
    "auto": ("auto", 1, 1, True, "rank 1 received from rank 2 other entries than were sent"),
}


def payload_of(rank: int, indices: list[int] | None = None, dimension: int = DIMENSION) -> SparsePayload:
    chosen = torch.arange(rank, dimension, 4) if indices is None else torch.tensor(indices)
    values = torch.randn(len(chosen), generator=torch.Generator().manual_seed(rank))
    return SparsePayload(values, chosen.to(torch.int32), dimension)


def averager_of(name: str, *, rank_order: bool = True) -> GroupAverager:
    return GroupAverager(name, node_size=2, link=NOMINAL_LINK, rank_order=rank_order)


def said_by(act: Callable[[], object]) -> str:
    try:
        act()
    except ExchangeError as error:
        return str(error)
    return "nothing"


def behind(rank: int) -> str:
    """Rank 1 begins anew after the first step."""
    averager = averager_of("sparse")
    averager.average([payload_of(rank)])
    averager = averager_of("sparse") if rank == 1 else averager
    return said_by(lambda: averager.average([payload_of(rank)]))


def spoilt(name: str, receiver: int, number: int, *, rank_order: bool) -> str:
    """What this rank says where a byte of what one receives is changed, in the message of that number."""
    answer, asked = collectives.answer, [0]

    def changing(message: Message, call: Call) -> list[torch.Tensor]:
        received = answer(message, call)
        if (asked[0], dist.get_rank()) == (number, receiver):
            last = [part for part in received if part.numel()][-1]
            last.view(torch.uint8)[3] ^= 64
        asked[0] += 1
        return received

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collectives, "answer", changing)
        averager = averager_of(name, rank_order=rank_order)
        return said_by(lambda: averager.average([payload_of(dist.get_rank())]))


def exchange() -> dict[str, str]:
    """By case, what this rank says; between cases all average as ever."""
    rank = dist.get_rank()
    odd = rank == 1
    said: dict[str, str] = {}
    for name in COLLECTIVES:
        for case, (indices, _) in BAD_INDICES.items():
            wrong = payload_of(rank, indices if odd else None)
            said[f"{name}, {case}"] = said_by(partial(averager_of(name).average, [wrong]))
        longer = payload_of(rank, dimension=DIMENSION + odd)
        said[f"{name}, longer"] = said_by(partial(averager_of(name).average, [longer]))
    first = averager_of("sparse")
    average, gather = (lambda: first.average([payload_of(rank)])), (lambda: first.gather([1.0]))
    said["gather"] = said_by(gather if odd else average)
    # On all ranks that was a step.
    said["going on"] = said_by(average)
    said["mean"] = said_by((lambda: first.mean([torch.ones(DIMENSION)])) if odd else average)
    said["other collective"] = said_by(lambda: averager_of("dense" if odd else "sparse").average([payload_of(rank)]))
    said["link"] = said_by(measure_link if odd else lambda: averager_of("sparse").gather([1.0]))
    said["behind"] = behind(rank)
    said["vectors"] = said_by(lambda: first.mean([torch.ones(DIMENSION + odd)]))
    said["whole numbers"] = said_by(
        lambda: first.mean([torch.ones(DIMENSION, dtype=(torch.float32, torch.int32)[odd])])
    )
    said["order"] = said_by(lambda: averager_of("dense", rank_order=odd).average([payload_of(rank)]))
    links = (NOMINAL_LINK, Link(1.0, 0.0))
    said["settings"] = said_by(lambda: GroupAverager("auto", link=links[odd]).average([payload_of(rank)]))
    for case, (name, receiver, number, rank_order, _) in CHANGED.items():
        said[f"changed {case}"] = spoilt(name, receiver, number, rank_order=rank_order)
    found = averager_of("sparse").average([payload_of(rank)]).mean
    expected = LocalAverager("sparse").average([payload_of(other) for other in range(WORLD_SIZE)]).mean
    said["at last"] = str(torch.equal(found, expected))
    return said


@pytest.fixture(scope="module")
def said() -> list[dict[str, str]]:
    found: list[dict[str, str]] = run_workers(exchange, WORLD_SIZE)
    return found


def test_all_ranks_say_the_same_of_everything_and_go_on(said: list[dict[str, str]]) -> None:
    for words in said:
        assert words == said[0]
        assert words["at last"] == "True"


@pytest.mark.parametrize("name", COLLECTIVES)
def test_indices_that_cannot_be_are_refused_before_anything_is_sent(name: str, said: list[dict[str, str]]) -> None:
    for case, (_, words) in BAD_INDICES.items():
        assert said[0][f"{name}, {case}"] == f"{name}, step 0: rank 1 would send {words}"


@pytest.mark.parametrize("name", COLLECTIVES)
def test_vectors_of_other_lengths_are_refused_whatever_the_collective(name: str, said: list[dict[str, str]]) -> None:
    words = "payloads of different dimensions: 90 on rank 0, 91 on rank 1, 90 on rank 2"
    assert said[0][f"{name}, longer"] == f"{name}, step 0: {words}"


@pytest.mark.parametrize(
    ("case", "calls"),
    [
        ("gather", ("sparse of step 0", "gather of step 0")),
        ("going on", ()),
        ("mean", ("sparse of step 2", "mean of step 2")),
        ("other collective", ("sparse of step 0", "dense of step 0")),
        ("link", ("gather of step 0", "link of step 0")),
        ("behind", ("sparse of step 1", "sparse of step 0")),
    ],
)
def test_ranks_in_different_calls_or_steps_hear_which(
    case: str, calls: tuple[str, ...], said: list[dict[str, str]]
) -> None:
    expected = "nothing"
    if calls:
        common, other = calls
        listed = f"{common} on rank 0, {other} on rank 1, {common} on rank 2"
        expected = f"ranks are in different calls: {listed}"
    assert said[0][case] == expected


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("vectors", "mean, step 3: payloads of different dimensions: 90 on rank 0, 91 on rank 1, 90 on rank 2"),
        ("whole numbers", "mean, step 4: rank 1 has a payload whose dtype is none of torch.bfloat16, "),
        ("order", "dense, step 0: averagers of different settings, digests of which are: "),
        ("settings", "auto, step 0: averagers of different settings, digests of which are: "),
    ],
)
def test_what_would_be_averaged_otherwise_is_refused(case: str, words: str, said: list[dict[str, str]]) -> None:
    assert said[0][case].startswith(words)


@pytest.mark.parametrize("case", CHANGED)
def test_a_byte_that_changes_on_its_way_to_one_rank_ends_the_step_on_all(case: str, said: list[dict[str, str]]) -> None:
    name, *_, words = CHANGED[case]
    assert said[0][f"changed {case}"] == f"{name}, step 0: {words}"


@pytest.mark.parametrize("name", COLLECTIVES)
def test_the_simulation_refuses_the_same_indices(name: str) -> None:
    for indices, words in BAD_INDICES.values():
        payloads = [payload_of(rank, indices if rank == 1 else None) for rank in range(WORLD_SIZE)]
        with pytest.raises(ExchangeError) as caught:
            LocalAverager(name, node_size=2).average(payloads)
        assert str(caught.value) == f"{name}, step 0: rank 1 would send {words}"
