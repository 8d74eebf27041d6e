import math
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy
from flint import fmpq

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.decaying_regret import (
    CHECKS,
    circling_share,
    pair_sum,
    run_margin,
    summed_share,
    worst_share,
)
from sparsync.verify.tools.outcome import Profile

SMALL = Profile(dimensions=(), examples_count=30)


def test_pairs_of_two_workers_by_hand() -> None:
    # s = 0: the first update is lacked by the second view. s = 1, two rounds: by two of the other's, and so on.
    steps = [1 / math.sqrt(number) for number in (1, 2, 3, 4)]
    halves = sum(steps) / 2
    assert float(pair_sum(2, 0, 1, fmpq(1))) == pytest.approx(sum(steps[:2]) / 2 + 1, rel=1e-14)
    assert float(pair_sum(2, 1, 2, fmpq(1))) == pytest.approx(halves + 2 * steps[0] + steps[1] + steps[2], rel=1e-14)


def test_summed_terms_by_hand() -> None:
    # s = 0, one round, σ = 1/2: steps 1/2 and 1/√8; only the second view lacks an update, the first.
    second = 1 / math.sqrt(8)
    terms = 1 / second + (0.5 + second) / 2 + 0.5
    assert summed_share("ssp_regret", 2, 0, 1, {"staleness": 0}) == pytest.approx(terms / (2 * math.sqrt(8)), rel=1e-14)


@pytest.mark.parametrize(("workers", "slack", "rounds"), [(1, 0, 60_000), (2, 1, 40_000)])
def test_a_long_run_along_a_circle_nearly_attains_the_bound(workers: int, slack: int, rounds: int) -> None:
    assert 0.99 < circling_share(workers, slack, rounds) < 1


def test_the_worst_case_of_one_update_is_the_diameter() -> None:
    share, tolerance = worst_share(1, 0, 1)
    assert share == pytest.approx(0.5, abs=1e-6 + tolerance)


def test_one_update_by_hand() -> None:
    # The loss x from √2 on: over the bound 2√2 that is a half.
    assert run_margin(1, 0, 1, Fraction(1), [Fraction(1)], label="ssp_regret") == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("label", "grades"), [("ssp_regret", {"smt", "numeric"}), ("ssp_regret_decaying", {"ball", "simulated"})]
)
def test_a_bound_that_is_a_little_smaller_is_caught(
    label: str, grades: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = STATEMENTS[label]
    relation = sympy.Le(statement.relation.lhs, statement.bound * sympy.Rational(63, 64), evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))
    assert {grade for grade, check in CHECKS[label].items() if not check(SMALL).earned} == grades
