"""A verdict follows from the numbers: other numbers, another verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paper.comparisons import UNKNOWN
from paper.results import result
from paper.studies.headlines.findings import growing_wins, has_curves_of, largest_plan, race_ends, selecting_gains
from paper.studies.headlines.headline import (
    FAILS,
    HOLDS,
    NOT_COMPARABLE,
    NOT_REPRODUCED,
    OPEN,
    REPRODUCED,
    Headline,
)
from paper.studies.headlines.settings import measured, step_ratio
from paper.studies.headlines.study import HEADLINES, SELECTING, WAITING, headline_table, verdict_tally
from paper.studies.links.times import Links
from paper.studies.staleness_runs import OPTIMISERS, SIZES, sweep
from tests.support.paper_data import rewrite, write, write_results
from tests.support.studies.race_data import write_races
from tests.support.studies.switching_data import switching_record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path / "data")


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, for tests that only read it."""
    return write_results(tmp_path_factory.mktemp("paper") / "data")


def _verdict(source: str, folder: Path) -> str:
    """Of the source's first headline."""
    return next(headline for headline in HEADLINES if headline.source == source).verdict(folder)


def _change(folder: Path, study: str, field: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    rows = result(folder, study)[field]
    rewrite(folder / f"{study}.json", **{field: [change(row) for row in rows]})


@pytest.mark.parametrize("headline", HEADLINES, ids=lambda headline: headline.source)
def test_every_headline_has_a_verdict_and_numbers_beside_it(headline: Any, unchanged: Path) -> None:
    known = (HOLDS, FAILS, OPEN) if headline.is_described else (REPRODUCED, NOT_REPRODUCED, UNKNOWN)
    assert headline.verdict(unchanged) in (*known, NOT_COMPARABLE)
    assert r"\ensuremath{" in headline.ours(unchanged)
    # Outside mathematics an underscore ends the run of LaTeX.
    assert "_" not in headline.ours(unchanged).replace(r"\_", "")


def test_the_table_has_every_headline_about_waiting(unchanged: Path) -> None:
    tables = {is_judged: headline_table(unchanged, is_judged=is_judged) for is_judged in (True, False)}
    for headline in HEADLINES:
        row = f"\\citet{{{headline.source}}} & {headline.claim} &"
        is_judged = headline.holds is not None
        assert (row in tables[is_judged]) == (headline is not SELECTING)
        assert row not in tables[not is_judged]


def test_verdicts_are_counted_one_for_each_headline_about_waiting(unchanged: Path) -> None:
    counts = [int(count) for count in re.findall(r"\{(\d+)\}", verdict_tally(unchanged))]
    assert sum(counts) == len(WAITING) == len(HEADLINES) - 1


@pytest.mark.parametrize(
    ("held", "published", "described"),
    [
        (True, REPRODUCED, HOLDS),
        (False, NOT_REPRODUCED, FAILS),
        (None, UNKNOWN, OPEN),
    ],
)
def test_where_the_abstract_alone_is_known_the_rule_is_judged_and_not_the_publication(
    held: bool | None, published: str, described: str, tmp_path: Path
) -> None:
    def verdict(*, is_described: bool) -> str:
        words = {"source": "a", "claim": "b", "reason": "c"}
        return Headline(**words, ours=str, holds=lambda _: held, is_described=is_described).verdict(tmp_path)

    assert verdict(is_described=False) == published
    assert verdict(is_described=True) == described
    assert "described" in described
    assert "reproduced" not in described


def test_what_is_known_by_its_abstract_alone_is_marked() -> None:
    """By the notes on what was read: no text and no program of these was."""
    marked = {headline.source for headline in HEADLINES if headline.is_described}
    assert marked == {"chen2023", "xiong2021", "vora2024", "goel2015", "dai2018", "behfar2026"}


def test_steps_are_compared_within_a_setting(folder: Path) -> None:
    setting = "two processors of fixed speeds"
    assert measured(folder, setting, "asp")["mean_steps"] == 2000
    assert step_ratio(folder, setting, "asp", "bsp") == 2
    with pytest.raises(ValueError, match="no contestant 'dybw' in the setting 'two processors"):
        measured(folder, setting, "dybw")


@pytest.mark.parametrize(
    ("source", "contestant", "factor"),
    [
        ("zhao2019", "dssp", 1.84),
        ("zhao2020", "elastic 15", 0.5),
        ("wang2017", "pbsp 10", 3.0),
        ("chen2020", "lb_bsp", 0.5),
    ],
)
def test_other_steps_turn_the_verdict(source: str, contestant: str, factor: float, folder: Path) -> None:
    before = _verdict(source, folder)

    def change(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"mean_steps": row["mean_steps"] * factor} if row["contestant"] == contestant else row

    _change(folder, "headlines", "rows", change)
    assert {before, _verdict(source, folder)} == {REPRODUCED, NOT_REPRODUCED}


@pytest.mark.parametrize("setting", ["a shared line", "shared lines, both ways"])
def test_deferring_must_be_faster_with_both_kinds_of_reading(setting: str, folder: Path) -> None:
    def change(factor: float, only: str = "") -> Callable[[dict[str, Any]], dict[str, Any]]:
        def changed(row: dict[str, Any]) -> dict[str, Any]:
            is_meant = row["contestant"].startswith("osp") and only in ("", row["setting"])
            return row | {"mean_steps": row["mean_steps"] * factor} if is_meant else row

        return changed

    _change(folder, "headlines", "rows", change(2.0))
    assert _verdict("chen2023", folder) == HOLDS
    _change(folder, "headlines", "rows", change(0.25, setting))
    assert _verdict("chen2023", folder) == FAILS


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        # By network: every round at least as fast as was announced; one network surely slower; and one now so, now so.
        ({"fnn3": [2.0, 2.1, 2.2], "resnet20": [1.5, 1.5, 1.6], "gpt": [3.0, 3.0, 3.0]}, REPRODUCED),
        ({"fnn3": [2.0, 2.1, 2.2], "resnet20": [1.1, 1.1, 1.11], "gpt": [3.0, 3.0, 3.0]}, NOT_REPRODUCED),
        ({"fnn3": [2.0, 2.1, 2.2], "resnet20": [1.5, 1.1, 0.9], "gpt": [3.0, 3.0, 3.0]}, UNKNOWN),
    ],
)
def test_selecting_is_judged_at_the_largest_rate_for_every_network(
    seconds: dict[str, list[float]], verdict: str, folder: Path
) -> None:
    links = Links(folder)
    cells = [dict(cell.fields) for cell in links.cells.values()]
    for cell in cells:
        if cell["mbit_per_second"] == links.rates[-1]:
            if "loop keep_all, dense," in cell["name"]:
                cell["round_seconds"] = seconds[cell["model"]]
            if "loop gaussian_k 0.01, sparse," in cell["name"]:
                cell["round_seconds"] = [1.0, 1.0, 1.0]
    rewrite(folder / "links.json", cells=cells)
    found = selecting_gains(Links(folder), links.rates[-1])
    assert {model: math.exp(gain.value) for model, gain in found.items()} == pytest.approx(
        {model: math.prod(values) ** (1 / 3) for model, values in seconds.items()}
    )
    assert _verdict("shi2019", folder) == verdict


def test_links_that_were_not_measured_leave_selecting_open(folder: Path) -> None:
    rewrite(folder / "links.json", cells=[])
    (selecting,) = (headline for headline in HEADLINES if headline.source == "shi2019")
    assert selecting.ours(folder) == "not run"
    assert selecting.verdict(folder) == UNKNOWN


def test_a_policy_that_computes_seldom_turns_the_verdict(folder: Path) -> None:
    assert _verdict("hu2020", folder) == REPRODUCED
    _change(folder, "headlines", "rows", lambda row: row | {"computing": 0.5} if row["contestant"] == "adsp" else row)
    assert _verdict("hu2020", folder) == NOT_REPRODUCED


def test_the_end_of_a_race_is_above_or_below_others_only_if_it_is_sure(tmp_path: Path) -> None:
    folder = write_races(tmp_path)
    assert race_ends(folder, "ssp", ("asp", "bsp")) == ["less"] * 8
    assert race_ends(folder, "bsp", ("asp", "ssp")) == ["less"] * 8
    assert race_ends(folder, "bsp", ("ssp",)) == ["more"] * 8
    rows = result(folder, "races")["races"]
    for row in rows:
        if (row["policy"], row["seed"]) == ("bsp", 1):
            row["accuracy"] = [0.8] * 5
    rewrite(folder / "races.json", races=rows)
    assert race_ends(folder, "bsp", ("asp", "ssp")) == ["inconclusive"] * 8


@pytest.mark.parametrize(
    ("errors", "counts", "verdict"),
    [
        ([0.1, 0.301], {"less": 8, "more": 0, "inconclusive": 0}, HOLDS),
        ([0.3, 0.501], {"less": 0, "more": 8, "inconclusive": 0}, FAILS),
        # As good as one end; and better than both in the mean, but not surely.
        ([0.2, 0.4], {"less": 0, "more": 0, "inconclusive": 8}, OPEN),
        ([0.1, 0.39], {"less": 0, "more": 0, "inconclusive": 8}, OPEN),
    ],
)
def test_growing_groups_are_judged_at_tuned_steps_and_seed_by_seed(
    errors: list[float], counts: dict[str, int], verdict: str, folder: Path
) -> None:
    """Everywhere the ends have 0.2 and 0.4, 0.5 and 0.7."""
    record = switching_record()
    for run in record["runs"]:
        if run["order"] == "asynchronous_first_falling":
            run["end_error"] = errors
    write(folder / "switching.json", record | {"seed_count": 5})
    assert growing_wins(folder) == {0.125: counts, 0.5: counts}
    assert _verdict("vora2024", folder) == verdict
    rewrite(folder / "switching.json", seed_count=4)
    assert _verdict("vora2024", folder) == OPEN


def test_a_sample_that_lets_workers_drift_apart_turns_the_verdict(folder: Path) -> None:
    """It is still nearer to BSP than the smaller sample, and than nobody's."""
    assert _verdict("wang2017", folder) == REPRODUCED

    def change(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"step_deviation": 0.65} if row["contestant"] == "pbsp 10" else row

    _change(folder, "headlines", "rows", change)
    assert _verdict("wang2017", folder) == REPRODUCED
    _change(
        folder,
        "headlines",
        "rows",
        lambda row: row | {"step_deviation": row["step_deviation"] / 2} if row["contestant"] == "bsp" else row,
    )
    assert _verdict("wang2017", folder) == NOT_REPRODUCED


def test_one_digit_in_one_race_is_another_curve(folder: Path) -> None:
    assert has_curves_of(folder, "parameter_database", "bsp")
    rows = result(folder, "races")["races"]
    row = next(row for row in rows if (row["policy"], row["cluster"]) == ("parameter_database", "churn"))
    row["accuracy"][3] += 0.0001
    rewrite(folder / "races.json", races=rows)
    assert not has_curves_of(folder, "parameter_database", "bsp")


def test_a_slow_plan_turns_the_verdict(folder: Path) -> None:
    plan = next(headline for headline in HEADLINES if "plans" in headline.claim)
    assert plan.verdict(folder) == REPRODUCED
    timings = result(folder, "planned_barriers")["timings"]
    slower = [row | {"wall_seconds": 100 * row["wall_seconds"]} for row in timings if row["planner"] == "sweep"]
    others = [row for row in timings if row["planner"] != "sweep"]
    rewrite(folder / "planned_barriers.json", timings=slower + others)
    assert largest_plan(folder) == max(row["wall_seconds"] for row in slower)
    assert plan.verdict(folder) == NOT_REPRODUCED


def test_a_plan_that_is_twice_as_fast_as_a_scan_is_not_far_faster(folder: Path) -> None:
    plan = next(headline for headline in HEADLINES if "plans" in headline.claim)
    timings = result(folder, "planned_barriers")["timings"]
    by_size = {(row["workers"], row["look_ahead"]): row for row in timings if row["planner"] == "sweep"}
    scans = [
        row | {"wall_seconds": 2 * by_size[row["workers"], row["look_ahead"]]["wall_seconds"]}
        for row in timings
        if row["planner"] == "scan"
    ]
    rewrite(folder / "planned_barriers.json", timings=[*by_size.values(), *scans])
    assert plan.verdict(folder) == NOT_REPRODUCED


def test_a_switch_that_never_reaches_the_error_of_bsp_turns_the_verdict(folder: Path) -> None:
    rewrite(folder / "switching.json", seed_count=5)
    assert _verdict("li2021", folder) == REPRODUCED
    runs = result(folder, "switching")["runs"]
    rewrite(folder / "switching.json", runs=[run | {"seconds_to_target": None} for run in runs])
    assert _verdict("li2021", folder) == NOT_REPRODUCED


def test_a_switch_that_is_as_late_as_bsp_is_no_gain(folder: Path) -> None:
    runs = result(folder, "switching")["runs"]
    rewrite(folder / "switching.json", runs=[run | {"seconds_to_target": 36.0} for run in runs], seed_count=5)
    assert _verdict("li2021", folder) == NOT_REPRODUCED


def test_what_cannot_be_compared_is_never_judged(folder: Path) -> None:
    assert _verdict("wang2022", folder) == NOT_COMPARABLE


def test_a_spread_in_another_order_turns_the_verdict(folder: Path) -> None:
    def change(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"step_deviation": 0.5} if row["contestant"] == "asp" else row

    _change(folder, "headlines", "rows", change)
    assert _verdict("wang2017", folder) == NOT_REPRODUCED


AS_ANNOUNCED = {"Shallow": 1.0, "Deep": 2.0, "Sgd": 1.5, "Adagrad": 1.5, "Momentum": 3.0, "Adam": None, "Rmsprop": 2.0}
"""Multiples of the steps at s = 4; None: not reached."""


@pytest.mark.parametrize(
    ("word", "steps", "verdict"),
    [
        ("Deep", 2.5, HOLDS),
        ("Deep", 1.0, FAILS),
        ("Rmsprop", 1.4, FAILS),
        ("Adagrad", 2.5, FAILS),
        ("Momentum", 1.4, FAILS),
        ("Adam", 1.4, FAILS),
    ],
)
def test_every_part_of_what_delays_harm_is_judged_at_four(word: str, steps: float, verdict: str, folder: Path) -> None:
    study = result(folder, "staleness")
    multiples = {(OPTIMISERS | SIZES)[name]: value for name, value in (AS_ANNOUNCED | {word: steps}).items()}
    for (swept, value), multiple in multiples.items():
        (setting,) = (one for one in sweep(study, swept) if one[swept] == value)
        for run in setting["runs"]:
            if run["staleness"] in (4, 8):
                run["best_relative"] = multiple if run["staleness"] == 4 else 1.0
                run["best_step_size"] = setting["step_size"] / 2
    rewrite(folder / "staleness.json", settings=study["settings"], seed_count=5)
    assert _verdict("dai2018", folder) == verdict


@pytest.mark.parametrize(
    ("study", "source", "verdict"), [("switching", "li2021", UNKNOWN), ("staleness", "dai2018", OPEN)]
)
def test_few_seeds_leave_a_headline_open(study: str, source: str, verdict: str, folder: Path) -> None:
    rewrite(folder / f"{study}.json", seed_count=4)
    assert _verdict(source, folder) == verdict


def test_equal_curves_alone_are_not_faster(folder: Path) -> None:
    assert has_curves_of(folder, "parameter_database", "bsp")
    assert _verdict("goel2015", folder) == FAILS
