"""How often was a run begun or gone on with, and how many updates were done twice? Told by what each attempt left.

`attempts.json` has a line for each attempt, written as it begins; `reached-N` holds the number of updates that the N-th
has done, eight bytes that are overwritten at every step. They outlive a killed process, though not a lost machine's
last moments: then the count is of what reached the disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from sparsync.experiments.training.loop import Attempt
from sparsync.verify.tools.provenance import write_json

_FILE = "attempts.json"


class Attempts:
    """The attempts at one run, in the folder of its checkpoints; one process has them.

    Args:
        folder: of the checkpoints.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def begin(self, first_step: int, worker_count: int, *, anew: bool) -> list[Attempt]:
        """Note another attempt; all of them, this one last.

        Args:
            first_step: of the checkpoint that it goes on from, or 0.
            worker_count: n.
            anew: forget those before.

        Raises:
            ValueError: what earlier attempts left is not readable.
            OSError: nothing can be written.
        """
        earlier = [] if anew else self._earlier()
        attempts = [*earlier, Attempt(first_step, worker_count)]
        write_json(self._folder / _FILE, {"attempts": [asdict(attempt) for attempt in attempts]})
        place = self._folder / f"reached-{len(attempts) - 1}"
        self._descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self.reach(first_step)
        return attempts

    def reach(self, step_count: int) -> None:
        """So many updates are done."""
        assert self._descriptor is not None
        os.pwrite(self._descriptor, step_count.to_bytes(8, "little"), 0)

    def close(self) -> None:
        """Nothing more will be reached."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _earlier(self) -> Sequence[Attempt]:
        place = self._folder / _FILE
        if not place.exists():
            return []
        try:
            rows = json.loads(place.read_text(encoding="utf-8"))["attempts"]
            found = [Attempt(**row) for row in rows]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{place} is not readable: {error}") from error
        return [replace(attempt, step_count=self._reached(number, attempt)) for number, attempt in enumerate(found)]

    def _reached(self, number: int, attempt: Attempt) -> int:
        """By the file, or, where that never came to be, nothing after its beginning."""
        try:
            return max(attempt.first_step, int.from_bytes((self._folder / f"reached-{number}").read_bytes(), "little"))
        except FileNotFoundError:
            return attempt.first_step
