"""Write the pages of `paper/docs/`: the ledger, every statement with its proof, what kernel, hook and variants cost.

    python -m paper.write_docs --data-folder paper/data --docs-folder paper/docs

Rows of the ledger come from `FAMILIES`, grades from `verify.json`, timings from `kernels-*.json`, `wire.json` and
`hook_cost.json`, what variants of error feedback lose from `variants.json`, what links cost from `links.json` and
`link_accuracy_*.json`, what taking turns costs from `slices.json`, how claims are reproduced from `CLAIMS`.
In the pages of `BLOCKS` the text between two marks is replaced, the rest is kept; `proofs.md` is written whole.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from paper.kernel_page import timings_markdown, wire_markdown
from paper.reproduction_page import claims_markdown, full_markdown
from paper.results import each_read_once, write_text
from paper.statements.proof_page import proofs_markdown
from paper.statements.proofs import checks_file
from paper.statements.tables import all_grades
from paper.studies.elastic import slices_markdown
from paper.studies.hook_cost import hook_cost_markdown
from paper.studies.links.page import links_markdown
from paper.studies.original.study import original_markdown
from paper.variants_page import variants_markdown
from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import FAMILIES
from sparsync.verify.tools.interrupts import interrupt_as_line

PROOFS = "proofs.md"
"""The page of proofs, beside that of the ledger."""
EXAMPLES = Path(__file__).resolve().parents[1] / "experiments" / "examples"
CHANGED_EXAMPLES = ("hook.py", "local_steps.py", "own_loop.py", "hsdp.py", "hsdp_own_loop.py")
"""Beside `experiments/examples/plain.py`, which they change."""
_HEAD = "| statement | what it is about | checks | evidence |\n|---|---|---|---|\n"


def ledger_markdown(data_folder: Path) -> str:
    """One table per family, folded: label linked to its proof on the page, title, link to its checks, grades.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement, or a statement has no checks.
    """
    earned = all_grades(data_folder)
    return "\n".join(
        f"<details><summary>{title}: {_counted(family)}</summary>\n\n{_HEAD}"
        + "".join(_row(family[label], earned[label]) for label in family)
        + "\n</details>\n"
        for title, family in FAMILIES.items()
    )


def examples_markdown(_data_folder: Path) -> str:
    """What each example changes in the plain program, line by line.

    Raises:
        FileNotFoundError: an example is missing.
    """
    plain = (EXAMPLES / "plain.py").read_text(encoding="utf-8").splitlines()
    shown = []
    for name in CHANGED_EXAMPLES:
        changed = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
        lines = unified_diff(plain, changed, "plain.py", name, n=1, lineterm="")
        shown.append(f"### `{name}`\n\n```diff\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(shown)


BLOCKS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "ledger": ("ledger.md", ledger_markdown),
    "timings": ("kernels.md", timings_markdown),
    "messages": ("kernels.md", wire_markdown),
    "cost of the hook": ("training.md", hook_cost_markdown),
    "variants": ("training.md", variants_markdown),
    "slices": ("training.md", slices_markdown),
    "links": ("training.md", links_markdown),
    "examples": ("examples.md", examples_markdown),
    "claims": ("reproducing.md", claims_markdown),
    "full": ("reproducing.md", full_markdown),
    "original": ("original.md", original_markdown),
}
"""By the name in the marks: the page, and what stands between them, from the data folder."""


def marks(name: str) -> tuple[str, str]:
    """The lines before and behind a block."""
    return f"<!-- {name}: written by paper/write_docs.py -->", f"<!-- end of {name} -->"


def updated(page: str, name: str, block: str) -> str:
    """The text with everything between the marks of a block replaced.

    Raises:
        ValueError: the marks are not there, once each and in order.
    """
    first, last = marks(name)
    before, start, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not (start and end) or first in after or last in after or first in rest:
        raise ValueError(f"the page of {name} needs the marks {first!r} and {last!r}, once each and in this order")
    return f"{before}{first}\n{block}{last}{after}"


@each_read_once()
def all_pages(data_folder: Path, docs_folder: Path) -> dict[str, str]:
    """The text of every page, by file name.

    Raises:
        FileNotFoundError: results or pages are missing.
        ValueError: marks are missing, or results are incomplete.
    """
    pages = {page: (docs_folder / page).read_text(encoding="utf-8") for page, _ in BLOCKS.values()}
    for name, (page, markdown) in BLOCKS.items():
        pages[page] = updated(pages[page], name, markdown(data_folder))
    return pages | {PROOFS: proofs_markdown(data_folder)}


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, missing results, or a page without marks.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.write_docs", description="Write the pages of paper/docs.")
    parser.add_argument("--data-folder", type=Path, required=True, help="where verify.json and the timings are")
    parser.add_argument("--docs-folder", type=Path, required=True, help="where the pages are that are rewritten")
    options = parser.parse_args(arguments)
    try:
        for page, text in all_pages(options.data_folder, options.docs_folder).items():
            write_text(options.docs_folder / page, text)
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


def _counted(family: Mapping[str, Statement]) -> str:
    """How many theorems and definitions a family has."""
    definitions = sum(statement.kind == "definition" for statement in family.values())
    theorems = f"{len(family) - definitions} theorems"
    return f"{theorems}, {definitions} definition{'s' * (definitions != 1)}" if definitions else theorems


def _row(statement: Statement, earned: Sequence[str]) -> str:
    label = statement.label
    kind = "Definition: " if statement.kind == "definition" else ""
    title = f"{kind}{statement.title}".replace("|", r"\|")
    cells = (f"[`{label}`]({PROOFS}#{label})", title, f"[checks](../../{checks_file(label)})")
    return f"| {' | '.join(cells)} | {_grades(statement, earned)} |\n"


def _grades(statement: Statement, earned: Sequence[str]) -> str:
    """The grades, and how many steps of the derivation are argued."""
    argued = sum(bool(step.argued) for step in statement.derivation)
    words = f"symbolic ({argued} of {len(statement.derivation)} steps argued)" if argued else "symbolic"
    return ", ".join(words if grade == "symbolic" else grade for grade in earned)


if __name__ == "__main__":
    main()
