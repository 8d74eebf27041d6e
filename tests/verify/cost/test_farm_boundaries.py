"""Boundaries a second time: searches by hand, and boundaries that are off."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.verify.cost import farm_boundaries
from sparsync.verify.cost.farm_boundaries import (
    best_depth,
    boundary_margin,
    depth_margin,
    first_best,
    gain_margin,
    gathered_turn_margin,
    is_best,
    optimum_margin,
    power_margin,
    speed_up_margin,
    turn_margin,
    with_list,
    worked,
)
from sparsync.verify.cost.farms import Star, Tree

FARM = Star(*map(Fraction, (1, 2, 6, 5, 1)))
TREE, PARTS = with_list(Tree(*map(Fraction, (1, 2, 1, 1, 2))), 50, Fraction(2, 3))


def test_a_search_ends_where_times_no_longer_fall() -> None:
    assert first_best(lambda size: Fraction((size - 4) ** 2), 1) == 4
    assert first_best(lambda size: Fraction(max(size, 6)), 1) == 1


def test_a_farm_with_the_work_for_six_is_best_with_six() -> None:
    farm = worked(FARM, 6)
    assert is_best(farm, 6)
    assert not is_best(farm, 5)
    assert boundary_margin(FARM, 6) == optimum_margin(farm) == speed_up_margin(FARM, 6, 2) == 0


def test_the_best_depth_by_hand() -> None:
    # (100 + 50)/(3 + 1) = 37.5, and 2^{q + 1} reaches it at q = 5.
    assert TREE.mapping == 100
    assert best_depth(TREE, PARTS) == 5
    assert depth_margin(TREE, PARTS) == 0


def test_a_gain_leaves_less_room_the_more_closely_it_is_approached() -> None:
    rooms = [gain_margin(Fraction(1), 1, 1, closeness) for closeness in (4, 10, 40)]
    assert rooms == sorted(rooms, reverse=True)
    assert 0 < rooms[-1] < Fraction(1, 4)


def test_times_are_longer_on_either_side_of_a_boundary() -> None:
    assert min(turn_margin(TREE, PARTS), gathered_turn_margin(TREE, PARTS)) > 5e-4
    assert power_margin(TREE, PARTS) >= 0


def test_margins_see_a_best_size_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    right = farm_boundaries.first_best
    monkeypatch.setattr(farm_boundaries, "first_best", lambda *arguments: right(*arguments) + 1)
    assert boundary_margin(FARM, 6) == -13
    assert optimum_margin(worked(FARM, 6)) == -1
    monkeypatch.setattr(farm_boundaries, "is_best", lambda *_: False)
    assert gain_margin(Fraction(1), 1, 1, 4) == -1
    monkeypatch.setattr(farm_boundaries, "best_depth", lambda *_: 7)
    assert max(depth_margin(TREE, PARTS), power_margin(TREE, PARTS)) < 0
