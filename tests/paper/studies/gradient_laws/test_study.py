"""The text gives ranges over the models that were run, and says `not run` of the others; figures draw what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.results import Result
from paper.studies.gradient_laws.figures import gradient_histograms, measured_contraction, rank_curves, windowed
from paper.studies.gradient_laws.runs import NOT_RUN, inflation
from paper.studies.gradient_laws.study import MACROS, law_cell, laws_table, span
from tests.support.drawing import plain
from tests.support.paper_data import PROVENANCE, write

DENSITIES = [0.001, 0.1]
LAWS = ("norm", "laplace", "gennorm", "t", "dweibull", "dgamma")


def observation(step: int, best: str | None) -> dict[str, Any]:
    distance = {name: 0.2 if name == "norm" else 0.04 for name in LAWS}
    return {
        "step": step,
        "histogram": [0.25, 0.5, 0.0],
        "magnitude": [2.0, 1.0, 0.0],
        "relative_error": [0.9, 0.4],
        "laws": {name: {"distance": distance[name]} for name in LAWS} if best else {},
        "best_law": best,
    }


def run(model: str, kind: str, *, best: str | None = "t", deviation: float = 1.0, share: float = 1.0) -> dict[str, Any]:
    hypothesis = {"share": share, "strict_share": share / 2, "median_rise": 1.0, "largest_rise": 2 - share}
    return {
        "model": model,
        "kind": kind,
        "parameter_count": 3000,
        "steps": 400,
        "diverged_at_step": None,
        "rank": [1, 1501, 3000],
        "bounds": {"square_convex": [0.99, 0.81], "bell_shaped": [0.98, 0.7]},
        "observations": [observation(step, best) for step in (1, 2, 20, 400)],
        "series": {"step": [200, 400], "gain": [20.0, 10.0]},
        "hypotheses": {"square_convex": hypothesis | {"share": 1.0}, "bell_shaped": hypothesis},
        "bound_share": {"bell_shaped": share},
        "late_gain": 10.0 * deviation,
        "late_deviation": deviation,
        "late_largest": 2.0 if kind == "dense" else 3.0,
        "late_gaussian_count_ratio": 3.0,
    }


RUNS = [
    run("fnn3", "dense", best="norm"),
    run("fnn3", "top_k", deviation=7.0),
    run("resnet20", "dense", share=0.5),
    run("resnet20", "top_k", deviation=3.0, share=0.25),
    run("gpt", "dense"),
]


def study(folder: Path, runs: list[dict[str, Any]]) -> Path:
    facts = {"profile": "record", "worker_count": 4, "density": 0.001, "densities": DENSITIES}
    steady = {"steady_drift": [2.99, 2.5], "steady_noise": [5.97, 4.0]}
    own = {"steady_drift": 2.99, "steady_noise": 5.97}
    laws = {"steady_gain": steady, "own_steady_gain": own, "edges_deviations": [-1.0, 0.0, 0.5, 1.0]}
    write(folder / "gradient_laws.json", {**facts, **laws, "runs": runs, "provenance": PROVENANCE})
    return folder


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    return study(tmp_path, RUNS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LawsDensity", "0.001"),
        ("LawsWorkers", "4"),
        ("LawsInflation", "3.0 to 7.0"),
        ("LawsLargestInflation", "1.5"),
        ("LawsInflationAsExpected", "1 of 2"),
        ("LawsNormalBest", "1 of 5"),
        ("LawsBoundsKept", "25"),
        ("LawsDriftGain", "3.0"),
        ("LawsNoiseGain", "6.0"),
        ("LawsSecondMetDense", "100"),
        ("LawsThirdMetDense", "50 to 100"),
        ("LawsThirdMetFeedback", "25 to 100"),
        ("LawsThirdStrictFeedback", "12 to 50"),
        ("LawsThirdRise", "1.75"),
        ("LawsThirdWorst", "ResNet-20"),
        ("LawsBestDistanceDense", "0.04 to 0.20"),
        ("LawsNormalDistanceFeedback", "0.20"),
        ("LawsGainFeedback", "30.0 to 70.0"),
        ("LawsCountDense", "3.00"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_where_nothing_was_run_every_number_of_runs_says_so(tmp_path: Path) -> None:
    folder = study(tmp_path, [])
    said = {name: plain(macro(folder)) for name, macro in MACROS.items()}
    set_beforehand = {"LawsDensity", "LawsWorkers", "LawsLow", "LawsHigh", "LawsDriftGain", "LawsNoiseGain"}
    assert {name for name, text in said.items() if text == NOT_RUN} == set(MACROS) - set_beforehand
    assert measured_contraction(folder).axes[0].texts[0].get_text() == NOT_RUN


def test_the_table_has_a_row_for_every_model_run_or_not(data_folder: Path) -> None:
    rows = [line.split(" & ") for line in laws_table(data_folder).splitlines() if line.endswith(r"\\")][2:]
    assert [row[0] for row in rows] == ["FNN-3", "LeNet-5", "ResNet-20", "VGG-16", "LSTM", "GPT"]
    cells = {row[0]: [plain(cell.removesuffix(r" \\")) for cell in row[1:]] for row in rows}
    assert set(cells["VGG-16"]) == {NOT_RUN}
    laws = ["normal 0.20, 0.20", "Student 0.04, 0.20"]
    assert cells["FNN-3"] == ["3000", "400", *laws, "50/50", "50/50", "10.0", "70.0", "7.0"]
    # The run with feedback is missing.
    assert cells["GPT"][2:] == ["Student 0.04, 0.20", NOT_RUN, "50/50", NOT_RUN, "10.0", NOT_RUN, NOT_RUN]


def test_a_run_that_diverged_says_after_how_many_updates(data_folder: Path) -> None:
    study(data_folder, [run("vgg16", "dense"), run("vgg16", "top_k") | {"diverged_at_step": 37}])
    (row,) = [line for line in laws_table(data_folder).splitlines() if line.startswith("VGG-16")]
    assert plain(row.split(" & ")[2]) == "37"


def test_a_factor_needs_both_runs(data_folder: Path) -> None:
    assert inflation(data_folder, "fnn3") == 7.0
    assert inflation(data_folder, "gpt") is None


def test_too_few_entries_have_no_law() -> None:
    assert law_cell(Result(Path("x"), run("fnn3", "dense", best=None))) == "too few entries"


@pytest.mark.parametrize(("values", "text"), [([], NOT_RUN), ([1.04, 1.0], "1.0"), ([2.0, 1.0, 3.0], "1.0 to 3.0")])
def test_a_span_has_two_ends_where_they_read_differently(values: list[float], text: str) -> None:
    assert span(values, lambda value: f"{value:.1f}") == text


def test_densities_integrate_to_the_shares_of_the_bins(data_folder: Path) -> None:
    panels = gradient_histograms(data_folder).axes
    titles = [f"{kind}, {when}" for when in ("early", "late") for kind in ("without feedback", "with feedback")]
    assert [axes.get_title() for axes in panels] == titles
    drawn = panels[0].lines[0]
    assert np.asarray(drawn.get_xdata()).tolist() == [-0.5, 0.25, 0.75]
    # An empty bin has no place on a logarithmic axis.
    assert np.asarray(drawn.get_ydata()).tolist() == pytest.approx([0.25, 1.0, np.nan], nan_ok=True)
    # Three models without feedback, two with it, and the normal law.
    assert [len(axes.lines) for axes in panels] == [4, 3, 4, 3]


def test_curves_begin_at_the_largest_square(data_folder: Path) -> None:
    drawn = rank_curves(data_folder).axes[0].lines[0]
    assert np.asarray(drawn.get_xdata()).tolist() == pytest.approx([0, 0.5, 2999 / 3000])
    assert np.asarray(drawn.get_ydata()).tolist() == [1.0, 0.25, 0.0]


def test_gains_stand_over_the_densities_of_whole_counts(data_folder: Path) -> None:
    dense, top_k, course = measured_contraction(data_folder).axes
    drawn = dense.lines[0]
    assert np.asarray(drawn.get_xdata()).tolist() == [0.001, 0.1]
    assert np.asarray(drawn.get_ydata()).tolist() == pytest.approx([100.0, 6.0])
    # Two models, two rungs, the Gaussian law, and the two laws of the steady state.
    assert len(top_k.lines) == 7
    assert np.asarray(course.lines[-1].get_xdata()).tolist() == pytest.approx([0.2, 0.4])
    assert [text.get_text() for text in course.texts] == ["persistent", "noise"]


def test_windows_grow_and_leave_no_step_out() -> None:
    steps = list(range(1, 14))
    ends, means = windowed(steps, [float(step) for step in steps])
    assert ends == [1, 2, 3, 4, 5, 7, 9, 12, 13]
    assert means == [1, 2, 3, 4, 5, 6.5, 8.5, 11, 13]
