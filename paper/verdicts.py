"""Is what README and the paper say found again? Claims as relations, judged on the record and on a run of yours.

A claim bounds a number that is estimated from result files. It is reproduced where the whole interval obeys the bounds,
not reproduced where the whole interval breaks one, and inconclusive otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from paper.results import each_read_once
from sparsync.verify.tools.intervals import Estimate

_NO_LESS = math.nextafter(0, 1)
"""The bound of a number that must be positive."""


class Verdict(Enum):
    """What an estimate says of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"


class NotMeasuredError(Exception):
    """The results are there, but of a run too small to say anything of the claim."""


@dataclass(frozen=True)
class Claim:
    """A relation that README or the paper states.

    Args:
        name: short, unique.
        text: the relation in words, with its bound.
        said_in: where: README, a page of paper/docs, the abstract, or a section of the paper.
        estimate: the number, from a folder of results; it raises FileNotFoundError where they are not there, and
            NotMeasuredError where the run was too small.
        least: the number is at least this.
        most: the number is at most this.
        statements: labels of the statements that it rests on; none where it is of the whole ledger, or of runs alone.
    """

    name: str
    text: str
    said_in: str
    estimate: Callable[[Path], Estimate]
    least: float = -math.inf
    most: float = math.inf
    statements: tuple[str, ...] = ()

    def verdict(self, estimate: Estimate | None) -> Verdict:
        """What an estimate says of the claim; None: there is none."""
        if estimate is None:
            return Verdict.NOT_RUN
        if self.least <= estimate.low and estimate.high <= self.most:
            return Verdict.REPRODUCED
        if estimate.high < self.least or estimate.low > self.most:
            return Verdict.NOT_REPRODUCED
        return Verdict.INCONCLUSIVE

    @property
    def tolerance(self) -> str:
        """What the number must be: `at least 0.5`, `−1 to 1`."""
        if self.least == _NO_LESS:
            return "above 0"
        if self.least == -math.inf:
            return f"at most {_number(self.most)}"
        return f"at least {_number(self.least)}" + (f", at most {_number(self.most)}" if self.most < math.inf else "")

    def shown(self, estimate: Estimate | None) -> str:
        """`0.12 [−0.30, 0.54]`, or the number alone where it is exact."""
        if estimate is None:
            return "–"
        if estimate.low == estimate.high:
            return _number(estimate.value)
        value, low, high = (_number(part, decimals=2) for part in (estimate.value, estimate.low, estimate.high))
        return f"{value} [{low}, {high}]"


@dataclass(frozen=True)
class Judgement:
    """A claim with the numbers of the record and of a run, and the verdict on the run."""

    claim: Claim
    recorded: Estimate | None
    found: Estimate | None

    @property
    def verdict(self) -> Verdict:
        """On the run."""
        return self.claim.verdict(self.found)


def judged(claim: Claim, *, record_folder: Path, data_folder: Path) -> Judgement:
    """The claim judged on a folder of results, beside the record.

    Raises:
        ValueError: a file is there and lacks a field.
    """
    return Judgement(claim, _estimated(claim, record_folder), _estimated(claim, data_folder))


@each_read_once()
def _estimated(claim: Claim, folder: Path) -> Estimate | None:
    try:
        return claim.estimate(folder)
    except (FileNotFoundError, NotMeasuredError):
        return None


def _number(value: float, *, decimals: int | None = None) -> str:
    """So many decimals, or three significant digits at most and no point where none is needed; a true minus sign."""
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    if decimals is not None:
        text = f"{value:.{decimals}f}"
    else:
        text = f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.3g}"
    return text.replace("-", "−")
