"""A processor and a link a second time: by hand, against the recursion, and with a link that is off."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.verify.cost import buckets
from sparsync.verify.cost.buckets import Bucket, cap_margin, equal_margin, floor_margin, optimum_margin, step_seconds

THREE: list[Bucket] = [(Fraction(1), Fraction(3)), (Fraction(4), Fraction(1)), (Fraction(1), Fraction(2))]


def test_a_step_by_hand() -> None:
    assert step_seconds(Fraction(1), THREE) == 9
    assert floor_margin(Fraction(1), THREE) == cap_margin(Fraction(1), THREE) == 0


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=8))
def test_events_and_recursion_agree(pairs: list[tuple[int, int]]) -> None:
    made, sent = zip(*pairs, strict=True)
    found = step_seconds(Fraction(0), [(Fraction(one), Fraction(other)) for one, other in pairs])
    passed = 0
    for ready, sending in zip(accumulate(made), sent, strict=True):
        passed = max(ready, passed) + sending
    assert found == passed


def test_between_its_bounds_a_step_may_be_away_from_both() -> None:
    # Long, short, long: a barrier would cost one, and no order of two totals is attained.
    step = [(Fraction(making), Fraction(sending)) for making, sending in ((1, 5), (2, 1), (7, 4), (1, 1), (1, 1))]
    assert floor_margin(Fraction(1), step) > 0
    assert cap_margin(Fraction(1), step) > 0


def test_margins_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [Fraction(each) for each in (10, 3, 2)]
    assert equal_margin(times[0], times[1], times[2], 4) == optimum_margin(times[0], times[1], Fraction(12)) == 0
    monkeypatch.setattr(buckets, "step_seconds", lambda *_: Fraction(8))
    assert equal_margin(times[0], times[1], times[2], 4) == -16
    assert floor_margin(Fraction(1), THREE) == -1
    monkeypatch.setattr(buckets, "step_seconds", lambda *_: Fraction(10))
    assert cap_margin(Fraction(1), THREE) == -1
    monkeypatch.setattr(buckets, "first_best", lambda *_: 7)
    assert optimum_margin(times[0], times[1], Fraction(12)) < 0
