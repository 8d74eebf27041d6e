"""The figures and numbers about private learning are what the study's file says."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.axes import Axes

from paper.results import result
from paper.studies.learning.private import (
    MACROS,
    concentrations,
    equal_count,
    map_rows,
    noises,
    private_learning,
    private_noise,
    right_count,
    shard_accuracies,
    shard_difference,
)
from sparsync.theory.statements import STATEMENTS
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import PROVENANCE, rewrite, write
from tests.support.studies.private_data import private_record


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    write(tmp_path / "private_learning.json", {**private_record(), "provenance": PROVENANCE})
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PrivateMapRuns", "9"),
        ("PrivateMapRight", "9"),
        ("PrivateByteRuns", "24"),
        ("PrivateByteEqual", "24"),
        ("PrivateUneven", "0.1"),
        ("PrivateEven", "100"),
        ("PrivateShardSeeds", "2"),
        ("PrivateLargeBatchUneven", "-4.0 points (-4.0 to -4.0)"),
        ("PrivateSelectedEven", "-2.0 points (-2.0 to -2.0)"),
        ("PrivateEpsilonLeast", "2.0"),
        ("PrivateEpsilonMost", "8.0"),
        ("PrivateAccuracyCost", "-30.0 points (-30.0 to -30.0)"),
        ("PrivateAreaCost", "-0.060 (-0.060 to -0.060)"),
        ("PrivateSelectedAccuracy", "lower in 2, higher in none, inconclusive in none"),
        ("PrivateSelectedArea", "smaller in none, larger in none, inconclusive in 2"),
        ("PrivateAdvantage", "0.07"),
        ("PrivateMaskRuns", "6"),
        ("PrivateMaskRecovered", "6"),
        ("PrivateMaskClients", "4"),
        ("PrivateMaskDense", "2.00"),
        ("PrivateMaskSparse", "4.00"),
        ("PrivateMaskDensity", "0.01"),
        ("PrivateMaskSaved", "25"),
        ("PrivateUnionLeast", "90"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_every_number_is_a_text(data_folder: Path) -> None:
    assert all(macro(data_folder) for macro in MACROS.values())


def test_the_bound_of_the_attack_is_that_at_the_least_epsilon(data_folder: Path) -> None:
    bound = STATEMENTS["membership_bound"].evaluate(loss_factor=2.718281828459045**2, loss_excess=1e-5)
    assert plain(MACROS["PrivateAdvantageBound"](data_folder)) == f"{bound:.2f}"


def test_bytes_that_differ_and_winners_that_are_wrong_are_counted(data_folder: Path) -> None:
    rows = private_record()["map"]
    rows[0] |= {"split_bytes": 1}
    rewrite(data_folder / "private_learning.json", map=rows)
    study = result(data_folder, "private_learning")
    assert equal_count(study) == (23, 24)
    assert right_count(study) == 8
    assert len(map_rows(study, sends_less=True)) + len(map_rows(study, sends_less=False)) == 9


def test_runs_are_paired_by_their_seeds_whatever_their_order(data_folder: Path) -> None:
    rows = private_record()["shards"]
    rewrite(data_folder / "private_learning.json", shards=rows[::-1])
    study = result(data_folder, "private_learning")
    assert shard_accuracies(study, "federated", 0.1) == pytest.approx([60.0, 62.0])
    assert shard_difference(study, "split", 0.1).value == pytest.approx(-6.0)
    assert concentrations(study) == [0.1, 1.0, 100.0]
    assert noises(study) == [None, 0.0, 1.0, 4.0]


def test_runs_that_are_missing_are_named(data_folder: Path) -> None:
    study = result(data_folder, "private_learning")
    with pytest.raises(ValueError, match="'gossip' at concentration 3"):
        shard_accuracies(study, "gossip", 3.0)


def titled(axes: list[Axes]) -> dict[str, Axes]:
    return {one.get_title(): one for one in axes}


def test_the_map_has_every_epoch_and_the_stated_line_between_them(data_folder: Path) -> None:
    axes = titled(private_learning(data_folder).axes)["bytes of an epoch"]
    won, lost = (drawn_line(axes, f"{name} sends less") for name in ("split", "averaging"))
    assert len(won[0]) + len(lost[0]) == 9
    examples, clients = drawn_line(axes, "$p^{*}$, stated")
    assert [400 * count for count in clients] == pytest.approx(examples)


def test_masks_are_drawn_over_all_entries_in_the_clear(data_folder: Path) -> None:
    axes = titled(private_learning(data_folder).axes)["masks, 4 clients"]
    for label, expected in (("masked", [2.0, 0.4, 0.04]), ("in the clear", [1.0, 0.1, 0.01])):
        shares, heights = drawn_line(axes, label)
        assert shares == [1.0, 0.1, 0.01]
        assert heights == pytest.approx(expected)


def test_privacy_is_on_the_axis_from_none_to_the_most(data_folder: Path) -> None:
    left, right = private_noise(data_folder).axes
    assert [label.get_text() for label in left.get_xticklabels()] == ["none", "clip", "8.0", "2.0"]
    assert left.get_xlabel() == right.get_xlabel() == r"$\epsilon$ at $\delta=10^{-5}$"


@pytest.mark.parametrize("draw", [private_learning, private_noise])
def test_a_smoke_figure_says_so(draw: object, data_folder: Path) -> None:
    write(data_folder / "private_learning.json", {**private_record("smoke"), "provenance": PROVENANCE})
    figure = private_learning(data_folder) if draw is private_learning else private_noise(data_folder)
    assert "smoke" in figure.get_suptitle()
