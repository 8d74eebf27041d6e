"""Times of a farm: by hand, in their limits, and with a broken count."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy

from sparsync.theory.cost import farms
from sparsync.theory.cost.farms import STATEMENTS
from sparsync.theory.language.symbols import farm_size, fold_time, latency, list_length, map_time, tree_depth

STAR = {"latency": 1, "send_time": 2, "receive_time": 6, "master_time": 5, "work_time": 60}
TREE = {"round_time": 3, "fold_time": 1, "map_time": 64, "list_length": 16, "master_time": 2}


def test_a_farm_by_hand() -> None:
    # 3 · (1 + 2) down, 60/3 of work, 3 · (1 + 2) up, and 5.
    assert STATEMENTS["star_farm"].fraction(farm_size=3, **STAR) == 9 + 20 + 9 + 5


def test_without_phases_it_is_by_hand() -> None:
    numbers = {"dispatch_time": 3, "collect_time": 3, "work_time": 60, "master_time": 5}
    # The last of three is told at 9 and ready at 29; those before are taken by then.
    assert STATEMENTS["pipelined_farm"].fraction(farm_size=3, **numbers) == 29 + 3 + 5
    # Of thirty the first is ready before all are told.
    assert STATEMENTS["pipelined_farm"].fraction(farm_size=30, **numbers) == 30 * 6 + 5


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_phases_never_make_a_farm_faster_and_a_lone_worker_has_none(size: int) -> None:
    messages = {"dispatch_time": 3, "collect_time": 1 + Fraction(6, size), "work_time": 60, "master_time": 5}
    phased = STATEMENTS["star_farm"].fraction(farm_size=size, **STAR)
    pipelined = STATEMENTS["pipelined_farm"].fraction(farm_size=size, **messages)
    assert pipelined == phased if size == 1 else pipelined < phased


def test_trees_by_hand() -> None:
    # Three rounds, two folds on the way, 64/4 of work and 3 folds of four results.
    assert STATEMENTS["tree_farm"].fraction(tree_depth=2, **TREE) == 9 + 2 + 16 + 3 + 2
    assert STATEMENTS["gathered_farm"].fraction(tree_depth=2, **TREE) == 9 + 3 + 16 + 3 + 2


@pytest.mark.parametrize("label", ["tree_farm", "gathered_farm"])
@pytest.mark.parametrize(("depth", "parts"), [(5, 16), (1, 3)])
def test_a_list_that_workers_do_not_divide_is_refused(label: str, depth: int, parts: int) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].fraction(tree_depth=depth, **{**TREE, "list_length": parts})


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("star_farm", "_told", lambda: farm_size * latency),
        ("star_farm", "_taken", lambda: farm_size * latency),
        ("pipelined_farm", "_answers_end", lambda _answers: farm_size),
        ("tree_farm", "_tree_parts", lambda folds: folds * fold_time),
        ("gathered_farm", "_left_after", lambda folds, results: results - folds + 1),
    ],
)
def test_a_broken_count_leaves_a_claim_unproved(
    label: str, name: str, replacement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(farms, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)


def test_the_work_of_a_leaf_is_its_share_of_the_list() -> None:
    leaf = farms._share_of_work().subs({map_time: 0, list_length: 2**tree_depth})
    assert sympy.simplify(leaf) == 0
