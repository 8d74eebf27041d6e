"""Cannon's product a second time: counts by hand, and blocks that are shifted the wrong way."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sparsync.verify.cost import streamed_products
from sparsync.verify.cost.streamed_products import (
    Shape,
    cannon_margin,
    crossover_margin,
    largest_fetch,
    multiplied,
    tokens_margin,
    window_margin,
    words_margin,
)

SHAPE = Shape(2, 3, 1)
CHARGES = (Fraction(5), Fraction(7), Fraction(1))


def test_a_product_by_hand() -> None:
    run = multiplied(SHAPE, 3)
    assert len(run.hypersteps) == 27
    assert run.sent == 27 * 4 * 2
    assert run.external == 27 * 4 * 2 + 36
    assert run.work(*CHARGES[:2]) == [Fraction(4 + 2 * 5 + 2 * 7)] * 27
    assert run.tokens() == [2] * 27


@pytest.mark.parametrize("grid", [2, 3])
def test_blocks_that_go_the_wrong_way_are_noticed(grid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = streamed_products._tokens

    def swapped(*arguments: object) -> object:
        first, second = right(*arguments)  # type: ignore[arg-type]  # whatever the right one takes
        return second, first

    monkeypatch.setattr(streamed_products, "_tokens", swapped)
    with pytest.raises(ValueError, match="ends with another product"):
        multiplied(Shape(grid, 1, 1), 3)


def test_the_largest_cost_of_a_word_by_hand() -> None:
    # 2 · 2 · 2³ operations, 2 · 2² words and two barriers over 2 · 2² words.
    assert largest_fetch(2, 2, Fraction(5), Fraction(7)) == Fraction(32 + 40 + 14, 8)
    assert crossover_margin(2, 2, Fraction(5), Fraction(7)) == 0


def test_no_block_is_below_the_window_and_one_is_at_it() -> None:
    rooms = [window_margin(2, side, Fraction(5), Fraction(3)) for side in (1, 2, 3, 4)]
    assert [room == 0 for room in rooms] == [False, False, True, False]
    assert min(rooms) == 0


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cannon_margin(SHAPE, CHARGES, 1) == words_margin(SHAPE, 1) == tokens_margin(SHAPE, 1) == 0
    assert crossover_margin(2, 1, *CHARGES[:2]) == 0
    right = streamed_products.multiplied
    monkeypatch.setattr(streamed_products, "multiplied", lambda shape, seed: right(replace(shape, side=2), seed))
    assert max(cannon_margin(SHAPE, CHARGES, 1), words_margin(SHAPE, 1), tokens_margin(SHAPE, 1)) < 0
    assert crossover_margin(2, 1, *CHARGES[:2]) < 0
