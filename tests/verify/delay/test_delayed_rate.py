"""The evidence for the best rate: wrong rates cost their grades, and no other step is as fast."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import tau
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.delayed_rate import CHECKS, best_rate, best_step, rate_margin, step_cases
from sparsync.verify.delay.root_moduli import delayed_polynomial, largest_modulus
from sparsync.verify.tools.outcome import Grade, Profile
from sparsync.verify.tools.properties import search_margin

TINY = Profile(dimensions=(), examples_count=60)


def lost(label: str) -> set[Grade]:
    return {grade for grade, check in CHECKS[label].items() if not check(TINY).earned}


def state(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS[label]
    relation = statement.relation.func(statement.relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))


def test_a_smaller_rate_is_not_attained_and_a_larger_one_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    state("delayed_descent_rate", tau / (tau + 2), monkeypatch)
    assert lost("delayed_descent_rate") == {"rational", "property"}
    monkeypatch.undo()
    state("delayed_descent_rate", (tau + 1) / (tau + 2), monkeypatch)
    assert lost("delayed_descent_rate") == {"rational", "property"}


def test_the_search_finds_the_best_step() -> None:
    found = search_margin(rate_margin, step_cases(), max_examples=100)
    assert found.case[1] == 1
    assert abs(float(found.smallest_margin)) < 1e-12


@pytest.mark.parametrize("relative", [Fraction(99, 100), Fraction(101, 100)])
@pytest.mark.parametrize("steps_late", [1, 3, 10])
def test_no_other_step_is_as_fast(steps_late: int, relative: Fraction) -> None:
    polynomial = delayed_polynomial(step=best_step(steps_late) * relative, delay=steps_late)
    assert float(largest_modulus(polynomial)) > float(best_rate(steps_late)) + 1e-4
