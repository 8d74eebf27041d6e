"""What do claims say of gradients? Estimates over all runs and seeds, none of which rests on few seeds.

The bounds were chosen when the first seed's runs were known, and before any other was run.
"""

from __future__ import annotations

from math import log
from pathlib import Path

from paper.results import Result
from paper.studies.convergence.runs import LEAST_SEEDS
from paper.studies.gradient_laws.runs import all_runs, best_of, inflations, seed_counts, shares
from paper.verdicts import NotMeasuredError
from sparsync.verify.tools.intervals import Estimate, exact

LEAST_INFLATION = 4.0
"""Feedback multiplies the standard deviation by more, on every model."""
LEAST_SHARE = 0.99
"""Of the updates of a run at which the published hypothesis is met, but for what chance allows."""
PUBLISHED = "square_convex"
"""The rung with the published hypothesis, exponent two."""


def least_inflation(data_folder: Path) -> Estimate:
    """The logarithm of the factor of the standard deviation less that of `LEAST_INFLATION`: its low end the least.

    Raises:
        FileNotFoundError: the study has not been run.
        NotMeasuredError: it has no runs, or too few seeds.
    """
    _runs_on_enough_seeds(data_folder)
    found = min(inflations(data_folder), key=lambda estimate: estimate.low)
    value, low, high = (end - log(LEAST_INFLATION) for end in (found.value, found.low, found.high))
    return Estimate(value, low, high, found.count)


def normal_count(data_folder: Path) -> Estimate:
    """In how many runs the normal law was the likeliest at the last update; raises as `least_inflation`."""
    named = [best for run in _runs_on_enough_seeds(data_folder) if (best := best_of(run)) is not None]
    return exact(named.count("norm"), count=len(named))


def least_met(data_folder: Path) -> Estimate:
    """The least share of the updates of a run at which the published hypothesis is met; raises as `least_inflation`."""
    found = shares(_runs_on_enough_seeds(data_folder), PUBLISHED, "share")
    return exact(min(found), count=len(found))


def _runs_on_enough_seeds(data_folder: Path) -> list[Result]:
    counts = seed_counts(data_folder)
    if min(counts.values(), default=0) < LEAST_SEEDS:
        raise NotMeasuredError(f"gradients were looked at on few seeds, by model: {counts}")
    return [run for _, run in all_runs(data_folder)]
