"""Programs of `experiments/bulk` with one setting after the other, in one group of processes that begins once a round.

    for round in measured_rounds("farm", settings, process_count=16, round_count=5, advance=advance): …

starts this file as a module under torchrun, with its settings in a file. A round measures every setting once, so that
what else the machine does meets all of them alike.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsync.experiments.bulk import farm, streaming
from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.parties.party import Party, System
from sparsync.experiments.parties.processes import SystemCommand, take_part
from sparsync.experiments.training.launch import run_to_end

PROGRAMS: dict[str, System] = {"farm": farm.SYSTEM, "streaming": streaming.SYSTEM}
"""Those that are studied."""
DEADLINE_SECONDS = 1800.0
"""Of a round."""
_JOB, _RESULT = "job.json", "result.json"


@dataclass(frozen=True)
class Settings:
    """One program with several settings.

    Args:
        program: key of `PROGRAMS`.
        each: what differs from the program's defaults, setting by setting.
    """

    program: str
    each: tuple[dict[str, Any], ...]

    @property
    def system(self) -> System:
        """The program."""
        return PROGRAMS[self.program]


def run(settings: Settings, party: Party) -> dict[str, Any] | None:
    """The program's results, setting by setting, on rank 0. Errors are those of the program."""
    system = settings.system
    found = [system.run(system.settings(**one), party) for one in settings.each]
    return None if party.rank else {"results": found}


def measured_rounds(
    program: str,
    each: Sequence[dict[str, Any]],
    *,
    process_count: int,
    round_count: int,
    advance: Callable[[], None] = lambda: None,
) -> list[list[dict[str, Any]]]:
    """Results by round and setting, on processes of this machine.

    Args:
        program: key of `PROGRAMS`.
        each: what differs from the program's defaults, setting by setting.
        process_count: how many processes.
        round_count: how often everything is measured.
        advance: called after each round.

    Raises:
        ValueError: a setting that the program refuses.
        RuntimeError: a round failed, with its last words.
    """
    for one in each:
        PROGRAMS[program].settings(**one)
    rounds = []
    for _ in range(round_count):
        rounds.append(_round(Settings(program, tuple(each)), process_count))
        advance()
    return rounds


def _round(settings: Settings, process_count: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = {"program": settings.program, "each": settings.each}
        (folder / _JOB).write_text(json.dumps(job), encoding="utf-8")
        launcher = ("torch.distributed.run", "--standalone", "--nproc-per-node", str(process_count), "-m")
        ended = run_to_end(
            [sys.executable, "-m", *launcher, "sparsync.experiments.studies.planning.rounds", str(folder)],
            timeout_seconds=DEADLINE_SECONDS,
            environment={"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        )
        if ended.returncode:
            raise RuntimeError(f"torchrun ended with status {ended.returncode}:\n{ended.stderr}")
        found: list[dict[str, Any]] = json.loads((folder / _RESULT).read_text(encoding="utf-8"))["results"]
        return found


def read(folder: Path) -> tuple[str, System, SystemCommand]:
    """What a rank of torchrun finds in the folder: the program's name, all of it as one system, and its command."""
    job = json.loads((folder / _JOB).read_text(encoding="utf-8"))
    settings = Settings(job["program"], tuple(_with_tuples(one) for one in job["each"]))
    system = System(
        summary=settings.system.summary,
        settings=Settings,
        run=run,
        line=lambda found: f"{len(found['results'])} settings",
        step_count=lambda own: sum(own.system.step_count(own.system.settings(**one)) for one in own.each),
        least_size=settings.system.least_size,
    )
    return settings.program, system, SystemCommand(output=folder / _RESULT, settings=settings)


def _with_tuples(setting: dict[str, Any]) -> dict[str, Any]:
    """JSON knows lists only."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in setting.items()}


if __name__ == "__main__":
    with exit_on_bad_input():
        take_part(*read(Path(sys.argv[1])))
