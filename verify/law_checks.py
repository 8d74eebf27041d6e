"""What evidence is there for the statements of `theory/laws.py`, besides their derivations?"""

from sparsync.verify.outcome import Check, Grade

CHECKS: dict[str, dict[Grade, Check]] = {}
"""Every check of these statements, by label and grade."""
