"""Start the ranks of a measurement as processes, wait for their results, and leave none behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sparsync.experiments.studies.hooks.rank import Job

DEADLINE_SECONDS = 1800.0
_POLL_SECONDS = 0.05
_SHOWN_CHARACTERS = 2000


@dataclass(frozen=True)
class Place:
    """Where a rank runs.

    Args:
        prefix: of its command.
        environment: added to this process's own.
    """

    prefix: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def run_ranks(job: Job, places: Sequence[Place] | None = None) -> list[dict[str, Any]]:
    """What each rank measured, in order.

    Args:
        job: of all ranks.
        places: of each rank; None: all on this machine's own network.

    Raises:
        RuntimeError: a rank failed, with its last words, or outlived the deadline; all others are ended.
    """
    places = [Place()] * job.rank_count if places is None else places
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.joinpath("job.json").write_text(json.dumps(asdict(job)), encoding="utf-8")
        started: list[subprocess.Popen[bytes]] = []
        # Registered first: an interrupt may come between two starts.
        stack.callback(_end, started)
        for rank, place in enumerate(places):
            errors = stack.enter_context(folder.joinpath(f"errors-{rank}.txt").open("wb"))
            command = [*place.prefix, sys.executable, "-m", "sparsync.experiments.studies.hooks.rank", name, str(rank)]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **place.environment}
            started.append(subprocess.Popen(command, env=environment, stdout=errors, stderr=errors))
        _wait(started, folder)
        return [json.loads((folder / f"result-{rank}.json").read_text(encoding="utf-8")) for rank in range(len(places))]


def _wait(started: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    """Until all have ended well, or one has not."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        statuses = [process.poll() for process in started]
        for rank, status in enumerate(statuses):
            if status:
                said = (folder / f"errors-{rank}.txt").read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"rank {rank} ended with status {status}:\n{said[-_SHOWN_CHARACTERS:]}")
        if all(status == 0 for status in statuses):
            return
        if time.monotonic() > deadline:
            waited = [rank for rank, status in enumerate(statuses) if status is None]
            raise RuntimeError(f"ranks {waited} have not ended within {DEADLINE_SECONDS:g} s")
        time.sleep(_POLL_SECONDS)


def _end(started: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in started:
        process.kill()
    for process in started:
        process.wait()
