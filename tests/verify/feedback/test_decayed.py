"""The evidence for decayed memories: runs by hand, what is drawn, what is refused, and wrong statements."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback import decay_floors, decayed, decayed_descent, local_steps
from sparsync.verify.feedback.runs import decayed_runs
from sparsync.verify.feedback.runs.decayed_runs import LocalRun, Resting
from sparsync.verify.tools.outcome import Profile

ONE, ZERO = Fraction(1), Fraction(0)
HALF = Fraction(1, 2)
TINY = Profile(dimensions=(2, 4), examples_count=30)
PLAIN = ((ONE, ZERO), (ONE, (ONE, ZERO)))


def test_the_decayed_residual_and_what_is_forgotten_by_hand() -> None:
    # a = β = 1/2: e_1 = 1/2, e_2 = (1/4 + 1)/2 = 5/8, and half of e_1 is forgotten.
    path, forgotten = decayed.decayed_path(HALF, HALF, ONE, [PLAIN] * 2)
    assert path == [(HALF, ZERO), (Fraction(5, 8), ZERO)]
    assert forgotten == (Fraction(1, 4), ZERO)


def test_a_gradient_longer_than_allowed_is_refused() -> None:
    with pytest.raises(ValueError, match="squares of at most 1/4"):
        decayed.decayed_margin("decayed_residual", HALF, HALF, ONE, [PLAIN], Fraction(1, 4))


def test_two_rounds_of_local_steps_by_hand() -> None:
    # L = 1, η = 1, H = 2 from x = 1: y = 1/2, 1/4, so Δ = 3/4; half is kept back, and decays by half.
    run = LocalRun(HALF, HALF, ONE, 2, ONE, ONE, [ZERO], [[ONE], [ONE]])
    x = 1 - Fraction(3, 8)
    assert run.history == ([ONE, x**2], [ONE, x**2])
    assert run.change(x, ZERO) == (x * Fraction(3, 4), x**2)


def test_a_resting_run_rests() -> None:
    run = Resting(root=HALF, slope=Fraction(3), step=ONE, smoothness=ONE, update_count=5)
    assert run.smallest_energy == Fraction(9, 4)
    assert run.dissimilarity == Fraction(27, 4)


def test_an_assumption_of_another_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right = STATEMENTS["decayed_residual"]
    other = Given("kept_back", "x", "≤", sympy.Symbol("delta", positive=True) ** 2)
    assumptions = tuple(
        other if isinstance(made, Given) and made.name == "kept_back" else made for made in right.assumptions
    )
    monkeypatch.setitem(STATEMENTS, "decayed_residual", replace(right, assumptions=assumptions))
    with pytest.raises(ValueError, match="kept_back"):
        decayed_runs.scale("decayed_residual", "kept_back")


def test_one_worker_s_moments_are_an_enumeration_of_its_noise() -> None:
    root, decay, step = HALF, Fraction(3, 4), Fraction(1, 3)
    run = decayed_descent.DecayedRun(root, decay, step, ONE, Fraction(2), [ZERO], [([-ONE], ONE)] * 3)
    states = [(Fraction(2), ZERO)]
    energies = []
    for _ in range(3):
        energies.append(sum((x**2 for x, _ in states), ZERO) / len(states))
        states = [
            (x - (1 + root) * u, -root * u)
            for x, e in states
            for u in (decay * e + step * (x + 1), decay * e + step * (x - 1))
        ]
    assert run.smallest_energy() == min(energies)


def test_top_k_never_sends_a_small_slope_under_a_decay_and_does_without_one() -> None:
    slope = Fraction(1, 20)
    start = [ZERO, 2 * slope]
    still = decay_floors.top_k_run(1, Fraction(9, 10), ONE, HALF, start, ONE)
    moving = decay_floors.top_k_run(1, ONE, ONE, HALF, start, ONE)
    assert still[-1] == start
    assert moving[-1] != start


def test_the_rate_is_attained_at_both_ends_of_the_decay() -> None:
    for run in (local_steps._saturated_run(), local_steps._resting_run()):
        assert 0 <= local_steps.rate_margin(run) < Fraction(1, 64)


def test_a_rate_without_the_floor_is_refuted_by_a_resting_run(monkeypatch: pytest.MonkeyPatch) -> None:
    right = STATEMENTS[local_steps.RATE]
    decay = sympy.Symbol("residual_decay", nonnegative=True)
    wrong = sympy.Le(right.relation.lhs, right.bound.subs(decay, 1) + 0 * decay, evaluate=False)
    monkeypatch.setitem(STATEMENTS, local_steps.RATE, replace(right, relation=wrong))
    assert local_steps.rate_margin(local_steps._resting_run()) < 0


def test_settled_ratios_by_hand() -> None:
    # Levels 1 and 3/2 at β = 1/2: the kept 1 of 1 + 9/4, for ever.
    assert decayed.settled_ratios(1, 2, HALF) == {Fraction(4, 13)}


@pytest.mark.parametrize("label", decayed.CHECKS)
def test_every_grade_is_earned(label: str) -> None:
    assert all(check(TINY).earned for check in decayed.CHECKS[label].values())


@pytest.mark.parametrize("label", decay_floors.CHECKS)
def test_every_grade_of_the_floors_is_earned(label: str) -> None:
    assert all(check(TINY).earned for check in decay_floors.CHECKS[label].values())
