"""The compiled library that a wheel brings along, and whether it may be loaded here.

`wheel_build.py` puts it into `prebuilt/`, with a note of what it was made from; a clone and `pip install .` have none.
Before it is loaded it is compared with that note, with the sources beside it and with the installed torch: to load a
library that was cut kills the process, and one of other sources would give other results.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsync.kernels.build_cache import fingerprint

FOLDER = Path(__file__).resolve().parent / "prebuilt"
LIBRARY, NOTE = "libsparsync.so", "libsparsync.json"


class PrebuiltError(Exception):
    """The library that came with the package may not be loaded here; the message says why."""


@dataclass(frozen=True)
class Origin:
    """What a library was made from, as far as it matters to those who load it.

    Args:
        sources: digest of the sources and flags, `native_build.sources_digest()`.
        torch_target: the oldest torch that it runs with, major and minor.
    """

    sources: str
    torch_target: tuple[int, int]


def note_text(library: Path, origin: Origin) -> str:
    """The note that belongs beside a library, JSON.

    Raises:
        OSError: the library cannot be read.
    """
    facts = {"sources": origin.sources, "torch_target": list(origin.torch_target), **fingerprint(library)}
    return json.dumps(facts, indent=2) + "\n"


def checked_library(folder: Path, origin: Origin, torch_version: str) -> Path:
    """The library in a folder, if it is whole, of the sources of `origin`, and for a torch of this version.

    Args:
        folder: holds `LIBRARY` and `NOTE`.
        origin: what a library should be made from here.
        torch_version: for example "2.13.0+cpu".

    Raises:
        PrebuiltError: it may not be loaded.
        OSError: it or its note cannot be read.
    """
    library, note = folder / LIBRARY, _note(folder / NOTE)
    major, minor = note["torch_target"]
    found = re.match(r"(\d+)\.(\d+)", torch_version)
    if found is None or (int(found[1]), int(found[2])) < (major, minor):
        raise PrebuiltError(f"the prebuilt library needs torch {major}.{minor} or later, this is {torch_version}")
    if note["sources"] != origin.sources:
        raise PrebuiltError(f"the prebuilt library is of other sources: {note['sources']}, here are {origin.sources}")
    if {**note, **fingerprint(library)} != note:
        raise PrebuiltError(f"the prebuilt library is not what was built: {library}")
    return library


def _note(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        major, minor = found["torch_target"]
        return {**found, "sources": str(found["sources"]), "torch_target": [int(major), int(minor)]}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise PrebuiltError(f"the note of the prebuilt library cannot be read: {path}: {error!r}") from error
