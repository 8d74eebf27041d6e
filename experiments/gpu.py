"""Build, test, time and sanitize the kernel on a machine with a CUDA GPU, where nothing can be installed: `make gpu`.

Every step runs, whatever became of the one before, and ends: a kernel that waits for ever costs its own test and no
other. Only where no library for the GPU can be built, nothing else is tried. What a step says is shown when it has
ended and kept in a log of its own. `--only build bench` runs fewer steps, where a GPU is lent for minutes. Needs torch
and no other package of those that a GPU machine may lack; the steps need pytest, and compute-sanitizer where there is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import torch

from sparsync.verify.tools.interrupts import interrupt_as_line

CHECKOUT = Path(__file__).resolve().parents[1]
CUDA_TESTS = (
    "tests/kernels/test_native.py",
    "tests/kernels/test_native_cases.py",
    "tests/kernels/test_chunked_selection.py",
    "tests/kernels/test_native_passes.py",
    "tests/kernels/cuda/test_native.py",
    "tests/experiments/engine/real/test_cuda.py",
    "tests/experiments/hooks/test_hook_cuda.py",
    "tests/experiments/learning/test_cuda.py",
    "tests/experiments/local/test_cuda.py",
    "tests/experiments/studies/kernels/test_replay.py",
    "tests/experiments/test_simulate_cuda.py",
    "tests/verify/tools/test_provenance.py",
)
"""All files with a test that needs a GPU; each such test has cuda in its name, its file's or its folder's."""
CPU_TESTS = (
    "tests/kernels/test_native.py",
    "tests/kernels/test_native_arguments.py",
    "tests/kernels/test_native_cases.py",
    "tests/kernels/test_chunked_selection.py",
    "tests/kernels/test_native_passes.py",
    "tests/kernels/test_native_threads.py",
    "tests/experiments/studies/kernels/test_replay.py",
)
"""What must hold besides, of the library as it was compiled there."""
SANITIZERS = ("memcheck", "racecheck")
_PYTEST = ("-m", "pytest", "-q", "-n", "4", "--timeout", "30", "--timeout-method", "thread", "-m", "not slow")
_CHECKS = ("-m", "sparsync.experiments.studies.kernels.checks", "--device", "cuda")
_STUDY = ("-m", "sparsync.experiments.studies.kernels.study", "--profile", "full", "--device", "cuda")
# Allocations are seen only if torch does not pool them, and entry points that torch asks for in vain would count as
# errors; a launch that fails ends the checks anyway.
_SANITIZER_OPTIONS = ("--kernel-name", "kns=sparsync", "--report-api-errors", "no", "--error-exitcode", "1")
_UNPOOLED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
_DEATH_DEADLINE_SECONDS = 5.0


@dataclass(frozen=True)
class Step:
    """A command with a limit.

    Args:
        name: of its log.
        command: program and arguments.
        limit_seconds: after this time it is interrupted.
        grace_seconds: after this time more it is killed, with all that it began; 0 kills it without an interrupt.
        environment: variables added to this process's own.
        is_needed: nothing after it runs if it fails.
    """

    name: str
    command: Sequence[str]
    limit_seconds: float
    grace_seconds: float = 15.0
    environment: Mapping[str, str] = field(default_factory=dict)
    is_needed: bool = False


def steps(folder: Path, *, sanitizer: str | None) -> list[Step]:
    """What is done, in this order: tests that need the GPU before others, and what might outlive its end last.

    Args:
        folder: where the study writes.
        sanitizer: compute-sanitizer's path, None where there is none.
    """
    python = sys.executable
    # An interrupt ends compute-sanitizer at once and leaves what it watches behind, so both are killed.
    return [
        Step("build", [python, "-m", "sparsync.kernels.native_build", "--device", "cuda"], 70, is_needed=True),
        Step("cuda-tests", [python, *_PYTEST, "-k", "cuda", *CUDA_TESTS], 90),
        Step("other-tests", [python, *_PYTEST, "-k", "not cuda", *CPU_TESTS], 50),
        Step("checks", [python, *_CHECKS], 40),
        Step("bench", [python, *_STUDY, "--output-folder", str(folder)], 140),
        *(
            Step(
                tool,
                [sanitizer, "--tool", tool, *_SANITIZER_OPTIONS, python, *_CHECKS, "--few"],
                60,
                grace_seconds=0,
                environment=_UNPOOLED,
            )
            for tool in SANITIZERS
            if sanitizer
        ),
    ]


def chosen(todo: Sequence[Step], only: Sequence[str] | None) -> list[Step]:
    """The steps that are named, in their own order; None names all.

    Raises:
        ValueError: there is no such step.
    """
    if only is None:
        return list(todo)
    known = [step.name for step in todo]
    if unknown := [name for name in only if name not in known]:
        raise ValueError(f"no step {', '.join(map(repr, unknown))}; there are {', '.join(known)}")
    return [step for step in todo if step.name in only]


def run_steps(todo: Sequence[Step], folder: Path) -> list[str]:
    """Run them, show what they say, keep it as `<name>.log` in the folder; the names of those that failed.

    The last one run is a needed one that failed, if one does.
    """
    failed: list[str] = []
    for step in todo:
        if not _succeeds(step, folder / f"{step.name}.log"):
            failed.append(step.name)
            if step.is_needed:
                break
    return failed


@interrupt_as_line()
def main() -> None:
    """Run the command line; the status is 1 where a step failed or there is no GPU."""
    parser = argparse.ArgumentParser(
        prog="python -m sparsync.experiments.gpu", description="Build, test, time and sanitize the kernel on a GPU."
    )
    parser.add_argument("--output-folder", type=Path, required=True, help="where all logs and results go")
    parser.add_argument("--only", nargs="+", metavar="STEP", help="names of steps; all by default")
    options = parser.parse_args()
    folder, sanitizer = options.output_folder.resolve(), shutil.which("compute-sanitizer")
    try:
        todo = chosen(steps(folder, sanitizer=sanitizer), options.only)
    except ValueError as error:
        parser.error(f"--only: {error}")
    if not torch.cuda.is_available():
        sys.exit("make gpu needs a CUDA GPU: torch.cuda.is_available() is False")
    folder.mkdir(parents=True, exist_ok=True)
    # A step is in a session of its own and would survive what ends this process.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    failed = run_steps(todo, folder)
    if sanitizer is None and options.only is None:
        _show(folder / f"{SANITIZERS[0]}.log", "compute-sanitizer was not found\n")
    if failed:
        sys.exit(f"make gpu: failed: {' '.join(failed)}")


def _show(log: Path, text: str) -> None:
    log.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


def _succeeds(step: Step, log: Path) -> bool:
    sys.stdout.write(f"== {step.name}\n")
    sys.stdout.flush()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **step.environment}
    with log.open("wb") as output:
        is_done = _ends_well(step, environment, output.fileno())
        if is_done is None:
            output.write(f"not done after {step.limit_seconds:g} seconds\n".encode())
    sys.stdout.write(log.read_text(encoding="utf-8", errors="replace"))
    sys.stdout.flush()
    return bool(is_done)


def _ends_well(step: Step, environment: Mapping[str, str], output: int) -> bool | None:
    """Whether the status is 0; None if the step was not done in time."""
    try:
        process = subprocess.Popen(
            step.command,
            cwd=CHECKOUT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A shell lets what it starts in the background ignore interrupts, and a step is to hear its own.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    except OSError as error:
        os.write(output, f"{error}\n".encode())
        return False
    try:
        return process.wait(step.limit_seconds) == 0
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process, step.grace_seconds)


def _end(process: subprocess.Popen[bytes], grace_seconds: float) -> None:
    """Interrupt what still runs, for pytest then says what failed; kill what is left, and wait for no more than that.

    A process that the driver holds cannot be killed.
    """
    family = _descendants(process.pid)
    try:
        if process.poll() is None and grace_seconds:
            os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(grace_seconds)
    finally:  # A second interrupt shortens the grace.
        family += _descendants(process.pid)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for member in family:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_DEATH_DEADLINE_SECONDS)


def _descendants(root: int) -> list[int]:
    """By Linux's records: also those in sessions of their own, as long as those between live."""
    parents: dict[int, int] = {}
    for record in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # It has ended meanwhile.
            # The second field is a name in brackets, and may hold anything.
            parents[int(record.parent.name)] = int(record.read_text(errors="replace").rpartition(")")[2].split()[1])
    found: list[int] = []
    newest = {root}
    while newest:
        newest = {child for child, parent in parents.items() if parent in newest}
        found += newest
    return found


if __name__ == "__main__":
    main()
