"""What does a threshold rule keep, how many counts does it need, and where does the released refinement end?"""

from sparsync.theory.statement import Statement

STATEMENTS: dict[str, Statement] = {}
"""The statements of this file, by label."""
