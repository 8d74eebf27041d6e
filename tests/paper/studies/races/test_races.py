"""Races are compared when their smoothed curves cross the target, seed by seed; the table says what is sure."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from paper.comparisons import ratio
from paper.results import Result, result
from paper.studies.races.study import MACROS, final_tally, gain_in_words, least_sender, race_table, speed_tally
from paper.studies.races.times import (
    CLUSTERS,
    SELECTORS,
    alike,
    at_target,
    broken_bounds,
    crossing,
    edge_count,
    end_accuracies,
    gain,
    lead,
    mean_accuracies,
    reached_count,
    runs,
    sending_gain,
    smoothed,
    target,
    waiting_shares,
)
from tests.support.drawing import plain
from tests.support.paper_data import rewrite
from tests.support.studies.race_data import FAST, NEVER, SLOW, write_races


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_races(tmp_path)


@pytest.fixture
def study(folder: Path) -> Result:
    return result(folder, "races")


def _race(accuracy: list[float]) -> Result:
    return Result(Path("races.json"), {"accuracy": accuracy})


def test_smoothing_takes_neighbours_that_are_there() -> None:
    assert smoothed([3.0, 0.0, 6.0, 9.0]) == [1.5, 3.0, 5.0, 7.5]


def test_the_target_is_the_largest_multiple_of_five_points_that_bsp_always_reaches(folder: Path) -> None:
    """SLOW smoothed ends with 0.73, and in the second seed with 0.01 less."""
    assert target(result(folder, "races")) == pytest.approx(0.70)
    rows = result(folder, "races")["races"]
    bsp = next(row for row in rows if row["policy"] == "bsp")
    bsp["accuracy"] = [0.1, 0.3, 0.3, 0.3, 0.3]
    rewrite(folder / "races.json", races=rows)
    assert target(result(folder, "races")) == pytest.approx(0.30)


def test_a_race_is_there_where_the_line_between_two_measurements_crosses() -> None:
    """FAST smoothed is 0.35, 0.4833, 0.7, 0.75, 0.75."""
    assert crossing(_race(FAST), 0.725) == pytest.approx(2.5)
    assert crossing(_race(FAST), 0.7) == pytest.approx(2.0)
    assert crossing(_race(FAST), 0.76) is None


def test_nobody_is_there_before_the_first_measurement_after_the_start() -> None:
    assert crossing(_race([0.9, 0.9, 0.9]), 0.5) == 1.0
    assert crossing(_race([0.9, 0.0, 0.0, 0.0, 0.9]), 0.5) is None


def test_one_high_measurement_is_not_yet_the_target() -> None:
    assert crossing(_race([0.1, 0.7, 0.1, 0.7, 0.9]), 0.7) == pytest.approx(3 + (0.7 - 17 / 30) / (0.8 - 17 / 30))


def test_seconds_and_bytes_are_those_of_every_seed(study: Result) -> None:
    assert at_target(study, ("asp", "equal", "none"), "seconds") == pytest.approx([20.0, 10 * crossing_of(FAST, 0.01)])
    assert at_target(study, ("asp", "equal", "none"), "sent_bytes") == pytest.approx(
        [2e7, 1e7 * crossing_of(FAST, 0.01)]
    )
    assert at_target(study, ("asp", "churn", "top_k"), "sent_bytes") == pytest.approx(
        [2e5, 1e5 * crossing_of(FAST, 0.01)]
    )
    assert at_target(study, ("ssp", "equal", "none"), "seconds") is None
    assert reached_count(study, ("ssp", "equal", "none")) == 0
    assert reached_count(study, ("asp", "equal", "none")) == 2


def crossing_of(curve: list[float], less: float) -> float:
    found = crossing(_race([value - less for value in curve]), 0.7)
    assert found is not None
    return found


def test_a_gain_is_relative_to_bsp_that_sends_alike_seed_by_seed(study: Result) -> None:
    seconds = {policy: at_target(study, (policy, "pareto", "top_k"), "seconds") or [] for policy in ("bsp", "asp")}
    assert gain(study, "asp", "pareto", "top_k") == ratio(seconds["bsp"], seconds["asp"])
    found = gain(study, "asp", "pareto", "top_k")
    assert found is not None
    assert math.exp(found.value) > 1
    assert gain(study, "ssp", "pareto", "top_k") is None
    own = gain(study, "bsp", "pareto", "top_k")
    assert own is not None
    assert own.value == 0


def test_top_k_is_compared_with_sending_all(folder: Path) -> None:
    rows = result(folder, "races")["races"]
    for row in rows:
        if (row["policy"], row["selector"]) == ("asp", "top_k"):
            row["accuracy"] = SLOW
    rewrite(folder / "races.json", races=rows)
    found = sending_gain(result(folder, "races"), "asp", "equal")
    assert found is not None
    assert found.value < 0
    assert sending_gain(result(folder, "races"), "ssp", "equal") is None


def test_a_lead_is_the_difference_of_mean_accuracies_in_points(study: Result) -> None:
    own, reference = (mean_accuracies(study, policy, "equal", "none") for policy in ("asp", "bsp"))
    assert own[0] == pytest.approx(sum(FAST[1:]) / 4)
    found = lead(study, "asp", "equal", "none")
    assert found.value == pytest.approx(100 * (own[0] - reference[0] + own[1] - reference[1]) / 2)
    assert not found.holds_zero


def test_the_end_is_the_mean_of_the_last_two_measurements(study: Result) -> None:
    assert end_accuracies(study, "bsp", "equal", "none") == pytest.approx([0.73, 0.72])


def test_a_line_of_the_table_shows_seconds_waiting_and_lead(folder: Path) -> None:
    lines = {line.split(" & ")[0]: line for line in race_table(folder).splitlines() if line.startswith(r"\texttt")}
    assert list(lines) == [r"\texttt{bsp}", r"\texttt{asp}", r"\texttt{ssp}"]
    number = r"\ensuremath{{{}}}".format
    # 20 and 21.6 on the two seeds.
    sooner = rf"{{\boldmath{number(21)}}}"
    assert lines[r"\texttt{asp}"] == " & ".join([r"\texttt{asp}", *[sooner] * 8, number(25), number(3)]) + r" \\"
    assert lines[r"\texttt{bsp}"].split(" & ")[1] == number(37)
    assert lines[r"\texttt{ssp}"].count("-- (0)") == 8


def test_what_is_surely_later_is_underlined(folder: Path) -> None:
    rows = result(folder, "races")["races"]
    for row in rows:
        if (row["policy"], row["cluster"]) == ("asp", "equal"):
            row["accuracy"] = SLOW
        if (row["policy"], row["cluster"]) in {("bsp", "equal"), ("bsp", "churn")}:
            row["accuracy"] = FAST
    rewrite(folder / "races.json", races=rows)
    (line,) = (line for line in race_table(folder).splitlines() if line.startswith(r"\texttt{asp}"))
    assert line.split(" & ")[1].startswith(r"\underline{")
    # In churn both are alike on one seed.
    assert line.split(" & ")[7].startswith(r"\ensuremath{")


def test_a_diverged_race_has_no_share_of_waiting(folder: Path) -> None:
    rows = result(folder, "races")["races"]
    for row in rows:
        if row["policy"] == "ssp":
            row |= {"diverged": True, "waiting_share": None, "largest_gap": None}
    rewrite(folder / "races.json", races=rows)
    (line,) = (line for line in race_table(folder).splitlines() if line.startswith(r"\texttt{ssp}"))
    assert line.endswith(r"-- & -- \\")
    with pytest.raises(ValueError, match="a race of 'ssp' in cluster 'equal' diverged"):
        waiting_shares(result(folder, "races"), "ssp", "equal", "none")


def test_all_policies_are_counted_against_bsp(folder: Path) -> None:
    said = speed_tally(folder, "one_slow", "none")
    assert said == "later in none, sooner in 1, inconclusive in none, not there on every seed in 1"


def test_policies_that_run_alike_are_counted_once_and_those_that_are_bsp_apart(folder: Path, study: Result) -> None:
    assert alike(study, "one_slow", "none") == [["bsp"], ["asp"], ["ssp"]]
    twins = {"asp": ("dssp", "dybw"), "bsp": ("osp",)}
    rows = study["races"]
    added = [row | {"policy": twin} for row in rows for twin in twins.get(row["policy"], ())]
    # One seed is not enough to be alike.
    added = [
        row | {"accuracy": [0.0, *row["accuracy"][1:]]} if (row["policy"], row["seed"]) == ("dybw", 1) else row
        for row in added
    ]
    rewrite(folder / "races.json", races=[*rows, *added])
    found = result(folder, "races")
    assert alike(found, "one_slow", "none") == [["bsp", "osp"], ["asp", "dssp"], ["ssp"], ["dybw"]]
    said = speed_tally(folder, "one_slow", "none")
    assert said == "later in none, sooner in 2, inconclusive in none, not there on every seed in 1, BSP itself in 1"
    assert plain(MACROS["RaceEqualAlike"](folder)) == r"\texttt{asp} and \texttt{dssp}"


def test_who_is_before_asp_is_named(folder: Path, study: Result) -> None:
    assert MACROS["RaceBeyondAsp"](folder) == "none"
    # Every seed alike, or two would not be enough for an interval.
    rows = [row | {"accuracy": FAST} if row["policy"] == "asp" else row for row in study["races"]]
    early = {"accuracy": [0.1, 0.9, 0.9, 0.9, 0.9]}
    added = [row | {"policy": name} | early for row in rows for name in ("dybw", "osp") if row["policy"] == "asp"]
    rewrite(folder / "races.json", races=[*rows, *added])
    assert MACROS["RaceBeyondAsp"](folder) == r"\texttt{dybw} and \texttt{osp}"


def test_the_fewest_bytes_have_a_sender(folder: Path) -> None:
    study = result(folder, "races")
    assert least_sender(study, dense=True)[0] == least_sender(study, dense=False)[0] == "asp"
    assert least_sender(study, dense=True)[1] == pytest.approx(100 * least_sender(study, dense=False)[1])


def test_a_target_that_is_not_reached_on_every_seed_is_said(folder: Path) -> None:
    rows = result(folder, "races")["races"]
    rewrite(folder / "races.json", races=[*rows[:-1], rows[-1] | {"accuracy": FAST}])
    study = result(folder, "races")
    assert plain(gain_in_words(study, "ssp", "churn", "top_k")) == "there on 1 of 2 seeds"
    assert plain(gain_in_words(study, "asp", "churn", "top_k")).startswith("1.7")
    assert MACROS["RaceSlowSsp"](folder) == gain_in_words(study, "ssp", "one_slow", "none")


def test_sending_less_is_compared_where_both_are_there(folder: Path) -> None:
    assert plain(MACROS["RaceSendingAsp"](folder)) == "1.00 (every seed alike)"
    rows = result(folder, "races")["races"]
    lost = [row | {"accuracy": NEVER} if (row["policy"], row["selector"]) == ("asp", "none") else row for row in rows]
    rewrite(folder / "races.json", races=lost)
    assert "not there on every seed" in MACROS["RaceSendingAsp"](folder)


def test_finalists_are_counted_and_the_best_is_named_first(folder: Path) -> None:
    assert final_tally(folder) == "below in 1, above in 1, inconclusive in none"
    words = plain(MACROS["FinalLeads"](folder))
    assert words.startswith(r"\texttt{asp} +")
    assert r"\texttt{ssp} -" in words


def test_broken_bounds_are_counted_and_named(folder: Path) -> None:
    assert broken_bounds(result(folder, "races")) == {"ssp": 1}
    assert MACROS["RaceBroken"](folder) == r"\texttt{ssp} in 1"


def test_edges_of_the_grid_are_counted(folder: Path) -> None:
    assert edge_count(result(folder, "races")) == (1, 3 * len(CLUSTERS) * len(SELECTORS))
    assert plain(MACROS["RaceEdges"](folder)) == "1 of 24"
    assert plain(MACROS["FinalEdges"](folder)) == "none of 3"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RaceTarget", "70"),
        ("RaceSeconds", "40"),
        ("RaceSpacing", "10"),
        ("RaceStepSizes", "0.1 to 0.4"),
        ("RaceSeeds", "2 seeds"),
        ("RaceTuningSeeds", "one seed"),
        ("RaceRuns", "2 runs"),
        ("RaceCount", "48"),
        ("RacePolicies", "3"),
        ("FinalWorkers", "4"),
    ],
)
def test_macros_say_what_was_raced(name: str, text: str, folder: Path) -> None:
    assert plain(MACROS[name](folder)) == text


def test_the_fewest_repetitions_are_said(folder: Path) -> None:
    rewrite(folder / "races.json", races=result(folder, "races")["races"][1:])
    assert MACROS["RaceRuns"](folder) == "one run"


def test_an_unknown_entrant_is_named(study: Result) -> None:
    with pytest.raises(ValueError, match="no race of 'adsp' in cluster 'equal' with selector 'none'"):
        runs(study, "adsp", "equal", "none")


def test_repetitions_are_in_the_order_of_seeds(folder: Path) -> None:
    rewrite(folder / "races.json", races=result(folder, "races")["races"][::-1])
    found = runs(result(folder, "races"), "ssp", "equal", "none")
    assert [row["seed"] for row in found] == [0, 1]
    assert found[0]["accuracy"] == NEVER
