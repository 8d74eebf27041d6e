"""What does error feedback keep back, and what does it cost in the rate?"""

from sparsync.theory.statement import Statement

STATEMENTS: dict[str, Statement] = {}
"""The statements of this file, by label."""
