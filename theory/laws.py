"""What does Top-k leave behind of a vector drawn from a known law? Exact formulas, their limits, where rungs fail."""

from sparsync.theory.statement import Statement

STATEMENTS: dict[str, Statement] = {}
"""The statements of this file, by label."""
