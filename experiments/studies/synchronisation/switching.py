"""Synchronous first or asynchronous first? Sync-Switch against Smooth Switch on the same workers, luck and time.

Sync-Switch (Li, Mangoubi, Xu, Guo 2021) begins with a barrier and drops it; Smooth Switch (Vora, Joshi, Patel 2024)
begins without waiting and lets ever larger groups wait. Both are given the same share of the simulated time at the full
barrier, or as little more as whole rounds allow; a hard switch from asynchronous to synchronous is no policy of ours.
The step size of every contestant is tuned on seeds of its own. The limits of the step size are in `frontier.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import fmean
from typing import Any, Literal

from sparsync.experiments.engine.clusters import TICKS_PER_SECOND, Cluster
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.engine.problems import Problem, Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.smooth_switch import SmoothSwitch
from sparsync.experiments.racing.entries import Parameter
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.studies.synchronisation.frontier import FrontierCase, frontier_case
from sparsync.experiments.studies.synchronisation.trials import (
    Trial,
    mean_errors,
    measurement_times,
    network,
    run_trial,
    tuned,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

Order = Literal[
    "asp",
    "bsp",
    "synchronous_first",
    "synchronous_first_falling",
    "asynchronous_first",
    "asynchronous_first_falling",
]
"""Who is compared: no barrier, a barrier, one and then the other.

Of those that fall, what an example adds to the model at the end is 1/n of what it adds at the beginning: Smooth Switch
adds the mean of each group of 1 to n reports, and the asynchronous steps of Sync-Switch are scaled by 1/n. Otherwise a
report has the weight 1/n throughout.
"""
ORDERS: tuple[Order, ...] = (
    "synchronous_first",
    "synchronous_first_falling",
    "asynchronous_first",
    "asynchronous_first_falling",
)
CURVATURES = tuple(1.2**-place for place in range(20))
"""Of the quadratics: condition number 32."""
NOISE = 0.5
CONDITIONS: dict[str, tuple[str, float, float]] = {
    "same optimum": ("quadratic", 0.0, 0.0),
    "own optima": ("quadratic", 1.0, 0.0),
    "same optimum, momentum": ("quadratic", 0.0, 0.9),
    "network": ("network", 0.0, 0.0),
}
"""Problem, spread of the workers' optima, momentum."""
SWITCHING_CLUSTERS = ("one_slow", "pareto")
LIMIT_MOMENTA = (0.0, 0.9)
"""For which the limits of the step size are sought."""
LIMIT_COUNTS = range(1, 17)
"""Numbers of workers for which the formula of the limit is evaluated."""
POINTS = 24
"""Measurements after the start."""
_TUNING_SEED = 1000
"""Seeds from here on are for tuning alone."""


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        worker_count: n of the comparison.
        seconds: simulated, of each of its runs.
        seed_count: runs of each contestant with its best step size.
        tuning_seed_count: runs for each step size.
        shares: of the time that is synchronous.
        quadratic_steps: step sizes tried on quadratics, before the factor 1 − β.
        network_steps: on the network.
        data: its data source.
        model: its name in VECTOR_MODELS.
        frontier_counts: n of the limits of equal workers.
        frontier_seconds: simulated, of each run that looks for a limit.
    """

    worker_count: int
    seconds: float
    seed_count: int
    tuning_seed_count: int
    shares: tuple[float, ...]
    quadratic_steps: tuple[float, ...]
    network_steps: tuple[float, ...]
    data: str
    model: str
    frontier_counts: tuple[int, ...]
    frontier_seconds: float


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(2, 12.0, 1, 1, (0.5,), (0.2, 0.8), (0.2,), "embedded", "fnn2", (2,), 48.0),
    "quick": Sizes(
        worker_count=4,
        seconds=40.0,
        seed_count=3,
        tuning_seed_count=1,
        shares=(1 / 8, 1 / 2),
        quadratic_steps=(0.1, 0.25, 0.6, 1.5),
        network_steps=(0.1, 0.25, 0.6, 1.5),
        data="embedded",
        model="fnn2",
        frontier_counts=(1, 2, 4),
        frontier_seconds=72.0,
    ),
    "full": Sizes(
        worker_count=8,
        seconds=600.0,
        seed_count=8,
        tuning_seed_count=3,
        shares=(1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4),
        quadratic_steps=tuple(0.0125 * 2**place for place in range(8)),
        network_steps=tuple(0.0125 * 2**place for place in range(7)),
        data="fashion_mnist",
        model="fnn3",
        frontier_counts=(1, 2, 4, 8, 16, 32),
        frontier_seconds=300.0,
    ),
}


@dataclass(frozen=True)
class _Case:
    condition: str
    cluster: str
    order: Order
    share: float
    sizes: Sizes
    seed: int


def run_switching(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Run every contestant under every condition, and look for the limits of the step size; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.
        seed: of all runs.

    Returns:
        `runs`: of each `condition`, `cluster`, `order` and synchronous `share` the tuned `step_size`, the `end_error`
        of each seed, the mean `error` at each of the study's `seconds`, and `seconds_to_target`, when this mean first
        reached the `target`, the mean error at the end of BSP under the same condition; null for never. `frontier`:
        see `frontier_case`; `limits`: `reports_in_turn_limit`. An infinite error is null.
    """
    sizes, in_turn = sized(SIZES, profile_name), STATEMENTS["reports_in_turn_limit"]
    contests, limits = _cases(profile_name, seed), _frontier_cases(sizes, seed)
    cases: list[_Case | FrontierCase] = [*limits, *contests]
    found = pool.run(run_any, cases)
    frontier, runs = found[: len(limits)], found[len(limits) :]
    times = measurement_times(sizes.seconds, POINTS)
    targets = {(run["condition"], run["cluster"]): fmean(run["end_error"]) for run in runs if run["order"] == "bsp"}
    for run in runs:
        target = targets[run["condition"], run["cluster"]]
        run["target"] = _finite(target)
        run["seconds_to_target"] = first_time(times, run["error"], target)
        run["error"] = [_finite(value) for value in run["error"]]
        run["end_error"] = [_finite(value) for value in run["end_error"]]
    return {
        "profile": profile_name,
        "seed": seed,
        "worker_count": sizes.worker_count,
        "seconds": list(times),
        "seed_count": sizes.seed_count,
        "model": sizes.model,
        "condition_number": CURVATURES[0] / CURVATURES[-1],
        "runs": runs,
        "frontier": frontier,
        "limits": [
            {
                "momentum": momentum,
                "worker_count": list(LIMIT_COUNTS),
                "limit": [in_turn.evaluate(n=count, momentum=momentum) for count in LIMIT_COUNTS],
            }
            for momentum in LIMIT_MOMENTA
        ],
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_switching` advances."""
    return len(_cases(profile_name, 0)) + len(_frontier_cases(sized(SIZES, profile_name), 0))


def run_any(case: _Case | FrontierCase) -> dict[str, Any]:
    """`run_case` or `frontier_case`: one pool of processes for both."""
    return run_case(case) if isinstance(case, _Case) else frontier_case(case)


def run_case(case: _Case) -> dict[str, Any]:
    """Tune a contestant, and run it with its best step size on every seed."""
    trial, sizes = _trial(case), case.sizes
    sizes_tried = sizes.network_steps if CONDITIONS[case.condition][0] == "network" else sizes.quadratic_steps
    # A heavy ball multiplies what a gradient does in the end by 1/(1 − β).
    steps = [size * (1 - trial.descent.momentum) for size in sizes_tried]
    first = case.seed + _TUNING_SEED
    best = tuned(trial, steps, range(first, first + sizes.tuning_seed_count))
    curves = [run_trial(best, seed) for seed in range(case.seed, case.seed + sizes.seed_count)]
    return {
        "condition": case.condition,
        "cluster": case.cluster,
        "order": case.order,
        "share": case.share,
        "step_size": best.descent.step_size,
        "is_largest_step": best.descent.step_size == max(steps),
        "end_error": [curve.end_error for curve in curves],
        "step_count": fmean(curve.step_count for curve in curves),
        "error": mean_errors(curves),
    }


def first_time(seconds: Sequence[float], errors: Sequence[float], target: float) -> float | None:
    """The first of the times whose error is at most the target."""
    return next((time for time, error in zip(seconds, errors, strict=True) if error <= target), None)


def round_count(make_policy: Callable[[], Policy], cluster: Cluster, seconds: float) -> int:
    """Versions that a policy makes in the time."""
    simulation = Simulation(make_policy(), cluster, Horizon(seconds=seconds), make_judge=None, records=False)
    simulation.run()
    return simulation.view.version


def rounds_for_share(cluster: Cluster, seconds: float, share: float) -> int:
    """The fewest rounds of BSP that last this share of the time; all that there are if none fewer do."""
    if share == 0:
        return 0
    ended_before = round_count(Bsp, cluster, share * seconds - 1 / TICKS_PER_SECOND)
    return min(ended_before + 1, round_count(Bsp, cluster, seconds))


def growth_for_share(cluster: Cluster, seconds: float, share: float) -> int:
    """The growth with which Smooth Switch spends this share of the time, or as little more as possible, at the barrier.

    The group has all n workers from version (n − 1) · growth on.
    """
    low, high = 0, 1 + round_count(partial(SmoothSwitch, growth=math.inf), cluster, seconds)
    while high - low > 1:
        middle = (low + high) // 2
        before = round_count(partial(SmoothSwitch, growth=middle), cluster, seconds * (1 - share))
        low, high = (middle, high) if before >= (cluster.worker_count - 1) * middle else (low, middle)
    return low


def _cases(profile_name: ProfileName, seed: int) -> list[_Case]:
    sizes = sized(SIZES, profile_name)
    ends: list[tuple[Order, float]] = [("asp", 0.0), ("bsp", 1.0)]
    switching = [(order, share) for order in ORDERS for share in sizes.shares]
    return [
        _Case(condition, cluster, order, share, sizes, seed)
        for condition in CONDITIONS
        for cluster in SWITCHING_CLUSTERS
        for order, share in [*ends, *switching]
    ]


def _frontier_cases(sizes: Sizes, seed: int) -> list[FrontierCase]:
    places = [("bsp", "equal", max(sizes.frontier_counts[0], 2))]
    places += [("asp", "equal", count) for count in sizes.frontier_counts]
    places += [("asp", cluster, max(sizes.frontier_counts)) for cluster in SWITCHING_CLUSTERS]
    return [(*place, momentum, sizes.frontier_seconds, seed) for momentum in LIMIT_MOMENTA for place in places]


def _trial(case: _Case) -> Trial:
    kind, spread, momentum = CONDITIONS[case.condition]
    sizes = case.sizes
    make_problem: Callable[[int], Problem] = (
        partial(network, source=sizes.data, model=sizes.model, worker_count=sizes.worker_count)
        if kind == "network"
        else partial(_quadratic, spread=spread, worker_count=sizes.worker_count)
    )
    make_cluster = partial(CLUSTERS[case.cluster], sizes.worker_count)
    switch = "sync_switch" if case.order.startswith("synchronous_first") else "smooth_switch"
    return Trial(
        case.order if case.order in ("asp", "bsp") else switch,
        partial(_parameters, case),
        make_problem,
        make_cluster,
        Descent(momentum=momentum),
        sizes.seconds,
        points=POINTS,
    )


def _quadratic(seed: int, *, spread: float, worker_count: int) -> Quadratics:
    return Quadratics(CURVATURES, worker_count=worker_count, spread=spread, noise=NOISE, seed=seed)


@cache
def _parameters(case: _Case, seed: int) -> Mapping[str, Parameter]:
    """What gives the contestant its share of synchronous time under the luck of a seed."""
    count, seconds = case.sizes.worker_count, case.sizes.seconds
    cluster, is_falling = CLUSTERS[case.cluster](count, seed), case.order.endswith("falling")
    if case.order.startswith("synchronous_first"):
        total = round_count(Bsp, cluster, seconds)
        fraction = rounds_for_share(cluster, seconds, case.share) / total
        return {
            "bsp_fraction": fraction,
            "total_steps": total,
            "asynchronous_step_scale": 1 / count if is_falling else 1.0,
        }
    if case.order.startswith("asynchronous_first"):
        growth = growth_for_share(cluster, seconds, case.share)
        return {"growth": growth, "weight": "mean" if is_falling else "per_worker"}
    return {}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
