from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.theory.contraction import ladder
from sparsync.verify.contraction import margins
from sparsync.verify.contraction.margins import ENUMERATION_LIMIT, MARGINS, exact_bound, top_k_margin
from sparsync.verify.contraction.strategies import star_shaped
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, Weights

TOP_K_LABELS = list(CLASS_WEIGHTS)
OUTSIDE = {
    "square_convex": (7, 5, 4, 1),
    "bell_shaped": (37, 20, 7, 1),
    "square_convex_discrete": (4, 3, 3, 1),
    "bell_shaped_discrete": (16, 10, 4, 1),
}


def fractions(values: tuple[int, ...]) -> tuple[Fraction, ...]:
    return tuple(Fraction(value) for value in values)


def test_every_statement_about_contraction_has_a_margin() -> None:
    assert list(MARGINS) == list(ladder.STATEMENTS)


@pytest.mark.parametrize("label", TOP_K_LABELS)
@given(data=st.data())
@settings(max_examples=50)
def test_margins_are_never_negative_in_the_class(label: str, data: st.DataObject) -> None:
    squares, count = data.draw(star_shaped(CLASS_WEIGHTS[label], max_dimension=10))
    assert MARGINS[label](squares, count) >= 0


@given(star_shaped(CLASS_WEIGHTS["top_k"], max_dimension=7))
@settings(max_examples=50)
def test_random_k_meets_its_expectation_exactly(case: tuple[tuple[Fraction, ...], int]) -> None:
    assert MARGINS["random_k"](*case) == 0


@pytest.mark.parametrize("label", TOP_K_LABELS)
@pytest.mark.parametrize(("count", "dimension"), [(1, 1), (1, 2), (3, 10), (9, 10), (16, 33)])
def test_the_extremal_vector_has_margin_zero(label: str, count: int, dimension: int) -> None:
    assert MARGINS[label](fractions(CLASS_WEIGHTS[label](dimension)), count) == 0


@pytest.mark.parametrize("label", TOP_K_LABELS)
def test_a_steeper_vector_has_a_positive_margin(label: str) -> None:
    assert MARGINS[label](fractions((1000, 1, 0, 0)), 2) > 0


@pytest.mark.parametrize("label", OUTSIDE)
def test_a_vector_outside_the_class_is_refused(label: str) -> None:
    with pytest.raises(ValueError, match=label):
        MARGINS[label](fractions(OUTSIDE[label]), 2)


@pytest.mark.parametrize("label", MARGINS)
@pytest.mark.parametrize("squares", [(), (1, 2), (2, -1)])
def test_unsorted_negative_or_empty_squares_are_refused(label: str, squares: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="squares must"):
        MARGINS[label](fractions(squares), 1)


@pytest.mark.parametrize("label", MARGINS)
@pytest.mark.parametrize("count", [0, 3])
def test_a_count_out_of_range_is_refused(label: str, count: int) -> None:
    with pytest.raises(ValueError, match=str(count)):
        MARGINS[label](fractions((1, 0)), count)


def test_random_k_refuses_to_enumerate_a_long_vector() -> None:
    with pytest.raises(ValueError, match=str(ENUMERATION_LIMIT + 1)):
        MARGINS["random_k"]((Fraction(1),) * (ENUMERATION_LIMIT + 1), 1)


@pytest.mark.parametrize("label", TOP_K_LABELS)
def test_the_zero_vector_has_no_error(label: str) -> None:
    assert MARGINS[label](fractions((0, 0)), 1) == exact_bound(label, dimension=2, count=1)


def mutated_bound(label: str, *, dimension: int, count: int) -> Fraction:
    """One coordinate more than was sent: what an off-by-one in a bound would claim."""
    return exact_bound(label, dimension=dimension, count=min(count + 1, dimension))


@pytest.mark.parametrize("label", MARGINS)
def test_a_bound_off_by_one_is_caught(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weights: Weights = CLASS_WEIGHTS.get(label, CLASS_WEIGHTS["top_k"])
    monkeypatch.setattr(margins, "exact_bound", mutated_bound)
    assert MARGINS[label](fractions(weights(6)), 2) < 0


def test_floats_enter_without_rounding() -> None:
    squares = tuple(Fraction(value) for value in (0.1, 0.1, 0.1))
    assert top_k_margin(squares, 1, label="top_k") == 0
