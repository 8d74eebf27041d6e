"""The evidence on convex functions: the linear run is that of the other files, and which runs come near."""

from dataclasses import replace
from fractions import Fraction

import pytest

from sparsync.verify.feedback import convex_rates, worker_rates
from sparsync.verify.feedback.runs import linear_moments
from sparsync.verify.feedback.runs.convex_simulations import excesses
from sparsync.verify.feedback.runs.simulations import DIMENSION

ONE, ZERO, HALF = Fraction(1), Fraction(0), Fraction(1, 2)


def test_the_linear_run_is_that_of_many_workers() -> None:
    actions = [((ONE, -ONE), ONE), ((-ONE, HALF), ZERO), ((ONE, ONE), ONE)]
    offsets = (Fraction(2), Fraction(-2))
    case = linear_moments.LinearCase(HALF, Fraction(1, 3), Fraction(2), Fraction(3), offsets, actions)
    older = worker_rates.WorkerRun(HALF, Fraction(1, 3), Fraction(2), Fraction(3), offsets, actions)
    found = case.moments(convex_rates.feedback_update, 4)
    assert linear_moments.gradient_energies(case, found) == older.gradient_energies()


@pytest.mark.parametrize("root", [Fraction(1, 8), HALF, Fraction(7, 8)])
def test_at_rest_the_worst_compressor_costs_what_sgd_costs_and_the_bound_allows_twice_that(root: Fraction) -> None:
    # C(u) = (1 + a)u at h = 1, ω = 1/a: at rest E f − f* = ησ₀²/2, and the bound is (1 + a) times it.
    step = (1 - root) / (1 + root)
    case = replace(
        linear_moments.single_case(step=step, smoothness=ONE, weight=1 / root),
        root=root,
        start=Fraction(1),
        actions=[([-ONE], ONE)] * 120,
    )
    value = case.moments(convex_rates.feedback_update, 3)[-1][1][1] / 2
    assert float(value / (step / 2)) == pytest.approx(1, rel=1e-2)


def test_simulated_runs_of_one_worker_begin_at_the_stated_distance() -> None:
    found, _ = excesses(
        lambda x: x, lambda x: (x**2).sum(axis=1) / 2, count=2, step=0.1, noise=0.0, update_count=3, worker_count=1
    )
    assert found[0, 0] == DIMENSION / 2 > found[2, 0]
