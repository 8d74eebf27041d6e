"""Delay and residual together a second time: random ages by hand, and a run near the bound."""

from fractions import Fraction

from sparsync.verify.synchronisation.perturbations import mean_iterates, perturbation_margin, steady_run


def test_a_steady_run_nearly_reaches_the_distance() -> None:
    kept = perturbation_margin(*steady_run(Fraction(1, 2), 3, 2))
    assert 0 < kept < Fraction(1, 10**9)


def test_outcomes_of_random_ages_by_hand() -> None:
    # With ages 0 or "beyond" at the first step: x_1 = 1 − 2/3 with probability 1/2, else 1.
    assert mean_iterates(Fraction(1, 2))[:2] == [1, Fraction(2, 3)]
