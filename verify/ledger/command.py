"""Does every statement still hold? Runs all evidence, prints one row per statement, writes the result as JSON.

    python -m sparsync.verify.ledger.command --profile smoke|quick|record|full --output FILE [--store DIR] [--fresh]
        [--certificates DIR] [--formal DIR] [--jobs N]

Each statement's evidence and each mutant's fate is kept in the store as soon as it is found, under a digest of all
sources and libraries that it rests on, and taken from there where nothing of that has changed; the certificates are
checked and the formal proofs asked for in every run. `--fresh` runs and derives all of it anew.

Exit status 1 if a statement loses a grade that applies to it, a counterexample no longer refutes its wording, a
certificate does not hold, a mutant survives, or evidence cannot be computed; 2 if FILE or a DIR cannot be written.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.counterexamples import COUNTEREXAMPLES
from sparsync.verify.formal.coq import INSTALLATION, CoqError, compile_theorems, coq_is_there, formal_outcomes
from sparsync.verify.formal.theorems import PROVED
from sparsync.verify.ledger import collection
from sparsync.verify.ledger.certificate_store import Stored, rational_outcomes, stored_certificates
from sparsync.verify.ledger.collection import RowTask, fate, row
from sparsync.verify.ledger.evidence import Row
from sparsync.verify.ledger.mutants import CHOSEN, MUTANTS
from sparsync.verify.ledger.report import Kills, bound_text, report
from sparsync.verify.tools.arguments import positive
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.outcome import PROFILES, Outcome, Profile
from sparsync.verify.tools.pool import CasesFailedError, Pool
from sparsync.verify.tools.provenance import require_folder, require_output, write_json
from sparsync.verify.tools.store import Store

SOURCE_PACKAGES = ("sparsync.theory", "sparsync.verify", "sparsync.kernels")
"""Evidence depends on no other code of ours, and which checks run is found by name."""
PLAIN_WIDTH = 160
"""Columns of the table where the output is not a terminal."""


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ledger; return the exit status."""
    options = _options(arguments)
    profile, folder = PROFILES[options.profile], options.certificates or options.output.parent / "certificates"
    try:
        require_output(options.output)
        _require_ours(options.output)
        require_folder(folder, option="--certificates")
        for name in ("formal", "store"):
            if getattr(options, name):
                require_folder(getattr(options, name), option=f"--{name}")
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    console = _console()
    stored = stored_certificates(folder, profile, fresh=options.fresh)
    for line in _certificate_lines(stored, folder):
        console.print(line, markup=False)
    proved = _formal(options.formal, console, job_count=options.jobs)
    kept = None if options.fresh or options.store is None else Store(options.store, packages=SOURCE_PACKAGES)
    pool = Pool(options.jobs, store=kept, preloaded=collection.__name__)
    try:
        rows, kills = _found(profile, stored, proved, console, pool)
    except CasesFailedError as error:
        for failure in error.failures:
            console.print(f"FAILED {failure.case}: {failure.error}", style="bold red", markup=False)
        return 1
    problems = failures(rows, stored, kills)
    write_json(
        options.output,
        report(rows, stored, kills, profile_name=options.profile, failures=problems, process_count=options.jobs),
    )
    _print_found(rows, kills, problems, console)
    return 1 if problems else 0


def failures(rows: Sequence[Row], stored: Sequence[Stored], kills: Kills) -> tuple[str, ...]:
    """What went wrong, one line each: grades lost, idle counterexamples, false certificates, mutants that survive."""
    lost = (f"{found.label}: lost the grade {grade}" for found in rows for grade in found.lost)
    idle = (f"counterexample {name}: refutes nothing" for name, case in COUNTEREXAMPLES.items() if not case.refutes())
    refuted = (f"certificates {file.name}: {file.fault}" for file in stored if file.fault)
    survivors = (
        f"mutant {name} of {MUTANTS[name].label}: survives {', '.join(MUTANTS[name].killed_by)}"
        for name, grades in kills.items()
        if not grades
    )
    return (*lost, *idle, *refuted, *survivors)


def _require_ours(path: Path) -> None:
    """Find out that a file that would be replaced was written by a ledger.

    Raises:
        ValueError: it was not.
    """
    if not path.exists():
        return
    try:
        ours = {"statements", "mutants"} <= json.loads(path.read_text(encoding="utf-8")).keys()
    except (ValueError, AttributeError):
        ours = False
    if not ours:
        raise ValueError(f"{path} was not written by the ledger, and would be replaced: name another file")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.verify.ledger.command", description="Check every statement."
    )
    parser.add_argument("--profile", choices=sorted(PROFILES), default="quick")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--store", type=Path, help="where finished evidence is kept and looked for; default: nowhere")
    parser.add_argument("--fresh", action="store_true", help="derive every certificate and find all evidence anew")
    parser.add_argument("--certificates", type=Path, help="where they are stored; default: certificates/ beside FILE")
    parser.add_argument("--formal", type=Path, help="where compiled formal proofs are kept; default: nowhere")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="number of processes; default: 1")
    return parser.parse_args(arguments)


def _found(
    profile: Profile, stored: Sequence[Stored], formal: Mapping[str, Outcome], console: Console, pool: Pool
) -> tuple[list[Row], Kills]:
    """The rows and the mutants' fates.

    Raises:
        CasesFailedError: evidence for a statement, or a mutant's fate, could not be computed.
    """
    rational = rational_outcomes(stored)
    tasks: list[RowTask] = [
        (label, profile, {"rational": rational[label]} if label in rational else {}) for label in STATEMENTS
    ]
    mutants = list(MUTANTS if profile.scales_bounds else CHOSEN)
    with _advancing(pool, "statements", len(tasks), console) as tracked:
        rows = [found.with_grade("formal", formal.get(found.label)) for found in tracked.run(row, tasks)]
    with _advancing(pool, "mutants", len(mutants), console) as tracked:
        kills = dict(zip(mutants, tracked.run(fate, mutants), strict=True))
    return rows, kills


def _formal(folder: Path | None, console: Console, *, job_count: int) -> dict[str, Outcome]:
    """The grade `formal` by label; without Coq nobody earns it in this run."""
    if not coq_is_there():
        console.print(f"the grade formal is not earned in this run: {INSTALLATION}", markup=False)
        return {}
    try:
        return formal_outcomes(compile_theorems(folder=folder, job_count=job_count))
    except CoqError as error:
        console.print(f"FAILED {error}", style="bold red", markup=False)
        return dict.fromkeys(PROVED, Outcome(earned=False, detail={"error": str(error)}))


def _certificate_lines(stored: Sequence[Stored], folder: Path) -> Iterable[str]:
    """How many were checked, and a line for each file that was derived in this run."""
    for file in stored:
        if file.derived:
            yield f"certificates {file.name}: derived afresh, {file.derived}"
    yield f"{sum(len(file.records) for file in stored)} certificates of {folder} checked"


@contextmanager
def _advancing(pool: Pool, description: str, count: int, console: Console) -> Iterator[Pool]:
    """The pool with a progress bar, on a terminal."""
    if not console.is_terminal:
        yield pool
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(description, total=count)
        yield replace(pool, advance=lambda: progress.advance(task))


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def _print_found(rows: Sequence[Row], kills: Kills, problems: Sequence[str], console: Console) -> None:
    console.print(_table(rows))
    for problem in problems:
        console.print(f"FAILED {problem}", style="bold red", markup=False)
    killed_count = sum(bool(grades) for grades in kills.values())
    console.print(f"{len(rows)} statements, {len(COUNTEREXAMPLES)} counterexamples, {len(problems)} failures")
    console.print(f"{killed_count} of {len(kills)} mutants killed")


def _table(rows: Sequence[Row]) -> Table:
    table = Table("statement", "bound on the relative error", "evidence earned", "detail")
    for found in rows:
        table.add_row(found.label, bound_text(found.label), ", ".join(found.earned), _detail_text(found))
    return table


def _detail_text(found: Row) -> str:
    counts = (
        f"{value} {name.removesuffix('_count').replace('_', ' ')}"
        for outcome in found.outcomes.values()
        for name, value in outcome.detail.items()
        if name.endswith("_count")
    )
    return ", ".join(counts)


if __name__ == "__main__":
    raise SystemExit(main())
