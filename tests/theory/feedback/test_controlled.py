"""EControl: by hand, its speed-up, and its orders in δ."""

from fractions import Fraction

import pytest

from sparsync.theory.language.symbols import delta
from sparsync.theory.statements import STATEMENTS

RATE = STATEMENTS["econtrol_rate"]
UNIT = {"smoothness": 1, "mean_smoothness": 1}


def test_the_bound_equals_a_value_computed_by_hand() -> None:
    # δ = 1: τ = 1; η = 1/12: 12/10 + (64/144)/10 + 1/(24·2) + 320/144.
    numbers = {"delta": 1, "step_size": Fraction(1, 12), "gap": 1, "estimate_energy": 1, "T": 10, "n": 2, "variance": 1}
    expected = Fraction(12, 10) + Fraction(64, 1440) + Fraction(1, 48) + Fraction(320, 144)
    assert RATE.fraction(**UNIT, **numbers) == Fraction(5, 2) * expected


def test_to_first_order_noise_falls_with_the_number_of_workers() -> None:
    numbers = {"delta": Fraction(3, 4), "gap": 0, "estimate_energy": 0, "T": 1, "variance": 1, **UNIT}
    one, many = (RATE.fraction(**numbers, n=count, step_size=Fraction(1, 10**9)) for count in (1, 100))
    assert float(one / many) == pytest.approx(100, rel=1e-2)


def test_the_share_fed_back_is_an_eighth_of_delta_for_small_delta() -> None:
    assert float(RATE.given("control").subs(delta, 1e-6)) == pytest.approx(1e-6 / 8, rel=1e-5)
