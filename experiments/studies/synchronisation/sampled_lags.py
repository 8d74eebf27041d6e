"""How far behind are the slowest at a barrier that looks at a few workers only, and does PSP's law of lags hold?

Workers that sample β others, with staleness r (pSSP) and without (pBSP), from no sample to one of everybody; no
gradients, and no delay of messages. Measured are the lags of the others when a worker is released, and how often it is
at its first look; against them stand the hypergeometric law of a look and the bounds on the moments of a lag that is
geometric beyond r. Rule: Wang, Catterall and Mortier 2017, as `experiments/policies/psp.py` reads it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sparsync.experiments.engine.clusters import Cluster, Drawn, exponential
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.presets import SLOW_FACTOR
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.psp import Pbsp, Pssp
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.studies.synchronisation.lag_readings import Readings, read_lags
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

STALENESS = (0, 3)
"""r: pBSP and pSSP."""
SAMPLES = (0, 1, 2, 4, 8)
"""β, besides everybody."""
CLUSTERS = ("exponential", "one slow")
"""All steps exponential of mean one second; the last worker's three times as long."""
WARM_UP = 0.1
"""Share of the time that is not looked at."""
LEAST_VARIANCE = 2.0
"""Of a number of passes that is compared with a normal law."""
BATCHES = 8
"""Stretches of equally many releases whose means give a standard error."""


@dataclass(frozen=True)
class Sizes:
    """How much is run.

    Args:
        seconds: simulated, by number of workers.
    """

    seconds: dict[int, float]


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes({12: 60.0}),
    "quick": Sizes({32: 150.0, 100: 50.0}),
    "full": Sizes({32: 5000.0, 100: 2000.0}),
}
"""By profile."""


@dataclass(frozen=True)
class LagCase:
    """One run.

    Args:
        workers: n.
        cluster: one of `CLUSTERS`.
        staleness: r.
        sample: β.
        seconds: simulated.
        seed: of the cluster and of the samples.
    """

    workers: int
    cluster: str
    staleness: int
    sample: int
    seconds: float
    seed: int


def run_sampled_lags(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Run every sample size, staleness, cluster and number of workers; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.
        seed: of the clusters and of the samples.

    Returns:
        For each run its case and what `run_case` measures.
    """
    found = pool.run(run_case, cases(sized(SIZES, profile_name), seed))
    return {"profile": profile_name, "seed": seed, "runs": found, "provenance": provenance(process_count=1)}


def case_count(profile_name: ProfileName) -> int:
    """How many runs a profile has."""
    return len(cases(sized(SIZES, profile_name), seed=0))


def cases(sizes: Sizes, seed: int) -> list[LagCase]:
    """Every run."""
    return [
        LagCase(workers, cluster, staleness, sample, seconds, seed)
        for workers, seconds in sizes.seconds.items()
        for cluster in CLUSTERS
        for staleness in STALENESS
        for sample in sorted({*(size for size in SAMPLES if size < workers), workers - 1})
    ]


def run_case(case: LagCase) -> dict[str, Any]:
    """One run and what its trace tells.

    Returns:
        The number of `releases`; `slowest`, the lag of the slowest behind a released worker, and `another`, that of one
        of the others, see `lag_record`; of the slowest also the `mean_error`, a standard error, and the `mean_by_half`
        of the releases; `passing`, see `passing_record`; and `stated`, see `stated_law`.
    """
    factors = (1.0,) * (case.workers - 1) + (SLOW_FACTOR if case.cluster == "one slow" else 1.0,)
    cluster = Cluster(case.workers, Drawn(exponential(), factors, case.seed))
    policy = Pssp(case.sample, case.staleness) if case.staleness else Pbsp(case.sample)
    run = Simulation(policy, cluster, Horizon(seconds=case.seconds), make_judge=None, seed=case.seed)
    run.run()
    readings = read_lags(run.trace, case.workers, case.staleness, begin=WARM_UP * case.seconds)
    lags = np.array(readings.slowest)
    return {
        **asdict(case),
        "releases": len(lags),
        "slowest": {
            **lag_record(np.bincount(lags), case.staleness),
            "mean_error": batch_error(lags),
            "mean_by_half": [float(half.mean()) for half in np.array_split(lags, 2)],
        },
        "another": lag_record(np.array(readings.another), case.staleness),
        "passing": passing_record(readings, case),
        "stated": stated_law(readings, case),
    }


def lag_record(counts: np.ndarray, staleness: int) -> dict[str, Any]:
    """Moments of a lag, its 99 % quantile, and the law that fits.

    Args:
        counts: how often the lag was 0, 1, ….
        staleness: r.
    """
    lags, total = np.arange(len(counts)), counts.sum()
    return {
        "mean": float(counts @ lags / total),
        "second_moment": float(counts @ lags**2 / total),
        "percentile_99": int(np.searchsorted(counts.cumsum(), 0.99 * total)),
        "largest": int(np.flatnonzero(counts)[-1]),
        "beyond_share": float(counts[staleness + 1 :].sum() / total),
        "fitted_law": fitted_law(counts, staleness),
    }


def fitted_law(counts: np.ndarray, staleness: int) -> dict[str, float] | None:
    """The a and F of a law that is geometric beyond r, from the share and the mean of the lags beyond r.

    A geometric excess has the mean 1/(1 − a), and the lags up to r have F to a/(1 − a) of those beyond. What is tested
    is then `second_moment_ratio`: E(γ − r)² of the lags beyond r over (1 + a)/(1 − a)², that of the law; and whether
    F ≤ 1. `second_moment` is the statement's bound; both are left out where the law has F > 1.

    Args:
        counts: how often the lag was 0, 1, ….
        staleness: r.

    Returns:
        None where no lag is more than r + 1.
    """
    beyond = counts[staleness + 1 :]
    excess = np.arange(1, len(beyond) + 1)
    if not beyond[1:].any():
        return None
    mean = float(beyond @ excess / beyond.sum())
    decay = 1 - 1 / mean
    weight = float(counts[: staleness + 1].sum() / beyond.sum()) * (mean - 1)
    law = {
        "decay": decay,
        "weight": weight,
        "second_moment_ratio": float(beyond @ excess**2 / beyond.sum()) * (1 - decay) ** 2 / (1 + decay),
    }
    return {**law, **lag_bounds(staleness, decay, weight)} if weight <= 1 else law


def stated_law(readings: Readings, case: LagCase) -> dict[str, float]:
    """F and a of the law as it would follow from independent looks, and the bounds; these are left out where a = 1.

    F is the share of others that are at most r behind one who looks, and a = F^β the probability to pass if all β looks
    were independent of each other and of the past. A worker that far ahead gains a step with every pass, so that lags
    would be geometric beyond r.
    """
    within = 1 - math.fsum(look.laggards for look in readings.looks) / (len(readings.looks) * (case.workers - 1))
    decay = within**case.sample
    law = {"weight": within, "decay": decay}
    return {**law, **lag_bounds(case.staleness, decay, within)} if decay < 1 else law


def lag_bounds(staleness: int, decay: float, weight: float) -> dict[str, float]:
    """What `psp_lag_mean` and `psp_lag_second_moment` say."""
    given = {"lag_threshold": staleness, "lag_decay": decay, "lag_weight": weight}
    return {
        "mean": STATEMENTS["psp_lag_mean"].evaluate(**given),
        "second_moment": STATEMENTS["psp_lag_second_moment"].evaluate(**given),
    }


def passing_record(readings: Readings, case: LagCase) -> dict[str, Any]:
    """Looks and passes by number of laggards, against the probability that `psp_pass_probability` states.

    Returns:
        `laggards`, `looks` and `passes`; the `share` of looks that passed, the `expected_share` given the laggards, and
        the `deviation` of all passes from it in standard errors; `impossible`, passes or waits of probability zero;
        `chi_square`, the squared deviations, also in standard errors, summed over the `compared` numbers of laggards at
        which the variance of the passes is at least `LEAST_VARIANCE`.
    """
    looks, passes = (np.zeros(case.workers, dtype=int) for _ in range(2))
    for look in readings.looks:
        looks[look.laggards] += 1
        passes[look.laggards] += look.passed
    laggards = np.flatnonzero(looks)
    looks, passes = looks[laggards], passes[laggards]
    chances = np.array([pass_probability(case.workers, int(number), case.sample) for number in laggards])
    excess, variance = passes - looks * chances, looks * chances * (1 - chances)
    is_compared = variance >= LEAST_VARIANCE
    return {
        "laggards": laggards.tolist(),
        "looks": looks.tolist(),
        "passes": passes.tolist(),
        "share": float(passes.sum() / looks.sum()),
        "expected_share": math.fsum(looks * chances) / int(looks.sum()),
        "deviation": float(excess.sum() / math.sqrt(variance.sum())) if variance.any() else 0.0,
        "impossible": int(np.abs(excess[variance == 0]).sum()),
        "chi_square": float((excess[is_compared] ** 2 / variance[is_compared]).sum()),
        "compared": int(is_compared.sum()),
    }


def pass_probability(workers: int, laggards: int, sample: int) -> float:
    """What `psp_pass_probability` says."""
    return STATEMENTS["psp_pass_probability"].evaluate(n=workers, laggard_count=laggards, sample_count=sample)


def batch_error(values: Sequence[float] | np.ndarray) -> float:
    """The standard error of the mean of a series whose neighbours depend on each other, from the means of batches."""
    means = [float(batch.mean()) for batch in np.array_split(np.asarray(values), BATCHES)]
    return float(np.std(means, ddof=1) / math.sqrt(BATCHES))
