"""Laws in chunks by hand, in order, and to first order."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS

LAWS = ("uniform", "laplace", "gaussian")


def test_the_smaller_of_two_squares_by_hand() -> None:
    assert STATEMENTS["uniform_chunks"].fraction(k=1, chunk_size=2) == Fraction(1, 4)
    # The smaller of two exponential variables has the mean square 1/2, of 4 in all.
    assert STATEMENTS["laplace_chunks"].fraction(k=1, chunk_size=2) == Fraction(1, 8)
    assert STATEMENTS["gaussian_chunks"].evaluate(k=1, chunk_size=2) == pytest.approx(0.5 - 1 / math.pi, abs=1e-16)


@pytest.mark.parametrize("law", LAWS)
def test_chunks_leave_more_than_the_whole_vector_and_less_the_longer_they_are(law: str) -> None:
    whole = STATEMENTS[f"{law}_law"].evaluate(kappa=Fraction(1, 8))
    left = [STATEMENTS[f"{law}_chunks"].evaluate(k=size // 8, chunk_size=size) for size in (8, 16, 32)]
    assert left == sorted(left, reverse=True)
    worst = STATEMENTS["chunk_law_excess"].evaluate(k=1, chunk_size=8)
    assert whole < left[-1] < left[0] < whole + worst


@pytest.mark.parametrize("law", LAWS)
def test_a_chunk_that_sends_all_leaves_nothing(law: str) -> None:
    assert STATEMENTS[f"{law}_chunks"].evaluate(k=3, chunk_size=3) == 0


def test_chunks_of_4096_cost_gaussian_entries_two_ten_thousandths() -> None:
    density = Fraction(41, 4096)
    cost = STATEMENTS["gaussian_chunks"].evaluate(k=41, chunk_size=4096) - STATEMENTS["gaussian_law"].evaluate(
        kappa=density
    )
    assert 0 < cost < 4e-4


def test_coins_cost_the_most_of_all_laws_by_hand() -> None:
    # Two entries, each 1 with probability 1/2: both are with probability 1/4, and then one of them is left.
    assert STATEMENTS["chunk_law_excess"].fraction(k=1, chunk_size=2) == Fraction(1, 4)


def test_two_levels_lose_one_per_cent_of_what_one_per_cent_of_laplace_entries_hold() -> None:
    assert STATEMENTS["two_bit_laplace"].evaluate(kappa=Fraction(1, 100)) == pytest.approx(0.0122, abs=1e-4)
    assert STATEMENTS["two_bit_gaussian"].evaluate(kappa=Fraction(1, 100)) == pytest.approx(0.0037, abs=1e-4)
    assert STATEMENTS["two_bit_uniform"].fraction(kappa=1) == Fraction(1, 16)


@pytest.mark.parametrize("law", LAWS)
def test_two_levels_lose_less_the_fewer_are_selected(law: str) -> None:
    lost = [STATEMENTS[f"two_bit_{law}"].evaluate(kappa=share) for share in (1, 0.5, 0.1, 0.01)]
    assert lost == sorted(lost, reverse=True)
