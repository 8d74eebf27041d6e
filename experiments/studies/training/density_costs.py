"""What does a density cost? Predicted from gradients of dense training alone, before anything sparse is trained.

Of each network dense SGD, without momentum and with the constant step size that is best for it, is run on every seed.
At a few places the drift and the noise of every coordinate of one worker's gradient are estimated, from gradients drawn
at that point, and once more from those of the path around it, of which what turns from step to step is noise.
`lag_model.py` says by how many steps Λ Top-k of each density will be late; and what is predicted of its test loss after
t steps is the loss of dense training after t − Λ, on the curve of the same seed. Only then Top-k is trained. Its lag is
measured by the energy balance of `theory/feedback/late/lag.py`. Besides, FNN-3 with and without momentum, each method
with its own best step size. Read by `paper/studies/density_costs.py`. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.training.contestants import TUNING_SEED, Setup
from sparsync.experiments.studies.training.lag_runs import Case, run_case
from sparsync.experiments.studies.training.step_search import best_place, wanted
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

STEP_SIZES = tuple(0.003125 * 2.0**place for place in range(13))
"""That are tried, from 0.003125 to 12.8; the search begins at 0.2."""
START = 6
WINDOW_SHARE = 0.5
"""The last share of a run, over which losses and lags are averaged: by then the residual has had time to settle."""
PLACE_SHARES = (0.25, 0.5, 0.75)
"""Of the steps: where gradients are looked at."""
REACH_SHARE = 0.125
"""Of the steps, before and after a place, that are its path; together the paths are three quarters of the run."""
SOURCES = ("point", "path")
"""Of the gradients that the predictions are made from."""
EVALUATION_COUNT = 20
"""Test losses in a run, besides the first."""
MOMENTA = (0.0, 0.9)

Curve = NDArray[np.float64]
"""A number for each evaluation."""


@dataclass(frozen=True)
class Network:
    """A network of the study.

    Args:
        setup: with its data and steps.
        fold_size: gradients of each of three folds by which drift and noise are estimated, at most.
        halvings: how often the best step size is halved for a comparison; 0 is itself.
    """

    setup: Setup
    fold_size: int
    halvings: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        networks: in this order; the first is also trained with momentum.
        densities: of Top-k.
        momentum_densities: of Top-k in the comparison with momentum; none leaves that out.
        worker_count: n.
        seed_count: runs of each method.
        is_tuned: whether step sizes are searched; otherwise the search's first is taken.
    """

    networks: tuple[Network, ...]
    densities: tuple[float, ...]
    momentum_densities: tuple[float, ...]
    worker_count: int
    seed_count: int
    is_tuned: bool


DENSITIES = (0.001, 0.005, 0.01, 0.05)
_RECORD = Sizes(
    networks=(
        Network(Setup("fnn3", "embedded", batch_size=32, steps=600, test_limit=None), 125, halvings=(0, 3)),
        Network(Setup("resnet20", "embedded", batch_size=8, steps=200, test_limit=256), fold_size=64),
        Network(Setup("gpt", "text", batch_size=2, steps=160, test_limit=64), fold_size=32),
    ),
    densities=DENSITIES,
    momentum_densities=(0.01, 0.001),
    worker_count=4,
    seed_count=5,
    is_tuned=True,
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        networks=(Network(Setup("fnn3", "embedded", batch_size=4, steps=40, test_limit=64), fold_size=4),),
        densities=(0.01,),
        momentum_densities=(),
        worker_count=2,
        seed_count=2,
        is_tuned=False,
    ),
    "record": _RECORD,
    "full": replace(
        _RECORD,
        networks=tuple(
            replace(network, setup=replace(network.setup, steps=3000, test_limit=None), fold_size=500)
            for network in _RECORD.networks
        ),
        seed_count=8,
    ),
}
"""FNN-3 sees all its data at every place: 3 · 125 batches of 32 are 12,000 images. It is also trained with an eighth of
its best step size, where gradients turn less and the model's premise is nearer to the truth. Profile quick leaves the
study out, as 600 steps of FNN-3 on five seeds are some minutes: the record's is shown."""


@dataclass(frozen=True)
class Method:
    """What is trained.

    Args:
        network: of the study.
        density: of Top-k; None is dense.
        momentum: heavy ball, after aggregation.
    """

    network: Network
    density: float | None = None
    momentum: float = 0.0

    def case(self, place: int, seed: int, sizes: Sizes, *, predicts: tuple[float, ...] = ()) -> Case:
        """A run with the step size of a place."""
        steps = self.network.setup.steps
        places = tuple(round(share * steps) for share in PLACE_SHARES) if predicts else ()
        return Case(
            self.network.setup,
            step_size=STEP_SIZES[place],
            seed=seed,
            worker_count=sizes.worker_count,
            evaluate_every=steps // EVALUATION_COUNT,
            density=self.density,
            momentum=self.momentum,
            predicts=predicts,
            places=places,
            reach=3 * math.floor(REACH_SHARE * steps / 3),
            fold_size=self.network.fold_size,
        )


@dataclass(frozen=True)
class Runner:
    """What runs cases.

    Args:
        pool: that runs them.
        sizes: of the study.
        device: where.
    """

    pool: Pool
    sizes: Sizes
    device: str

    def run(self, cases: Sequence[Case]) -> list[dict[str, Any]]:
        """The runs, in the order of the cases."""
        return self.pool.run(partial(run_case, device=self.device), cases)

    def seeds(self, method: Method, place: int, predicts: tuple[float, ...] = ()) -> list[dict[str, Any]]:
        """A method on every seed, with the step size of a place."""
        seeds = range(self.sizes.seed_count)
        return self.run([method.case(place, seed, self.sizes, predicts=predicts) for seed in seeds])

    def tuned(self, method: Method) -> dict[int, float]:
        """The loss of each step size that the search asks for, by place; infinite where it diverged."""
        losses: dict[int, float] = {}
        while self.sizes.is_tuned and (places := wanted(losses, start=START, place_count=len(STEP_SIZES))):
            runs = self.run([method.case(place, TUNING_SEED, self.sizes) for place in places])
            losses |= {place: window_loss(run) for place, run in zip(places, runs, strict=True)}
        for _ in range(len(STEP_SIZES) * self.sizes.is_tuned - len(losses)):
            self.pool.advance()  # what the search left out
        return losses


def run_density_costs(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Predict and train; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        `networks`: of each and each `step_share` of the best step size its `model`, `steps`, `dimension`, the
        `step_size`, what was `tried`, the test losses of dense training as `curve`, and `densities`: of each, seed by
        seed, from gradients of the `point` and of the `path`, the `predicted_lag`, the `measured_lag`, in units of what
        persists there, and the `predicted` loss above dense; and the `measured` one. All are means over the last half
        of the run; null where a run diverged, or nothing persists.
        `momentum`: of FNN-3 by `momentum` and `density` the best `step_size`, what was `tried`, and the losses.

    Raises:
        ValueError: the profile leaves the study out.
        CasesFailedError: some runs failed. One that diverged has not failed.
    """
    if profile_name not in SIZES:
        raise ValueError(f"profile {profile_name!r} leaves this study out; it is in: {', '.join(SIZES)}")
    sizes, device = SIZES[profile_name], _device(profile_name)
    runner = Runner(pool, sizes, device)
    first, *others = sizes.networks
    networks = _comparisons(runner, first)
    momentum = _momentum(runner, first)
    networks += [row for network in others for row in _comparisons(runner, network)]
    return {
        "profile": profile_name,
        "worker_count": sizes.worker_count,
        "seeds": list(range(sizes.seed_count)),
        "window_share": WINDOW_SHARE,
        "networks": networks,
        "momentum": momentum,
        "provenance": provenance(process_count=1, device=device),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_density_costs` advances: also for step sizes that it need not try; 0 where it is left out."""
    if profile_name not in SIZES:
        return 0
    sizes = SIZES[profile_name]
    grid = len(STEP_SIZES) if sizes.is_tuned else 0
    momentum_count = len(MOMENTA) * (1 + len(sizes.momentum_densities)) if sizes.momentum_densities else 0
    comparison_count = sum(len(network.halvings) for network in sizes.networks)
    measured_count = comparison_count * (1 + len(sizes.densities)) + momentum_count
    return grid * (len(sizes.networks) + momentum_count) + measured_count * sizes.seed_count


def window_loss(run: dict[str, Any]) -> float:
    """The mean test loss over the last half of a run; infinite where it diverged."""
    if run["diverged_at_step"] is not None:
        return math.inf
    return fmean(run["test_loss"][_window(len(run["test_loss"]))])


def shifted_loss(curve: Sequence[float], lags: Sequence[float], every: int) -> float:
    """The mean over the last half of the loss that dense training had the lag before, less that it has.

    Args:
        curve: test losses at steps 0, `every`, …
        lags: at the same steps; later than the start there is nothing.
        every: steps between two.
    """
    steps = np.arange(len(curve)) * every
    earlier = np.interp(np.clip(steps - np.asarray(lags), 0, None), steps, np.asarray(curve))
    return float((earlier - np.asarray(curve))[_window(len(curve))].mean())


def measured_lag(run: dict[str, Any], source: str) -> float | None:
    """Λ over the last half of a run of Top-k: what is late over what persists, at points or along the path."""
    late, persistent = (run[name] for name in ("late", {"point": "persistent", "path": "lasting"}[source]))
    energy = fmean(persistent[_window(len(persistent))])
    return fmean(late[_window(len(late))]) / energy if energy > 0 else None


def _window(length: int) -> slice:
    """Of the last half of a list."""
    return slice(length - round(WINDOW_SHARE * length), length)


def _comparisons(runner: Runner, network: Network) -> list[dict[str, Any]]:
    """Of a network, one for each share of the best step size."""
    losses = runner.tuned(Method(network))
    best = best_place(losses) if losses else START
    return [
        {
            **{name: getattr(network.setup, name) for name in ("model", "data", "batch_size", "steps")},
            **_tuning(losses, best),
            "step_share": 2.0**-halvings,
            **_compared(runner, network, max(0, best - halvings)),
        }
        for halvings in network.halvings
    ]


def _compared(runner: Runner, network: Network, place: int) -> dict[str, Any]:
    """Prediction, and then training, with the step size of a place."""
    sizes, dense = runner.sizes, Method(network)
    known = runner.seeds(dense, place, predicts=sizes.densities)
    every = network.setup.steps // EVALUATION_COUNT
    # What is said of a density is known before it is trained.
    said = [{source: _said(known, which, every, source) for source in SOURCES} for which in range(len(sizes.densities))]
    trained = [runner.seeds(Method(network, density), place) for density in sizes.densities]
    return {
        "step_size": STEP_SIZES[place],
        "dimension": known[0]["dimension"],
        "gradient_count": 3 * network.fold_size,
        "evaluate_every": every,
        "curve": [run["test_loss"] for run in known],
        "laws": [run["predicted"] for run in known],
        "densities": [
            {"density": density, **predicted, **_found(known, runs)}
            for density, predicted, runs in zip(sizes.densities, said, trained, strict=True)
        ],
        "computed_on": sorted({run["computed_on"] for runs in (known, *trained) for run in runs}),
    }


def _said(known: Sequence[dict[str, Any]], which: int, every: int, source: str) -> dict[str, Any]:
    """The lag and the loss above dense that are predicted for a density, seed by seed."""
    found: dict[str, Any] = {"predicted_lag": [], "predicted": []}
    for run in known:
        lags = _lag_curve(run, which, every, source)
        found["predicted_lag"].append(None if lags is None else float(lags[_window(len(lags))].mean()))
        found["predicted"].append(None if lags is None else shifted_loss(run["test_loss"], lags.tolist(), every))
    return found


def _lag_curve(run: dict[str, Any], which: int, every: int, source: str) -> Curve | None:
    """The lag at every evaluation, by straight lines between the places where the law was looked at."""
    known = [(law["step"], law[source]["lags"][which]) for law in run["predicted"] if source in law]
    there = [(place, lag) for place, lag in known if lag is not None]
    steps = np.arange(len(run["test_loss"])) * every
    if not there:
        return None
    lags: Curve = np.interp(steps, [place for place, _ in there], [lag for _, lag in there])
    return np.minimum(lags, steps)


def _found(known: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What Top-k did, seed by seed."""
    ended = [math.isfinite(window_loss(run) - window_loss(dense)) for dense, run in zip(known, runs, strict=True)]
    pairs = list(zip(known, runs, ended, strict=True))
    return {
        "measured": [window_loss(run) - window_loss(dense) if is_whole else None for dense, run, is_whole in pairs],
        "measured_lag": {
            source: [measured_lag(run, source) if is_whole else None for _, run, is_whole in pairs]
            for source in SOURCES
        },
    }


def _momentum(runner: Runner, network: Network) -> list[dict[str, Any]]:
    """FNN-3 with and without momentum, dense and at densities, each with its own best step size."""
    if not runner.sizes.momentum_densities:
        return []
    rows = []
    for momentum, density in product(MOMENTA, (None, *runner.sizes.momentum_densities)):
        method = Method(network, density, momentum)
        losses = runner.tuned(method)
        place = best_place(losses) if losses else START
        ends = [window_loss(run) for run in runner.seeds(method, place)]
        rows.append(
            {
                "momentum": momentum,
                "density": density,
                **_tuning(losses, place),
                "test_loss": [loss if math.isfinite(loss) else None for loss in ends],
            }
        )
    return rows


def _tuning(losses: dict[int, float], place: int) -> dict[str, Any]:
    return {
        "step_size": STEP_SIZES[place],
        "is_at_edge": bool(losses) and place in (0, len(STEP_SIZES) - 1),
        "tried": [
            {"step_size": STEP_SIZES[at], "test_loss": loss if math.isfinite(loss) else None}
            for at, loss in sorted(losses.items())
        ],
    }


def _device(profile_name: ProfileName) -> str:
    """All but smoke use a GPU where there is one."""
    return "cuda" if profile_name != "smoke" and torch.cuda.is_available() else "cpu"
