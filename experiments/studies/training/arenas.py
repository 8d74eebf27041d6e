"""Where do selectors compete, and who does? The arenas of the study `convergence`, and one run of a contestant.

An arena is a network with its data, so many workers, and entries: methods with an optimiser at densities. All runs of
an arena are alike in everything but method, optimiser and step size, and have the memory of EF14. Momentum acts after
aggregation, but for `BEFORE`: exact Top-k under the memory of DGC, whose momentum stands before the selection. Used by
`convergence.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.contestants import (
    DENSE,
    LOW_RANK,
    MOMENTUM,
    OPTIMISERS,
    TUNING_SEED,
    Case,
    Optimiser,
    Setup,
    tuned_run,
)
from sparsync.experiments.studies.training.step_search import STRIDE

UpdateRule = Literal["plain", "momentum", "adamw"]

GRIDS: Mapping[UpdateRule, Optimiser] = {
    "plain": Optimiser("sgd", weight_decay=0.0, smallest=0.01, place_count=12, start=6),
    "momentum": OPTIMISERS["momentum"],
    "adamw": OPTIMISERS["adamw"],
}
"""Plain gradient descent has step sizes from 0.01 to 20."""
MOMENTA: Mapping[UpdateRule, float] = {"plain": 0.0, "momentum": MOMENTUM, "adamw": MOMENTUM}
POINT_COUNT = 10
"""How often a measured run is evaluated, at equal distances."""
DENSITIES = (0.001, 0.005, 0.01, 0.05)
MAIN = ("top_k", "random_k", "gaussian_k", "gaussian_k_released")
"""Selectors that claims are made of."""
OTHERS = ("dgc_released", "dgc_grace", "sidco_released", "sidco_adaptive", "oktopk_released", "chunked_top_k")
BEFORE = "dgc"
"""Exact Top-k with that variant of error feedback; no selector has its name."""
_THRESHOLDS = ("top_k", "gaussian_k", "gaussian_k_released")


@dataclass(frozen=True)
class Entry:
    """Methods that compete.

    Args:
        rules: each of them with every one of these update rules.
        methods: `DENSE`, `LOW_RANK`, `BEFORE` or names of selectors.
        densities: of selectors; other methods compete once.
    """

    rules: tuple[UpdateRule, ...]
    methods: tuple[str, ...]
    densities: tuple[float, ...] = ()


@dataclass(frozen=True)
class Arena:
    """A network on which methods compete.

    Args:
        setup: the network, its data and how long it trains.
        entries: who competes.
        seed_count: runs of each contestant with its best step size.
        worker_count: n.
        tuning_seed_count: runs for each step size; 0 takes the one where the search would begin.
        stride: of the search; the least, where a run takes long.
    """

    setup: Setup
    entries: tuple[Entry, ...]
    seed_count: int
    worker_count: int = 4
    tuning_seed_count: int = 2
    stride: int = 1


@dataclass(frozen=True)
class Entrant:
    """A contestant of an arena.

    Args:
        setup: of the arena.
        rule: key of `GRIDS`.
        method: `DENSE`, `LOW_RANK`, `BEFORE`, or the name of a selector.
        density: of what is selected; None where nothing is.
    """

    setup: Setup
    rule: UpdateRule
    method: str
    density: float | None

    @property
    def grid(self) -> Optimiser:
        """Its step sizes."""
        return GRIDS[self.rule]

    def step_size(self, place: int) -> float:
        """That of a place of the grid."""
        return float(self.grid.smallest * 2**place)

    def case(self, place: int, seed: int, worker_count: int) -> Case:
        """A run with it; those of tuning are evaluated at their end alone."""
        is_before = self.method == BEFORE
        run = tuned_run(
            self.setup,
            self.grid,
            selector=None if self.density is None else "top_k" if is_before else self.method,
            density=self.density,
            momentum=0.0 if is_before else MOMENTA[self.rule],
            step_size=self.step_size(place),
            seed=seed,
            worker_count=worker_count,
        )
        if is_before:
            run = replace(run, feedback=BEFORE)
        if seed < TUNING_SEED:
            run = replace(run, evaluate_every=-(-run.steps // POINT_COUNT))
        return Case(run, is_low_rank=self.method == LOW_RANK)

    def names(self) -> dict[str, Any]:
        """What tells it from others of its arena."""
        return {"optimiser": self.rule, "method": self.method, "density": self.density}


def entrants(arena: Arena) -> list[Entrant]:
    """All contestants of an arena."""
    return [
        Entrant(arena.setup, rule, method, density)
        for entry in arena.entries
        for rule in entry.rules
        for method in entry.methods
        for density in (entry.densities or (None,))
    ]


_SMOKE_ENTRIES = (Entry(("momentum",), (DENSE, LOW_RANK)), Entry(("momentum",), ("top_k", "gaussian_k"), (0.01,)))
_IMAGE_RULES: tuple[UpdateRule, ...] = ("plain", "momentum")
_ALL_ENTRIES = (
    Entry(_IMAGE_RULES, (DENSE, LOW_RANK)),
    Entry(_IMAGE_RULES, MAIN, DENSITIES),
    Entry(_IMAGE_RULES, OTHERS, (0.001,)),
    Entry(("momentum",), OTHERS, (0.01,)),
    Entry(("momentum",), (BEFORE,), DENSITIES),
)
"""58 contestants."""
_MOST_ENTRIES = (
    Entry(_IMAGE_RULES, (DENSE,)),
    Entry(("momentum",), (LOW_RANK,)),
    Entry(("momentum",), MAIN, (0.001, 0.01)),
    Entry(("momentum",), (BEFORE,), (0.001, 0.01)),
    Entry(("plain",), ("top_k", "gaussian_k"), (0.001,)),
)
"""15 contestants."""
_LONG_IMAGE_ENTRIES = (
    Entry(("momentum",), (DENSE, LOW_RANK)),
    Entry(("momentum",), _THRESHOLDS, (0.001, 0.01)),
    Entry(("momentum",), ("random_k",), (0.01,)),
    Entry(("momentum",), (BEFORE,), (0.001, 0.01)),
)
"""11 contestants."""
_TEXT_ENTRIES = (
    Entry(("momentum", "adamw"), (DENSE,)),
    Entry(("adamw",), (LOW_RANK,)),
    Entry(("adamw",), MAIN, (0.001,)),
    Entry(("momentum",), ("top_k", BEFORE), (0.001,)),
)
"""9 contestants, what two cores train in an hour. Text has AdamW: dense training of the LSTM had a test loss of 2.78
after 200 updates with it, and of 3.17 with plain gradient descent, each with the better of two step sizes; GPT in the
record of `variants` has 1.84 with it and 2.30 with momentum."""
_ALL_TEXT_ENTRIES = (
    Entry(("momentum", "adamw"), (DENSE,)),
    Entry(("adamw",), (LOW_RANK,)),
    Entry(("adamw",), MAIN, DENSITIES),
    Entry(("adamw",), OTHERS, (0.001,)),
    Entry(("momentum",), ("top_k", BEFORE), (0.001, 0.01)),
)
_QUICK_ENTRIES = (
    Entry(("momentum",), (DENSE,)),
    Entry(("momentum",), (*_THRESHOLDS, BEFORE), (0.001,)),
)
"""Those that claims are about."""

_FNN3 = Setup("fnn3", "embedded", batch_size=32, steps=600, test_limit=None)
_RESNET = Setup("resnet20", "embedded", batch_size=8, steps=600, test_limit=None)
_GPT = Setup("gpt", "text", batch_size=2, steps=600, test_limit=256)

ARENAS: Mapping[str, Mapping[ProfileName, Arena]] = {
    "fnn3": {
        "smoke": Arena(replace(_FNN3, batch_size=2, steps=2), _SMOKE_ENTRIES, seed_count=1, tuning_seed_count=0),
        "quick": Arena(_FNN3, _QUICK_ENTRIES, seed_count=5),
        "record": Arena(_FNN3, _ALL_ENTRIES, seed_count=8, tuning_seed_count=3, stride=STRIDE),
        "full": Arena(
            replace(_FNN3, data="fashion_mnist", steps=6000), _ALL_ENTRIES, seed_count=8, tuning_seed_count=3
        ),
    },
    "fnn3_16": {
        "record": Arena(replace(_FNN3, batch_size=8), _MOST_ENTRIES, seed_count=5, worker_count=16),
        "full": Arena(replace(_FNN3, data="fashion_mnist", steps=6000), _ALL_ENTRIES, seed_count=8, worker_count=16),
    },
    "lenet5": {
        "record": Arena(replace(_FNN3, model="lenet5"), _MOST_ENTRIES, seed_count=5),
        "full": Arena(replace(_FNN3, model="lenet5", data="fashion_mnist", steps=6000), _ALL_ENTRIES, seed_count=8),
    },
    "resnet20": {
        "record": Arena(_RESNET, _LONG_IMAGE_ENTRIES, seed_count=5, tuning_seed_count=1),
        "full": Arena(Setup("resnet20", "fashion_mnist", 32, steps=8000, test_limit=None), _ALL_ENTRIES, seed_count=8),
    },
    "gpt": {
        "smoke": Arena(
            replace(_GPT, steps=2, test_limit=8), _SMOKE_ENTRIES, seed_count=1, worker_count=2, tuning_seed_count=0
        ),
        "record": Arena(_GPT, _TEXT_ENTRIES, seed_count=5, tuning_seed_count=1),
        "full": Arena(Setup("gpt", "text", 8, steps=4000, test_limit=None), _ALL_TEXT_ENTRIES, seed_count=8),
    },
    "lstm": {
        "record": Arena(replace(_GPT, model="lstm"), _TEXT_ENTRIES, seed_count=5, tuning_seed_count=1),
        "full": Arena(Setup("lstm", "text", 8, steps=4000, test_limit=None), _ALL_TEXT_ENTRIES, seed_count=8),
    },
}
