"""The statements on distance correlation by hand, and their derivations with a broken centring."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sparsync.theory.language.symbols import centred_distance, sample_size, second_distance
from sparsync.theory.learning import centred_sums, distance_correlation
from sparsync.theory.statements import STATEMENTS


def test_three_equal_distances_by_hand() -> None:
    """A has −2/3 on the diagonal and 1/3 elsewhere: (3 · 4/9 + 6/9)/9 = 2/9."""
    found = STATEMENTS["permuted_distance_covariance"].fraction(sample_size=3, first_distance=1, second_distance=1)
    assert found == Fraction(3 * 4 + 6, 9 * 9)
    assert STATEMENTS["equal_distance_correlation"].fraction(sample_size=3) == 1


def test_without_dependence_what_is_left_is_the_mean_of_all_pairings() -> None:
    named = {"sample_size": 7, "first_distance": Fraction(3, 2), "second_distance": 5}
    left = STATEMENTS["distance_covariance_bias"].fraction(corrected_covariance=0, row_covariance=0, **named)
    assert left == STATEMENTS["permuted_distance_covariance"].fraction(**named)


def test_distances_that_are_nearly_equal_leave_nearly_one() -> None:
    floor = STATEMENTS["permuted_distance_correlation"]
    assert floor.fraction(first_excess=0, second_excess=0) == 1
    assert floor.fraction(first_excess=Fraction(1, 50), second_excess=Fraction(1, 50)) == Fraction(50, 51)


def test_the_corrected_form_needs_four_examples() -> None:
    assert STATEMENTS["permuted_corrected_square"].fraction(sample_size=4) == Fraction(1, 2)
    with pytest.raises(ValueError, match="sample_size = 3"):
        STATEMENTS["permuted_corrected_square"].fraction(sample_size=3)


@pytest.mark.parametrize(
    ("label", "name", "wrong"),
    [
        ("permuted_distance_covariance", "centred", lambda *parts: parts[0] - parts[1] / sample_size),
        ("distance_covariance_bias", "u_centred", centred_sums.centred),
        ("permuted_corrected_square", "u_centred", centred_sums.centred),
        ("equal_distance_correlation", "u_centred", centred_sums.centred),
        ("equal_distance_correlation", "_equal_covariance", lambda: second_distance),
        ("distance_covariance_slope", "centred_b", lambda: centred_distance),
    ],
)
def test_a_derivation_with_a_wrong_centring_proves_nothing(
    label: str, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STATEMENTS[label].unproved_claims() == ()
    for module in (distance_correlation, centred_sums):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, wrong)
    try:
        unproved = STATEMENTS[label].unproved_claims()
    except IndexError:  # an equation without a solution
        unproved = ("no solution",)
    assert unproved != ()
