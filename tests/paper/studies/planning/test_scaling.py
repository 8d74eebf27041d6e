"""The figure draws what the file has, and the words count places where one way is quicker by the gain that counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper.results import result
from paper.studies.planning.scaling import (
    MACROS,
    NETWORKS,
    WAYS,
    cells,
    flips,
    largest_gain,
    largest_loss,
    row_of,
    scaling,
    scaling_table,
    won,
)
from tests.support.drawing import drawn_line, plain, table_lines
from tests.support.paper_data import PROVENANCE, write

OTHERS = ("gather_gaussian", "gather_torch", "gather_released")
RATES = [1e10, 1e11]


def curve(network: str, way: str, rate: float, density: float, slowness: float = 1.0) -> dict[str, Any]:
    """All is sent with half of the efficiency, gathering wins with two workers and loses with four."""
    is_dense = way in ("dense_ring", "dense", "dense_nodes", "powersgd")
    efficiency = [0.5, 0.5] if is_dense else [0.8, 0.4]
    if way == "gather_gaussian":
        efficiency = [0.802, 0.399]
    if slowness > 1:
        efficiency = [0.7, 0.39]
    return {
        "network": network,
        "way": way,
        "bits_per_second": rate,
        "density": density,
        "slowness": slowness,
        "efficiency": efficiency,
        "select_share": [0.0 if is_dense else 0.01 * slowness] * 2,
        "bucket_bytes": [25, 25],
    }


def record(profile: str = "quick") -> dict[str, Any]:
    dense = [name for name in WAYS if name in ("dense_ring", "dense", "dense_nodes", "powersgd")]
    sparse = [*(name for name in WAYS if name not in dense), *OTHERS]
    rows = [curve(network, way, rate, 1.0) for network in NETWORKS for way in dense for rate in RATES]
    for network in NETWORKS:
        for rate in RATES:
            for density in (0.001, 0.01):
                rows += [curve(network, way, rate, density) for way in sparse]
                rows.append(curve(network, "gather", rate, density, slowness=10.0))
    return {
        "profile": profile,
        "operations_per_second": 1e14,
        "least_gain": 1.1,
        "slowness": 10.0,
        "workers": [2, 4],
        "bits_per_second": RATES,
        "latency_seconds": 2e-5,
        "node_size": 8,
        "hardware": "some",
        "low_rank": 4,
        "networks": [{"network": network, "batch": 3} for network in NETWORKS],
        "rows": rows,
        "flips": [
            {
                "network": network,
                "way": way,
                "bits_per_second": rate,
                "density": 0.001,
                "operations_per_second": [2e14, None],
                "ratio": [1.25, None],
            }
            for network in NETWORKS
            for way in ("gather", "global_top_k")
            for rate in RATES
        ],
        "provenance": PROVENANCE,
    }


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    write(tmp_path / "scaling.json", record())
    write(tmp_path / "links.json", {"profile": "quick", "model": {"mean_error": 0.1, "largest_error": 0.3}})
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ScalingGatherWins", "8 of 16"),
        ("ScalingGatherLosses", "8 of 16"),
        ("ScalingFactorWins", "0 of 16"),
        ("ScalingWinningRate", "100"),
        ("ScalingGatherWorkers", "2"),
        ("ScalingShare", "1.0"),
        ("ScalingSlowShare", "10.0"),
        ("ScalingSlowLoss", "10.0"),
        ("ScalingApproximate", "0.20"),
        ("ScalingNever", "8 of 16"),
        ("ScalingRatioMost", "1.2"),
        ("ScalingError", r"10.0\,\%"),
        ("ScalingFlips", "200 for ResNet-50, 200 for VGG-16, 200 for BERT-large, 200 for LLaMA 7B"),
        ("ScalingWorkersTable", "4"),
    ],
)
def test_a_macro_is_what_a_hand_counts(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_a_tie_within_the_gain_counts_for_neither(data_folder: Path) -> None:
    study = result(data_folder, "scaling")
    found = list(cells(study, "gather_gaussian", 0.001, other="gather"))
    assert len(found) == 16
    assert won(study, found) == (0, 0)
    assert largest_gain(study, "gather_gaussian") == pytest.approx(0.002)
    assert largest_loss(study, "gather_gaussian") == pytest.approx(0.001)


def test_where_no_model_was_fitted_the_words_say_so(data_folder: Path) -> None:
    assert len(scaling(data_folder).axes[0].containers) == 1
    write(data_folder / "links.json", {"profile": "quick", "model": None})
    assert MACROS["ScalingError"](data_folder) == "not fitted"
    assert not scaling(data_folder).axes[0].containers


def test_every_panel_draws_both_ways_at_the_rates_that_there_are(data_folder: Path) -> None:
    panels = scaling(data_folder).axes
    assert [axes.get_title() for axes in panels] == list(NETWORKS.values())
    for axes in panels:
        assert drawn_line(axes, "Top-$k$, 10 Gbit/s") == ([2, 4], [0.8, 0.4])
        assert drawn_line(axes, "all, 100 Gbit/s") == ([2, 4], [0.5, 0.5])


def test_the_table_has_every_way_with_the_workers_in_the_middle(data_folder: Path) -> None:
    table = scaling_table(data_folder)
    assert table_lines(table, "all, quickest") == [["50"] * 8]
    assert table_lines(table, "Top-$k$, gathered") == [["40"] * 8]
    assert all(len(table_lines(table, title)) == 1 for title in WAYS.values())


def test_a_curve_that_is_missing_is_named(data_folder: Path) -> None:
    study = result(data_folder, "scaling")
    with pytest.raises(ValueError, match=r"scaling\.json: no row of 'telepathy' for 'vgg16' at 1e\+10 bit/s"):
        row_of(study, "vgg16", "telepathy", 1e10, 0.001)
    assert {operations for *_, operations, _ in flips(study, "gather")} == {2e14, None}
