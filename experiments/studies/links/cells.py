"""Which cells has the study of links? A network, a way of sending its gradients, and the rate of every link.

Three roads lead over a link: the training loop, which sends once a gradient is complete; hooks of
DistributedDataParallel, which send buckets while backward goes on; and local steps with an outer one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

from sparsync.experiments.averaging.registry import COLLECTIVES
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.kernels.codec import Values

Road = Literal["loop", "hook", "local"]
Exchange = Literal["error_feedback", "dense", "dense_bfloat16", "powersgd"]

HOST_COUNT = 4
RATES = (10.0, 100.0, 1000.0)
"""Mbit/s."""
BATCH_SIZES = {"fnn3": 32, "resnet20": 8, "gpt": 2}
"""Examples of a rank and step, as in the study of variants: four hosts share few processors here."""
DATA = {"fnn3": "embedded", "resnet20": "embedded", "gpt": "text"}
DENSITY, LOW_DENSITY, LOCAL_DENSITY = 0.01, 0.001, 0.02
INNER_STEPS = 30
BEST_CODES: tuple[Values, ...] = ("exact", "int8")


@dataclass(frozen=True)
class Method:
    """A way of sending gradients.

    Args:
        road: how it is sent.
        selector: what is sent of it; "keep_all" is everything.
        density: k/d; of PowerSGD, it sends no more than Top-k of that density, if rank 1 does not.
        collective: of the loop: key of `COLLECTIVES`.
        exchange: of hooks: this library's, or one of PyTorch's: the plain all-reduce, in bfloat16, or PowerSGD.
        values: key of the codec's value codes.
        feedback: key of `FEEDBACKS`.
        inner_steps: between two exchanges; local steps alone have more than one.
        decay: of what local steps have not sent; see `OuterStep`.
    """

    road: Road
    selector: str = "keep_all"
    density: float = 1.0
    collective: str = "sparse"
    exchange: Exchange = "error_feedback"
    values: Values = "exact"
    feedback: str = "ef14"
    inner_steps: int = 1
    decay: float = 0.95

    @property
    def name(self) -> str:
        """All that distinguishes it, in words."""
        if self.road == "hook" and self.exchange != "error_feedback":
            return f"hook {self.exchange}"
        by_road = {
            "loop": self.collective if self.values == "exact" else f"{self.collective}, {self.values}",
            "hook": self.values,
            "local": f"{self.values}, every {self.inner_steps}",
        }
        density = "" if self.selector == "keep_all" else f" {self.density:g}"
        feedback = "" if self.feedback == "ef14" else f" {self.feedback}"
        return f"{self.road} {self.selector}{density}{feedback}, {by_road[self.road]}"


@dataclass(frozen=True)
class Cell:
    """What is measured in one go.

    Args:
        model: key of `BATCH_SIZES`.
        method: how gradients are sent.
        mbit_per_second: rate of every link, in each direction.
        host_count: P.
        warm_up_steps: which are not timed; PowerSGD begins after two, DDP forms its buckets after one.
        steps: which are.
        bucket_mib: DDP's bound on a bucket; by default these networks are two buckets or one.
        round_index: which time it is that this is measured, from 0.

    Raises:
        ValueError: an unknown network, or too few hosts or steps.
    """

    model: str
    method: Method
    mbit_per_second: float
    host_count: int = HOST_COUNT
    warm_up_steps: int = 4
    steps: int = 20
    bucket_mib: float = 0.25
    round_index: int = 0

    def __post_init__(self) -> None:
        if self.model not in BATCH_SIZES:
            raise ValueError(f"unknown model {self.model!r}; known: {', '.join(BATCH_SIZES)}")
        for name, least in (("host_count", 2), ("warm_up_steps", 4), ("steps", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        models: keys of `BATCH_SIZES`.
        rates: Mbit/s.
        methods: on every network, at every rate.
        steps: timed in each cell.
        rounds: of all of it, one after another, as machines are faster now and slower then.
    """

    models: tuple[str, ...]
    rates: tuple[float, ...]
    methods: tuple[Method, ...]
    steps: int
    rounds: int = 1


DENSE = (
    Method("hook", exchange="dense"),
    Method("hook", exchange="dense_bfloat16"),
    Method("hook", exchange="powersgd", density=DENSITY),
    Method("loop", collective="dense"),
    Method("loop", collective="dense_bfloat16"),
)
FIRST = (
    *DENSE[:2],
    Method("loop", "top_k", DENSITY),
    Method("hook", "top_k", DENSITY),
    Method("hook", "top_k", DENSITY, values="int8"),
    Method("local", "chunked_top_k", LOCAL_DENSITY, values="int8", inner_steps=INNER_STEPS),
)
"""One of each kind, for those with minutes."""


def all_methods() -> tuple[Method, ...]:
    """Dense training; Top-k and Gaussian-k with each collective and value code; two variants of feedback; local steps.

    Where nearly everything of a vector is zero, dense collectives still send all of it.
    """
    codes: tuple[Values, ...] = ("exact", "bf16", "int8", "int2")
    sparse = [
        *(Method("loop", name, DENSITY, collective=each) for name, each in product(_SELECTORS, COLLECTIVES)),
        *(Method("loop", name, DENSITY, values=each) for name, each in product(_SELECTORS, codes[1:])),
        *(Method("hook", name, DENSITY, values=each) for name, each in product(_SELECTORS, get_args(Values))),
        Method("loop", "top_k", LOW_DENSITY),
        *(Method("hook", "top_k", LOW_DENSITY, values=each) for each in BEST_CODES),
        *(
            Method(road, "top_k", density, feedback="dgc", values=each)
            for road, density, each in product(_ROADS, (DENSITY, LOW_DENSITY), BEST_CODES)
        ),
    ]
    local = [
        Method("local", "chunked_top_k", LOCAL_DENSITY, values=each, inner_steps=INNER_STEPS)
        for each in (*BEST_CODES, codes[-1])
    ]
    return (*DENSE, *sparse, *local)


_SELECTORS = ("top_k", "gaussian_k")
_ROADS: tuple[Road, ...] = ("loop", "hook")


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(("fnn3",), (100.0,), (DENSE[0], FIRST[2]), steps=3),
    "quick": Sizes(("fnn3", "resnet20"), RATES, FIRST, steps=5, rounds=2),
    "record": Sizes(tuple(BATCH_SIZES), RATES, all_methods(), steps=5, rounds=3),
}
"""The record has some 420 cells and takes an hour and a half."""


def cells(sizes: Sizes) -> list[Cell]:
    """All of them, of the first round."""
    return [
        Cell(model, method, rate, steps=sizes.steps)
        for model, rate, method in product(sizes.models, sizes.rates, sizes.methods)
    ]


def batches(sizes: Sizes) -> list[tuple[Cell, ...]]:
    """Round after round: what the same processes measure, of one network, over links of one rate.

    To begin takes longer than most cells; all of a batch are lost together. In every round the methods take turns in
    another order, so that none always follows the same one.
    """
    found = []
    for place, (index, model, rate) in enumerate(product(range(sizes.rounds), sizes.models, sizes.rates)):
        methods = random.Random(place).sample(sizes.methods, len(sizes.methods))
        found.append(tuple(Cell(model, way, rate, steps=sizes.steps, round_index=index) for way in methods))
    return found
