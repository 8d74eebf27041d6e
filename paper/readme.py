"""Write the ledger into README.md, and every statement with its proof into `paper/proofs.md` beside it.

    python -m paper.readme --data-folder paper/data --readme README.md

Rows come from `FAMILIES`, grades from `verify.json`; the text between README's two marks is replaced, the rest is kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from paper.proofs import checks_file, proofs_markdown
from paper.results import write_text
from paper.statement_table import all_grades
from sparsync.theory.statements import FAMILIES
from sparsync.verify.interrupts import interrupt_as_line

PROOFS = Path("paper", "proofs.md")
"""The page of proofs, seen from the folder of README."""
START, END = "<!-- ledger: written by paper/readme.py -->", "<!-- end of ledger -->"
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


def updated(readme: str, ledger: str) -> str:
    """The text with everything between the marks replaced.

    Raises:
        ValueError: the marks are not there, once each and in order.
    """
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end) or START in after or END in after or START in rest:
        raise ValueError(f"README needs the marks {START!r} and {END!r}, once each and in this order")
    return f"{before}{START}\n{ledger}{END}{after}"


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, a missing ledger, or a README without marks.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.readme", description="Write the ledger into README.md.")
    parser.add_argument("--data-folder", type=Path, required=True, help="where verify.json is")
    parser.add_argument("--readme", type=Path, required=True, help="the file to rewrite; proofs go to paper/ beside it")
    options = parser.parse_args(arguments)
    try:
        text = updated(options.readme.read_text(encoding="utf-8"), ledger_markdown(options.data_folder))
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
