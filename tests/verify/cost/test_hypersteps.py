"""Programs are run a second time: rounds of words, clocks by hand, and a core that ends with another sum."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.verify.cost import hypersteps
from sparsync.verify.cost.hypersteps import (
    Word,
    inner_product_margin,
    inner_product_seconds,
    relation_size,
    rounds,
    streamed_margin,
    streamed_seconds,
    superstep_margin,
    superstep_seconds,
    unoverlapped_margin,
    whole_margin,
    whole_stream_seconds,
)

CORE = st.integers(0, 5)
FREE = (Fraction(0), Fraction(0), Fraction(0))


@given(st.lists(st.tuples(CORE, CORE), max_size=40))
def test_words_pass_in_as_many_rounds_as_one_sends_or_takes_at_most(words: list[Word]) -> None:
    found = rounds(words)
    assert len(found) == relation_size(words)
    assert Counter(word for passing in found for word in passing) == Counter(words)
    for passing in found:
        assert len({sender for sender, _ in passing}) == len({taker for _, taker in passing}) == len(passing)


def test_clocks_by_hand() -> None:
    works, fetches = [Fraction(each) for each in (3, 4)], [Fraction(each) for each in (5, 1)]
    assert streamed_seconds(works, fetches) == 9
    # The first five, then max(3, 1), then 4.
    assert whole_stream_seconds(works, fetches) == 5 + 3 + 4


def test_an_inner_product_is_computed() -> None:
    costs = (Fraction(2), Fraction(7), Fraction(2))
    assert inner_product_seconds([1, 2, 3, 4, 5, 6], [1] * 6, 3, 1, costs) == 2 * 4 + 2 + 2 * 2 + 7


def test_a_round_with_two_words_of_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hypersteps, "rounds", lambda words: [list(words)])
    with pytest.raises(ValueError, match="a round holds"):
        superstep_seconds([Fraction(1)], [(0, 1), (0, 2)], Fraction(1), Fraction(1))


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(Fraction(3), Fraction(5)), (Fraction(4), Fraction(1))]
    assert streamed_margin(pairs) == unoverlapped_margin(pairs) == 0
    assert superstep_margin([Fraction(1)], [(0, 1)] * 3, Fraction(2), Fraction(1)) == 0
    assert whole_margin(Fraction(2), 3, Fraction(1), 4) == inner_product_margin(3, 2, 2, FREE, 1) == 0
    monkeypatch.setattr(hypersteps, "streamed_seconds", lambda *_: Fraction(20))
    monkeypatch.setattr(hypersteps, "whole_stream_seconds", lambda *_: Fraction(20))
    assert streamed_margin(pairs) == -11
    assert unoverlapped_margin(pairs) == -1
    assert whole_margin(Fraction(2), 3, Fraction(1), 4) == -6
    assert inner_product_margin(3, 2, 2, FREE, 1) < 0
    monkeypatch.setattr(hypersteps, "superstep_seconds", lambda *_: Fraction(20))
    assert superstep_margin([Fraction(1)], [(0, 1)] * 3, Fraction(2), Fraction(1)) == -12
