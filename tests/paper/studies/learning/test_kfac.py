"""Comparisons of K-FAC are paired by seed, and say what is not known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper.results import Result, result
from paper.studies.learning.kfac import (
    DIVERGED,
    MACROS,
    NOT_MEASURED,
    accuracy_difference,
    compared_seconds,
    compared_steps,
    crossover,
    kfac_figure,
    kfac_table,
    largest_byte_difference,
    runs_of,
    steps,
    steps_phrase,
    title,
)
from tests.support.drawing import plain
from tests.support.paper_data import write
from tests.support.studies.kfac_data import STEPS, kfac_record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "kfac.json", kfac_record())
    return tmp_path


def runs(folder: Path) -> dict[str, Result]:
    return runs_of(folder)


def test_who_missed_the_target_once_has_no_mean_number_of_steps(folder: Path) -> None:
    found = runs(folder)
    assert steps(found["sgd"]) == [20, 40]
    assert steps(found["adamw"]) is None
    assert steps_phrase(found["adamw"]) == "reached on 1 of 2 seeds"
    # Student's t of one degree of freedom is 12.7; half the difference is 10.
    assert plain(steps_phrase(found["sgd"])) == "30 (-97 to 157)"


def test_steps_are_compared_seed_by_seed(folder: Path) -> None:
    """Both ratios are one half, and so is their mean, without a spread."""
    found = runs(folder)
    assert plain(compared_steps(found["kfac"], found["sgd"])) == "0.50 (0.50 to 0.50)"
    assert compared_steps(found["kfac"], found["adamw"]) == "left open, as AdamW got there on 1 of 2 seeds"


def test_seconds_are_steps_times_those_of_a_step(folder: Path) -> None:
    """A step of K-FAC takes 0.25 s, of descent 0.1 s."""
    study, found = result(folder, "kfac"), runs(folder)
    assert plain(compared_seconds(study, found["kfac"], found["sgd"])) == "1.25 (1.25 to 1.25)"
    assert plain(MACROS["KfacCostOverSgd"](folder)).startswith("2.45 (")
    path = folder / "kfac.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "step_seconds": None}))
    assert compared_seconds(result(folder, "kfac"), found["kfac"], found["sgd"]) == NOT_MEASURED
    assert MACROS["KfacCostOverSgd"](folder) == NOT_MEASURED


def test_accuracies_are_compared_in_points_unless_one_diverged(folder: Path) -> None:
    found = runs(folder)
    difference = accuracy_difference(found["kfac"], found["sgd"])
    assert difference is not None
    assert difference.value == pytest.approx(2.0)
    assert accuracy_difference(found["sgd, gradients 0.01"], found["sgd"]) is None
    assert plain(MACROS["KfacSgdSelected"](folder)).endswith("left open in 1, as 1 of 4 runs diverged")
    assert DIVERGED not in MACROS["KfacPointsOverSgd"](folder)


def test_the_crossover_is_where_decompositions_are_as_many_bytes(folder: Path) -> None:
    """30 bytes a step every 20 steps are 600 at once; 200 go at every step."""
    assert crossover(folder) == 3.0
    assert largest_byte_difference(folder) == 0


def test_contestants_are_told_apart(folder: Path) -> None:
    study = result(folder, "kfac")
    titles = [title(study, run) for run in runs(folder).values()]
    assert len(set(titles)) == len(STEPS)
    assert "K-FAC, $q=80$" in titles
    assert "K-FAC, factors $\\kappa=0.01$, EF21" in titles
    assert "momentum, $\\kappa=0.1$" in titles


def test_the_table_has_a_row_for_each(folder: Path) -> None:
    lines = [line for line in kfac_table(folder).splitlines() if "&" in line]
    assert len(lines) == 1 + len(STEPS)
    assert "on 1 of 2 seeds" in lines[3]
    assert "diverged" in lines[8]


def test_the_figure_says_how_many_seeds_reached_the_target(folder: Path) -> None:
    curves, places = kfac_figure(folder).axes
    assert [text.get_text() for text in places.texts] == ["1/2", "0/2", "1/2"]
    assert len(places.get_yticks()) == len(STEPS)
    assert len(curves.lines) == 3 * 3 + 1


@pytest.mark.parametrize("name", MACROS)
def test_every_macro_can_be_made_of_smoke_data_with_one_seed(name: str, tmp_path: Path) -> None:
    record = kfac_record("smoke")
    for run in record["runs"]:
        for field in ("steps_to_target", "test_accuracy", "accuracies"):
            run[field] = run[field][:1]
    write(tmp_path / "kfac.json", {**record, "seeds": [0], "step_seconds": None})
    assert MACROS[name](tmp_path)
