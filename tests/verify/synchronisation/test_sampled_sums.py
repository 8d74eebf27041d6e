"""Sums over samples a second time: laws with the stated inclusion probabilities, and one failure by hand."""

from fractions import Fraction

import pytest

from sparsync.verify.synchronisation.sampled_sums import (
    class_error,
    error_margin,
    expected_sum,
    failure_margin,
    inclusion,
    law_of,
    systematic_law,
)


def test_a_law_of_samples_has_inclusions_and_sums_as_by_hand() -> None:
    law = law_of(3, 2, [1, 2, 3])
    assert [inclusion(law, worker) for worker in range(3)] == [Fraction(3, 6), Fraction(4, 6), Fraction(5, 6)]
    assert expected_sum(law, [Fraction(1), Fraction(10), Fraction(100)]) == Fraction(3 + 40 + 500, 6)


@pytest.mark.parametrize("weights", [[1, 2, 3], [3, 3, 2, 1], [1, 1, 1, 1, 4]])
def test_systematic_samples_have_their_size_and_probabilities(weights: list[int]) -> None:
    law = systematic_law(dict(enumerate(weights)), 2)
    assert law is not None
    assert sum(law.values()) == 1
    assert all(len(sample) == 2 for sample in law)
    expected = [Fraction(2 * weight, sum(weights)) for weight in weights]
    assert [inclusion(law, worker) for worker in range(len(weights))] == expected
    assert systematic_law({0: 3, 1: 1}, 2) is None


def test_a_failure_by_hand() -> None:
    # Two workers with x = 2, one sampled; with probability 1/2 the first is gone: the second is there 3 times of 4.
    assert failure_margin([1, 1], 1, 1, Fraction(1, 2)) == 0
    with pytest.raises(ValueError, match="above 1"):
        failure_margin([1, 1], 1, 2, Fraction(1, 2))


def test_the_error_of_a_class_by_hand() -> None:
    law = {(): Fraction(1, 2), (0,): Fraction(1, 2)}
    weights = {(): [Fraction(0)], (0,): [Fraction(2)]}
    # Y = 3: missed by 3 where it fails, and by 3 either way else.
    assert class_error([Fraction(3)], law, weights, Fraction(1, 3)) == 9
    assert error_margin([Fraction(1), Fraction(2)], [0, 0, 0, 1], [Fraction(1)] * 4, Fraction(1, 3)) == 0
    assert error_margin([Fraction(1), Fraction(2)], [0, 0, 1, 1], [Fraction(1)] * 4, Fraction(1, 3)) > 0
