"""Costs of bulk-synchronous programs: by hand, in their limits, and with a broken sum."""

from __future__ import annotations

from typing import Any

import pytest
import sympy

from sparsync.theory.cost import hypersteps
from sparsync.theory.cost.hypersteps import STATEMENTS


def test_a_superstep_by_hand() -> None:
    costs = {"superstep_work": 10, "relation_size": 4, "word_cost": 2, "barrier_cost": 3}
    assert STATEMENTS["bsp_superstep"].fraction(**costs) == 21


def test_hypersteps_by_hand() -> None:
    # max(3, 5) + max(4, 1): 7 of work, 6 of fetching, 2 + 3 of difference.
    totals = {"computing_total": 7, "fetching_total": 6, "mismatch_total": 5}
    assert STATEMENTS["streamed_hypersteps"].fraction(**totals) == 9
    assert STATEMENTS["unoverlapped_hypersteps"].fraction(streamed_time=9, mismatch_total=5) == 13


def test_overlap_is_worth_nothing_to_two() -> None:
    assert STATEMENTS["unoverlapped_hypersteps"].fraction(streamed_time=9, mismatch_total=9) == 9
    assert STATEMENTS["unoverlapped_hypersteps"].fraction(streamed_time=9, mismatch_total=0) == 18
    with pytest.raises(ValueError, match="unoverlapped_hypersteps"):
        STATEMENTS["unoverlapped_hypersteps"].fraction(streamed_time=9, mismatch_total=10)


def test_the_first_token_of_a_stream_is_never_hidden() -> None:
    costs = {"hyperstep_work": 5, "token_words": 3, "fetch_cost": 1}
    assert STATEMENTS["whole_stream"].fraction(hyperstep_count=1, **costs) == 8
    assert STATEMENTS["whole_stream"].fraction(hyperstep_count=10, **costs) == 53


def test_an_inner_product_waits_for_memory_as_soon_as_a_word_costs_more_than_an_operation() -> None:
    costs = {"vector_length": 60, "core_count": 3, "word_cost": 2, "barrier_cost": 7}
    times = [STATEMENTS["streamed_inner_product"].fraction(fetch_cost=cost, **costs) for cost in (0, 1, 2)]
    assert times == [40 + 2 * 3 + 7, 40 + 2 * 3 + 7, 80 + 2 * 3 + 7]


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("bsp_superstep", "_superstep", lambda: sympy.Integer(0)),
        ("streamed_hypersteps", "streamed_hypersteps", hypersteps.bsp_superstep),
        ("unoverlapped_hypersteps", "streamed_hypersteps", hypersteps.bsp_superstep),
        ("whole_stream", "_begins", lambda step: step),
        ("streamed_inner_product", "_final", lambda: sympy.Integer(0)),
    ],
)
def test_a_broken_sum_leaves_a_claim_unproved(
    label: str, name: str, replacement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    monkeypatch.setattr(hypersteps, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
