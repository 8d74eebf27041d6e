"""Buckets that are sent while others are made: by hand, between their bounds, and with a broken recursion."""

from __future__ import annotations

from typing import Any

import pytest
import sympy

from sparsync.theory.cost import buckets
from sparsync.theory.cost.buckets import STATEMENTS


def test_equal_buckets_by_hand() -> None:
    times = {"forward_time": 10, "bucket_count": 4}
    # Made at 13, 16, 19, 22; the last passes two later.
    assert STATEMENTS["equal_buckets"].fraction(bucket_backward=3, bucket_sending=2, **times) == 24
    # The first is made at 12, and four times three pass.
    assert STATEMENTS["equal_buckets"].fraction(bucket_backward=2, bucket_sending=3, **times) == 24


def test_a_step_is_between_its_bounds_by_hand() -> None:
    # c = 1, 4, 1 and t = 3, 1, 2 after no forward pass: passed at 4, 6, 8.
    totals = {"backward_total": 6, "sending_total": 6, "first_backward": 1, "last_sending": 2, "forward_time": 1}
    assert STATEMENTS["bucket_floor"].fraction(**totals) == 1 + 8
    # D = |4 − 3| + |1 − 1|: a barrier after each costs nothing here.
    assert STATEMENTS["bucket_cap"].fraction(mismatch_total=1, **totals) == 1 + 8


def test_a_last_bucket_longer_than_all_is_refused() -> None:
    totals = {"backward_total": 6, "sending_total": 2, "first_backward": 1, "last_sending": 3, "forward_time": 1}
    with pytest.raises(ValueError, match="bucket_floor"):
        STATEMENTS["bucket_floor"].fraction(**totals)


@pytest.mark.parametrize(("latency", "best"), [(100, 1), (9, 3), (1, 10)])
def test_a_shorter_latency_is_worth_more_buckets_whatever_the_bytes(latency: int, best: int) -> None:
    sizes = {"backward_total": 100, "byte_seconds": 2}
    for size in (50, 5000):
        assert STATEMENTS["bucket_optimum"].fraction(message_latency=latency, gradient_bytes=size, **sizes) == best


def test_where_the_best_number_would_be_sent_sooner_than_made_the_law_is_refused() -> None:
    times = {"backward_total": 100, "byte_seconds": 1, "message_latency": 1}
    # Ten buckets, and latencies of ten seconds with them.
    assert STATEMENTS["bucket_optimum"].fraction(gradient_bytes=90, **times) == 10
    with pytest.raises(ValueError, match="bucket_optimum"):
        STATEMENTS["bucket_optimum"].fraction(gradient_bytes=89, **times)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("equal_buckets", "_passed", lambda count: count),
        ("bucket_floor", "_term", lambda place, buckets: place + buckets),
        ("bucket_cap", "_with_barriers", lambda: sympy.Integer(0)),
        ("bucket_optimum", "_equal_parts", lambda: sympy.Integer(0)),
    ],
)
def test_a_broken_recursion_leaves_a_claim_unproved(
    label: str, name: str, replacement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(buckets, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
