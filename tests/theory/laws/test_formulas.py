"""What Top-k leaves of each law: known values, special cases, far tails, ends and domains."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
import sympy
from mpmath.libmp import NoConvergence

from sparsync.theory.language import quantiles
from sparsync.theory.language.quantiles import RegularisedBeta, StudentQuantile
from sparsync.theory.statements import STATEMENTS

LAWS: dict[str, tuple[dict[str, float], ...]] = {
    "gaussian_law": ({},),
    "laplace_law": ({},),
    "uniform_law": ({},),
    "student_t_law": ({"df": 2.5}, {"df": 4}, {"df": 30}),
    "generalised_gaussian_law": ({"beta": 0.5}, {"beta": 1.3}, {"beta": 10}),
    "gamma_law": ({"shape": 0.5}, {"shape": 3}, {"shape": 100}),
    "weibull_law": ({"shape": 0.5}, {"shape": 3}),
    "shifted_gaussian_law": ({"mean": 0.0}, {"mean": 2.5}, {"mean": 50}),
    "spike_mixture_law": ({"share": 0.01, "scale": 10}, {"share": 0.5, "scale": 0.25}),
}
CASES = [(label, numbers) for label, rows in LAWS.items() for numbers in rows]


def evaluate(label: str, density: float | Fraction, **numbers: float) -> float:
    return STATEMENTS[label].evaluate(kappa=density, **numbers)


@pytest.mark.parametrize(
    ("density", "gaussian", "laplace"),
    [(0.001, 0.98730, 0.96823), (0.01, 0.91551, 0.83791), (0.1, 0.56071, 0.40465), (0.5, 0.07133, 0.03331)],
)
def test_gaussian_and_laplace_ratios_are_the_known_ones(density: float, gaussian: float, laplace: float) -> None:
    assert round(evaluate("gaussian_law", density), 5) == gaussian
    assert round(evaluate("laplace_law", density), 5) == laplace


@pytest.mark.parametrize(
    ("density", "gaussian", "gamma"), [(1e-2, 8.45, 24.9), (1e-3, 12.70, 54.9), (1e-4, 17.03, 97.9)]
)
def test_gains_over_random_coordinates_are_the_known_ones(density: float, gaussian: float, gamma: float) -> None:
    assert round((1 - evaluate("gaussian_law", density)) / density, 2) == gaussian
    assert round((1 - evaluate("gamma_law", density, shape=0.5)) / density, 1) == gamma


@pytest.mark.parametrize("density", [1e-12, 0.001, 0.5, 0.9, 1 - 2**-53])
@pytest.mark.parametrize(
    ("label", "numbers", "other"),
    [
        ("generalised_gaussian_law", {"beta": 2}, "gaussian_law"),
        ("generalised_gaussian_law", {"beta": 1}, "laplace_law"),
        ("gamma_law", {"shape": 1}, "laplace_law"),
        ("weibull_law", {"shape": 1}, "laplace_law"),
        ("shifted_gaussian_law", {"mean": 0}, "gaussian_law"),
        ("spike_mixture_law", {"share": 0.3, "scale": 1}, "gaussian_law"),
        ("spike_mixture_law", {"share": 0, "scale": 7}, "gaussian_law"),
        ("spike_mixture_law", {"share": 1, "scale": 7}, "gaussian_law"),
    ],
)
def test_special_cases_agree_to_the_last_bit(label: str, numbers: dict[str, float], other: str, density: float) -> None:
    assert evaluate(label, density, **numbers) == evaluate(other, density)


@pytest.mark.parametrize("density", [1e-12, 0.001, 0.3, 0.9])
def test_student_with_four_degrees_is_a_cubed_sine(density: float) -> None:
    """8 sin³(arcsin(1 − κ)/3) in floats, whose arcsin loses half the digits near 1."""
    expected = 8 * math.sin(math.asin(1 - density) / 3) ** 3
    assert evaluate("student_t_law", density, df=4) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("df", "density"), [(2.0001, 1e-61), (2.01, 1e-62), (2.01, 1e-80)])
def test_the_far_tail_of_student_keeps_its_digits(df: float, density: float) -> None:
    """1 − y = ν/(ν + z²) is so small there that y is 1 to 40 digits, but not its power ν/2 − 1."""
    with mpmath.workdps(60):
        degrees, share = mpmath.mpf(str(df)), mpmath.mpf(str(density))

        def excess(log_rest: mpmath.mpf) -> mpmath.mpf:
            above = mpmath.betainc(degrees / 2, 0.5, 0, mpmath.exp(log_rest), regularized=True)
            return mpmath.log(above / share)

        near = 2 / degrees * mpmath.log(share * degrees / 2 * mpmath.beta(degrees / 2, 0.5))
        rest = mpmath.exp(mpmath.findroot(excess, near))
        expected = 1 - mpmath.betainc(degrees / 2 - 1, 1.5, 0, rest, regularized=True)
    assert evaluate("student_t_law", density, df=df) == float(expected) < 1


@pytest.mark.parametrize(
    ("df", "density"), [(10**6, 0.01), pytest.param(10**9, 1e-300, marks=pytest.mark.slow), (10**30, 1e-9)]
)
def test_student_with_many_degrees_agrees_with_quadrature(df: int, density: float) -> None:
    """The share sent, 1 − ε, from the density of Student's t; its digits are not lost beside 1."""
    level = StudentQuantile(df, sympy.Rational(density))
    sent = RegularisedBeta(sympy.Rational(df, 2) - 1, sympy.Rational(3, 2), df / (df + level**2))
    with mpmath.workdps(70):
        constant = 2 * mpmath.gamma(mpmath.mpf(df + 1) / 2) / mpmath.gamma(mpmath.mpf(df) / 2)

        def height(place: mpmath.mpf) -> mpmath.mpf:
            return -mpmath.mpf(df + 1) / 2 * mpmath.log1p(place**2 / df)

        def tail(start: mpmath.mpf, power: int) -> mpmath.mpf:
            places = [start + step / (start + 1) for step in (0, 1, 4, 12, 40, 120)]
            # Beside its first value, because the quadrature's tolerance is absolute.
            area = mpmath.quad(lambda place: place**power * mpmath.exp(height(place) - height(start)), places)
            return constant / mpmath.sqrt(df * mpmath.pi) * mpmath.exp(height(start)) * area

        start = mpmath.mpf(sympy.N(level, 60))
        assert abs(tail(start, 0) / mpmath.mpf(density) - 1) < mpmath.mpf(10) ** -40
        expected = mpmath.mpf(df - 2) / df * tail(start, 2)
        assert abs(mpmath.mpf(sympy.N(sent, 20)) / expected - 1) < mpmath.mpf(10) ** -16
        assert evaluate("student_t_law", density, df=df) == float(1 - expected)


def test_a_series_that_does_not_converge_is_an_error_that_names_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> None:
        raise NoConvergence("no luck")

    monkeypatch.setattr(quantiles, "regularised_beta", give_up)
    with pytest.raises(ValueError, match=r"student_t_law: no number at .*0\.0123.*no luck"):
        evaluate("student_t_law", 0.0123, df=7.5)


def test_many_degrees_of_freedom_approach_the_gaussian() -> None:
    distances = [abs(evaluate("student_t_law", 0.01, df=df) - evaluate("gaussian_law", 0.01)) for df in (10, 100, 1000)]
    assert distances[2] < distances[1] / 9 < distances[0] / 81 * 2


@pytest.mark.parametrize(
    ("label", "numbers", "leading"),
    [
        ("gaussian_law", {}, math.pi / 6),
        ("laplace_law", {}, 1 / 6),
        ("uniform_law", {}, 1.0),
        ("student_t_law", {"df": 4}, 8 / 27),
        ("generalised_gaussian_law", {"beta": 1}, 1 / 6),
    ],
)
def test_near_one_the_ratio_is_a_multiple_of_the_cube(label: str, numbers: dict[str, float], leading: float) -> None:
    """ε → (1 − κ)³/(3 f(0)² E[u²]) where |u| has the density f(0) > 0 at 0; the next term is 1 − κ times smaller."""
    for kept in (Fraction(1, 2**40), Fraction(1, 2**53), Fraction(1, 10**25)):
        assert evaluate(label, 1 - kept, **numbers) / float(kept) ** 3 == pytest.approx(leading, rel=1e-11)


@pytest.mark.parametrize(("label", "numbers"), CASES)
def test_sending_everything_leaves_nothing(label: str, numbers: dict[str, float]) -> None:
    assert evaluate(label, 1, **numbers) == 0


@pytest.mark.parametrize(("label", "numbers"), CASES)
def test_the_ratio_falls_with_the_density_and_stays_below_random_selection(
    label: str, numbers: dict[str, float]
) -> None:
    densities = [1e-12, 1e-6, 0.001, 0.1, 0.5, 0.9, 0.999]
    ratios = [evaluate(label, density, **numbers) for density in densities]
    assert all(later < earlier for earlier, later in pairwise(ratios))
    assert all(0 < ratio <= 1 - density for ratio, density in zip(ratios, densities, strict=True))


def test_a_mean_raises_the_ratio_towards_random_selection() -> None:
    ratios = [evaluate("shifted_gaussian_law", 0.1, mean=mean) for mean in (0, 1, 2, 4, 8, 1000)]
    assert ratios == sorted(ratios)
    assert 0 < 0.9 - ratios[-1] < 0.001
    assert all(STATEMENTS["shifted_gaussian_slope"].evaluate(kappa=0.1, mean=mean) > 0 for mean in (0.1, 1, 8))
    assert STATEMENTS["shifted_gaussian_slope"].evaluate(kappa=0.1, mean=0) == 0
    assert STATEMENTS["shifted_gaussian_slope"].evaluate(kappa=1, mean=3) == 0


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("gaussian_law", {"kappa": 0}),
        ("gaussian_law", {"kappa": 1.5}),
        ("student_t_law", {"kappa": 0.5, "df": 2}),
        ("student_t_law", {"kappa": 0.5, "df": math.inf}),
        ("generalised_gaussian_law", {"kappa": 0.5, "beta": 0}),
        ("gamma_law", {"kappa": 0.5, "shape": -1}),
        ("weibull_law", {"kappa": 0.5, "shape": 0}),
        ("shifted_gaussian_law", {"kappa": 0.5, "mean": -1}),
        ("spike_mixture_law", {"kappa": 0.5, "share": 1.1, "scale": 2}),
        ("spike_mixture_law", {"kappa": 0.5, "share": 0.1, "scale": 0}),
        ("gamma_law", {"kappa": 0.5}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)
