"""The evidence on distance correlation computes the definition, and what a hand does."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
import torch

from sparsync.verify.learning import distance_correlation as evidence
from sparsync.verify.learning.distance_correlation import Distances
from sparsync.verify.tools.outcome import Outcome, Profile
from tests.support.distance_values import squared_covariance

POINTS = (
    [Fraction(0), Fraction(1), Fraction(5), Fraction(2), Fraction(2)],
    [Fraction(3), Fraction(1), Fraction(4), Fraction(1), Fraction(5)],
)
PROFILE = Profile(dimensions=(2, 3), examples_count=10)


def test_the_fractions_are_those_of_the_definition() -> None:
    first, second = map(evidence.on_line, POINTS)
    x, y = (torch.tensor([[float(value)] for value in points], dtype=torch.float64) for points in POINTS)
    # Sums of 25 products of numbers below 5, each rounded a few times, over at least 10.
    assert abs(float(evidence.biased(first, second)) - squared_covariance(x, y, "biased")) < 1e-13
    assert abs(float(evidence.corrected(first, second)) - squared_covariance(x, y, "corrected")) < 1e-13


def test_two_examples_by_hand() -> None:
    """A is ∓a/2."""
    pair = evidence.on_line([Fraction(0), Fraction(3)])
    assert evidence.doubly_centred(pair) == [[Fraction(-3, 2), Fraction(3, 2)], [Fraction(3, 2), Fraction(-3, 2)]]
    assert evidence.mean_distance(pair) == 3
    assert evidence.excess(pair) == 0


def test_rows_of_u_centred_distances_have_the_sum_zero() -> None:
    assert [sum(row) for row in evidence.u_centred(evidence.on_line(POINTS[0]))] == [0] * 5


def test_equal_distances_are_a_case_without_excess_and_of_no_corrected_form() -> None:
    same = evidence.equal(5, Fraction(2))
    assert evidence.excess(same) == evidence.corrected(same, same) == 0
    assert evidence.square_margin(same, evidence.on_line(POINTS[0])) == 0


def test_a_sample_with_itself_attains_the_floor_and_others_leave_room() -> None:
    first, second = map(evidence.on_line, POINTS)
    assert evidence.correlation_margin(first, first) == 0
    assert evidence.correlation_margin(first, second) > 0


@pytest.mark.parametrize("margin", [evidence.permuted_margin, evidence.bias_margin])
def test_a_check_says_which_samples_are_wrong(
    margin: Callable[[Distances, Distances], Fraction], monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubled(first: Distances, second: Distances) -> Fraction:
        return 2 * evidence.product_sum(first, second)

    monkeypatch.setattr(evidence, "biased", doubled)
    found = evidence.samples_check(margin)(PROFILE)
    assert isinstance(found, Outcome)
    assert not found.earned
    assert found.detail["cases_count"] == 8
