"""Barriers that sample workers a second time: two ways to count, and lags below the threshold."""

from fractions import Fraction

import pytest

from sparsync.verify.synchronisation.sampling_barriers import drawn_chance, lag_margin, share_without_laggard


def test_both_ways_to_sample_agree_with_a_count_by_hand() -> None:
    assert share_without_laggard(5, 2, 2) == drawn_chance(5, 2, 2) == Fraction(1, 6)


def test_lags_below_the_threshold_leave_room() -> None:
    low, high = [Fraction(1), Fraction(0), Fraction(0)], [Fraction(0), Fraction(0), Fraction(1)]
    margins = [lag_margin(law, Fraction(1, 2), 60, label="psp_lag_mean", power=1) for law in (low, high)]
    # Of the weight 2 one half lies at lag 0 instead of at 2.
    assert margins[0] - margins[1] == pytest.approx(1, abs=1e-15)
    assert 0 < margins[1] < Fraction(1, 10**15)
