"""What a variant loses is paired by seed, its verdict follows from the interval, and what a run lacks is left open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.comparisons import ONE_SEED, UNKNOWN
from paper.results import result
from paper.studies.variants.figures import losses
from paper.studies.variants.runs import (
    BEYOND,
    DIVERGED,
    OPTIMISERS,
    TITLES,
    WITHIN,
    best,
    contestant,
    lost,
    nearest,
    scores,
    verdict,
)
from paper.studies.variants.study import MACROS, NOT_RUN, loss_table, shorter_table
from paper.variants_page import variants_markdown
from sparsync.experiments.feedbacks.registry import FEEDBACKS
from sparsync.experiments.studies.training import contestants
from sparsync.verify.tools.intervals import Estimate
from tests.support.drawing import plain, table_lines
from tests.support.paper_data import write

STUDENT = 12.7062
"""The 97.5 % quantile of Student's t with one degree of freedom."""


LOSSES = {"dense": (0.0, 0.0), "ef14": (0.5, 1.5), "ef21": (0.2, 0.4), "powersgd": (0.6, 0.6)}
"""Of each method, on two seeds: points of accuracy, and per cent of the loss; at density 0.001 four times that."""


def variants_record(profile: str = "record") -> dict[str, Any]:
    """Two seeds, two models, two optimisers; `econtrol` diverged on one seed."""
    return {
        "profile": profile,
        "seeds": [0, 1],
        "densities": [0.01, 0.001],
        "setups": [
            {"model": "gpt", "steps": 600, "dimension": 3000},
            {"model": "resnet20", "steps": 800, "dimension": 9},
        ],
        "runs": [
            run_record(model, optimiser, method, density)
            for model in ("gpt", "resnet20")
            for optimiser in ("momentum", "adamw")
            for method in (*LOSSES, "econtrol")
            for density in ((None,) if method in ("dense", "powersgd") else (0.01, 0.001))
        ],
        "shorter": [
            {**run_record("gpt", "adamw", method, density), "steps": steps}
            for method, density in (("dense", None), ("ef14", 0.01), ("econtrol", 0.001))
            for steps in (150, 300)
        ],
    }


def run_record(model: str, optimiser: str, method: str, density: float | None) -> dict[str, Any]:
    """One contestant's record; dense training has accuracies 0.8 and 0.9, and losses 2 and 4."""
    factor = 4 if density == 0.001 else 1
    first, second = (factor * loss / 100 for loss in LOSSES.get(method, (0.0, 0.0)))
    has_diverged = method == "econtrol"
    return {
        "model": model,
        "optimiser": optimiser,
        "method": method,
        "density": density,
        "step_size": 0.1,
        "is_at_edge": method == "ef21",
        "tried": [],
        "test_loss": [2 * (1 + first), None if has_diverged else 4 * (1 + second)],
        "test_accuracy": [0.8 - first, None if has_diverged else 0.9 - second],
        "sent_bytes": 3000.0 if method == "powersgd" else 2000.0,
        "rank": 1 if method == "powersgd" else None,
        "tuned_on": ["Tuner & Co"],
        "computed_on": ["A", "B"] if model == "gpt" else ["B"],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "variants.json", variants_record())
    return tmp_path


@pytest.mark.parametrize("model", ["resnet20", "gpt"])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_points_of_accuracy_and_per_cent_of_loss_are_paired_by_seed(folder: Path, model: str, optimiser: str) -> None:
    study = result(folder, "variants")
    for density, factor in ((0.01, 1), (0.001, 4)):
        found = contestant(study, model, optimiser, "ef14", density)
        assert found is not None
        loss = lost(study, model, found)
        assert loss is not None
        assert loss.value == pytest.approx(factor * 1.0)
        # Two values that differ by one have a mean with standard error one half.
        assert loss.high - loss.value == pytest.approx(factor * STUDENT * 0.5, rel=1e-5)


@pytest.mark.parametrize(
    ("loss", "density", "said"),
    [
        (Estimate(0.5, 0.1, 0.9, 5), 0.01, WITHIN),
        (Estimate(0.5, -0.1, 1.1, 5), 0.01, UNKNOWN),
        (Estimate(0.5, -0.1, 1.1, 5), 0.001, WITHIN),
        (Estimate(2.5, 2.1, 2.9, 5), 0.001, BEYOND),
        (Estimate(-9.0, float("-inf"), float("inf"), 1), 0.01, ONE_SEED),
        (None, 0.01, DIVERGED),
    ],
)
def test_the_verdict_is_the_interval_s(loss: Estimate | None, density: float, said: str) -> None:
    assert verdict(loss, density) == said


def test_the_nearest_variant_and_the_best_of_all_have_not_diverged(folder: Path) -> None:
    study = result(folder, "variants")
    found = nearest(study, "gpt", "adamw", 0.01)
    assert found is not None
    assert found[0] == "ef21"
    assert found[1].value == pytest.approx(0.3)
    # At 0.01, where one is close, losses are 0.2 and 0.4, and at 0.001, where two are, four times that.
    method, score = best(study) or ("none", [])
    assert method == "ef21"
    assert score == pytest.approx([0.3, 0.6])
    # It diverged, and is not in the run.
    assert scores(study, "econtrol") is scores(study, "dgc") is None


def test_the_table_has_a_row_for_every_variant_and_density(folder: Path) -> None:
    table = loss_table(folder)
    assert table_lines(table, "EF14, 0.01") == [["+1.0 (-5.4 to 7.4)"] * 4]
    assert table_lines(table, "EControl, 0.001") == [[DIVERGED] * 4]
    assert table_lines(table, "PowerSGD") == [[r"{\boldmath+0.6 (0.6 to 0.6)}"] * 4]
    assert table_lines(table, "dense") == []


def test_what_is_lost_after_fewer_steps_stands_beside_what_is_lost_in_the_end(folder: Path) -> None:
    table = shorter_table(folder)
    assert "150 & 300 & all" in plain(table)
    assert table_lines(table, "GPT, AdamW, 0.01: EF14") == [[r"\%", *["+1.0 (-5.4 to 7.4)"] * 3]]
    assert table_lines(table, "GPT, AdamW, 0.001: EControl") == [[r"\%", *[DIVERGED] * 3]]
    assert table_lines(table, "ResNet-20, AdamW, 0.01: EF14") == []


def test_the_page_s_table_has_the_same_rows_and_says_where_they_were_found(folder: Path) -> None:
    page = variants_markdown(folder).splitlines()
    assert page[1] == "A, B, Tuner & Co; 2 seeds:"
    assert page[3].endswith(" | GPT, momentum 0.9 (%) | GPT, AdamW (%) |")
    cells = {line.split(" | ")[0]: line.removesuffix(" |").split(" | ")[1:] for line in page[5:]}
    assert cells["| `ef14`, 0.01"] == ["+1.0 (-5.4 to 7.4)"] * 4
    assert cells["| `econtrol`, 0.001"] == [DIVERGED] * 4
    assert cells["| PowerSGD"] == ["**+0.6 (0.6 to 0.6)**"] * 4
    assert len(cells) == 7


def test_macros_say_who_is_nearest_and_whether_that_is_close(folder: Path) -> None:
    said = {name: plain(macro(folder)) for name, macro in MACROS.items()}
    assert said["VariantsGptAdamHundredth"] == r"EF21, +0.30 \% (-0.97 to 1.57; inconclusive), not surely within 1"
    assert (said["VariantsSeeds"], said["VariantsEdges"]) == ("2", "8 of 32")
    assert (said["VariantsGptSteps"], said["VariantsResnetBytes"]) == ("600", "1.50")
    assert (said["VariantsGptDimension"], said["VariantsResnetDimension"]) == ("3000", "9")
    # Of the two methods that were run for fewer steps one diverged.
    assert said["VariantsTrend"] == "less in none, more in none, inconclusive in 1"
    # Of EF14 the interval goes up to 7.4, of DGC there is no run.
    assert (said["VariantsPlainClose"], said["VariantsDgcClose"]) == ("none of 4", "none of 4")
    assert said["VariantsWorst"] == "1.0 (-5.4 to 7.4)"
    assert said["VariantsMachines"] == r"A and B and Tuner \& Co"
    assert (said["VariantsBest"], said["VariantsCloseHundredth"]) == ("EF21", "0 of 4")
    assert said["VariantsLowRank"] == "less in none, more in none, inconclusive in 4"


def test_the_figure_has_a_dot_for_each_variant_and_a_cross_where_one_diverged(folder: Path) -> None:
    panels = losses(folder).axes
    assert len(panels) == 4
    for axes in panels:
        dots = [line for line in axes.get_lines() if line.get_marker() == "o" and len(np.asarray(line.get_xdata()))]
        drawn = sorted(float(np.asarray(line.get_xdata())[0]) for line in dots)
        # PowerSGD once; EF14 and EF21 at two densities, at the smaller of which they lose four times as much.
        assert drawn == pytest.approx(sorted([0.6, 1.0, 0.3, 4.0, 1.2]))
        assert len({float(np.asarray(line.get_ydata())[0]) for line in dots}) == len(dots)
        assert [line.get_marker() for line in axes.get_lines()].count("x") == 2


def test_a_run_with_fewer_contestants_leaves_the_others_open(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"variants\.json"):
        losses(tmp_path)
    record = variants_record("smoke")
    record["densities"], record["shorter"] = [0.01], []
    record["runs"] = [
        run_record("gpt", "adamw", method, density) for method, density in (("dense", None), ("ef21", 0.01))
    ]
    write(tmp_path / "variants.json", record)
    figure = losses(tmp_path)
    assert len(figure.axes) == 1
    assert shorter_table(tmp_path).count(r"\\") == 1
    assert "smoke" in figure.get_suptitle()
    said = {name: macro(tmp_path) for name, macro in MACROS.items()}
    assert said["VariantsGptAdamHundredth"].startswith("EF21, ")
    assert said["VariantsGptAdamThousandth"] == said["VariantsResnetAdamHundredth"] == NOT_RUN
    assert said["VariantsLowRank"] == said["VariantsBestScore"] == said["VariantsTrend"] == NOT_RUN


def test_the_page_knows_the_methods_of_the_study() -> None:
    assert set(TITLES) == {*FEEDBACKS, contestants.LOW_RANK}
    assert set(OPTIMISERS) == set(contestants.OPTIMISERS)
