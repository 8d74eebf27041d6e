"""Masked sums a second time: messages by hand, what the server must know, and roundings."""

from __future__ import annotations

from fractions import Fraction

from sparsync.verify.learning.masked_sums import (
    all_masks,
    cancel_margin,
    error_margin,
    known_to_server,
    messages,
    room_margin,
    rounded,
)

MASKS = {(0,): 1, (1,): 2, (2,): 4, (0, 1): 10, (0, 2): 20, (1, 2): 40}


def test_messages_by_hand() -> None:
    assert all_masks(3) == list(MASKS)
    assert messages([100, 200, 300], MASKS, 10_000) == [100 + 1 + 30, 200 + 2 - 10 + 40, 300 + 4 - 20 - 40]


def test_the_server_must_know_own_masks_and_those_shared_with_the_lost() -> None:
    assert known_to_server(MASKS, [0, 1, 2]) == {(0,): 1, (1,): 2, (2,): 4}
    assert known_to_server(MASKS, [0, 2]) == {(0,): 1, (2,): 4, (0, 1): 10, (1, 2): -40}


def test_a_mask_that_is_forgotten_is_in_the_sum() -> None:
    for forgotten in ((), ((1, 2),), ((0,), (0, 1)), ((1,),)):
        assert cancel_margin([100, 200, 300], [0, 2], MASKS, forgotten, 64) == 0


def test_roundings_by_hand() -> None:
    assert [rounded(Fraction(half, 2)) for half in (1, 3, -1, -3)] == [0, 2, 0, -2]
    assert error_margin([Fraction(1, 2)] * 3, 1) == 0
    assert error_margin([Fraction(1, 4)], 1) == Fraction(1, 4)
    assert room_margin([Fraction(3), Fraction(3)], 4) == 0
    assert room_margin([Fraction(3), Fraction(-3)], 4) == 24
