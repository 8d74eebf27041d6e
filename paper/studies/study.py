"""What does one study bring to the paper? Macros, figures and tables, and the result files that they are made from.

A study's file in this folder exports one `STUDY`, and `registry.py` lists it; nothing else of the paper names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

Macro = Callable[[Path], str]
"""A data folder to LaTeX: a macro's replacement text, or a table."""
Draw = Callable[[Path], Figure]
"""A data folder to a figure."""


@dataclass(frozen=True)
class Study:
    """What the paper prints of one study; any part may be empty.

    Args:
        macros: by the name without the leading `\\sp`.
        figures: by file name, without its ending.
        tables: by file name.
        results: names of the result files that are read, see `results` in `paper/results.py`.
        remade: those of them that its figures and tables show; empty: all. See `paper/commands.py`.
        apart: names of figures and tables that show others than `remade`, with those.
    """

    macros: Mapping[str, Macro] = field(default_factory=dict)
    figures: Mapping[str, Draw] = field(default_factory=dict)
    tables: Mapping[str, Macro] = field(default_factory=dict)
    results: tuple[str, ...] = ()
    remade: tuple[str, ...] = ()
    apart: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
