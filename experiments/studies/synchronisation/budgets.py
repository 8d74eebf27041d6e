"""Send less of each gradient, wait less, or send more rarely? Densities against synchronisation at equal lines.

Every worker has an upload line of its own on which a dense message takes `dense_seconds` and a sparse one as much less
as it is smaller; what is read costs nothing. Top-k keeps the rest in memory. Besides the grid of all pairs there are
lines on which density over period is constant: all send the same bytes per step. What theory says of either is in
`split_predictions.py`. How old the mass is that is applied is not followed entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

from sparsync.experiments.engine.clusters import Cluster, Link
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.engine.problems import Problem, Quadratics
from sparsync.experiments.racing.entries import Parameter
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.studies.synchronisation.frontier import staleness_counts
from sparsync.experiments.studies.synchronisation.split_predictions import (
    agreement,
    energy_bound,
    perturbation,
    problem_constants,
    residual_steps,
)
from sparsync.experiments.studies.synchronisation.trials import Trial, network, run_trial, tuned
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

GRID_CLUSTER, LINE_CLUSTER = "pareto", "equal"
"""On the lines nobody waits, and messages take no time, so that all take equally many steps and send equally much."""
CONDITION_NUMBER = 100.0
NOISE = 0.2
_TUNING_SEED = 1000
"""Seeds from here on are for tuning alone."""


class Rule(NamedTuple):
    """A synchronisation model: its policy, the one parameter it may have, and H, the steps that a message holds."""

    name: str
    policy: str
    parameters: Mapping[str, Parameter] = {}
    period: int = 1


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("bsp", "bsp"),
        *(Rule(f"ssp {staleness}", "ssp", {"staleness": staleness}) for staleness in (1, 3, 8)),
        Rule("asp", "asp"),
        *(Rule(f"local {period}", "local_sgd", {"period": period}, period) for period in (2, 4, 8, 16)),
    )
}
"""By name."""
DENSITIES = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
PERIODS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Sizes:
    """How large the study is.

    Args:
        worker_count: n.
        seconds: simulated, of each run of the grid.
        line_seconds: of each run of a line; a multiple of every period.
        dense_seconds: that a dense message occupies the line, where a step takes a second in the mean.
        seed_count: runs of each contestant with its best step size.
        steps: step sizes tried, by problem.
        rules: names of the synchronisation models, by problem.
        shares: density over period, by line.
        dimension: of the quadratic; a multiple of the inverse shares, so that the lines send equally much.
        data: source of the network's examples.
        model: its name in VECTOR_MODELS.
    """

    worker_count: int
    seconds: float
    line_seconds: float
    dense_seconds: float
    seed_count: int
    steps: Mapping[str, tuple[float, ...]]
    rules: Mapping[str, tuple[str, ...]]
    shares: tuple[float, ...]
    dimension: int
    data: str
    model: str


_FEW = ("bsp", "ssp 3", "asp", "local 4", "local 16")
SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        worker_count=2,
        seconds=16.0,
        line_seconds=32.0,
        dense_seconds=4.0,
        seed_count=1,
        steps={"quadratic": (0.3,), "network": (0.3,)},
        rules={"quadratic": ("bsp", "asp", "local 4"), "network": ("bsp", "local 4")},
        shares=(1 / 160,),
        dimension=320,
        data="embedded",
        model="fnn2",
    ),
    "quick": Sizes(
        worker_count=4,
        seconds=48.0,
        line_seconds=64.0,
        dense_seconds=8.0,
        seed_count=2,
        steps=dict.fromkeys(("quadratic", "network"), (0.016, 0.05, 0.15, 0.45, 1.35, 4.05)),
        rules={"quadratic": tuple(RULES), "network": _FEW},
        shares=(1 / 160,),
        dimension=960,
        data="embedded",
        model="fnn2",
    ),
    "full": Sizes(
        worker_count=8,
        seconds=480.0,
        line_seconds=480.0,
        dense_seconds=8.0,
        seed_count=5,
        steps={name: tuple(0.0125 * 2**place for place in range(8)) for name in ("quadratic", "network")},
        rules={"quadratic": tuple(RULES), "network": tuple(RULES)},
        shares=(1 / 1600, 1 / 160, 1 / 16),
        dimension=9600,
        data="fashion_mnist",
        model="fnn3",
    ),
}


@dataclass(frozen=True)
class _Case:
    problem: str
    cluster: str
    rule: Rule
    density: float
    sizes: Sizes
    seed: int


def run_budgets(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Run the grid and the lines on both problems; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.
        seed: of all runs.

    Returns:
        `step_sizes` tried, by problem; `cells`: for each `problem`, `rule` and `density` of the grid the best
        `step_size`, the `end_error` of each seed, the `perturbation` P of the statement, what was `observed` of it, and
        the `energy_bound` with either; `lines`: the same along constant density over period; `agreement`: see there,
        by problem.
    """
    sizes = sized(SIZES, profile_name)
    cases = _cases(profile_name, seed)
    rows = pool.run(run_case, cases)
    constants = {
        problem: problem_constants(_make_problem(problem, sizes)(seed), sizes.worker_count) for problem in sizes.rules
    }
    for row in rows:
        known = constants[row["problem"]]
        for name in ("perturbation", "observed"):
            row[f"energy_by_{name}"] = energy_bound(known, step_count=row["steps_per_worker"], perturbation=row[name])
    cells, lines = ([row for row in rows if row["cluster"] == name] for name in (GRID_CLUSTER, LINE_CLUSTER))
    return {
        "profile": profile_name,
        "seed": seed,
        **{
            name: getattr(sizes, name) for name in ("worker_count", "dense_seconds", "seed_count", "model", "dimension")
        },
        "simulated_seconds": sizes.seconds,
        "line_seconds": sizes.line_seconds,
        "condition_number": CONDITION_NUMBER,
        "step_sizes": {problem: list(tried) for problem, tried in sizes.steps.items()},
        "constants": {problem: found._asdict() for problem, found in constants.items()},
        "cells": cells,
        "lines": lines,
        "agreement": {problem: agreement(cells, lines, problem) for problem in sizes.rules},
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_budgets` advances."""
    return len(_cases(profile_name, 0))


def run_case(case: _Case) -> dict[str, Any]:
    """Tune a contestant, run it with its best step size on every seed, and look into its messages."""
    sizes, rule = case.sizes, case.rule
    trial = _trial(case)
    best = tuned(trial, sizes.steps[case.problem], (case.seed + _TUNING_SEED,))
    curves = [run_trial(best, seed, records=True) for seed in range(case.seed, case.seed + sizes.seed_count)]
    staleness = [count for curve in curves for count in staleness_counts(curve.trace)]
    # A report is 1/n of a step of all. What a worker has not sent yet is late as well.
    delay = math.ceil(max(staleness) / sizes.worker_count) + rule.period - 1
    residual = fmean(residual_steps(curve, rule.period) for curve in curves)
    return {
        "problem": case.problem,
        "cluster": case.cluster,
        "rule": rule.name,
        "period": rule.period,
        "density": case.density,
        "step_size": best.descent.step_size,
        "end_error": [curve.end_error for curve in curves],
        "steps_per_worker": fmean(curve.step_count for curve in curves) / sizes.worker_count,
        "bytes_per_step": fmean(curve.sent_bytes / curve.step_count for curve in curves),
        "staleness": fmean(staleness),
        "delay": delay,
        "residual_steps": residual,
        "perturbation": perturbation(case.density, period=rule.period, delay=delay),
        "observed": fmean(staleness) / sizes.worker_count + (rule.period - 1) / 2 + residual,
    }


def _cases(profile_name: ProfileName, seed: int) -> list[_Case]:
    sizes = sized(SIZES, profile_name)
    grid = [
        _Case(problem, GRID_CLUSTER, RULES[name], density, sizes, seed)
        for problem, names in sizes.rules.items()
        for name in names
        for density in DENSITIES
    ]
    rules = {rule.period: rule for rule in RULES.values() if rule.policy in ("bsp", "local_sgd")}
    lines = [
        _Case(problem, LINE_CLUSTER, rules[period], share * period, sizes, seed)
        for problem in sizes.rules
        for share in sizes.shares
        for period in PERIODS
    ]
    return grid + lines


def _trial(case: _Case) -> Trial:
    sizes, is_line = case.sizes, case.cluster == LINE_CLUSTER
    make_problem = _make_problem(case.problem, sizes)
    start = make_problem(0).initial
    link = Link(bytes_per_second=math.inf if is_line else start.numel() * start.element_size() / sizes.dense_seconds)
    selector = None if case.density == 1 else "top_k"
    return Trial(
        case.rule.policy,
        partial(_parameters, case.rule),
        make_problem,
        partial(_make_cluster, case.cluster, sizes.worker_count, link),
        Descent(selector=selector, density=case.density),
        sizes.line_seconds if is_line else sizes.seconds,
        # On a line only when all has just been sent: the rarer messages are, the more the shared model lags in between.
        points=round(sizes.line_seconds / max(PERIODS)) if is_line else 24,
        end_points=2 if is_line else 6,
    )


def _make_problem(problem: str, sizes: Sizes) -> Callable[[int], Problem]:
    if problem == "network":
        return partial(network, source=sizes.data, model=sizes.model, worker_count=sizes.worker_count)
    return partial(_quadratic, dimension=sizes.dimension, worker_count=sizes.worker_count)


def _quadratic(seed: int, *, dimension: int, worker_count: int) -> Quadratics:
    """Curvatures in equal ratios from 1 to 1/100; all workers have the same optimum."""
    curvatures = [CONDITION_NUMBER ** -(place / (dimension - 1)) for place in range(dimension)]
    return Quadratics(curvatures, worker_count=worker_count, noise=NOISE, seed=seed)


def _make_cluster(name: str, worker_count: int, upload: Link, seed: int) -> Cluster:
    return replace(CLUSTERS[name](worker_count, seed), upload=upload)


def _parameters(rule: Rule, seed: int) -> Mapping[str, Parameter]:
    """The same for every seed."""
    del seed
    return rule.parameters
