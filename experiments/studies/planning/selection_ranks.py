"""One rank's part in the study of Top-k over ranks: `selection_ranks.py FOLDER`, under torchrun; rank 0 leaves rows.

`FOLDER/job.json` says what is measured. In one process `measured` takes the part of all ranks.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from sparsync.experiments.averaging.messages import AllGather, Conversation
from sparsync.experiments.averaging.payloads import gathered_numbers
from sparsync.experiments.bulk.key_orders import ORDERS
from sparsync.experiments.bulk.regular_samples import best_segment, narrowing_segments, oversampled_segment
from sparsync.experiments.bulk.shard_top_k import share_sizes
from sparsync.experiments.bulk.sorting import Bucket, sample_sort
from sparsync.experiments.bulk.supersteps import (
    Ended,
    GroupRanks,
    Ranks,
    Traffic,
    relation_bytes,
    total_bytes,
)
from sparsync.experiments.bulk.top_k_comparison import Comparison, compare
from sparsync.experiments.training.groups import join
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.provenance import write_json

JOIN_SECONDS = 300.0
KEY_BYTES, INDEX_BYTES = 8, 4
"""Of a sort: keys are int64."""
VALUE_BYTES = 4
"""Of a selection: vectors are float32."""
OPENING_BYTES = 24
COARSE = 1
"""The oversampling with the fewest samples, of which the statement allows the largest buckets."""


@dataclass(frozen=True)
class Job:
    """What is measured on some ranks.

    Args:
        comparisons: of ways to the largest entries.
        key_counts: of all ranks, about, that are sorted.
        repeats: of each sort; the median counts.
    """

    comparisons: tuple[Comparison, ...]
    key_counts: tuple[int, ...]
    repeats: int


def measured(job: Job, ranks: Ranks) -> dict[str, Any]:
    """The rows of all selections and sorts, on every rank alike but for seconds.

    Raises:
        ExchangeError: another rank is lost, or does not come in time.
    """
    selections = [
        {"density": settings.density, **row, "bound_bytes": bound_bytes(row, settings)}
        for settings in job.comparisons
        for row in compare(settings, ranks)
    ]
    return {"selections": selections, "sorts": list(_sorts(job, ranks))}


def bound_bytes(row: dict[str, Any], settings: Comparison) -> int | None:
    """What the statements allow a way to send; None of one that they say nothing of."""
    ranks, dimension, k = row["rank_count"], row["dimension"], row["k"]
    sampled = sum(min(k, own) for own in share_sizes(dimension, ranks))
    length, *later = narrowing_segments(sampled, ranks, settings.rounds)
    exact = STATEMENTS["exact_selection_bytes"].fraction(n=ranks, k=k, segment_length=length, value_bytes=VALUE_BYTES)
    tree = STATEMENTS["tree_bytes"].fraction(n=ranks, k=k, value_bytes=VALUE_BYTES, index_bytes=INDEX_BYTES)
    bounds = {"gtop_k": tree}
    if len(later) == 1:
        scatter = (ranks - 1) * (OPENING_BYTES * ranks + VALUE_BYTES * dimension)
        bounds |= {"exact": exact, "scattered": exact + scatter}
    bound = bounds.get(row["method"])
    return None if bound is None else int(bound)


def _sorts(job: Job, ranks: Ranks) -> Iterator[dict[str, Any]]:
    for aim in job.key_counts:
        for oversampling in (None, COARSE):
            sizes, length = sort_sizes(aim, ranks.size, oversampling)
            for order in ORDERS:
                yield {
                    "order": order,
                    "oversampling": oversampling,
                    **_sort_row(order, sizes, length, oversampling, job.repeats, ranks),
                }


def sort_sizes(aim: int, ranks: int, oversampling: int | None) -> tuple[list[int], int]:
    """The numbers of keys of all ranks, about so many together, and the length L that a sort of them has.

    Where the sort chooses L, of as many keys as the largest bucket's bound is attained for: d = (an + 1)L.

    Args:
        aim: d, at least 100·n².
        ranks: n.
        oversampling: as of `sample_sort`.
    """
    if oversampling is not None:
        length = aim // (oversampling * ranks**2)
        sizes = [oversampling * ranks * length] * ranks
        assert oversampled_segment(sum(sizes), ranks, oversampling) == length
        return sizes, length
    # Of L² = sd/((s + j)n), in whole numbers: a/L = (s + j)/s.
    length = max(2, 2 * round((aim * KEY_BYTES / ((KEY_BYTES + INDEX_BYTES) * ranks)) ** 0.5 / 2))
    share = length * (KEY_BYTES + INDEX_BYTES) // KEY_BYTES
    sizes = [(share + 1) * length, *[share * length] * (ranks - 1)]
    assert best_segment(sum(sizes), ranks, KEY_BYTES, INDEX_BYTES) == length
    return sizes, length


def _sort_row(
    order: str, sizes: list[int], length: int, oversampling: int | None, repeats: int, ranks: Ranks
) -> dict[str, Any]:
    keys = ORDERS[order](sizes, length, 0)

    def timed() -> tuple[list[Ended[Bucket]], float]:
        ranks.run("start", lambda place: gathered_numbers([place.rank], torch.device("cpu")))
        began = time.perf_counter()
        ended = ranks.run("sample sort", lambda place: sample_sort(keys[place.rank], place, oversampling=oversampling))
        return ended, time.perf_counter() - began

    ended, _ = timed()
    seconds = median(timed()[1] for _ in range(repeats))
    told = ranks.run("facts", lambda place: _told(next(one for one in ended if one.rank == place.rank), seconds))[
        0
    ].found
    steps = (len(told[0]) - 2) // 2
    traffics = [
        Traffic([int(size) for size in row[2 : 2 + steps]], [int(size) for size in row[2 + steps :]]) for row in told
    ]
    stated = STATEMENTS["largest_bucket"].fraction(n=ranks.size, d=sum(sizes), segment_length=length)
    return {
        "rank_count": ranks.size,
        "key_count": sum(sizes),
        "segment_length": length,
        "largest_bucket": max(int(row[0]) for row in told),
        "bound": float(stated),
        "sent_bytes": total_bytes(traffics),
        "relation_bytes": relation_bytes(traffics),
        "superstep_count": steps,
        "seconds": max(row[1] for row in told),
    }


def _told(ended: Ended[Bucket], seconds: float) -> Conversation[list[list[float]]]:
    """Every rank's keys in its bucket, seconds and bytes."""
    numbers = [len(ended.found.keys), seconds, *ended.traffic.sent_bytes, *ended.traffic.received_bytes]
    answer = yield AllGather(torch.tensor(numbers, dtype=torch.float64))
    return torch.stack(answer).tolist()


def job_of(fields: dict[str, Any]) -> Job:
    """A job as it was written."""
    comparisons = [Comparison(**{**one, "vectors": tuple(one["vectors"])}) for one in fields["comparisons"]]
    return Job(tuple(comparisons), tuple(fields["key_counts"]), fields["repeats"])


def main() -> None:
    """Do the job of a folder."""
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    join(int(os.environ["WORLD_SIZE"]), torch.device("cpu"), JOIN_SECONDS)
    found = measured(job_of(json.loads(folder.joinpath("job.json").read_text(encoding="utf-8"))), GroupRanks())
    if dist.get_rank() == 0:
        write_json(folder / "rows.json", found)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
