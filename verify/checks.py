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
)
from sparsync.verify.outcome import Check, Grade

CHECKS: dict[str, dict[Grade, Check]] = {
    **contraction_checks.CHECKS,
    **shape_checks.CHECKS,
    **law_checks.CHECKS,
    **selector_checks.CHECKS,
    **feedback_checks.CHECKS,
    **steady_state_checks.CHECKS,
    **rate_checks.CHECKS,
    **delay_checks.CHECKS,
}
"""Checks by label and grade."""
