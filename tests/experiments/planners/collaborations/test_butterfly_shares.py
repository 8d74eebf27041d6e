"""Shares of a butterfly: filled like water, as a linear program finds them, and in whole values."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sparsync.experiments.planners.collaborations.butterfly_shares import (
    exchange_seconds,
    hagenbach_bischoff,
    least_seconds,
    water_filling,
)
from sparsync.experiments.planners.collaborations.links import Link, level_shares, whole_parts
from sparsync.theory.statements import STATEMENTS

BANDWIDTHS = st.lists(st.one_of(st.just(0.0), st.floats(0.01, 100)), min_size=2, max_size=8).filter(any)
ROUNDING = 1e-12
"""Of some tens of additions, relative."""


def least_by_program(bandwidths: Sequence[float]) -> float:
    """Shares and the largest time as variables, by HiGHS."""
    count = len(bandwidths)
    rows = [
        [(count - 2.0) * (place == other) for other in range(count)] + [-own]
        for place, own in enumerate(bandwidths)
        if own
    ]
    bounds = [(0.0, None if own else 0.0) for own in bandwidths]
    found = linprog(
        np.array([0.0] * count + [1.0]),
        A_ub=np.array(rows),
        b_ub=-np.ones(len(rows)),
        A_eq=np.array([[1.0] * count + [0.0]]),
        b_eq=np.ones(1),
        bounds=[*bounds, (0.0, None)],
        method="highs",
    )
    assert found.status == 0, found.message
    return float(found.fun)


def link(bandwidth: float, peers: int) -> Link:
    """That of a peer with this bandwidth; that of a client takes no time."""
    line = (1 / bandwidth, (peers - 2) / bandwidth) if bandwidth else (0.0, 0.0)
    return Link(line, line, bandwidth > 0)


@given(BANDWIDTHS)
def test_filled_shares_sum_to_one_and_take_the_closed_form(bandwidths: list[float]) -> None:
    shares = water_filling(bandwidths)
    assert math.isclose(sum(shares), 1, rel_tol=ROUNDING)
    assert all(share == 0 for own, share in zip(bandwidths, shares, strict=True) if not own)
    assert math.isclose(exchange_seconds(bandwidths, shares), least_seconds(bandwidths), rel_tol=ROUNDING)
    levelled = level_shares([link(own, len(bandwidths)) for own in bandwidths])
    assert math.isclose(exchange_seconds(bandwidths, levelled), least_seconds(bandwidths), rel_tol=ROUNDING)


def test_filled_shares_are_as_good_as_the_linear_program_says() -> None:
    numbers = random.Random(3)
    for _ in range(40):
        bandwidths = [numbers.choice([0.0, 1.0, numbers.uniform(0.1, 9)]) for _ in range(numbers.randint(2, 7))]
        if any(bandwidths):
            # The solver's tolerance.
            assert math.isclose(least_seconds(bandwidths), least_by_program(bandwidths), rel_tol=1e-6)


@given(BANDWIDTHS)
def test_filled_shares_are_never_worse_than_equal_ones_or_any_server(bandwidths: list[float]) -> None:
    averaging = [place for place, own in enumerate(bandwidths) if own]
    equal = [1 / len(averaging) * (own > 0) for own in bandwidths]
    servers = [[float(place == server) for place in range(len(bandwidths))] for server in averaging]
    least = exchange_seconds(bandwidths, water_filling(bandwidths))
    assert all(least <= exchange_seconds(bandwidths, shares) * (1 + ROUNDING) for shares in [equal, *servers])


@given(BANDWIDTHS)
def test_the_closed_form_is_that_of_the_statement(bandwidths: list[float]) -> None:
    exact = [Fraction(own) for own in bandwidths if own]
    stated = STATEMENTS["butterfly_time"].fraction(
        n=len(bandwidths), averager_count=len(exact), total_bandwidth=sum(exact), least_bandwidth=min(exact)
    )
    assert math.isclose(least_seconds(bandwidths), stated, rel_tol=ROUNDING)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_equal_peers_cost_a_ring(count: int) -> None:
    assert water_filling([4.0] * count) == pytest.approx([1 / count] * count, rel=ROUNDING)
    assert least_seconds([4.0] * count) == pytest.approx(2 * (count - 1) / count / 4, rel=ROUNDING)


def test_one_much_faster_peer_is_a_parameter_server() -> None:
    assert water_filling([1.0, 1.0, 1000.0, 1.0]) == [0.0, 0.0, 1.0, 0.0]
    # The others send and receive one vector each.
    assert least_seconds([1.0, 1.0, 1000.0, 1.0]) == 1.0


def test_a_peer_alone_exchanges_nothing() -> None:
    assert water_filling([3.0]) == [1.0]
    assert exchange_seconds([3.0], [1.0]) == least_seconds([3.0]) == 0.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=4).filter(any), st.integers(0, 8))
def test_hagenbach_bischoff_levels_parts_over_shares(weights: list[int], total: int) -> None:
    shares = [float(weight) for weight in weights]
    parts = hagenbach_bischoff(shares, total)
    assert sum(parts) == total

    def largest(found: Sequence[int]) -> Fraction | float:
        if any(part and not weight for part, weight in zip(found, weights, strict=True)):
            return math.inf
        return max(Fraction(part, weight or 1) for part, weight in zip(found, weights, strict=True))

    others = itertools.product(range(total + 1), repeat=len(weights))
    assert largest(parts) == min(largest(other) for other in others if sum(other) == total)


def test_whole_values_by_hagenbach_bischoff_are_near_to_the_best_ones() -> None:
    """Never better than the exact split, within the statement's excess, and sometimes worse."""
    numbers = random.Random(4)
    worse = 0
    for _ in range(60):
        bandwidths = [float(numbers.randint(6, 12)) for _ in range(numbers.randint(3, 6))]
        length = numbers.randint(1, 40)
        shares, count = water_filling(bandwidths), len(bandwidths)
        if min(shares) == 0:
            continue
        greedy = whole_parts([link(own, count) for own in bandwidths], length)
        by_rule = hagenbach_bischoff(shares, length)
        exact, near = (
            length * exchange_seconds(bandwidths, [part / length for part in parts]) for parts in (greedy, by_rule)
        )
        bound = STATEMENTS["hagenbach_time"].evaluate(
            n=count,
            averager_count=count,
            total_bandwidth=sum(bandwidths),
            largest_bandwidth=max(bandwidths),
            d=length,
        )
        assert exact <= near * (1 + ROUNDING)
        assert near <= bound * (1 + ROUNDING)
        worse += near > exact * (1 + 1e-9)
    assert worse > 5


def test_bad_bandwidths_shares_and_totals_are_refused() -> None:
    for function in (water_filling, least_seconds):
        with pytest.raises(ValueError, match=r"not all 0, got \[0.0, 0.0\]"):
            function([0.0, 0.0])
        with pytest.raises(ValueError, match=r"got \[1.0, -1.0\]"):
            function([1.0, -1.0])
        with pytest.raises(ValueError, match=r"got \[1.0, inf\]"):
            function([1.0, math.inf])
    for shares, said in (([0.5, -0.5], r"0.5, -0.5"), ([math.inf, 1.0], "inf, 1.0"), ([math.nan], "nan"), ([], "")):
        with pytest.raises(ValueError, match=rf"shares must be finite, at least 0, and not all 0, got \[{said}\]"):
            hagenbach_bischoff(shares, 3)
    with pytest.raises(ValueError, match="total must be at least 0, got -1"):
        hagenbach_bischoff([1.0], -1)
