from fractions import Fraction

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.verify.delay.root_moduli import (
    delayed_matrix_polynomial,
    delayed_polynomial,
    is_stable,
    largest_modulus,
    scaled,
)

COEFFICIENTS = st.lists(st.integers(-4, 4).map(Fraction), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("polynomial", "stable"),
    [
        ([Fraction(1)], True),
        ([Fraction(1, 2), Fraction(1)], True),
        ([Fraction(1), Fraction(1)], False),
        ([Fraction(0), Fraction(0), Fraction(1)], True),
        ([Fraction(1), Fraction(0), Fraction(1)], False),
        ([Fraction(-6), Fraction(1), Fraction(1)], False),
        ([Fraction(1, 6), Fraction(-5, 6), Fraction(1)], True),
    ],
)
def test_stability_of_polynomials_with_known_roots(polynomial: list[Fraction], stable: bool) -> None:
    assert is_stable(polynomial) is stable


@given(COEFFICIENTS)
def test_both_tests_agree_away_from_the_circle(lower: list[Fraction]) -> None:
    polynomial = [*lower, Fraction(1)]
    modulus = largest_modulus(polynomial)
    assert is_stable(polynomial) or not modulus < 1
    assert not is_stable(polynomial) or not modulus > 1


@pytest.mark.parametrize("steps_late", [0, 1, 2, 5])
@pytest.mark.parametrize("momentum", [Fraction(0), Fraction(1, 2)])
def test_characteristic_roots_are_the_eigenvalues_of_the_recursion(steps_late: int, momentum: Fraction) -> None:
    size = max(steps_late + 1, 2)
    companion = numpy.zeros((size, size))
    companion[0, 0] += 1 + float(momentum)
    companion[0, 1] -= float(momentum)
    companion[0, steps_late] -= 0.3
    companion[1:, :-1] += numpy.eye(size - 1)
    polynomial = delayed_polynomial(step=Fraction(3, 10), delay=steps_late, momentum=momentum)
    # A double root, as at delay 2, moves by the square root of rounding.
    assert float(largest_modulus(polynomial)) == pytest.approx(max(abs(numpy.linalg.eigvals(companion))), rel=1e-6)


@pytest.mark.parametrize("steps_late", [0, 1, 3])
@pytest.mark.parametrize("momentum", [Fraction(0), Fraction(1, 2)])
def test_the_polynomial_of_a_matrix_is_the_product_over_its_eigenvalues(steps_late: int, momentum: Fraction) -> None:
    # [[2, 1], [1, 2]] has the eigenvalues 1 and 3.
    step = Fraction(1, 5)
    joint = delayed_matrix_polynomial(((2, 1), (1, 2)), step=step, delay=steps_late, momentum=momentum)
    product = [Fraction(0)] * len(joint)
    for i, one in enumerate(delayed_polynomial(step=step, delay=steps_late, momentum=momentum)):
        for j, other in enumerate(delayed_polynomial(step=3 * step, delay=steps_late, momentum=momentum)):
            product[i + j] += one * other
    assert joint == product


def test_scaling_divides_the_roots() -> None:
    polynomial = [Fraction(-6), Fraction(1), Fraction(1)]
    assert float(largest_modulus(polynomial)) == pytest.approx(3)
    assert float(largest_modulus(scaled(polynomial, Fraction(3)))) == pytest.approx(1)
