"""Seconds of runs a second time: by hand, and with a rate, a step or an order that is wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost import run_seconds
from sparsync.verify.cost.run_seconds import (
    best_margin,
    exponent,
    followed_steps,
    linear_margin,
    overtaking_margin,
    saving_margin,
)

ONE = Fraction(1)


def test_a_rate_by_hand() -> None:
    # Nothing is left out and L/μ = 3: ρ = 1/4; with ε = 1/4 and L = μ, ρ = s = 1/2.
    assert float(exponent(ONE, Fraction(3))) == pytest.approx(math.log(4), rel=1e-15)
    assert float(exponent(Fraction(3, 4), ONE + Fraction(1, 10**12))) == pytest.approx(math.log(2), rel=1e-9)


@pytest.mark.parametrize(("delta", "condition"), [(0.05, 4.0), (0.5, 20.0), (1.0, 5.0)])
def test_a_run_takes_as_many_steps_as_the_tight_rate_says(delta: float, condition: float) -> None:
    rate = STATEMENTS["ef_tight_rate"].evaluate(mu=1, smoothness=condition, epsilon=1 - delta)
    expected = math.log(run_seconds.SIMULATED_TOLERANCE) / math.log(rate)
    assert followed_steps(delta, condition) == pytest.approx(expected, abs=1.5)


def test_margins_are_zero_where_bounds_are_attained_and_see_what_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    case = (ONE, Fraction(3), ONE, Fraction(5), Fraction(10))
    assert 0 < linear_margin(*case) < 1e-39
    assert linear_margin(Fraction(1, 2), *case[1:]) > 0.1
    assert best_margin(Fraction(2), Fraction(2), Fraction(3), [ONE, Fraction(1, 9)]) == 0
    assert 0 < overtaking_margin(3, Fraction(2)) < 1e-39
    assert saving_margin(Fraction(3), Fraction(2), Fraction(5), 9, 4) == 0
    monkeypatch.setattr(run_seconds, "exponent", lambda *_: 10)
    monkeypatch.setattr(run_seconds, "_seconds", lambda *_: ONE)
    monkeypatch.setattr(run_seconds, "_over_ring", lambda *_: 1)
    assert linear_margin(*case) < 0
    assert best_margin(Fraction(2), Fraction(2), Fraction(3), []) < 0
    assert overtaking_margin(3, Fraction(2)) == -1
