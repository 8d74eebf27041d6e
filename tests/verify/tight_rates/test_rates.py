from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import L, delta, epsilon, lyapunov_factor, mu, tolerance
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tight_rates.certificates import SMOOTHNESS
from sparsync.verify.tight_rates.rates import CHECKS, METHODS, stated_step, steps_margin
from sparsync.verify.tight_rates.search import (
    Numbers,
    Pair,
    Turn,
    Worker,
    exact,
    feedback_21_margin,
    feedback_margin,
    gradient_change,
    sharp,
    step_margin,
)
from sparsync.verify.tools.outcome import Grade, Profile
from tests.support.slow_cases import slow_except

TINY = Profile(dimensions=(2,), examples_count=40)

RATIONAL = Numbers(root_epsilon=Fraction(1, 4), mu=SMOOTHNESS * Fraction(2, 7))
"""Where θ = 3/4."""
HALF = Numbers(root_epsilon=Fraction(1, 2), mu=Fraction(3, 10))


def restated(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = sympy.Eq(lyapunov_factor, bound)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=relation))


def squared(vector: Pair) -> Fraction:
    return vector[0] ** 2 + vector[1] ** 2


@pytest.mark.parametrize("label", CHECKS)
def test_every_statement_has_an_exact_check_and_a_search(label: str) -> None:
    assert {"smt", "property"} <= set(CHECKS[label])


@pytest.mark.parametrize("label", slow_except({"ef_tight_rate"}, METHODS))
@pytest.mark.parametrize("grade", ["smt", "rational", "numeric", "property"])
def test_a_slightly_smaller_rate_loses_the_grade(label: str, grade: Grade, monkeypatch: pytest.MonkeyPatch) -> None:
    restated(label, STATEMENTS[label].bound * sympy.Rational(999, 1000), monkeypatch)
    assert not CHECKS[label][grade](TINY).earned


@pytest.mark.parametrize("label", METHODS)
@pytest.mark.parametrize("grade", ["rational", "numeric", "property"])
def test_a_true_rate_that_is_not_sharp_loses_the_grade(
    label: str, grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    restated(label, STATEMENTS[label].bound + sympy.Rational(1, 1000), monkeypatch)
    assert not CHECKS[label][grade](TINY).earned


@pytest.mark.parametrize("factor", [Fraction(9, 10), Fraction(11, 10)])
@pytest.mark.parametrize("grade", ["smt", "numeric", "property"])
def test_another_step_size_loses_the_grades_of_the_best_one(
    grade: Grade, factor: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    restated("ef_tight_step", STATEMENTS["ef_tight_step"].bound * factor, monkeypatch)
    assert not CHECKS["ef_tight_step"][grade](TINY).earned


@pytest.mark.parametrize("grade", ["smt", "property"])
def test_a_constant_too_small_loses_the_grades_of_the_steps_to_a_tolerance(
    grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = (L + mu) / (2 * mu * delta) * sympy.log(1 / tolerance)
    restated("ef_small_delta", wrong, monkeypatch)
    assert not CHECKS["ef_small_delta"][grade](TINY).earned


def test_a_weaker_number_of_steps_is_still_true(monkeypatch: pytest.MonkeyPatch) -> None:
    restated("ef_small_delta", STATEMENTS["ef_small_delta"].bound * sympy.Rational(17, 16), monkeypatch)
    assert [grade for grade, check in CHECKS["ef_small_delta"].items() if not check(TINY).earned] == []


def test_a_case_that_attains_the_rate_leaves_room_on_neither_side() -> None:
    assert sharp(lambda room: room)(False, (Fraction(1, 9),)) == Fraction(1, 9)
    assert sharp(lambda room: room)(True, (Fraction(1, 9),)) == Fraction(-1, 9)


def test_the_steps_to_a_tolerance_are_nearly_needed_for_small_delta() -> None:
    assert 0 < steps_margin(Fraction(1, 1000), Fraction(1, 1000), 6) < 1e-3


@pytest.mark.parametrize("step_size", [Fraction(1, 10), Fraction(1, 4)])
def test_another_step_size_has_a_larger_trace(step_size: Fraction) -> None:
    assert step_margin(HALF, step_size) > 0
    assert step_margin(HALF, HALF.step_size) == 0


def test_a_turn_keeps_the_length() -> None:
    turn = Turn(Fraction(1, 2), reflected=True, length=Fraction(1))
    assert turn((Fraction(1), Fraction(0))) == (Fraction(3, 5), Fraction(4, 5))
    assert turn((Fraction(0), Fraction(1))) == (Fraction(4, 5), Fraction(-3, 5))
    assert squared(turn((Fraction(2), Fraction(3)))) == 13


@pytest.mark.parametrize("length", [Fraction(-1), Fraction(1, 3), Fraction(1)])
def test_gradients_satisfy_smoothness_and_convexity(length: Fraction) -> None:
    move = (Fraction(1), Fraction(2))
    change = gradient_change(HALF, move, Turn(Fraction(3, 4), reflected=False, length=length))
    lower = tuple(g - HALF.mu * x for g, x in zip(change, move, strict=True))
    upper = tuple(SMOOTHNESS * x - g for g, x in zip(change, move, strict=True))
    assert sum(a * b for a, b in zip(lower, upper, strict=True)) >= 0


@pytest.mark.parametrize("margin", [feedback_margin, lambda numbers, _, workers: feedback_21_margin(numbers, workers)])
def test_a_compressor_worse_than_stated_breaks_the_rate(margin: Callable[..., Fraction]) -> None:
    flip = Turn(Fraction(0), reflected=False, length=Fraction(-1))
    fair = Worker(flip, flip, memory=(Fraction(1, 3), Fraction(0)), gradient=(Fraction(1), Fraction(0)))
    unfair = replace(fair, response=replace(flip, length=Fraction(-8)))
    position = (Fraction(1), Fraction(0))
    assert margin(RATIONAL, position, [fair]) >= 0
    assert margin(RATIONAL, position, [unfair]) < 0


def test_the_rate_at_the_rational_point_is_exact() -> None:
    assert exact("ef_tight_rate", RATIONAL) == Fraction(9, 16)


def test_compressed_descent_may_move_away_from_the_minimiser() -> None:
    s, step_size = HALF.root_epsilon, 2 / (HALF.mu / 2 + Fraction(3, 2) * SMOOTHNESS)
    position = (Fraction(1), Fraction(0))
    gradient = gradient_change(HALF, position, Turn(Fraction(-5, 4), reflected=False, length=Fraction(1)))
    kept = Turn(Fraction(-1), reflected=False, length=s)(gradient)
    end = tuple(x - step_size * (g + w) for x, g, w in zip(position, gradient, kept, strict=True))
    assert squared(kept) <= s**2 * squared(gradient)
    assert end[0] ** 2 + end[1] ** 2 > Fraction(6, 5)


def test_compressed_descent_may_lengthen_the_gradient() -> None:
    s, step_size = HALF.root_epsilon, 2 / (HALF.mu / 2 + Fraction(3, 2) * SMOOTHNESS)
    gradient = (Fraction(1), Fraction(0))
    kept = Turn(Fraction(-1), reflected=False, length=s)(gradient)
    move = (-step_size * (gradient[0] + kept[0]), -step_size * (gradient[1] + kept[1]))
    change = gradient_change(HALF, move, Turn(Fraction(-5, 4), reflected=False, length=Fraction(1)))
    assert squared((gradient[0] + change[0], gradient[1] + change[1])) > Fraction(6, 5)


def test_the_step_of_compressed_descent_is_its_own() -> None:
    numbers = {"mu": 0.5, "smoothness": 1.0, "epsilon": 0.25}
    assert stated_step("compressed_descent_rate", numbers) == 2 / (0.25 + 1.5)
    assert stated_step("ef_tight_rate", numbers) == STATEMENTS["ef_tight_step"].evaluate(**numbers)


def test_the_bounds_are_read_in_the_stated_symbols() -> None:
    assert STATEMENTS["ef_tight_rate"].bound.free_symbols == {L, mu, epsilon}
