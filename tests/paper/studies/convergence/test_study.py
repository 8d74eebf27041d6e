"""Macros and tables say what the files say, and `not run` where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import latex
from paper.results import result
from paper.rules import RULES
from paper.studies.convergence.runs import ARENAS, NOT_RUN, USUAL
from paper.studies.convergence.study import MACROS, approximate_leads
from paper.studies.convergence.tables import ABSENT, COLLAPSED, accuracy_table, arena_table, count_table
from sparsync.experiments.studies.training import arenas
from tests.support.drawing import plain, table_lines
from tests.support.paper_data import rewrite, write_results
from tests.support.studies.convergence_data import diverged


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(tmp_path / "data")


def lose(folder: Path, method: str) -> None:
    """A seed of a method diverges on FNN-3."""
    record = result(folder, "convergence_fnn3")["contestants"]
    changed = [diverged(each, seed=1) if each["method"] == method else each for each in record]
    rewrite(folder / "convergence_fnn3.json", contestants=changed)


def test_every_arena_has_a_title() -> None:
    assert set(ARENAS) == set(USUAL) == set(arenas.ARENAS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TrainedOursBandShare", "100.0"),
        ("TrainedTheirsBandShare", "25.0"),
        ("TrainedArenas", "FNN-3, GPT"),
        ("TrainedMissing", "FNN-3 with 16 workers, LeNet-5, ResNet-20, LSTM"),
        ("TrainedEdges", "6 of 48"),
        ("DivergedRuns", "none of 96"),
        ("CollapsedRuns", "none of 96"),
        ("CollapsedMethods", "none"),
        ("Seeds", "2"),
        ("PlainTopkGain", "8.5"),
        ("DenseBytes", r"50.0\,kB"),
        ("ThousandthTarget", "6"),
        ("PlainTopkDifference", "-10.00 points (-10.00 to -10.00)"),
        ("MomentumBeforeDifference", "+3.50 points (-2.85 to 9.85; inconclusive)"),
        ("PlainTopkOverHeavy", "-10.00 points (-10.00 to -10.00)"),
        ("HundredthTopkOverHeavy", "-10.00 points (-10.00 to -10.00)"),
        ("LstmTopkOverHeavy", "not run"),
        ("PlainOthersOverHeavy", "-10.5 (SIDCo, adapted) to -9.5 (DGC, released)"),
        ("OthersAbove", "none"),
        ("OthersBelow", "none"),
        ("LeadCount", "18"),
        ("HundredthTopkDifference", "-10.00 points (-10.00 to -10.00)"),
        ("DensestRandomDifference", "not run"),
        ("PlainOursDifference", "-0.50 points (-19.56 to 18.56; inconclusive)"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, folder: Path) -> None:
    """81 − 80 and 80 − 82: −1/2 ± 12.706 · 3/2, Student's t having one degree of freedom."""
    assert plain(MACROS[name](folder)) == text


def test_text_is_compared_with_dense_training_with_momentum_and_an_edge_is_told(folder: Path) -> None:
    """The losses of GPT under another name; dense training with momentum has twice those of Top-k: 50 per cent."""
    record = result(folder, "convergence_gpt")["contestants"]
    heavy = [{**each, "optimiser": "momentum", "is_at_edge": True} for each in record if each["method"] == "top_k"]
    lost = [2 * loss for each in heavy[:1] for loss in each["test_loss"]]
    dense = [{**each, "optimiser": "momentum", "test_loss": lost} for each in record if each["method"] == "dense"]
    usual = [{**each, "is_at_edge": False} for each in record]
    (folder / "convergence_lstm.json").write_bytes((folder / "convergence_gpt.json").read_bytes())
    rewrite(folder / "convergence_lstm.json", contestants=usual + heavy + dense)
    words = "+50.00 per cent (50.00 to 50.00)"
    assert plain(MACROS["LstmTopkOverHeavy"](folder)) == words
    assert plain(MACROS["LstmHeavyTopkOverHeavy"](folder)) == f"{words}, its step size at the edge of the grid"


def test_an_outcome_counts_all_settings_and_those_that_diverged_apart(folder: Path) -> None:
    """Dense training is 10 points above Top-k in four settings of FNN-3; on GPT, in two, its loss is larger."""
    text = plain(MACROS["TrainedDenseOutcome"](folder))
    assert text == "lower in 2, higher in 4, inconclusive in none of 6 settings (-12.35 to +10.00)"
    lose(folder, "dense")
    text = plain(MACROS["TrainedDenseOutcome"](folder))
    words = "lower in 2, higher in none, inconclusive in none of 2 settings (-12.35 to -12.35; in 4 a run diverged)"
    assert text == words
    assert plain(MACROS["DivergedRuns"](folder)) == "2 of 96"
    words = "an unknown amount (dense: 1 of 2 diverged)"
    assert plain(MACROS["PlainTopkDifference"](folder)) == plain(MACROS["MomentumTopkDifference"](folder)) == words


def test_the_largest_lead_is_that_of_a_selector_that_keeps_about_k(folder: Path) -> None:
    """The released rule leads most, but keeps a quarter of what it should."""
    leads = approximate_leads(folder)
    assert {method for _, method, _ in leads} == {"gaussian_k", "dgc_released", "sidco_adaptive"}
    assert len(leads) == 3 * 6
    (largest,) = {round(lead.value, 6) for _, _, lead in leads if lead.value == max(each.value for *_, each in leads)}
    # SIDCo's losses on GPT are 1.58 and 1.64 against 1.6 and 1.64.
    assert largest == pytest.approx(100 * (1 - 1.58 / 1.6) / 2, abs=1e-5)
    assert MACROS["TrainedLargestLead"](folder).endswith("SIDCo, adapted on GPT, AdamW, density 0.001")


def test_who_is_surely_above_or_below_is_named(folder: Path) -> None:
    record = result(folder, "convergence_fnn3")["contestants"]
    ends = {"dgc_released": [0.83, 0.85], "sidco_adaptive": [0.76, 0.78]}
    changed = [{**each, "test_accuracy": ends.get(each["method"], each["test_accuracy"])} for each in record]
    rewrite(folder / "convergence_fnn3.json", contestants=changed)
    assert plain(MACROS["OthersAbove"](folder)) == "DGC, released (+3.0)"
    assert plain(MACROS["OthersBelow"](folder)) == "SIDCo, adapted (-4.0)"
    for each in ends:
        lose(folder, each)
    assert MACROS["PlainOthersOverHeavy"](folder) == "none, for all diverged"


@pytest.mark.parametrize("name", [name for name in MACROS if name.startswith("Trained")])
def test_without_any_arena_nothing_is_said(name: str, tmp_path: Path) -> None:
    said = plain(MACROS[name](tmp_path))
    assert said in (NOT_RUN, "none of 0", ", ".join(ARENAS.values()))


def test_a_line_has_the_ends_of_top_k_and_the_differences_of_others(folder: Path) -> None:
    lines = table_lines(accuracy_table(folder), "momentum 0.9")
    assert [cells[0] for cells in lines] == ["0.001", "0.01"]
    assert lines[0][1:] == [
        "81.0",
        "+10.00 (10.00 to 10.00)",
        "+3.50 (-2.85 to 9.85)",
        "-0.50 (-19.56 to 18.56)",
        "-5.00 (-68.53 to 58.53)",
        "-26.00 (-76.82 to 24.82)",
    ]
    assert table_lines(accuracy_table(folder), "AdamW")[0][1] == "1.620"


def test_arenas_that_were_not_run_say_so_in_every_table(folder: Path) -> None:
    missing = ["FNN-3 with 16 workers", "LeNet-5", "ResNet-20", "LSTM"]
    assert [title for title in ARENAS.values() if f"{title}, {NOT_RUN}" in accuracy_table(folder)] == missing
    assert count_table(folder).count(NOT_RUN) == 4


def test_every_arena_has_a_line_with_its_usual_optimiser_at_one_density(folder: Path) -> None:
    """Of text 1 − 1.6/1.8 = 11.11 and 1 − 1.64/1.84 = 10.87 per cent: 10.99 ± 12.706 · 0.12."""
    table = arena_table(folder)
    pairs = ["-10.00 (-10.00 to -10.00)", "+3.50 (-2.85 to 9.85)", "-0.50 (-19.56 to 18.56)", "-5.00 (-68.53 to 58.53)"]
    assert table_lines(table, ARENAS["fnn3"]) == [["momentum 0.9", *pairs]]
    (text,) = table_lines(table, rf"{ARENAS['gpt']} (\%)")
    assert text[:2] == ["AdamW", "+10.99 (9.46 to 12.52)"]
    for arena in set(ARENAS) - {"fnn3", "gpt"}:
        (said,) = table_lines(table, ARENAS[arena])
        assert said[1:] == [NOT_RUN] * 4


def test_a_pair_of_which_one_did_not_compete_has_no_difference(folder: Path) -> None:
    record = result(folder, "convergence_gpt")["contestants"]
    rewrite(folder / "convergence_gpt.json", contestants=[each for each in record if each["method"] != "dgc"])
    (text,) = table_lines(arena_table(folder), rf"{ARENAS['gpt']} (\%)")
    assert [cell == ABSENT for cell in text[1:]] == [False, True, False, False]


def test_a_pair_of_an_arena_says_who_diverged_and_whether_one_learnt_nothing(folder: Path) -> None:
    record = result(folder, "convergence_fnn3")["contestants"]
    changed = [{**each, "test_loss": [2.31, 2.31]} if each["method"] == "top_k" else each for each in record]
    rewrite(folder / "convergence_fnn3.json", contestants=changed)
    (cells,) = table_lines(arena_table(folder), ARENAS["fnn3"])
    assert [COLLAPSED in cell for cell in cells[1:]] == [True] * 4
    lose(folder, "dense")
    (cells,) = table_lines(arena_table(folder), ARENAS["fnn3"])
    assert cells[1] == "1 of 2 diverged"
    assert cells[2].startswith("+3.50")


def test_a_divergence_is_told_in_the_place_of_a_difference(folder: Path) -> None:
    lose(folder, "gaussian_k")
    assert table_lines(accuracy_table(folder), "no momentum")[0][4] == "1 of 2 diverged"
    assert table_lines(count_table(folder), RULES["gaussian_k"].title)[0][0] == "1 of 2 diverged"
    lose(folder, "top_k")
    assert table_lines(accuracy_table(folder), "no momentum")[0][1:3] == ["1 of 2 diverged", "--"]


def test_a_run_that_ends_no_better_than_a_guess_is_counted_and_marked(folder: Path) -> None:
    """Guessing one of ten classes has a loss of log 10 = 2.3026."""
    record = result(folder, "convergence_fnn3")["contestants"]
    heavy = {"optimiser": "momentum", "density": 0.001}
    changed = [
        {**each, "test_loss": [2.27, 2.31]} if each["method"] == "top_k" and each.items() >= heavy.items() else each
        for each in record
    ]
    rewrite(folder / "convergence_fnn3.json", contestants=changed)
    assert plain(MACROS["CollapsedRuns"](folder)) == "1 of 96"
    assert plain(MACROS["CollapsedMethods"](folder)) == "Top-$k$ (1)"
    table = accuracy_table(folder)
    assert table.count(COLLAPSED) == 1
    assert f"{latex.decimal(81, 1)}{COLLAPSED} &" in table


def test_a_rule_has_its_counts_bytes_and_step_size(folder: Path) -> None:
    released, twice = table_lines(count_table(folder), RULES["gaussian_k_released"].title)
    assert released == ["-5.00 (-68.53 to 58.53)", "25.0", "0.00", "0.25", "9.00", r"50.0\,kB", "0.1"]
    assert released[1:] == twice[1:]
    low_rank = table_lines(count_table(folder), "PowerSGD")[0]
    assert low_rank == ["+4.00 (-8.71 to 16.71)", *["--"] * 4, r"50.0\,kB", "0.1"]
    assert table_lines(count_table(folder), RULES["top_k"].title)[0][0] == "--"
