"""How accurate does a network become by each way of sending, and after how many steps? What is trained for that.

Ways of sending that make the same steps are trained once, in simulation; local steps by real processes, as their outer
step needs. A network trains as in the study of variants, with momentum 0.9 and a step size that falls to zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparsync.experiments.studies.links.cells import (
    DATA,
    DENSITY,
    INNER_STEPS,
    LOCAL_DENSITY,
    LOW_DENSITY,
    Method,
)
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.contestants import MOMENTUM, OPTIMISERS, OWN_MOMENTUM, Setup
from sparsync.experiments.training.runs import Run

WORKER_COUNT = 4
LOST_SHARE = 0.005
"""Of accuracy: half a point below what dense training with the same seed ends with is the target."""
_LONGER = (2, 4)
DENSE = Method("loop", collective="dense")
POWERSGD = Method("hook", exchange="powersgd", density=DENSITY)
LOCAL = Method("local", "chunked_top_k", LOCAL_DENSITY, values="int8", inner_steps=INNER_STEPS)
TRAINED = (
    DENSE,
    Method("loop", collective="dense_bfloat16"),
    POWERSGD,
    Method("loop", "top_k", DENSITY),
    Method("loop", "gaussian_k", DENSITY),
    Method("loop", "top_k", DENSITY, feedback="dgc"),
    Method("loop", "top_k", DENSITY, feedback="dgc", values="int8"),
    Method("loop", "top_k", LOW_DENSITY, feedback="dgc"),
    LOCAL,
)
"""Dense training first, with which all are compared."""

PLACES: dict[tuple[str, str], int] = {
    ("resnet20", "dense"): 5,
    ("resnet20", "powersgd"): 4,
    ("resnet20", "ef14"): 5,
    ("resnet20", "dgc"): 7,
    ("resnet20", "dgc 0.001"): 6,
    ("gpt", "dense"): 6,
    ("gpt", "powersgd"): 6,
    ("gpt", "ef14"): 6,
    ("gpt", "dgc"): 7,
    ("gpt", "dgc 0.001"): 7,
}
"""Places of step sizes in the grid of `OPTIMISERS` that the study of variants has found best; others are searched."""
_EXACT = ("sparse", "balanced", "hierarchical", "auto", "dense")
"""Collectives that have one mean, but for roundings."""


def steps_of(method: Method) -> Method | None:
    """The one of `TRAINED` whose steps a way of sending makes; None where none of them does.

    Hooks of this library select from each tensor, and the training loop from all of the gradient: their steps differ.
    """
    if method.road == "hook":
        by_exchange = {"dense": DENSE, "dense_bfloat16": TRAINED[1], "powersgd": method}
        found = by_exchange.get(method.exchange)
    elif method.road == "loop" and method.collective in _EXACT and method.selector != "keep_all":
        found = replace(method, collective="sparse")
    else:
        found = method
    return found if found in TRAINED else None


@dataclass(frozen=True)
class Sizes:
    """How large the study of a network is.

    Args:
        setup: the network.
        methods: of `TRAINED`.
        seed_count: runs of each with its best step size.
        is_tuned: whether step sizes are searched where `PLACES` has none; otherwise the search's first is taken.
        evaluation_count: of each run, at equal distances.
        longer: factors by which methods that do not get there on all seeds have more steps, one after another.
    """

    setup: Setup
    methods: tuple[Method, ...]
    seed_count: int
    is_tuned: bool
    evaluation_count: int
    longer: tuple[int, ...] = ()


def _whole(setup: Setup, *, longer: tuple[int, ...] = ()) -> dict[ProfileName, Sizes]:
    sizes = Sizes(setup, TRAINED, seed_count=5, is_tuned=True, evaluation_count=20, longer=longer)
    return {"record": sizes, "full": replace(sizes, longer=_LONGER)}


SIZES: dict[str, dict[ProfileName, Sizes]] = {
    "fnn3": {
        "smoke": Sizes(
            Setup("fnn3", "embedded", batch_size=8, steps=16, test_limit=64),
            (DENSE, TRAINED[3], POWERSGD, LOCAL),
            seed_count=1,
            is_tuned=False,
            evaluation_count=2,
            longer=(2,),
        ),
        **_whole(Setup("fnn3", DATA["fnn3"], batch_size=32, steps=800, test_limit=None), longer=_LONGER),
    },
    "resnet20": _whole(Setup("resnet20", DATA["resnet20"], batch_size=8, steps=800, test_limit=None)),
    "gpt": _whole(Setup("gpt", DATA["gpt"], batch_size=2, steps=800, test_limit=256)),
}
"""By network and profile. A run of ResNet-20 or GPT takes two minutes of one core, and each has fifty of them: there
the record has no time for longer ones."""


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        method: how its gradients are sent.
        run: all else; of local steps, those between two exchanges.
    """

    method: Method
    run: Run


@dataclass(frozen=True)
class Contender:
    """A way of sending for a network.

    Args:
        setup: the network.
        method: of `TRAINED`.
    """

    setup: Setup
    method: Method

    @property
    def known_place(self) -> int | None:
        """Of the best step size, where another study has found it."""
        method = self.method
        name = "powersgd" if method == POWERSGD else method.feedback
        if method.road == "local":
            return None
        if method.selector == "keep_all" and method != POWERSGD:
            name = "dense"
        if method.density == LOW_DENSITY:
            name += f" {LOW_DENSITY:g}"
        return PLACES.get((self.setup.model, name))

    def lasting(self, factor: int) -> Contender:
        """The same with so many times the steps."""
        return replace(self, setup=replace(self.setup, steps=factor * self.setup.steps))

    def case(self, place: int, seed: int, evaluation_count: int) -> Case:
        """A run with the step size of a place of the grid.

        Local steps are as many more as it takes to end with an exchange.
        """
        method, setup = self.method, self.setup
        every, optimiser = method.inner_steps, OPTIMISERS["momentum"]
        rounds = -(-setup.steps // every)
        run = Run(
            selector="keep_all" if method.road != "loop" else method.selector,
            collective="dense" if method.road != "loop" else method.collective,
            values=method.values if method.road == "loop" else "exact",
            feedback=method.feedback,
            model=setup.model,
            data=setup.data,
            density=method.density,
            batch_size=setup.batch_size,
            step_size=optimiser.smallest * 2**place,
            step_size_end=0.0,
            step_location="outside",
            momentum=0.0 if method.feedback in OWN_MOMENTUM else MOMENTUM,
            steps=rounds * every,
            evaluate_every=max(1, rounds // evaluation_count) * every,
            test_limit=setup.test_limit,
            seed=seed,
            workers=WORKER_COUNT,
        )
        return Case(method, run)
