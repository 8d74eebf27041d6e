from collections.abc import Sequence
from fractions import Fraction

import pytest

from sparsync.verify.margins import MARGINS, exact_bound
from sparsync.verify.properties import class_members, search, search_margin
from sparsync.verify.strategies import star_shaped
from sparsync.verify.weights import CLASS_WEIGHTS, Weights, constant, ramp, tail_ratio

EXAMPLES = 100


@pytest.mark.parametrize("label", MARGINS)
def test_no_member_of_its_class_breaks_a_statement_and_the_bound_is_reached(label: str) -> None:
    found = search(label, max_examples=EXAMPLES)
    assert not found.found_counterexample
    assert found.smallest_margin == 0
    assert any(found.squares[found.count :])
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
    assert margin(found.squares, found.count) == found.smallest_margin


def test_an_unknown_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="'nothing'"):
        class_members("nothing")
