from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.powers import PowerSum, RealPower
from sparsync.theory.language.symbols import (
    d,
    k,
    kappa,
    p,
    q,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.shapes import (
    CHECKS,
    discrete_margin,
    discrete_members,
    exponent_margin,
    exponent_members,
    gini_index,
    lorenz_margin,
    lorenz_members,
    power_of_ramp,
    proves,
)
from sparsync.verify.contraction.weights import tail_ratio
from sparsync.verify.tools.outcome import Grade, Profile
from sparsync.verify.tools.properties import search_margin

TINY = Profile(dimensions=(2, 3), examples_count=20)
SEARCHED = Profile(dimensions=(2, 3), examples_count=100)

WRONG_BOUNDS: dict[str, tuple[sympy.Expr, set[Grade]]] = {
    "exponent": (RealPower(1 - kappa, 2 + 2 / p), {"smt", "property"}),
    "exponent_discrete": (RealPower(1 - k / d, 1 + 2 / p), {"rational", "numeric", "property"}),
    "lorenz": (1 - 2 * PowerSum(d - 1, q) / RealPower(d, q + 1), {"smt", "property"}),
}
"""A bound that is too small (or, of an equation, another number), and the checks that must notice."""


@pytest.mark.parametrize(("label", "grade"), [(label, grade) for label in CHECKS for grade in CHECKS[label]])
def test_a_wrong_bound_loses_every_grade(label: str, grade: Grade, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS[label]
    wrong, lost = WRONG_BOUNDS[label]
    relation = statement.relation.func(statement.relation.lhs, wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))
    assert grade in lost
    assert not CHECKS[label][grade](SEARCHED).earned


def test_the_wrong_bounds_cover_every_check() -> None:
    assert {label: lost for label, (_, lost) in WRONG_BOUNDS.items()} == {
        label: set(checks) for label, checks in CHECKS.items()
    }


def test_a_bound_that_is_true_but_not_sharp_loses_the_rational_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    loose = PowerSum(d - k, 2 / p) / (PowerSum(d, 2 / p) - sympy.Rational(1, 2))
    statement = STATEMENTS["exponent_discrete"]
    monkeypatch.setitem(
        STATEMENTS,
        statement.label,
        replace(statement, relation=sympy.Le(statement.relation.lhs, loose, evaluate=False)),
    )
    assert not CHECKS[statement.label]["rational"](TINY).earned
    assert CHECKS[statement.label]["property"](TINY).earned


def test_searches_reach_the_bounds() -> None:
    searches = (
        search_margin(exponent_margin, exponent_members(), max_examples=50),
        search_margin(discrete_margin, discrete_members(), max_examples=50),
        search_margin(lorenz_margin, lorenz_members(), max_examples=50),
    )
    assert [found.smallest_margin for found in searches] == [0, 0, 0]


def test_a_step_profile_by_hand() -> None:
    # r = 1 up to 1/2, then 0; π² = r(1 − t): F(0) = (1 − 1/4)/2 = 3/8 and F(1/4) = (9/16 − 1/4)/2 = 5/32.
    margin = exponent_margin((Fraction(1), Fraction(0)), Fraction(1, 4), 1)
    assert margin == Fraction(9, 16) - Fraction(5, 32) / Fraction(3, 8)


def test_profiles_outside_the_class_are_refused() -> None:
    with pytest.raises(ValueError, match="non-increasing"):
        exponent_margin((Fraction(0), Fraction(1)), Fraction(1, 4), 1)


def test_multipliers_prove_the_sharp_bound_and_no_smaller_one() -> None:
    weights = power_of_ramp(3)(5)
    sharp = tail_ratio(weights, 2)
    assert proves(weights, 2, sharp)
    assert proves(weights, 2, sharp + Fraction(1, 100))
    assert not proves(weights, 2, sharp - Fraction(1, 100))
    assert proves((1,), 1, Fraction(0))


def test_the_gini_index_by_hand() -> None:
    assert gini_index((Fraction(3), Fraction(1))) == Fraction(1, 4)
    assert gini_index((Fraction(1), Fraction(1))) == 0
    assert gini_index((Fraction(1), Fraction(0), Fraction(0))) == Fraction(2, 3)


def test_vectors_above_the_power_curve_are_refused() -> None:
    with pytest.raises(ValueError, match="exceeds"):
        lorenz_margin((Fraction(1), Fraction(1)), 2)
