import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from mpmath.libmp import NoConvergence

from sparsync.theory.language.statement import Statement, written
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, k, kappa, ratio
from sparsync.theory.statements import STATEMENTS

HALF_OPEN = Statement(
    label="density_bound",
    title="a bound in a real parameter",
    assumptions=(),
    relation=sympy.Le(ratio, sympy.sqrt(kappa), evaluate=False),
    domain=(sympy.Le(kappa, 1),),
    source="ours",
    derivation=(),
)
IDENTITY = replace(HALF_OPEN, relation=sympy.Le(ratio, kappa, evaluate=False))
RATIONAL = Statement(
    label="count_bound",
    title="a bound in integer parameters",
    assumptions=("$u$ is any vector", "$k$ is fixed"),
    relation=sympy.Le(ratio, 1 - k / d, evaluate=False),
    domain=(sympy.Le(k, d),),
    source="ours",
    derivation=(
        Step("one is one", lambda: sympy.Integer(1) - 1, concludes=(d - k) / d),
        Step("d is d + 1", lambda: d - (d + 1)),
    ),
)


@given(st.integers(1, 10**30).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_a_rational_bound_is_correctly_rounded(pair: tuple[int, int]) -> None:
    count, dimension = pair
    assert RATIONAL.evaluate(k=count, d=dimension) == float(1 - Fraction(count, dimension))


def test_the_ends_of_the_domain_evaluate() -> None:
    assert RATIONAL.evaluate(k=7, d=7) == 0.0
    assert RATIONAL.evaluate(k=1, d=1) == 0.0


def test_numpy_integers_are_integers() -> None:
    assert RATIONAL.evaluate(k=numpy.int32(1), d=numpy.uint8(4)) == 0.75


@pytest.mark.parametrize(
    ("numbers", "offender"),
    [
        ({"k": 0, "d": 5}, "0"),
        ({"k": -2, "d": 5}, "-2"),
        ({"k": 6, "d": 5}, "6"),
        ({"k": 1, "d": 0}, "0"),
        ({"k": True, "d": 5}, "True"),
        ({"k": 2.5, "d": 5}, "2.5"),
        ({"k": 2.0, "d": 5}, "2.0"),
        ({"k": math.nan, "d": 5}, "nan"),
        ({"k": "2", "d": 5}, "'2'"),
        ({"k": 2}, "['k']"),
        ({"k": 2, "d": 5, "n": 1}, "'n'"),
    ],
)
def test_a_number_outside_the_domain_is_refused_by_name_and_value(numbers: dict[str, object], offender: str) -> None:
    with pytest.raises(ValueError, match="count_bound") as refusal:
        RATIONAL.evaluate(**numbers)
    assert offender in str(refusal.value)


@pytest.mark.parametrize(
    ("label", "numbers", "message"),
    [
        ("bell_shaped", {"k": 20, "d": 10}, "k <= d is violated by d = 10, k = 20"),
        ("bell_shaped", {"k": -1, "d": 10}, "k must be positive, got -1"),
        ("ef_tight_rate", {"mu": 10, "smoothness": 1, "epsilon": 0.9}, "violated by mu = 10, smoothness = 1"),
        ("ef_tight_rate", {"mu": -1, "smoothness": 1, "epsilon": 0.9}, "mu must be positive, got -1"),
    ],
)
def test_a_refusal_shows_the_numbers_of_the_condition_as_they_were_given(
    label: str, numbers: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{label}: .*{message}$"):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize("number", [0.0, -0.5, 1.5, math.inf, math.nan, True])
def test_a_real_parameter_has_a_domain_too(number: object) -> None:
    with pytest.raises(ValueError, match="density_bound"):
        HALF_OPEN.evaluate(kappa=number)


@pytest.mark.parametrize("number", [0.1, 0.25, 1, 1.0, Fraction(1, 9), numpy.float32(0.25)])
def test_an_irrational_bound_agrees_with_the_library_root(number: float) -> None:
    # math.sqrt is correctly rounded, and so is a root computed to 40 digits unless it ties to 23 digits.
    assert HALF_OPEN.evaluate(kappa=number) == math.sqrt(number)


@pytest.mark.parametrize(
    "number",
    [
        mpmath.mp.make_mpf((0, 2**60 - 1, -60, 60)),
        sympy.Float(sympy.Rational(2**60 - 1, 2**60), 30),
        Fraction(2**60 - 1, 2**60),
    ],
    ids=["mpmath", "sympy", "fractions"],
)
def test_no_digit_of_a_long_number_is_left_out(number: object) -> None:
    identity = replace(HALF_OPEN, relation=sympy.Le(ratio, 1 - kappa, evaluate=False))
    assert identity.evaluate(kappa=number) == 2.0**-60


@pytest.mark.skipif(numpy.finfo(numpy.longdouble).nmant < 60, reason="numpy has no longer floats here")
def test_a_long_number_above_the_end_of_the_domain_is_refused() -> None:
    with pytest.raises(ValueError, match="kappa <= 1"):
        HALF_OPEN.evaluate(kappa=numpy.longdouble(1) + numpy.longdouble(2) ** -60)


def test_where_no_number_is_found_statement_and_numbers_are_named() -> None:
    imaginary = replace(HALF_OPEN, relation=sympy.Le(ratio, sympy.sqrt(kappa - 1), evaluate=False))
    with pytest.raises(ValueError, match=f"^{imaginary.label}: no number at .*'kappa': 0.25.*digits are not enough"):
        imaginary.evaluate(kappa=0.25)


@pytest.mark.parametrize("failure", [NoConvergence, OverflowError, ZeroDivisionError, RecursionError])
def test_what_fails_within_a_library_names_statement_and_numbers(
    failure: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which numbers are too large depends on whether gmpy2 is installed."""

    def fails(_value: sympy.Expr) -> sympy.Expr:
        raise failure("in the library")

    monkeypatch.setattr("sparsync.theory.language.statement.digits_of", fails)
    with pytest.raises(ValueError, match=r"^mean_shift_failure: no number at .*'kappa': 0\.1.*in the library"):
        STATEMENTS["mean_shift_failure"].evaluate(kappa=0.1, mean_shift=2.0)


@pytest.mark.parametrize("label", STATEMENTS)
def test_a_compressor_that_contracts_every_vector_draws_anew(label: str) -> None:
    """One draw that is kept for ever contracts every vector on the average, and never sends some coordinates."""
    text = "; ".join(STATEMENTS[label].assumption_texts)
    anew = "independent of all before" in text or "whatever came before" in text
    assert (r"\mathbb{E}\,\lVert u-C" in text) <= anew


def test_draws_that_are_kept_break_the_descent_of_workers() -> None:
    """f = ‖x‖²/2 from (1, 1); one of two coordinates, drawn once, is sent for ever: |x_j| = 1 for the other."""
    bound = STATEMENTS["descent_of_workers"].evaluate(
        T=10_000,
        delta=0.5,
        dissimilarity=0,
        gap=1,
        n=1,
        residual_weight=0.5**0.5,
        smoothness=1,
        step_size=0.05,
        variance=0,
    )
    least_energy_of_the_gradient = 1.0
    assert bound < least_energy_of_the_gradient / 400


@pytest.mark.parametrize("count", [999, 1000, 1001, 50_000])
def test_a_long_sum_is_not_written_out_and_a_short_one_is_exact(count: int) -> None:
    place = sympy.Symbol("place", integer=True)
    harmonic = replace(RATIONAL, relation=sympy.Le(ratio, sympy.Sum(1 / place, (place, 1, d)), evaluate=False))
    harmonic = replace(harmonic, domain=())
    assert harmonic.evaluate(d=count) == float(sum(Fraction(1, number) for number in range(1, count + 1)))
    # Euler–Mascheroni's constant is the limit of H_n − ln n; the next term is 1/(2n).
    assert harmonic.evaluate(d=10**15) == pytest.approx(math.log(10**15) + float(sympy.EulerGamma), rel=1e-15)


@pytest.mark.parametrize("bound", [kappa**-400, sympy.sqrt(kappa) ** -801, sympy.exp(1 / kappa)])
def test_a_bound_that_no_float_holds_is_named_and_an_infinite_one_is_infinite(bound: sympy.Expr) -> None:
    steep = replace(HALF_OPEN, relation=sympy.Le(ratio, bound, evaluate=False))
    assert math.isfinite(steep.evaluate(kappa=0.5))
    with pytest.raises(
        OverflowError, match=r"^density_bound: the bound at \{'kappa': 0.0009\} is larger than every float"
    ):
        steep.evaluate(kappa=0.0009)
    assert replace(steep, relation=sympy.Le(ratio, sympy.oo, evaluate=False)).evaluate(kappa=1) == math.inf


@pytest.mark.parametrize(
    ("number", "decimal"),
    [
        (0.08, Fraction(2, 25)),
        (0.1, Fraction(1, 10)),
        (1e-300, Fraction(1, 10**300)),
        (5e-324, Fraction(5, 10**324)),
        (0.1 + 0.2, Fraction(30000000000000004, 10**17)),
        (numpy.float64(0.3), Fraction(3, 10)),
        (numpy.float32(0.3), Fraction(3, 10)),
        (numpy.longdouble("0.3"), Fraction(3, 10)),
    ],
)
def test_a_float_is_read_as_the_shortest_decimal_that_writes_it(number: float, decimal: Fraction) -> None:
    assert IDENTITY.fraction(kappa=number) == decimal


@pytest.mark.parametrize("number", [mpmath.mpf(0.1), sympy.Float(0.1), Fraction(0.1)])
def test_other_numbers_are_the_rationals_they_are(number: object) -> None:
    assert IDENTITY.fraction(kappa=number) == Fraction(0.1)


@given(st.floats(0, 1, exclude_min=True))
def test_reading_a_float_loses_none_of_it(number: float) -> None:
    assert IDENTITY.evaluate(kappa=number) == number


def test_the_end_of_a_domain_is_admitted_however_written() -> None:
    """As binary fractions they lie on either side of it: 0.08 above, 0.3 below."""
    for end, written_end in ((Fraction(2, 25), 0.08), (Fraction(3, 10), 0.3)):
        exactly = sympy.Rational(end.numerator, end.denominator)
        assert replace(IDENTITY, domain=(sympy.Le(kappa, exactly),)).admits(kappa=written_end)
        assert replace(IDENTITY, domain=(sympy.Ge(kappa, exactly),)).admits(kappa=written_end)


def test_only_failing_steps_are_unproved() -> None:
    assert RATIONAL.unproved_claims() == ("d is d + 1",)


def test_a_derivation_of_another_bound_proves_nothing() -> None:
    other = replace(RATIONAL, relation=sympy.Le(ratio, 1 - k / (d + 1), evaluate=False))
    assert other.unproved_claims() == ("d is d + 1", "some step concludes with the bound -k/(d + 1) + 1")


def test_without_a_derivation_nothing_is_proved() -> None:
    assert HALF_OPEN.unproved_claims() == ("some step concludes with the bound sqrt(kappa)",)


@pytest.mark.parametrize(
    ("residue", "holds"),
    [
        (sympy.sin(kappa) ** 2 + sympy.cos(kappa) ** 2 - 1, True),
        (kappa - 1, False),
        (sympy.true, True),
        (sympy.false, False),
        (sympy.Le(k, d), False),
    ],
)
def test_a_step_holds_iff_its_residue_simplifies_to_zero_or_true(residue: sympy.Basic, holds: bool) -> None:
    assert Step("claim", lambda: residue).holds() is holds


def test_a_step_runs_only_when_asked() -> None:
    runs: list[str] = []

    def compute() -> sympy.Basic:
        runs.append("run")
        return sympy.true

    step = Step("claim", compute)
    assert runs == []
    assert step.holds()
    assert runs == ["run"]


def test_latex_holds_statement_and_assumptions_and_fits_a_table_cell() -> None:
    cell = RATIONAL.latex()
    assert cell.startswith(r"$\frac{\lVert u-C(u)\rVert^{2}}{\lVert u\rVert^{2}} \leq 1 - \frac{k}{d}$")
    assert all(assumption in cell for assumption in RATIONAL.assumption_texts)
    assert "&" not in cell
    assert "\\\\" not in cell


def test_latex_without_assumptions_is_the_formula_alone() -> None:
    assert HALF_OPEN.latex().endswith(r"\leq \sqrt{\kappa}$")


@pytest.mark.parametrize(
    ("expression", "claim"),
    [
        ((d - k) ** 2 * (d - k + 1) / 2, "(d − k)²(d − k + 1)/2"),
        (kappa**12, "kappa¹²"),
        (2 * k - d, "−d + 2k"),
    ],
)
def test_an_expression_is_written_as_a_claim_writes_it(expression: sympy.Expr, claim: str) -> None:
    assert written(expression) == claim
