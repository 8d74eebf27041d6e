from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
import sympy

from sparsync.theory.language.symbols import gap_bound, horizon, longest_duration, n, staleness
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.staleness import (
    CHECKS,
    in_turns,
    leads_in_any_order,
    rate_margin,
    recursion,
    saving_queries,
    saving_traces,
    speed_up_margin,
    stationary_throughput,
    straggler_cases,
    straggling_share,
    throughput_deviation,
)
from sparsync.verify.synchronisation.event_simulation import bounded_staleness, run
from sparsync.verify.tools.outcome import Grade, Profile
from sparsync.verify.tools.properties import search_margin

SMALL = Profile(dimensions=(), examples_count=80)


def lost(label: str) -> set[Grade]:
    return {grade for grade, check in CHECKS[label].items() if not check(SMALL).earned}


@pytest.mark.parametrize(
    ("label", "wrong", "grades"),
    [
        ("ssp_gap", staleness, {"rational", "property"}),
        ("ssp_recursion", sympy.Min(n, staleness), {"smt", "rational", "property"}),
        pytest.param("ssp_recursion", n * (staleness + 1), {"rational"}, marks=pytest.mark.slow),
        ("persistent_straggler", 1 / longest_duration + gap_bound / (2 * horizon), {"property", "simulated"}),
        ("persistent_straggler", 1 / longest_duration + (gap_bound - 1) / horizon, {"property", "simulated"}),
        ("ssp_throughput", 2 * (2 * staleness + 1) / (2 * staleness + 2), {"rational", "simulated"}),
    ],
)
def test_a_wrong_bound_is_caught(
    label: str, wrong: sympy.Expr, grades: set[Grade], monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = STATEMENTS[label]
    relation = statement.relation.func(statement.relation.lhs, wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))
    assert lost(label) == grades


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("slack", [0, 1, 3])
def test_some_order_of_events_leads_to_every_lead_up_to_the_bound_and_none_beyond(workers: int, slack: int) -> None:
    assert leads_in_any_order(workers, slack) == set(range(slack + 2))


def test_one_worker_leads_nobody() -> None:
    assert leads_in_any_order(1, 2) == {0}


def test_rates_beside_a_straggler_come_near_the_bound() -> None:
    share = straggling_share(3, 4, Fraction(3, 2), Random(1))
    assert Fraction(99, 100) < share <= 1


@pytest.mark.parametrize(("workers", "slack", "expected"), [(3, 1, 2), (3, 2, 3), (2, 4, 2), (4, 0, 1)])
def test_slow_workers_in_turn_attain_the_speed_up(workers: int, slack: int, expected: int) -> None:
    durations = in_turns(workers, slack)
    barrier = run(durations, bounded_staleness(0)).makespan
    assert barrier / run(durations, bounded_staleness(slack)).makespan == expected
    assert speed_up_margin(slack, durations) == 0


def test_the_recursion_of_two_workers_by_hand() -> None:
    durations = [[Fraction(1), Fraction(1), Fraction(1)], [Fraction(4), Fraction(1), Fraction(1)]]
    assert [[int(time) for time in own] for own in recursion(durations, 0)] == [[1, 5, 6], [4, 5, 6]]
    assert [[int(time) for time in own] for own in recursion(durations, 1)] == [[1, 2, 5], [4, 5, 6]]


def test_the_solvers_are_asked_once_about_workers_that_differ_in_name() -> None:
    claims = [query.claim for query in saving_queries()]
    assert [claim for claim in claims if claim.startswith("2 workers, staleness 1")] == [
        "2 workers, staleness 1, slowest (0, 0)",
        "2 workers, staleness 1, slowest (0, 1)",
        "2 workers, staleness 1, slowest (0, 0, 0)",
        "2 workers, staleness 1, slowest (0, 0, 1)",
        "2 workers, staleness 1, slowest (0, 1, 0)",
        "2 workers, staleness 1, slowest (0, 1, 1)",
    ]
    # Partitions of three iterations among three workers: Bell's number 5.
    assert sum(claim.startswith("3 workers, staleness 2") for claim in claims) == 5


def test_a_trace_without_durations_takes_no_time() -> None:
    assert speed_up_margin(3, [[Fraction(0)] * 2] * 2) == 2


def test_searches_reach_the_bounds() -> None:
    rate = search_margin(rate_margin, straggler_cases(), max_examples=100)
    speed_up = search_margin(speed_up_margin, saving_traces(), max_examples=100)
    assert rate.smallest_margin == 0
    assert speed_up.smallest_margin == 0


def test_one_state_more_changes_the_exact_throughput() -> None:
    assert [stationary_throughput(slack) for slack in (0, 1)] == [Fraction(4, 3), Fraction(8, 5)]


def test_the_simulation_tells_two_stalenesses_apart() -> None:
    stated = STATEMENTS["ssp_throughput"].evaluate(staleness=2)
    assert abs(throughput_deviation(2, stated=stated)) < 4.5
    assert throughput_deviation(1, stated=stated) > 20
