import math

import pytest

from sparsync.theory.samples import SAMPLE_STATEMENTS


@pytest.mark.parametrize(
    ("dimension", "power", "expected"),
    [
        (2, 2, 1 / 3),
        (3, 2, math.sqrt(5) - 2),
        (2, 3, 1 - 4 / math.pi * math.asin(2**-1.5)),
        (3, 3, 3 * math.sqrt(19 / 27) - 2),
        (2, 1, 0.0),
    ],
)
def test_a_gaussian_vector_of_few_coordinates_fails_as_often_as_the_closed_forms_say(
    dimension: int, power: float, expected: float
) -> None:
    value = SAMPLE_STATEMENTS["small_dimension_failure"].evaluate(d=dimension, q=power)
    assert value == pytest.approx(expected, abs=1e-15)


def test_a_real_power_is_admitted() -> None:
    value = SAMPLE_STATEMENTS["small_dimension_failure"].evaluate(d=2, q=1.7)
    assert value == pytest.approx(1 - 4 / math.pi * math.asin(2 ** (-1.7 / 2)), abs=1e-14)


def test_the_deviation_bound_by_hand() -> None:
    value = SAMPLE_STATEMENTS["sample_ratio"].evaluate(d=800, deviation=0.25, mean_square=0.25)
    assert value == pytest.approx(2 * math.exp(-4.0), rel=1e-14)


def test_ten_thousand_uniform_coordinates_are_within_a_twentieth_with_probability_above_nineteen_twentieths() -> None:
    statement = SAMPLE_STATEMENTS["sample_ratio"]
    assert statement.evaluate(d=10_000, deviation=0.05, mean_square=1 / 3) < 0.05
    assert statement.evaluate(d=1_000, deviation=0.05, mean_square=1 / 3) > 0.05


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("small_dimension_failure", {"d": 1, "q": 2}),
        ("small_dimension_failure", {"d": 4, "q": 2}),
        ("small_dimension_failure", {"d": 2, "q": 0.5}),
        ("small_dimension_failure", {"d": 3.0, "q": 2}),
        ("sample_ratio", {"d": 10, "deviation": 0.1, "mean_square": 1.5}),
        ("sample_ratio", {"d": 10, "deviation": 0.1, "mean_square": 0}),
        ("sample_ratio", {"d": 10, "deviation": 0, "mean_square": 0.5}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        SAMPLE_STATEMENTS[label].evaluate(**numbers)
