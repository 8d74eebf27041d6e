import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import strategies as st

from sparsync.verify.contraction.ladder import class_members, kept_back_count
from sparsync.verify.contraction.margins import MARGINS, exact_bound
from sparsync.verify.contraction.strategies import star_shaped
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, Weights, constant, ramp, tail_ratio
from sparsync.verify.tools.outcome import Profile
from sparsync.verify.tools.properties import Search, property_check, search_margin

EXAMPLES = 100


def search(label: str, *, max_examples: int) -> Search:
    return search_margin(MARGINS[label], class_members(label), max_examples=max_examples, rank=kept_back_count)


@pytest.mark.parametrize("label", MARGINS)
def test_no_member_of_its_class_breaks_a_statement_and_the_bound_is_reached(label: str) -> None:
    found = search(label, max_examples=EXAMPLES)
    assert not found.found_counterexample
    assert found.smallest_margin == 0
    squares, count = found.case
    assert any(squares[count:])
    assert found.examples_count >= EXAMPLES


@pytest.mark.parametrize("label", ["random_k", "bell_shaped"])
def test_a_search_repeats_exactly(label: str) -> None:
    assert search(label, max_examples=30) == search(label, max_examples=30)


@pytest.mark.parametrize("label", CLASS_WEIGHTS)
def test_a_bound_off_by_one_is_broken_by_the_search(label: str) -> None:
    def wrong(squares: Sequence[Fraction], count: int) -> Fraction:
        dimension = len(squares)
        bound = exact_bound(label, dimension=dimension, count=min(count + 1, dimension))
        return bound - tail_ratio(squares, count)

    assert search_margin(wrong, class_members(label), max_examples=EXAMPLES).found_counterexample


@pytest.mark.parametrize(
    ("label", "weights"),
    [
        ("square_convex", ramp),
        ("square_convex", constant),
        ("bell_shaped", CLASS_WEIGHTS["square_convex"]),
        ("bell_shaped_discrete", ramp),
        ("square_convex_discrete", constant),
    ],
)
def test_a_bound_is_broken_on_a_wider_class(label: str, weights: Weights) -> None:
    def margin(squares: Sequence[Fraction], count: int) -> Fraction:
        return exact_bound(label, dimension=len(squares), count=count) - tail_ratio(squares, count)

    members = star_shaped(weights, max_dimension=12)
    found = search_margin(margin, members, max_examples=EXAMPLES)
    assert found.found_counterexample
    assert margin(*found.case) == found.smallest_margin


def test_an_unknown_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="'nothing'"):
        class_members("nothing")


def test_the_grade_records_the_case_and_is_lost_to_a_negative_or_undefined_margin() -> None:
    profile = Profile(dimensions=(), examples_count=20)
    pairs = st.tuples(st.integers(0, 9), st.just(Fraction(1, 2)))
    earned = property_check(lambda: pairs, lambda number, half: number + half)(profile)
    assert earned.earned
    assert (earned.detail["smallest_margin"], earned.detail["case"]) == ("1/2", [0, "1/2"])
    assert not property_check(lambda: pairs, lambda number, half: half - number)(profile).earned
    assert not property_check(lambda: pairs, lambda number, _half: math.nan if number == 0 else 1.0)(profile).earned
