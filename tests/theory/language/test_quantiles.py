from __future__ import annotations

from typing import Any

import mpmath
import pytest
import sympy
from sympy.core.function import ArgumentIndexError

from sparsync.theory.language import quantiles
from sparsync.theory.language.quantiles import (
    LEVEL,
    GammaQuantile,
    MixtureQuantile,
    NormalQuantile,
    RegularisedBeta,
    RegularisedGamma,
    ShiftedNormalQuantile,
    StudentQuantile,
    UpperQuantile,
    meanings,
)
from sparsync.theory.language.symbols import kappa
from sparsync.theory.statements import STATEMENTS

R = sympy.Rational
PARAMETERS: dict[type[UpperQuantile], tuple[tuple[sympy.Expr, ...], ...]] = {
    NormalQuantile: ((),),
    GammaQuantile: ((R(1, 2),), (sympy.Integer(3),), (sympy.Integer(1000),)),
    StudentQuantile: ((R(41, 20),), (sympy.Integer(4),), (sympy.Integer(50),)),
    ShiftedNormalQuantile: ((sympy.Integer(0),), (R(5, 2),), (sympy.Integer(50),)),
    MixtureQuantile: ((R(1, 100), sympy.Integer(100)), (R(1, 2), R(1, 4))),
}
CASES = [(quantile, parameters) for quantile, rows in PARAMETERS.items() for parameters in rows]
SHARES = [R(1, 10**12), R(1, 1000), R(1, 2), R(9, 10), 1 - R(1, 10**12)]


PRINTED = {quantile: f"{quantile.latex_name}(" for quantile in PARAMETERS}
PRINTED |= {RegularisedGamma: "$P(a,x)=", RegularisedBeta: "$I_y(a,b)$"}
"""How the words that say what a function means begin to name it."""
SPECIAL = [
    (label, function) for label, made in STATEMENTS.items() for function in PRINTED if made.relation.has(function)
]


def test_every_quantile_is_tried() -> None:
    assert set(PARAMETERS) == set(UpperQuantile.__subclasses__())


def test_every_function_is_in_some_statement() -> None:
    assert {function for _label, function in SPECIAL} == set(PRINTED)


@pytest.mark.parametrize(("label", "function"), SPECIAL)
def test_an_assumption_says_what_a_function_of_the_bound_means(label: str, function: type[sympy.Function]) -> None:
    assert any(PRINTED[function] in assumption for assumption in STATEMENTS[label].assumption_texts)


def test_only_the_functions_of_an_expression_are_explained() -> None:
    assert meanings(kappa**2) == ()
    assert len(meanings(NormalQuantile(kappa) + RegularisedGamma(kappa, 1))) == 2


@pytest.mark.parametrize(("quantile", "parameters"), CASES)
@pytest.mark.parametrize("share", SHARES)
def test_the_mass_below_the_quantile_is_one_minus_the_share(
    quantile: type[UpperQuantile], parameters: tuple[sympy.Expr, ...], share: sympy.Expr
) -> None:
    """60 digits of z, of which 1 − y = ν/(ν + z²) loses a dozen: 40 digits of the smaller share are left."""
    level = sympy.N(quantile(*parameters, share), 60)
    missing = sympy.N(quantile.mass(level, *parameters), 60) - (1 - share)
    assert abs(missing) < min(share, 1 - share) * R(1, 10**40)


@pytest.mark.parametrize(("quantile", "parameters"), CASES)
@pytest.mark.parametrize("share", [*SHARES, R(1, 10)])
def test_a_few_newton_steps_find_a_quantile(
    quantile: type[UpperQuantile],
    parameters: tuple[sympy.Expr, ...],
    share: sympy.Expr,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Doubling steps and bisection reach the root's neighbourhood, Newton's method doubles the digits from there.

    Without the last, 200 bits are 200 steps.
    """
    # Of type Any because type checkers do not see that sympy's classes are hashable.
    function: Any = quantile
    mass, tail, slope = quantiles._compiled(function)
    calls_count = 0

    def counting(part: Any) -> Any:
        def counted(*numbers: mpmath.mpf) -> mpmath.mpf:
            nonlocal calls_count
            calls_count += 1
            return part(*numbers)

        return counted

    monkeypatch.setattr(quantiles, "_compiled", lambda _: (counting(mass), counting(tail), slope))
    quantiles._level.cache_clear()
    sympy.N(quantile(*parameters, share), 50)
    assert 3 < calls_count < 40


@pytest.mark.parametrize(
    "level",
    [NormalQuantile(R(1, 1000)), ShiftedNormalQuantile(0, R(1, 1000)), MixtureQuantile(R(1, 3), 1, R(1, 1000))],
)
def test_gaussian_quantiles_are_inverse_error_functions(level: sympy.Expr) -> None:
    with mpmath.workdps(50):
        expected = sympy.Float(mpmath.sqrt(2) * mpmath.erfinv(mpmath.mpf(999) / 1000), 45)
    assert abs(sympy.N(level, 40) / expected - 1) < R(1, 10**38)


def test_exponential_and_student_quantiles_are_the_closed_ones() -> None:
    """Gamma of shape 1: ln(1/κ). Student with 4 degrees: z = 2w/√(1 − w²) with w = 2 sin(arcsin(1 − κ)/3)."""
    sine = 2 * sympy.sin(sympy.pi / 18)
    pairs = (
        (GammaQuantile(1, R(1, 1000)), sympy.log(1000)),
        (StudentQuantile(4, R(1, 2)), 2 * sine / sympy.sqrt(1 - sine**2)),
    )
    assert all(abs(sympy.N(level, 40) / sympy.N(expected, 45) - 1) < R(1, 10**38) for level, expected in pairs)


def test_a_share_next_to_one_or_zero_keeps_every_digit() -> None:
    """P(|N| ≤ z) = √(2/π)(z − z³/6 + …) and, for t with 4 degrees, κ = 1 − w(3 − w²)/2 with z = 2w/√(1 − w²)."""
    tiny = R(1, 10**30)
    near = sympy.N(NormalQuantile(1 - tiny), 40)
    assert abs(near / sympy.N(tiny * sympy.sqrt(sympy.pi / 2), 40) - 1) < R(1, 10**38)
    assert abs(sympy.N(StudentQuantile(4, 1 - tiny), 40) / sympy.N(4 * tiny / 3, 40) - 1) < R(1, 10**38)
    assert 37.06 < NormalQuantile(R(1, 10**300)).evalf(20) < 37.07


@pytest.mark.parametrize(("quantile", "parameters"), CASES[:1] + CASES[4:9])
def test_derivatives_are_those_of_the_inverse_function(
    quantile: type[UpperQuantile], parameters: tuple[sympy.Expr, ...]
) -> None:
    share, step = R(3, 10), R(1, 10**20)
    slope = sympy.N(sympy.diff(quantile(*parameters, kappa), kappa).subs(kappa, share), 30)
    ahead, behind = (sympy.N(quantile(*parameters, share + side * step), 60) for side in (1, -1))
    # The remainder of a central difference is z''' h²/6, here below 10⁻³⁵ of the slope.
    assert abs((ahead - behind) / (2 * step) / slope - 1) < R(1, 10**25)


def test_a_parameter_moves_the_quantile_by_the_implicit_function_rule() -> None:
    mean = sympy.Symbol("m", positive=True)
    quantile = ShiftedNormalQuantile(mean, kappa)
    slope = sympy.diff(quantile, mean).subs(quantile, LEVEL)
    assert sympy.simplify((slope - sympy.tanh(mean * LEVEL)).rewrite(sympy.exp)) == 0


def test_everything_is_above_zero_and_no_other_share_is_accepted() -> None:
    assert NormalQuantile(1) == 0
    assert StudentQuantile(5, sympy.Integer(1)) == 0
    for share in (R(0), R(-1, 2), R(3, 2)):
        with pytest.raises(ValueError, match="share must lie"):
            NormalQuantile(share).evalf()


def test_symbols_stay_symbols() -> None:
    assert NormalQuantile(kappa).evalf() == NormalQuantile(kappa)
    assert NormalQuantile(kappa).is_nonnegative
    assert RegularisedGamma(kappa, 2).evalf().has(kappa)


@pytest.mark.parametrize("order", ["0.25", "3", "40", "10000"])
@pytest.mark.parametrize("factor", ["0.5", "1", "1.25", "2"])
def test_the_regularised_gamma_function_is_the_series(order: str, factor: str) -> None:
    """P(a, x) = x^a e^(−x) Σ x^n/Γ(a + n + 1), summed at 60 digits."""
    with mpmath.workdps(60):
        a = mpmath.mpf(order)
        x = a * mpmath.mpf(factor)
        term, total, n = mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a + 1)), mpmath.mpf(0), 0
        while n < x or term > mpmath.mpf(10) ** -60 * total:
            total, n = total + term, n + 1
            term *= x / (a + n)
        value = RegularisedGamma(R(order), R(order) * R(factor)).evalf(40)
        assert abs(value - sympy.Float(total, 45)) < R(1, 10**38) * value


@pytest.mark.parametrize(("first", "second"), [("0.5", "2.5"), ("1.5", "0.03125"), ("0.5", "5000")])
@pytest.mark.parametrize("level", ["1e-20", "0.0001", "0.5", "0.999"])
def test_the_regularised_beta_function_is_the_integral(first: str, second: str, level: str) -> None:
    with mpmath.workdps(50):
        expected = mpmath.betainc(mpmath.mpf(first), mpmath.mpf(second), 0, mpmath.mpf(level), regularized=True)
        value = RegularisedBeta(R(first), R(second), R(level)).evalf(40)
        assert abs(value - sympy.Float(expected, 45)) < R(1, 10**38) * value


def test_the_regularised_functions_are_known_at_their_ends() -> None:
    assert (RegularisedGamma(kappa, 0), RegularisedGamma(kappa, sympy.oo)) == (0, 1)
    assert (RegularisedBeta(kappa, 2, 0), RegularisedBeta(kappa, 2, 1)) == (0, 1)
    for function in (RegularisedGamma(kappa, 2), RegularisedBeta(kappa, 2, LEVEL)):
        with pytest.raises(ArgumentIndexError):
            function.fdiff(1)


def test_powers_of_quantiles_are_printed_with_their_arguments() -> None:
    assert sympy.latex(NormalQuantile(kappa) ** 2) == r"z^{2}\left(\kappa\right)"
    assert sympy.latex(RegularisedBeta(1, 2, kappa)) == r"I_{\kappa}\left(1, 2\right)"
