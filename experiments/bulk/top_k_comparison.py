"""What do ways to the largest k entries cost, and how far off are they? A row for each kind of vectors and each way.

Every worker has a vector, and what is wanted are the k largest entries of their mean. "exact", "sampled", "gaussian"
and "own" begin where a reduce-scatter has ended, as FSDP's does, so that each rank has a part of the mean; its bytes
and seconds are not theirs. "scattered", "gtop_k" and "gathered" begin with the vectors themselves. Energy that is left,
‖mean − selected‖²/‖mean‖², is compared with that of the k largest, and of as many as were selected; to find it takes no
part of the seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import AllGather, Average, Conversation, Place
from sparsync.experiments.averaging.payloads import gathered_numbers
from sparsync.experiments.bulk.drawn_vectors import KINDS, worker_vectors
from sparsync.experiments.bulk.gtop_k import Merged, gtop_k
from sparsync.experiments.bulk.mean_top_k import gathered_gaussian_k, scattered_top_k
from sparsync.experiments.bulk.shard_top_k import (
    ROUNDS,
    SAMPLE_COUNT,
    exact_top_k,
    gaussian_top_k,
    own_top_k,
    sampled_top_k,
)
from sparsync.experiments.bulk.supersteps import Ended, Ranks, Traffic, relation_bytes, total_bytes
from sparsync.experiments.engine.counts import require_count
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS, target_count


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Raises:
        ValueError: a number out of range, or vectors that are not of KINDS.
    """

    dimension: int = 2**18
    """d, of all vectors but real gradients, which have that of their model"""
    density: float = 0.001
    """k/d, above 0 and at most 1; k is at least 1"""
    vectors: tuple[str, ...] = KINDS
    """kinds of vectors, see drawn_vectors.py"""
    rounds: int = ROUNDS
    """in which the exact way tells samples"""
    sample_count: int = SAMPLE_COUNT
    """of each rank, where one round has to do"""
    repeats: int = 3
    """how often each is timed; the median counts"""
    seed: int = 0
    """names the vectors"""

    def __post_init__(self) -> None:
        for name in ("dimension", "rounds", "sample_count", "repeats"):
            require_count(name, getattr(self, name), least=1)
        if not 0 < self.density <= 1:
            raise ValueError(f"density must be above 0 and at most 1, got {self.density}")
        unknown = [kind for kind in self.vectors if kind not in KINDS]
        if not self.vectors or unknown:
            raise ValueError(f"vectors must be some of {', '.join(KINDS)}, got {unknown if self.vectors else 'none'}")


@dataclass(frozen=True, eq=False)
class _Case:
    """One kind of vectors.

    Args:
        vectors: [ranks, d], of all workers.
        mean: [d], of them.
        k: how many entries are wanted.
        settings: of the comparison.
    """

    vectors: Tensor
    mean: Tensor
    k: int
    settings: Comparison

    def shard(self, place: Place) -> Tensor:
        """A rank's part of the mean."""
        return self.mean.tensor_split(place.size)[place.rank]


Found = SparsePayload | Merged | Average
"""What a rank has in the end: entries of its part of the mean, or of all of it."""

METHODS: dict[str, Callable[[_Case, Place], Conversation[Found]]] = {
    "exact": lambda case, place: exact_top_k(case.shard(place), case.k, place, rounds=case.settings.rounds),
    "sampled": lambda case, place: sampled_top_k(
        case.shard(place), case.k, place, sample_count=case.settings.sample_count
    ),
    "gaussian": lambda case, place: gaussian_top_k(case.shard(place), case.k, place),
    "own": lambda case, place: own_top_k(case.shard(place), case.k, place),
    "scattered": lambda case, place: scattered_top_k(
        case.vectors[place.rank], case.k, place, rounds=case.settings.rounds
    ),
    "gtop_k": lambda case, place: gtop_k(case.vectors[place.rank], case.k, place),
    "gathered": lambda case, place: gathered_gaussian_k(case.vectors[place.rank], case.k, place),
}
"""By name."""
OF_SHARDS = ("exact", "sampled", "gaussian", "own")
"""Those that begin with a part of the mean on each rank."""


def _facts(found: Found, case: _Case, place: Place) -> tuple[int, float]:
    """How many entries a rank has in the end, and the energy that is left of the mean, or of its part.

    Of what all ranks have alike one of them says so.
    """
    if isinstance(found, SparsePayload):
        return found.count, _energy(found.remainder(case.shard(place)))
    if place.rank:
        return 0, 0.0
    if isinstance(found, Merged):
        return found.total.count, _energy(case.mean - found.total.dense() / place.size)
    return int(found.mean.count_nonzero()), _energy(case.mean - found.mean)


def compare(
    settings: Comparison,
    ranks: Ranks,
    *,
    device: torch.device | str = "cpu",
    advance: Callable[[], object] = lambda: None,
) -> list[dict[str, Any]]:
    """A row for each kind of vectors and each way.

    Args:
        settings: what is compared.
        ranks: on which; all in one process take their turns, which the seconds then count.
        device: where vectors and messages are; one that the group serves.
        advance: called after each row.

    Raises:
        ExchangeError: another rank is lost, or does not come in time.
    """
    rows = []
    for kind in settings.vectors:
        vectors = worker_vectors(kind, dimension=settings.dimension, rank_count=ranks.size, seed=settings.seed)
        vectors = vectors.to(device)
        mean = vectors.mean(dim=0)
        case = _Case(vectors, mean, target_count(settings.density, len(mean)), settings)
        best = _least_share(mean, case.k)
        for name in METHODS:
            rows.append({"vectors": kind, "method": name, **_row(name, case, best, ranks)})
            advance()
    return rows


def _row(name: str, case: _Case, best: float, ranks: Ranks) -> dict[str, Any]:
    """Of one way, once it has run unmeasured."""
    ended, _ = _timed(name, case, ranks)
    times = [_timed(name, case, ranks)[1] for _ in range(case.settings.repeats)]
    told = ranks.run("facts", lambda place: _told(_of_rank(ended, place), case, place, median(times)))[0].found
    count, left = sum(int(row[0]) for row in told), _share(sum(row[1] for row in told), case.mean)
    steps = (len(told[0]) - 3) // 2
    traffics = [
        Traffic([int(size) for size in row[3 : 3 + steps]], [int(size) for size in row[3 + steps :]]) for row in told
    ]
    return {
        "rank_count": ranks.size,
        "dimension": len(case.mean),
        "k": case.k,
        "count": count,
        "count_error": count / case.k - 1,
        "best_share": best,
        "left_share": left,
        "least_share": _least_share(case.mean, count),
        "excess_share": left - best,
        "sent_bytes": total_bytes(traffics),
        "relation_bytes": relation_bytes(traffics),
        "superstep_count": steps,
        "seconds": max(row[2] for row in told),
    }


def _timed(name: str, case: _Case, ranks: Ranks) -> tuple[list[Ended[Found]], float]:
    """How it ended on the ranks of this process, and the seconds since all of them had come."""
    ranks.run("start", lambda place: gathered_numbers([place.rank], case.mean.device))
    began = time.perf_counter()
    ended = ranks.run(name, lambda place: METHODS[name](case, place))
    if case.mean.is_cuda:
        torch.cuda.synchronize(case.mean.device)
    return ended, time.perf_counter() - began


def _of_rank(ended: list[Ended[Found]], place: Place) -> Ended[Found]:
    (own,) = (one for one in ended if one.rank == place.rank)
    return own


def _told(ended: Ended[Found], case: _Case, place: Place, seconds: float) -> Conversation[list[list[float]]]:
    """Every rank's count, energy, seconds and bytes."""
    facts = _facts(ended.found, case, place)
    numbers = [*facts, seconds, *ended.traffic.sent_bytes, *ended.traffic.received_bytes]
    answer = yield AllGather(torch.tensor(numbers, dtype=torch.float64, device=case.mean.device))
    return torch.stack(answer).tolist()


def _least_share(mean: Tensor, count: int) -> float:
    """Of the energy, what the so many largest entries leave."""
    left = SELECTORS["top_k"](mean, count).remainder(mean) if count else mean
    return _share(_energy(left), mean)


def _share(energy: float, mean: Tensor) -> float:
    """Of the energy of the mean; of nothing, nothing is left."""
    whole = _energy(mean)
    return energy / whole if whole else 0.0


def _energy(vector: Tensor) -> float:
    return float(vector.double().square().sum())
