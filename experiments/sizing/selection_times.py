"""How long does selection take on this machine? Read from what `make bench` or `make gpu` measured.

Between two lengths that were measured seconds lie on a straight line; below the shortest they are those of the
shortest, and beyond the longest they grow in proportion. Ours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SelectionTimes:
    """Seconds of one call by length of the vector.

    Args:
        hardware: what was measured.
        points: lengths and seconds, ascending in length.
    """

    hardware: str
    points: tuple[tuple[int, float], ...]

    def seconds(self, length: int) -> float:
        """Of selecting from so many entries; 0 of none."""
        if length <= 0:
            return 0.0
        (shortest, least), (longest, most) = self.points[0], self.points[-1]
        if length <= shortest:
            return least
        for (before, start), (after, end) in pairwise(self.points):
            if length <= after:
                return start + (end - start) * (length - before) / (after - before)
        return most * length / longest


def read_selection_times(path: Path, rule: str = "top_k", density: float = 0.001) -> SelectionTimes:
    """The later calls of a rule on Gaussian vectors.

    Args:
        path: `kernels-….json`.
        rule: that the fused kernel has.
        density: at which it was timed.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no such record, or has no such row.
    """
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rows: Sequence[dict[str, Any]] = record["rows"]
        wanted = ("gaussian", "vector", f"{rule}, warm", density)
        found = {
            int(row["dimension"]): float(row["best_seconds"])
            for row in rows
            if (row["name"], row["granularity"], row["contender"], row["density"]) == wanted
        }
        hardware = str(record["hardware"])
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no record of kernels, as `make bench` writes it: {error!r}") from error
    if not found:
        raise ValueError(f"{path} has no times of {rule!r} on Gaussian vectors at density {density:g}")
    return SelectionTimes(hardware, tuple(sorted(found.items())))
