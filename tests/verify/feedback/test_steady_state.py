"""Exact runs and a simulation agree with the steady-state laws, and notice a law that is off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import d, k, kappa, ratio
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.steady_state import (
    CHECKS,
    drift_margin,
    drift_queries,
    equal_drift_margin,
    noise_margin,
    noise_queries,
    walk_moments,
)
from sparsync.verify.tools.outcome import Profile
from sparsync.verify.tools.smt import Query, decide

SMALL = Profile(dimensions=(4, 6), examples_count=30)
WRONG = {
    "steady_drift": (1 - kappa) * (2 - kappa) / ((1 + kappa) * (2 + kappa)),
    "steady_drift_equal": (1 - k / d) ** 3,
    "steady_noise": (1 - kappa) / (1 + 4 * kappa),
}


@pytest.mark.parametrize("label", CHECKS)
def test_every_check_notices_a_wrong_law(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = sympy.Le(ratio, WRONG[label], evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=wrong))
    assert [grade for grade, check in CHECKS[label].items() if check(SMALL).earned] == []


def test_unequal_rates_leave_room_and_extreme_ones_nearly_none() -> None:
    assert drift_margin([5, 5]) > drift_margin([1, 8]) > 0
    assert drift_margin([1, 200]) < Fraction(1, 100)


def test_equal_rates_attain_the_law_of_equal_magnitudes() -> None:
    cycle = 4
    room = drift_margin([cycle] * 3)
    bound = STATEMENTS["steady_drift"].exact(kappa=Fraction(1, cycle))
    assert bound - sympy.Rational(room.numerator, room.denominator) == STATEMENTS["steady_drift_equal"].exact(k=1, d=4)


def test_the_real_selector_reaches_the_levels() -> None:
    assert equal_drift_margin(3, 12) == 0


@pytest.mark.parametrize("threshold", range(1, 7))
def test_a_walk_leaves_once_in_n_squared_steps(threshold: int) -> None:
    rate, energy = walk_moments(threshold)
    assert rate == Fraction(1, threshold**2)
    assert energy == (1 + 5 * rate) / 6


def test_walks_of_different_scales_obey_one_law() -> None:
    assert noise_margin([1, 3, 6]) == 0


@pytest.mark.parametrize("query", [*drift_queries(), *noise_queries()], ids=lambda query: query.claim)
def test_two_solvers_prove_each_claim_and_refute_its_twin(query: Query) -> None:
    assert decide(query)
    assert not decide(replace(query, conclusion=query.false_twin))


def test_every_check_notices_a_sixteenth_and_none_a_weaker_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    right = STATEMENTS["steady_drift"]
    smaller, larger = (
        replace(right, relation=sympy.Le(ratio, right.bound * sympy.Rational(share, 16), evaluate=False))
        for share in (15, 17)
    )
    monkeypatch.setitem(STATEMENTS, "steady_drift", smaller)
    assert [grade for grade, check in CHECKS["steady_drift"].items() if check(SMALL).earned] == []
    monkeypatch.setitem(STATEMENTS, "steady_drift", larger)
    assert [grade for grade, check in CHECKS["steady_drift"].items() if not check(SMALL).earned] == []
