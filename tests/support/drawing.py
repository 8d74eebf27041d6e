"""What a figure of the paper shows, and a macro of it says, in numbers."""

from __future__ import annotations

import re

import numpy as np
from matplotlib.axes import Axes


def drawn_line(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    """The places and heights of the curve with this label."""
    line = next(line for line in axes.get_lines() if line.get_label() == label)
    return np.asarray(line.get_xdata(), float).tolist(), np.asarray(line.get_ydata(), float).tolist()


def drawn_lines(axes: Axes, label: str) -> list[list[list[float]]]:
    """The points, place and height, of every curve with this label."""
    drawn = [line for line in axes.get_lines() if line.get_label() == label]
    return [np.column_stack([line.get_xdata(), line.get_ydata()]).tolist() for line in drawn]


def macro_number(macro: str) -> float:
    """The number that a macro of the paper shows."""
    found = re.fullmatch(r"\\ensuremath\{(.+)\}", macro)
    assert found is not None
    return float(found[1])


def plain(text: str) -> str:
    """The text without mathematics mode."""
    return re.sub(r"\\ensuremath\{([^{}]*)\}", r"\1", text)


def table_lines(table: str, words: str) -> list[list[str]]:
    """The cells of every line of a table that begins with these words, without the words."""
    rows = [plain(line).removesuffix(" \\\\").split(" & ") for line in table.splitlines()]
    return [cells for first, *cells in rows if first == words]
