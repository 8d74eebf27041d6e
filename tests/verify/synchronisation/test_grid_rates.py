"""The worst runs on a grid: how near they come to the bounds."""

from fractions import Fraction

import pytest
import sympy

from sparsync.verify.ledger.mutation import killing_grades, wrong_bound
from sparsync.verify.synchronisation import grid_rates
from sparsync.verify.tools.outcome import Grade


def test_fibonacci_numbers_nearly_attain_the_golden_ratio() -> None:
    columns = [[scale * value for value in (Fraction(-1), Fraction(1))] for scale in grid_rates.FIBONACCI]
    spreads = sum(scale**2 for scale in grid_rates.FIBONACCI)
    margin = grid_rates.mean_disagreement_margin((1, 2), columns)
    assert 0 < margin < spreads * Fraction(1, 10**6)
    # The other way round less is left.
    assert grid_rates.mean_disagreement_margin((1, 2), columns[::-1]) > spreads / 10


def test_gradients_that_cancel_nearly_attain_the_rate() -> None:
    assert 0.8 < grid_rates.stuck_share(*grid_rates.STUCK_RUN) < 1


@pytest.mark.parametrize(("factor", "lost"), [(sympy.Rational(15, 16), ()), (sympy.Rational(3, 4), ("numeric",))])
def test_the_worst_run_of_groups_notices_a_quarter_and_no_sixteenth(
    factor: sympy.Rational, lost: tuple[Grade, ...]
) -> None:
    assert killing_grades(wrong_bound("ds_sync_rate", "scaled", lambda bound: factor * bound, "numeric")) == lost
