"""What is the exact worst-case rate of error feedback on smooth strongly convex functions?"""

from sparsync.theory.statement import Statement

STATEMENTS: dict[str, Statement] = {}
"""The statements of this file, by label."""
