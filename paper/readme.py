"""Write ledger and timings into README.md, and every statement with its proof into `paper/proofs.md` beside it.

    python -m paper.readme --data-folder paper/data --readme README.md

Rows of the ledger come from `FAMILIES`, grades from `verify.json`, timings from `kernels-*.json`; the text between the
two marks of a block is replaced, the rest is kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from paper.results import write_text
from paper.statements.proofs import checks_file, proofs_markdown
from paper.statements.tables import all_grades
from paper.studies.kernels import timings_markdown
from sparsync.theory.statements import FAMILIES
from sparsync.verify.tools.interrupts import interrupt_as_line

PROOFS = Path("paper", "proofs.md")
"""The page of proofs, seen from the folder of README."""
_HEAD = "| statement | what it is about | checks | evidence |\n|---|---|---|---|\n"


def ledger_markdown(data_folder: Path) -> str:
    """One table per family, folded: label linked to its proof on the page, title, link to its checks, grades.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement, or a statement has no checks.
    """
    earned = all_grades(data_folder)
    return "\n".join(
        f"<details><summary>{title}: {len(family)} statements</summary>\n\n{_HEAD}"
        + "".join(_row(label, family[label].title, earned[label]) for label in family)
        + "\n</details>\n"
        for title, family in FAMILIES.items()
    )


BLOCKS: dict[str, Callable[[Path], str]] = {"timings": timings_markdown, "ledger": ledger_markdown}
"""What is written into README, each from the data folder and between the marks of its name."""


def marks(name: str) -> tuple[str, str]:
    """The lines before and behind a block."""
    return f"<!-- {name}: written by paper/readme.py -->", f"<!-- end of {name} -->"


def updated(readme: str, name: str, block: str) -> str:
    """The text with everything between the marks of a block replaced.

    Raises:
        ValueError: the marks are not there, once each and in order.
    """
    first, last = marks(name)
    before, start, rest = readme.partition(first)
    _, end, after = rest.partition(last)
    if not (start and end) or first in after or last in after or first in rest:
        raise ValueError(f"README needs the marks {first!r} and {last!r}, once each and in this order")
    return f"{before}{first}\n{block}{last}{after}"


def all_updated(readme: str, data_folder: Path) -> str:
    """The text with every block replaced.

    Raises:
        FileNotFoundError: results are missing.
        ValueError: marks are missing, or results are incomplete.
    """
    for name, markdown in BLOCKS.items():
        readme = updated(readme, name, markdown(data_folder))
    return readme


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, missing results, or a README without marks.
    """
    parser = argparse.ArgumentParser(
        prog="python -m paper.readme", description="Write ledger and timings into README.md."
    )
    parser.add_argument("--data-folder", type=Path, required=True, help="where verify.json and kernels-*.json are")
    parser.add_argument("--readme", type=Path, required=True, help="the file to rewrite; proofs go to paper/ beside it")
    options = parser.parse_args(arguments)
    try:
        text = all_updated(options.readme.read_text(encoding="utf-8"), options.data_folder)
        proofs = proofs_markdown(options.data_folder)
        write_text(options.readme, text)
        write_text(options.readme.parent / PROOFS, proofs)
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


def _row(label: str, title: str, earned: Sequence[str]) -> str:
    cells = (f"[`{label}`]({PROOFS.as_posix()}#{label})", title.replace("|", r"\|"), f"[checks]({checks_file(label)})")
    return f"| {' | '.join(cells)} | {', '.join(earned)} |\n"


if __name__ == "__main__":
    main()
