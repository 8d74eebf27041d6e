"""Switches: in which order and when, as the policy takes them, and what a link and stale workers change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.experiments.planners.switch_point import Link, Question, plan
from sparsync.experiments.policies.sync_switch import SyncSwitch
from sparsync.theory.statements import STATEMENTS

UPDATES = 40
FALLING = Question(
    step_sizes=tuple(2.0 * 0.95**update for update in range(UPDATES)),
    curvatures=(1.0,) * UPDATES,
    worker_seconds=(1.0, 1.0, 1.0, 2.0),
)
"""Of four workers, one of which is slow: 2 seconds at a barrier, 4/3.5 without one."""
LIMIT = 4 * STATEMENTS["delayed_descent_limit"].evaluate(delay=3)


def choice_of(found: Plan) -> dict[str, Any]:
    return dict(found.choice)


def test_falling_steps_switch_to_asynchronous_once_they_stay_below_the_limit() -> None:
    found = plan(FALLING)
    first = next(update for update, step in enumerate(FALLING.step_sizes) if step < LIMIT)
    assert choice_of(found)["order"] == "synchronous_first"
    assert choice_of(found)["switch_update"] == first > 0
    assert found.objective == pytest.approx(2 * first + (UPDATES - first) * 4 / 3.5, rel=1e-14)
    assert found.binding == ("stability: 0.445042 at a delay of 3 reports",)


def test_a_late_rise_of_the_curvature_moves_the_switch_behind_it() -> None:
    risen = replace(FALLING, curvatures=(1.0,) * 30 + (5.0,) + (1.0,) * 9)
    assert choice_of(plan(risen))["switch_update"] == 31


def test_rising_steps_are_asynchronous_first() -> None:
    rising = replace(FALLING, step_sizes=FALLING.step_sizes[::-1])
    found = plan(rising)
    assert choice_of(found)["order"] == "asynchronous_first"
    assert choice_of(found)["switch_update"] == UPDATES - choice_of(plan(FALLING))["switch_update"]
    assert found.objective == pytest.approx(plan(FALLING).objective, rel=1e-14)


def test_the_policy_takes_the_choice_and_runs_as_many_rounds() -> None:
    choice = choice_of(plan(FALLING))
    policy = SyncSwitch(
        bsp_fraction=choice["bsp_fraction"],
        total_steps=choice["total_steps"],
        asynchronous_step_scale=choice["asynchronous_step_scale"],
    )
    assert round(policy.bsp_fraction * policy.total_steps) == choice["switch_update"]


def test_a_switch_that_costs_more_than_it_saves_is_left_out() -> None:
    free = plan(FALLING)
    saved = 2 * UPDATES - free.objective
    assert plan(replace(FALLING, restart_seconds=0.99 * saved)).choice == free.choice
    found = plan(replace(FALLING, restart_seconds=1.01 * saved))
    assert choice_of(found)["switch_update"] == UPDATES
    assert found.parts["restart"] == 0


def test_a_sparser_report_makes_a_switch_worth_it_where_the_server_is_short_of_bandwidth() -> None:
    link = Link(dimension=10**6, bandwidth=1e9, server_bandwidth=6e7)
    dense, sparse = (plan(replace(FALLING, link=replace(link, density=density))) for density in (1.0, 0.01))
    assert choice_of(dense)["switch_update"] == UPDATES
    assert any("nothing is to be gained" in remark for remark in dense.remarks)
    assert 0 < choice_of(sparse)["switch_update"] < UPDATES
    assert any("below density 1 it is not proved" in remark for remark in sparse.remarks)


def test_what_runs_have_found_about_accuracy_keeps_more_updates_synchronous() -> None:
    found = plan(replace(FALLING, least_fraction=0.5))
    assert choice_of(found)["switch_update"] == 20
    assert found.binding == ("least_fraction: 0.5 of the updates",)


def test_reports_that_are_later_than_those_of_equal_workers_are_remarked() -> None:
    # While the slow worker computes, the others report 2 · 3 times: its own is the seventh.
    late = next(remark for remark in plan(FALLING).remarks if "slowest worker" in remark)
    assert "6 others late" in late
    assert choice_of(plan(replace(FALLING, delay=6)))["switch_update"] > choice_of(plan(FALLING))["switch_update"]
    assert not any("slowest worker" in remark for remark in plan(replace(FALLING, delay=6)).remarks)


def test_equal_workers_with_free_exchanges_gain_nothing_by_a_switch() -> None:
    found = plan(replace(FALLING, worker_seconds=(1.0,) * 4))
    assert found.objective == UPDATES
    assert found.binding == ()


def test_a_target_that_no_safe_run_meets_is_named() -> None:
    with pytest.raises(InfeasibleError, match="target_seconds allows 40, and the quickest safe run takes 48"):
        plan(replace(FALLING, target_seconds=40.0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step_sizes": ()}, "0 updates"),
        ({"curvatures": (1.0,)}, "got 1"),
        ({"curvatures": (-1.0,) * UPDATES}, "curvatures.*-1.0"),
        ({"step_sizes": (float("nan"),) * UPDATES}, "step_sizes.*nan"),
        ({"worker_seconds": ()}, r"\(\)"),
        ({"worker_seconds": (0.0,)}, "0.0"),
        ({"asynchronous_step_scale": 0.0}, "0.0"),
        ({"delay": -1}, "-1"),
        ({"least_fraction": 1.5}, "1.5"),
        ({"restart_seconds": -2.0}, "restart_seconds.*-2.0"),
        ({"target_seconds": -3.0}, "target_seconds.*-3.0"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(FALLING, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimension": 0}, "dimension"),
        ({"density": 0.0}, "density.*0.0"),
        ({"hidden_seconds": -1.0}, "hidden_seconds.*-1.0"),
        ({"server_bandwidth": 0.0}, "server_bandwidth.*0.0"),
    ],
)
def test_a_link_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(Link(10, 1e9), **change)
