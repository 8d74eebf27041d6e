"""What the two training commands share: their arguments, their progress bar, and how they refuse bad input.

`--run NAME` (or `--run-name NAME`) chooses a value of `RUNS`, `--output FILE` the result, and every field of `Run`
overrides it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import Progress

from sparsync.experiments.checkpoints.keeper import Keeping
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, require_timeout
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.record import result_line
from sparsync.experiments.training.runs import RUNS, Run
from sparsync.verify.tools.interrupts import interrupt_as_line
from sparsync.verify.tools.locks import held
from sparsync.verify.tools.provenance import require_output

_USAGE_STATUS = 2
# torchrun 2.13 under Python 3.11 takes `--run`, though it follows the module's name, for an ambiguous abbreviation of
# its own `--run-path` and `--run_path`, and stops (pytorch/pytorch#120601); this spelling passes.
_RUN_ALIASES = ("--run-name",)


@dataclass(frozen=True)
class Command:
    """A parsed command line."""

    run: Annotated[str, tyro.conf.arg(aliases=_RUN_ALIASES)]
    """key of RUNS"""
    output: Path
    """where the JSON result goes; its folder must exist"""
    settings: Annotated[Run, tyro.conf.arg(name="")]
    """the run with its overrides"""
    timeout_seconds: float = TIMEOUT_SECONDS
    """how long a rank waits for the others in an exchange before all of them end; in one process nobody waits"""
    join_seconds: float = 300.0
    """how long a rank waits for all others to come, as some load their data more slowly; in one process nobody waits"""
    disk_seconds: float = 300.0
    """how long a rank waits for the others where they write or read checkpoints; in one process nobody waits"""
    checkpoint: Path | None = None
    """folder that keeps the state of this run and no other, on a disk that all processes see; None keeps nothing"""
    every: int = 100
    """updates from one checkpoint to the next"""
    keep: int = 2
    """how many checkpoints stay, the last ones"""
    resume: bool = False
    """go on from the newest checkpoint, if there is one; without it there must be none"""

    @property
    def keeping(self) -> Keeping | None:
        """What is asked of checkpoints.

        Raises:
            ValueError: a number below 1, or one is to go on without a folder.
        """
        if self.checkpoint is not None:
            return Keeping(self.checkpoint, every=self.every, keep=self.keep, resume=self.resume)
        if self.resume:
            raise ValueError("--resume goes on from the folder that --checkpoint names, and there is none")
        for name in ("every", "keep"):
            if getattr(self, name) != getattr(Command, name):
                raise ValueError(f"--{name} is about checkpoints, whose folder --checkpoint has to name")
        return None

    @property
    def patience_seconds(self) -> float:
        """How long another process may still have this run's files."""
        return 0.0 if self.keeping is None else self.keeping.patience_seconds


def read_command(program: str, description: str, arguments: Sequence[str] | None = None) -> Command:
    """Parse the command line (None: the process's own); `program` starts the command, for its help.

    Raises:
        ValueError: unknown run, a field out of range, or an output that cannot be written, see `require_output`.
        SystemExit: malformed arguments, after tyro's message; or `--help`.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    scout = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    scout.add_argument("--run", *_RUN_ALIASES, "--run_name", dest="run")
    name = scout.parse_known_args(words)[0].run
    if name is not None and name not in RUNS:
        raise ValueError(f"unknown run {name!r}; known: {', '.join(RUNS)}")
    shown = next(iter(RUNS)) if name is None else name
    command = tyro.cli(
        Command,
        prog=program,
        description=f"{description} Runs: {', '.join(RUNS)}. The defaults below are those of {shown}.",
        args=words,
        default=Command(run=name or tyro.MISSING, output=tyro.MISSING, settings=RUNS[shown]),
    )
    if command.run != name:
        raise ValueError(f"write --run {command.run} in full, so that its settings are found")
    require_timeout(command.timeout_seconds)
    require_timeout(command.join_seconds, "join_seconds")
    require_timeout(command.disk_seconds, "disk_seconds")
    require_output(command.output)
    _ = command.keeping
    return command


def output_held(command: Command) -> AbstractContextManager[None]:
    """Have the command's output for oneself, while the result is made and written.

    Raises:
        ValueError: on entering, if another process has it.
    """
    return held(command.output, patience_seconds=command.patience_seconds)


def say_result(command: Command, result: TrainingResult) -> None:
    """Print the result in a line, where it lies, and, should the run have diverged, what was not finite."""
    print(f"{result_line(command.run, result)} → {command.output}")  # noqa: T201
    if result.divergence:
        sys.stderr.write(f"warning: {result.divergence}\n")


@contextmanager
def exit_on_bad_input() -> Iterator[None]:
    """Turn the errors that a user can cause, and an interrupt, into one line on standard error.

    The exit status is 2 (1 for a NaN); an interrupt ends the process as it ends one that leaves the signal alone.
    """
    try:
        with interrupt_as_line():
            yield
    except (ValueError, OSError) as error:
        _complain(error)
        sys.exit(_USAGE_STATUS)
    except FloatingPointError as error:
        _complain(error)
        sys.exit(1)


def _complain(error: Exception) -> None:
    rank = os.environ.get("RANK")
    sys.stderr.write(f"error: {error}\n" if rank is None else f"error on rank {rank}: {error}\n")


@contextmanager
def step_progress(total: int, *, visible: bool, title: str = "steps") -> Iterator[Callable[[], None]]:
    """A progress bar over `total` steps, on a terminal outside CI; yields the function that advances it."""
    console = Console(stderr=True)
    if not (visible and console.is_terminal and not os.environ.get("CI")):
        # A disabled bar of rich before 15 ends with an empty line.
        yield lambda: None
        return
    with Progress(console=console) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)
