"""What does one kind of evidence say about one statement? A grade, whether it was earned, and the numbers behind it.

A check is a function from the size of the run to an `Outcome`; `CHECKS` in `verify/ledger/checks.py` names the checks
of each statement by grade, `verify/ledger/evidence.py` runs them. Ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Grade = Literal["formal", "symbolic", "smt", "ball", "rational", "numeric", "property", "simulated", "trained"]
GRADES: tuple[Grade, ...] = (
    "formal",
    "symbolic",
    "smt",
    "ball",
    "rational",
    "numeric",
    "property",
    "simulated",
    "trained",
)
"""Every grade, strongest first."""
EXACT_GRADES = frozenset({"formal", "symbolic", "smt", "ball", "rational"})
"""The grades that rest on no floating-point tolerance and on no sample."""


@dataclass(frozen=True)
class Profile:
    """How much a run does.

    Args:
        dimensions: the values of d for which every k is solved and certified.
        examples_count: hypothesis examples per statement.
        scales_bounds: the ledger's mutants include the twins of every statement with a scaled bound.
    """

    dimensions: tuple[int, ...]
    examples_count: int
    scales_bounds: bool = True


PROFILES: dict[str, Profile] = {
    # The scaled twins are killed for the record, and by the slow tests.
    "smoke": Profile(dimensions=tuple(range(1, 7)), examples_count=50, scales_bounds=False),
    "quick": Profile(dimensions=(*range(1, 11), 20), examples_count=100, scales_bounds=False),
    "record": Profile(dimensions=(*range(1, 21), 40), examples_count=500),
    "full": Profile(dimensions=(*range(1, 41), 64), examples_count=5000),
}
"""By name."""


@dataclass(frozen=True)
class Outcome:
    """Whether a grade was earned, and the numbers behind it as JSON.

    Args:
        earned: the evidence holds.
        detail: counts end in `_count`; every value is JSON.
    """

    earned: bool
    detail: Mapping[str, object]


Check = Callable[[Profile], Outcome]
"""One kind of evidence for one statement."""
