"""Which command makes a figure or a table anew? Written into captions by `\\reproduce`, and into pages.

Goals of make run in their order: the timings first, then studies, which end by drawing; where there are none, `show`
draws. What the default profile leaves out needs `PROFILE=record`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from paper import latex
from paper.results import LEFT_OUT, command
from paper.studies.registry import STUDIES

_DEFAULT_PROFILE = "quick"
_LEDGER = "verify"
"""Checked by a whole `make reproduce`, and by a goal of its own."""


def remaking(results: Sequence[str]) -> str:
    """The command that finds these results and draws what is made from them.

    Raises:
        ValueError: there are none.
    """
    if not results:
        raise ValueError("no results, so nothing makes them")
    goals = {name: "verify" if name == _LEDGER else command(name).removeprefix("make ") for name in results}
    studies = [name for name, goal in goals.items() if goal == "reproduce"]
    others = dict.fromkeys(goal for goal in goals.values() if goal != "reproduce")
    words = ["make", *others, "reproduce" if studies else "show"]
    if studies:
        words.append(f"ONLY={studies[0]}" if len(studies) == 1 else f'ONLY="{" ".join(studies)}"')
    if set(results) & set(LEFT_OUT[_DEFAULT_PROFILE]):
        words.append("PROFILE=record")
    return " ".join(words)


def commands() -> dict[str, str]:
    """By the name of every figure and table, without its ending."""
    return {
        PurePosixPath(name).stem: remaking(study.apart.get(name) or study.remade or study.results)
        for study in STUDIES.values()
        for name in (*study.figures, *study.tables)
    }


def command_definitions(_data_folder: Path) -> str:
    """LaTeX: `\\reproduce{decays}` prints the command of the figure or table of that name."""
    lines = (
        f"\\expandafter\\def\\csname reproduce:{name}\\endcsname{{{latex.escape(words)}}}\n"
        for name, words in commands().items()
    )
    return "\\newcommand{\\reproduce}[1]{\\texttt{\\csname reproduce:#1\\endcsname}}\n" + "".join(lines)
