"""Does the evidence notice a wrong statement? A wrong twin is installed, its checks run, and a grade must be lost.

Mutation analysis (DeMillo, Lipton and Sayward 1978) of statements instead of programs. The mutants themselves are in
`verify/ledger/mutants.py`; `make verify` fails if one survives. Ours.
"""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.ladder import certified_cases
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.ledger.evidence import derivation_outcome
from sparsync.verify.tools.outcome import Grade, Profile

MUTATION_PROFILE = Profile(dimensions=(2, 3, 4), examples_count=100)
"""Small: a wrong statement that only a large run notices is noticed too late."""

Swap = tuple[MutableMapping[str, Any], str, Any]
"""A mapping, a key in it, and the wrong value. The namespace of a module is such a mapping."""


@dataclass(frozen=True)
class Mutant:
    """A wrong twin.

    Args:
        label: the statement whose evidence runs.
        change: what is wrong, in words.
        swaps: makes the wrong values; called when the mutant is installed.
        killed_by: the grades that run; each is expected to be lost.
    """

    label: str
    change: str
    swaps: Callable[[], tuple[Swap, ...]]
    killed_by: tuple[Grade, ...]


def killing_grades(mutant: Mutant) -> tuple[Grade, ...]:
    """Install the mutant, run the evidence that it names, and return the grades lost; empty: it survives.

    Raises:
        ValueError: no statement has its label, or the statement has no evidence of a grade that it names.
    """
    if mutant.label not in STATEMENTS:
        raise ValueError(f"a mutant of {mutant.label!r}, which is no statement")
    missing = set(mutant.killed_by) - {"symbolic", *CHECKS[mutant.label]}
    if missing:
        raise ValueError(f"a mutant of {mutant.label}: there is no evidence of the grades {sorted(missing)}")
    with _installed(mutant.swaps()):
        return tuple(grade for grade in mutant.killed_by if not _survives(mutant.label, grade))


def _survives(label: str, grade: Grade) -> bool:
    """Whether a wrong statement earns the grade; what cannot be computed for it, but for the right one, is lost."""
    try:
        return earns(label, grade)
    except (ValueError, ArithmeticError, RuntimeError):
        return False


def earns(label: str, grade: Grade) -> bool:
    """True iff the statement, as it stands now, earns the grade in a small run."""
    outcome = derivation_outcome(label) if grade == "symbolic" else CHECKS[label][grade](MUTATION_PROFILE)
    return outcome.earned


def wrong_bound(label: str, change: str, bound: Callable[[sympy.Expr], sympy.Expr], *killed_by: Grade) -> Mutant:
    """The statement with another right side, made from the right one."""

    def swaps() -> tuple[Swap, ...]:
        relation = STATEMENTS[label].relation
        wrong = type(relation)(relation.lhs, bound(relation.rhs), evaluate=False)
        return ((STATEMENTS, label, replace(STATEMENTS[label], relation=wrong)),)

    return Mutant(label, change, swaps, killed_by)


def wrong_step(label: str, change: str, steps: Callable[[], Sequence[Step]]) -> Mutant:
    """The statement with wrong steps in its derivation; of the right ones only those that conclude remain."""

    def swaps() -> tuple[Swap, ...]:
        conclusions = (step for step in STATEMENTS[label].derivation if step.concludes is not None)
        return ((STATEMENTS, label, replace(STATEMENTS[label], derivation=(*steps(), *conclusions))),)

    return Mutant(label, change, swaps, ("symbolic",))


@contextmanager
def _installed(swaps: Sequence[Swap]) -> Iterator[None]:
    # A statement that is first looked at now would be built from the wrong values, and stay wrong.
    STATEMENTS.build()
    right = [(target, key, target[key]) for target, key, _ in swaps]
    # Certificates are kept by the name of their class, which a mutant may have redefined.
    certified_cases.cache_clear()
    try:
        for target, key, wrong in swaps:
            target[key] = wrong
        yield
    finally:
        for target, key, value in right:
            target[key] = value
        certified_cases.cache_clear()
