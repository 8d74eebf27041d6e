"""The text counts the verdicts of the settings, and the figure draws every setting against β = 1."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper.studies.decays import KINDS, MACROS, NOT_RUN, STUDY, decays, network_difference, share, some_better
from tests.support.drawing import plain
from tests.support.paper_data import PROVENANCE, write

BETAS = (0.0, 0.9, 1.0)


def row(decay: float, log_ratio: float, verdict: str) -> dict[str, Any]:
    near = {"log_ratio": log_ratio, "low": log_ratio - 0.1, "high": log_ratio + 0.1}
    return {"decay": decay, "step_size": 1.0, "excess": 1.0, "verdict": verdict, **near}


def setting(local_steps: int, spread: float, noise: float, verdicts: tuple[str, str]) -> dict[str, Any]:
    signs = {"better": -1.0, "worse": 1.0, "inconclusive": 0.0}
    rows = [row(decay, signs[verdict], verdict) for decay, verdict in zip(BETAS, verdicts, strict=False)]
    return {
        "local_steps": local_steps,
        "sent_count": 6,
        "spread": spread,
        "noise": noise,
        "by_decay": [*rows, row(1.0, 0.0, "itself")],
    }


def network(model: str, losses: dict[float, list[float | None]]) -> dict[str, Any]:
    near = {"difference": 0.5, "low": 0.25, "high": 0.75}
    verdicts = {0.0: "worse" if model == "gpt" else "better", 0.5: "inconclusive", 1.0: "itself"}
    rows = [{"decay": decay, "test_loss": found, "verdict": verdicts[decay], **near} for decay, found in losses.items()]
    return {"model": model, "by_decay": rows}


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    cases = [
        setting(1, 0.0, 0.0, ("better", "inconclusive")),
        setting(8, 0.0, 0.0, ("worse", "better")),
        setting(1, 1.0, 0.0, ("worse", "worse")),
        setting(8, 1.0, 0.0, ("inconclusive", "worse")),
        setting(1, 0.0, 1.0, ("worse", "better")),
    ]
    networks = [
        network("gpt", {0.0: [1.5, 2.5, 3.5], 0.5: [None, 1.0, 1.0], 1.0: [1.0, 2.0, 3.0]}),
        network("fnn3", {0.0: [1.5, 2.5, 3.6], 1.0: [1.0, 2.0, 3.0]}),
    ]
    study = {"profile": "quick", "dimension": 64, "worker_count": 4, "seed_count": 16, "provenance": PROVENANCE}
    write(tmp_path / "decays.json", {**study, "cases": cases, "networks": networks})
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("DecaysEqualLess", "2 of 2"),
        # Where the smallest β is not known to be worse, nothing is claimed.
        ("DecaysDifferWhole", "1 of 2"),
        ("DecaysNoiseWhole", "0 of 1"),
        ("DecaysNoiseLess", "1 of 1"),
        ("DecaysDimension", "64"),
        ("DecaysWorkers", "4"),
        ("DecaysSeeds", "16"),
        ("DecaysNetworksLess", "1 of 2"),
        ("DecaysGptNone", "+0.500 (0.500 to 0.500)"),
        # One run diverged; and β = 0.5 was not run at all.
        ("DecaysGptHalf", NOT_RUN),
        ("DecaysFnnHalf", NOT_RUN),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_differences_are_paired_by_seed(data_folder: Path) -> None:
    found = network_difference(data_folder, "fnn3", 0.0)
    assert found is not None
    assert found.value == pytest.approx((0.5 + 0.5 + 0.6) / 3)
    assert found.high - found.low < 0.3  # of losses that differ by 2 between seeds


def test_settings_are_counted_by_what_workers_see(data_folder: Path) -> None:
    assert [share(data_folder, kind, some_better) for kind in KINDS.values()] == ["2 of 2", "0 of 2", "1 of 1"]


def test_the_figure_draws_every_beta_against_one(data_folder: Path) -> None:
    panels = decays(data_folder).axes
    assert [axes.get_title() for axes in panels] == ["equal workers", "workers differ", "noise", "networks"]
    drawn = [np.asarray(line.get_ydata()).tolist() for line in panels[0].lines]
    assert pytest.approx([math.exp(-1), 1, 1]) in drawn
    assert [text.get_text() for text in panels[0].get_xticklabels()] == ["0", ".9", "1"]


def test_a_profile_without_networks_says_so(data_folder: Path) -> None:
    study = {
        "profile": "quick",
        "cases": [setting(1, *where, ("worse", "worse")) for where in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))],
    }
    write(data_folder / "decays.json", {**study, "networks": [], "provenance": PROVENANCE})
    assert decays(data_folder).axes[-1].texts[0].get_text() == NOT_RUN
    assert plain(STUDY.macros["DecaysGptDefault"](data_folder)) == NOT_RUN
