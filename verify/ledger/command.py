"""Does every statement still hold? Runs all evidence, prints one row per statement, writes the result as JSON.

    python -m sparsync.verify.ledger.command --profile smoke|quick|full --output FILE [--fresh] [--certificates DIR]
        [--formal DIR] [--jobs N]

Where FILE was written from the same sources, the certificates are checked and the formal proofs asked for again, all
other outcomes are read from it, and it stays as it is; `--fresh` runs and derives all of it anew.

Exit status 1 if a statement loses a grade that applies to it, a counterexample no longer refutes its wording, a
certificate does not hold, or a mutant survives; 2 if FILE or a DIR cannot be written, or FILE is no result.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.counterexamples import COUNTEREXAMPLES
from sparsync.verify.formal.coq import INSTALLATION, CoqError, compile_theorems, coq_is_there, formal_outcomes
from sparsync.verify.formal.theorems import PROVED
from sparsync.verify.ledger import collection
from sparsync.verify.ledger.certificate_store import Stored, rational_outcomes, stored_certificates
from sparsync.verify.ledger.collection import fate, row
from sparsync.verify.ledger.evidence import Row
from sparsync.verify.ledger.mutants import CHOSEN, MUTANTS
from sparsync.verify.ledger.recorded_evidence import Kills, Record, evidence_digest, recorded
from sparsync.verify.ledger.report import bound_text, report
from sparsync.verify.tools.arguments import positive
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.outcome import PROFILES, Grade, Outcome, Profile
from sparsync.verify.tools.pool import workers
from sparsync.verify.tools.provenance import require_folder, require_output, write_json

PLAIN_WIDTH = 160
"""Columns of the table where the output is not a terminal."""

Item = TypeVar("Item")


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ledger; return the exit status."""
    options = _options(arguments)
    profile, folder = PROFILES[options.profile], options.certificates or options.output.parent / "certificates"
    digest = evidence_digest(profile)
    try:
        require_output(options.output)
        record = recorded(options.output, digest)
        if options.fresh or not folder.is_dir():  # one that can only be read may hold all that is needed
            require_folder(folder, option="--certificates")
        if options.formal:
            require_folder(options.formal, option="--formal")
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    console = _console()
    stored = stored_certificates(folder, profile, fresh=options.fresh)
    for line in _certificate_lines(stored, folder):
        console.print(line, markup=False)
    proved = _formal(options.formal, console, job_count=options.jobs)
    if options.fresh or _derived(stored):
        record = None
    rows, kills, problems = _found(profile, stored, proved, record, console, job_count=options.jobs)
    if record is not None and problems:
        # The certificates or formal proofs contradict the file: nothing in it is believed.
        record = None
        rows, kills, problems = _found(profile, stored, proved, None, console, job_count=options.jobs)
    if record is None:
        found = report(
            rows,
            stored,
            kills,
            profile_name=options.profile,
            failures=problems,
            digest=digest,
            process_count=options.jobs,
        )
        write_json(options.output, found)
    _print_found(rows, kills, problems, record, console)
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


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.verify.ledger.command", description="Check every statement."
    )
    parser.add_argument("--profile", choices=sorted(PROFILES), default="quick")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write, or to check")
    parser.add_argument("--fresh", action="store_true", help="derive every certificate and repeat every search")
    parser.add_argument("--certificates", type=Path, help="where they are stored; default: certificates/ beside FILE")
    parser.add_argument("--formal", type=Path, help="where compiled formal proofs are kept; default: nowhere")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="number of processes; default: 1")
    return parser.parse_args(arguments)


def _derived(stored: Sequence[Stored]) -> bool:
    return any(file.derived for file in stored)


def _found(
    profile: Profile,
    stored: Sequence[Stored],
    formal: Mapping[str, Outcome],
    record: Record | None,
    console: Console,
    *,
    job_count: int,
) -> tuple[list[Row], Kills, tuple[str, ...]]:
    """The rows, the mutants' fates and what went wrong; what is in the record is not computed again."""
    at_once: dict[Grade, Mapping[str, Outcome]] = {"formal": formal, "rational": rational_outcomes(stored)}
    tasks = [(label, profile, _known(label, at_once, record)) for label in STATEMENTS]
    mutants = MUTANTS if profile.scales_bounds else CHOSEN
    # Where everything is recorded there is no work to share.
    with workers(1 if record else job_count, preloaded=collection.__name__) as compute:
        rows = list(_tracked(compute(row, tasks), "statements", len(tasks), console))
        if record is None:
            fates = _tracked(compute(fate, list(mutants)), "mutants", len(mutants), console)
            kills: Kills = dict(zip(mutants, fates, strict=True))
        else:
            kills = record.kills
    return rows, kills, failures(rows, stored, kills)


def _known(label: str, at_once: Mapping[Grade, Mapping[str, Outcome]], record: Record | None) -> dict[Grade, Outcome]:
    """What the record holds, and what was found for all statements at once: formal proofs, stored certificates."""
    known = dict(record.outcomes[label]) if record else {}
    return {**known, **{grade: outcomes[label] for grade, outcomes in at_once.items() if label in outcomes}}


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


def _tracked(items: Iterable[Item], description: str, count: int, console: Console) -> Iterator[Item]:
    if not console.is_terminal:
        yield from items
        return
    with Progress(console=console, transient=True) as progress:
        yield from progress.track(items, total=count, description=description)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def _print_found(
    rows: Sequence[Row], kills: Kills, problems: Sequence[str], record: Record | None, console: Console
) -> None:
    console.print(_table(rows))
    for problem in problems:
        console.print(f"FAILED {problem}", style="bold red", markup=False)
    killed_count = sum(bool(grades) for grades in kills.values())
    console.print(f"{len(rows)} statements, {len(COUNTEREXAMPLES)} counterexamples, {len(problems)} failures")
    console.print(f"{killed_count} of {len(kills)} mutants killed")
    if record is not None:
        made = record.provenance
        console.print(
            "certificates and formal proofs were checked now; all else ran on the same sources at "
            f"{made['date_utc']} (commit {str(made['git_commit'])[:12]}); --fresh repeats it",
            markup=False,
        )


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
