"""Which decay of the residual do networks prefer? Local steps of AdamW with a sparse outer update, by real processes.

The form is that of SparseLoCo: AdamW inside, chunk-wise Top-k of what H steps changed, two bits a value, and
`OuterStep` itself. Each β has the step size that was best on a seed of its own; its runs are paired by seed with those
of β = 1. Used by `decays.py`. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sparsync.experiments.studies.links.cells import Method
from sparsync.experiments.studies.links.contenders import Case
from sparsync.experiments.studies.links.local_training import run_locally
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.contestants import OPTIMISERS, TUNING_SEED, Setup
from sparsync.experiments.studies.training.step_search import best_place, wanted
from sparsync.experiments.training.runs import Run
from sparsync.verify.tools import intervals
from sparsync.verify.tools.pool import Pool

LOCAL = Method("local", "chunked_top_k", 0.02, values="int2", inner_steps=8)
WORKER_COUNT = 4
_OPTIMISER = OPTIMISERS["adamw"]
RunCases = Callable[[Sequence[Case]], list[dict[str, Any]]]


@dataclass(frozen=True)
class Sizes:
    """How large this part is.

    Args:
        setups: networks.
        decays: β, of which the last is 1.
        seed_count: runs of each β with its best step size.
        is_tuned: whether step sizes are searched; otherwise the search's first is taken.
    """

    setups: tuple[Setup, ...]
    decays: tuple[float, ...]
    seed_count: int
    is_tuned: bool


_RECORD = Sizes(
    setups=(
        Setup("gpt", "text", batch_size=2, steps=400, test_limit=256),
        Setup("fnn3", "embedded", batch_size=32, steps=800, test_limit=None),
    ),
    decays=(0.0, 0.5, 0.9, 0.95, 1.0),
    seed_count=5,
    is_tuned=True,
)
SIZES: Mapping[ProfileName, Sizes] = {
    "smoke": Sizes(
        setups=(Setup("fnn3", "embedded", batch_size=8, steps=16, test_limit=64),),
        decays=(0.0, 1.0),
        seed_count=1,
        is_tuned=False,
    ),
    "record": _RECORD,
    "full": Sizes(_RECORD.setups, _RECORD.decays, seed_count=10, is_tuned=True),
}
"""The quick profile has no network: a run takes a minute of one core."""


@dataclass
class Search:
    """For the best step size of a decay on a network.

    Args:
        setup: the network.
        decay: β.
        is_tuned: whether it is searched.
        losses: the test loss of every step size that was tried, by its place; infinite where a run diverged.
    """

    setup: Setup
    decay: float
    is_tuned: bool
    losses: dict[int, float] = field(default_factory=dict)

    def wanted(self) -> list[int]:
        """Places that are to be tried next; none once the best is known."""
        if not self.is_tuned:
            return []
        return wanted(self.losses, start=_OPTIMISER.start, place_count=_OPTIMISER.place_count)

    def place(self) -> int:
        """The best one."""
        return best_place(self.losses) if self.losses else _OPTIMISER.start


def run_networks(profile_name: ProfileName, pool: Pool) -> list[dict[str, Any]]:
    """Tune every decay on every network, and run it on every seed.

    Args:
        profile_name: one that `SIZES` leaves out has no networks.
        pool: runs the cases.

    Returns:
        For each network its `model`, `data`, `steps`, `inner_steps`, `density` and `values`, and `by_decay`: β as
        `decay`, the `step_size`, whether it `is_at_edge` of the grid, what was `tried`, of each seed the `test_loss`
        and `test_accuracy` at the end, null where the run diverged, and against β = 1 the `difference` of the losses
        with `low` and `high`, and the `verdict`.

    Raises:
        CasesFailedError: some runs failed. One that diverged has not failed.
    """
    if profile_name not in SIZES:
        return []
    sizes = SIZES[profile_name]
    searches = [Search(setup, decay, sizes.is_tuned) for setup, decay in product(sizes.setups, sizes.decays)]

    def run(cases: Sequence[Case]) -> list[dict[str, Any]]:
        return pool.run(run_locally, cases)

    tried = _tune(searches, run)
    for _ in range(_grid_size(sizes) - tried):
        pool.advance()  # what the search left out
    found = run([case(each, each.place(), seed) for each, seed in product(searches, range(sizes.seed_count))])
    rows = iter([found[first : first + sizes.seed_count] for first in range(0, len(found), sizes.seed_count)])
    by_setup = [searches[first : first + len(sizes.decays)] for first in range(0, len(searches), len(sizes.decays))]
    return [_network_record(group, [next(rows) for _ in group]) for group in by_setup]


def case_count(profile_name: ProfileName) -> int:
    """How often `run_networks` advances: also for step sizes that it need not try."""
    if profile_name not in SIZES:
        return 0
    sizes = SIZES[profile_name]
    return _grid_size(sizes) + len(sizes.setups) * len(sizes.decays) * sizes.seed_count


def case(search: Search, place: int, seed: int) -> Case:
    """A run with the step size of a place of the grid; as many steps more as it takes to end with an exchange."""
    setup, every = search.setup, LOCAL.inner_steps
    rounds = -(-setup.steps // every)
    run = Run(
        selector="keep_all",
        collective="dense",
        model=setup.model,
        data=setup.data,
        batch_size=setup.batch_size,
        optimiser=_OPTIMISER.name,
        weight_decay=_OPTIMISER.weight_decay,
        step_size=_OPTIMISER.smallest * 2**place,
        step_size_end=0.0,
        step_location="outside",
        steps=rounds * every,
        evaluate_every=rounds * every,
        test_limit=setup.test_limit,
        seed=seed,
        workers=WORKER_COUNT,
    )
    method = Method(
        LOCAL.road,
        LOCAL.selector,
        LOCAL.density,
        values=LOCAL.values,
        inner_steps=every,
        decay=search.decay,
    )
    return Case(method, run)


def against(losses: Sequence[float | None], undecayed: Sequence[float | None]) -> dict[str, Any]:
    """The difference of test losses, seed by seed, with its interval and verdict; a run that diverged is one."""
    here, there = ([loss for loss in each if loss is not None] for each in (losses, undecayed))
    if len(here) < len(losses) or len(there) < len(undecayed):
        return {"difference": None, "low": None, "high": None, "verdict": "diverged"}
    difference = intervals.paired_difference(here, there)
    known = {"difference": difference.value} | {
        name: value if math.isfinite(value) else None
        for name, value in (("low", difference.low), ("high", difference.high))
    }
    return {**known, "verdict": intervals.compared(difference, more="worse", less="better")}


def _tune(searches: Sequence[Search], run: RunCases) -> int:
    """Let every search have the losses of all step sizes that it asks for; how many runs that took."""
    while asked := [(search, place) for search in searches for place in search.wanted()]:
        ended = run([case(search, place, TUNING_SEED) for search, place in asked])
        for (search, place), found in zip(asked, ended, strict=True):
            search.losses[place] = math.inf if found["test_loss"] is None else found["test_loss"]
    return sum(len(search.losses) for search in searches)


def _grid_size(sizes: Sizes) -> int:
    """Runs that tuning would take if it tried everything."""
    return len(sizes.setups) * len(sizes.decays) * _OPTIMISER.place_count if sizes.is_tuned else 0


def _network_record(searches: Sequence[Search], found: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    setup = searches[0].setup
    undecayed = [run["test_loss"] for run in found[-1]]
    return {
        "model": setup.model,
        "data": setup.data,
        "batch_size": setup.batch_size,
        "steps": setup.steps,
        "inner_steps": LOCAL.inner_steps,
        "density": LOCAL.density,
        "values": LOCAL.values,
        "by_decay": [_decay_record(search, runs, undecayed) for search, runs in zip(searches, found, strict=True)],
    }


def _decay_record(search: Search, runs: Sequence[dict[str, Any]], undecayed: Sequence[float | None]) -> dict[str, Any]:
    losses = [run["test_loss"] for run in runs]
    record: dict[str, Any] = {
        "decay": search.decay,
        "step_size": _OPTIMISER.smallest * 2 ** search.place(),
        "is_at_edge": bool(search.losses) and search.place() in (0, _OPTIMISER.place_count - 1),
        "tried": [
            {"step_size": _OPTIMISER.smallest * 2**place, "test_loss": loss if math.isfinite(loss) else None}
            for place, loss in sorted(search.losses.items())
        ],
        "test_loss": losses,
        "test_accuracy": [run["test_accuracy"][-1] if run["test_loss"] is not None else None for run in runs],
    }
    if search.decay == 1:
        return {**record, "difference": 0.0, "low": 0.0, "high": 0.0, "verdict": "itself"}
    return record | against(losses, undecayed)
