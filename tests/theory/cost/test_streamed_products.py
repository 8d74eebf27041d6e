"""Cannon's product over outer blocks: by hand, on one processor, where memory binds, and with a broken step."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import sympy

from sparsync.theory.cost import streamed_products
from sparsync.theory.cost.streamed_products import SIDE, STATEMENTS

SHAPE = {"matrix_side": 12, "outer_count": 3, "grid_side": 2}


def test_a_product_by_hand() -> None:
    # 27 hypersteps of 2 · 2 · 2³ operations, 2 · 2² words, 2 barriers, and 2 · 2² words that are fetched.
    computing = 27 * (32 + 8 * 5 + 2 * 7)
    costs = {"word_cost": 5, "barrier_cost": 7}
    assert STATEMENTS["streamed_cannon"].fraction(fetch_cost=1, **SHAPE, **costs) == computing
    assert STATEMENTS["streamed_cannon"].fraction(fetch_cost=100, **SHAPE, **costs) == 27 * 8 * 100


def test_words_by_hand() -> None:
    assert STATEMENTS["cannon_words"].fraction(**SHAPE) == 27 * 4 * 8
    assert STATEMENTS["cannon_tokens"].fraction(matrix_side=12, outer_count=3) == 27 * 4 * 8 + 144


def test_one_processor_sends_nothing() -> None:
    assert STATEMENTS["cannon_words"].fraction(matrix_side=12, outer_count=3, grid_side=1) == 0


def test_memory_binds_between_two_roots_and_nowhere_if_it_is_fast_enough() -> None:
    costs = {"grid_side": 2, "word_cost": 1, "barrier_cost": 27}
    enough = STATEMENTS["cannon_window"].fraction(**costs)
    assert enough == 1 + Fraction(3, 2) * 2 * 3
    balances = [STATEMENTS["cannon_crossover"].fraction(block_side=side, **costs) for side in range(1, 40)]
    assert min(balances) == enough == balances[5]
    binds = [balance < enough + 2 for balance in balances]
    first, last = binds.index(True), len(binds) - binds[::-1].index(True)
    assert all(binds[first:last])
    assert first > 0
    assert last < 39


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("streamed_cannon", "_hyperstep", lambda: SIDE**3),
        ("streamed_cannon", "_held", lambda row, column, turn: sympy.Matrix([row, column + turn, row + turn, column])),
        ("cannon_words", "_in_outer_blocks", lambda each: each),
        ("cannon_tokens", "_written", lambda: sympy.Integer(0)),
        ("cannon_crossover", "_cubic", lambda: sympy.Integer(1)),
        ("cannon_window", "_turning_side", lambda: sympy.Integer(1)),
    ],
)
def test_a_broken_step_leaves_a_claim_unproved(
    label: str, name: str, replacement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(streamed_products, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
