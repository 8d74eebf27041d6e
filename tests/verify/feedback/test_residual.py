"""The evidence for the bounds on a residual: runs by hand, what is drawn and what is refused."""

from fractions import Fraction

import pytest
from hypothesis import find, settings

from sparsync.verify.feedback import residual

ONE, ZERO = Fraction(1), Fraction(0)


PLAIN = ((ONE, ZERO), (ONE, (ONE, ZERO)))


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
