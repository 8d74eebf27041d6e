"""Is every hypothesis needed? Each condition of a domain dropped and widened, each number assumed made a little other.

The twins follow from the statements by rules. Each must lose a grade, unless its module's twin in `verify/` says why
not: `EDGES` names the conditions that are `Unneeded`, `SLACK` the assumed numbers that may be a little other. Ours.
"""

from collections.abc import Iterator
from dataclasses import replace

import sympy
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

from sparsync.theory.language.given import Given, Sign
from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.ledger.mutation import Mutant, Swap
from sparsync.verify.ledger.remarks import remarks, slack
from sparsync.verify.tools.edges import Unneeded, widened
from sparsync.verify.tools.outcome import Grade

SMALLER, LARGER = sympy.Rational(15, 16), sympy.Rational(17, 16)
FACTORS: dict[Sign, tuple[sympy.Rational, ...]] = {"≤": (LARGER,), "≥": (SMALLER,), "=": (SMALLER, LARGER)}
"""What an assumed number is multiplied by, by its sign: what was excluded is admitted, what was chosen is another."""


def domain_mutants(label: str) -> Iterator[tuple[str, Mutant]]:
    """A statement without one condition of its domain, and with it widened, by name."""
    statement = STATEMENTS[label]
    unneeded = [remark for remark in remarks(label) if isinstance(remark, Unneeded)]
    dropped = {remark.condition for remark in unneeded if not remark.widened}
    for place, condition in enumerate(statement.domain, start=1):
        if str(condition) in dropped:
            continue
        yield f"{label}_without_{place}", _with_domain(statement, place, (), f"without {condition}")
        if _widens(condition) and str(condition) not in {remark.condition for remark in unneeded}:
            other = widened(condition)
            yield f"{label}_widened_{place}", _with_domain(statement, place, (other,), f"{other} for {condition}")


def assumption_mutants(label: str) -> Iterator[tuple[str, Mutant]]:
    """A statement with one assumed number made a little other, by name."""
    statement, excused = STATEMENTS[label], slack(label)
    for place, assumption in enumerate(statement.assumptions):
        if isinstance(assumption, Given) and assumption.name not in excused:
            for factor in FACTORS[assumption.sign]:
                other = replace(assumption, right=factor * assumption.right)
                before, after = statement.assumptions[:place], statement.assumptions[place + 1 :]
                twin = replace(statement, assumptions=(*before, other, *after))
                name = f"{label}_{assumption.name}_times_{factor.p}_{factor.q}"
                yield name, _twin(twin, f"{assumption.name} times {factor}", tuple(CHECKS[label]))


def _with_domain(statement: Statement, place: int, others: tuple[Boolean, ...], change: str) -> Mutant:
    domain = (*statement.domain[: place - 1], *others, *statement.domain[place:])
    return _twin(replace(statement, domain=domain), change, ("symbolic",))


def _twin(twin: Statement, change: str, killed_by: tuple[Grade, ...]) -> Mutant:
    def swaps() -> tuple[Swap, ...]:
        return ((STATEMENTS, twin.label, twin),)

    return Mutant(twin.label, change, swaps, killed_by)


def _widens(condition: Boolean) -> bool:
    return isinstance(condition, Relational) and not isinstance(condition, sympy.Eq | sympy.Ne)


MUTANTS: dict[str, Mutant] = {
    name: mutant for label in STATEMENTS for name, mutant in (*domain_mutants(label), *assumption_mutants(label))
}
"""By label and what is other."""
