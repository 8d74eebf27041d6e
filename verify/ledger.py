"""Does every statement still hold? Runs all evidence, prints one row per statement, writes the result as JSON.

    python -m sparsync.verify.ledger --profile smoke|quick|full --output FILE

Exit status 1 if a statement loses a grade that applies to it or a counterexample no longer refutes its wording.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import sympy
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.certificates import CERTIFIED_CLASSES, to_json
from sparsync.verify.contraction_checks import certified_cases
from sparsync.verify.counterexamples import COUNTEREXAMPLES
from sparsync.verify.evidence import Row, collect
from sparsync.verify.outcome import GRADES, PROFILES
from sparsync.verify.provenance import provenance, write_json
from sparsync.verify.worst_case import below_line_rows, convex_rows, worst_cases

PLAIN_WIDTH = 160
"""Columns of the table where the output is not a terminal."""
WRITTEN_DIMENSIONS = (2, 3, 4)
"""The certificates written out in full; all others are checked and counted."""
WORDING_DIMENSION, WORDING_COUNT = 10, 3
"""Where the programmes for the insufficient wordings are solved."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ledger; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m sparsync.verify.ledger", description="Check every statement.")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="quick")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    options = parser.parse_args(arguments)
    console = _console()
    rows = _collect_all(options.profile, console)
    write_json(options.output, report(rows, profile_name=options.profile))
    console.print(_table(rows))
    problems = failures(rows)
    for problem in problems:
        console.print(f"FAILED {problem}", style="bold red", markup=False)
    console.print(f"{len(rows)} statements, {len(COUNTEREXAMPLES)} counterexamples, {len(problems)} failures")
    return 1 if problems else 0


def failures(rows: Sequence[Row]) -> tuple[str, ...]:
    """What went wrong, one line each: lost grades and counterexamples that refute nothing."""
    lost = (f"{row.label}: lost the grade {grade}" for row in rows for grade in row.lost)
    idle = (f"counterexample {name}: refutes nothing" for name, case in COUNTEREXAMPLES.items() if not case.refutes())
    return (*lost, *idle)


def report(rows: Sequence[Row], *, profile_name: str) -> dict[str, object]:
    """The ledger as JSON: provenance, statements with grades and numbers, counterexamples, small certificates."""
    return {
        "profile": profile_name,
        "provenance": provenance(process_count=1),
        "grades": list(GRADES),
        "failures": list(failures(rows)),
        "statements": [_statement_record(row) for row in rows],
        "wordings": _wording_records(),
        "counterexamples": [_counterexample_record(name) for name in COUNTEREXAMPLES],
        "certificates": [
            to_json(certificate)
            for class_name in CERTIFIED_CLASSES
            for _, certificate in certified_cases(class_name, WRITTEN_DIMENSIONS)
        ],
    }


def _statement_record(row: Row) -> dict[str, object]:
    statement = STATEMENTS[row.label]
    return {
        "label": row.label,
        "title": statement.title,
        "bound": _bound_text(row.label),
        "latex": statement.latex(),
        "source": statement.source,
        "grades": list(row.earned),
        "lost_grades": list(row.lost),
        "evidence": {grade: dict(outcome.detail) for grade, outcome in row.outcomes.items()},
    }


def _counterexample_record(name: str) -> dict[str, object]:
    case = COUNTEREXAMPLES[name]
    return {
        "name": name,
        "wording": case.wording,
        "squares": [str(v) for v in case.squares],
        "count": case.count,
        "ratio": str(case.ratio),
        "claimed": str(case.claimed),
        "refutes": case.refutes(),
    }


def _wording_records() -> list[dict[str, object]]:
    """The worst case under the wordings that do not suffice, as the solver finds it."""
    claimed = STATEMENTS["square_convex"].evaluate(d=WORDING_DIMENSION, k=WORDING_COUNT)
    wordings = {"below the zero-based line": below_line_rows, "convex in rank": convex_rows}
    return [
        {
            "wording": wording,
            "dimension": WORDING_DIMENSION,
            "count": WORDING_COUNT,
            "worst_ratio": worst_cases(rows(WORDING_DIMENSION), [WORDING_COUNT])[0].optimum,
            "claimed": claimed,
        }
        for wording, rows in wordings.items()
    ]


def _collect_all(profile_name: str, console: Console) -> list[Row]:
    rows: list[Row] = []
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        for label in progress.track(STATEMENTS, description="statements"):
            rows.append(collect(label, PROFILES[profile_name]))
    return rows


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def _table(rows: Sequence[Row]) -> Table:
    table = Table("statement", "bound on the relative error", "evidence earned in this run", "detail")
    for row in rows:
        table.add_row(row.label, _bound_text(row.label), ", ".join(row.earned), _detail_text(row))
    return table


def _bound_text(label: str) -> str:
    return str(sympy.sstr(STATEMENTS[label].bound, order="none"))


def _detail_text(row: Row) -> str:
    counts = (
        f"{value} {name.removesuffix('_count').replace('_', ' ')}"
        for outcome in row.outcomes.values()
        for name, value in outcome.detail.items()
        if name.endswith("_count")
    )
    return ", ".join(counts)


if __name__ == "__main__":
    raise SystemExit(main())
