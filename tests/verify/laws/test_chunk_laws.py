"""Order statistics and coins by hand, and two levels of samples."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sparsync.verify.laws import chunk_costs, chunk_laws, two_bit_laws
from sparsync.verify.tools.outcome import Profile

SMALL = Profile(dimensions=(2, 3), examples_count=20)
FILES = (chunk_laws, chunk_costs, two_bit_laws)
SLOW = {("gaussian_chunks", "numeric"), ("gaussian_chunks", "simulated"), ("two_bit_gaussian", "simulated")}
CASES = [(label, grade) for file in FILES for label in file.CHECKS for grade in file.CHECKS[label]]


def test_exact_ratios_by_hand() -> None:
    assert chunk_laws.uniform_ratio(2, 1) == Fraction(1, 4)
    assert chunk_laws.laplace_ratio(2, 1) == Fraction(1, 8)
    assert chunk_laws.laplace_ratio(1, 1) == 0


def test_coins_by_hand() -> None:
    coin = (Fraction(1, 2), Fraction(1, 2))
    assert chunk_costs.chunk_ratio(coin, 2, 1) == Fraction(1, 4)
    assert chunk_costs.law_ratio(coin, Fraction(1, 2)) == 0
    assert chunk_costs.excess_margin(coin, 2, 1) == 0


def test_quadrature_sends_what_two_uniform_entries_send() -> None:
    assert float(chunk_laws.sent_by_quadrature("uniform_chunks", 2, 1)) == pytest.approx(0.75, abs=1e-12)


def test_two_levels_of_a_uniform_law_by_quadrature() -> None:
    with mpmath.workdps(20):
        assert float(two_bit_laws.integrated_loss("two_bit_uniform", Fraction(1))) == pytest.approx(1 / 16, abs=1e-15)


def test_rows_are_coded_on_their_own() -> None:
    rows = np.array([[1.0, 1.0, 3.0, 3.0], [0.0, 0.0, 2.0, 2.0]])
    assert two_bit_laws.two_level_losses(rows).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("label", "grade"),
    [pytest.param(*case, marks=pytest.mark.slow if case in SLOW else ()) for case in CASES],
)
def test_every_grade_is_earned(label: str, grade: str) -> None:
    (check,) = (file.CHECKS[label][grade] for file in FILES if label in file.CHECKS)
    assert check(SMALL).earned
