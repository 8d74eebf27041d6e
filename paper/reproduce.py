"""The main command: check every statement, run every study, draw every figure, and judge every claim.

    python -m paper.reproduce --profile quick --jobs 2 [--only races budgets] [--fresh] [--show]

Stages are processes. One that fails is noted, the others go on, and the command ends with status 1 and a list. What is
finished is kept in `build/store`, so that a rerun does only what is missing. No tracked file is written: results go to
`build/<profile>/data`, figures and macros to `paper/generated`, which also show the record where a run has no result.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from sparsync.verify.tools.arguments import positive
from sparsync.verify.tools.durations import note_duration
from sparsync.verify.tools.interrupts import SIGNALS, interrupt_as_line, interrupts_held_back
from sparsync.verify.tools.provenance import provenance, write_json

RECORD = Path("paper", "data")
GENERATED = Path("paper", "generated")
FORMAL = Path("build", "formal")
STORE = Path("build", "store")
PROFILES = ("smoke", "quick", "record", "full")
TIMED = {"statements": "verify", "formal proofs": "formal"}
"""Stages whose results are timed here, by the results' names; studies time themselves."""
_PR_SET_PDEATHSIG = 1
"""Linux: the signal that a process gets when the one that began it ends."""
ENDING_SECONDS = 60
"""How long an interrupted stage may take to end its own processes."""


@dataclass(frozen=True)
class Stage:
    """One process.

    Args:
        name: what it does.
        module: run with `python -m`, or a file.
        arguments: of it.
    """

    name: str
    module: str
    arguments: tuple[str, ...]

    def command(self) -> list[str]:
        """The words of the process."""
        module = [self.module] if self.module.endswith(".py") else ["-m", self.module]
        return [sys.executable, *module, *self.arguments]


def data_folder(profile: str) -> Path:
    """Where a profile's results lie."""
    return Path("build", profile, "data")


def run_file(profile: str) -> Path:
    """What a whole run of a profile leaves: when it ended, and which stages failed."""
    return Path("build", profile, "run.json")


def durations_file(profile: str) -> Path:
    """How long studies took that had nothing to go on from, see `verify/tools/durations.py`."""
    return Path("build", profile, "durations.json")


def measuring_stages(profile: str, *, jobs: int, only: Sequence[str], fresh: bool) -> list[Stage]:
    """The stages that find results; with `only`, those studies alone."""
    data = data_folder(profile)
    size = ("--profile", profile)
    kept = () if fresh else ("--store", str(STORE))
    noted = ("--durations", str(durations_file(profile)))
    named = ("--only", *only) if only else ()
    studies = (*size, "--data-folder", str(data), "--jobs", str(jobs), *kept, *noted, *named)
    stages = [Stage("studies", "sparsync.experiments.reproduce", studies)]
    if only:
        return stages
    ledger = (*size, "--output", str(data / "verify.json"), "--formal", str(FORMAL), "--jobs", str(jobs), *kept)
    stages = [
        Stage("statements", "sparsync.verify.ledger.command", (*ledger, *(("--fresh",) if fresh else ()))),
        Stage("certificates", "verify/check_certificates.py", (str(data / "certificates"),)),
        *stages,
    ]
    if shutil.which("coqc"):
        formal = ("--folder", str(FORMAL), "--output", str(data / "formal.json"), "--jobs", str(jobs))
        stages.insert(2, Stage("formal proofs", "sparsync.verify.formal.coq", formal))
    if profile != "full":
        timed = (*size, "--output-folder", str(data))
        stages.append(Stage("kernel", "sparsync.experiments.studies.kernels.study", timed))
    if profile == "smoke":
        speed = ("--output", str(data / "engine_speed.json"), "--workers", "16", "--steps", "4")
        stages.append(Stage("simulation's speed", "sparsync.experiments.studies.synchronisation.engine_speed", speed))
    return stages


def showing_stages(profile: str, shown: Path, *, jobs: int) -> list[Stage]:
    """The stages that draw figures, write numbers and judge the claims."""
    folders = ("--data-folder", str(shown), "--output-folder", str(GENERATED))
    judged = ("--data-folder", str(data_folder(profile)), "--output", str(GENERATED / "reproduction.md"))
    return [
        Stage("figures", "paper.figures", (*folders, "--jobs", str(jobs))),
        Stage("numbers", "paper.numbers", folders),
        Stage("report", "paper.report", judged),
    ]


def overlay(data: Path, record: Path, shown: Path) -> list[str]:
    """Make `shown` anew: the results of `data`, and of the record what is missing there; its names are returned.

    A folder counts as one result: those of two runs are not mixed.
    """
    if shown.exists():
        shutil.rmtree(shown)
    shutil.copytree(record, shown)
    names = {path.name for path in data.iterdir()} if data.is_dir() else set()
    missing = sorted({path.name for path in record.iterdir()} - names)
    for name in sorted(names):
        target = shown / name
        if (data / name).is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(data / name, target)
        else:
            shutil.copyfile(data / name, target)
    return missing


def run_stage(stage: Stage) -> int:
    """Run it to its end and return its status; an interrupt ends it and all that it began."""
    with interrupts_held_back():
        process = subprocess.Popen(stage.command(), start_new_session=True, preexec_fn=_begin)
    try:
        return process.wait()
    except BaseException:
        with interrupts_held_back():
            _end(process)
        raise


def _begin() -> None:
    """In the new process: it hears interrupts, and SIGTERM should this one be killed."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, which a stage hands on to its own processes; should it not end, SIGKILL for its whole session."""
    process.terminate()
    try:
        process.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def reproduce(profile: str, *, jobs: int, only: Sequence[str], fresh: bool, console: Console) -> list[str]:
    """Run every stage; the names of those that failed are returned."""
    data_folder(profile).mkdir(parents=True, exist_ok=True)
    measured, began = measuring_stages(profile, jobs=jobs, only=only, fresh=fresh), time.monotonic()
    is_first, failed = fresh or not STORE.exists(), []
    for stage in measured:
        started = time.monotonic()
        if not _succeeds(stage, console):
            failed.append(stage.name)
        elif is_first and stage.name in TIMED:
            note_duration(durations_file(profile), TIMED[stage.name], time.monotonic() - started, job_count=jobs)
    if not only and not shutil.which("coqc"):
        console.print("left out: formal proofs, for coqc is not installed; the record's are shown", markup=False)
    failed += show(profile, jobs=jobs, console=console)
    minutes = (time.monotonic() - began) / 60
    console.print(
        f"{minutes:.1f} min; results in {data_folder(profile)}, figures and report in {GENERATED}", markup=False
    )
    if not only:
        write_json(run_file(profile), {"failed": failed, "provenance": provenance(process_count=jobs)})
    return failed


def show(profile: str, *, jobs: int, console: Console) -> list[str]:
    """Draw and judge what a profile has found so far; the names of the stages that failed are returned."""
    shown = Path("build", profile, "shown")
    if missing := overlay(data_folder(profile), RECORD, shown):
        console.print(f"shown from the record, as this run has none: {', '.join(missing)}", markup=False)
    return [stage.name for stage in showing_stages(profile, shown, jobs=jobs) if not _succeeds(stage, console)]


def _succeeds(stage: Stage, console: Console) -> bool:
    console.print(f"== {stage.name}", markup=False, highlight=False)
    began = time.monotonic()
    status = run_stage(stage)
    if status:
        console.print(f"FAILED {stage.name}: status {status}", style="bold red", markup=False)
    console.print(f"   {time.monotonic() - began:.0f} s", markup=False, highlight=False)
    return status == 0


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (None: the process's own arguments); return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m paper.reproduce", description="Find, draw and judge everything.")
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="cases at a time; default: 1")
    parser.add_argument("--only", nargs="*", default=[], metavar="STUDY", help="these studies alone")
    parser.add_argument("--fresh", action="store_true", help="take nothing over from earlier runs")
    parser.add_argument("--show", action="store_true", help="run nothing, draw and judge what was found so far")
    options = parser.parse_args(arguments)
    console = Console(soft_wrap=True)
    if options.show:
        failed = show(options.profile, jobs=options.jobs, console=console)
    else:
        failed = reproduce(options.profile, jobs=options.jobs, only=options.only, fresh=options.fresh, console=console)
    if failed:
        console.print(f"FAILED: {', '.join(failed)}; a rerun does only what is missing", style="bold red", markup=False)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
