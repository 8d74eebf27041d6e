"""The evidence for the virtual iterate: definitions and signs that are wrong are caught."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.language.symbols import eta, gradient, virtual_iterate
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.virtual_iterate import CHECKS, arrivals, identity_margin
from sparsync.verify.tools.outcome import Grade, Profile
from sparsync.verify.tools.properties import search_margin

TINY = Profile(dimensions=(), examples_count=60)


def lost(label: str) -> set[Grade]:
    return {grade for grade, check in CHECKS[label].items() if not check(TINY).earned}


def state(label: str, bound: sympy.Expr, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = STATEMENTS[label]
    relation = statement.relation.func(statement.relation.lhs, bound, evaluate=False)
    monkeypatch.setitem(STATEMENTS, label, replace(statement, relation=relation))


def test_a_virtual_iterate_that_forgets_the_queue_is_caught() -> None:
    def forgets(iterate: Fraction, residual: Fraction, _step_size: Fraction, _queue: Sequence[Fraction]) -> Fraction:
        return iterate - residual

    def margin(step_size: Fraction, events: Sequence[tuple[Fraction, list[int], Fraction]]) -> Fraction:
        return identity_margin(step_size, events, definition=forgets)

    assert search_margin(margin, arrivals(), max_examples=60).found_counterexample


def test_a_virtual_iterate_with_the_wrong_sign_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    state("delayed_virtual_iterate", virtual_iterate + eta * gradient, monkeypatch)
    assert lost("delayed_virtual_iterate") == {"property"}
