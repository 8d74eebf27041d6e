"""Differences are paired, of the right sign and unit, and a divergence has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.results import Result, result
from paper.studies.convergence.runs import (
    MOMENTUM,
    PLAIN,
    Setting,
    band_shares,
    collapsed_count,
    compared,
    contestant,
    difference,
    differences,
    ends,
    keeps_about_k,
    mean_gains,
    median_gain,
    methods,
    settings,
    studies,
)
from tests.support.paper_data import ARENAS, rewrite, write_results
from tests.support.studies.convergence_data import ACCURACY, contestant_record, diverged


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path / "data")


def found(folder: Path, arena: str, rule: str, method: str) -> tuple[Result, Result]:
    study = studies(folder)[arena]
    each = contestant(study, rule, method, 0.001)
    assert each is not None
    return study, each


def test_only_arenas_that_have_been_run_are_there(folder: Path, tmp_path: Path) -> None:
    assert tuple(studies(folder)) == ARENAS
    assert studies(tmp_path / "absent") == {}
    assert compared(folder, Setting("lenet5", "momentum", 0.001), "gaussian_k") is None


def test_settings_are_those_of_exact_top_k(folder: Path) -> None:
    places = [("fnn3", "plain"), ("fnn3", "momentum"), ("gpt", "adamw")]
    assert settings(folder) == [Setting(*place, density) for place in places for density in (0.001, 0.01)]


def test_a_dense_run_means_the_same_at_all_densities(folder: Path) -> None:
    study = studies(folder)["fnn3"]
    assert contestant(study, "plain", "dense", 0.001) == contestant(study, "plain", "dense", 0.05)
    assert contestant(study, "plain", "top_k", 0.05) is None
    assert methods(study, "plain", 0.05) == ["dense", "powersgd"]


def test_images_are_compared_in_points_seed_by_seed(folder: Path) -> None:
    study, ours = found(folder, "fnn3", "plain", "gaussian_k")
    _, exact = found(folder, "fnn3", "plain", "top_k")
    assert ends(study, ours) == pytest.approx([81.0, 80.0])
    assert differences(study, ours, exact) == pytest.approx([1.0, -2.0])
    estimate = difference(study, ours, exact)
    assert estimate is not None
    assert estimate.value == pytest.approx(-0.5)
    assert estimate.count == 2


def test_less_loss_on_text_is_more(folder: Path) -> None:
    study, ours = found(folder, "gpt", "adamw", "gaussian_k")
    _, exact = found(folder, "gpt", "adamw", "top_k")
    assert ends(study, ours) == pytest.approx([1.62, 1.6])
    assert differences(study, ours, exact) == pytest.approx([100 * (1 - 1.62 / 1.6), 100 * (1 - 1.6 / 1.64)])


def test_what_diverged_has_no_difference(folder: Path) -> None:
    study, ours = found(folder, "fnn3", "plain", "gaussian_k")
    lost = Result(ours.path, diverged(dict(ours.fields), seed=1))
    assert ends(study, lost) is None
    assert difference(study, lost, ours) is difference(study, ours, lost) is None


def test_what_ends_no_better_than_a_guess_has_learnt_nothing_and_tells_no_count(folder: Path) -> None:
    """Of ten classes a guess has a loss of log 10 = 2.303, of the bytes of text log 256 = 5.545."""
    study, ours = found(folder, "fnn3", "momentum", "gaussian_k")
    lost = Result(ours.path, {**ours.fields, "test_loss": [2.29, 2.27], "in_range_share": [0.25, 1.0]})
    assert collapsed_count(study, ours) == 0
    assert collapsed_count(study, lost) == 1
    assert band_shares(study, lost) == [1.0]
    text, _ = found(folder, "gpt", "adamw", "gaussian_k")
    assert collapsed_count(text, lost) == 0
    assert collapsed_count(text, Result(ours.path, {**ours.fields, "test_loss": [None, 5.5]})) == 1


def test_gains_are_means_of_the_seeds(folder: Path) -> None:
    _, exact = found(folder, "fnn3", "plain", "top_k")
    assert mean_gains(exact) == [10.0, 6.5]
    lost = Result(exact.path, {**exact.fields, "gain": [[10.0, 6.0], [10.0, None]]})
    assert mean_gains(lost) == [10.0, None]
    assert mean_gains(Result(exact.path, {**exact.fields, "gain": [[10.0, 6.0], None]})) == []


def test_a_median_gain_is_that_of_runs_that_ended(folder: Path) -> None:
    _, exact = found(folder, "fnn3", "plain", "top_k")
    assert median_gain(exact) == 8.5
    lost = Result(exact.path, {**exact.fields, "test_loss": [1.0, None]})
    assert median_gain(lost) == 8.0
    assert median_gain(Result(exact.path, {**exact.fields, "test_loss": [None, None]})) == 8.5


@pytest.mark.parametrize(("counts", "is_so"), [([0.7, 1.3], True), ([0.7, 1.4], False), ([0.6, 1.0], False)])
def test_about_k_is_the_range_that_gaussian_k_aims_at(counts: list[float], is_so: bool) -> None:
    record = contestant_record("plain", "gaussian_k", 0.001, median_count=counts)
    assert keeps_about_k(Result(Path("x"), record)) == is_so


def test_each_setting_is_compared_with_its_own_runs(folder: Path) -> None:
    """With momentum the released rule is made 5 points better than Top-k, and at density 0.01 as good as it."""
    record = result(folder, "convergence_fnn3")["contestants"]
    for each in record:
        if (each["optimiser"], each["method"]) == ("momentum", "gaussian_k_released"):
            lead = 0.05 if each["density"] == MOMENTUM.density else 0.0
            each["test_accuracy"] = [share + lead for share in ACCURACY["top_k"]]
    rewrite(folder / "convergence_fnn3.json", contestants=record)
    places = (PLAIN, MOMENTUM, Setting("fnn3", "momentum", 0.01))
    estimates = [compared(folder, place, "gaussian_k_released") for place in places]
    assert [each and each.value for each in estimates] == pytest.approx([-5.0, 5.0, 0.0])
