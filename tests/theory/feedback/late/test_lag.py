"""The lag of error feedback: values by hand, and how the bounds lie to each other."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS


def test_two_steps_are_done_by_hand() -> None:
    """g = 1 twice, sent at the second step: 4 = 1 + 1 + 2·(0 + 1) + 0 − 0."""
    found = STATEMENTS["feedback_energy"].exact(total_created=2, total_aligned=1, first_energy=0, last_energy=0)
    assert found == 4


def test_the_lag_of_a_cycle_of_two_steps_is_half_a_step() -> None:
    assert STATEMENTS["energy_lag"].exact(sent_energy=2, created_energy=1, persistent_energy=1) == Fraction(1, 2)


@pytest.mark.parametrize("density", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
@pytest.mark.parametrize("flatness", [Fraction(1), Fraction(1, 50)])
def test_the_two_bounds_of_a_persistent_gradient_are_half_a_step_apart(density: Fraction, flatness: Fraction) -> None:
    least, most = (
        STATEMENTS[label].exact(flatness=flatness, kappa=density)
        for label in ("persistent_lag_least", "persistent_lag_threshold")
    )
    assert most - least == Fraction(1, 2)


@pytest.mark.parametrize("name", ["flatness", "kappa"])
def test_shares_above_one_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        STATEMENTS["persistent_lag_least"].exact(**{"flatness": 1, "kappa": 1, name: Fraction(3, 2)})
