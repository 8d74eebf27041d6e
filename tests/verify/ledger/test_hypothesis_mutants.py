from dataclasses import replace

import pytest
import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.ledger.evidence import derivation_outcome
from sparsync.verify.ledger.hypothesis_mutants import MUTANTS, domain_mutants
from sparsync.verify.ledger.mutation import killing_grades
from sparsync.verify.ledger.remarks import remarks, slack
from sparsync.verify.tools.edges import Edge, Unneeded, breaks, widened

BOUNDED = [label for label, statement in STATEMENTS.items() if statement.domain]
EDGES = [(label, place) for label in BOUNDED for place, remark in enumerate(remarks(label)) if isinstance(remark, Edge)]


@pytest.mark.parametrize("label", BOUNDED)
def test_of_every_condition_it_is_said_why_it_is_there(label: str) -> None:
    conditions = {str(condition) for condition in STATEMENTS[label].domain}
    assert {remark.condition for remark in remarks(label)} == conditions


@pytest.mark.parametrize(("label", "place"), EDGES)
def test_a_point_beyond_one_condition_and_no_other_breaks_the_statement(label: str, place: int) -> None:
    statement, edge = STATEMENTS[label], remarks(label)[place]
    assert isinstance(edge, Edge)
    (condition,) = (found for found in statement.domain if str(found) == edge.condition)
    others = tuple(found for found in statement.domain if found is not condition)
    excused = any(isinstance(found, Unneeded) and found.condition == edge.condition for found in remarks(label))
    gives_way = () if excused or isinstance(condition, sympy.Eq) else (widened(condition),)
    assert not statement.admits(**edge.numbers)
    assert replace(statement, domain=(*others, *gives_way)).admits(**edge.numbers)
    assert breaks(statement, edge)


@pytest.mark.parametrize("label", STATEMENTS)
def test_remarks_and_reasons_are_about_what_the_statement_says(label: str) -> None:
    statement = STATEMENTS[label]
    named = {assumption.name for assumption in statement.assumptions if isinstance(assumption, Given)}
    reasons = (*slack(label).values(), *(found.reason for found in remarks(label) if isinstance(found, Unneeded)))
    assert set(slack(label)) <= named
    assert all(reasons)


def test_without_its_domain_a_statement_loses_a_grade() -> None:
    """As an audit found of a lower bound that is false beyond shape 2."""
    right = STATEMENTS["weibull_gain_lower"]
    assert derivation_outcome("weibull_gain_lower").earned
    try:
        STATEMENTS["weibull_gain_lower"] = replace(right, domain=())
        assert not derivation_outcome("weibull_gain_lower").earned
    finally:
        STATEMENTS["weibull_gain_lower"] = right


@pytest.mark.parametrize("label", BOUNDED)
def test_a_condition_dropped_or_widened_is_noticed(label: str) -> None:
    survivors = [name for name, mutant in domain_mutants(label) if not killing_grades(mutant)]
    assert survivors == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.killed_by != ("symbolic",)])
def test_another_number_assumed_is_noticed(name: str) -> None:
    assert killing_grades(MUTANTS[name])
