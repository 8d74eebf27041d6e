"""Which variant of error feedback should be the default? Each on a CNN and a small transformer, against dense training.

Top-k with every variant of `FEEDBACKS` at two densities, dense vectors, and PowerSGD of comparable bytes; with momentum
0.9 and with AdamW. Every contestant's step size is tuned on seeds of its own by the mean test loss at the end; its runs
with the best one are paired by seed with those of all others. A variant that has a momentum of its own takes it in the
place of the optimiser's; other hyperparameters have their defaults. Cases are single runs, so that hours of them can be
interrupted. Read by `paper/studies/variants.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from statistics import fmean
from typing import Any, Literal

import torch

from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.step_search import best_place, wanted
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.descent import OptimiserName
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.low_rank import LowRankAverager, Shape, largest_rank
from sparsync.experiments.training.models import FlatModel
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.seeding import random_stream
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

OptimiserKind = Literal["momentum", "adamw"]

DENSITIES = (0.01, 0.001)
COMPARABLE_DENSITY = 0.01
"""PowerSGD has the largest rank that sends no more than Top-k at this density; rank 1 may send more."""
DENSE, LOW_RANK = "dense", "powersgd"
METHODS = (DENSE, *FEEDBACKS, LOW_RANK)
MOMENTUM = 0.9
OWN_MOMENTUM = ("dgc", "ef21_sgdm")
"""Variants whose momentum stands before the selection."""
STEP_SIZE_SCALES = {("momentum", "ef21_sgdm"): 10.0}
"""1/α: its momentum is a mean of gradients, 1 − β times the sum that a heavy ball is."""
TUNING_SEED = 1000
"""Seeds from here on are for tuning alone."""
_NUMBERS_PER_ENTRY = 2
"""A sparse entry is a float32 and an int32."""


@dataclass(frozen=True)
class Optimiser:
    """An update rule with the step sizes that are tried.

    Args:
        name: see `Run.optimiser`.
        weight_decay: see there.
        smallest: of the step sizes, each of which is twice the one before.
        place_count: how many there are.
        start: the place, from 0, where the search begins.
    """

    name: OptimiserName
    weight_decay: float
    smallest: float
    place_count: int
    start: int


OPTIMISERS: dict[OptimiserKind, Optimiser] = {
    "momentum": Optimiser("sgd", weight_decay=0.0, smallest=0.001, place_count=12, start=5),
    "adamw": Optimiser("adamw", weight_decay=0.01, smallest=0.0001, place_count=13, start=5),
}
"""Heavy ball from 0.001 to 2, AdamW from 0.0001 to 0.4 with the decay that is torch's default."""


@dataclass(frozen=True)
class Setup:
    """A network with its data, and how long it trains.

    Args:
        model: see `Run.model`.
        data: see `Run.data`.
        batch_size: examples per worker and step.
        steps: of each run, over which the step size falls to zero.
        test_limit: test examples that the loss at the end is measured on.
    """

    model: str
    data: str
    batch_size: int
    steps: int
    test_limit: int | None


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        setups: networks.
        methods: of `METHODS`, all with both optimisers.
        densities: of what is selected.
        worker_count: n.
        seed_count: runs of each contestant with its best step size.
        tuning_seed_count: runs for each step size; 0 takes the one where the search would begin.
    """

    setups: tuple[Setup, ...]
    methods: tuple[str, ...]
    densities: tuple[float, ...]
    worker_count: int
    seed_count: int
    tuning_seed_count: int


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        setups=(Setup("resnet20", "embedded", batch_size=2, steps=2, test_limit=32),),
        methods=(DENSE, "ef14", LOW_RANK),
        densities=(0.01,),
        worker_count=2,
        seed_count=1,
        tuning_seed_count=0,
    ),
    "record": Sizes(
        setups=(
            Setup("gpt", "text", batch_size=2, steps=800, test_limit=256),
            Setup("resnet20", "embedded", batch_size=8, steps=800, test_limit=None),
        ),
        methods=METHODS,
        densities=DENSITIES,
        worker_count=4,
        seed_count=5,
        tuning_seed_count=1,
    ),
    "full": Sizes(
        setups=(
            Setup("gpt", "text", batch_size=8, steps=4000, test_limit=None),
            Setup("resnet20", "fashion_mnist", batch_size=32, steps=8000, test_limit=None),
        ),
        methods=METHODS,
        densities=DENSITIES,
        worker_count=4,
        seed_count=8,
        tuning_seed_count=2,
    ),
}
"""The record's hours: a step of the four workers takes 0.17 s (gpt) and 0.12 s (resnet20) of one core, a measurement
2 s, and a run has two, so that runs take 140 and 100 s. 28 contestants a network (dense, PowerSGD and six variants at
two densities, with two optimisers) have about 6.5 runs each for tuning (5 where the start is best, more for every
stride away from it) and 5 for measuring: 28 · 11.5 · (140 + 100) s = 77,300 s, which is 10.7 hours on two cores; it is
in proportion to `steps`. An H200 made 407 runs in 400 s, with 15 processes under nvidia-cuda-mps. Profile
quick, whose minutes are too few for any of it, leaves the study out: the record's is shown."""


@dataclass(frozen=True)
class Contestant:
    """A method on a network.

    Args:
        setup: the network.
        optimiser: key of `OPTIMISERS`.
        method: of `METHODS`.
        density: of what is selected; None for methods that select nothing.
    """

    setup: Setup
    optimiser: OptimiserKind
    method: str
    density: float | None

    def step_size(self, place: int) -> float:
        """The step size of a place of the grid."""
        scale = STEP_SIZE_SCALES.get((self.optimiser, self.method), 1.0)
        return float(scale * OPTIMISERS[self.optimiser].smallest * 2**place)

    def case(self, place: int, seed: int, worker_count: int) -> Case:
        """A run with the step size of a place."""
        optimiser, is_selecting = OPTIMISERS[self.optimiser], self.method in FEEDBACKS
        run = Run(
            selector="top_k" if is_selecting else "keep_all",
            collective="sparse" if is_selecting else "dense",
            feedback=self.method if is_selecting else "ef14",
            model=self.setup.model,
            data=self.setup.data,
            density=COMPARABLE_DENSITY if self.density is None else self.density,
            batch_size=self.setup.batch_size,
            step_size=self.step_size(place),
            step_size_end=0.0,
            step_location="outside",
            optimiser=optimiser.name,
            momentum=0.0 if self.method in OWN_MOMENTUM else MOMENTUM,
            weight_decay=optimiser.weight_decay,
            steps=self.setup.steps,
            evaluate_every=self.setup.steps,
            test_limit=self.setup.test_limit,
            seed=seed,
            workers=worker_count,
        )
        return Case(run, is_low_rank=self.method == LOW_RANK)


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        run: its settings.
        is_low_rank: whether PowerSGD averages what it sends.
    """

    run: Run
    is_low_rank: bool


def run_variants(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Tune every contestant, then run it on every seed; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        `runs`: of each `model`, `optimiser`, `method` and `density` (null where nothing is selected) the tuned
        `step_size`, whether it `is_at_edge` of the grid, what was `tried`, and of each seed, in the order of `seeds`,
        `test_loss` and `test_accuracy` at the end, null where the run diverged; `sent_bytes` of all workers in an
        update, and PowerSGD's `rank`. `setups`: the networks.

    Raises:
        ValueError: the profile leaves the study out.
        CasesFailedError: some runs failed. One that diverged has not failed.
    """
    if profile_name not in SIZES:
        raise ValueError(f"profile {profile_name!r} leaves this study out; it is in: {', '.join(SIZES)}")
    sizes, everybody = SIZES[profile_name], contestants(SIZES[profile_name])
    function = partial(run_case, device=_device(profile_name))
    tried = [dict[int, float]() for _ in everybody]
    if sizes.tuning_seed_count:
        tried = _tuned(everybody, sizes, partial(pool.run, function))
        for _ in range(case_count(profile_name) - len(everybody) * sizes.seed_count - _run_count(tried, sizes)):
            pool.advance()  # what the search left out
    seeds = range(sizes.seed_count)
    places = [best_place(losses) if losses else _start(each) for each, losses in zip(everybody, tried, strict=True)]
    chosen = list(zip(everybody, places, strict=True))
    found = pool.run(function, [each.case(place, seed, sizes.worker_count) for each, place in chosen for seed in seeds])
    by_contestant = [found[first : first + len(seeds)] for first in range(0, len(found), len(seeds))]
    return {
        "profile": profile_name,
        "worker_count": sizes.worker_count,
        "seeds": list(seeds),
        "tuning_seed_count": sizes.tuning_seed_count,
        "densities": list(sizes.densities),
        "setups": [_setup_record(setup, everybody, by_contestant) for setup in sizes.setups],
        "runs": [
            _record(each, place, losses, runs)
            for (each, place), losses, runs in zip(chosen, tried, by_contestant, strict=True)
        ],
        "provenance": provenance(process_count=1, device=_device(profile_name)),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_variants` advances: once for each step size of the grid, tried or not; 0 where it is left out."""
    if profile_name not in SIZES:
        return 0
    sizes = SIZES[profile_name]
    tuning = sum(OPTIMISERS[each.optimiser].place_count for each in contestants(sizes)) * sizes.tuning_seed_count
    return tuning + len(contestants(sizes)) * sizes.seed_count


def contestants(sizes: Sizes) -> list[Contestant]:
    """All methods on all networks; those that select, at every density."""
    return [
        Contestant(setup, optimiser, method, density)
        for setup, optimiser, method in product(sizes.setups, OPTIMISERS, sizes.methods)
        for density in (sizes.densities if method in FEEDBACKS else (None,))
    ]


def run_case(case: Case, device: str = "cpu") -> dict[str, Any]:
    """Train once: loss and accuracy at the end, null where it diverged; bytes of an update; PowerSGD's rank."""
    run, data = case.run, _data(case.run.data)
    rank = averager = None
    if case.is_low_rank:
        shapes = _shapes(run.model, data)
        count = _NUMBERS_PER_ENTRY * run.target_count(sum(map(math.prod, shapes)), epoch=0)
        rank = largest_rank(shapes, count)
        averager = LowRankAverager(shapes, rank=rank, generator=random_stream(run.seed, "power"))
    result = simulate(run, data, device=device, averager=averager)
    end = None if result.diverged_at_step is not None else result.evaluations[-1]
    return {
        "test_loss": None if end is None else end.test_loss,
        "test_accuracy": None if end is None else end.test_accuracy,
        "sent_bytes": _bytes_of_an_update(result),
        "rank": rank,
        "dimension": result.dimension,
        "test_count": result.test_count,
    }


def _bytes_of_an_update(result: TrainingResult) -> float | None:
    return fmean(facts.sent_bytes for facts in result.steps) if result.steps else None


def _tuned(
    everybody: Sequence[Contestant], sizes: Sizes, run: Callable[[Sequence[Case]], list[dict[str, Any]]]
) -> list[dict[int, float]]:
    """The mean loss of every step size that each contestant's search asks for, by place; round after round."""
    tried = [dict[int, float]() for _ in everybody]
    seeds = range(TUNING_SEED, TUNING_SEED + sizes.tuning_seed_count)
    while True:
        asked = [
            (losses, each, place)
            for losses, each in zip(tried, everybody, strict=True)
            for place in wanted(losses, start=_start(each), place_count=OPTIMISERS[each.optimiser].place_count)
        ]
        if not asked:
            return tried
        found = iter(run([each.case(place, seed, sizes.worker_count) for _, each, place in asked for seed in seeds]))
        for losses, _, place in asked:
            losses[place] = fmean(_loss(next(found)) for _ in seeds)


def _run_count(tried: Sequence[dict[int, float]], sizes: Sizes) -> int:
    return sum(map(len, tried)) * sizes.tuning_seed_count


def _start(contestant: Contestant) -> int:
    return OPTIMISERS[contestant.optimiser].start


def _loss(found: dict[str, Any]) -> float:
    return math.inf if found["test_loss"] is None else float(found["test_loss"])


def _record(
    contestant: Contestant, place: int, losses: dict[int, float], runs: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    last = OPTIMISERS[contestant.optimiser].place_count - 1
    return {
        "model": contestant.setup.model,
        "optimiser": contestant.optimiser,
        "method": contestant.method,
        "density": contestant.density,
        "step_size": contestant.step_size(place),
        "is_at_edge": bool(losses) and place in (0, last),
        "tried": [
            {"step_size": contestant.step_size(at), "test_loss": losses[at] if math.isfinite(losses[at]) else None}
            for at in sorted(losses)
        ],
        **{name: [run[name] for run in runs] for name in ("test_loss", "test_accuracy")},
        "sent_bytes": next((run["sent_bytes"] for run in runs if run["sent_bytes"] is not None), None),
        "rank": runs[0]["rank"],
    }


def _setup_record(
    setup: Setup, everybody: Sequence[Contestant], by_contestant: Sequence[Sequence[dict[str, Any]]]
) -> dict[str, Any]:
    first = next(runs[0] for each, runs in zip(everybody, by_contestant, strict=True) if each.setup == setup)
    settings = {name: getattr(setup, name) for name in ("model", "data", "batch_size", "steps")}
    return {**settings, **{name: first[name] for name in ("dimension", "test_count")}}


def _device(profile_name: ProfileName) -> str:
    """All but smoke use a GPU where there is one."""
    return "cuda" if profile_name != "smoke" and torch.cuda.is_available() else "cpu"


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)


def _shapes(model: str, data: Dataset) -> tuple[Shape, ...]:
    """Of the parameters of a network."""
    flat = FlatModel(
        model, feature_count=data.feature_count, class_count=data.class_count, seed=0, image_shape=data.image_shape
    )
    return flat.block_shapes
