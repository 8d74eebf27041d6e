from dataclasses import replace

import pytest

from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.contraction.weights import CLASS_WEIGHTS
from sparsync.verify.ledger.mutants import CHOSEN, MUTANTS
from sparsync.verify.ledger.mutation import Mutant, Swap, killing_grades, wrong_bound
from tests.support.slow_cases import LONG, slow_except

# One of each family. `make verify` tries all made by hand; `make test-all` and the record try the scaled bounds, too.
QUICK = {
    next(name for name in CHOSEN if MUTANTS[name].label in set(statements) - LONG)
    for statements in FAMILIES.values()
    if statements
}


@pytest.mark.parametrize("name", slow_except(QUICK, MUTANTS))
def test_every_mutant_is_killed_by_each_grade_that_it_names(name: str) -> None:
    """Among them, where slow tests run, every bound a sixty-fourth too good, before every grade of its statement."""
    assert killing_grades(MUTANTS[name]) == MUTANTS[name].killed_by != ()


def test_there_are_at_least_twenty_five_mutants() -> None:
    assert len(MUTANTS) >= 25


@pytest.mark.parametrize("family", [name for name, statements in FAMILIES.items() if statements])
def test_every_family_has_a_mutant(family: str) -> None:
    assert {mutant.label for mutant in MUTANTS.values()} & set(FAMILIES[family])


def test_a_mutant_that_changes_nothing_survives() -> None:
    assert killing_grades(wrong_bound("top_k", "nothing", lambda bound: bound, "symbolic", "rational")) == ()


def crashing(error: type[Exception]) -> Mutant:
    """Of `top_k`, whose search cannot be run."""

    def crash(_dimension: int) -> tuple[int, ...]:
        raise error

    swaps: tuple[Swap, ...] = (
        (STATEMENTS, "top_k", replace(STATEMENTS["top_k"], derivation=())),
        (CLASS_WEIGHTS, "top_k", crash),
    )
    return Mutant("top_k", "a crash", lambda: swaps, ("property",))


def test_the_right_statement_is_back_after_a_mutant_whose_evidence_fails_to_run() -> None:
    right = STATEMENTS["top_k"], CLASS_WEIGHTS["top_k"]
    with pytest.raises(LookupError):
        killing_grades(crashing(LookupError))
    assert (STATEMENTS["top_k"], CLASS_WEIGHTS["top_k"]) == right


def test_a_grade_that_has_no_number_for_a_wrong_statement_is_lost() -> None:
    assert killing_grades(crashing(ZeroDivisionError)) == ("property",)


@pytest.mark.parametrize("name", [name for name in CHOSEN if CHOSEN[name].killed_by == ("symbolic",)])
def test_a_wrong_derivation_fails_at_a_wrong_step(name: str) -> None:
    ((_, label, wrong),) = MUTANTS[name].swaps()
    kept = set(STATEMENTS[label].derivation)
    assert all(step.holds() for step in wrong.derivation if step in kept)
    assert not all(step.holds() for step in wrong.derivation if step not in kept)


def test_a_mutant_of_no_statement_is_refused() -> None:
    with pytest.raises(ValueError, match="'nothing', which is no statement"):
        killing_grades(Mutant("nothing", "all", tuple, ("symbolic",)))


def test_a_mutant_that_names_evidence_which_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no evidence of the grades \['formal'\]"):
        killing_grades(Mutant("top_k", "all", tuple, ("formal",)))
