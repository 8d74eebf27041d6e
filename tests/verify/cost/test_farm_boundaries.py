"""Boundaries a second time: searches by hand, and boundaries that are off."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest

from sparsync.verify.cost import farm_boundaries
from sparsync.verify.cost.farm_boundaries import (
    best_depth,
    boundary_margin,
    depth_margin,
    first_best,
    gain_margin,
    optimum_margin,
    real_best,
    selected_margin,
    speed_up_margin,
    tree_form,
    turn_margin,
    with_list,
    worked,
)
from sparsync.verify.cost.farms import Star, Tree, phased_seconds

FARM = Star(*map(Fraction, (1, 2, 6, 5, 1)))
TREE, PARTS = with_list(Tree(*map(Fraction, (1, 2, 1, 1, 2))), 50, Fraction(2, 3))


def test_a_search_ends_where_times_no_longer_fall() -> None:
    assert first_best(lambda size: Fraction((size - 4) ** 2), 1) == 4
    assert first_best(lambda size: Fraction(max(size, 6)), 1) == 1


def test_a_farm_with_the_work_for_six_is_best_with_six() -> None:
    farm = worked(FARM, 6)
    assert real_best(partial(phased_seconds, farm)) == 36
    assert first_best(partial(phased_seconds, farm), 1) == 6
    assert boundary_margin(FARM, 6) == optimum_margin(farm) == speed_up_margin(FARM, 6, 2) == 0


def test_the_best_depth_by_hand() -> None:
    # (100 + 50)/(3 + 1) = 37.5, and 2^{q + 1} reaches it at q = 5.
    assert TREE.mapping == 100
    assert best_depth(TREE, PARTS) == 5
    assert depth_margin(TREE, PARTS) == 0


@pytest.mark.parametrize("size", [Fraction(1, 2), 1, 6])
@pytest.mark.parametrize("share", [Fraction(1, 9), Fraction(2)])
def test_with_a_selection_the_boundary_is_the_stated_one_and_the_gain_below_the_bound(
    size: Fraction | int, share: Fraction
) -> None:
    assert selected_margin(FARM, size, share) == 0
    assert gain_margin(FARM, size, share) >= 0


def test_times_of_another_form_are_refused() -> None:
    with pytest.raises(ValueError, match="another form"):
        real_best(lambda size: Fraction(size**2))


def test_the_form_of_a_tree_by_hand() -> None:
    # A round and a fold a level; 100 of map and 50 folds, which workers share.
    assert tree_form("tree_farm_boundary", TREE, PARTS) == tuple(map(Fraction, (4, 0, 150)))
    # A round a level, and a fold for each worker.
    assert tree_form("gathered_farm_boundary", TREE, PARTS) == tuple(map(Fraction, (3, 1, 150)))


@pytest.mark.parametrize("label", ["tree_farm_boundary", "gathered_farm_boundary"])
@pytest.mark.parametrize("share", [Fraction(1, 60), Fraction(2, 3), Fraction(60)])
def test_times_turn_at_a_boundary_that_may_be_one_worker_or_one_a_part(label: str, share: Fraction) -> None:
    assert turn_margin(label, *with_list(TREE, 50, share), Fraction(1, 2**40)) > 0
    assert turn_margin(label, *with_list(TREE, 1, share), Fraction(1, 2**40)) > 0


def test_margins_see_a_best_size_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    right = farm_boundaries.first_best
    monkeypatch.setattr(farm_boundaries, "first_best", lambda *arguments: right(*arguments) + 1)
    assert boundary_margin(FARM, 6) == -13
    assert optimum_margin(worked(FARM, 6)) == -1
    monkeypatch.setattr(farm_boundaries, "real_best", lambda _seconds: Fraction(9))
    assert gain_margin(FARM, 6, Fraction(1, 2)) < 0
    monkeypatch.setattr(farm_boundaries, "best_depth", lambda *_: 7)
    assert depth_margin(TREE, PARTS) < 0
    monkeypatch.setattr(farm_boundaries, "tree_form", lambda *_: (Fraction(4), Fraction(0), Fraction(148)))
    assert turn_margin("tree_farm_boundary", TREE, PARTS, Fraction(1, 128)) < 0
