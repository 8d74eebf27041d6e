"""Farms are played a second time: by hand, and with messages that are off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sparsync.verify.cost import farms
from sparsync.verify.cost.farms import (
    Star,
    Tree,
    gathered_margin,
    phased_seconds,
    pipelined_margin,
    pipelined_seconds,
    star_margin,
    tree_margin,
    tree_rounds,
    tree_seconds,
)

FARM = Star(*map(Fraction, (1, 2, 6, 5, 60)))
TREE = Tree(*map(Fraction, (1, 2, 1, 64, 2)))


def test_a_farm_by_hand() -> None:
    assert phased_seconds(FARM, 3) == 9 + 20 + 9 + 5


def test_a_farm_without_phases_by_hand() -> None:
    three, work, master = Fraction(3), Fraction(60), Fraction(5)
    assert pipelined_seconds(3, three, three, work, master) == 29 + 3 + 5
    assert pipelined_seconds(30, three, three, work, master) == 185


def test_everybody_in_a_tree_is_told_once_by_someone_who_knows() -> None:
    rounds = tree_rounds(3)
    assert [len(told) for told in rounds] == [1, 1, 2, 4]
    knowing = {-1}
    for told in rounds:
        assert {teller for teller, _ in told} <= knowing
        knowing |= {other for _, other in told}
    assert sorted(other for told in rounds for _, other in told) == list(range(8))


def test_trees_by_hand() -> None:
    assert tree_seconds(TREE, 2, 16, master_folds=False) == 9 + 2 + 16 + 3 + 2
    assert tree_seconds(TREE, 2, 16, master_folds=True) == 9 + 3 + 16 + 3 + 2


def test_the_longest_share_decides_where_workers_do_not_divide_the_list() -> None:
    # Two rounds, 64/2 of work and the fold of two of three parts, a fold on the way, and 2.
    assert tree_seconds(TREE, 1, 3, master_folds=False) == 6 + 32 + 1 + 1 + 2


def test_a_result_that_is_lost_on_its_way_up_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(farms, "tree_rounds", lambda _depth: [[(-1, 0)], [(0, 1)], [(1, 2)]])
    with pytest.raises(ValueError, match="the master ends with"):
        tree_seconds(TREE, 2, 16, master_folds=False)


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert star_margin(FARM, 3) == tree_margin(TREE, 2, 4) == gathered_margin(TREE, 2, 4) == 0
    assert pipelined_margin(3, *map(Fraction, (3, 3, 60, 5))) == 0
    slower = phased_seconds(replace(FARM, latency=Fraction(2)), 3)
    monkeypatch.setattr(farms, "phased_seconds", lambda *_: slower)
    monkeypatch.setattr(farms, "pipelined_seconds", lambda *_: slower)
    monkeypatch.setattr(farms, "tree_seconds", lambda *_, **__: slower)
    assert star_margin(FARM, 3) == -6
    assert max(tree_margin(TREE, 2, 4), gathered_margin(TREE, 2, 4)) < 0
    assert pipelined_margin(3, *map(Fraction, (3, 3, 60, 5))) < 0
