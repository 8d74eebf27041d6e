from collections.abc import Callable
from fractions import Fraction

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.verify.worst_case_rates.exact_numbers import MethodError
from sparsync.verify.worst_case_rates.vectors import Form, Vector, total

X, Y = Vector({"x": Fraction(1)}), Vector({"y": Fraction(1)})

COORDINATES = st.lists(st.fractions(-5, 5, max_denominator=7), min_size=2, max_size=2)


@given(COORDINATES, COORDINATES, st.lists(COORDINATES, min_size=2, max_size=2))
def test_the_algebra_is_that_of_vectors_with_coordinates(
    first: list[Fraction], second: list[Fraction], places: list[list[Fraction]]
) -> None:
    def value(vector: Vector) -> list[Fraction]:
        parts = [(share, places["xy".index(name)]) for name, share in vector.coefficients.items()]
        return [sum((share * place[row] for share, place in parts), Fraction(0)) for row in (0, 1)]

    one, other = (a * X + b * Y for a, b in (first, second))
    product = sum(
        share * sum(p * q for p, q in zip(places["xy".index(left)], places["xy".index(right)], strict=True))
        for (left, right), share in (one @ other).products.items()
    )
    assert product == sum(p * q for p, q in zip(value(one), value(other), strict=True))
    assert value(one - other / 2) == [p - q / 2 for p, q in zip(value(one), value(other), strict=True)]


def test_sums_scales_and_squares() -> None:
    assert sum([X, Y, X]) == 2 * X + Y
    assert numpy.float64(0.5) * X == X / 2
    assert (0.1 * X).coefficients == {"x": Fraction(1, 10)}
    assert (X - X).coefficients == {}
    assert ((X - Y) ** 2).products == {("x", "x"): 1, ("x", "y"): -2, ("y", "y"): 1}
    assert str(X / 2 - Y) == "1/2 x - y"
    assert total([(2, X @ X), (-1, X @ X)]).products == (X @ X).products


IMPOSSIBLE: dict[str, tuple[Callable[[], object], str]] = {
    "a product of two vectors": (lambda: X * Y, "two vectors are multiplied, x and y"),
    "a vector scaled by a length": (lambda: (X @ X) * Y, "more than two vectors"),
    "a step size that depends on a vector": (lambda: X * (X @ X), "is no number: it depends on vectors"),
    "a number added to a vector": (lambda: X + 1, "1, which is no vector"),
    "a number added to a length": (lambda: X @ X + 1, "only inner products and values"),
    "a quotient of lengths": (lambda: (X @ X) / (Y @ Y), "more than two vectors"),
    "something over a vector": (lambda: 1 / X, "divided by the vector x"),
    "division by zero": (lambda: X / 0, "divided by zero"),
    "a cube": (lambda: X**3, r"\(x\)\*\*3"),
    "a text as factor": (lambda: X * "a", "'a'"),
    "a decision by a vector": (lambda: bool(X), "decides by the vector x"),
    "a decision by a length": (lambda: bool(X @ X), "decides by ‖x‖²"),
    "a decision by a comparison": (lambda: bool(X @ X <= Y @ Y), "decides by a comparison"),
    "an inner product with a number": (lambda: X @ 2, "stands between two vectors"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_no_programme_can_hold_is_refused_by_name(name: str) -> None:
    attempt, words = IMPOSSIBLE[name]
    with pytest.raises(MethodError, match=words):
        attempt()


def test_a_comparison_is_a_form_that_is_at_most_zero() -> None:
    assert (X**2 <= Y**2).form.products == {("x", "x"): 1, ("y", "y"): -1}
    assert (X**2 >= 0).form.products == {("x", "x"): -1}
    assert Form(values={"f": Fraction(2)}).size() == 2
