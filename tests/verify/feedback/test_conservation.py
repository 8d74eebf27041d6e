"""The evidence for error feedback: it is earned, and lost where a bound is wrong."""

from dataclasses import replace
from fractions import Fraction

import numpy
import pytest
import sympy
from hypothesis import find, settings

from sparsync.theory.language.symbols import T
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.feedback import (
    adversarial_runs,
    complexity,
    conservation,
    queries,
    rates,
    residual,
    simulations,
    worker_rates,
)
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.tools.outcome import EXACT_GRADES, Profile
from sparsync.verify.tools.smt import decide

TINY = Profile(dimensions=(2, 3, 5), examples_count=60)
ONE, ZERO = Fraction(1), Fraction(0)
PLAIN = ((ONE, ZERO), (ONE, (ONE, ZERO)))


def test_every_statement_has_another_grade_than_its_derivation() -> None:
    without_exact = {label for label in FAMILIES["Error feedback"] if not EXACT_GRADES & set(CHECKS[label])}
    assert without_exact == {"complexity_gaussian", "complexity_laplace"}


def test_a_rate_that_forgets_the_number_of_updates_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS["nonconvex_rate"]
    wrong = replace(statement, relation=sympy.Le(statement.relation.lhs, statement.bound.subs(T, T**2), evaluate=False))
    monkeypatch.setitem(STATEMENTS, "nonconvex_rate", wrong)
    assert not CHECKS["nonconvex_rate"]["smt"](TINY).earned


def test_the_sides_of_a_bound_by_hand() -> None:
    numerator, denominator = queries.bound_sides("residual_square", {})
    c, step, energy = (sympy.Symbol(name, real=True) for name in ("compression", "step_size", "second_moment"))
    assert sympy.expand(numerator - (c - 1) ** 2 * step**2 * energy) == 0
    assert denominator == 1


def test_the_saturated_run_of_weak_compression_by_hand() -> None:
    # a = 0: nothing is built, x alternates between ±ησ/2 = ±1 with L = 2/η, and f(x_0) − f* = σx_0 − σ²/(2L) = 1.
    run = adversarial_runs.SaturatedRun(root=ZERO, step=ONE, slope=Fraction(2), cycle_count=3)
    assert (run.building, run.start, run.smoothness, run.gap) == ((ZERO,), ONE, Fraction(2), ONE)
    assert run.slopes == (Fraction(2), Fraction(2))
    assert run.parameters(bounded="second moment")["T"] == 6


def test_the_residual_of_the_saturated_run_is_built_within_the_contraction() -> None:
    run = adversarial_runs.SaturatedRun(root=Fraction(7, 8), step=ONE, slope=ONE, cycle_count=2)
    shares = run.kept_shares(cycle_count=2)
    assert max(map(abs, shares)) <= Fraction(7, 8)
    # a/(1 − a) = 7, less what is rounded down: at most 1/(256(1 − a)) = 1/32.
    assert 7 - Fraction(1, 32) <= run.building[-1] < 7
    assert set(run.slopes) == {1}


def test_the_saturated_run_says_nothing_where_the_variance_is_bounded() -> None:
    run = adversarial_runs.SaturatedRun(root=Fraction(1, 2), step=ONE, slope=ONE, cycle_count=1)
    with pytest.raises(ValueError, match="asked for variance"):
        run.parameters(bounded="variance")


@pytest.mark.parametrize("root", [ZERO, Fraction(1, 2), Fraction(31, 32)])
def test_the_sharp_rate_is_attained_for_weak_and_strong_compression(root: Fraction) -> None:
    run = adversarial_runs.SaturatedRun(root=root, step=ONE, slope=ONE, cycle_count=10**6)
    assert 0 <= rates.root_margin(run) < Fraction(1, 100)


def test_a_cycle_that_is_not_closed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversarial_runs.SaturatedRun, "smoothness", Fraction(1, 8))
    with pytest.raises(ValueError, match="two updates lead from"):
        adversarial_runs.SaturatedRun(root=Fraction(1, 2), step=ONE, slope=ONE, cycle_count=1).smallest_energy()


def test_one_worker_of_many_is_the_linear_run() -> None:
    actions = [(Fraction(-1), ONE), (Fraction(1, 2), ZERO), (ONE, Fraction(1, 4)), (ZERO, ONE)]
    single = rates.LinearRun(Fraction(1, 2), Fraction(1, 3), Fraction(2), ONE, actions)
    worker = worker_rates.WorkerRun(
        Fraction(1, 2), Fraction(1, 3), Fraction(2), ONE, [ZERO], [([share], noise) for share, noise in actions]
    )
    assert worker.gradient_energies() == single.gradient_energies()


def test_the_moments_of_two_workers_equal_an_enumeration_of_their_noise() -> None:
    root, step, offsets = Fraction(1, 2), Fraction(1, 3), (Fraction(2), Fraction(-2))
    actions = [((ONE, -ONE), ONE), ((-ONE, Fraction(1, 2)), ONE), ((ONE, ONE), ONE)]
    states = [(Fraction(3), ZERO, ZERO)]
    energies = []
    for shares, _ in actions:
        energies.append(sum((x**2 for x, _, _ in states), ZERO) / len(states))
        states = [
            (
                x - ((1 - root * shares[0]) * one + (1 - root * shares[1]) * other) / 2,
                root * shares[0] * one,
                root * shares[1] * other,
            )
            for x, first, second in states
            for one in (first + step * (x + offsets[0] + sign) for sign in (-1, 1))
            for other in (second + step * (x + offsets[1] + sign) for sign in (-1, 1))
        ]
    run = worker_rates.WorkerRun(root, step, ONE, Fraction(3), offsets, actions)
    assert run.gradient_energies() == energies


def test_the_largest_step_of_the_best_weight_is_that_of_one_worker() -> None:
    # a = 1/2, L = 2: 2(1 − a)/(L(1 + a)) = 1/3 at ω = 1/(2a) = 1.
    assert worker_rates.largest_step(Fraction(1, 2), Fraction(2), ONE) == Fraction(1, 3)
    assert worker_rates.largest_step(Fraction(1, 2), Fraction(2), Fraction(2)) < Fraction(1, 3)


def test_a_claim_that_is_false_is_not_decided() -> None:
    (query,) = queries.lyapunov_queries()
    assert decide(query)
    assert not decide(replace(query, conclusion=query.false_twin))


def test_the_residual_of_a_scaling_compressor_by_hand() -> None:
    path = residual.residual_path(Fraction(1, 2), ONE, [(ONE, ZERO)] * 3, [PLAIN[1]] * 3)
    assert path == [(Fraction(1, 2), ZERO), (Fraction(3, 4), ZERO), (Fraction(7, 8), ZERO)]


def test_the_residual_of_all_or_nothing_by_hand() -> None:
    # δ = 3/4: E e_1² = 1/4; E e_2² = ¼(¼ + 2·¼ + 1) = 7/16.
    gradients = [(ONE, ZERO)] * 2
    assert residual.all_or_nothing_energy(Fraction(1, 2), ONE, gradients) == Fraction(7, 16)


def test_a_gradient_longer_than_allowed_is_refused() -> None:
    with pytest.raises(ValueError, match="squares of at most 1/4"):
        residual.residual_margin(Fraction(1, 2), ONE, [PLAIN], Fraction(1, 4), label="residual_bound")


def test_directions_have_length_one() -> None:
    assert {residual._square(residual._direction(parameter)) for parameter in range(-6, 7)} == {1}


def test_runs_of_full_length_in_one_direction_are_drawn() -> None:
    longest = residual.LARGEST_STEP_COUNT
    found = find(residual.planar_runs(ONE), lambda run: run == [PLAIN] * longest, settings=settings(database=None))
    assert len(found) == longest


def test_a_step_that_changes_once_moves_the_virtual_iterate_by_the_residual() -> None:
    steps = [Fraction(2), Fraction(2), ONE]
    # a = 1/2: e_2 = 3/4, drift 3/4, bound V²a²/(1 − a)² = 1.
    assert conservation.drift_margin(Fraction(1, 2), steps, [PLAIN] * 2, ONE) == 1 - Fraction(9, 16)


def test_the_memory_of_a_constant_step_does_not_drift() -> None:
    assert conservation.drift_margin(Fraction(1, 2), [ONE] * 4, [PLAIN] * 3, ONE) == 1


def test_the_average_of_local_top_one_sends_nothing_of_the_mean() -> None:
    workers = [[ONE, Fraction(9, 10)], [-ONE, Fraction(9, 10)]]
    error, energy, mean_energy = conservation.mean_error(workers, 1)
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


def test_rows_keep_their_largest_magnitudes() -> None:
    rows = numpy.array([[3.0, -4.0, 1.0], [0.5, 0.1, -0.2]])
    assert simulations.top_k_rows(rows, 2).tolist() == [[3.0, -4.0, 0.0], [0.5, 0.0, -0.2]]


@pytest.mark.parametrize("factor", [sympy.Rational(15, 16), sympy.Rational(17, 16)])
def test_a_crossover_where_the_rates_are_not_in_the_quotient_stated_is_noticed(
    factor: sympy.Rational, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = STATEMENTS["crossover_variance"]
    wrong = sympy.Eq(statement.relation.lhs, factor * statement.bound)
    monkeypatch.setitem(STATEMENTS, "crossover_variance", replace(statement, relation=wrong))
    assert complexity.constant_cost_margin(Fraction(1, 2), ONE, ONE, ONE, ONE) == -Fraction(1, 16)


def test_the_quotient_of_the_rates_at_the_crossover_by_hand() -> None:
    # a = 1/2, L = 1, √T* = 5/2: 1 − ηL/2 = 4/5 and 1 − 3η/2 = 2/5, so that noise alone has the quotient 3 = 2(1 + a).
    margin = complexity.constant_cost_margin(Fraction(1, 2), ONE, ZERO, ONE, ONE)
    assert margin == 0


def test_at_the_largest_stable_step_error_feedback_flips_its_sign() -> None:
    """(e, x) = (1, y) is mapped to −(1, y), with C(u) = 3u/2 and L = 2."""
    step = complexity.largest_stable_step(Fraction(1, 2), Fraction(2))
    assert step == Fraction(1, 3)
    # −(1 + 2y/3)/2 = −1 gives y = 3/2, and x⁺ = 3/2 − (3/2)(1 + 1) = −3/2.
    corrected = 1 + step * 2 * Fraction(3, 2)
    assert -corrected / 2 == -1
    assert Fraction(3, 2) - Fraction(3, 2) * corrected == -Fraction(3, 2)
