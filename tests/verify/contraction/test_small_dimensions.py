import math

import mpmath
import numpy
import pytest

from sparsync.verify.contraction.small_dimensions import SEED, failure_frequency, share_probability


@pytest.mark.parametrize(
    ("dimension", "level", "expected"),
    [
        (1, 0.9, 0.0),
        (1, 1.0, 1.0),
        (2, 0.75, 1 / 3),
        (2, 0.4, 0.0),
        (3, 5 / 9, math.sqrt(5) - 2),
        (3, 1 / 3, 0.0),
        (4, 37 / 64, 0.457363237773678),
        (5, 1.5, 1.0),
    ],
)
def test_integrated_probabilities_agree_with_closed_forms(dimension: int, level: float, expected: float) -> None:
    value, error = share_probability(dimension, mpmath.mpf(level))
    assert float(value) == pytest.approx(expected, abs=1e-12)
    assert float(error) < 1e-10


@pytest.mark.parametrize(("dimension", "level"), [(0, 0.75), (2, 0.0)])
def test_no_coordinates_and_no_share_are_refused(dimension: int, level: float) -> None:
    with pytest.raises(ValueError, match="needs dimension"):
        share_probability(dimension, mpmath.mpf(level))


@pytest.mark.parametrize(("dimension", "smallest", "largest"), [(5, 0.07, 0.09), (10, 0.003, 0.009), (20, 0.0, 0.001)])
def test_failures_become_rare_with_the_dimension(dimension: int, smallest: float, largest: float) -> None:
    frequency = failure_frequency(numpy.random.default_rng(SEED), 20_000, dimension=dimension, power=2)
    assert smallest <= frequency <= largest
