"""Momentum beside error feedback: by hand, what differs between the orders, and what does not."""

import math
from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

HALF = Fraction(1, 2)
UNIT = {"step_size": 1, "second_moment": 1}


def test_momentum_before_compression_keeps_back_more_by_the_square_of_its_sum() -> None:
    before = STATEMENTS["momentum_residual"].fraction(delta=Fraction(3, 4), momentum=Fraction(9, 10), **UNIT)
    after = STATEMENTS["residual_minkowski"].fraction(delta=Fraction(3, 4), **UNIT)
    assert before == 100 * after == 100


def test_of_pure_noise_it_keeps_back_more_in_between() -> None:
    noise = STATEMENTS["momentum_noise_residual"]

    def growth(root: Fraction) -> Fraction:
        numbers = {"delta": 1 - root**2, "step_size": 1, "variance": 1}
        return noise.fraction(**numbers, momentum=HALF) / noise.fraction(**numbers, momentum=0)

    # (1 + aγ)/((1 − aγ)(1 − γ²)) between 1/(1 − γ²) and 1/(1 − γ)².
    assert Fraction(4, 3) < growth(Fraction(1, 100)) < growth(HALF) == Fraction(20, 9) < growth(Fraction(99, 100)) < 4


def test_the_lag_equals_a_value_computed_by_hand_and_its_parts_add_up_as_norms() -> None:
    # a = γ = 1/2: H(1 + 1) = 4.
    assert STATEMENTS["momentum_lag"].fraction(delta=Fraction(3, 4), momentum=HALF, **UNIT) == 16
    assert STATEMENTS["momentum_lag"].fraction(delta=Fraction(3, 4), momentum=0, **UNIT) == 1
    assert STATEMENTS["momentum_lag"].fraction(delta=1, momentum=HALF, **UNIT) == 4


@pytest.mark.parametrize("label", ["momentum_rate_after", "momentum_rate_before"])
def test_the_rate_without_momentum_is_that_of_error_feedback(label: str) -> None:
    numbers = {"delta": 0.3, "step_size": 0.1, "smoothness": 2, "gap": 1, "T": 100, "second_moment": 1}
    older = STATEMENTS["nonconvex_rate_minkowski"].evaluate(**numbers)
    assert STATEMENTS[label].evaluate(**numbers, momentum=0) == pytest.approx(older, rel=1e-14)


def test_the_rate_equals_a_value_computed_by_hand() -> None:
    # H = 1/8, a = γ = 1/2, L = 1: √B = 1/4, A = 8/8 + 1/16.
    numbers = {"delta": Fraction(3, 4), "step_size": Fraction(1, 16), "smoothness": 1, "gap": 1, "T": 8}
    value = STATEMENTS["momentum_rate_after"].evaluate(**numbers, momentum=HALF, second_moment=1)
    assert value == pytest.approx((0.25 + math.sqrt(0.0625 + 4 * 1.0625)) ** 2 / 4, rel=1e-14)
