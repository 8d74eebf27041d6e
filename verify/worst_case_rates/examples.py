"""The methods that come with the command, to copy and to compare, and what is asked about each. Ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sparsync.verify.worst_case_rates.answers import Asked

FOLDER = Path(__file__).resolve().parents[1] / "methods"
"""Where their files lie."""


@dataclass(frozen=True)
class Example:
    """A method of `verify/methods` and a question.

    Args:
        stem: of its file.
        asked: the question.
    """

    stem: str
    asked: Asked

    @property
    def path(self) -> Path:
        """Its file."""
        return FOLDER / f"{self.stem}.py"


EXAMPLES = (
    Example("gradient_descent", Asked()),
    Example("gradient_descent", Asked(steps=4)),
    Example("convex_descent", Asked(steps=4)),
    Example("non_convex_descent", Asked(steps=3)),
    Example("heavy_ball", Asked()),
    Example("heavy_ball", Asked(steps=3)),
    Example("nesterov", Asked()),
    Example("nesterov", Asked(steps=3)),
    Example("error_feedback", Asked()),
    Example("error_feedback", Asked(search=True)),
    Example("error_feedback_21", Asked()),
    Example("compressed_descent", Asked(search=True)),
    Example("compressed_descent", Asked()),
    Example("decayed_feedback", Asked()),
    Example("two_workers", Asked()),
    Example("two_workers", Asked(search=True)),
)
"""What `--compare` asks without `--method`."""
