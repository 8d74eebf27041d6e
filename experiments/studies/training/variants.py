"""Which variant of error feedback should be the default? Each on a CNN and a small transformer, against dense training.

Top-k with every variant of `FEEDBACKS` at two densities, dense vectors, and PowerSGD of comparable bytes; with momentum
0.9, and with AdamW or what takes its place. Every contestant's step size is tuned on seeds of its own by the mean test
loss at the end; its runs with the best one are paired by seed with those of all others. Does what is lost shrink as
training goes on? Dense training and the variant of least loss at each density run for fewer steps too. Cases are
single runs, so that hours of them can be interrupted, and each says where it was computed. Read by
`paper/studies/variants.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any

import torch

from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.contestants import (
    DENSE,
    OPTIMISERS,
    SIZES,
    TUNING_SEED,
    Case,
    Contestant,
    Setup,
    Sizes,
    contestants,
    run_case,
)
from sparsync.experiments.studies.training.step_search import best_place, wanted
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

RunCases = Callable[[Sequence[Case]], list[dict[str, Any]]]


@dataclass
class Search:
    """For the best step size of a contestant.

    Args:
        contestant: whose.
        losses: the mean test loss of every step size that was tried, by its place; infinite where a run diverged.
        machines: that tried them.
    """

    contestant: Contestant
    losses: dict[int, float] = field(default_factory=dict)
    machines: set[str] = field(default_factory=set)

    def wanted(self) -> list[int]:
        """Places that are to be tried next; none once the best is found."""
        optimiser = OPTIMISERS[self.contestant.optimiser]
        return wanted(self.losses, start=optimiser.start, place_count=optimiser.place_count)

    def place(self) -> int:
        """The best place, or the one to begin at where none was tried."""
        return best_place(self.losses) if self.losses else OPTIMISERS[self.contestant.optimiser].start


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
    run = partial(pool.run, partial(run_case, device=_device(profile_name)))
    searches = [Search(each) for each in everybody]
    if sizes.tuning_seed_count:
        _tune(searches, sizes, run)
    done = sum(len(search.losses) for search in searches) * sizes.tuning_seed_count
    for _ in range(_grid_size(sizes) - done):
        pool.advance()  # what the search left out
    chosen = [(search.contestant, search.place()) for search in searches]
    by_contestant = _run_seeds(chosen, sizes, run)
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
            for (contestant, _), runs in zip(shorter, _run_seeds(shorter, sizes, run), strict=True)
        ],
        "provenance": provenance(process_count=1, device=_device(profile_name)),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_variants` advances: once for each step size of the grid, tried or not; 0 where it is left out."""
    if profile_name not in SIZES:
        return 0
    sizes = SIZES[profile_name]
    nearest_count = len(sizes.setups) * len(OPTIMISERS) * (1 + len(sizes.densities))
    measured_count = len(contestants(sizes)) + nearest_count * len(sizes.shorter)
    return _grid_size(sizes) + measured_count * sizes.seed_count


def _grid_size(sizes: Sizes) -> int:
    """Runs that tuning would take if it tried everything."""
    return sum(OPTIMISERS[each.optimiser].place_count for each in contestants(sizes)) * sizes.tuning_seed_count


def _tune(searches: Sequence[Search], sizes: Sizes, run: RunCases) -> None:
    """Let every contestant have the mean losses of all step sizes that its search asks for, round after round."""
    seeds = range(TUNING_SEED, TUNING_SEED + sizes.tuning_seed_count)
    while asked := [(search, place) for search in searches for place in search.wanted()]:
        cases = [search.contestant.case(place, seed, sizes.worker_count) for search, place in asked for seed in seeds]
        found = iter(run(cases))
        for search, place in asked:
            runs = [next(found) for _ in seeds]
            search.losses[place] = fmean(map(_loss, runs))
            search.machines |= _machines(runs)


def _run_seeds(chosen: Sequence[tuple[Contestant, int]], sizes: Sizes, run: RunCases) -> list[Sequence[dict[str, Any]]]:
    """The runs of all seeds, of each contestant with the place of its step size."""
    seeds = range(sizes.seed_count)
    found = run([each.case(place, seed, sizes.worker_count) for each, place in chosen for seed in seeds])
    return [found[first : first + len(seeds)] for first in range(0, len(found), len(seeds))]


def _nearest(
    chosen: Sequence[tuple[Contestant, int]], by_contestant: Sequence[Sequence[dict[str, Any]]]
) -> list[tuple[Contestant, int]]:
    """Of each network and optimiser, dense training and the variant of least mean loss at each density."""
    found: dict[tuple[Setup, str, float | None], tuple[float, tuple[Contestant, int]]] = {}
    for (contestant, place), runs in zip(chosen, by_contestant, strict=True):
        if contestant.density is None and contestant.method != DENSE:
            continue
        key, loss = (contestant.setup, contestant.optimiser, contestant.density), fmean(map(_loss, runs))
        if key not in found or loss < found[key][0]:
            found[key] = (loss, (contestant, place))
    return [nearest for _, nearest in found.values()]


def _loss(found: dict[str, Any]) -> float:
    return math.inf if found["test_loss"] is None else float(found["test_loss"])


def _machines(runs: Sequence[dict[str, Any]]) -> set[str]:
    return {run["computed_on"] for run in runs}


def _record(search: Search, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    contestant, losses, place = search.contestant, search.losses, search.place()
    last = OPTIMISERS[contestant.optimiser].place_count - 1
    return {
        **_names(contestant),
        "step_size": contestant.step_size(place),
        "is_at_edge": bool(losses) and place in (0, last),
        "tried": [
            {"step_size": contestant.step_size(at), "test_loss": losses[at] if math.isfinite(losses[at]) else None}
            for at in sorted(losses)
        ],
        **_ends(runs),
        "sent_bytes": next((run["sent_bytes"] for run in runs if run["sent_bytes"] is not None), None),
        "rank": runs[0]["rank"],
        "tuned_on": sorted(search.machines),
        "computed_on": sorted(_machines(runs)),
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


def _device(profile_name: ProfileName) -> str:
    """All but smoke use a GPU where there is one."""
    return "cuda" if profile_name != "smoke" and torch.cuda.is_available() else "cpu"
