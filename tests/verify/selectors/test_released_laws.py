"""The checks of the laws for which the released rule fails notice statements that are wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy
from flint import arb

from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.symbols import (
    d,
    kappa,
    mean_shift,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.selectors.released_laws import CHECKS, bound_ball
from sparsync.verify.tools.outcome import Grade, Profile

TINY = Profile(dimensions=(2, 3), examples_count=30)


@pytest.mark.parametrize(
    ("label", "grade", "wrong"),
    [
        ("released_window", "ball", STATEMENTS["released_window"].bound * (1 + sympy.Rational(1, 10**12))),
        ("released_window_narrow", "property", STATEMENTS["released_window"].bound - sympy.Rational(1, 10**9)),
        ("released_uniform", "simulated", sympy.Integer(0)),
        ("released_uniform", "ball", sympy.Integer(0)),
        ("released_uniform", "ball", 1 - NormalQuantile(kappa) / (2 * sympy.sqrt(3))),
        ("mean_shift_failure", "numeric", kappa - mean_shift / 100),
        ("mean_shift_failure", "simulated", kappa - mean_shift / 100),
        ("mean_shift_failure", "ball", kappa - mean_shift / 100),
    ],
)
def test_a_wrong_statement_loses_the_grade(
    label: str, grade: Grade, wrong: sympy.Expr, monkeypatch: pytest.MonkeyPatch
) -> None:
    relation = sympy.Eq(sympy.Symbol("stated"), wrong, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(STATEMENTS[label], relation=relation))
    assert not CHECKS[label][grade](TINY).earned


def test_a_bound_of_an_unknown_kind_has_no_ball() -> None:
    root = bound_ball(sympy.sqrt(1 + 2 * sympy.log(2) / d), {d: arb(2)})
    assert abs(root**2 - 1 - arb(2).log()) < arb(2) ** -40
    with pytest.raises(ValueError, match="sin"):
        bound_ball(sympy.sin(d), {d: arb(2)})
