import math
from dataclasses import replace
from fractions import Fraction

import numpy
import pytest
import sympy

from sparsync.theory.language.symbols import T, eta, lipschitz, n, radius, staleness
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.stale_regret import (
    CHECKS,
    View,
    descend,
    descent_margin,
    largest_round,
    misread_count,
    oldest_views,
    round_counts,
    run_views,
    window_margin,
    worst_regret,
)
from sparsync.verify.tools.outcome import Grade, Profile

SMALL = Profile(dimensions=(), examples_count=60)
LATE = 99
"""An age that makes every view as old as the rule permits."""


def lost(label: str) -> set[Grade]:
    return {grade for grade, check in CHECKS[label].items() if not check(SMALL).earned}


def state(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS[label]
    relation = statement.relation.func(statement.relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))


@pytest.mark.slow
def test_a_weaker_bound_loses_only_the_grade_that_says_it_is_attained(monkeypatch: pytest.MonkeyPatch) -> None:
    weaker = sympy.Rational(17, 16)
    for label in CHECKS:
        state(label, STATEMENTS[label].bound * weaker, monkeypatch)
    assert {label: lost(label) for label in CHECKS if lost(label)} == {"ssp_views": {"rational"}}


@pytest.mark.parametrize(
    ("label", "wrong", "grades"),
    [
        ("ssp_views", n * (n - 1) * staleness, {"rational", "property"}),
        pytest.param("ssp_views", n * (n - 1) * (staleness + 1), {"rational"}, marks=pytest.mark.slow),
        ("ssp_regret_fixed_step", radius**2 / eta + eta * lipschitz**2 * T / 2, {"smt", "property"}),
        (
            "ssp_regret_optimised",
            radius * lipschitz * sympy.sqrt(2 * (1 + staleness * (n - 1)) * T),
            {"smt", "numeric", "property"},
        ),
    ],
)
def test_a_wrong_bound_is_caught(
    label: str, wrong: sympy.Expr, grades: set[Grade], monkeypatch: pytest.MonkeyPatch
) -> None:
    state(label, wrong, monkeypatch)
    assert lost(label) == grades


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (((1, 1), (0, 0)), 0),
        (((1, 2), (0, 0)), 1),
        (((1, 2), (1, 0)), 0),
        (((3, 1), (2, 0)), 2),
        (((3, 1), (2, 4)), 2),
        (((3, 2), (4, 2)), 1),
    ],
)
def test_updates_misread_of_views_written_out(view: View, expected: int) -> None:
    assert misread_count(view) == expected


def test_a_slow_first_worker_makes_fresh_views_attain_the_count() -> None:
    # From the third round on, the first worker sees two iterations too many, the second lacks three.
    durations = [[Fraction(10)] * 6, [Fraction(1)] * 6]
    assert max(round_counts(run_views(2, durations, [0]))) == 5
    assert STATEMENTS["ssp_views"].evaluate(n=2, staleness=2) == 5


def test_the_oldest_views_of_a_run_are_those_written_out() -> None:
    durations = [[Fraction(1)] * 5 for _ in range(3)]
    assert sorted(run_views(2, durations, [LATE])) == oldest_views(3, 2, 5)
    assert round_counts(oldest_views(3, 2, 5)) == [3, 9, 15, 15, 15]


def test_all_views_of_a_round_are_tried() -> None:
    assert [largest_round(2, slack) for slack in range(4)] == [1, 3, 5, 7]


def test_descent_by_hand() -> None:
    # Two workers, s = 1, two rounds on one coordinate: 4, 4, then each lacks the other's first step.
    regret, half_square = descend(
        oldest_views(2, 1, 2), start=Fraction(4), step=Fraction(1), slopes=[Fraction(1)], rounds_each=2
    )
    assert regret == 4 + 4 + 3 + 3
    assert half_square == 8


@pytest.mark.parametrize("best_step", [False, True])
@pytest.mark.parametrize(("workers", "rounds"), [(1, 1), (2, 3), (3, 2)])
def test_with_a_barrier_rounds_on_their_own_coordinates_attain_the_bound(
    workers: int, rounds: int, best_step: bool
) -> None:
    durations = [[Fraction(1)] * rounds for _ in range(workers)]
    assert descent_margin(0, durations, [0], Fraction(1), [Fraction(1)], 1, best_step=best_step) == 0


@pytest.mark.parametrize(("workers", "rounds"), [(1, 4), (2, 2), (3, 1)])
def test_the_worst_case_with_a_barrier_is_the_bound(workers: int, rounds: int) -> None:
    updates = workers * rounds
    worst, tolerance = worst_regret(
        oldest_views(workers, 0, rounds), steps=[math.sqrt(2 / (workers * updates))] * updates, square_radius=1.0
    )
    assert tolerance < 1e-6
    assert worst == pytest.approx(math.sqrt(2 * workers * updates), abs=tolerance)


def test_the_worst_case_of_one_update_is_the_diameter_unless_the_step_is_the_best() -> None:
    # One update: the loss ℓ at distance √2 F, whatever the step.
    worst, tolerance = worst_regret(oldest_views(1, 0, 1), steps=[0.1], square_radius=1.0)
    assert worst == pytest.approx(math.sqrt(2), abs=tolerance)


@pytest.mark.parametrize(("workers", "slack"), [(2, 1), (3, 2)])
def test_gradients_that_turn_slowly_nearly_attain_the_bound(workers: int, slack: int) -> None:
    rounds = 150
    updates, factor = workers * rounds, 1 + (2 * slack + 1) * (workers - 1)
    step, share = math.sqrt(2 / (factor * updates)), factor / updates
    turned = 2 * math.pi * numpy.arange(updates) / updates
    turning = numpy.stack([numpy.cos(turned), numpy.sin(turned)]) * math.sqrt(1 - share)
    gradients = numpy.vstack([turning, numpy.full(updates, math.sqrt(share))]).T
    regret = 0.0
    for (k, worker), held in oldest_views(workers, slack, rounds):
        seen = [(m - 1) * workers + other for other, count in enumerate(held) for m in range(1, count + 1)]
        view = numpy.array([0.0, 0.0, math.sqrt(2)]) - step * gradients[seen].sum(axis=0)
        regret += float(gradients[(k - 1) * workers + worker - 1] @ view)
    bound = STATEMENTS["ssp_regret_optimised"].evaluate(n=workers, staleness=slack, T=updates, lipschitz=1, radius=1)
    assert 0.97 < regret / bound < 1


def test_a_window_that_costs_the_most_by_hand() -> None:
    # s = 1, gradients 1, 1 and −1, −1: the first views may hold what turns back, the later ones lack what agrees.
    wishes = [Fraction(1), Fraction(1), Fraction(-1), Fraction(-1)]
    # From 1: views 1 + 1, 1 + 1 in round 1; both read 0 in round 2, but for nothing that agrees.
    assert window_margin(2, 1, 2, Fraction(1), wishes) >= 0
    assert window_margin(2, 0, 1, Fraction(2), [Fraction(1)]) == 0
