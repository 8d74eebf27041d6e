"""Exact runs agree with the energy balance and the lags, and every check notices a bound that is off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.late import coordinate_lag, lag, sending_periods
from sparsync.verify.tools.outcome import Check, Profile

SMALL = Profile(dimensions=(3, 4), examples_count=20)
MODULES = (lag, coordinate_lag, sending_periods)
CASES = [
    (label, grade, check)
    for module in MODULES
    for label, checks in module.CHECKS.items()
    for grade, check in checks.items()
]


@pytest.mark.parametrize(("label", "grade", "check"), CASES)
def test_every_check_earns_its_grade_and_notices_twice_the_bound_or_half(
    label: str, grade: str, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    del grade
    assert check(SMALL).earned
    right = STATEMENTS[label]
    is_lower = right.relation.rel_op == ">="
    wrong = type(right.relation)(right.relation.lhs, right.bound * (2 if is_lower else Fraction(1, 4)), evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(right, relation=wrong))
    assert not _earns(check)


def _earns(check: Check) -> bool:
    try:
        return check(SMALL).earned
    except ValueError:
        return False


def test_equal_entries_attain_the_least_lag_and_unequal_ones_do_not() -> None:
    assert lag.least_margin((1, 1, 1, 1), 1) == 0
    assert lag.least_margin((1, 2, 3, 5), 1) > 0
