"""The evidence for the rates of many workers: moments by enumeration, and the run of one."""

from fractions import Fraction

from sparsync.verify.feedback import rates, worker_rates

ONE, ZERO = Fraction(1), Fraction(0)


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
