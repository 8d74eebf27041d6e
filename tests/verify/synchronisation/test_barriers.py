from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import eta, mean_duration, message_size
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.ledger.mutation import killing_grades, wrong_bound
from sparsync.verify.synchronisation.barriers import (
    expected_order_statistic,
    iteration_times,
    wait_deviation,
    waiting_share_of,
)
from sparsync.verify.synchronisation.elastic_barriers import (
    capped,
    capped_runs,
    closest,
    largest_lead,
    lead_margin,
    swept_range,
)
from sparsync.verify.synchronisation.event_simulation import run
from sparsync.verify.synchronisation.look_ahead import meeting_margin, meeting_range
from sparsync.verify.synchronisation.mixing import (
    averaged,
    disagreement_margin,
    mean_margin,
    mean_queries,
    spread,
    training_cases,
)
from sparsync.verify.synchronisation.mutants import MUTANTS
from sparsync.verify.synchronisation.perturbations import mean_iterates, perturbation_margin, steady_run
from sparsync.verify.synchronisation.sampling_barriers import drawn_chance, lag_margin, share_without_laggard
from sparsync.verify.tools.outcome import Grade, Profile
from sparsync.verify.tools.properties import search_margin
from sparsync.verify.tools.smt import decide

SMALL = Profile(dimensions=(), examples_count=40)


def test_all_statements_but_one_have_an_error_that_a_person_makes() -> None:
    without = set(FAMILIES["Synchronisation"]) - {mutant.label for mutant in MUTANTS.values()}
    assert without == {"zipline_sweep"}


@pytest.mark.parametrize(("factor", "lost"), [(sympy.Rational(15, 16), ()), (sympy.Rational(3, 4), ("numeric",))])
def test_the_worst_run_of_groups_notices_a_quarter_and_no_sixteenth(
    factor: sympy.Rational, lost: tuple[Grade, ...]
) -> None:
    assert killing_grades(wrong_bound("ds_sync_rate", "scaled", lambda bound: factor * bound, "numeric")) == lost


def test_a_bound_on_the_wait_that_nothing_attains_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    check, statement = CHECKS["zipline_two_workers"]["rational"], STATEMENTS["zipline_two_workers"]
    assert check(SMALL).earned
    relation = sympy.Le(statement.relation.lhs, statement.bound * sympy.Rational(5, 4), evaluate=False)
    monkeypatch.setitem(STATEMENTS, "zipline_two_workers", replace(statement, relation=relation))
    assert not check(SMALL).earned


def test_a_link_by_hand() -> None:
    # Two workers, ten bytes at two per unit of time: four of them pass while the next gradient is computed.
    times = iteration_times(Fraction(5), 2, Fraction(10), Fraction(4), Fraction(2))
    assert times == [11, 11, 11, 11]
    assert iteration_times(Fraction(1), 2, Fraction(10), Fraction(4), Fraction(2))[1:] == [10, 10, 10]


def test_the_second_of_two_exponential_times_by_hand() -> None:
    assert expected_order_statistic(2, 2) == Fraction(3, 2)
    assert expected_order_statistic(3, 2) == Fraction(5, 6)


def test_the_simulation_tells_awaited_workers_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(wait_deviation(8, 6)) < 4.5
    relation = sympy.Eq(STATEMENTS["backup_waiting"].relation.lhs, mean_duration * STATEMENTS["backup_waiting"].bound)
    monkeypatch.setitem(STATEMENTS, "backup_waiting", replace(STATEMENTS["backup_waiting"], relation=relation))
    assert abs(wait_deviation(8, 6)) > 100


def test_a_worker_that_commits_as_soon_as_it_may_by_hand() -> None:
    assert waiting_share_of(Fraction(3), Fraction(1), [Fraction(1)], Fraction(8)) == Fraction(1, 4)
    assert waiting_share_of(Fraction(3), Fraction(1), [Fraction(2)], Fraction(5)) == Fraction(1, 5)
    assert waiting_share_of(Fraction(3), Fraction(1), [Fraction(2)], Fraction(4)) == 0


def test_both_ways_to_sample_agree_with_a_count_by_hand() -> None:
    assert share_without_laggard(5, 2, 2) == drawn_chance(5, 2, 2) == Fraction(1, 6)


def test_lags_below_the_threshold_leave_room() -> None:
    low, high = [Fraction(1), Fraction(0), Fraction(0)], [Fraction(0), Fraction(0), Fraction(1)]
    margins = [lag_margin(law, Fraction(1, 2), 60, label="psp_lag_mean", power=1) for law in (low, high)]
    # Of the weight 2 one half lies at lag 0 instead of at 2.
    assert margins[0] - margins[1] == pytest.approx(1, abs=1e-15)
    assert 0 < margins[1] < Fraction(1, 10**15)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([[1, 4], [2, 6]], 1),
        ([[1, 10], [4, 11], [8, 30]], 3),
        ([[5], [1, 2, 9]], 3),
        # Without the last time of the first worker, the others are closer to each other.
        ([[1], [5, 6], [6, 7]], 5),
    ],
)
def test_the_sweep_by_hand(times: list[list[int]], expected: int) -> None:
    assert swept_range(times) == expected


def test_multiples_of_two_durations_by_hand() -> None:
    assert closest(Fraction(2), Fraction(3), 3) == 0
    assert closest(Fraction(2), Fraction(3), 2) == 1


def test_multiples_of_three_durations_by_hand() -> None:
    # 3 · 4, 4 · 3 and 2 · 6 meet; two iterations ahead 4, 3 and 6 are closest, as 4, 6 and 6.
    durations = [Fraction(4), Fraction(3), Fraction(6)]
    assert [meeting_range(durations, ahead) for ahead in (1, 2, 4)] == [3, 2, 0]


@pytest.mark.parametrize("ahead", [2, 5, 20])
def test_two_workers_attain_the_law_for_any_number(ahead: int) -> None:
    assert meeting_margin([Fraction(1), 1 + Fraction(1, ahead)], ahead) == 0


@pytest.mark.parametrize(("size", "expected"), [((2, 0, 0), 1), ((2, 1, 2), 4), ((3, 0, 2), 3)])
def test_some_schedule_attains_the_lead(size: tuple[int, int, int], expected: int) -> None:
    assert largest_lead(*size) == expected


def test_a_permission_that_never_comes_leaves_the_lower_staleness() -> None:
    durations = [[Fraction(1)] * 8, [Fraction(40)] * 8]
    assert max(run(durations, capped(2, 3, [False])).leads) == 3
    assert max(run(durations, capped(2, 3, [True])).leads) == 6


def test_searches_reach_the_bounds() -> None:
    assert search_margin(lead_margin, capped_runs(), max_examples=100).smallest_margin == 0
    assert search_margin(disagreement_margin, training_cases(), max_examples=60).smallest_margin == 0
    kept = perturbation_margin(*steady_run(Fraction(1, 2), 3, 2))
    assert 0 < kept < Fraction(1, 10**9)


def test_rows_then_columns_reach_the_mean_and_rows_alone_do_not() -> None:
    values = [Fraction(value) for value in (0, 4, 8, 20)]
    rows = averaged(values, (2, 2), by_rows=True)
    assert rows == [2, 2, 14, 14]
    assert averaged(rows, (2, 2), by_rows=False) == [8] * 4
    assert spread(values) == 56


def test_weights_that_favour_one_sender_move_the_mean() -> None:
    own = [(Fraction(0), Fraction(0), Fraction(1)), (Fraction(0), Fraction(0), Fraction(0))]
    assert mean_margin([((1, 0), 1)], Fraction(1), Fraction(1), own) == 0
    # Both read the first worker: columns no longer sum to 1.
    assert mean_margin([((0, 0), 1)], Fraction(1), Fraction(1), own) == -Fraction(1, 2)


def test_outcomes_of_random_ages_by_hand() -> None:
    # With ages 0 or "beyond" at the first step: x_1 = 1 − 2/3 with probability 1/2, else 1.
    assert mean_iterates(Fraction(1, 2))[:2] == [1, Fraction(2, 3)]


def test_a_sign_in_the_mean_is_refuted_by_both_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(map(decide, mean_queries()))
    statement = STATEMENTS["mixing_mean"]
    wrong = sympy.Eq(statement.relation.lhs, statement.bound.subs(eta, -eta))
    monkeypatch.setitem(STATEMENTS, "mixing_mean", replace(statement, relation=wrong))
    assert not any(map(decide, mean_queries()))


def test_messages_of_twice_the_size_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS["osp_time"]
    wrong = sympy.Eq(statement.relation.lhs, statement.bound.subs(message_size, 2 * message_size))
    monkeypatch.setitem(STATEMENTS, "osp_time", replace(statement, relation=wrong))
    assert not any(check(SMALL).earned for check in CHECKS["osp_time"].values())
