"""Losses of rounded values by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from sparsync.theory.contraction.two_bit import two_bit_steps
from sparsync.theory.language.symbols import value_count
from sparsync.theory.statements import STATEMENTS


def test_one_per_cent_sent_with_half_its_energy_lost_is_half_a_per_cent() -> None:
    stated = STATEMENTS["quantised_selection"].fraction(selected_ratio=Fraction(99, 100), value_error=Fraction(1, 2))
    assert stated == 1 - Fraction(1, 200)


def test_nothing_lost_or_nothing_left_is_the_other() -> None:
    statement = STATEMENTS["quantised_selection"]
    assert statement.fraction(selected_ratio=Fraction(1, 3), value_error=0) == Fraction(1, 3)
    assert statement.fraction(selected_ratio=0, value_error=Fraction(1, 3)) == Fraction(1, 3)


@pytest.mark.parametrize(
    ("count", "lost"),
    [(1, Fraction(1, 16384)), (2, Fraction(1, 8321)), (65, Fraction(1, 257)), (1024, Fraction(1023, 17407))],
)
def test_eight_bits_lose_six_per_cent_at_most(count: int, lost: Fraction) -> None:
    assert STATEMENTS["eight_bit_values"].fraction(value_count=count) == lost


def test_two_bits_may_lose_nearly_all_of_a_full_block() -> None:
    assert STATEMENTS["two_bit_values"].fraction(value_count=1024) == 1 - Fraction(8, 1030)
    assert 1 > STATEMENTS["two_bit_codec"].evaluate(value_count=1024) > 1 - 8 / 1030


def test_two_values_are_two_levels() -> None:
    assert STATEMENTS["two_bit_values"].fraction(value_count=2) == 0


def test_the_proof_of_two_levels_does_not_prove_a_little_more() -> None:
    too_good = (value_count - 2) / (value_count + 6) - sympy.Rational(1, 1000)
    assert not all(step.holds() for step in two_bit_steps(too_good))
