"""The chain of a coordinate is solved as a hand does it; its checks are tried in `test_lag.py`."""

from __future__ import annotations

from fractions import Fraction

from sparsync.verify.feedback.late import coordinate_lag


def test_a_walk_without_noise_lags_by_half_its_cycle() -> None:
    assert coordinate_lag.walk_lag(5, Fraction(1)) == (Fraction(2), Fraction(1, 5))
