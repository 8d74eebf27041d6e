"""How many more steps does training take when updates arrive late? Networks by depth, optimiser and number of workers.

After Dai, Zhou, Dong, Zhang and Xing (2018), as described to us; the model is that of `stale_descent.py`. Of every
setting the step size is tuned without delays and kept with them; beside it stands what smaller ones would have given.
Along the way: the coherence of gradients, the rate of `stale_rate.py`, and the limits of `stale_limits.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import ceil
from statistics import fmean
from typing import Any

from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.studies.staleness.smooth_problems import PROBLEMS
from sparsync.experiments.studies.staleness.stale_descent import OPTIMISERS
from sparsync.experiments.studies.staleness.stale_limits import MOMENTA, limit_row
from sparsync.experiments.studies.staleness.stale_rate import rate_rows
from sparsync.experiments.studies.staleness.stale_training import (
    BATCH_SIZE,
    Probe,
    Setting,
    Tuned,
    fastest,
    steps_to_target,
)
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

STEP_SIZES: dict[str, tuple[float, ...]] = {
    "sgd": (0.8, 0.4, 0.2, 0.1),
    "momentum": (0.16, 0.08, 0.04, 0.02),
    "adam": (0.016, 0.008, 0.004, 0.002),
    "adagrad": (0.08, 0.04, 0.02, 0.01),
    "rmsprop": (0.008, 0.004, 0.002, 0.001),
}
"""Tried without delays, in this order; of each optimiser four, apart by a factor of two."""
RATE_STALENESSES = (1, 4, 16)


@dataclass(frozen=True)
class Sizes:
    """The size of the study.

    Args:
        hidden_counts: the depths.
        optimisers: keys of `OPTIMISERS`.
        worker_counts: the numbers of workers.
        middle: the setting that all sweeps share.
        is_product: every combination instead of three sweeps through the middle.
        stalenesses: every s > 0.
        retuned_stalenesses: those at which smaller step sizes are tried too.
        shrinkages: the factors of these.
        seed_count: runs of each kind.
        target: test accuracy to be reached.
        tuning_limit: steps without delays, at most.
        patience: steps with delays at most, as a multiple of those without.
        rate_steps: T of the runs that the rate is checked on.
        rate_seed_count: of these.
        limit_delays: mean delays at which the largest stable step is looked for.
    """

    hidden_counts: tuple[int, ...]
    optimisers: tuple[str, ...]
    worker_counts: tuple[int, ...]
    middle: Setting
    stalenesses: tuple[int, ...]
    retuned_stalenesses: tuple[int, ...]
    shrinkages: tuple[float, ...]
    seed_count: int
    target: float
    tuning_limit: int
    rate_steps: int
    rate_seed_count: int
    limit_delays: tuple[int, ...]
    patience: int = 3
    is_product: bool = False

    def settings(self) -> list[Setting]:
        """Every setting once, the deepest first, so that a pool is busy to the end."""
        if self.is_product:
            found = [Setting(*choice) for choice in product(self.hidden_counts, self.optimisers, self.worker_counts)]
        else:
            middle = self.middle
            found = [Setting(count, middle.optimiser, middle.worker_count) for count in self.hidden_counts]
            found += [Setting(middle.hidden_count, name, middle.worker_count) for name in self.optimisers]
            found += [Setting(middle.hidden_count, middle.optimiser, count) for count in self.worker_counts]
        return sorted(dict.fromkeys(found), key=lambda setting: -setting.hidden_count)


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        hidden_counts=(0, 2, 4),
        optimisers=tuple(OPTIMISERS),
        worker_counts=(1, 4, 8),
        middle=Setting(2, "sgd", 4),
        stalenesses=(4, 8, 16),
        retuned_stalenesses=(4, 8),
        shrinkages=(0.5,),
        seed_count=1,
        target=0.4,
        tuning_limit=40,
        rate_steps=30,
        rate_seed_count=5,
        limit_delays=(0, 1, 2),
    ),
    "quick": Sizes(
        hidden_counts=(0, 1, 2, 3, 4),
        optimisers=tuple(OPTIMISERS),
        worker_counts=(1, 4, 8),
        middle=Setting(2, "sgd", 4),
        stalenesses=(4, 8, 16),
        retuned_stalenesses=(4, 8),
        shrinkages=(0.5, 0.25),
        seed_count=2,
        target=0.78,
        tuning_limit=600,
        rate_steps=300,
        rate_seed_count=5,
        limit_delays=(0, 1, 2, 4, 8),
    ),
    "full": Sizes(
        hidden_counts=(0, 1, 2, 3, 4, 5, 6),
        optimisers=tuple(OPTIMISERS),
        worker_counts=(1, 2, 4, 8, 16),
        middle=Setting(2, "sgd", 4),
        stalenesses=(2, 4, 8, 16, 32, 48),
        retuned_stalenesses=(2, 4, 8, 16, 32, 48),
        shrinkages=(0.5, 0.25, 0.125, 0.0625),
        seed_count=8,
        target=0.78,
        tuning_limit=5000,
        rate_steps=10_000,
        rate_seed_count=16,
        limit_delays=(0, 1, 2, 4, 8, 16, 32),
        patience=10,
        is_product=True,
    ),
}


def run_staleness(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Run every setting, every rate and every limit; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.
        seed: of parameters, batches and delays.

    Returns:
        `settings`: see `setting_record`, those out of reach are named in `unreached`; `rates`: see `rate_rows`;
        `limits`: see `limit_row`; and the sizes.
    """
    sizes = sized(SIZES, profile_name)
    settings, rates, limits = _cases(sizes, seed)
    found = iter(pool.run(_call, [*settings, *rates, *limits]))
    records = [(setting, next(found)) for setting in sizes.settings()]
    return {
        "profile": profile_name,
        "seed": seed,
        "target": sizes.target,
        "patience": sizes.patience,
        "tuning_limit": sizes.tuning_limit,
        "batch_size": BATCH_SIZE,
        "seed_count": sizes.seed_count,
        "middle": vars(sizes.middle),
        "stalenesses": list(sizes.stalenesses),
        "retuned_stalenesses": list(sizes.retuned_stalenesses),
        "settings": [record for _, record in records if record is not None],
        "unreached": [vars(setting) for setting, record in records if record is None],
        "rates": [row for _ in rates for row in next(found)],
        "limits": list(found),
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How many cases the study runs."""
    return sum(len(kind) for kind in _cases(sized(SIZES, profile_name), 0))


def setting_record(setting: Setting, sizes: Sizes, seed: int) -> dict[str, Any] | None:
    """A setting with and without delays.

    The step size is that of `STEP_SIZES` which is `fastest` without delays. With delays it is kept, and each run has
    `patience` times the mean number of steps without.

    Returns:
        The setting, its `step_size`, and `runs`: for each staleness, 0 included, the `steps` of every seed and
        `relative`, their mean as a multiple of that without delays; both None if one was not reached. Where smaller
        step sizes were tried, `best_relative` and `best_step_size` are those of the fastest, the kept one included.
        With delays also `coherence` along the runs with the step size kept. None if no step size reaches the target
        without delays.
    """
    seeds = [seed * sizes.seed_count + place for place in range(sizes.seed_count)]
    run = partial(steps_to_target, setting, target=sizes.target)
    tuned = fastest(partial(run, staleness=0), STEP_SIZES[setting.optimiser], seeds=seeds, limit=sizes.tuning_limit)
    if tuned is None:
        return None
    limit = ceil(sizes.patience * fmean(tuned.steps))
    runs: list[dict[str, Any]] = [{"staleness": 0, "steps": list(tuned.steps), "relative": 1.0}]
    for staleness in sizes.stalenesses:
        late, probe = partial(run, staleness=staleness), Probe(staleness)
        kept = fastest(partial(late, watch=probe.observe), [tuned.step_size], seeds=seeds, limit=limit)
        row = {"staleness": staleness, "steps": kept and list(kept.steps), "relative": _relative(kept, tuned)}
        if staleness in sizes.retuned_stalenesses:
            smaller = [tuned.step_size * factor for factor in sizes.shrinkages]
            best = fastest(late, smaller, seeds=seeds, limit=limit, best=kept)
            row |= {"best_relative": _relative(best, tuned), "best_step_size": best and best.step_size}
        runs.append(row | {"coherence": probe.coherences})
    return {**vars(setting), "step_size": tuned.step_size, "limit": limit, "runs": runs}


def _relative(late: Tuned | None, tuned: Tuned) -> float | None:
    return None if late is None else fmean(late.steps) / fmean(tuned.steps)


def _cases(sizes: Sizes, seed: int) -> tuple[list[Callable[[], Any]], list[Callable[[], Any]], list[Callable[[], Any]]]:
    """Settings, rates and limits, each a case without arguments."""
    settings = [partial(setting_record, setting, sizes, seed) for setting in sizes.settings()]
    seeds = [seed * sizes.rate_seed_count + place for place in range(sizes.rate_seed_count)]
    rates = [
        partial(rate_rows, name, stalenesses=RATE_STALENESSES, step_count=sizes.rate_steps, seeds=seeds)
        for name in PROBLEMS
    ]
    limits = [partial(limit_row, delay, momentum, seed=seed) for momentum in MOMENTA for delay in sizes.limit_delays]
    return [*settings], [*rates], [*limits]


def _call(case: Callable[[], Any]) -> Any:
    return case()
