"""The study of a farm: predictions of medians of constants, what can be told from the fastest, trees by trying all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.bulk import farm
from sparsync.experiments.studies.planning import farms
from sparsync.experiments.studies.planning.farms import SIZES, Sizes, Tree, fastest, row, run_farms, tree_example
from sparsync.theory.cost.farm_boundaries import STATEMENTS

COUNTS = (1, 2, 4)


def measured(dispatch: float, seconds: tuple[float, ...], digest: str = "same") -> dict[str, Any]:
    """A result of the program."""
    constants = {"dispatch": dispatch, "send": 0.004, "collect": 0.001, "receive": 0.006, "work": 0.2, "master": 0.01}
    curve = [
        {"worker_count": count, "measured_seconds": each, "iterates_digest": digest, "told_bytes": 8 * count}
        for count, each in zip(COUNTS, seconds, strict=True)
    ]
    return {
        "load": {"meaning": "sleeps"},
        "payload_share": 0.5,
        "constants": {f"{name}_seconds": value for name, value in constants.items()},
        "curve": curve,
    }


ROUNDS = [measured(0.003, (0.23, 0.12, 0.09)), measured(0.009, (0.24, 0.13, 0.10)), measured(0.005, (0.22, 0.11, 0.08))]


def test_a_row_predicts_from_the_medians_of_constants() -> None:
    found = row(ROUNDS)
    assert found["constants"]["dispatch_seconds"] == 0.005
    points = {point["worker_count"]: point for point in found["curve"]}
    # Half of what is told is sent: a message takes 7 ms, an answer 1 ms and 3 ms by all together.
    assert points[4]["phased_seconds"] == pytest.approx(4 * (0.005 + 0.001 + 0.002) + 0.003 + 0.01 + 0.05)
    assert points[4]["pipelined_seconds"] == pytest.approx(4 * 0.007 + 0.05 + 0.001 + 0.00075 + 0.01)
    assert points[2]["seconds"] == [0.12, 0.13, 0.11]
    assert found["boundary"]["worker_count"] == pytest.approx((0.2 / 0.008) ** 0.5)
    assert (found["fastest_count"], found["close_counts"]) == (4, [4])


def test_other_iterates_on_more_workers_are_an_error() -> None:
    with pytest.raises(RuntimeError, match="2 different sequences of iterates"):
        row([*ROUNDS, measured(0.003, (0.2, 0.1, 0.1), "other")])


def test_what_differs_by_less_than_rounds_do_cannot_be_told_from_the_fastest() -> None:
    noisy = fastest([1, 2, 3], [[9.0, 9.1, 9.2], [1.1, 1.0, 1.2], [1.0, 1.1, 1.1]])
    assert noisy == {"fastest_count": 3, "close_counts": [2, 3]}
    # A round in which all take twice as long hides nothing.
    clear = fastest([1, 2, 3], [[9.0, 18.0, 9.1], [1.1, 2.21, 1.101], [1.0, 2.0, 1.001]])
    assert clear == {"fastest_count": 3, "close_counts": [3]}


def test_boundaries_in_a_tree_are_where_trying_all_finds_them() -> None:
    found = tree_example()
    for name in ("tree", "gathered"):
        assert abs(found[name]["boundary"] - found[name]["best_count"]) < 1
    depth = STATEMENTS["tree_farm_depth"].fraction(
        map_time=Tree.map_seconds, fold_time=Tree.fold_seconds, round_time=Tree.round_seconds, list_length=Tree.parts
    )
    assert found["tree"]["best_level_count"] == 2**depth
    dearer = tree_example(replace(Tree(), fold_seconds=1e-4, parts=1000))
    assert abs(dearer["gathered"]["boundary"] - dearer["gathered"]["best_count"]) < 1
    assert dearer["gathered"]["best_count"] < found["gathered"]["best_count"]


def test_a_study_has_a_row_for_each_density_and_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def rounds(program: str, each: list[dict[str, Any]], **how: Any) -> list[list[dict[str, Any]]]:
        assert program == "farm"
        assert how["process_count"] == 1 + max(SIZES["smoke"].workers)
        asked.extend(each)
        return [[one] * len(each) for one in ROUNDS[: how["round_count"]]]

    monkeypatch.setattr(farms, "measured_rounds", rounds)
    study = run_farms("smoke")
    assert [one["density"] for one in asked] == [one["density"] for one in study["rows"]] == [1.0, 0.25]
    json.dumps(study, allow_nan=False)
    assert farms.summary(study).count("predicted boundary") == 2


@pytest.mark.parametrize("profile", SIZES)
def test_every_size_is_one_that_the_program_takes_and_puts_the_boundaries_within_it(profile: str) -> None:
    sizes: Sizes = SIZES[profile]  # type: ignore[index]  # the keys are the literals
    assert sizes.round_count > 1
    for density in sizes.densities:
        job = farm.Settings(**sizes.settings(density)).job
        sleep = sizes.message_seconds + sizes.byte_seconds * job.told_bytes()
        boundary = (sizes.blocks * sizes.work_seconds / sleep) ** 0.5
        assert sizes.workers[0] == 1 < boundary < sizes.workers[-1]


def test_the_command_line_refuses_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    assert farms.STUDY.read(["--output", str(tmp_path / "f.json"), "--profile", "smoke"]).profile == "smoke"
    with pytest.raises(ValueError, match="nowhere"):
        farms.STUDY.read(["--output", str(tmp_path / "nowhere" / "f.json")])
