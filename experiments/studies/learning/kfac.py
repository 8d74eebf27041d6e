"""Does K-FAC reach an accuracy in fewer steps, and in less time? And what do rarer decompositions and Top-k cost it?

Heavy-ball descent, AdamW and K-FAC train the same network with four workers. Each has as many settings to choose from,
and takes the one that first reaches the target on seeds of its own; step sizes fall in straight lines to zero. Then
come, on paired seeds, the three of them; K-FAC with other periods between decompositions; with Top-k of gradients, and
descent with it; and with Top-k of factors under two variants of error feedback. What a step takes is measured apart, in
rounds in which all take turns, where a profile asks for it. Bytes are those of both schemes beside the closed forms of
`theory/learning/curvature_bytes.py`. Read by `paper/studies/learning/kfac.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise, product
from statistics import fmean
from time import perf_counter
from typing import Any

import torch

from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.averaging.header import HEADER_BYTES
from sparsync.experiments.learning.kfac_factors import (
    basis_count,
    factor_shares,
    largest_share,
    layer_shares,
    triangle_count,
)
from sparsync.experiments.learning.kfac_settings import SCHEMES, Scheme
from sparsync.experiments.learning.kfac_training import METHODS, KfacRun, Method, train
from sparsync.experiments.parties.party import Party
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

Change = dict[str, Any]
"""Settings of a run that differ from the base, by name."""

TUNING_SEED = 1000
"""Seeds from here on are for tuning alone."""
SELECTING: tuple[Method, ...] = ("kfac", "sgd")
"""Who sends Top-k of gradients."""
FEEDBACKS = ("ef14", "ef21")
"""Under which factors are selected from."""
GRIDS: dict[Method, list[Change]] = {
    "sgd": [
        {"step_size": step_size, "momentum": momentum}
        for step_size, momentum in product((0.0125, 0.025, 0.05, 0.1, 0.2, 0.4), (0.8, 0.9))
    ],
    "adamw": [
        {"step_size": step_size, "weight_decay": decay}
        for step_size, decay in product((0.001, 0.002, 0.004, 0.008, 0.016, 0.032), (0.0, 0.01))
    ],
    "kfac": [
        {"step_size": step_size, "damping": damping}
        for step_size, damping in product((0.0125, 0.025, 0.05, 0.1), (0.001, 0.003, 0.01))
    ],
}
"""What each method chooses from: twelve settings, the first of two numbers being the step size."""


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        base: what all runs have in common; its periods are those of K-FAC where nothing else is said.
        target: test accuracy that is to be reached.
        grid_step: every so manieth setting of `GRIDS` is tried.
        tuning_seed_count: runs for each setting.
        seed_count: runs of each contestant.
        periods: other steps between decompositions.
        densities: of what is selected.
        round_count: of the measurement of seconds; 0 measures none.
    """

    base: KfacRun
    target: float
    grid_step: int
    tuning_seed_count: int
    seed_count: int
    periods: tuple[int, ...]
    densities: tuple[float, ...]
    round_count: int


_SMALL = KfacRun(
    model="conv3", workers=4, batch_size=8, steps=60, factor_period=5, decomposition_period=15, evaluate_every=5
)
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        base=replace(_SMALL, workers=2, batch_size=2, steps=4, evaluate_every=2, test_limit=50),
        target=0.1,
        grid_step=12,
        tuning_seed_count=0,
        seed_count=1,
        periods=(2,),
        densities=(0.1,),
        round_count=0,
    ),
    "quick": Sizes(
        base=replace(_SMALL, test_limit=500),
        target=0.4,
        grid_step=6,
        tuning_seed_count=1,
        seed_count=2,
        periods=(60,),
        densities=(0.1,),
        round_count=0,
    ),
    "record": Sizes(
        base=KfacRun(
            model="resnet20",
            workers=4,
            batch_size=8,
            steps=240,
            factor_period=5,
            decomposition_period=20,
            evaluate_every=10,
            test_limit=500,
        ),
        target=0.75,
        grid_step=1,
        tuning_seed_count=1,
        seed_count=5,
        periods=(5, 240),
        densities=(0.1, 0.01),
        round_count=5,
    ),
}
SIZES["full"] = replace(SIZES["record"], tuning_seed_count=3, seed_count=10)


@dataclass(frozen=True)
class Contestant:
    """Who trains.

    Args:
        name: of the whole.
        method: how.
        change: of its tuned settings.
    """

    name: str
    method: Method
    change: Change = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """Rounds in which the contestants take turns.

    Args:
        runs: what each does, by name.
        round_count: how often.
    """

    runs: tuple[tuple[str, KfacRun], ...]
    round_count: int


def contestants(sizes: Sizes) -> list[Contestant]:
    """All that are compared, the three methods first."""
    return [
        *(Contestant(method, method) for method in METHODS),
        *(Contestant(f"period {period}", "kfac", {"decomposition_period": period}) for period in sizes.periods),
        *(
            Contestant(f"{method}, gradients {density:g}", method, {"density": density})
            for method, density in product(SELECTING, sizes.densities)
        ),
        *(
            Contestant(
                f"factors {density:g}, {feedback}", "kfac", {"factor_density": density, "factor_feedback": feedback}
            )
            for density, feedback in product(sizes.densities, FEEDBACKS)
        ),
    ]


def run_kfac(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Tune the methods, run all contestants, measure what a step takes, and count bytes; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        `runs`: of each contestant, by `name`, its `settings`, and of each seed `steps_to_target` (null where it was not
        reached), `test_accuracy` at the end (null where it diverged) and the curve `accuracies` at the study's
        `step_counts`; `sent_bytes` of a step. `tuning`: what each method tried, and whether it `is_at_edge` of its step
        sizes. `step_seconds`: by method those of each round, with all workers in one process; null where none was
        measured. `schemes`: bytes of a step `measured` and `stated`.
    """
    sizes = sized(SIZES, profile_name)
    tuned, tuning = _tuned(sizes, pool)
    everybody, seeds = contestants(sizes), range(sizes.seed_count)
    settings = [_settings(sizes, one.method, {**tuned[one.method], **one.change}) for one in everybody]
    found = iter(pool.run(run_case, [replace(run, seed=seed) for run in settings for seed in seeds]))
    runs = [
        _record(one, run, [next(found) for _ in seeds], sizes) for one, run in zip(everybody, settings, strict=True)
    ]
    schemes = pool.run(scheme_bytes, [replace(settings[0], scheme=scheme) for scheme in SCHEMES])
    rounds = None
    if sizes.round_count:
        # Last, and by itself: nothing else is to run meanwhile.
        timed = tuple((one.name, run) for one, run in zip(everybody, settings, strict=True) if one.name in METHODS)
        (rounds,) = pool.run(step_seconds, [Timing(timed, sizes.round_count)])
    return {
        "profile": profile_name,
        "model": sizes.base.model,
        "worker_count": sizes.base.workers,
        "batch_size": sizes.base.batch_size,
        "steps": sizes.base.steps,
        "test_count": sizes.base.test_limit,
        "target": sizes.target,
        "seeds": list(seeds),
        "factor_period": sizes.base.factor_period,
        "decomposition_period": sizes.base.decomposition_period,
        "periods": list(sizes.periods),
        "densities": list(sizes.densities),
        "step_counts": _step_counts(sizes.base),
        "tuning": tuning,
        "runs": runs,
        "step_seconds": rounds,
        "schemes": schemes,
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_kfac` advances."""
    sizes = sized(SIZES, profile_name)
    tuning = sum(len(grid(method, sizes)) for method in METHODS) * sizes.tuning_seed_count
    return tuning + len(contestants(sizes)) * sizes.seed_count + len(SCHEMES) + bool(sizes.round_count)


def grid(method: Method, sizes: Sizes) -> list[Change]:
    """The settings that a method chooses from."""
    return GRIDS[method][sizes.grid_step // 2 :: sizes.grid_step]


def run_case(run: KfacRun) -> dict[str, Any]:
    """Train once: the accuracies, null behind a divergence, and bytes of a step."""
    torch.set_num_threads(1)
    try:
        found = train(run, Party(), _data(run.data))
    except FloatingPointError:
        return {"accuracies": [None] * len(_step_counts(run)), "sent_bytes": None}
    return {
        "accuracies": [evaluation["test_accuracy"] for evaluation in found["evaluations"]],
        "sent_bytes": sum(found["sent_bytes"].values()) / run.steps,
    }


def steps_to(target: float, step_counts: Sequence[int], accuracies: Sequence[float | None]) -> int | None:
    """The steps after which the mean of an accuracy and the one before is first at least the target; None if never."""
    for count, (before, now) in zip(step_counts[1:], pairwise(accuracies), strict=True):
        if before is not None and now is not None and (before + now) / 2 >= target:
            return count
    return None


def step_seconds(timing: Timing) -> dict[str, list[float]]:
    """Seconds a step of each, by name and round: over a whole period of decompositions, without the first step."""
    torch.set_num_threads(1)
    found: dict[str, list[float]] = {name: [] for name, _ in timing.runs}
    for _ in range(timing.round_count):
        for name, run in timing.runs:
            found[name].append(_seconds_of(run))
    return found


def scheme_bytes(run: KfacRun) -> dict[str, Any]:
    """Bytes of a step of a scheme over a whole cycle: measured, of headers, and stated without them."""
    steps = math.lcm(run.factor_period, run.decomposition_period)
    found = train(replace(run, steps=steps, evaluate_every=steps, test_limit=1), Party(), _data(run.data))
    layers = [tuple(sizes) for sizes in found["layer_sizes"]]
    calls = {
        "gradients": steps,
        "factors": steps // run.factor_period,
        "decompositions": steps // run.decomposition_period,
        "preconditioned": steps,
    }
    headers = sum(ENVELOPE_BYTES * count for name, count in calls.items() if name in found["sent_bytes"])
    return {
        "scheme": run.scheme,
        "measured": sum(found["sent_bytes"].values()) / steps,
        "headers": run.workers * (headers / steps + HEADER_BYTES),
        "stated": stated_bytes(run.scheme, layers, found["dimension"], run),
        "by_subject": {name: size / steps for name, size in found["sent_bytes"].items()},
    }


def stated_bytes(scheme: Scheme, layers: Sequence[tuple[int, ...]], dimension: int, run: KfacRun) -> float:
    """What the statement of a scheme says of a step, without headers."""
    factors = [size for layer in layers for size in layer]
    common = {
        "n": run.workers,
        "parameter_count": dimension,
        "triangle_entries": sum(map(triangle_count, factors)),
        "factor_period": run.factor_period,
    }
    if scheme == "everyone":
        share = largest_share([basis_count(size) for size in factors], factor_shares(factors, run.workers))
        return STATEMENTS["kfac_everyone_bytes"].evaluate(
            **common, basis_entries=share, decomposition_period=run.decomposition_period
        )
    share = largest_share([math.prod(layer) for layer in layers], layer_shares(layers, run.workers))
    return STATEMENTS["kfac_owners_bytes"].evaluate(**common, owned_entries=share)


def _settings(sizes: Sizes, method: Method, change: Change) -> KfacRun:
    return replace(sizes.base, method=method, **change)


def _step_counts(run: KfacRun) -> list[int]:
    counts = list(range(run.evaluate_every, run.steps + 1, run.evaluate_every))
    return counts if counts and counts[-1] == run.steps else [*counts, run.steps]


def _tuned(sizes: Sizes, pool: Pool) -> tuple[dict[Method, Change], list[dict[str, Any]]]:
    """The change that each method takes, and what it tried.

    The least mean of steps to the target, one evaluation more than there are where it is not reached; of equal ones the
    higher accuracy at the end.
    """
    seeds = range(TUNING_SEED, TUNING_SEED + sizes.tuning_seed_count)
    asked = [(method, change) for method in METHODS for change in grid(method, sizes)] if seeds else []
    cases = [replace(_settings(sizes, method, change), seed=seed) for method, change in asked for seed in seeds]
    found = iter(pool.run(run_case, cases))
    scores = [(method, change, _score([next(found) for _ in seeds], sizes)) for method, change in asked]
    tuned, records = dict[Method, Change](), []
    for method in METHODS:
        own = [(score, change) for name, change, score in scores if name == method]
        best = min(own, key=lambda pair: pair[0])[1] if own else grid(method, sizes)[0]
        tuned[method] = best
        tried = sorted({change["step_size"] for change in grid(method, sizes)})
        records.append(
            {
                "method": method,
                "settings": best,
                "is_at_edge": bool(own) and best["step_size"] in (tried[0], tried[-1]),
                "tried": [
                    {**change, "mean_steps": steps, "mean_accuracy": -accuracy} for (steps, accuracy), change in own
                ],
            }
        )
    return tuned, records


def _score(runs: Sequence[dict[str, Any]], sizes: Sizes) -> tuple[float, float]:
    beyond = sizes.base.steps + sizes.base.evaluate_every
    counts = [steps_to(sizes.target, _step_counts(sizes.base), run["accuracies"]) or beyond for run in runs]
    return fmean(counts), -fmean(run["accuracies"][-1] or 0.0 for run in runs)


def _record(one: Contestant, run: KfacRun, found: Sequence[dict[str, Any]], sizes: Sizes) -> dict[str, Any]:
    sent = [each["sent_bytes"] for each in found if each["sent_bytes"] is not None]
    named = ("step_size", "momentum", "weight_decay", "damping", "decomposition_period", "density", "factor_density")
    return {
        "name": one.name,
        "method": one.method,
        "settings": {name: getattr(run, name) for name in named},
        "steps_to_target": [steps_to(sizes.target, _step_counts(run), each["accuracies"]) for each in found],
        "test_accuracy": [each["accuracies"][-1] for each in found],
        "accuracies": [each["accuracies"] for each in found],
        "sent_bytes": fmean(sent) if sent else None,
    }


def _seconds_of(run: KfacRun) -> float:
    """Seconds a step over one period of decompositions behind the first step."""
    moments: list[float] = []
    steps = run.decomposition_period + 2
    party = Party(advance=lambda: moments.append(perf_counter()))
    train(replace(run, steps=steps, evaluate_every=steps, test_limit=1), party, _data(run.data))
    return (moments[-2] - moments[0]) / run.decomposition_period


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
