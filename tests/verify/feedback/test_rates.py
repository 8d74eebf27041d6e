"""The evidence for the rates of one worker: moments by enumeration, runs that attain them, wrong rates."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import T
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback import rates
from sparsync.verify.feedback.runs import adversarial_runs
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.tools.outcome import Profile

TINY = Profile(dimensions=(2, 3, 5), examples_count=60)


ONE, ZERO = Fraction(1), Fraction(0)


def test_a_rate_that_forgets_the_number_of_updates_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS["nonconvex_rate"]
    wrong = replace(statement, relation=sympy.Le(statement.relation.lhs, statement.bound.subs(T, T**2), evaluate=False))
    monkeypatch.setitem(STATEMENTS, "nonconvex_rate", wrong)
    assert not CHECKS["nonconvex_rate"]["smt"](TINY).earned


@pytest.mark.parametrize("root", [ZERO, Fraction(1, 2), Fraction(31, 32)])
def test_the_sharp_rate_is_attained_for_weak_and_strong_compression(root: Fraction) -> None:
    run = adversarial_runs.SaturatedRun(root=root, step=ONE, slope=ONE, cycle_count=10**6)
    assert 0 <= rates.root_margin(run) < Fraction(1, 100)


def test_moments_equal_an_enumeration_of_the_noise() -> None:
    kept, step, smoothness = Fraction(-1, 4), Fraction(1, 3), Fraction(2)
    states = [(Fraction(3, 2), ZERO)]
    for _ in range(4):
        states = [
            (x - (1 - kept) * (e + step * (smoothness * x + noise)), kept * (e + step * (smoothness * x + noise)))
            for x, e in states
            for noise in (-1, 1)
        ]
    expected = tuple(sum((x**p * e**q for x, e in states), ZERO) / len(states) for p, q in ((2, 0), (1, 1), (0, 2)))
    moments = (Fraction(9, 4), ZERO, ZERO)
    for _ in range(4):
        moments = rates.moments_after(moments, kept=kept, step=step, smoothness=smoothness, noise=ONE)
    assert moments == expected


def test_half_the_noise_term_is_too_little() -> None:
    energies, half = rates.half_constant_run(rates.HALF_RUN_COUNT)
    assert half < min(energies)
    # After few updates the start still dominates, and the smaller bound is not refuted.
    energies, half = rates.half_constant_run(10)
    assert half > min(energies)


def test_at_the_largest_step_error_feedback_does_not_converge() -> None:
    # a = 1/2, L = 1, η = 2(1 − a)/(1 + a) = 2/3, C(u) = (1 + a)u: x alternates between ±1/3 without end.
    x, residual, step, positions = ONE, ZERO, Fraction(2, 3), []
    for _ in range(60):
        corrected = residual + step * x
        x, residual = x - Fraction(3, 2) * corrected, -corrected / 2
        positions.append(x)
    assert [float(x) for x in positions[-2:]] == pytest.approx([-1 / 3, 1 / 3], rel=1e-12)
