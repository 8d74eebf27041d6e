"""Codes run on the vectors that they serve worst, and two levels by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.quantised import (
    CHECKS,
    codec_margin,
    codec_worst,
    eight_bit_margin,
    eight_bit_smallest,
    eight_bit_worst,
    lost_by_code,
    selection_margin,
    two_bit_margin,
    two_bit_worst,
    two_levels,
)
from sparsync.verify.tools.outcome import Profile

SMALL = Profile(dimensions=(2, 3), examples_count=40)


def test_two_levels_by_hand() -> None:
    # 1, 1/2 and 0 have the mean 1/2, which is not above itself: levels 1/4 and 1, and 1/16 twice lost of 5/4.
    assert two_levels((Fraction(1), Fraction(1, 2), Fraction(0))) == Fraction(1, 8) / Fraction(5, 4)
    assert two_levels((Fraction(3), Fraction(5))) == 0
    assert two_levels((Fraction(0),) * 3) == 0


@pytest.mark.parametrize("count", [4, 10, 100, 1024])
def test_the_worst_block_of_two_levels_comes_near_to_the_bound(count: int) -> None:
    assert 0 <= two_bit_margin(two_bit_worst(count)) < Fraction(1, 10**9)


@pytest.mark.parametrize("count", [2, 65, 66, 1024])
def test_the_worst_block_of_eight_bits_attains_the_bound(count: int) -> None:
    assert eight_bit_margin(eight_bit_worst(count)) == 0


def test_the_smallest_scale_attains_it_too_and_below_all_is_lost() -> None:
    assert eight_bit_margin(eight_bit_smallest(100)) == 0
    assert lost_by_code((2.0**-133,) * 5, "int8") == 1
    assert lost_by_code((2.0**-142,) * 5, "int2") == 1


def test_two_bits_lose_nearly_all_of_a_full_block_of_the_codec() -> None:
    values = codec_worst(1024)
    assert codec_margin(values) >= 0
    assert float(lost_by_code(values, "int2")) > 0.992


def test_equal_magnitudes_are_nearly_free() -> None:
    assert lost_by_code((1.3, -1.3) * 50, "int2") < Fraction(1, 2**28)
    assert lost_by_code((1.3, -1.3) * 50, "int8") <= Fraction(1, 16384)


def test_a_shortened_selection_attains_the_rule() -> None:
    assert selection_margin((Fraction(3), Fraction(1), Fraction(1)), 1, Fraction(1, 2)) == 0
    assert STATEMENTS["quantised_selection"].kind == "theorem"


@pytest.mark.parametrize(("label", "grade"), [(label, grade) for label in CHECKS for grade in CHECKS[label]])
def test_every_grade_is_earned(label: str, grade: str) -> None:
    assert CHECKS[label][grade](SMALL).earned  # type: ignore[index]
