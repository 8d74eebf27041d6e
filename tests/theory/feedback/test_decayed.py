"""What a decay changes: values by hand, limits, floors, and what a chunk-wise compressor brings."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

HALF = Fraction(3, 4)
"""δ with √(1 − δ) = 1/2."""


@pytest.mark.parametrize(
    ("label", "numbers", "expected"),
    [
        # a = β = 1/2: ρ = (1/2)/(3/4) = 2/3.
        ("decayed_residual", {"delta": HALF, "residual_decay": Fraction(1, 2), "step_size": 3, "second_moment": 1}, 4),
        ("decayed_residual", {"delta": 1, "residual_decay": 1, "step_size": 3, "second_moment": 1}, 0),
        # e_0 = 0, e_1 = 1/2: half of it is forgotten in the second step.
        (
            "forgotten_mass",
            {"delta": HALF, "residual_decay": Fraction(1, 2), "step_size": 1, "second_moment": 1, "T": 2},
            Fraction(1, 16),
        ),
        # Levels 1 and 3/2: the kept 1 of 1 + 9/4.
        ("decayed_drift_equal", {"k": 1, "d": 2, "residual_decay": Fraction(1, 2)}, Fraction(4, 13)),
        ("decayed_floor", {"delta": HALF, "residual_decay": 0, "dissimilarity": 3}, 1),
        ("decayed_noise_floor", {"delta": HALF, "residual_decay": Fraction(1, 2), "variance": 3}, Fraction(1, 4)),
        (
            "decayed_top_k_floor",
            {"k": 1, "d": 3, "slope_share": Fraction(1, 2), "residual_decay": 0, "dissimilarity": 2},
            1,
        ),
    ],
)
def test_bounds_equal_values_computed_by_hand(
    label: str, numbers: dict[str, Fraction | int], expected: Fraction | int
) -> None:
    assert STATEMENTS[label].fraction(**numbers) == expected


@pytest.mark.parametrize("delta", [Fraction(1, 4), HALF, Fraction(1)])
def test_without_a_decay_the_residual_is_the_classical_one(delta: Fraction) -> None:
    numbers = {"delta": delta, "step_size": Fraction(1, 3), "second_moment": 2}
    decayed = STATEMENTS["decayed_residual"].evaluate(**numbers, residual_decay=1)
    assert decayed == pytest.approx(STATEMENTS["residual_minkowski"].evaluate(**numbers), rel=1e-14)


def test_the_drift_of_a_slow_decay_is_nearly_that_of_none() -> None:
    slow = STATEMENTS["decayed_drift_equal"].evaluate(k=2, d=20, residual_decay=1 - 1e-9)
    assert slow == pytest.approx(STATEMENTS["steady_drift_equal"].evaluate(k=2, d=20), rel=1e-7)


def test_a_decay_costs_top_k_the_gain_of_feedback() -> None:
    """δ/κ of equal magnitudes: near 3 without a decay, near 1 with one."""
    gains = {
        decay: (1 - STATEMENTS["decayed_drift_equal"].evaluate(k=1, d=1000, residual_decay=decay)) * 1000
        for decay in (0.5, 0.999999)
    }
    assert gains[0.5] < 1.01
    assert gains[0.999999] > 2.99


@pytest.mark.parametrize("label", ["decayed_floor", "decayed_noise_floor"])
def test_without_a_decay_there_is_no_floor(label: str) -> None:
    name = {"decayed_floor": "dissimilarity", "decayed_noise_floor": "variance"}[label]
    values = [STATEMENTS[label].evaluate(delta=0.1, residual_decay=decay, **{name: 1}) for decay in (0, 0.9, 1)]
    assert values[0] == pytest.approx(9)
    assert values[0] > values[1] > values[2] == 0


def test_top_k_reaches_the_share_of_the_floor_that_is_claimed() -> None:
    decay, sent, dimension = 0.9, 2, 10
    top_k = STATEMENTS["decayed_top_k_floor"].evaluate(
        k=sent, d=dimension, slope_share=1 - 2**-40, residual_decay=decay, dissimilarity=1
    )
    floor = STATEMENTS["decayed_floor"].evaluate(delta=sent / dimension, residual_decay=decay, dissimilarity=1)
    assert top_k == pytest.approx((1 - decay**2 * (1 - sent / dimension)) * floor, rel=1e-9)


@pytest.mark.parametrize(
    ("label", "numbers", "named"),
    [
        ("decayed_residual", {"delta": 1, "residual_decay": 1.5, "step_size": 1, "second_moment": 1}, "residual_decay"),
        ("decayed_drift_equal", {"k": 2, "d": 3, "residual_decay": 0.5}, "Mod"),
        ("decayed_floor", {"delta": 1.5, "residual_decay": 0.5, "dissimilarity": 1}, "delta"),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        STATEMENTS[label].evaluate(**numbers)
