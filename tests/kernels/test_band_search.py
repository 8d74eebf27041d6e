"""The roundest threshold whose count lies in the band is found from any start, within the stated number of counts."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.kernels.band_search import ThresholdSearch, count_band, search_threshold

BIT_WIDTH = 6


def trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1


def roundest_valid(magnitudes: list[int], band: tuple[int, int]) -> int | None:
    """By inspection of every threshold."""
    valid = [t for t in range(1, 2**BIT_WIDTH) if band[0] <= sum(a >= t for a in magnitudes) <= band[1]]
    return max(valid, key=trailing_zeros, default=None)


def search(magnitudes: list[int], band: tuple[int, int], start: int, level: int) -> tuple[ThresholdSearch, int]:
    """The search, and how often it really counted."""
    ascending, calls = sorted(magnitudes), []

    def count(threshold: int) -> int:
        calls.append(threshold)
        return len(ascending) - bisect_left(ascending, threshold)

    found = search_threshold(count, band, bit_width=BIT_WIDTH, start=start, start_level=level)
    return found, len(calls)


MAGNITUDES = st.lists(st.integers(0, 2**BIT_WIDTH - 1), min_size=1, max_size=40)


@given(
    magnitudes=MAGNITUDES, k=st.integers(1, 40), start=st.integers(0, 2**BIT_WIDTH - 1), level=st.integers(0, BIT_WIDTH)
)
def test_every_start_finds_the_roundest_valid_threshold(magnitudes: list[int], k: int, start: int, level: int) -> None:
    found, call_count = search(magnitudes, count_band(k), start, level)
    assert found.threshold == roundest_valid(magnitudes, count_band(k))
    assert found.evaluation_count == call_count


@given(magnitudes=MAGNITUDES, k=st.integers(1, 40))
def test_no_start_counts_more_than_the_bit_width_plus_its_gallop(magnitudes: list[int], k: int) -> None:
    costs = {
        level: max(search(magnitudes, count_band(k), start, level)[1] for start in range(2**BIT_WIDTH))
        for level in range(BIT_WIDTH + 1)
    }
    assert costs[BIT_WIDTH] <= BIT_WIDTH
    assert all(cost <= max(BIT_WIDTH, 2 * BIT_WIDTH - level - 1) for level, cost in costs.items())


def test_the_bisection_bound_is_attained() -> None:
    """Ties at 1: thresholds 1 counts everything, 2 nothing, so every level is halved."""
    found, call_count = search([1] * 9, count_band(3), start=0, level=BIT_WIDTH)
    assert (found.threshold, call_count) == (None, BIT_WIDTH)


@given(low=st.integers(1, 2**BIT_WIDTH - 1), length=st.integers(0, 2**BIT_WIDTH))
def test_an_integer_interval_has_one_roundest_element(low: int, length: int) -> None:
    interval = range(low, min(low + length + 1, 2**BIT_WIDTH))
    most = max(map(trailing_zeros, interval))
    assert sum(trailing_zeros(element) == most for element in interval) == 1


@given(k=st.integers(1, 10**9))
def test_the_band_holds_the_counts_between_two_and_four_thirds_of_k(k: int) -> None:
    low, high = count_band(k)
    assert 3 * (low - 1) < 2 * k <= 3 * low
    assert 3 * high <= 4 * k < 3 * (high + 1)
    assert 1 <= low <= k <= high


@pytest.mark.parametrize(
    ("band", "start", "level", "message"),
    [
        ((0, 3), 0, 0, r"\(0, 3\)"),
        ((3, 2), 0, 0, r"\(3, 2\)"),
        ((1, 2), 64, 0, "got 64"),
        ((1, 2), -1, 0, "got -1"),
        ((1, 2), 0, 7, "got 7"),
    ],
)
def test_arguments_out_of_range_are_refused(band: tuple[int, int], start: int, level: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        search([1], band, start, level)
