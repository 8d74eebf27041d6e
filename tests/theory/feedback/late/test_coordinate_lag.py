"""The lag of a coordinate under drift and noise: values by hand, and both limits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

LEVELS = [1, 2, 5, 40]


def lag(level_count: int, up: Fraction) -> float:
    return STATEMENTS["coordinate_lag"].evaluate(level_count=level_count, up_probability=up)


def test_two_levels_are_done_by_hand() -> None:
    """N = 2, p = 3/4: from 0 to ±1, back with the chances 1/4 and 3/4; T = 16/5, mean residual 3/8 of a step."""
    bound = STATEMENTS["coordinate_lag"].fraction(level_count=2, up_probability=Fraction(3, 4))
    assert bound == Fraction(1, 2)


@pytest.mark.parametrize("level_count", LEVELS)
def test_without_noise_it_is_half_the_cycle_less_one(level_count: int) -> None:
    assert lag(level_count, Fraction(1)) == (level_count - 1) / 2


@pytest.mark.parametrize("level_count", LEVELS)
def test_with_hardly_any_drift_it_is_a_sixth_of_the_cycle_less_one(level_count: int) -> None:
    assert lag(level_count, Fraction(1, 2) + Fraction(1, 10**6)) == pytest.approx((level_count**2 - 1) / 6, rel=1e-6)


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 7)])
def test_the_bounds_by_rate_are_a_factor_of_three_apart(rate: Fraction) -> None:
    least, most = (STATEMENTS[label].exact(send_rate=rate) for label in ("lag_least", "lag_most"))
    assert most == 3 * least


def test_no_drift_is_refused() -> None:
    with pytest.raises(ValueError, match="up_probability"):
        lag(3, Fraction(1, 2))
