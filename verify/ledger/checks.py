"""Which evidence does each statement have, besides its derivation? That of the twin of the module that states it.

The checks of `theory/<family>/<file>.py` are the `CHECKS` of `verify/<family>/<file>.py`; `verify/ledger/evidence.py`
runs them all. Ours.
"""

from importlib import import_module

from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Grade


def checking_module(statement: Statement) -> str:
    """The import name of the module in `verify/` that holds a statement's checks."""
    return statement.module.replace("sparsync.theory.", "sparsync.verify.", 1)


def _checks(label: str, statement: Statement) -> dict[Grade, Check]:
    """A statement's checks, by grade.

    Raises:
        ValueError: the twin of its module has none.
    """
    twin = import_module(checking_module(statement))
    checks: dict[Grade, Check] | None = twin.CHECKS.get(label)
    if not checks:
        raise ValueError(f"{twin.__name__}.CHECKS has no checks of {label!r}, which {statement.module} states")
    return checks


CHECKS: dict[str, dict[Grade, Check]] = {label: _checks(label, statement) for label, statement in STATEMENTS.items()}
"""Checks by label and grade."""
