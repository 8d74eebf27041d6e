from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.verify.contraction.strategies import star_shaped
from sparsync.verify.contraction.weights import (
    CLASS_WEIGHTS,
    END_POINT_WEIGHTS,
    Weights,
    is_star_shaped,
    ramp,
    ramp_to_zero,
    squared_ramp_to_zero,
    tail_ratio,
)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("top_k", (1, 1, 1, 1)),
        ("square_convex", (7, 5, 3, 1)),
        ("bell_shaped", (37, 19, 7, 1)),
        ("square_convex_discrete", (4, 3, 2, 1)),
        ("bell_shaped_discrete", (16, 9, 4, 1)),
    ],
)
def test_weights_in_four_dimensions(label: str, expected: tuple[int, ...]) -> None:
    assert CLASS_WEIGHTS[label](4) == expected


@pytest.mark.parametrize(("label", "power"), [("square_convex", 1), ("bell_shaped", 2)])
@pytest.mark.parametrize("dimension", [1, 2, 5, 12])
def test_cell_weights_are_integrals_of_a_power_of_the_line(label: str, power: int, dimension: int) -> None:
    x = sympy.Symbol("x")
    cells = [
        sympy.integrate((power + 1) * x**power, (x, dimension - rank, dimension - rank + 1))
        for rank in range(1, dimension + 1)
    ]
    assert list(CLASS_WEIGHTS[label](dimension)) == cells


@pytest.mark.parametrize("weights", [ramp_to_zero, squared_ramp_to_zero])
def test_a_ramp_to_zero_needs_two_ranks(weights: Weights) -> None:
    with pytest.raises(ValueError, match="got 1"):
        weights(1)


@pytest.mark.parametrize("label", END_POINT_WEIGHTS)
@given(data=st.data())
@settings(max_examples=50)
def test_a_class_that_ends_at_zero_lies_inside_the_class_of_its_statement(label: str, data: st.DataObject) -> None:
    squares, _ = data.draw(star_shaped(END_POINT_WEIGHTS[label], min_dimension=2, max_dimension=8))
    assert is_star_shaped(squares, CLASS_WEIGHTS[label](len(squares)))


def test_membership_follows_the_quotients() -> None:
    assert is_star_shaped([Fraction(8), Fraction(3), Fraction(2), Fraction(0)], ramp(4))
    assert not is_star_shaped([Fraction(4), Fraction(3), Fraction(2), Fraction(2)], ramp(4))
    assert not is_star_shaped([Fraction(3), Fraction(2), Fraction(1)], ramp_to_zero(3))
    assert is_star_shaped([Fraction(2), Fraction(1), Fraction(0)], ramp_to_zero(3))


def test_the_ratio_counts_the_ranks_above_k() -> None:
    assert tail_ratio((4, 3, 2, 1), 1) == Fraction(6, 10)
    assert tail_ratio((4, 3, 2, 1), 4) == 0
    assert tail_ratio((0, 0), 1) == 0


@pytest.mark.parametrize("count", [0, -1, 3])
def test_a_count_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=str(count)):
        tail_ratio((2, 1), count)
