"""Does sending little cost accuracy, and is it the selection that does? Every method with a step size tuned for it.

An arena is a network, see `arenas.py`; a result file belongs to each. Every contestant's step size is the one of a grid
of doubled ones that ends with the least mean test loss on seeds of its own (see `step_search.py`); it falls linearly to
zero over the run and stands outside the memory, so that momentum and AdamW see gradients, as in the study of variants.
With the best one a contestant runs on other seeds, which are the same for all, so that comparisons are paired. Loss and
accuracy are those of the test set, for tuning too. Local steps with a sparse outer update need processes of their own:
the studies `decays` and `links` have them. Cases are single runs, so that hours of them can be interrupted. Read by
`paper/studies/convergence/`. Ours.

Where the best step size is next to one that diverges, as without momentum, tuning can choose one with which other seeds
diverge. In the quick profile with one seed for tuning, exact Top-k on FNN-3 got 1.28 and diverged on two of five seeds,
where Gaussian-k with 1.28 did not. So tuning was made to take two seeds, and three in the record, for all methods; long
runs without such contestants have one. With two, it came out as with one; with three, in the record, 1.28 was chosen
again and three of eight seeds diverged, of Gaussian-k one. No more was changed after that: what diverges is a result.
So is what learns nothing: the units of LeNet-5 die at steps that are next to the best, dense or sparse.

What the record costs, by seconds of a run on one core, when nothing else computes: FNN-3 6, LeNet-5 15, 16 workers
of FNN-3 20, ResNet-20, GPT and LSTM 80. A search tries some 5.5 step sizes, with the least stride 3.7, on each of
its seeds; 5 or 8 runs are measured. So on two cores FNN-3, which has every method at every density, takes
58 · (3 · 5.5 + 8) · 6 s / 2 = 71 minutes, LeNet-5 15 · (2 · 3.7 + 5) · 15 s / 2 = 23, the 16 workers 31, and the other
three, with one seed for tuning, 9 to 11 · (3.7 + 5) · 80 s / 2 = 52 to 64 each. A result's `processor_seconds` say what
it took. The quick profile has FNN-3 alone, with two seeds for tuning: five contestants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.arenas import ARENAS, Arena, Entrant, entrants
from sparsync.experiments.studies.training.contestants import TUNING_SEED, Case, study_device
from sparsync.experiments.studies.training.measured_run import run_case
from sparsync.experiments.studies.training.tuning import Search, grid_size, machines_of, run_seeds, tune
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance


def run_convergence(profile_name: ProfileName, pool: Pool = ALONE, *, arena: str) -> dict[str, Any]:
    """Tune every contestant of an arena, then run it on every seed; the study's JSON.

    Args:
        profile_name: of those that the arena has.
        pool: runs the cases.
        arena: key of `ARENAS`.

    Returns:
        `setup`: the network. `seeds` and `tuning_seeds`. `steps`: the numbers of updates after which a run is
        evaluated. `contestants`: of each `optimiser`, `method` and `density` (null where nothing is selected), what
        `Search.record` says of its step size, PowerSGD's `rank`, and of each seed, in their order, what `run_case`
        gives. `processor_seconds`: of all runs together, tuning included.

    Raises:
        ValueError: the profile leaves the arena out.
        CasesFailedError: some runs failed. One that diverged has not failed.
    """
    if profile_name not in ARENAS[arena]:
        raise ValueError(f"profile {profile_name!r} leaves {arena!r} out; it is in: {', '.join(ARENAS[arena])}")
    size, everybody = ARENAS[arena][profile_name], entrants(ARENAS[arena][profile_name])
    seconds: list[float] = []

    def run(cases: Sequence[Case]) -> list[dict[str, Any]]:
        found = pool.run(partial(run_case, device=study_device(profile_name)), cases)
        seconds.extend(each["processor_seconds"] for each in found)
        return found

    searches = [Search(each, size.stride) for each in everybody]
    tried = tune(searches, seed_count=size.tuning_seed_count, worker_count=size.worker_count, run=run)
    for _ in range(size.tuning_seed_count * grid_size(everybody) - tried):
        pool.advance()  # what the search left out
    chosen = [(search.contestant, search.place()) for search in searches]
    runs = run_seeds(chosen, seed_count=size.seed_count, worker_count=size.worker_count, run=run)
    return {
        "profile": profile_name,
        "arena": arena,
        "worker_count": size.worker_count,
        "setup": _setup_record(size, runs[0][0]),
        "seeds": list(range(size.seed_count)),
        "tuning_seeds": list(range(TUNING_SEED, TUNING_SEED + size.tuning_seed_count)),
        "steps": runs[0][0]["steps"],
        "contestants": [_record(search, found) for search, found in zip(searches, runs, strict=True)],
        "processor_seconds": math.fsum(seconds),
        "provenance": provenance(process_count=1, device=study_device(profile_name)),
    }


def case_count(profile_name: ProfileName, *, arena: str) -> int:
    """How often `run_convergence` advances: once for each step size, tried or not; 0 where the arena is left out."""
    if profile_name not in ARENAS[arena]:
        return 0
    size, everybody = ARENAS[arena][profile_name], entrants(ARENAS[arena][profile_name])
    return size.tuning_seed_count * grid_size(everybody) + size.seed_count * len(everybody)


def _setup_record(size: Arena, first: dict[str, Any]) -> dict[str, Any]:
    settings = {name: getattr(size.setup, name) for name in ("model", "data", "batch_size", "steps")}
    return {**settings, **{name: first[name] for name in ("dimension", "train_count", "test_count")}}


_OF_A_SEED = (
    "test_loss",
    "test_accuracy",
    "sent_bytes",
    "in_range_share",
    "smallest_count",
    "median_count",
    "largest_count",
    "median_gain",
    "gain",
)


def _record(search: Search[Entrant], runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        **search.contestant.names(),
        **search.record(),
        "rank": runs[0]["rank"],
        "target_count": next((run["target_count"] for run in runs if run["target_count"] is not None), None),
        **{name: [run[name] for run in runs] for name in _OF_A_SEED},
        "path": {name: [run["path"][name] for run in runs] for name in runs[0]["path"]},
        "computed_on": sorted(machines_of(runs)),
    }
