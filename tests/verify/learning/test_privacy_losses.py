"""Privacy a second time: clipped vectors, selections, divergences and rates by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sparsync.verify.learning.privacy_losses import (
    advantage_margin,
    clipped,
    divergence,
    move_margin,
    response_margin,
    selection_margin,
    vector_of,
)

ONE = Fraction(1)


def test_clipping_by_hand() -> None:
    vector, length = vector_of((3, 4, 5), Fraction(-2))
    assert [*vector, length] == [-6, -8, 10]
    assert [*clipped(vector, length, Fraction(5))] == [-3, -4]
    assert [*clipped(vector, length, Fraction(20))] == [-6, -8]
    assert [*clipped((Fraction(0), Fraction(0)), Fraction(0), ONE)] == [0, 0]
    assert move_margin([(vector, length)], Fraction(5)) == 0
    assert move_margin([vector_of((3, 4, 5), Fraction(1, 10))], ONE) == Fraction(3, 4)


def test_a_selection_moves_as_far_as_stated() -> None:
    assert selection_margin(3, 1) == 0


def test_a_divergence_by_hand() -> None:
    found, error = divergence(2, 0.5, 2.0)
    assert float(found) == pytest.approx(math.log(0.75 + 0.25 * math.exp(0.25)), rel=1e-15)
    assert error < 1e-24


def test_rates_by_hand() -> None:
    # e^ε = 3: with F = 1/4 the truth is 3/4, at most.
    assert advantage_margin(Fraction(3), Fraction(0), Fraction(1, 4)) == 0
    assert advantage_margin(Fraction(3), Fraction(0), Fraction(0)) == Fraction(1, 2)
    assert response_margin(Fraction(3)) == 0
