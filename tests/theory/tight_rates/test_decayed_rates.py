"""Which decay has the best worst case: values by hand, where the bounds meet, and what is refused."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

POINT = {"mu": Fraction(1, 5), "smoothness": 1, "epsilon": Fraction(1, 4)}
"""q = 15, so that θ = 7/8."""
RATE = Fraction(49, 64)


@pytest.mark.parametrize("decay", [0, Fraction(1, 2), Fraction(3, 4)])
def test_below_the_rate_every_decay_has_the_rate_of_compressed_descent(decay: Fraction) -> None:
    assert STATEMENTS["decayed_tight_rate"].fraction(**POINT, residual_decay=decay) == RATE
    assert STATEMENTS["compressed_descent_rate"].fraction(**POINT) == RATE


def test_without_a_decay_the_lower_bound_is_the_rate_of_error_feedback() -> None:
    lower = STATEMENTS["decayed_rate_lower"].evaluate(**POINT, residual_decay=1)
    assert lower == pytest.approx(STATEMENTS["ef_tight_rate"].evaluate(**POINT), rel=1e-14)
    assert lower > float(RATE)


def test_the_two_lower_bounds_meet_where_the_decay_is_the_factor() -> None:
    factor = Fraction(7, 8)
    lower, floor = STATEMENTS["decayed_rate_lower"], STATEMENTS["decayed_rate_floor"]
    assert lower.evaluate(**POINT, residual_decay=factor) == pytest.approx(float(RATE), rel=1e-14)
    assert lower.evaluate(**POINT, residual_decay=0.9) > floor.evaluate(**POINT, residual_decay=0.9)
    assert lower.evaluate(**POINT, residual_decay=0.8) < float(RATE)


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"residual_decay": Fraction(4, 5)}, "residual_decay"), ({"mu": 1, "residual_decay": 0}, "mu")],
)
def test_numbers_outside_the_domain_are_refused(changed: dict[str, Fraction | int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        STATEMENTS["decayed_tight_rate"].evaluate(**{**POINT, **changed})


def test_a_strong_compression_leaves_a_gap_of_decays_without_a_proof() -> None:
    numbers = {"mu": Fraction(1, 20), "smoothness": 1, "epsilon": Fraction(16, 25)}
    admitted = [
        STATEMENTS["decayed_tight_rate"].admits(**numbers, residual_decay=Fraction(percent, 1000))
        for percent in (200, 500, 975)
    ]
    assert admitted == [True, False, True]
