"""Bounds of Top-k in chunks by hand, and what they have to do with those of the whole vector."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS


def test_the_bound_of_chunks_is_that_of_the_vector_at_the_same_density() -> None:
    assert STATEMENTS["chunk_wise"].fraction(k=41, chunk_size=4096) == STATEMENTS["top_k"].fraction(k=410, d=40960)


def test_the_library_sends_a_little_less_of_the_first_chunk() -> None:
    # ⌊410 · 4096/41000⌋ = 40 of 4096 entries, where 1 % would be 40.96.
    assert STATEMENTS["chunk_rounding"].fraction(k=410, d=41000, chunk_size=4096) == 1 - Fraction(40, 4096)


def test_a_vector_shorter_than_a_chunk_is_one_chunk() -> None:
    assert STATEMENTS["chunk_rounding"].fraction(k=3, d=10, chunk_size=4096) == Fraction(7, 10)


def test_fewer_entries_than_chunks_are_no_contraction() -> None:
    assert STATEMENTS["chunk_rounding"].fraction(k=9, d=10 * 4096, chunk_size=4096) == 1
    assert STATEMENTS["chunk_rounding"].fraction(k=10, d=10 * 4096, chunk_size=4096) == 1 - Fraction(1, 4096)


@pytest.mark.parametrize(("shape", "label"), [(2, "square_convex_discrete"), (1, "bell_shaped_discrete")])
def test_shapes_within_chunks_are_the_rungs_of_the_ladder(shape: int, label: str) -> None:
    assert STATEMENTS["chunk_shapes"].fraction(k=3, chunk_size=10, p=shape) == STATEMENTS[label].fraction(k=3, d=10)


def test_a_shape_of_the_whole_vector_is_worth_less_and_less_as_chunks_become_many() -> None:
    for label, numbers in (("chunk_star_shaped", {"p": 2}), ("chunk_convex", {})):
        bounds = [
            STATEMENTS[label].fraction(k=2, chunk_size=8, chunk_number=number, **numbers) for number in (1, 2, 64)
        ]
        assert bounds == sorted(bounds)
        assert bounds[0] == STATEMENTS["square_convex_discrete"].fraction(k=2, d=8)
        assert Fraction(99, 100) * Fraction(3, 4) < bounds[-1] < Fraction(3, 4)


def test_a_worst_assignment_costs_what_layers_cost() -> None:
    stated = STATEMENTS["chunk_against_whole"].fraction(k=1, chunk_size=4, chunk_number=2)
    assert stated == STATEMENTS["layer_wise"].fraction(k=2, layer_size=4, layer_count=1) == Fraction(1, 2)


def test_a_random_assignment_costs_six_per_cent_where_the_worst_costs_ninety_nine() -> None:
    shape = {"k": 41, "chunk_size": 4096, "chunk_number": 1000}
    mean = STATEMENTS["chunk_mean_excess"].evaluate(**shape)
    assert mean == pytest.approx(0.0618, abs=1e-4)
    assert mean < STATEMENTS["chunk_mean_excess_rate"].evaluate(**shape) == pytest.approx(0.0620, abs=1e-4)
    assert STATEMENTS["chunk_against_whole"].evaluate(**shape) == pytest.approx(0.99, abs=1e-3)


def test_two_chunks_of_two_by_hand() -> None:
    # Two equal entries share a chunk in one of three assignments, and then one of two is left.
    assert STATEMENTS["chunk_mean_excess"].fraction(k=1, chunk_size=2, chunk_number=2) == Fraction(1, 3) * Fraction(
        1, 2
    )
