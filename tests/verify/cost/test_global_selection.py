"""Selections and trees a second time: by hand, and with a selection that is wrong."""

from __future__ import annotations

import pytest

from sparsync.verify.cost import global_selection
from sparsync.verify.cost.global_selection import (
    doubt_margin,
    doubting,
    exact_selection,
    in_doubt,
    rounds_margin,
    selection_margin,
    told_numbers,
    tree_margin,
    tree_messages,
)


def test_what_is_in_doubt_by_hand() -> None:
    # Samples behind the second, fifth and sixth key; of two ranks and L = 2 one key is in doubt up to a sample.
    order = (0, 0, 1, 0, 1, 0)
    assert in_doubt(order, 2, 2, 3) == (2, 5)
    assert in_doubt(order, 2, 2, 6) == (5, 6)
    assert in_doubt(order, 2, 4, 1) == (0, 4 + 2)


@pytest.mark.parametrize(("ranks", "length", "more"), [(2, 2, 1), (2, 4, 0), (3, 5, 2), (5, 3, 1), (7, 2, 0)])
def test_as_much_is_in_doubt_as_can_be(ranks: int, length: int, more: int) -> None:
    order, wanted = doubting(ranks, length, more)
    assert doubt_margin(order, ranks, length, wanted) == 0


def test_a_selection_by_hand() -> None:
    # Of rank 0 only the first two keys are sampled.
    found, samples, candidates = exact_selection((0, 0, 0, 1, 1), 2, 2, 2)
    assert (found, samples, candidates) == ([0, 0], 2, 2)


def test_numbers_told_by_hand() -> None:
    assert told_numbers(2, 8, [2]) == 16 / 2 + 2 * 2 * 2
    assert told_numbers(2, 8, []) == 16
    assert rounds_margin(2, 2, 3, [1, 1]) == 0
    assert rounds_margin(2, 2, 3, [2, 1]) == 0


@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
def test_a_tree_reaches_all_and_each_once_each_way(ranks: int) -> None:
    messages = tree_messages(ranks)
    assert sorted(sender for sender, _ in messages[: ranks - 1]) == list(range(1, ranks))
    assert messages[ranks - 1 :] == [(receiver, sender) for sender, receiver in reversed(messages[: ranks - 1])]
    assert tree_margin(ranks, 3, 4, 4) == 0


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert selection_margin((0, 1, 0, 1, 1), 2, 2, 3, 4) >= 0
    monkeypatch.setattr(global_selection, "in_doubt", lambda *_: (0, 0))
    assert selection_margin((0, 1, 0, 1, 1), 2, 2, 3, 4) == -1
    assert doubt_margin((0, 1, 0, 1, 1), 2, 2, 3) == -1
    monkeypatch.setattr(global_selection, "tree_messages", lambda _: [])
    assert tree_margin(3, 2, 4, 4) == -2 * 2 * 2 * 8
    monkeypatch.setattr(global_selection, "told_numbers", lambda *_: 1)
    assert rounds_margin(2, 2, 2, [1]) < 0
