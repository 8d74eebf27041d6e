"""Supersteps a second time: by hand, and where leads, windows and regrets come to their bounds."""

from fractions import Fraction

import pytest

from sparsync.verify.synchronisation import superstep_regret
from sparsync.verify.tools.properties import search_margin

ONE, TWO = [Fraction(1)], [Fraction(5, 2)]


def test_a_superstep_by_hand() -> None:
    # The slow one's first iteration ends at 5/2, when the fast one has ended two; then two more, and one.
    found = superstep_regret.superstep([ONE, TWO], 1, [2, 1])
    assert [list(map(float, own)) for own in found.ends] == [[1, 2, 3, 4], [2.5, 5]]
    assert found.largest_lead() == 3
    # The slow one starts its second iteration when the fast one has ended two; the fast one its third at a lead of 2.
    assert found.widest_window() == 2


def test_without_monitoring_a_superstep_is_its_plan() -> None:
    found = superstep_regret.superstep([ONE, TWO], 0, [3, 1])
    assert [len(own) for own in found.ends] == [3, 1]
    assert found.largest_lead() == 2


@pytest.mark.parametrize(("monitored", "ahead"), [(0, 2), (2, 3), (3, 5)])
def test_some_superstep_attains_lead_and_window(monitored: int, ahead: int) -> None:
    durations = [ONE, [ahead + Fraction(1, monitored + 2)]]
    assert superstep_regret.lead_margin(durations, monitored, ahead, [ahead, 1]) == 0
    assert superstep_regret.window_margin(durations, monitored, ahead, [ahead, 1]) == 0


def test_descent_in_the_order_of_arrival_by_hand() -> None:
    # Both start at 2, the first one then at 1 for it reads as its update arrives: |2| + |2| + |1|.
    regret = superstep_regret.descend_on_arrivals(
        [(0, 0), (1, 0), (0, 0)], start=Fraction(2), slopes=[Fraction(1)], updates_each=3
    )
    assert regret == 5
    newest = superstep_regret.descend_on_arrivals(
        [(0, 0), (1, 1), (0, 1)], start=Fraction(2), slopes=[Fraction(1)], updates_each=3
    )
    assert newest == 2 + 1 + 0


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_one_round_attains_the_regret_of_arrivals(workers: int) -> None:
    arrivals = [(worker, 0) for worker in range(workers)]
    assert superstep_regret.arrival_margin(workers, arrivals, Fraction(1), [Fraction(1)], workers) == 0


def test_searches_reach_the_bounds() -> None:
    cases = superstep_regret.superstep_cases(least_ahead=1)
    assert search_margin(superstep_regret.lead_margin, cases, max_examples=60).smallest_margin == 0
    arrivals = superstep_regret.arrival_cases()
    assert search_margin(superstep_regret.arrival_margin, arrivals, max_examples=60).smallest_margin == 0
