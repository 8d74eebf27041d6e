"""Write the ledger into README.md: every statement with its proof, its checks and the grades it earned.

    python -m paper.readme --data-folder paper/data --readme README.md

Rows come from `FAMILIES`, grades from `verify.json`; the text between the two marks is replaced, the rest is kept.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from paper.results import write_text
from paper.study_facts import grades
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.checks import CHECK_MODULES

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- ledger: written by paper/readme.py -->", "<!-- end of ledger -->"
_HEAD = "| statement | what it is about | checks | evidence |\n|---|---|---|---|\n"


def ledger_markdown(data_folder: Path) -> str:
    """One table per family, folded: label linked to its proof, title, link to its checks, grades.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement, or a statement has no function or no checks.
    """
    earned = grades(data_folder)
    missing = [label for label in STATEMENTS if label not in earned]
    if missing:
        raise ValueError(f"{data_folder / 'verify.json'}: no statement {', '.join(missing)}")
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, a missing ledger, or a README without marks.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.readme", description="Write the ledger into README.md.")
    parser.add_argument("--data-folder", type=Path, required=True, help="where verify.json is")
    parser.add_argument("--readme", type=Path, required=True, help="the file to rewrite")
    options = parser.parse_args(arguments)
    try:
        text = updated(options.readme.read_text(encoding="utf-8"), ledger_markdown(options.data_folder))
        write_text(options.readme, text)
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


def _row(label: str, title: str, earned: Sequence[str]) -> str:
    cells = (f"[`{label}`]({proof_file(label)})", title.replace("|", r"\|"), f"[checks]({checks_file(label)})")
    return f"| {' | '.join(cells)} | {', '.join(earned)} |\n"


def proof_file(label: str) -> str:
    """The file of `theory/` that derives a statement: its function's, or else the first that names the label.

    Raises:
        ValueError: there is none.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "theory").glob("*.py"))}
    for pattern in (rf"^def {label}\(", rf'label="{label}"', rf'"{label}"'):
        for path, text in texts.items():
            if re.search(pattern, text, flags=re.MULTILINE):
                return f"theory/{path.name}"
    raise ValueError(f"no file of theory/ holds the statement {label!r}")


def checks_file(label: str) -> str:
    """The file of `verify/` that holds a statement's checks.

    Raises:
        ValueError: there is none.
    """
    for module in CHECK_MODULES:
        if label in module.CHECKS:
            return f"verify/{module.__name__.rpartition('.')[2]}.py"
    raise ValueError(f"no file of verify/ holds checks of {label!r}")


if __name__ == "__main__":
    main()
