import math
from fractions import Fraction
from typing import Any

import pytest
import sympy

from sparsync.verify.worst_case_rates.exact_numbers import MethodError, Number, number, plain, text


def test_a_number_is_what_is_written_not_the_binary_one_beside_it() -> None:
    assert number(0.1, "x") == Fraction(1, 10)
    assert number("1/3", "x") == number(Fraction(1, 3), "x") == Fraction(1, 3)
    assert number("1e-3", "x") == Fraction(1, 1000)
    assert number(sympy.Rational(2, 7), "x") == Fraction(2, 7)
    assert number(math.sqrt(0.25), "x") == Fraction(1, 2)


@pytest.mark.parametrize("wrong", [True, None, "a tenth", "1/0", float("nan"), float("inf"), [1], 1j])
def test_what_is_no_number_is_named(wrong: object) -> None:
    with pytest.raises(MethodError, match="step_size must be a") as refused:
        number(wrong, "step_size")
    assert repr(wrong) in str(refused.value)


def test_sums_and_quotients_stay_exact_and_count_where_they_are_whole() -> None:
    third: Any = Number(1) / 3
    assert isinstance(third + third, Number)
    assert isinstance(-third, Number)
    assert list(range(third * 6)) == [0, 1]
    assert [7] * Number(2) == [7, 7]
    assert isinstance(third * 0.5, float)
    with pytest.raises(TypeError, match="1/3 is no whole number"):
        range(third)


def test_a_rational_reads_as_a_certificate_and_as_a_person_has_it() -> None:
    assert (text(Fraction(3)), text(Fraction(-1, 2))) == ("3/1", "-1/2")
    assert [plain(Fraction(value)) for value in ("3", "1/3", "0.123456")] == ["3", "1/3", "0.123456"]
