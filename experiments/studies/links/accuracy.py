"""After how many steps is a network as accurate as with dense training, by each way of sending? By `contenders.py`.

Together with the seconds of a step over a link, which `study.py` measures, these are times to an accuracy. Step sizes
are those that the study of variants found best, or, for what it has not, are searched on a seed of their own. All runs
of one seed begin with the same parameters. Read by `paper/studies/links/`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.links.cells import all_methods
from sparsync.experiments.studies.links.contenders import (
    LOST_SHARE,
    POWERSGD,
    SIZES,
    WORKER_COUNT,
    Case,
    Contender,
    Sizes,
    steps_of,
)
from sparsync.experiments.studies.links.local_training import run_locally
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.contestants import OPTIMISERS, TUNING_SEED, low_rank_averager
from sparsync.experiments.studies.training.step_search import best_place, wanted
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import machine_name, provenance

MODELS = ("fnn3", "resnet20", "gpt")
"""Networks that have a study in the record."""
_OPTIMISER = OPTIMISERS["momentum"]
RunCases = Callable[[Sequence[Case]], list[dict[str, Any]]]


@dataclass
class Search:
    """For the best step size of a contender.

    Args:
        contender: whose.
        is_tuned: whether it is searched where it is not known.
        losses: the test loss of every step size that was tried, by its place; infinite where a run diverged.
    """

    contender: Contender
    is_tuned: bool
    losses: dict[int, float] = field(default_factory=dict)

    def wanted(self) -> list[int]:
        """Places that are to be tried next; none once the best is known."""
        if not self.is_tuned or self.contender.known_place is not None:
            return []
        return wanted(self.losses, start=_OPTIMISER.start, place_count=_OPTIMISER.place_count)

    def place(self) -> int:
        """The best one."""
        known = self.contender.known_place
        if known is not None:
            return known
        return best_place(self.losses) if self.losses else _OPTIMISER.start


def run_accuracy(profile_name: ProfileName, pool: Pool = ALONE, *, model: str) -> dict[str, Any]:
    """Tune where it is needed, and train a network by every method on every seed; the study's JSON.

    Args:
        profile_name: of those that `SIZES` has for the network.
        pool: runs the cases.
        model: the network, key of `SIZES`.

    Returns:
        `runs`: of each `method` (the name of a `Method`) the `step_size`, whether it `is_at_edge` of the
        grid, what was `tried` for it, empty where the study of variants did; the `steps` at which it was evaluated; and
        of each seed, in the order of `seeds`, the `test_accuracy` there, null from where a run diverged on, and the
        `test_loss` at the end. A method that did not get within `lost_share` of dense training on all seeds has another
        run whose steps are `lasting` so many times as long. `setup`: the network. `ways`: by method, the names of all
        ways of sending in the study of links that make its steps.

    Raises:
        ValueError: the profile leaves the study out.
        CasesFailedError: some runs failed. One that diverged has not failed.
    """
    if profile_name not in SIZES[model]:
        raise ValueError(f"profile {profile_name!r} leaves this study out; it is in: {', '.join(SIZES[model])}")
    sizes = SIZES[model][profile_name]
    searches = [Search(each, sizes.is_tuned) for each in contenders(sizes)]

    def run(cases: Sequence[Case]) -> list[dict[str, Any]]:
        return pool.run(run_case, cases)

    tried = _tune(searches, sizes, run)
    for _ in range(_grid_size(sizes) - tried):
        pool.advance()  # what the search left out
    runs = _runs(searches, sizes, run, pool)
    return {
        "profile": profile_name,
        "worker_count": WORKER_COUNT,
        "seeds": list(range(sizes.seed_count)),
        "lost_share": LOST_SHARE,
        "setup": {name: getattr(sizes.setup, name) for name in ("model", "data", "batch_size", "steps")},
        "ways": {
            method.name: [way.name for way in all_methods() if steps_of(way) == method] for method in sizes.methods
        },
        "runs": runs,
        "provenance": provenance(process_count=1),
    }


def _runs(searches: list[Search], sizes: Sizes, run: RunCases, pool: Pool) -> list[dict[str, Any]]:
    """The records of all, and then of longer and longer runs of those that are not there yet."""
    runs = last = _trained(searches, sizes, run)
    targets = [None if path[-1] is None else path[-1] - LOST_SHARE for path in runs[0]["test_accuracy"]]
    for factor in sizes.longer:
        late = [search for search, found in zip(searches, last, strict=True) if not _reaches(found, targets)]
        for _ in range((len(sizes.methods) - len(late)) * sizes.seed_count):
            pool.advance()  # who is there already
        searches, last = late, _trained(late, sizes, run, lasting=factor)
        runs = [*runs, *last]
    return runs


def _trained(searches: Sequence[Search], sizes: Sizes, run: RunCases, *, lasting: int = 1) -> list[dict[str, Any]]:
    """The records of contenders that train on every seed, for so many times the steps."""
    seeds = range(sizes.seed_count)
    cases = [
        search.contender.lasting(lasting).case(search.place(), seed, sizes.evaluation_count)
        for search, seed in product(searches, seeds)
    ]
    found = run(cases)
    by_search = [found[first : first + len(seeds)] for first in range(0, len(found), len(seeds))]
    return [
        {"lasting": lasting, **_record(search, case.run.step_size, runs)}
        for search, case, runs in zip(searches, cases[:: len(seeds)], by_search, strict=True)
    ]


def _reaches(found: dict[str, Any], targets: Sequence[float | None]) -> bool:
    """Whether a method is seen at the target of every seed."""
    paths = found["test_accuracy"]
    best = [max((seen for seen in path if seen is not None), default=-math.inf) for path in paths]
    return all(target is not None and accuracy >= target for accuracy, target in zip(best, targets, strict=True))


def contenders(sizes: Sizes) -> list[Contender]:
    """All of them."""
    return [Contender(sizes.setup, method) for method in sizes.methods]


def case_count(profile_name: ProfileName, *, model: str) -> int:
    """How often `run_accuracy` advances: also for step sizes and longer runs that it need not try; 0 where left out."""
    if profile_name not in SIZES[model]:
        return 0
    sizes = SIZES[model][profile_name]
    return _grid_size(sizes) + len(contenders(sizes)) * sizes.seed_count * (1 + len(sizes.longer))


def _grid_size(sizes: Sizes) -> int:
    """Runs that tuning would take if it tried everything."""
    unknown = [each for each in contenders(sizes) if each.known_place is None]
    return len(unknown) * _OPTIMISER.place_count if sizes.is_tuned else 0


def _tune(searches: Sequence[Search], sizes: Sizes, run: RunCases) -> int:
    """Let every contender have the losses of all step sizes that its search asks for; how many runs that took."""
    while asked := [(search, place) for search in searches for place in search.wanted()]:
        cases = [search.contender.case(place, TUNING_SEED, sizes.evaluation_count) for search, place in asked]
        for (search, place), ended in zip(asked, run(cases), strict=True):
            search.losses[place] = math.inf if ended["test_loss"] is None else ended["test_loss"]
    return sum(len(search.losses) for search in searches)


def run_case(case: Case) -> dict[str, Any]:
    """Train once: accuracies by step, and the loss at the end, which is null where the run diverged."""
    if case.method.road == "local":
        return {**run_locally(case), "computed_on": machine_name()}
    run, data = case.run, _data(case.run.data)
    averager = low_rank_averager(run, data)[0] if case.method == POWERSGD else None
    result = simulate(run, data, averager=averager)
    evaluated = result.evaluations[1:]
    return {
        "steps": [evaluation.step_count for evaluation in evaluated],
        "test_accuracy": [evaluation.test_accuracy for evaluation in evaluated],
        "test_loss": evaluated[-1].test_loss if result.diverged_at_step is None else None,
        "computed_on": machine_name(),
    }


def _record(search: Search, step_size: float, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    steps = max((run["steps"] for run in runs), key=len)
    last = _OPTIMISER.place_count - 1
    return {
        "method": search.contender.method.name,
        "step_size": step_size,
        "is_at_edge": bool(search.losses) and search.place() in (0, last),
        "tried": [
            {"step_size": _OPTIMISER.smallest * 2**place, "test_loss": loss if math.isfinite(loss) else None}
            for place, loss in sorted(search.losses.items())
        ],
        "steps": steps,
        "test_accuracy": [[*run["test_accuracy"], *[None] * (len(steps) - len(run["test_accuracy"]))] for run in runs],
        "test_loss": [run["test_loss"] for run in runs],
        "computed_on": sorted({run["computed_on"] for run in runs}),
    }


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
