"""Which evidence does each statement have, besides its derivation? One file per family of statements, merged here.

A new statement adds its checks to the `CHECKS` of its family's file; `verify/evidence.py` runs them all. Ours.
"""

from sparsync.verify import (
    contraction_checks,
    delay_checks,
    feedback_checks,
    law_checks,
    rate_checks,
    selector_checks,
    shape_checks,
    steady_state_checks,
    synchronisation_checks,
)
from sparsync.verify.outcome import Check, Grade

CHECK_MODULES = (
    contraction_checks,
    shape_checks,
    law_checks,
    selector_checks,
    feedback_checks,
    steady_state_checks,
    rate_checks,
    delay_checks,
    synchronisation_checks,
)
"""The file of each family, in the order of the families."""

CHECKS: dict[str, dict[Grade, Check]] = {
    label: checks for module in CHECK_MODULES for label, checks in module.CHECKS.items()
}
"""Checks by label and grade."""
