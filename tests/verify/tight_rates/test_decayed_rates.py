"""The evidence for the rates of a decaying memory: programmes, worst steps, and roots."""

from fractions import Fraction

import pytest

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tight_rates import decayed_rates
from sparsync.verify.tight_rates.search import Turn

ZERO, ONE = Fraction(0), Fraction(1)
STILL = Turn(ZERO, reflected=False, length=ONE)


@pytest.mark.parametrize("sign", [1, -1])
def test_both_worst_steps_attain_the_rate_exactly(sign: int) -> None:
    case = (Fraction(1, 2), Fraction(7, 8), Fraction(1, 2), (ZERO, ZERO), (ONE, ZERO), (ZERO, ZERO), STILL, sign)
    assert decayed_rates.step_margin(*case) == 0


def test_a_plain_step_is_faster() -> None:
    case = (Fraction(1, 2), Fraction(7, 8), Fraction(1, 2), (ZERO, ONE), (ONE, ONE), (ZERO, ZERO), STILL, 0)
    assert decayed_rates.step_margin(*case) > 0


def test_beyond_the_condition_of_the_proof_the_programme_finds_a_slower_step() -> None:
    numbers = decayed_rates._POINT
    rate, allowed = decayed_rates.worst_rate(0.05, 0.8, 0.26)
    assert rate - allowed > STATEMENTS["decayed_rate_floor"].evaluate(**numbers)


def test_a_larger_and_a_smaller_step_size_have_a_larger_root() -> None:
    for push in (Fraction(3, 4), Fraction(5, 4)):
        assert (
            decayed_rates.root_margin(Fraction(1, 2), Fraction(1, 5), Fraction(1, 2), push, label="decayed_rate_floor")
            > 0
        )


def test_at_the_balanced_step_size_the_lower_bound_is_the_largest_root() -> None:
    margin = decayed_rates.root_margin(Fraction(1, 2), Fraction(1, 5), ONE, ONE, label="decayed_rate_lower")
    assert margin == 0
