"""A grade of several checks is earned by all of them or by none."""

from __future__ import annotations

from sparsync.verify.laws.searches import all_earned
from sparsync.verify.tools.outcome import Outcome, Profile

TINY = Profile(dimensions=(2,), examples_count=20)


def test_one_check_that_fails_loses_the_grade_of_several() -> None:
    passing, failing = (lambda _profile, earned=earned: Outcome(earned, {str(earned): 1}) for earned in (True, False))
    assert all_earned(passing, passing)(TINY).earned
    assert not all_earned(passing, failing)(TINY).earned
    assert all_earned(passing, failing)(TINY).detail == {"True": 1, "False": 1}
