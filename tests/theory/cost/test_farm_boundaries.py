"""Boundaries of farms: by hand, against the time itself, in their limits, and with a broken time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import sympy

from sparsync.theory.cost import farm_boundaries
from sparsync.theory.cost.farm_boundaries import STATEMENTS
from sparsync.theory.cost.farms import STATEMENTS as TIMES
from sparsync.theory.language.symbols import latency

LINK = {"latency": 2, "send_time": 5}


def test_a_boundary_by_hand() -> None:
    assert STATEMENTS["star_farm_boundary"].fraction(work_time=9 * 36, **LINK) == 6
    assert STATEMENTS["star_farm_optimum"].fraction(work_time=9 * 36, **LINK) == 6


@pytest.mark.parametrize("work", [1, 17, 18, 19, 54, 100, 323, 325])
def test_the_best_whole_number_is_beside_the_boundary(work: int) -> None:
    boundary = STATEMENTS["star_farm_boundary"].evaluate(work_time=work, **LINK)
    best = STATEMENTS["star_farm_optimum"].fraction(work_time=work, **LINK)
    assert best in {math.floor(boundary), math.ceil(boundary)}
    times = {
        size: TIMES["star_farm"].fraction(farm_size=size, work_time=work, receive_time=1, master_time=1, **LINK)
        for size in range(1, 9)
    }
    assert best == min(times, key=lambda size: times[size])


def test_of_two_equally_good_numbers_the_smaller_is_the_best() -> None:
    # c = 9 and t_w = 9 · 2 · 3: two workers and three take the same time.
    assert STATEMENTS["star_farm_optimum"].fraction(work_time=54, **LINK) == 2


def test_a_selection_moves_the_boundary_until_only_latency_is_left() -> None:
    at = [
        STATEMENTS["selected_farm_boundary"].evaluate(work_time=100, payload_share=share, **LINK)
        for share in (1, Fraction(1, 2), Fraction(1, 1000))
    ]
    assert at == sorted(at)
    assert at[0] == STATEMENTS["star_farm_boundary"].evaluate(work_time=100, **LINK)
    largest = STATEMENTS["selected_farm_gain"].evaluate(**LINK)
    assert 0.999 * largest < at[-1] / at[0] < largest


def test_positions_may_make_a_selection_longer_than_everything() -> None:
    at = [
        STATEMENTS["selected_farm_boundary"].evaluate(work_time=100, payload_share=share, **LINK)
        for share in (1, Fraction(3, 2), 10)
    ]
    assert at == sorted(at, reverse=True)


def test_a_farm_with_next_to_no_work_has_one_worker_and_no_tree_has_more_than_parts() -> None:
    for label, numbers in (("star_farm_boundary", {}), ("selected_farm_boundary", {"payload_share": 1})):
        assert STATEMENTS[label].fraction(work_time=1, **LINK, **numbers) == 1
    short = {"map_time": 1, "list_length": 8, "round_time": 100, "fold_time": 1}
    long = {"map_time": 1000, "list_length": 8, "round_time": 1, "fold_time": 1}
    for label in ("tree_farm_boundary", "gathered_farm_boundary"):
        assert STATEMENTS[label].fraction(**short) == 1
        assert STATEMENTS[label].fraction(**long) == 8
    assert STATEMENTS["tree_farm_depth"].fraction(**short) == 0
    assert STATEMENTS["tree_farm_depth"].fraction(**long) == 3


def test_a_gathered_boundary_is_where_a_search_over_the_time_finds_it() -> None:
    costs = {"round_time": Fraction(1, 500), "fold_time": Fraction(1, 100_000), "map_time": 1, "list_length": 10_000}
    boundary = STATEMENTS["gathered_farm_boundary"].evaluate(**costs)

    def seconds(size: int) -> float:
        folds = (size - 1) * 1e-5 + (1 + (1e4 - size) * 1e-5) / size
        return (math.log2(size) + 1) / 500 + folds

    assert min(range(1, 2000), key=seconds) == round(boundary)


def test_the_boundary_of_a_tree_grows_like_the_work_and_that_of_a_star_like_its_root() -> None:
    tree = {"round_time": 4, "fold_time": 1}
    work = [
        STATEMENTS["tree_farm_boundary"].evaluate(map_time=100 * factor, list_length=100 * factor, **tree)
        for factor in (1, 4)
    ]
    assert math.isclose(work[1], 4 * work[0], rel_tol=1e-14)
    star = [STATEMENTS["star_farm_boundary"].evaluate(work_time=100 * factor, **LINK) for factor in (1, 4)]
    assert math.isclose(star[1], 2 * star[0], rel_tol=1e-14)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("star_farm_boundary", "_star_time", lambda: farm_boundaries._SIZE + 1 / farm_boundaries._SIZE),
        ("star_farm_optimum", "_each", lambda: latency),
        ("star_farm_speed_up", "_star_root", lambda: sympy.Integer(1)),
        ("selected_farm_boundary", "_selected", lambda expression: expression),
        ("selected_farm_gain", "_gain", lambda: sympy.Integer(1)),
        ("tree_farm_boundary", "_tree_time", farm_boundaries._star_time),
        ("tree_farm_depth", "_level_of", lambda _ratio: sympy.false),
        ("gathered_farm_boundary", "_gathered_time", farm_boundaries._tree_time),
    ],
)
def test_a_broken_time_leaves_a_claim_unproved(
    label: str, name: str, replacement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(farm_boundaries, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
