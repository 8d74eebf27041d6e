"""Every study that the figures read, in one command that survives any one of its cases.

`python -m sparsync.experiments.reproduce --profile quick --data-folder build/quick/data [--store build/store]
[--durations build/quick/durations.json] [--only races budgets]`

A finished case is kept in the store and never run twice; a case that fails leaves the others alone. Each result file
is replaced as a whole, once all its cases are there.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import tyro

from sparsync.experiments.command import exit_on_bad_input, step_progress
from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies import registry
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.experiments.studies.registry import CASE_STUDIES, SINGLE_STUDIES
from sparsync.experiments.training.launch import run_to_end
from sparsync.experiments.training.runs import RUNS
from sparsync.verify.tools.durations import note_duration
from sparsync.verify.tools.pool import CasesFailedError, Failure, Pool, call, default_job_count
from sparsync.verify.tools.provenance import require_folder, write_json
from sparsync.verify.tools.store import Store

_TORCHRUN_PROCESS_COUNT = 4
_TORCHRUN_STEPS = 20
_TORCHRUN_DEADLINE_SECONDS = 300

PARTS = ("torchrun", *SINGLE_STUDIES, *CASE_STUDIES)
"""All that is run, in this order: the comparison with torchrun, and the studies."""


@dataclass(frozen=True)
class ReproduceCommand:
    """Run all studies of a profile."""

    data_folder: Path
    """where the JSON files go; created if absent"""
    profile: ProfileName = "quick"
    """how large the studies are"""
    jobs: int = field(default_factory=default_job_count)
    """cases at a time"""
    only: tuple[str, ...] = ()
    """names of `PARTS` to run, the files of the others stay as they are; empty for all"""
    store: Path | None = None
    """where finished cases are kept and looked for; nowhere if it is not given"""
    durations: Path | None = None
    """where it is noted how long each part took that had nothing to go on from; nowhere if it is not given"""

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ValueError(f"jobs must be at least 1, got {self.jobs}")
        for name in self.only:
            if name not in PARTS:
                raise ValueError(f"unknown part {name!r}; known: {', '.join(PARTS)}")
            if name in CASE_STUDIES and not CASE_STUDIES[name].case_count(self.profile):
                raise ValueError(f"profile {self.profile!r} leaves {name!r} out")

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are to be run."""
        return [name for name in names if not self.only or name in self.only]


def reproduce(command: ReproduceCommand) -> dict[str, tuple[Failure, ...]]:
    """Run the studies of a profile and write their files.

    Returns:
        What failed, by the part that it belongs to; the file of such a part is as it was.

    Raises:
        ValueError: a data folder or a store in which no file can be written.
    """
    require_folder(command.data_folder, option="--data-folder")
    if command.store is not None:
        require_folder(command.store, option="--store")
    kept = None if command.store is None else _CountingStore(command.store)
    pool = Pool(command.jobs, store=kept, preloaded=registry.__name__)
    failed: dict[str, tuple[Failure, ...]] = {}
    for name in command.chosen(("torchrun",)):
        with _noted(failed, name), _timed(command, pool, (name,), failed):
            (found,) = replace(pool, job_count=1).run(compare_with_torchrun, ["fnn3_gaussian_k"])
            write_json(command.data_folder / "torchrun.json", found)
    _run_singles(command, pool, failed)
    for name in command.chosen(CASE_STUDIES):
        study, count = CASE_STUDIES[name], CASE_STUDIES[name].case_count(command.profile)
        if not count:
            continue
        with _noted(failed, name), _timed(command, pool, (name,), failed), _advancing(pool, count, name) as tracked:
            write_json(command.data_folder / f"{name}.json", study.run(command.profile, tracked))
    return failed


def _run_singles(command: ReproduceCommand, pool: Pool, failed: dict[str, tuple[Failure, ...]]) -> None:
    """The studies of one case each, side by side; each file is written though another study fails."""
    names = command.chosen(SINGLE_STUDIES)
    tasks = [partial(SINGLE_STUDIES[name], command.profile) for name in names]
    with _timed(command, pool, names, failed), _advancing(pool, len(tasks), "studies") as tracked:
        for name, outcome in zip(names, tracked.outcomes(call, tasks), strict=True):
            if isinstance(outcome, Failure):
                failed[name] = (outcome,)
            else:
                write_json(command.data_folder / f"{name}.json", outcome)


@dataclass(frozen=True)
class _CountingStore(Store):
    """A store that knows which results were taken from it."""

    taken: list[str] = field(default_factory=list)

    def __getitem__(self, key: str) -> Any:
        found = super().__getitem__(key)
        self.taken.append(key)
        return found


@contextmanager
def _timed(command: ReproduceCommand, pool: Pool, names: Sequence[str], failed: Container[str]) -> Iterator[None]:
    """Note how long the parts inside took, all of them together, where they end and took nothing over."""
    taken = pool.store.taken if isinstance(pool.store, _CountingStore) else []
    before, began = len(taken), time.monotonic()
    yield
    seconds = time.monotonic() - began
    if command.durations is None or len(taken) > before:
        return
    for name in names:
        if name in failed:
            continue
        others = tuple(other for other in names if other != name)
        note_duration(command.durations, name, seconds, job_count=command.jobs, beside=others)


@contextmanager
def _noted(failed: dict[str, tuple[Failure, ...]], name: str) -> Iterator[None]:
    """Note the cases that fail inside, and go on."""
    try:
        yield
    except CasesFailedError as error:
        failed[name] = error.failures


@contextmanager
def _advancing(pool: Pool, count: int, title: str) -> Iterator[Pool]:
    """The pool with a progress bar, on a terminal outside CI."""
    with step_progress(count, visible=True, title=title) as advance:
        yield replace(pool, advance=advance)


def compare_with_torchrun(run_name: str) -> dict[str, Any]:
    """Train the same few steps with real processes and in simulation; both results, side by side.

    Raises:
        RuntimeError: torchrun failed, or the final parameters differ in a bit.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        launcher = ("torch.distributed.run", "--standalone", "--nproc-per-node", str(_TORCHRUN_PROCESS_COUNT), "-m")
        training = ("sparsync.experiments.train", "--run-name", run_name, "--steps", str(_TORCHRUN_STEPS))
        finished = run_to_end(
            [sys.executable, "-m", *launcher, *training, "--output", str(output)],
            timeout_seconds=_TORCHRUN_DEADLINE_SECONDS,
            environment={"CUDA_VISIBLE_DEVICES": ""},
        )
        if finished.returncode:
            raise RuntimeError(f"torchrun ended with status {finished.returncode}:\n{finished.stderr}")
        distributed = json.loads(output.read_text())
    run = replace(RUNS[run_name], steps=_TORCHRUN_STEPS, workers=_TORCHRUN_PROCESS_COUNT)
    simulated = simulate(run).parameters_sha256
    if distributed["parameters_sha256"] != simulated:
        raise RuntimeError(f"torchrun and simulation differ: {distributed['parameters_sha256']} and {simulated}")
    return {"simulated_parameters_sha256": simulated, **distributed}


def main() -> None:
    """Run the command line; status 1 if a case failed."""
    with exit_on_bad_input():
        failed = reproduce(tyro.cli(ReproduceCommand, prog="python -m sparsync.experiments.reproduce"))
        for name, failures in failed.items():
            for failure in failures:
                sys.stderr.write(f"FAILED {name}: {failure.case}: {failure.error}\n")
        if failed:
            sys.stderr.write(f"{sum(map(len, failed.values()))} cases failed; a rerun does only what is missing\n")
            sys.exit(1)


if __name__ == "__main__":
    main()
