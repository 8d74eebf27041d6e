from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.sampled_moments import LONGEST_POWER, SampledMoment
from sparsync.theory.language.symbols import noise_ratio, order, sample_share

DIGITS = 40


@pytest.mark.parametrize("power", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("share", [Fraction(1, 10**20), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize("noise", [sympy.Rational(7, 2), sympy.Integer(3)])
def test_the_moment_agrees_with_its_sum(power: int, share: Fraction, noise: sympy.Rational) -> None:
    moment = SampledMoment(power, sympy.Rational(share.numerator, share.denominator), noise)
    added = sympy.N(moment.rewrite(sympy.Sum).doit(), 2 * DIGITS)
    assert abs(sympy.N(moment, DIGITS) / added - 1) < sympy.Rational(1, 10 ** (DIGITS - 1))


def test_without_noise_to_speak_of_it_is_one_for_any_length() -> None:
    """The chances sum to 1."""
    moment = SampledMoment(LONGEST_POWER, sympy.Rational(1, 3), sympy.Integer(10**40))
    assert abs(sympy.N(moment, DIGITS) - 1) < sympy.Rational(1, 10**DIGITS)


def test_a_whole_sample_needs_no_sum() -> None:
    moment = SampledMoment(10**12, 1, 10**12)
    assert abs(sympy.N(moment, DIGITS) - sympy.N(sympy.exp(sympy.Rational(10**12 - 1, 2 * 10**12)), DIGITS)) < 10**-38


def test_more_terms_than_are_added_up_are_refused() -> None:
    with pytest.raises(ValueError, match=f"a sum of {LONGEST_POWER + 2} terms"):
        sympy.N(SampledMoment(LONGEST_POWER + 1, sympy.Rational(1, 2), 1))


def test_symbols_stay_symbols_and_print_as_the_sum() -> None:
    moment = SampledMoment(order, sample_share, noise_ratio)
    assert moment.evalf() == moment
    assert sympy.latex(moment).startswith(r"\sum_{j=0}^{order}")
    assert sympy.latex(moment**2).endswith("^{2}")
