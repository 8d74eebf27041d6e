"""What keeps a run's state while it trains, on all processes together: it begins or goes on, and saves again and again.

    with open_keeper(Keeping(folder, every=50, resume=True), processes) as keeper:
        run_training(…, keeper=keeper)

Whatever one process finds wrong ends all of them alike, with its reason on that one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sparsync.experiments.checkpoints.attempts import Attempts
from sparsync.experiments.checkpoints.folder import Checkpoint, Folder, differences
from sparsync.experiments.checkpoints.snapshot import restore, tensors
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.training.loop import Attempt, Training
from sparsync.verify.tools.locks import held
from sparsync.verify.tools.provenance import require_folder

PATIENCE_SECONDS = 120.0
"""A server of files may keep the lock of a machine that is lost for a minute and a half."""


@dataclass(frozen=True)
class Keeping:
    """What a user asks for.

    Args:
        folder: of the checkpoints of this run and no other, on a disk that all processes see; made where it is absent.
        every: updates from one checkpoint to the next; the last update is followed by one too.
        keep: how many checkpoints stay.
        resume: go on from the newest, if there is one; otherwise there must be none.

    Raises:
        ValueError: `every` or `keep` is below 1.
    """

    folder: Path
    every: int = 100
    keep: int = 2
    resume: bool = False

    @property
    def patience_seconds(self) -> float:
        """How long another process may still have the run's files: who goes on comes after one that is about to end."""
        return PATIENCE_SECONDS if self.resume else 0.0

    def __post_init__(self) -> None:
        for name in ("every", "keep"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


@contextmanager
def open_keeper(keeping: Keeping | None, processes: Processes | None = None) -> Iterator[FolderKeeper | None]:
    """A keeper for one run; the folder is this run's until the end.

    Args:
        keeping: what is asked for; None is nothing, and no keeper.
        processes: of the run, of which the first names checkpoints and removes them; None is this one alone.
    """
    if keeping is None:
        yield None
        return
    keeper = FolderKeeper(keeping, Processes() if processes is None else processes)
    try:
        yield keeper
    finally:
        keeper.close()


class FolderKeeper:
    """See `open_keeper`."""

    def __init__(self, keeping: Keeping, processes: Processes) -> None:
        self._keeping, self._processes = keeping, processes
        self._folder = Folder(keeping.folder, keeping.keep)
        self._attempts = Attempts(keeping.folder)
        self._held = ExitStack()

    def begin(self, training: Training) -> None:
        """Go on from the newest checkpoint that is not damaged, if that was asked for and there is one.

        Raises:
            ValueError: on every process: the folder cannot be used or another run has it; there are checkpoints, and
                nobody said to go on; all are damaged; or the newest is of other settings, data, model or version.
        """
        together = self._processes.together
        together(self._claim)
        found = self._newest() if self._keeping.resume else None
        if found is not None:
            together(lambda: self._require_same(training, found))
            together(lambda: restore(training, found))
        together(lambda: self._note(training))

    def after_step(self, training: Training) -> None:
        """Note the update, and save where it is time.

        Raises:
            OSError: on every process, if it cannot be written.
        """
        step = len(training.steps)
        if self._processes.is_first:
            self._attempts.reach(step)
        if step % self._keeping.every == 0 or step == training.replica.run.steps:
            self._save(training, step)

    def close(self) -> None:
        """Let others have the folder."""
        self._attempts.close()
        self._held.close()

    def _claim(self) -> None:
        if not self._processes.is_first:
            return
        require_folder(self._keeping.folder, option="--checkpoint")
        self._held.enter_context(held(self._keeping.folder, patience_seconds=self._keeping.patience_seconds))
        self._folder.remove_leftovers()
        there = self._folder.checkpoints()
        if there and not self._keeping.resume:
            raise ValueError(
                f"{self._keeping.folder} holds checkpoints, the newest of step {there[0].step}; --resume goes on from "
                "it, or name another folder"
            )

    def _newest(self) -> Checkpoint | None:
        """The newest whole one whose files are what was written: each process looks at a share of them."""
        processes = self._processes
        own = self._folder.checkpoints() if processes.is_first else []
        for place in range(int(processes.said_by_first(len(own)))):
            step = int(processes.said_by_first(own[place].step if processes.is_first else 0))
            checkpoint = Checkpoint(self._keeping.folder / f"step-{step:08d}", step)
            damage = checkpoint.damage(processes.rank, processes.count)
            if damage:
                sys.stderr.write(f"warning: {damage}; looking for an older checkpoint\n")
            if not processes.found_by_any(damage):
                return checkpoint
        if processes.said_by_first(len(own)):
            raise ValueError(f"all checkpoints in {self._keeping.folder} are damaged")
        return None

    def _require_same(self, training: Training, found: Checkpoint) -> None:
        different = differences(found.manifest()["run"], _identity(training))
        if different:
            raise ValueError(f"{found.path} is of another run: {'; '.join(different)}")

    def _note(self, training: Training) -> None:
        """Begin another attempt; only the first process knows of the earlier ones."""
        step, count = len(training.steps), training.worker_count
        if not self._processes.is_first:
            training.attempts.append(Attempt(step, count))
            return
        training.attempts[:] = self._attempts.begin(step, count, anew=not self._keeping.resume)

    def _save(self, training: Training, step: int) -> None:
        processes = self._processes
        processes.together(lambda: self._folder.begin(step) if processes.is_first else None)
        self._folder.write(step, tensors(training), processes)
        manifest = {"run": _identity(training), "worker_count": training.worker_count}
        processes.together(lambda: self._folder.finish(step, manifest) if processes.is_first else None)


def _identity(training: Training) -> dict[str, Any]:
    """What must be equal for a run to go on, as JSON holds it; the number of workers may change."""
    replica = training.replica
    facts = {
        "sparsync_version": version("sparsync"),
        **{name: value for name, value in asdict(replica.run).items() if name != "workers"},
        "dimension": replica.model.parameters.numel(),
        "data_sha256": replica.data.sha256,
    }
    found: dict[str, Any] = json.loads(json.dumps(facts))
    return found
