"""The laws that a residual settles into, against hand-computed values and each other."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

DENSITIES = [Fraction(1, levels) for levels in (2, 3, 10, 100, 1000)]


def ratio(label: str, **parameters: int | Fraction) -> Fraction:
    value = STATEMENTS[label].exact(**parameters)
    return Fraction(int(value.p), int(value.q))


def test_two_levels_are_done_by_hand() -> None:
    # Levels 1 and 2: energy 1 + 4, of which 4 is sent. A walk with N = 1 sends everything.
    assert ratio("steady_drift_equal", k=1, d=2) == Fraction(1, 5)
    assert ratio("steady_noise", kappa=Fraction(1)) == 0
    # N = 2, from 0 to ±1, back or on to ±2: per cycle of 4 steps Σu² = 2·1 + 4.
    assert ratio("steady_noise", kappa=Fraction(1, 4)) == 1 - Fraction(4, 6)


@pytest.mark.parametrize("kappa", DENSITIES)
def test_equal_rates_leave_the_least_behind_and_noise_less_than_drift(kappa: Fraction) -> None:
    equal = ratio("steady_drift_equal", k=1, d=kappa.denominator)
    assert ratio("steady_noise", kappa=kappa) < equal < ratio("steady_drift", kappa=kappa)


@pytest.mark.parametrize(("label", "gain"), [("steady_drift", 3), ("steady_noise", 6)])
def test_the_gain_tends_to_three_and_six(label: str, gain: int) -> None:
    kappa = Fraction(1, 10**9)
    assert float((1 - ratio(label, kappa=kappa)) / kappa) == pytest.approx(gain, rel=1e-8)


@pytest.mark.parametrize("kappa", DENSITIES)
def test_feedback_exceeds_the_cubic_bound_by_little(kappa: Fraction) -> None:
    """The gap is 3κ²/2 and higher powers: the drift is just outside the class of the third rung."""
    gap = ratio("steady_drift_equal", k=1, d=kappa.denominator) - (1 - kappa) ** 3
    assert 0 < gap < 3 * kappa**2 / 2


def test_a_count_that_does_not_divide_the_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="k = 3"):
        STATEMENTS["steady_drift_equal"].evaluate(k=3, d=100)


@pytest.mark.parametrize("kappa", [0.0, -0.5, 1.5])
@pytest.mark.parametrize("label", ["steady_drift", "steady_noise"])
def test_a_density_outside_its_range_is_refused(label: str, kappa: float) -> None:
    with pytest.raises(ValueError, match="kappa"):
        STATEMENTS[label].evaluate(kappa=kappa)
