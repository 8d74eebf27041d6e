"""Ties and layers: excesses and margins by hand, searches that reach the bounds, and bounds that are wrong."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import k, layer_count, layer_size, tie_count
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.ties_and_layers import (
    CHECKS,
    layer_bound,
    layer_excess,
    layer_extremes,
    layer_margin,
    layer_members,
    tie_margin,
    tie_members,
)
from sparsync.verify.tools.outcome import Grade, Profile
from sparsync.verify.tools.properties import search_margin

ONE = Fraction(1)


def test_tied_vectors_by_hand() -> None:
    # Squares 2, 1, 1, 1 and k = 2: Top-2 leaves 2 of 5, the strict threshold 3 of 5, and b = 3 allows 2/3.
    assert tie_margin((Fraction(2), ONE, ONE, ONE), 2, 0) == Fraction(2, 3) - Fraction(1, 5)


def test_equal_magnitudes_attain_the_tie_bound_and_the_zero_vector_has_no_excess() -> None:
    assert tie_margin((ONE,) * 4, 2, 3) == 0
    assert tie_margin((Fraction(0),) * 4, 2, 1) == 0


def test_fewer_ties_than_k_approach_the_tie_bound() -> None:
    margins = [tie_margin((ONE + Fraction(1, size), ONE, ONE), 3, 0) for size in (10, 100, 1000)]
    assert margins == sorted(margins, reverse=True)
    assert 0 < margins[-1] < Fraction(1, 1000)


def test_searches_reach_the_bounds_where_they_are_positive() -> None:
    ties = search_margin(tie_margin, tie_members(), max_examples=100)
    layers = search_margin(layer_margin, layer_members(), max_examples=100)
    assert (ties.smallest_margin, layers.smallest_margin) == (0, 0)
    equal = st.just((((ONE, ONE), 1), ((Fraction(0),) * 3, 2)))
    worst = search_margin(layer_margin, equal, max_examples=1)
    assert worst.smallest_margin == 0
    assert layer_excess(worst.case) == Fraction(1, 2)


def test_the_binding_layer_has_the_smallest_share() -> None:
    assert layer_bound((2, 8), (1, 4)) == Fraction(1, 2)
    assert layer_bound((6, 2), (1, 2)) == Fraction(2, 3)


@pytest.mark.parametrize(("largest", "shapes_count"), [(1, 1), (3, 26)])
def test_all_small_layers_are_enumerated(largest: int, shapes_count: int) -> None:
    # (d_l + 1) counts in each layer, less the one where none sends: 1, 2, 3, 3, 5, 5 and 7 up to three coordinates.
    outcome = layer_extremes(Profile(dimensions=(largest,), examples_count=1))
    assert outcome.earned
    assert outcome.detail["shapes_count"] == shapes_count


WRONG_BOUNDS: dict[str, sympy.Expr] = {
    "ties": tie_count / (k + tie_count),
    "layer_wise": (1 - layer_count / sympy.Min(layer_size, k)) / 2,
}
"""Bounds that are too small."""


@pytest.mark.parametrize(("label", "grade"), [(label, grade) for label in CHECKS for grade in CHECKS[label]])
def test_a_wrong_bound_loses_every_grade(label: str, grade: Grade, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS[label]
    relation = statement.relation.func(statement.relation.lhs, WRONG_BOUNDS[label], evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))
    assert not CHECKS[label][grade](Profile(dimensions=(2, 3), examples_count=100)).earned
