"""Every planner finds the optimum: that of trying everything, and that of a program; more of a resource never hurts."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest

from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.experiments.planners.registry import PLANNERS
from tests.support.planning.registry import ORACLES

SMALL_COUNT, MEDIUM_COUNT, MORE_COUNT = 200, 20, 40
ROUNDING = 1e-12
"""A few thousand roundings of doubles, relative: sums of the same numbers in another order."""

every_planner = pytest.mark.parametrize("name", PLANNERS)


def planned(name: str, question: Any) -> Plan | None:
    """None where nothing can be done."""
    try:
        return PLANNERS[name](question)
    except InfeasibleError:
        return None


def require_optimum(name: str, question: Any, least: float | None, tolerance: float) -> None:
    found = planned(name, question)
    assert (found is None) == (least is None), f"{question}: {found} where the optimum is {least}"
    if found is not None and least is not None:
        # Near 0, which is exact here, what a solver finds is off by the rounding of numbers up to 1.
        near = math.isclose(found.objective, least, rel_tol=tolerance, abs_tol=ROUNDING)
        assert near, f"{question}: {found} instead of {least}"
        assert math.isclose(ORACLES[name].objective_of(question, found), found.objective, rel_tol=ROUNDING)


def test_every_planner_has_an_oracle() -> None:
    assert set(ORACLES) == set(PLANNERS)


@every_planner
def test_a_plan_is_as_good_as_the_best_of_everything(name: str) -> None:
    numbers = random.Random(1)
    outcomes = []
    for _ in range(SMALL_COUNT):
        question = ORACLES[name].small(numbers)
        least = ORACLES[name].brute(question)
        require_optimum(name, question, least, ROUNDING)
        outcomes.append(least is not None)
    assert sum(outcomes) >= SMALL_COUNT // 2


@every_planner
def test_a_plan_is_as_good_as_the_program_says(name: str) -> None:
    numbers = random.Random(2)
    for _ in range(MEDIUM_COUNT):
        question = ORACLES[name].medium(numbers)
        require_optimum(name, question, ORACLES[name].program(question), ORACLES[name].tolerance)


@every_planner
def test_more_of_a_resource_never_makes_a_plan_worse(name: str) -> None:
    numbers = random.Random(3)
    for _ in range(MORE_COUNT):
        question = ORACLES[name].small(numbers)
        less, more = planned(name, question), planned(name, ORACLES[name].more(question, numbers))
        if less is not None:
            assert more is not None
            assert more.objective <= less.objective * (1 + ROUNDING)


@every_planner
def test_a_plan_is_json_and_says_who_made_it(name: str) -> None:
    numbers = random.Random(4)
    found = None
    while found is None:
        found = planned(name, ORACLES[name].small(numbers))
    assert found.planner == name
    assert json.loads(json.dumps(dict(found.choice))) == dict(found.choice)
    assert all(math.isfinite(seconds) and seconds >= 0 for seconds in found.parts.values())
