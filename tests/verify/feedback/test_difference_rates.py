"""The evidence for EF21: the compressor that hides the gradient, moments by enumeration, and the library's own runs."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.feedbacks.econtrol import EControl
from sparsync.experiments.feedbacks.ef21 import Ef21
from sparsync.experiments.feedbacks.ef21_sgdm import Ef21Sgdm
from sparsync.kernels.selection import SELECTORS
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback import averaged_rates, controlled, difference_rates
from sparsync.verify.feedback.runs import difference_runs, linear_moments
from sparsync.verify.feedback.runs import difference_simulations as simulations
from sparsync.verify.tools.smt import z3_status

ONE, ZERO, HALF = Fraction(1), Fraction(0), Fraction(1, 2)
ENTRIES = st.integers(-6, 6).map(lambda numerator: Fraction(numerator, 2))


@given(st.tuples(ENTRIES, ENTRIES, ENTRIES), st.sampled_from([Fraction(1, 32), HALF, Fraction(4, 5), ONE]))
def test_the_compressor_that_hides_the_gradient_contracts_every_vector(
    vector: tuple[Fraction, Fraction, Fraction], delta: Fraction
) -> None:
    sent = difference_runs.hiding(vector, delta=delta)
    lost = sum(((entry - part) ** 2 for entry, part in zip(vector, sent, strict=True)), ZERO)
    assert lost <= (1 - delta) * sum((entry**2 for entry in vector), ZERO)


@pytest.mark.parametrize("step", [Fraction(1, 1000), ONE, Fraction(100)])
@pytest.mark.parametrize("worker_count", [1, 5])
def test_no_step_size_and_no_number_of_workers_moves_the_run_on_the_floor(step: Fraction, worker_count: int) -> None:
    signs = [[(-1) ** (place + worker) for worker in range(worker_count)] for place in range(7)]
    run = difference_runs.FloorRun(Fraction(1, 8), ONE, step, Fraction(2), signs)
    assert set(run.gradient_energies()) == {STATEMENTS["ef21_floor"].fraction(delta=run.delta, variance=1)}


def test_momentum_leaves_the_floor_and_ef21_does_not() -> None:
    energies = [
        simulations.floor_energies(delta=0.28, step=0.01, averaging=weight, update_count=2000, worker_count=2)
        for weight in (1.0, 0.05)
    ]
    floor = STATEMENTS["ef21_floor"].evaluate(delta=0.28, variance=1)
    assert min(energies[0]) == pytest.approx(floor, rel=1e-12)
    assert min(energies[1]) < floor / 1000


@pytest.mark.parametrize("step", [Fraction(1, 1000), ONE, Fraction(100)])
def test_top_1_itself_never_sends_a_gradient_below_the_noise(step: Fraction) -> None:
    # f = x_2²/2, noise ±1 on the first coordinate at every other step: its entry of g − h has the size 1 at each.
    signs = numpy.random.default_rng(1).choice([-1, 1], size=50)
    x, estimate = [ZERO, Fraction(63, 64)], [ZERO, ZERO]
    for place, sign in enumerate(signs):
        gradient = [Fraction(int(sign) * ((place + 1) % 2)), x[1]]
        lacking = [g - h for g, h in zip(gradient, estimate, strict=True)]
        largest = max((0, 1), key=lambda axis: abs(lacking[axis]))
        estimate[largest] = gradient[largest]
        x = [at - step * h for at, h in zip(x, estimate, strict=True)]
    # δ = 1/2: nearly σ₀², a third of the sharp floor.
    assert (
        x[1] ** 2
        == Fraction(63, 64) ** 2
        > Fraction(32, 100) * STATEMENTS["ef21_floor"].fraction(delta=HALF, variance=1)
    )


def test_moments_equal_an_enumeration_of_the_noise() -> None:
    actions = [((ONE, -ONE), ONE), ((-ONE, HALF), ONE), ((ONE, ONE), ONE)]
    case = linear_moments.LinearCase(HALF, Fraction(1, 3), Fraction(2), Fraction(3), (ONE, -ONE), actions)
    states = [(Fraction(3), ZERO, ZERO)]
    energies = []
    for shares, _ in actions:
        energies.append(4 * sum((x**2 for x, _, _ in states), ZERO) / len(states))
        states = [
            (x - (one + other) / 6, one, other)
            for x, first, second in states
            for one in (HALF * shares[0] * first + (1 - HALF * shares[0]) * (2 * x + 1 + sign) for sign in (-1, 1))
            for other in (HALF * shares[1] * second + (1 - HALF * shares[1]) * (2 * x - 1 + sign) for sign in (-1, 1))
        ]
    found = case.moments(difference_runs.difference_update, 4)
    assert linear_moments.gradient_energies(case, found) == energies


def test_ef21_with_momentum_one_is_ef21_one_update_later() -> None:
    actions = [((HALF,), ONE), ((-ONE,), ONE), ((ONE,), ONE)]
    case = linear_moments.LinearCase(HALF, Fraction(1, 3), ONE, ONE, (ZERO,), actions, weight=ONE)
    averaged = case.moments(difference_runs.averaged_update, 4)
    plain = case.moments(difference_runs.difference_update, 3)
    # At first h = 0, and x does not move; from then on x is one update behind.
    assert [moments[1][1] for moments in averaged[1:]] == [moments[1][1] for moments in plain[:-1]]


def _given(gradient: simulations.Rows, _x: simulations.Rows) -> simulations.Rows:
    return gradient


LIBRARY: dict[str, tuple[Any, Callable[[int, float], simulations.Method]]] = {
    "ef21": (Ef21(), simulations.difference_method),
    "econtrol": (EControl(0.25), lambda count, step: controlled.controlled_method(count, step, 0.25)),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_the_simulated_method_is_the_library_s(name: str) -> None:
    feedback, method = LIBRARY[name]
    generator = numpy.random.default_rng(2)
    gradients = generator.standard_normal((5, 1, 1, 6))
    x, memory = numpy.zeros((1, 6)), numpy.zeros((2, 1, 1, 6))
    theirs, state = torch.zeros(6, dtype=torch.float64), feedback.memory(6, dtype=torch.float64, device="cpu")
    for gradient in gradients:
        x, memory = method(2, 0.5)(x, memory, partial(_given, gradient))
        corrected = feedback.correct(state, torch.from_numpy(gradient[0, 0]), 0.5)
        payload = SELECTORS["top_k"](corrected, 2)
        feedback.settle(state, corrected, payload)
        theirs = theirs - 0.5 * feedback.deliver(state, payload.dense())
    # Ten additions of numbers of size 10 are rounded in another order.
    numpy.testing.assert_allclose(x[0], theirs.numpy(), rtol=0, atol=1e-13)


def test_the_library_s_momentum_is_the_stated_one_with_an_update_before_it() -> None:
    feedback, method = Ef21Sgdm(0.25), simulations.averaged_method(2, 0.5, 0.25)
    gradients = numpy.random.default_rng(3).standard_normal((5, 1, 1, 6))
    x, memory = numpy.zeros((1, 6)), numpy.zeros((2, 1, 1, 6))
    theirs, state = torch.zeros(6, dtype=torch.float64), feedback.memory(6, dtype=torch.float64, device="cpu")
    for gradient in gradients:
        x, memory = method(x, memory, partial(_given, gradient))
        numpy.testing.assert_allclose(x[0], theirs.numpy(), rtol=0, atol=1e-13)
        corrected = feedback.correct(state, torch.from_numpy(gradient[0, 0]), 0.5)
        payload = SELECTORS["top_k"](corrected, 2)
        feedback.settle(state, corrected, payload)
        theirs = theirs - 0.5 * feedback.deliver(state, payload.dense())


@pytest.mark.parametrize("place", [0, 1])
def test_a_solver_finds_no_bias_larger_than_the_floor_and_needs_the_contraction(place: int) -> None:
    query = difference_rates.floor_queries()[place]
    assert z3_status(query.premises, query.conclusion) == "unsat"
    assert z3_status(query.premises[:-1], query.conclusion) == "sat"


def test_one_look_at_the_start_attains_the_rate_with_momentum() -> None:
    assert averaged_rates.exact_start_margin(Fraction(3)) == 0
