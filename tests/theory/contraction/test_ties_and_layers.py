from fractions import Fraction

import pytest
import sympy

from sparsync.theory.contraction.ties_and_layers import is_true, sorted_squares
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.ties_and_layers import layer_bound, layer_excess
from sparsync.verify.contraction.weights import tail_ratio


@pytest.mark.parametrize(
    ("count", "ties_count", "expected"),
    [
        (3, 1, Fraction(1, 3)),
        (2, 4, Fraction(1, 2)),
        (4, 4, Fraction(1)),
        (1, 1, Fraction(1)),
        (10, 7, Fraction(7, 10)),
    ],
)
def test_tie_bounds_by_hand(count: int, ties_count: int, expected: Fraction) -> None:
    assert STATEMENTS["ties"].fraction(k=count, tie_count=ties_count) == expected


def test_a_strict_threshold_sends_nothing_of_equal_magnitudes() -> None:
    dimension, count = 10, 3
    nothing_sent = Fraction(1)
    excess = nothing_sent - tail_ratio((1,) * dimension, count)
    assert excess == STATEMENTS["ties"].fraction(k=count, tie_count=dimension)


def test_all_the_energy_in_a_small_layer_is_the_worst_case() -> None:
    layers = (((Fraction(1), Fraction(1)), 1), ((Fraction(0),) * 8, 4))
    assert layer_excess(layers) == layer_bound((2, 8), (1, 4)) == Fraction(1, 2)


def test_one_percent_in_each_of_a_hundred_layers_may_lose_what_the_whole_vector_keeps() -> None:
    assert STATEMENTS["layer_wise"].fraction(k=100, layer_size=100, layer_count=1) == Fraction(99, 100)


def test_a_single_layer_is_the_whole_vector() -> None:
    assert STATEMENTS["layer_wise"].fraction(k=3, layer_size=10, layer_count=3) == 0


def test_a_layer_that_sends_nothing_leaves_no_contraction() -> None:
    # Both non-zero coordinates are in the first layer, which sends none; Top-2 of the vector sends both.
    layers = (((Fraction(1), Fraction(4), Fraction(0)), 0), ((Fraction(0),) * 5, 2))
    assert layer_excess(layers) == layer_bound((3, 5), (0, 2)) == 1
    assert STATEMENTS["layer_wise"].fraction(k=2, layer_size=3, layer_count=0) == 1


def test_layers_that_obey_a_power_bound_make_a_vector_that_obeys_it() -> None:
    first, second = (50, 30, 10, 0), (7, 5, 3, 1)
    whole = sorted((*first, *second), reverse=True)
    densities = {2: Fraction(1, 4), 4: Fraction(1, 2), 6: Fraction(3, 4)}
    assert all(tail_ratio(whole, count) <= (1 - density) ** 2 for count, density in densities.items())


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("ties", {"k": 0, "tie_count": 1}),
        ("ties", {"k": 1, "tie_count": 0}),
        ("layer_wise", {"k": 5, "layer_size": 2, "layer_count": 3}),
        ("layer_wise", {"k": 2, "layer_size": 9, "layer_count": 3}),
        ("layer_wise", {"k": 2, "layer_size": 9, "layer_count": -1}),
        ("layer_wise", {"k": 0, "layer_size": 9, "layer_count": 0}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


def test_general_sorted_squares_are_sums_of_the_gaps_that_follow() -> None:
    largest, smallest = sorted_squares(2)
    assert (largest - smallest).is_nonnegative
    assert smallest.is_nonnegative


def test_what_assumptions_leave_open_is_not_true() -> None:
    assert is_true(True) == sympy.true
    assert is_true(None) == is_true(False) == sympy.false
