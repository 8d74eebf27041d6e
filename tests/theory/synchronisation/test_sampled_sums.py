"""Sums over samples of workers: by hand, at the ends of their domains, and with a broken model."""

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import failure_chance, n, others_share
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import sampled_sums
from sparsync.theory.synchronisation.sampled_sums import INCLUSIONS, WORKER

FAILURE = {"others_share": Fraction(1, 2), "others_sum": 6, "class_sum": 4}


def test_the_bias_of_a_sample_equals_a_hand_computed_one() -> None:
    # One of two workers, with x = 0 and 1, the second three times as often: the covariance is 1/8.
    numbers = {"n": 2, "sample_count": 1, "inclusion_covariance": Fraction(1, 8)}
    assert STATEMENTS["sample_mean_bias"].fraction(**numbers) == Fraction(3, 4) - Fraction(1, 2)
    assert STATEMENTS["weighted_sample_mean"].fraction(mean_contribution=Fraction(1, 2)) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("chance", "expected"), [(0, 6 - 4), (Fraction(1, 2), Fraction(2) - 4), (Fraction(4, 5), -Fraction(10, 3))]
)
def test_a_shared_failure_misses_the_class_and_counts_the_others_twice_at_most(
    chance: object, expected: object
) -> None:
    assert STATEMENTS["shared_failure_sum"].fraction(failure_chance=chance, **FAILURE) == expected


def test_holders_that_are_nearly_never_sampled_are_all_that_is_missed() -> None:
    numbers = {**FAILURE, "others_share": 1, "failure_chance": Fraction(1, 3)}
    assert STATEMENTS["shared_failure_sum"].fraction(**numbers) == -4
    assert STATEMENTS["shared_failure_error"].fraction(failure_chance=Fraction(1, 3), class_sum=-3) == 3


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("sample_mean_bias", {"n": 2, "sample_count": 0, "inclusion_covariance": 1}),
        ("sample_mean_bias", {"n": 2, "sample_count": 3, "inclusion_covariance": 1}),
        ("shared_failure_sum", {**FAILURE, "failure_chance": 1}),
        ("shared_failure_sum", {**FAILURE, "failure_chance": 0, "others_share": 2}),
        ("shared_failure_error", {"failure_chance": 2, "class_sum": 1}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("weighted_sample_mean", "_weight", lambda: INCLUSIONS[WORKER] / n),
        ("weighted_sample_mean", "_included", lambda _worker, law: next(iter(law.values()))),
        ("sample_mean_bias", "_included", lambda _worker, law: next(iter(law.values()))),
        ("sample_mean_bias", "_covariance_stated", lambda: sampled_sums._PRODUCTS),
        ("shared_failure_sum", "_inclusion", lambda *, is_failed: sympy.Integer(1 + is_failed)),
        ("shared_failure_sum", "_often", lambda: failure_chance + others_share),
        ("shared_failure_error", "_missed", lambda _sampled: sympy.Integer(0)),
        ("shared_failure_error", "_error", lambda otherwise: otherwise),
        ("shared_failure_error", "_everybody", lambda: sympy.Integer(1)),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(step.holds() for step in STATEMENTS[label].derivation)
    monkeypatch.setattr(sampled_sums, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
