"""What do ways to the k largest entries over ranks cost, and how far off are they? And how large do buckets become?

`python -m sparsync.experiments.studies.planning.global_selection --output FILE` runs every way of
`bulk/top_k_comparison.py`, and a sort by regular samples of keys in several orders, on gloo ranks of this machine.
Bytes, supersteps, counts and errors are functions of the seed; seconds are this machine's, whose ranks share its cores.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from sparsync.experiments.bulk.drawn_vectors import GRADIENT, KINDS
from sparsync.experiments.bulk.top_k_comparison import Comparison
from sparsync.experiments.studies.planning.measured import MeasuredStudy
from sparsync.experiments.studies.planning.selection_ranks import Job
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.training.launch import run_to_end
from sparsync.verify.tools.provenance import provenance

DEADLINE_SECONDS = 3600.0
_SHOWN_CHARACTERS = 2000


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Args:
        rank_counts: p.
        dimensions: d, with the kinds of vectors of each.
        densities: k/d.
        key_counts: of sorts, about.
        repeats: of everything that is timed.
    """

    rank_counts: tuple[int, ...]
    dimensions: Mapping[int, tuple[str, ...]]
    densities: tuple[float, ...]
    key_counts: tuple[int, ...]
    repeats: int


_DRAWN = tuple(kind for kind in KINDS if kind != GRADIENT)
_RECORD = Sizes(
    (2, 4),
    {100_000: KINDS, 1_000_000: _DRAWN, 10_000_000: ("gaussian", "skewed")},
    (0.001, 0.01),
    (100_000, 1_000_000),
    5,
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes((2,), {10_000: ("gaussian", "skewed")}, (0.01,), (10_000,), 1),
    "quick": Sizes((2, 4), {100_000: KINDS}, (0.001, 0.01), (100_000,), 3),
    "record": _RECORD,
    "full": _RECORD,
}


def job(sizes: Sizes) -> Job:
    """What each number of ranks measures; gradients have the dimension of their model, and come once."""
    comparisons = [
        Comparison(dimension=dimension, density=density, vectors=kinds, repeats=sizes.repeats)
        for dimension, kinds in sizes.dimensions.items()
        for density in sizes.densities
    ]
    return Job(tuple(comparisons), sizes.key_counts, sizes.repeats)


def on_ranks(wanted: Job, rank_count: int) -> dict[str, Any]:
    """What the ranks of a torchrun measured.

    Raises:
        RuntimeError: torchrun failed, with its last words.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.joinpath("job.json").write_text(json.dumps(asdict(wanted)), encoding="utf-8")
        launcher = ("torch.distributed.run", "--standalone", "--nproc-per-node", str(rank_count), "-m")
        ended = run_to_end(
            [sys.executable, "-m", *launcher, "sparsync.experiments.studies.planning.selection_ranks", name],
            timeout_seconds=DEADLINE_SECONDS,
            environment={"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        )
        if ended.returncode:
            raise RuntimeError(f"{rank_count} ranks ended with an error:\n{ended.stderr[-_SHOWN_CHARACTERS:]}")
        found: dict[str, Any] = json.loads(folder.joinpath("rows.json").read_text(encoding="utf-8"))
        return found


def run_global_selection(
    profile_name: ProfileName,
    *,
    measure: Callable[[Job, int], dict[str, Any]] = on_ranks,
    advance: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """The study's JSON.

    Args:
        profile_name: how much.
        measure: a job on so many ranks.
        advance: called after each number of ranks.

    Raises:
        RuntimeError: ranks failed.
    """
    sizes = sized(SIZES, profile_name)
    rows: dict[str, list[dict[str, Any]]] = {"selections": [], "sorts": []}
    for rank_count in sizes.rank_counts:
        found = measure(job(sizes), rank_count)
        for part, own in rows.items():
            own += found[part]
        advance()
    return {
        "profile": profile_name,
        "rank_counts": list(sizes.rank_counts),
        "densities": list(sizes.densities),
        "repeats": sizes.repeats,
        "core_count": psutil.cpu_count(),
        **rows,
        "provenance": provenance(process_count=max(sizes.rank_counts)),
    }


def summary(study: Mapping[str, Any]) -> str:
    """How much was found."""
    return f"global_selection: {len(study['selections']) + len(study['sorts'])} rows"


STUDY = MeasuredStudy(
    name="global_selection",
    description="Ways to the k largest entries over ranks: bytes, errors and seconds; and buckets of sorts.",
    measure=run_global_selection,
    step_count=lambda profile: len(sized(SIZES, profile).rank_counts),
    summary=summary,
)
"""Its command line."""


if __name__ == "__main__":
    STUDY.main()
