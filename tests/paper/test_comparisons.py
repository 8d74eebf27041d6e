"""A phrase is chosen by the numbers: what the interval says, that it says nothing, or that there is one seed."""

from __future__ import annotations

import math
from statistics import geometric_mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.comparisons import difference_cell, difference_phrase, mean_phrase, ratio, ratio_phrase, tally
from sparsync.verify.tools.intervals import Estimate, mean
from tests.support.drawing import plain

ERRORS = st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)), min_size=1, max_size=8)
ABOVE, BELOW, BETWEEN = Estimate(2, 1, 3, 5), Estimate(-2, -3, -1, 5), Estimate(0.5, -1, 2, 5)
ALONE = mean([0.25])


@pytest.mark.parametrize(
    ("difference", "phrase", "cell"),
    [
        (ABOVE, "+2.00 points (1.00 to 3.00)", "+2.00 (1.00 to 3.00)"),
        (BELOW, "-2.00 points (-3.00 to -1.00)", "-2.00 (-3.00 to -1.00)"),
        (BETWEEN, "+0.50 points (-1.00 to 2.00; inconclusive)", "+0.50 (-1.00 to 2.00)"),
        (Estimate(1, 0, 2, 5), "+1.00 points (0.00 to 2.00; inconclusive)", "+1.00 (0.00 to 2.00)"),
        (ALONE, "+0.25 points (one seed)", "+0.25 (one seed)"),
    ],
)
def test_a_difference_reads_with_its_interval(difference: Estimate, phrase: str, cell: str) -> None:
    assert plain(difference_phrase(difference, unit="points")) == phrase
    assert plain(difference_cell(difference)) == cell


def test_a_mean_has_an_interval_without_a_verdict_on_zero() -> None:
    assert plain(mean_phrase(BETWEEN)) == "0.50 (-1.00 to 2.00)"
    assert plain(mean_phrase(ALONE)) == "0.25 (one seed)"


def test_a_ratio_is_inconclusive_if_its_interval_holds_one() -> None:
    half, double = math.log(0.5), math.log(2)
    assert plain(ratio_phrase(Estimate(double / 2, 0.1, double, 3))) == "1.41 (1.11 to 2.00)"
    assert plain(ratio_phrase(Estimate(0, half, double, 3))) == "1.00 (0.50 to 2.00; inconclusive)"
    assert plain(ratio_phrase(ratio([3.0], [2.0]))) == "1.50 (one seed)"


def test_a_wide_interval_of_a_ratio_can_be_written() -> None:
    assert "10^{6}" in ratio_phrase(Estimate(0, -1, 6 * math.log(10), 2))
    assert "10^{304}" in ratio_phrase(Estimate(0, -1, 1e6, 2))


@given(ERRORS)
def test_a_ratio_is_that_of_geometric_means_and_its_reverse_is_the_inverse(pairs: list[tuple[float, float]]) -> None:
    first, second = ([pair[place] for pair in pairs] for place in (0, 1))
    found, back = ratio(first, second), ratio(second, first)
    assert math.exp(found.value) == pytest.approx(geometric_mean(first) / geometric_mean(second), rel=1e-9)
    assert (back.value, back.low, back.high) == pytest.approx((-found.value, -found.high, -found.low), abs=1e-9)


@pytest.mark.parametrize(("first", "second"), [([1.0, 0.0], [1.0, 1.0]), ([1.0], [-1.0]), ([1.0, 2.0], [1.0])])
def test_what_has_no_ratio_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match=r"positive|shorter"):
        ratio(first, second)


def test_a_tally_counts_what_the_intervals_say() -> None:
    assert tally([ABOVE, BELOW, BETWEEN, BETWEEN]) == "less in 1, more in 1, inconclusive in 2"
    assert tally([BELOW], more="higher", less="lower") == "lower in 1, higher in none, inconclusive in none"
    assert tally([ALONE, ABOVE]) == "less in none, more in 1, inconclusive in none, one seed in 1"
