"""Gains are paired by seed, and a link on which nothing is in time is said to be one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper.results import Result, result
from paper.studies.planning.layer_densities import (
    MACROS,
    NOT_IN_TIME,
    WAYS,
    feasible,
    layer_figure,
    layer_table,
    left_out_figure,
    places,
    rate_figure,
)
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import write
from tests.support.paths import ROOT

DATA = ROOT / "paper" / "data"
RATES = [1e8, 1e9]


def link(rate: float, gain: float) -> dict[str, Any]:
    """With one density a half is left out, by layers less; a tenth of a point less of later gradients."""
    left_out = {"layers": 0.5 - gain, "one": 0.5, "whole": 0.75, "free": 0.5 - gain}
    return {
        "bits_per_second": rate,
        "densities": [0.5, 0.1],
        "one_density": 0.25,
        "entry_share": {"layers": 0.3, "one": 0.2, "whole": 0.1, "free": 0.3},
        "left_out": left_out,
        "later_left_out": {**left_out, "layers": 0.501 - gain},
    }


def missing(rate: float) -> dict[str, Any]:
    return {"bits_per_second": rate} | dict.fromkeys(
        ("densities", "one_density", "entry_share", "left_out", "later_left_out")
    )


def record(*, seeds: int = 2) -> dict[str, Any]:
    """Gains of ten and twelve points on the fast link; the slow one is too slow."""
    whole: dict[str, Any] = result(DATA, "layer_densities").fields["density_rates"]
    return {
        "profile": "quick",
        "bits_per_second": RATES,
        "seeds": list(range(seeds)),
        "messages": {"fnn3": [{"names": ["0"], "size": 20}, {"names": ["2"], "size": 20}]},
        "runs": [
            {"model": "fnn3", "seed": seed, "links": [missing(1e8), link(1e9, 0.1 + 0.02 * seed)]}
            for seed in reversed(range(seeds))
        ],
        "density_rates": whole,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "layer_densities.json", record())
    return tmp_path


@pytest.fixture
def study(folder: Path) -> Result:
    return result(folder, "layer_densities")


def test_gains_are_taken_seed_by_seed(study: Result) -> None:
    (place,) = feasible(study)
    assert place.left_out("layers", is_later=False) == pytest.approx([40.0, 38.0])
    gain = place.gain("one", is_later=False)
    # Student's t of one degree of freedom is 12.7; half the difference is 1.
    assert gain.value == pytest.approx(11.0)
    assert gain.low == pytest.approx(11 - 12.706, abs=1e-3)
    assert place.gain("one", is_later=True).value == pytest.approx(10.9)


def test_a_link_on_which_not_everything_can_be_sent_once_is_not_compared(study: Result, folder: Path) -> None:
    assert [place.is_feasible for place in places(study)] == [False, True]
    lines = [line for line in layer_table(folder).splitlines() if line.startswith("FNN-3")]
    assert [NOT_IN_TIME in line for line in lines] == [True, False]


def test_intervals_that_hold_zero_are_inconclusive(folder: Path) -> None:
    assert MACROS["LayerGains"](folder) == "more in none, less in none, inconclusive in 1"
    assert plain(MACROS["LayerGainRange"](folder)) == "11.0 to 11.0"
    assert plain(MACROS["LayerMoreEntries"](folder)) == "1.5 to 1.5"


def test_one_seed_is_said_to_be_one(tmp_path: Path) -> None:
    write(tmp_path / "layer_densities.json", record(seeds=1))
    assert "one seed in 1" in MACROS["LayerGains"](tmp_path)
    assert "one seed" in layer_table(tmp_path)
    assert len(layer_figure(tmp_path).axes) == len(left_out_figure(tmp_path).axes) == 1


def test_the_figure_shows_what_is_left_out_of_later_gradients(folder: Path) -> None:
    (axes,) = left_out_figure(folder).axes
    assert drawn_line(axes, WAYS["layers"].title)[1] == pytest.approx([39.1])
    assert drawn_line(axes, WAYS["whole"].title)[1] == pytest.approx([75.0])
    assert [text.get_text() for text in layer_figure(folder).axes[0].texts] == ["1 Gbit/s"]


def test_the_rates_figure_has_a_curve_and_dots_for_each_number_of_workers() -> None:
    for axes in rate_figure(DATA).axes:
        assert [text.get_text() for text in axes.texts] == ["$n=2$", "$n=4$", "$n=8$"]
    assert [axes.get_title() for axes in rate_figure(DATA).axes] == ["persistent, $c=3$", "noise, $c=6$"]


@pytest.mark.parametrize("name", MACROS)
def test_every_macro_can_be_made_of_the_record(name: str) -> None:
    assert MACROS[name](DATA)
