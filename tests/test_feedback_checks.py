"""The evidence for error feedback: it is earned, and lost where a bound is wrong."""

from dataclasses import replace
from fractions import Fraction

import numpy
import pytest
import sympy
from hypothesis import find, settings

from sparsync.theory import feedback
from sparsync.theory.statements import STATEMENTS
from sparsync.verify import complexity_checks, feedback_checks, feedback_rate_checks
from sparsync.verify.feedback_checks import CHECKS
from sparsync.verify.outcome import EXACT_GRADES, Grade, Profile
from sparsync.verify.smt import decide

TINY = Profile(dimensions=(2, 3, 5), examples_count=60)
ONE, ZERO = Fraction(1), Fraction(0)
PLAIN = ((ONE, ZERO), (ONE, (ONE, ZERO)))


@pytest.mark.parametrize(("label", "grade"), [(label, grade) for label in CHECKS for grade in CHECKS[label]])
def test_every_check_is_earned(label: str, grade: Grade) -> None:
    assert CHECKS[label][grade](TINY).earned


def test_every_statement_has_another_grade_than_its_derivation() -> None:
    assert set(CHECKS) == set(feedback.STATEMENTS)
    assert all(CHECKS.values())
    without_exact = {label for label in CHECKS if not EXACT_GRADES & set(CHECKS[label])}
    assert without_exact == {"complexity_gaussian", "complexity_laplace"}


@pytest.mark.parametrize(
    ("label", "grade", "factor"),
    [
        ("virtual_iterate", "property", Fraction(99, 100)),
        ("residual_bound", "property", Fraction(1, 2)),
        ("residual_bound", "numeric", Fraction(999, 1000)),
        ("residual_minkowski", "property", Fraction(999, 1000)),
        ("residual_minkowski", "numeric", Fraction(999, 1000)),
        ("step_outside", "property", Fraction(9, 10)),
        ("mean_of_local_top_k", "property", Fraction(99, 100)),
        ("mean_of_local_top_k", "rational", Fraction(99, 100)),
        ("nonconvex_rate", "property", Fraction(1, 8)),
        ("nonconvex_rate", "simulated", Fraction(1, 100)),
        ("nonconvex_rate_minkowski", "property", Fraction(1, 3)),
        ("nonconvex_rate_minkowski", "simulated", Fraction(1, 100)),
        ("stationary_gradient", "property", Fraction(999, 1000)),
        ("stationary_gradient", "numeric", Fraction(999, 1000)),
        ("descent_without_bounded_gradients", "property", Fraction(1, 3)),
        ("descent_without_bounded_gradients", "simulated", Fraction(1, 20)),
        ("complexity_classical", "rational", Fraction(999, 1000)),
        ("complexity_square", "rational", Fraction(999, 1000)),
        ("complexity_cubic", "rational", Fraction(999, 1000)),
        ("complexity_gaussian", "numeric", Fraction(999, 1000)),
        ("complexity_laplace", "numeric", Fraction(999, 1000)),
        ("residual_square", "property", Fraction(9, 10)),
        ("crossover", "property", Fraction(9, 10)),
    ],
)
def test_a_wrong_bound_loses_the_grade(
    label: str, grade: Grade, factor: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = STATEMENTS[label]
    wrong = statement.bound * sympy.Rational(factor.numerator, factor.denominator)
    relation = type(statement.relation)(statement.relation.lhs, wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))
    assert not CHECKS[label][grade](TINY).earned


def test_a_claim_that_is_false_is_not_decided() -> None:
    query = feedback_rate_checks.LYAPUNOV_QUERY
    assert decide(query)
    assert not decide(replace(query, conclusion=query.false_twin))


def test_the_residual_of_a_scaling_compressor_by_hand() -> None:
    path = feedback_checks.residual_path(Fraction(1, 2), ONE, [(ONE, ZERO)] * 3, [PLAIN[1]] * 3)
    assert path == [(Fraction(1, 2), ZERO), (Fraction(3, 4), ZERO), (Fraction(7, 8), ZERO)]


def test_the_residual_of_all_or_nothing_by_hand() -> None:
    # δ = 3/4: E e_1² = 1/4; E e_2² = ¼(¼ + 2·¼ + 1) = 7/16.
    gradients = [(ONE, ZERO)] * 2
    assert feedback_checks.all_or_nothing_energy(Fraction(1, 2), ONE, gradients) == Fraction(7, 16)


def test_a_gradient_longer_than_allowed_is_refused() -> None:
    with pytest.raises(ValueError, match="squares of at most 1/4"):
        feedback_checks.residual_margin(Fraction(1, 2), ONE, [PLAIN], Fraction(1, 4), label="residual_bound")


def test_directions_have_length_one() -> None:
    assert {feedback_checks._square(feedback_checks._direction(parameter)) for parameter in range(-6, 7)} == {1}


def test_runs_of_full_length_in_one_direction_are_drawn() -> None:
    longest = feedback_checks.LARGEST_STEP_COUNT
    found = find(
        feedback_checks.planar_runs(ONE), lambda run: run == [PLAIN] * longest, settings=settings(database=None)
    )
    assert len(found) == longest


def test_a_step_that_changes_once_moves_the_virtual_iterate_by_the_residual() -> None:
    steps = [Fraction(2), Fraction(2), ONE]
    # a = 1/2: e_2 = 3/4, drift 3/4, bound V²a²/(1 − a)² = 1.
    assert feedback_checks.drift_margin(Fraction(1, 2), steps, [PLAIN] * 2, ONE) == 1 - Fraction(9, 16)


def test_the_memory_of_a_constant_step_does_not_drift() -> None:
    assert feedback_checks.drift_margin(Fraction(1, 2), [ONE] * 4, [PLAIN] * 3, ONE) == 1


def test_the_average_of_local_top_one_sends_nothing_of_the_mean() -> None:
    workers = [[ONE, Fraction(9, 10)], [-ONE, Fraction(9, 10)]]
    error, energy, mean_energy = feedback_checks.mean_error(workers, 1)
    assert (error, energy, mean_energy) == (Fraction(81, 100), Fraction(81, 100), Fraction(181, 100))


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
        moments = feedback_rate_checks.moments_after(moments, kept=kept, step=step, smoothness=smoothness, noise=ONE)
    assert moments == expected


def test_half_the_noise_term_is_too_little() -> None:
    smallest, half = feedback_rate_checks.half_constant_run(feedback_rate_checks.HALF_RUN_COUNT)
    assert half < smallest
    # After few updates the start still dominates, and the smaller bound is not refuted.
    smallest, half = feedback_rate_checks.half_constant_run(10)
    assert half > smallest


def test_at_the_largest_step_error_feedback_does_not_converge() -> None:
    # a = 1/2, L = 1, η = 2(1 − a)/(1 + a) = 2/3, C(u) = (1 + a)u: x alternates between ±1/3 without end.
    x, residual, step, positions = ONE, ZERO, Fraction(2, 3), []
    for _ in range(60):
        corrected = residual + step * x
        x, residual = x - Fraction(3, 2) * corrected, -corrected / 2
        positions.append(x)
    assert [float(x) for x in positions[-2:]] == pytest.approx([-1 / 3, 1 / 3], rel=1e-12)


def test_rows_keep_their_largest_magnitudes() -> None:
    rows = numpy.array([[3.0, -4.0, 1.0], [0.5, 0.1, -0.2]])
    assert feedback_rate_checks.top_k_rows(rows, 2).tolist() == [[3.0, -4.0, 0.0], [0.5, 0.0, -0.2]]


@pytest.mark.parametrize("factor", [sympy.Rational(15, 16), sympy.Rational(17, 16)])
def test_a_crossover_that_is_not_at_half_the_stable_step_is_noticed(
    factor: sympy.Rational, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = STATEMENTS["crossover_variance"]
    wrong = sympy.Eq(statement.relation.lhs, factor * statement.bound)
    monkeypatch.setitem(STATEMENTS, "crossover_variance", replace(statement, relation=wrong))
    assert complexity_checks.constant_cost_margin(Fraction(1, 2), ONE, ONE, ONE, ONE) == -Fraction(1, 16)


def test_at_the_largest_stable_step_error_feedback_flips_its_sign() -> None:
    """(e, x) = (1, y) is mapped to −(1, y), with C(u) = 3u/2 and L = 2."""
    step = complexity_checks.largest_stable_step(Fraction(1, 2), Fraction(2))
    assert step == Fraction(1, 3)
    # −(1 + 2y/3)/2 = −1 gives y = 3/2, and x⁺ = 3/2 − (3/2)(1 + 1) = −3/2.
    corrected = 1 + step * 2 * Fraction(3, 2)
    assert -corrected / 2 == -1
    assert Fraction(3, 2) - Fraction(3, 2) * corrected == -Fraction(3, 2)
