"""The evidence for what is conserved: drift of the virtual iterate and means of Top-k, by hand."""

from fractions import Fraction

from sparsync.verify.feedback import conservation

ONE, ZERO = Fraction(1), Fraction(0)


PLAIN = ((ONE, ZERO), (ONE, (ONE, ZERO)))


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
