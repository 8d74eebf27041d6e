"""Real races: what is compared over which seeds, what ended early, and how far off predictions are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.results import result
from paper.studies.real_races import (
    BEFOREHAND,
    MACROS,
    NAME,
    STUDY,
    best_first,
    errors,
    gain,
    real_curves,
    real_errors,
    real_makespans,
    real_races,
    real_table,
)
from sparsync.verify.tools.intervals import paired_difference
from tests.support.drawing import drawn_lines, plain, table_lines
from tests.support.paper_data import PROVENANCE, rewrite, write

QUALITY = {"bsp": (0.50, 0.60), "asp": (0.58, 0.70), "osp": (0.40, 0.90)}
"""Of the two seeds, dense, with one slow worker; a hundredth less with Top-k, and two with Pareto durations."""


def run(policy: str, condition: str, density: float, seed: int) -> dict[str, Any]:
    row = {"policy": policy, "condition": condition, "density": density, "seed": seed}
    if (policy, condition) == ("bsp", "one_killed"):
        ended = {"makespan_seconds": None, "from_own_trace": None, "from_base_trace": None}
        return {**row, **ended, "real": {"ended_after": 3.0, "reason": "lost"}, "simulated": {"step_count": 90}}
    quality = QUALITY[policy][seed] - 0.01 * (density < 1) - 0.02 * (condition == "pareto")
    real = {
        "quality": quality,
        "step_count": 100,
        "sent_bytes": 3_000_000 if density == 1 else 60_000,
        "pulled_bytes": 2_000_000,
        "curve_seconds": [0.0, 3.0, 6.0],
        "curve_quality": [0.1, quality / 2, quality],
        "curve_bytes": [0, 1_000_000, 2_000_000],
    }
    predicted = {"makespan_seconds": 5.0, "from_own_trace": 5.1, "from_base_trace": "waits" if seed else 4.0}
    return {**row, **predicted, "real": real, "simulated": {"step_count": 95}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs = [
        run(policy, condition, density, seed)
        for seed in (1, 0)
        for condition in ("one_slow", "pareto", "one_killed")
        for density in (1.0, 0.01)
        for policy in QUALITY
    ]
    race = {"workers": 4, "seconds": 6.0}
    fields = {"profile": "record", "race": race, "unit_seconds": 0.1, "base": "asp", "runs": runs}
    write(tmp_path / f"{NAME}.json", {**fields, "provenance": PROVENANCE})
    return tmp_path


def test_a_difference_is_paired_by_seed_and_needs_whole_runs(folder: Path) -> None:
    study = result(folder, NAME)
    assert gain(study, "asp", "one_slow", is_sparse=False) == paired_difference([0.58, 0.70], [0.50, 0.60])
    assert gain(study, "asp", "one_killed", is_sparse=False) is None


def test_policies_are_sorted_by_what_they_reach(folder: Path) -> None:
    assert best_first(result(folder, NAME)) == ["osp", "asp", "bsp"]


def test_only_predictions_that_are_seconds_have_an_error(folder: Path) -> None:
    study = result(folder, NAME)
    assert errors(study, "from_own_trace", "asp", "one_slow") == pytest.approx([0.02] * 4)
    assert errors(study, "from_base_trace", "osp", "one_slow") == pytest.approx([-0.2] * 2)
    assert errors(study, "from_base_trace", "asp", "one_slow") == []
    assert errors(study, "from_own_trace", "bsp", "one_killed") == []


def test_ends_and_those_that_ended_early_are_drawn(folder: Path) -> None:
    one_slow, _, killed = real_races(folder).axes
    assert [label.get_text() for label in one_slow.get_yticklabels()] == ["bsp", "asp", "osp"]
    assert [text.get_text() for text in one_slow.texts] == []
    assert [text.get_text() for text in killed.texts] == ["ended", "ended"]
    dense = next(drawn for drawn in one_slow.containers if drawn.get_label() == "dense")
    assert dense[0].get_xydata().tolist() == [[pytest.approx(55.0), 0.15]]


def test_curves_are_means_over_seeds(folder: Path) -> None:
    by_time, by_bytes = real_curves(folder).axes
    ((first, _, last),) = drawn_lines(by_time, "bsp, dense")
    assert (first, last) == ([0.0, pytest.approx(10.0)], [6.0, pytest.approx(55.0)])
    assert by_bytes.get_xscale() == "log"


def test_runs_are_counted_by_how_well_they_were_foretold(folder: Path) -> None:
    (axes,) = real_errors(folder).axes
    lines = {str(line.get_label()): np.asarray(line.get_xydata()) for line in axes.get_lines()}
    assert lines["from its own trace"][:, 0] == pytest.approx([2.0] * 32)
    assert lines["others, from the trace of ASP"][-1] == pytest.approx([20.0, 1.0])
    assert lines[BEFOREHAND.title][:, 0] == pytest.approx([5.0] * 32)


def test_every_error_is_a_dot(folder: Path) -> None:
    one_slow, _, killed = real_makespans(folder).axes
    own = {len(points) for points in drawn_lines(one_slow, "from its own trace")}
    assert own == {12}
    assert {len(points) for points in drawn_lines(killed, "from its own trace")} == {8}


def test_the_table_says_points_sizes_and_what_a_kill_leads_to(folder: Path) -> None:
    table = real_table(folder)
    (osp,), (asp,), (bsp,) = (table_lines(table, f"\\texttt{{{policy}}}") for policy in ("osp", "asp", "bsp"))
    assert osp[-3:] == ["5.0", "2.1", "goes on"]
    assert "+9.0 (-3.7 to +21.7)" in asp[0]
    assert bsp[-1] == "ends"


def test_one_run_has_no_interval_and_no_sign(folder: Path) -> None:
    study = result(folder, NAME)
    first = [row for row in study["runs"] if row["seed"] == 0]
    write(folder / f"{NAME}.json", {**study.fields, "runs": first})
    ((asp, *_),) = table_lines(real_table(folder), "\\texttt{asp}")
    assert asp == "\\textcolor{gray}{+8.0}"
    assert plain(MACROS["RealSeeds"](folder)) == "one run"
    assert plain(MACROS["RealUnknown"](folder)) == "2"
    real_races(folder)


def test_a_lower_mean_whose_sign_is_not_known_is_not_worse(folder: Path) -> None:
    runs = result(folder, NAME)["runs"]
    for row in runs:
        if row["policy"] == "osp":
            row["real"]["quality"] -= 0.2
    rewrite(folder / f"{NAME}.json", runs=runs)
    difference = gain(result(folder, NAME), "osp", "one_slow", is_sparse=False)
    assert difference is not None
    assert difference.value == pytest.approx(-0.1)
    assert [plain(MACROS[name](folder)) for name in ("RealWorse", "RealUnknown")] == ["0", "2"]


def test_a_policy_that_survives_now_and_then_is_said_to(folder: Path) -> None:
    runs = [row for row in result(folder, NAME)["runs"] if (row["policy"], row["condition"]) != ("bsp", "one_killed")]
    lucky = [{**run("asp", "one_killed", 1.0, seed), "policy": "bsp"} for seed in (0, 1)]
    rewrite(folder / f"{NAME}.json", runs=[*runs, *lucky, *(run("bsp", "one_killed", 0.01, seed) for seed in (0, 1))])
    ((*_, said),) = table_lines(real_table(folder), "\\texttt{bsp}")
    assert said == "ends in 2 of 4"


def test_macros_say_how_many_and_how_far_off(folder: Path) -> None:
    found = {name: plain(macro(folder)) for name, macro in MACROS.items()}
    assert (found["RealRuns"], found["RealEnded"], found["RealSeeds"]) == ("32", "4", "2 runs")
    assert (found["RealBetter"], found["RealWorse"], found["RealUnknown"]) == ("0", "0", "2")
    assert (found["RealOwnLargest"], found["RealOwnWithin"], found["RealOwnCount"]) == ("2.0", "32", "32")
    assert (found["RealBaseLargest"], found["RealBaseWithin"], found["RealBaseCount"]) == ("20.0", "0", "10")
    assert found["RealOwnOutside"] == "none"
    assert found["RealBaseOutside"] == r"\texttt{bsp}, \texttt{osp}"
    assert (found["RealBeforeMedian"], found["RealBeforeCount"], found["RealBeforeAbove"]) == ("5.0", "32", "0")


def test_the_study_reads_its_own_file_alone() -> None:
    assert STUDY.results == (NAME,)
