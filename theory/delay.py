"""What may be late, and how late? Delayed descent, bounded staleness and the virtual iterate."""

from sparsync.theory.statement import Statement

STATEMENTS: dict[str, Statement] = {}
"""The statements of this file, by label."""
