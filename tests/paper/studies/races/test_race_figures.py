"""A figure has a dot with its interval for each policy, hollow where nothing is sure, and words where nothing is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.lines import Line2D

from paper.results import result
from paper.studies.races.figures import (
    GROUPS,
    colour_of,
    order,
    race_bytes,
    race_clusters,
    race_finals,
    race_speed,
)
from paper.studies.races.times import CLUSTERS, SELECTORS, at_target, gain, lead
from paper.style import GREY
from sparsync.experiments.policies.registry import POLICIES
from sparsync.verify.tools.intervals import mean
from tests.support.paper_data import rewrite
from tests.support.studies.race_data import FAST, write_races


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_races(tmp_path)


def _dots(axes: Axes) -> dict[str, Line2D]:
    """The marks, by the name of their line."""
    figure = axes.figure
    assert figure is not None
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    marks = [line for line in axes.get_lines() if line.get_marker() == "o"]
    return {names[int(np.asarray(mark.get_ydata())[0])]: mark for mark in marks}


def _place(mark: Line2D) -> float:
    return float(np.asarray(mark.get_xdata(), float)[0])


def test_a_group_names_policies_that_there_are_and_each_once() -> None:
    members = [policy for group in GROUPS for policy in group.members]
    assert len(set(members)) == len(members)
    assert set(members) <= set(POLICIES)


def test_a_policy_without_a_group_is_grey() -> None:
    assert colour_of("half_synchronous") == GREY
    assert colour_of("ssp") == colour_of("dssp") != GREY


def test_policies_stand_in_the_order_of_their_gains(folder: Path) -> None:
    assert order(result(folder, "races")) == ["asp", "bsp", "ssp"]


def test_speeds_are_the_gains_and_a_policy_that_is_not_there_has_words(folder: Path) -> None:
    study = result(folder, "races")
    dense, sparse = race_speed(folder).axes
    for axes, selector in ((dense, "none"), (sparse, "top_k")):
        dots = _dots(axes)
        assert set(dots) == {"asp"}
        found = gain(study, "asp", "one_slow", selector)
        assert found is not None
        assert _place(dots["asp"]) == pytest.approx(math.exp(found.value))
        assert [text.get_text() for text in axes.texts] == ["there on 0 of 2 seeds"]
        assert axes.get_title() == SELECTORS[selector]


def test_what_is_sure_is_full_and_what_is_not_is_hollow(folder: Path) -> None:
    rows = result(folder, "races")["races"]
    for row in rows:
        if (row["policy"], row["cluster"], row["seed"]) == ("bsp", "one_slow", 1):
            row["accuracy"] = FAST
    before = _dots(race_speed(folder).axes[0])["asp"]
    rewrite(folder / "races.json", races=rows)
    after = _dots(race_speed(folder).axes[0])["asp"]
    assert same_color(before.get_markerfacecolor(), colour_of("asp"))
    assert same_color(after.get_markerfacecolor(), "white")


def test_one_seed_has_dots_without_bars(folder: Path) -> None:
    for name in ("races.json", "race_finals.json"):
        rows = result(folder, name.removesuffix(".json"))["races"]
        rewrite(folder / name, races=[row for row in rows if row["seed"] == 0])
    for draw in (race_speed, race_clusters, race_bytes, race_finals):
        for axes in draw(folder).axes:
            horizontal = [line for line in axes.get_lines() if line.get_marker() == "None"]
            assert all(len(set(np.asarray(line.get_xdata()).tolist())) == 1 for line in horizontal)
            assert _dots(axes)


def test_every_other_cluster_has_a_panel(folder: Path) -> None:
    study = result(folder, "races")
    panels = race_clusters(folder).axes
    others = [name for name in CLUSTERS if name != "one_slow"]
    assert [axes.get_title() for axes in panels] == [CLUSTERS[name] for name in others]
    for axes, cluster in zip(panels, others, strict=True):
        found = gain(study, "asp", cluster, "none")
        assert found is not None
        assert _place(_dots(axes)["asp"]) == pytest.approx(math.exp(found.value))


def test_bytes_are_means_over_seeds_with_their_interval(folder: Path) -> None:
    study = result(folder, "races")
    for axes, selector in zip(race_bytes(folder).axes, SELECTORS, strict=True):
        dots = _dots(axes)
        assert list(dots) == ["asp", "bsp"]
        for line, policy in enumerate(dots):
            sent = at_target(study, (policy, "one_slow", selector), "sent_bytes")
            assert sent is not None
            estimate = mean([value / 1e6 for value in sent])
            assert _place(dots[policy]) == pytest.approx(estimate.value)
            bar = next(
                drawn
                for drawn in axes.get_lines()
                if drawn.get_marker() == "None" and np.asarray(drawn.get_ydata()).tolist() == [line, line]
            )
            assert np.asarray(bar.get_xdata()).tolist() == pytest.approx([estimate.low, estimate.high])


def test_finals_stand_beside_the_small_races(folder: Path) -> None:
    small, final = race_finals(folder).axes
    assert (small.get_title(), final.get_title()) == ("fnn2, 8 workers", "resnet20, 4 workers")
    for axes, name in ((small, "races"), (final, "race_finals")):
        dots = _dots(axes)
        assert list(dots) == ["asp", "ssp"]
        for policy, dot in dots.items():
            assert _place(dot) == pytest.approx(lead(result(folder, name), policy, "one_slow", "none").value)
