"""Formulas print with every term where a reader expects it, and still say what they said."""

from __future__ import annotations

import pytest
import sympy

from paper.statements.formulas import formula
from sparsync.theory.language.symbols import (
    LATEX_NAMES,
    L,
    beta,
    bit_width,
    d,
    delta,
    epsilon,
    eta,
    k,
    kappa,
    mu,
    sigma_squared,
    start_level,
    tail_exponent,
    tau,
    tie_count,
    variance,
)
from sparsync.theory.statements import STATEMENTS


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (2 * bit_width - start_level - 1, r"2 b - s_{0} - 1"),
        (1 - kappa, r"1 - \kappa"),
        (1 + 2 * kappa, r"1 + 2 \kappa"),
        (3 - 3 * kappa + kappa**2, r"3 - 3 \kappa + \kappa^{2}"),
        (1 - k / d, r"1 - \frac{k}{d}"),
        (2 * d - 2 * k + 1, r"2 d - 2 k + 1"),
        (tau + 1, r"\tau + 1"),
        (2 * (d - k) - 1, r"2 d - 2 k - 1"),
        (L - mu, r"L - \mu"),
        (mu + L, r"L + \mu"),
        (1 + sympy.sqrt(epsilon), r"1 + \sqrt{\epsilon}"),
        (1 - sympy.sqrt(1 - delta), r"1 - \sqrt{1 - \delta}"),
        (k - d, r"k - d"),
        (-kappa - delta, r"- \delta - \kappa"),
        (sympy.log(kappa) ** 2, r"\ln^{2} \kappa"),
        (sympy.log(1 / kappa + 1), r"\ln\left(1 + \frac{1}{\kappa}\right)"),
        (sympy.erf(kappa), r"\mathrm{erf}{\left(\kappa \right)}"),
        (eta * sympy.sqrt(sigma_squared), r"\eta \sigma"),
        (sympy.sqrt(variance), r"\sigma_0"),
        (sympy.Le(mu, L), r"\mu \leq L"),
        (sympy.Eq(kappa, k / d), r"\kappa = \frac{k}{d}"),
    ],
)
def test_terms_stand_where_a_reader_expects_them(expression: sympy.Basic, text: str) -> None:
    assert formula(expression) == text


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("band_search_passes", r"\max\left(b, 2 b - s_{0} - 1\right)"),
        ("steady_drift", r"\frac{1 - \kappa}{1 + 2 \kappa}"),
        ("virtual_iterate", r"\tilde{x}_t - \eta g_t"),
        ("residual_bound", r"\frac{4 \eta^{2} \sigma^{2} \left(1 - \delta\right)}{\delta^{2}}"),
        (
            "ef_tight_step",
            r"\frac{2 \left(1 - \sqrt{\epsilon}\right)}{\left(L + \mu\right) \left(1 + \sqrt{\epsilon}\right)}",
        ),
        ("laplace_law", r"1 - \kappa \left(1 + \frac{\ln^{2} \kappa}{2} - \ln \kappa\right)"),
        ("complexity_cubic", r"\frac{c^{6}}{\left(3 c^{2} - 3 c + 1\right)^{2}}"),
    ],
)
def test_bounds_read_as_one_would_write_them(label: str, text: str) -> None:
    assert formula(STATEMENTS[label].bound) == text


@pytest.mark.parametrize("label", STATEMENTS)
def test_every_part_of_a_statement_prints_in_balanced_braces(label: str) -> None:
    statement = STATEMENTS[label]
    for part in (statement.relation, *statement.domain):
        text = formula(part)
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")
        assert "operatorname" not in text


@pytest.mark.parametrize("label", STATEMENTS)
def test_a_sum_begins_with_a_minus_sign_only_where_all_its_terms_have_one(label: str) -> None:
    for sum_ in STATEMENTS[label].bound.atoms(sympy.Add):
        if not all(term.could_extract_minus_sign() for term in sum_.args):
            assert not formula(sum_).startswith("-")


def test_two_symbols_with_one_letter_are_not_taken_for_one() -> None:
    assert formula(bit_width + tie_count) == "b + b"


def test_momentum_and_the_exponent_of_a_law_have_different_letters() -> None:
    assert LATEX_NAMES[beta] == r"\gamma"
    assert formula(tail_exponent) == r"\beta"
