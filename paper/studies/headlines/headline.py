"""What became of a claim? It is reproduced or not, inconclusive, or nothing here compares with it.

Of some publications we know the abstract alone, and their rules as they were described to us: what is judged then is
the rule as described, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paper.comparisons import UNKNOWN

REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE = "reproduced", "not reproduced", "not comparable"
HOLDS, FAILS, OPEN = (
    "holds for the rule as described",
    "does not hold for the rule as described",
    "inconclusive for the rule as described",
)
"""In their place where the abstract alone is known: a test of that rule, and of nothing that was published."""
VERDICTS = (REPRODUCED, NOT_REPRODUCED, UNKNOWN, HOLDS, FAILS, OPEN, NOT_COMPARABLE)
"""In the order in which they are counted."""
NoYes = bool | None
"""None: inconclusive, as the intervals over the seeds leave it open, or as there are too few seeds."""


@dataclass(frozen=True)
class Headline:
    """A claim and what became of it.

    Args:
        source: key of the bibliography.
        claim: in LaTeX, as reported to us.
        ours: what was measured, in LaTeX.
        holds: is the claimed relation there? None instead of a function where nothing comparable can be measured.
        reason: why, in LaTeX.
        is_described: whether the abstract alone is known, and the rule from a description.
        document: the paper that speaks of it.
    """

    source: str
    claim: str
    ours: Callable[[Path], str]
    holds: Callable[[Path], NoYes] | None
    reason: str
    is_described: bool = False
    document: str = "waiting"

    def verdict(self, data_folder: Path) -> str:
        """In words."""
        if self.holds is None:
            return NOT_COMPARABLE
        held = self.holds(data_folder)
        if self.is_described:
            return {True: HOLDS, False: FAILS, None: OPEN}[held]
        return {True: REPRODUCED, False: NOT_REPRODUCED, None: UNKNOWN}[held]
