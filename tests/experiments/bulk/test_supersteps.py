"""Programs find the same on real ranks as in one process, in bits, and count what travels; who is lost is missed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.averaging.messages import AllGather, AllReduce, Conversation, Place, Swap
from sparsync.experiments.bulk.gtop_k import gtop_k
from sparsync.experiments.bulk.mean_top_k import gathered_gaussian_k, scattered_top_k
from sparsync.experiments.bulk.shard_top_k import exact_top_k, gaussian_top_k, own_top_k, sampled_top_k
from sparsync.experiments.bulk.sorting import sample_sort
from sparsync.experiments.bulk.supersteps import (
    GroupRanks,
    LocalRanks,
    Ranks,
    Traffic,
    opened,
    relation_bytes,
    to_everyone,
    total_bytes,
)
from tests.support.workers import run_workers

SIZES = (2, 3, 4)
Found = list[tuple[int, list[Tensor], list[int], list[int]]]
"""Of each rank of a process: its rank, what it found, and what it sent and received."""


def drawn(rank: int, dtype: torch.dtype) -> Tensor:
    """A few values often, on the second rank none at all."""
    generator = torch.Generator().manual_seed(rank)
    count = 0 if rank == 1 else 40 + 7 * rank
    return torch.randint(-9, 10, (count,), generator=generator).to(dtype)


def vector(rank: int) -> Tensor:
    return torch.randn(50, generator=torch.Generator().manual_seed(rank))


PROGRAMS: dict[str, Callable[[Place], Conversation[Any]]] = {
    "sort": lambda place: sample_sort(drawn(place.rank, torch.float32), place),
    "sort int64": lambda place: sample_sort(drawn(place.rank, torch.int64), place, oversampling=1),
    "exact": lambda place: exact_top_k(drawn(place.rank, torch.float64), 20, place, rounds=3),
    "exact half": lambda place: exact_top_k(drawn(place.rank, torch.bfloat16), 20, place),
    "sampled": lambda place: sampled_top_k(drawn(place.rank, torch.float32), 20, place, sample_count=3),
    "gaussian": lambda place: gaussian_top_k(drawn(place.rank, torch.float32), 20, place),
    "own": lambda place: own_top_k(drawn(place.rank, torch.float32), 20, place),
    "tree": lambda place: gtop_k(vector(place.rank), 6, place),
    "scattered": lambda place: scattered_top_k(vector(place.rank), 6, place),
    "gathered": lambda place: gathered_gaussian_k(vector(place.rank), 6, place),
}


def found_of(program: str, ranks: Ranks) -> Found:
    """As bytes, which are compared."""
    found: Found = []
    for ended in ranks.run(program, PROGRAMS[program]):
        parts = ended.found
        tensors = [parts.total.values, parts.total.indices, parts.residual] if program == "tree" else []
        tensors = [parts.keys, parts.ranks, parts.indices] if program.startswith("sort") else tensors
        tensors = [parts.mean] if program == "gathered" else tensors
        tensors = tensors or [parts.values, parts.indices]
        found.append((ended.rank, tensors, ended.traffic.sent_bytes, ended.traffic.received_bytes))
    return found


def ended_badly(ranks: Ranks, program: str, start: partial[Conversation[object]]) -> str:
    try:
        ranks.run(program, start)
    except ValueError as error:
        return str(error)
    return "nothing wrong"


def hostile(place: Place, keys: dict[int, Tensor]) -> Conversation[object]:
    return (yield from sample_sort(keys.get(place.rank, torch.ones(3)), place))


NAN, WIDE = {1: torch.tensor([0.0, torch.nan])}, {1: torch.ones(3, dtype=torch.float64)}


def on_a_rank() -> tuple[dict[int, dict[str, Found]], list[str], str]:
    """On the first two, three and four ranks of four; then the last one is lost."""
    rank, found = dist.get_rank(), {}
    for size in SIZES:
        group: Any = dist.new_group(list(range(size)))
        if rank < size:
            found[size] = {program: found_of(program, GroupRanks(group)) for program in PROGRAMS}
        else:
            assert ended_badly(GroupRanks(group), "sort", partial(hostile, keys={})) == "this rank is not in the group"
    said = [ended_badly(GroupRanks(), "sort", partial(hostile, keys=keys)) for keys in (NAN, WIDE)]
    dist.barrier()
    if rank == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        GroupRanks(timeout_seconds=20.0).run("sorting", PROGRAMS["sort"])
    except ExchangeError as error:
        return found, said, str(error)
    raise AssertionError("nobody was missed")


def test_real_ranks_find_what_the_simulation_finds_refuse_alike_and_miss_who_is_lost() -> None:
    *answers, lost = run_workers(on_a_rank, 4, killed=[3])
    assert lost is None
    for size in SIZES:
        for program in PROGRAMS:
            simulated = found_of(program, LocalRanks(size))
            for rank, (found, _, _) in enumerate(answers[:size]):
                ((real_rank, tensors, sent, received),) = found[size][program]
                assert (real_rank, sent, received) == (rank, *simulated[rank][2:])
                for real, expected in zip(tensors, simulated[rank][1], strict=True):
                    assert real.dtype == expected.dtype
                    assert torch.equal(real, expected)
    for _, (nan, wide), missing in answers:
        assert nan == "sample sort: entry 1 of rank 1 cannot be ordered: NaN, or infinite where that is not allowed"
        assert wide.startswith("sample sort: ranks [1] have other settings than rank 0; here: {'dtype': 'torch.float")
        assert missing.startswith("sorting: a connection was lost")


def test_a_superstep_costs_the_most_that_one_rank_sends_or_receives() -> None:
    traffics = [Traffic([3, 0], [0, 9]), Traffic([0, 9], [3, 0]), Traffic([5, 0], [0, 1])]
    assert relation_bytes(traffics) == 5 + 9
    assert total_bytes(traffics) == 17


def test_what_is_noted_is_what_leaves_and_comes() -> None:
    traffic = Traffic()
    traffic.note(AllGather(torch.zeros(5)), 4)
    traffic.note(Swap({1: torch.zeros(3, dtype=torch.uint8)}, {2: 4, 3: 5}, torch.device("cpu")), 4)
    assert traffic == Traffic([60, 3], [60, 9])
    with pytest.raises(ValueError, match="no bytes are known of AllReduce"):
        traffic.note(AllReduce(torch.zeros(5)), 4)


def test_vectors_of_all_lengths_come_to_everyone_unpadded() -> None:
    vectors = [torch.arange(count, dtype=torch.int16) for count in (3, 0, 5)]
    found = LocalRanks(3).run("vectors", lambda place: to_everyone(vectors[place.rank], [3, 0, 5], place))
    for ended in found:
        assert all(map(torch.equal, ended.found, vectors))
        count = len(vectors[ended.rank])
        assert (ended.traffic.sent_bytes, ended.traffic.received_bytes) == ([4 * count], [2 * (8 - count)])


def test_ranks_that_mean_something_else_are_named() -> None:
    def meant(place: Place) -> Conversation[list[int]]:
        return opened("game", place.rank % 2, fault=None, count=7, device=torch.device("cpu"))

    with pytest.raises(ValueError, match=r"game: ranks \[1, 3\] have other settings than rank 0; here: 0"):
        LocalRanks(4).run("game", meant)


def test_a_program_needs_ranks_and_time() -> None:
    with pytest.raises(ValueError, match="there are 0"):
        LocalRanks(0)
    with pytest.raises(ValueError, match="timeout_seconds must be positive"):
        GroupRanks(timeout_seconds=0.0)
