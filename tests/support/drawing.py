"""What a figure of the paper shows, and a macro of it says, in numbers."""

from __future__ import annotations

import re

import numpy as np
from matplotlib.axes import Axes


def drawn_line(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    """The places and heights of the curve with this label."""
    line = next(line for line in axes.get_lines() if line.get_label() == label)
    return np.asarray(line.get_xdata(), float).tolist(), np.asarray(line.get_ydata(), float).tolist()


def plain(text: str) -> str:
    """The text without mathematics mode."""
    return re.sub(r"\\ensuremath\{([^{}]*)\}", r"\1", text)


def table_lines(table: str, words: str) -> list[list[str]]:
    """The cells of every line of a table that begins with these words, without the words."""
    rows = [plain(line).removesuffix(" \\\\").split(" & ") for line in table.splitlines()]
    return [cells for first, *cells in rows if first == words]
