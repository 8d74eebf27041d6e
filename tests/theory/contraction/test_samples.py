import math

import pytest

from sparsync.theory.statements import STATEMENTS


def test_the_distance_of_two_coins_by_hand() -> None:
    # P(v = 1) = 1/2 against 1/4: the ratios differ by 1/2 at κ = 1/4, the area is 1/4, the mean 1/2.
    assert STATEMENTS["law_distance"].evaluate(energy=0.5, tail_area=0.25) == 0.5


def test_the_deviation_bound_by_hand() -> None:
    value = STATEMENTS["sample_ratio"].evaluate(d=800, deviation=0.25, mean_square=0.25)
    assert value == pytest.approx(2 * math.exp(-6.25), rel=1e-14)


def test_ten_thousand_uniform_coordinates_are_within_a_twentieth_with_probability_above_nineteen_twentieths() -> None:
    statement = STATEMENTS["sample_ratio"]
    assert statement.evaluate(d=10_000, deviation=0.05, mean_square=1 / 3) < 0.05
    assert statement.evaluate(d=1_000, deviation=0.05, mean_square=1 / 3) > 0.05


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("law_distance", {"energy": 0, "tail_area": 1}),
        ("law_distance", {"energy": 1, "tail_area": -1}),
        ("sample_ratio", {"d": 10, "deviation": 0.1, "mean_square": 1.5}),
        ("sample_ratio", {"d": 10, "deviation": 0.1, "mean_square": 0}),
        ("sample_ratio", {"d": 10, "deviation": 0, "mean_square": 0.5}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)
