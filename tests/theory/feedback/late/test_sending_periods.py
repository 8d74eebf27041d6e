"""Momentum where coordinates are sent in turn: known limits, and how little momentum gains."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import beta, sending_period
from sparsync.theory.statements import STATEMENTS

MOMENTA = [Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)]


def reach(period: int, momentum: Fraction) -> float:
    """The largest stable effective step."""
    limit = STATEMENTS["round_robin_limit"].evaluate(sending_period=period, momentum=momentum)
    return limit / float(1 - momentum)


@pytest.mark.parametrize("momentum", MOMENTA)
def test_sent_at_every_step_the_limit_is_that_of_the_heavy_ball(momentum: Fraction) -> None:
    assert STATEMENTS["round_robin_limit"].exact(sending_period=1, momentum=momentum) == 2 * (1 + momentum)


@pytest.mark.parametrize("period", [1, 3, 100])
def test_without_momentum_the_limit_is_two_over_the_period(period: int) -> None:
    assert STATEMENTS["round_robin_limit"].exact(sending_period=period, momentum=0) == Fraction(2, period)


def test_momentum_that_plays_out_before_the_next_lump_leaves_the_limit_of_descent() -> None:
    assert reach(10_000, Fraction(9, 10)) == pytest.approx(2 / 10_000, rel=2e-3)
    assert reach(1, Fraction(9, 10)) == pytest.approx(38)


def test_the_stated_slack_of_the_reach_is_what_is_found() -> None:
    """The largest effective step over all momenta, at two periods: 2.1 and 1.46 times less than the bound."""
    limit = sympy.lambdify((sending_period, beta), STATEMENTS["round_robin_limit"].bound, "math")
    for period, slack in ((2, 2.113), (2000, 1.464)):
        # γ^N runs through (0, 1).
        momenta = [(part / 1000) ** (1 / period) for part in range(1, 1000)]
        largest = max(limit(period, momentum) / (1 - momentum) for momentum in momenta)
        bound = STATEMENTS["round_robin_reach"].evaluate(sending_period=period)
        assert bound / largest == pytest.approx(slack, rel=0.01)


def test_a_momentum_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="momentum"):
        STATEMENTS["round_robin_limit"].evaluate(sending_period=3, momentum=1)
