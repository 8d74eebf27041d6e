"""How long did a study take? Seconds by name, of runs that took nothing over from earlier ones; a file for a profile.

Seconds are those of a clock on the wall, with so many cases at a time, and of studies that ran side by side those of
all of them. Ours.
"""

import json
from pathlib import Path
from typing import Any

from sparsync.verify.tools.provenance import PACKAGE_FOLDER, git_state, machine_name, write_json


def note_duration(path: Path, name: str, seconds: float, *, job_count: int, beside: tuple[str, ...] = ()) -> None:
    """Put one duration into a file of them, in the place of an earlier one of the same name.

    Args:
        path: the file; made if absent.
        name: of the study.
        seconds: until it had ended.
        job_count: cases at a time.
        beside: other studies that ran at the same time, whose seconds are in it.

    Raises:
        ValueError: the file is there and holds no durations.
    """
    commit, dirty = git_state(PACKAGE_FOLDER)
    durations = read_durations(path) | {
        name: {
            "duration_seconds": seconds,
            "job_count": job_count,
            "beside": list(beside),
            "processor_name": machine_name(),
            "git_commit": commit,
            "git_dirty": dirty,
        }
    }
    write_json(path, {"durations": durations})


def read_durations(path: Path) -> dict[str, Any]:
    """By name; empty if there is no file.

    Raises:
        ValueError: the file holds no durations.
    """
    if not path.is_file():
        return {}
    try:
        found: dict[str, Any] = dict(json.loads(path.read_text(encoding="utf-8"))["durations"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} holds no durations: {error!r}") from error
    return found
