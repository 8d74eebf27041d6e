"""Claims on gradients rest on five seeds of every model, and on the run that speaks most against them."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import pytest

from paper.studies.gradient_laws.estimates import least_inflation, least_met, normal_count
from paper.verdicts import NotMeasuredError
from sparsync.verify.tools.intervals import Estimate
from tests.support.studies.gradient_laws_data import repeats_of, run, study

SEEDS = (1, 2, 3, 4)
RUNS = [
    run("fnn3", "dense"),
    run("fnn3", "top_k", deviation=7.0),
    run("gpt", "dense", deviation=2.0),
    run("gpt", "top_k", deviation=40.0),
]
ESTIMATES = (least_inflation, normal_count, least_met)


def test_the_least_factor_is_that_of_the_model_whose_interval_begins_lowest(tmp_path: Path) -> None:
    """GPT has 20 on every seed; FNN-3 has 7 first, then more: its mean is larger than 20, and its interval wide."""
    alike = repeats_of(RUNS, SEEDS)
    found = least_inflation(study(tmp_path, RUNS, alike))
    assert (found.value, found.low, found.high) == pytest.approx((log(7 / 4),) * 3)
    assert found.count == 5
    spread = [one for one in repeats_of(RUNS, SEEDS, spread=2.0) if one["model"] == "fnn3"]
    found = least_inflation(study(tmp_path, RUNS, [*spread, *(one for one in alike if one["model"] == "gpt")]))
    # Factors of 7 times 1, 2, 4, 8 and 16; Student's t of four degrees of freedom is 2.776.
    middle, reach = log(7 * 4 / 4), 2.776445 * log(2) * (10 / 4 / 5) ** 0.5
    assert (found.value, found.low, found.high) == pytest.approx((middle, middle - reach, middle + reach), rel=1e-6)


@pytest.mark.parametrize("place", [0, -1])
def test_one_run_of_any_seed_can_refute(place: int, tmp_path: Path) -> None:
    folder = study(tmp_path, RUNS, repeats_of(RUNS, SEEDS))
    assert (normal_count(folder), least_met(folder)) == (Estimate(0, 0, 0, 20), Estimate(1, 1, 1, 20))
    runs = [run(one["model"], one["kind"], deviation=one["late_deviation"]) for one in RUNS]
    repeats = repeats_of(RUNS, SEEDS)
    changed: dict[str, Any] = (runs if place == 0 else repeats)[place]
    changed["observations"][-1]["best_law"] = "norm"
    changed["hypotheses"]["square_convex"] = changed["hypotheses"]["square_convex"] | {"share": 0.5}
    folder = study(tmp_path, runs, repeats)
    assert (normal_count(folder).value, least_met(folder).value) == (1, 0.5)


def test_the_other_hypothesis_is_not_asked_for(tmp_path: Path) -> None:
    runs = [run(one["model"], one["kind"], share=0.5) for one in RUNS]
    assert least_met(study(tmp_path, runs, repeats_of(runs, SEEDS))).value == 1


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_nothing_is_estimated_from_few_seeds(estimate: Callable[[Path], Estimate], tmp_path: Path) -> None:
    estimate(study(tmp_path, RUNS, repeats_of(RUNS, SEEDS)))
    few = repeats_of(RUNS, SEEDS[:-1])
    one_model = [*repeats_of(RUNS[:2], SEEDS), *repeats_of(RUNS[2:], SEEDS[:-1])]
    for runs, repeats in ((RUNS, few), (RUNS, one_model), (RUNS, None), ([], []), ([], None)):
        with pytest.raises(NotMeasuredError, match="few seeds"):
            estimate(study(tmp_path, runs, repeats))
