"""Seconds to a tolerance: by hand, where they meet, and with a broken step."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.cost import run_seconds
from sparsync.theory.language.symbols import entry_gain, fixed_seconds, kappa, whole_steps
from sparsync.theory.statements import STATEMENTS


def test_seconds_by_hand() -> None:
    # c = 5, a = 4, b = 9: κ* = √(4/36) = 1/3, δ = 5/7, steps of 7 seconds.
    stated = STATEMENTS["best_density"].fraction(entry_gain=5, fixed_seconds=4, dense_seconds=9, whole_steps=10)
    assert stated == Fraction(10 * 7, 5) * 7
    saved = STATEMENTS["switch_saving"].fraction(
        synchronous_seconds=3, asynchronous_seconds=2, later_updates=10, restart_seconds=4
    )
    assert saved == 6


def test_at_the_largest_density_of_a_linear_gain_the_bound_is_that_of_plain_descent() -> None:
    numbers = {"fixed_seconds": 1, "dense_seconds": 2, "mu": 1, "smoothness": 3, "tolerance": 0.01}
    # ρ = ((L − μ)/(L + μ))² = 1/4 at κ = 1.
    expected = 3 * math.log(0.01) / math.log(0.25)
    assert STATEMENTS["linear_gain_seconds"].evaluate(entry_gain=1, **numbers) == pytest.approx(expected, rel=1e-14)


def test_the_best_density_meets_the_dense_step_where_it_is_one() -> None:
    stated = STATEMENTS["best_density"].fraction(entry_gain=5, fixed_seconds=16, dense_seconds=4, whole_steps=1)
    assert stated == 16 + 4


def test_a_link_that_is_too_fast_for_the_best_density_is_refused() -> None:
    with pytest.raises(ValueError, match="violated"):
        STATEMENTS["best_density"].fraction(entry_gain=5, fixed_seconds=17, dense_seconds=4, whole_steps=1)
    with pytest.raises(ValueError, match="violated"):
        STATEMENTS["best_density"].fraction(entry_gain=1, fixed_seconds=1, dense_seconds=4, whole_steps=1)
    with pytest.raises(ValueError, match="violated"):
        STATEMENTS["sparse_overtakes_ring"].evaluate(entry_gain=8, n=8)


def test_steady_states_have_the_contraction_that_is_assumed() -> None:
    for label, gain in (("steady_drift", 3), ("steady_noise", 6)):
        assumed = gain * kappa / (1 + (gain - 1) * kappa)
        assert sympy.simplify(1 - STATEMENTS[label].bound - assumed) == 0


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("linear_gain_seconds", "_per_gain", lambda density: density),
        ("best_density", "_best", lambda: sympy.sqrt(fixed_seconds / entry_gain)),
        ("best_density", "_seconds_at", lambda density: whole_steps * density),
        ("sparse_overtakes_ring", "_root_of_link", lambda: entry_gain),
        ("switch_saving", "_saved", lambda **_: sympy.Integer(0)),
    ],
)
def test_a_broken_step_leaves_a_claim_unproved(
    label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_seconds, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
