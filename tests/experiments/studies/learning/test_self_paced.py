"""The study runs every case, and what it compares with are minimisers of what they should be."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sparsync.experiments.learning.regression import make_task
from sparsync.experiments.studies.learning import self_paced
from sparsync.experiments.studies.learning.self_paced import (
    METHODS,
    SIZES,
    DescentCase,
    RecoveryCase,
    SelectionCase,
    case_count,
    huber,
    least_squares,
    optimum,
    run_case,
    run_self_paced,
)
from sparsync.verify.tools.pool import Pool

TINY = replace(SIZES["smoke"], descent_step_count=12, selection_step_count=12)


def test_both_references_find_the_same_minimiser() -> None:
    """Half the slope bounds the distance from the minimiser: roundings of one, and cvxpy's gap of 1e-8 of the other."""
    batches = make_task(TINY.regression).batches
    found, exact = optimum(batches), least_squares(batches)
    features = torch.cat([batch.features for batch in batches])
    targets = torch.cat([batch.targets for batch in batches])
    slopes = [float((2 * features.T @ (features @ one - targets) + 2 * one).norm()) / 2 for one in (found, exact)]
    # A gap g of the objective leaves a slope of at most √(2λ_max·g), and λ_max is less than 2(‖X‖² + 1).
    gap = 1e-8 * (1 + float(targets.square().sum()))
    assert slopes[0] <= (4 * float(features.square().sum() + 1) * gap) ** 0.5 / 2
    assert slopes[1] <= 2.0**-53 * 4 * len(targets) * float(features.norm() * targets.norm())


def test_hubers_regression_is_that_of_clean_data_where_nothing_is_moved() -> None:
    """Five standard errors of three coefficients, 0.1·√(3/2000) each time."""
    clean = make_task(replace(TINY.regression, example_count=2000, good_share=0.0, corrupted_count=0))
    assert clean.recovery_error(huber(clean.batches)) == pytest.approx(0, abs=0.02)


def test_all_methods_learn_one_task_and_moved_examples_are_counted() -> None:
    row = run_case(RecoveryCase("synthetic", 4, 0, TINY))
    task = make_task(replace(TINY.regression, corrupted_count=4))
    assert row["clean"] == task.recovery_error(least_squares(task.clean()))
    assert row["example_count"] == TINY.regression.example_count
    assert row["selected_moved_count"] <= row["selected_count"] <= row["example_count"]
    assert row["violation_count"] == 0
    real = run_case(RecoveryCase("diabetes", 9, 0, TINY))
    assert all(20 < real[name] < 1000 for name in METHODS)


def test_the_right_step_never_rises_and_the_printed_one_does() -> None:
    right, printed = (run_case(DescentCase(50, z_step, 0, TINY)) for z_step in ("right", "printed"))
    assert right["rising_share"] == 0 < printed["rising_share"]
    assert right["distance"] < printed["distance"]


def test_a_run_that_never_ends_has_neither_steps_nor_bytes_and_one_that_does_has_both() -> None:
    short = run_case(SelectionCase(0.25, "ef21", True, 0, TINY, keeps_residuals=True))
    assert (short["step_count"], short["sent_bytes"]) == (None, None)
    assert 0 < short["damping"] < 1
    assert len(short["residual"]) == 12
    long = run_case(SelectionCase(1.0, "ef21", False, 0, replace(TINY, selection_step_count=400)))
    looks = long["sent_bytes"] - long["step_count"] * long["step_bytes"]
    # At most four looks, each of two numbers more than a proposal.
    assert 0 < looks <= 4 * (long["step_bytes"] + 10 * 2 * 8)
    assert long["distance"] < short["distance"]
    assert run_case(SelectionCase(1.0, "ef21", False, 1, TINY))["residual"] is None


def test_the_study_has_a_row_for_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = replace(TINY, corrupted_counts=(9,), descent_step_count=2, selection_step_count=2)
    monkeypatch.setitem(SIZES, "smoke", sizes)
    monkeypatch.setattr(self_paced, "DESCENT_SIZES", (5,))
    advanced: list[None] = []
    study = run_self_paced("smoke", Pool(advance=lambda: advanced.append(None)))
    rows = sum(len(study[part]) for part in ("recovery", "descent", "selection"))
    assert len(advanced) == case_count("smoke") == rows == 2 + 2 + 5
    assert all(len(row["residual"]) == 2 for row in study["selection"])
    assert study["corrupted_count"] == [9]
