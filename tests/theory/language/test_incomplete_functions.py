"""The incomplete gamma and beta functions are right to the last bits of whatever precision they are asked at."""

from __future__ import annotations

import mpmath
import pytest

from sparsync.theory.language.incomplete_functions import regularised_beta, regularised_gamma

LOST_BITS = 6
"""A handful of roundings, and as many bits as the exponents of the powers have before the point."""


def lost_bits(value: mpmath.mpf, exact: mpmath.mpf, precision: int) -> float:
    with mpmath.workprec(2 * precision):
        return float(precision + mpmath.log(abs(value / exact - 1) + mpmath.ldexp(1, -precision), 2))


@pytest.mark.parametrize("precision", [53, 300, 900])
@pytest.mark.parametrize("first", [0.5, 3.25])
@pytest.mark.parametrize("second", [0.5, 7.75])
@pytest.mark.parametrize("level", [1e-30, 0.125, 0.75])
def test_beta_is_right_to_the_last_bits(precision: int, first: float, second: float, level: float) -> None:
    with mpmath.workprec(precision):
        value = regularised_beta(mpmath.mpf(first), mpmath.mpf(second), mpmath.mpf(level))
    with mpmath.workprec(2 * precision + 100):
        exact = mpmath.betainc(first, second, 0, level, regularized=True)
    assert lost_bits(value, exact, precision) < LOST_BITS


@pytest.mark.parametrize("precision", [53, 300, 900])
@pytest.mark.parametrize("order", [0.5, 7.75])
@pytest.mark.parametrize("level", [1e-30, 0.5, 3.0])
def test_gamma_is_right_to_the_last_bits(precision: int, order: float, level: float) -> None:
    with mpmath.workprec(precision):
        value = regularised_gamma(mpmath.mpf(order), mpmath.mpf(level))
    with mpmath.workprec(2 * precision + 100):
        exact = mpmath.gammainc(order, 0, level, regularized=True)
    assert lost_bits(value, exact, precision) < LOST_BITS
