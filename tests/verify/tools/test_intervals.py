"""Intervals are those of Student's t, on paired differences; one seed knows nothing of its spread."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sparsync.verify.tools.intervals import Estimate, compared, exact, mean, paired_difference

VALUES = st.lists(st.integers(-1000, 1000).map(lambda whole: whole / 8), min_size=2, max_size=12)


@given(VALUES.filter(lambda values: len(set(values)) > 1))
def test_the_interval_of_a_mean_is_that_of_scipy(values: list[float]) -> None:
    found = mean(values)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    # Two ways to the same few roundings.
    scale = max(map(abs, values))
    assert found.low == pytest.approx(expected.low, abs=1e-12 * scale)
    assert found.high == pytest.approx(expected.high, abs=1e-12 * scale)
    assert found.count == len(values)


def test_a_paired_difference_by_hand() -> None:
    """Differences 1, 2, 3: mean 2, standard error 1/√3, t = 4.3027 with two degrees of freedom."""
    found = paired_difference([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert (found.value, found.count) == (2.0, 3)
    assert found.high - found.value == pytest.approx(4.30265273 / math.sqrt(3), rel=1e-8)


def test_pairs_that_move_together_are_told_apart_where_the_means_alone_are_not() -> None:
    first, second = [10.0, 50.0, 90.0], [9.0, 48.9, 89.1]
    assert not paired_difference(first, second).holds_zero
    assert mean(first).low < mean(second).high


def test_one_seed_knows_nothing_of_its_spread() -> None:
    found = mean([3.0])
    assert (found.value, found.low, found.high) == (3.0, -math.inf, math.inf)
    assert compared(found) == "inconclusive"


@pytest.mark.parametrize(
    ("difference", "word"),
    [
        (Estimate(1, 0.5, 1.5), "more"),
        (Estimate(-1, -1.5, -0.5), "less"),
        (Estimate(1, -0.1, 2.1), "inconclusive"),
        (Estimate(1, 0, 2), "inconclusive"),
        (exact(2), "more"),
        (exact(0), "inconclusive"),
    ],
)
def test_the_word_follows_from_the_interval(difference: Estimate, word: str) -> None:
    assert compared(difference) == word


@pytest.mark.parametrize("values", [[], [math.nan, 1.0], [math.inf]])
def test_a_mean_of_nothing_or_of_what_is_not_finite_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="a mean needs finite values"):
        mean(values)


def test_pairs_need_equally_many_values() -> None:
    with pytest.raises(ValueError, match="got 1 and 2"):
        paired_difference([1.0], [1.0, 2.0])


def test_an_estimate_lies_within_its_interval() -> None:
    with pytest.raises(ValueError, match="within its interval"):
        Estimate(2, 0, 1)
