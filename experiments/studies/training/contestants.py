"""Who competes in the study of variants, and one run of each: a method on a network, with an optimiser.

All are alike in everything but their method; a variant that has a momentum of its own takes it in the place of the
optimiser's, one that makes updates the optimiser's place, and other hyperparameters have their defaults. Used by
`variants.py`; what other studies of tuned methods share with it is here too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from statistics import fmean
from typing import Any, Literal

import torch

from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.descent import OptimiserName
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.low_rank import LowRankAverager, Shape, largest_rank
from sparsync.experiments.training.models import FlatModel
from sparsync.experiments.training.runs import Run
from sparsync.experiments.training.seeding import random_stream
from sparsync.verify.tools.provenance import machine_name

OptimiserKind = Literal["momentum", "adamw"]

DENSITIES = (0.01, 0.001)
COMPARABLE_DENSITY = 0.01
"""PowerSGD has the largest rank that sends no more than Top-k at this density; rank 1 may send more."""
DENSE, LOW_RANK = "dense", "powersgd"
METHODS = (DENSE, *FEEDBACKS, LOW_RANK)
MOMENTUM = 0.9
OWN_MOMENTUM = ("dgc", "ef21_sgdm", "rmsprop")
"""Variants whose momentum, if any, stands before the selection."""
OWN_UPDATE = ("rmsprop",)
"""Variants that take the place of AdamW as a whole: plain SGD follows, and no other optimiser."""
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
        methods: of `METHODS`, each with the optimisers that it goes with.
        densities: of what is selected.
        worker_count: n.
        seed_count: runs of each contestant with its best step size.
        tuning_seed_count: runs for each step size; 0 takes the one where the search would begin.
        shorter: shares of the steps in which the nearest variants and dense training are run as well.
    """

    setups: tuple[Setup, ...]
    methods: tuple[str, ...]
    densities: tuple[float, ...]
    worker_count: int
    seed_count: int
    tuning_seed_count: int
    shorter: tuple[float, ...]


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        setups=(Setup("resnet20", "embedded", batch_size=2, steps=2, test_limit=32),),
        methods=(DENSE, "ef14", LOW_RANK),
        densities=(0.01,),
        worker_count=2,
        seed_count=1,
        tuning_seed_count=0,
        shorter=(),
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
        shorter=(0.25, 0.5),
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
        shorter=(0.25, 0.5),
    ),
}
"""The record's hours: a run of either network takes about 100 s of one core. 30 contestants a network (dense, PowerSGD
and variants at two densities, with one or two optimisers) have 5.6 runs each for tuning and 5 for measuring; shorter
ones are worth 23 more: 2 · (30 · 10.6 + 23) · 100 s = 68,000 s, which is 9.5 hours on two cores, in proportion to
`steps`. An H200 made 407 runs in 400 s, with 15 processes under nvidia-cuda-mps. Profile quick, whose minutes are too
few for any of it, leaves the study out: the record's is shown."""


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

    @property
    def grid(self) -> Optimiser:
        """Its optimiser."""
        return OPTIMISERS[self.optimiser]

    def step_size(self, place: int) -> float:
        """The step size of a place of the grid."""
        scale = STEP_SIZE_SCALES.get((self.optimiser, self.method), 1.0)
        return float(scale * self.grid.smallest * 2**place)

    def lasting(self, share: float) -> Contestant:
        """The same with a share of the steps."""
        return replace(self, setup=replace(self.setup, steps=round(share * self.setup.steps)))

    def case(self, place: int, seed: int, worker_count: int) -> Case:
        """A run with the step size of a place."""
        run = tuned_run(
            self.setup,
            self.grid,
            selector="top_k" if self.method in FEEDBACKS else None,
            density=self.density,
            momentum=0.0 if self.method in OWN_MOMENTUM else MOMENTUM,
            step_size=self.step_size(place),
            seed=seed,
            worker_count=worker_count,
        )
        if self.method in FEEDBACKS:
            run = replace(run, feedback=self.method, optimiser="sgd" if self.method in OWN_UPDATE else self.grid.name)
        return Case(run, is_low_rank=self.method == LOW_RANK)


def tuned_run(
    setup: Setup,
    optimiser: Optimiser,
    *,
    selector: str | None,
    density: float | None,
    momentum: float,
    step_size: float,
    seed: int,
    worker_count: int,
) -> Run:
    """A run whose step size falls to zero and stands outside the memory; None selects nothing.

    Without a density it is the one whose bytes PowerSGD may send.
    """
    return Run(
        selector="keep_all" if selector is None else selector,
        collective="dense" if selector is None else "sparse",
        model=setup.model,
        data=setup.data,
        density=COMPARABLE_DENSITY if density is None else density,
        batch_size=setup.batch_size,
        step_size=step_size,
        step_size_end=0.0,
        step_location="outside",
        optimiser=optimiser.name,
        momentum=momentum,
        weight_decay=optimiser.weight_decay,
        steps=setup.steps,
        evaluate_every=setup.steps,
        test_limit=setup.test_limit,
        seed=seed,
        workers=worker_count,
    )


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        run: its settings.
        is_low_rank: whether PowerSGD averages what it sends.
    """

    run: Run
    is_low_rank: bool


def contestants(sizes: Sizes) -> list[Contestant]:
    """All methods on all networks, with every optimiser that they go with; those that select, at every density."""
    return [
        Contestant(setup, optimiser, method, density)
        for setup, optimiser, method in product(sizes.setups, OPTIMISERS, sizes.methods)
        if optimiser == "adamw" or method not in OWN_UPDATE
        for density in (sizes.densities if method in FEEDBACKS else (None,))
    ]


def run_case(case: Case, device: str = "cpu") -> dict[str, Any]:
    """Train once: loss and accuracy at the end, null where it diverged; bytes of an update; PowerSGD's rank; where."""
    result, rank = trained(case, device)
    end = None if result.diverged_at_step is not None else result.evaluations[-1]
    return {
        "test_loss": None if end is None else end.test_loss,
        "test_accuracy": None if end is None else end.test_accuracy,
        "sent_bytes": _bytes_of_an_update(result),
        "rank": rank,
        "dimension": result.dimension,
        "test_count": result.test_count,
        "computed_on": machine_name(device),
    }


def trained(case: Case, device: str) -> tuple[TrainingResult, int | None]:
    """A run's result, and PowerSGD's rank; None where there is none."""
    run, data = case.run, _data(case.run.data)
    averager, rank = low_rank_averager(run, data) if case.is_low_rank else (None, None)
    return simulate(run, data, device=device, averager=averager), rank


def study_device(profile_name: ProfileName) -> str:
    """All but smoke use a GPU where there is one."""
    return "cuda" if profile_name != "smoke" and torch.cuda.is_available() else "cpu"


def low_rank_averager(run: Run, data: Dataset) -> tuple[LowRankAverager, int]:
    """PowerSGD that sends no more than Top-k of the run's density, if rank 1 does not, and its rank."""
    shapes = _shapes(run.model, data)
    rank = largest_rank(shapes, _NUMBERS_PER_ENTRY * run.target_count(sum(map(math.prod, shapes)), epoch=0))
    return LowRankAverager(shapes, rank=rank, generator=random_stream(run.seed, "power")), rank


def _bytes_of_an_update(result: TrainingResult) -> float | None:
    return fmean(facts.sent_bytes for facts in result.steps) if result.steps else None


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)


def _shapes(model: str, data: Dataset) -> tuple[Shape, ...]:
    """Of the parameters of a network."""
    flat = FlatModel(
        model, feature_count=data.feature_count, class_count=data.class_count, seed=0, image_shape=data.image_shape
    )
    return flat.block_shapes
