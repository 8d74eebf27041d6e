"""Does every statement still hold? Runs all evidence, prints one row per statement, writes the result as JSON.

    python -m sparsync.verify.ledger --profile smoke|quick|full --output FILE [--fresh] [--certificates DIR]

Exit status 1 if a statement loses a grade that applies to it, a counterexample no longer refutes its wording, a
certificate does not hold, or a mutant survives.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import sympy
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.certificate_store import FAMILIES, Stored, rational_outcomes, stored_certificates
from sparsync.verify.counterexamples import COUNTEREXAMPLES
from sparsync.verify.evidence import Row, collect
from sparsync.verify.mutants import MUTANTS
from sparsync.verify.mutation import killing_grades
from sparsync.verify.outcome import GRADES, PROFILES, Grade, Profile
from sparsync.verify.provenance import provenance, write_json
from sparsync.verify.worst_case import below_line_rows, convex_rows, worst_cases

PLAIN_WIDTH = 160
"""Columns of the table where the output is not a terminal."""
WORDING_DIMENSION, WORDING_COUNT = 10, 3
"""Where the programmes for the insufficient wordings are solved."""

Item = TypeVar("Item")
Kills = Mapping[str, tuple[Grade, ...]]
"""The grades that each mutant lost, by its name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ledger; return the exit status."""
    options = _options(arguments)
    profile, folder = PROFILES[options.profile], options.certificates or options.output.parent / "certificates"
    console = _console()
    stored = stored_certificates(folder, profile, fresh=options.fresh)
    for line in _certificate_lines(stored, folder):
        console.print(line, markup=False)
    rows = _collect_all(profile, stored, console)
    kills = {name: killing_grades(mutant) for name, mutant in _tracked(MUTANTS, "mutants", console)}
    problems = failures(rows, stored, kills)
    write_json(options.output, report(rows, stored, kills, profile_name=options.profile))
    console.print(_table(rows))
    for problem in problems:
        console.print(f"FAILED {problem}", style="bold red", markup=False)
    killed_count = sum(bool(grades) for grades in kills.values())
    console.print(f"{len(rows)} statements, {len(COUNTEREXAMPLES)} counterexamples, {len(problems)} failures")
    console.print(f"{killed_count} of {len(kills)} mutants killed")
    return 1 if problems else 0


def failures(rows: Sequence[Row], stored: Sequence[Stored], kills: Kills) -> tuple[str, ...]:
    """What went wrong, one line each: grades lost, idle counterexamples, false certificates, mutants that survive."""
    lost = (f"{row.label}: lost the grade {grade}" for row in rows for grade in row.lost)
    idle = (f"counterexample {name}: refutes nothing" for name, case in COUNTEREXAMPLES.items() if not case.refutes())
    refuted = (f"certificates {file.name}: {file.fault}" for file in stored if file.fault)
    survivors = (
        f"mutant {name} of {MUTANTS[name].label}: survives {', '.join(MUTANTS[name].killed_by)}"
        for name, grades in kills.items()
        if not grades
    )
    return (*lost, *idle, *refuted, *survivors)


def report(rows: Sequence[Row], stored: Sequence[Stored], kills: Kills, *, profile_name: str) -> dict[str, object]:
    """The ledger as JSON: provenance, statements with grades and numbers, counterexamples, certificates, mutants."""
    return {
        "profile": profile_name,
        "provenance": provenance(process_count=1),
        "grades": list(GRADES),
        "failures": list(failures(rows, stored, kills)),
        "statements": [_statement_record(row) for row in rows],
        "wordings": _wording_records(),
        "counterexamples": [_counterexample_record(name) for name in COUNTEREXAMPLES],
        "certificates": _certificates_record(stored),
        "mutants": _mutants_record(kills),
    }


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sparsync.verify.ledger", description="Check every statement.")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="quick")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--fresh", action="store_true", help="derive every certificate again and store it")
    parser.add_argument("--certificates", type=Path, help="where they are stored; default: certificates/ beside FILE")
    return parser.parse_args(arguments)


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


def _certificates_record(stored: Sequence[Stored]) -> dict[str, object]:
    return {
        "checked_count": sum(len(file.records) for file in stored),
        "fresh_count": sum(len(file.records) for file in stored if file.derived),
        "files": [
            {
                "name": file.name,
                "label": FAMILIES[file.name].label,
                "checked_count": len(file.records),
                "fresh": bool(file.derived),
                "reason": file.derived,
                "fault": file.fault,
            }
            for file in stored
        ],
    }


def _mutants_record(kills: Kills) -> dict[str, object]:
    return {
        "mutants_count": len(kills),
        "killed_count": sum(bool(grades) for grades in kills.values()),
        "mutants": [
            {"name": name, "label": MUTANTS[name].label, "change": MUTANTS[name].change, "killed_by": list(grades)}
            for name, grades in kills.items()
        ],
    }


def _certificate_lines(stored: Sequence[Stored], folder: Path) -> Iterable[str]:
    """How many were checked, and a line for each file that was derived in this run."""
    for file in stored:
        if file.derived:
            yield f"certificates {file.name}: derived afresh, {file.derived}"
    yield f"{sum(len(file.records) for file in stored)} certificates of {folder} checked"


def _collect_all(profile: Profile, stored: Sequence[Stored], console: Console) -> list[Row]:
    """The rows of all statements; where the stored certificates are complete, they are the grade `rational`."""
    rational = rational_outcomes(stored)
    return [
        collect(label, profile, known={"rational": rational[label]} if label in rational else {})
        for label, _ in _tracked(STATEMENTS, "statements", console)
    ]


def _tracked(items: Mapping[str, Item], description: str, console: Console) -> Iterator[tuple[str, Item]]:
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        yield from progress.track(items.items(), description=description)


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
