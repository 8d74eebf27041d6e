"""The reproduction report: every claim with the record's number, yours, and a verdict; as a table and as a page.

python -m paper.report --data-folder build/quick/data --output paper/generated/reproduction.md
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from paper.claims import CLAIMS
from paper.results import each_read_once, write_text
from paper.verdicts import Judgement, Verdict, judged
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.provenance import write_json

RECORD = Path("paper", "data")
"""The tracked results, seen from the checkout's root."""
PLAIN_WIDTH = 160
_COLUMNS = ("claim", "said in", "recorded", "yours", "verdict")
_COLOURS = {
    Verdict.REPRODUCED: "green",
    Verdict.NOT_REPRODUCED: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.NOT_RUN: "dim",
}


@each_read_once()
def judgements(data_folder: Path, record_folder: Path = RECORD) -> list[Judgement]:
    """Every claim, judged.

    Raises:
        ValueError: a result lacks a field.
    """
    return [judged(claim, record_folder=record_folder, data_folder=data_folder) for claim in CLAIMS]


def page(found: Sequence[Judgement]) -> str:
    """The report in Markdown."""
    rows = "".join(f"| {' | '.join(_cells(judgement))} |\n" for judgement in found)
    return (
        "# Reproduction report\n\n"
        "Numbers in brackets are 95 % intervals, of Student's t over paired seeds; numbers without are exact. A claim "
        "is reproduced where its whole interval obeys the relation, not reproduced where the whole interval breaks "
        "it, else inconclusive.\n\n"
        f"{summary(found)}.\n\n| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n{rows}"
    )


def summary(found: Sequence[Judgement]) -> str:
    """`9 reproduced, 1 not reproduced, 3 inconclusive`: every verdict that was given."""
    counts = Counter(judgement.verdict for judgement in found)
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])


def _cells(judgement: Judgement) -> tuple[str, ...]:
    claim = judgement.claim
    shown = (claim.shown(judgement.recorded), claim.shown(judgement.found))
    return (claim.text, claim.said_in, *shown, judgement.verdict.value)


def print_table(found: Sequence[Judgement], console: Console) -> None:
    """The report on a terminal."""
    table = Table(*_COLUMNS, title="reproduction report")
    for judgement in found:
        *cells, verdict = _cells(judgement)
        table.add_row(*cells, f"[{_COLOURS[judgement.verdict]}]{verdict}[/]")
    console.print(table)
    console.print(summary(found), markup=False)


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, or results that lack a field.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.report", description="Judge every claim on your results.")
    parser.add_argument("--data-folder", type=Path, required=True, help="where your results are")
    parser.add_argument("--record-folder", type=Path, default=RECORD, help="the record to compare with")
    parser.add_argument(
        "--output", type=Path, required=True, help="the page to write, in Markdown; verdicts.json goes beside it"
    )
    options = parser.parse_args(arguments)
    try:
        found = judgements(options.data_folder, options.record_folder)
        write_text(options.output, page(found))
        verdicts = {judgement.claim.name: judgement.verdict.value for judgement in found}
        write_json(options.output.with_name("verdicts.json"), verdicts)
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error
    console = Console()
    print_table(found, console if console.is_terminal else Console(width=PLAIN_WIDTH))


if __name__ == "__main__":
    main()
