"""Which statements are there? One dict per family, one line per statement; all evidence and tables run over them.

Building a statement builds formulas only; its derivation runs when `Step.holds` is called.
"""

from sparsync.theory import (
    contraction,
    delay,
    feedback,
    laws,
    selectors,
    shapes,
    steady_state,
    synchronisation,
    tight_rates,
)
from sparsync.theory.statement import Statement

FAMILIES: dict[str, dict[str, Statement]] = {
    "Contraction": contraction.STATEMENTS,
    "Shapes": shapes.STATEMENTS,
    "Laws": laws.STATEMENTS,
    "Selectors": selectors.STATEMENTS,
    "Error feedback": feedback.STATEMENTS,
    "Steady state": steady_state.STATEMENTS,
    "Tight rates": tight_rates.STATEMENTS,
    "Delay": delay.STATEMENTS,
    "Synchronisation": synchronisation.STATEMENTS,
}
"""Families by title, in the order of the paper."""

STATEMENTS: dict[str, Statement] = {
    label: statement for family in FAMILIES.values() for label, statement in family.items()
}
"""Every statement by label."""
