"""Which variant of error feedback should be the default? Each on a CNN and a small transformer, against dense training.

Top-k with every variant of `FEEDBACKS` at two densities, dense vectors, and PowerSGD of comparable bytes; with momentum
0.9, and with AdamW or what takes its place. Every contestant's step size is tuned on seeds of its own by the mean test
loss at the end; its runs with the best one are paired by seed with those of all others. Does what is lost shrink as
training goes on? Dense training and the variant of least loss at each density run for fewer steps too. Cases are
single runs, so that hours of them can be interrupted, and each says where it was computed. Read by
`paper/studies/variants/study.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any

from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.contestants import (
    DENSE,
    OPTIMISERS,
    SIZES,
    Contestant,
    Setup,
    contestants,
    run_case,
    study_device,
)
from sparsync.experiments.studies.training.tuning import Search, end_loss, grid_size, machines_of, run_seeds, tune
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance


def run_variants(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Tune every contestant, then run it on every seed; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        `runs`: of each `model`, `optimiser`, `method` and `density` (null where nothing is selected) the tuned
        `step_size`, whether it `is_at_edge` of the grid, what was `tried`, and of each seed, in the order of `seeds`,
        `test_loss` and `test_accuracy` at the end, null where the run diverged; `sent_bytes` of all workers in an
        update, PowerSGD's `rank`, and the machines that it was `tuned_on` and `computed_on`. `shorter`: what the
        methods that are run for fewer `steps` end with. `setups`: the networks.

    Raises:
        ValueError: the profile leaves the study out.
        CasesFailedError: some runs failed. One that diverged has not failed.
    """
    if profile_name not in SIZES:
        raise ValueError(f"profile {profile_name!r} leaves this study out; it is in: {', '.join(SIZES)}")
    sizes, everybody = SIZES[profile_name], contestants(SIZES[profile_name])
    run = partial(pool.run, partial(run_case, device=study_device(profile_name)))
    searches = [Search(each) for each in everybody]
    tried = tune(searches, seed_count=sizes.tuning_seed_count, worker_count=sizes.worker_count, run=run)
    for _ in range(sizes.tuning_seed_count * grid_size(everybody) - tried):
        pool.advance()  # what the search left out
    chosen = [(search.contestant, search.place()) for search in searches]
    measured = partial(run_seeds, seed_count=sizes.seed_count, worker_count=sizes.worker_count, run=run)
    by_contestant = measured(chosen)
    shorter = [
        (contestant.lasting(share), place)
        for contestant, place in _nearest(chosen, by_contestant)
        for share in sizes.shorter
    ]
    return {
        "profile": profile_name,
        "worker_count": sizes.worker_count,
        "seeds": list(range(sizes.seed_count)),
        "tuning_seed_count": sizes.tuning_seed_count,
        "densities": list(sizes.densities),
        "setups": [_setup_record(setup, everybody, by_contestant) for setup in sizes.setups],
        "runs": [_record(search, runs) for search, runs in zip(searches, by_contestant, strict=True)],
        "shorter": [
            {**_names(contestant), "steps": contestant.setup.steps, **_ends(runs)}
            for (contestant, _), runs in zip(shorter, measured(shorter), strict=True)
        ],
        "provenance": provenance(process_count=1, device=study_device(profile_name)),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_variants` advances: once for each step size of the grid, tried or not; 0 where it is left out."""
    if profile_name not in SIZES:
        return 0
    sizes, everybody = SIZES[profile_name], contestants(SIZES[profile_name])
    nearest_count = len(sizes.setups) * len(OPTIMISERS) * (1 + len(sizes.densities))
    measured_count = len(everybody) + nearest_count * len(sizes.shorter)
    return sizes.tuning_seed_count * grid_size(everybody) + measured_count * sizes.seed_count


def _nearest(
    chosen: Sequence[tuple[Contestant, int]], by_contestant: Sequence[Sequence[dict[str, Any]]]
) -> list[tuple[Contestant, int]]:
    """Of each network and optimiser, dense training and the variant of least mean loss at each density."""
    found: dict[tuple[Setup, str, float | None], tuple[float, tuple[Contestant, int]]] = {}
    for (contestant, place), runs in zip(chosen, by_contestant, strict=True):
        if contestant.density is None and contestant.method != DENSE:
            continue
        key, loss = (contestant.setup, contestant.optimiser, contestant.density), fmean(map(end_loss, runs))
        if key not in found or loss < found[key][0]:
            found[key] = (loss, (contestant, place))
    return [nearest for _, nearest in found.values()]


def _record(search: Search[Contestant], runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        **_names(search.contestant),
        **search.record(),
        **_ends(runs),
        "sent_bytes": next((run["sent_bytes"] for run in runs if run["sent_bytes"] is not None), None),
        "rank": runs[0]["rank"],
        "computed_on": sorted(machines_of(runs)),
    }


def _names(contestant: Contestant) -> dict[str, Any]:
    facts = {name: getattr(contestant, name) for name in ("optimiser", "method", "density")}
    return {"model": contestant.setup.model, **facts}


def _ends(runs: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """With what the runs ended, in the order of the seeds."""
    return {name: [run[name] for run in runs] for name in ("test_loss", "test_accuracy")}


def _setup_record(
    setup: Setup, everybody: Sequence[Contestant], by_contestant: Sequence[Sequence[dict[str, Any]]]
) -> dict[str, Any]:
    first = next(runs[0] for each, runs in zip(everybody, by_contestant, strict=True) if each.setup == setup)
    settings = {name: getattr(setup, name) for name in ("model", "data", "batch_size", "steps")}
    return {**settings, **{name: first[name] for name in ("dimension", "test_count")}}
