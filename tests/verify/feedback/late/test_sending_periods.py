"""The map of a period and its roots, as a hand finds them; the checks are tried in `test_lag.py`."""

from __future__ import annotations

from fractions import Fraction

from sparsync.verify.feedback.late import sending_periods


def test_the_map_of_a_period_without_momentum_is_descent() -> None:
    """x ← (1 − Na)x, and the buffer is what was sent last."""
    trace, determinant = sending_periods.period_map(4, Fraction(0), Fraction(1, 16))
    assert (trace, determinant) == (Fraction(3, 4), Fraction(0))


def test_stability_is_that_of_the_roots() -> None:
    # (z − 1/2)(z − 2/3) and (z − 1/2)(z − 2).
    assert sending_periods.is_stable(Fraction(7, 6), Fraction(1, 3))
    assert not sending_periods.is_stable(Fraction(5, 2), Fraction(1))
    assert not sending_periods.is_stable(Fraction(7, 6), Fraction(1, 3), radius=Fraction(3, 5))
