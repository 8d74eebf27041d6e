"""1/δ² as a function of the compression: hand-computed values, the order of the laws, and the two crossovers."""

import math

import mpmath
import pytest
import sympy

from sparsync.theory.feedback.complexity import _is_between
from sparsync.theory.language.symbols import compression
from sparsync.theory.statements import STATEMENTS

FAMILIES = ("classical", "square", "cubic", "gaussian", "laplace")


def inverse_square(family: str, ratio: float) -> float:
    return STATEMENTS[f"complexity_{family}"].evaluate(compression=ratio)


@pytest.mark.parametrize(
    ("family", "expected"),
    [("classical", 1.0e6), ("square", 2.5025e5), ("cubic", 1.1133e5), ("gaussian", 6.20e3), ("laplace", 990.8)],
)
def test_a_thousandth_sent_needs_these_numbers(family: str, expected: float) -> None:
    # The number of digits printed bounds the relative error by half a unit of the shortest, 6.20.
    assert inverse_square(family, 1000) == pytest.approx(expected, rel=0.005 / 6.2)


@pytest.mark.parametrize("family", FAMILIES)
def test_sending_everything_costs_nothing(family: str) -> None:
    assert inverse_square(family, 1) == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("ratio", [1.5, 2, 10, 100, 1e4, 1e6])
def test_narrower_classes_need_less(ratio: float) -> None:
    values = [inverse_square(family, ratio) for family in FAMILIES]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("ratio", [1, 1.25, 2, 7, 1000])
def test_the_power_laws_lie_between_their_polynomials(ratio: float) -> None:
    assert (ratio**2 + ratio) / 4 <= inverse_square("square", ratio) <= (ratio**2 + ratio + 2) / 4
    assert (ratio**2 + 2 * ratio) / 9 <= inverse_square("cubic", ratio) <= (ratio**2 + 2 * ratio + 6) / 9


def test_polynomials_too_close_are_not_accepted() -> None:
    value = compression**4 / (2 * compression - 1) ** 2
    assert _is_between(compression**2 / 4, value, (compression**2 + compression + 2) / 4) == sympy.true
    assert (
        _is_between(compression**2 / 4, value, (compression**2 + compression + sympy.Rational(1, 2)) / 4) == sympy.false
    )


@pytest.mark.parametrize("exponent", [16, 39, 50, 150])
def test_the_normal_law_keeps_its_digits_where_nothing_is_sent(exponent: int) -> None:
    """δ/κ is between z² + 1 and z² + 2 by Mills' ratio; the level is found from the tail itself, not from 1 − κ."""
    ratio = 10**exponent
    with mpmath.workdps(40):
        level = mpmath.findroot(
            lambda z: mpmath.log(mpmath.erfc(z / mpmath.sqrt(2)) * ratio), math.sqrt(4.6 * exponent)
        )
        share = mpmath.mpf(1) / ratio + mpmath.sqrt(2 / mpmath.pi) * level * mpmath.exp(-(level**2) / 2)
        assert level**2 + 1 < share * ratio < level**2 + 2
        assert inverse_square("gaussian", ratio) == pytest.approx(float(share**-2), rel=1e-14)


def test_two_sent_of_three_by_hand() -> None:
    # c = 3/2: δ = 2/3, 8/9 and 26/27.
    assert [inverse_square(family, 1.5) for family in FAMILIES[:3]] == pytest.approx([9 / 4, 81 / 64, 729 / 676])


def test_the_laplace_law_at_e_by_hand() -> None:
    assert inverse_square("laplace", math.e) == pytest.approx(4 * math.e**2 / 25, rel=1e-14)


def test_the_exponent_two_keeps_back_c_minus_one_steps() -> None:
    assert STATEMENTS["residual_square"].evaluate(compression=1000, step_size=0.5, second_moment=4) == 999**2
    assert STATEMENTS["residual_square"].evaluate(compression=1, step_size=0.5, second_moment=4) == 0


@pytest.mark.parametrize(
    ("label", "at_half", "slope"), [("crossover", 16 * 0.0625 / 0.75**4, 4), ("crossover_variance", 6.25, 2)]
)
def test_the_crossovers_grow_as_powers_of_the_inverse_factor(label: str, at_half: float, slope: int) -> None:
    assert STATEMENTS[label].evaluate(delta=0.75, smoothness=1) == pytest.approx(at_half, rel=1e-14)
    quotient = STATEMENTS[label].evaluate(delta=1e-6, smoothness=1) / STATEMENTS[label].evaluate(
        delta=1e-5, smoothness=1
    )
    assert math.log10(quotient) == pytest.approx(slope, abs=1e-4)


def test_the_crossover_for_the_exponent_two() -> None:
    delta = 1 - (1 - 1 / 8) ** 2
    assert STATEMENTS["crossover_variance"].evaluate(delta=delta, smoothness=3) == pytest.approx(
        9 * 29**2 / 4, rel=1e-14
    )


@pytest.mark.parametrize("ratio", [0.5, 0, -3])
def test_fewer_coordinates_than_are_sent_are_refused(ratio: float) -> None:
    with pytest.raises(ValueError, match="compression"):
        inverse_square("square", ratio)


def test_a_crossover_where_everything_is_sent_is_refused() -> None:
    with pytest.raises(ValueError, match="delta"):
        STATEMENTS["crossover_variance"].evaluate(delta=1, smoothness=1)
