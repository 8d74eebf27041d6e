"""How long are documents? Real ones that every machine has: parts of the embedded book, and files of a library.

Books and chapters are those of the embedded King James Version. Files are those of CPython's standard library, whose
sizes travel with the package (see the note beside them), since they differ from version to version. Ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from sparsync.experiments.training.text import read_text

LIBRARY_FILE = Path(__file__).parents[2] / "embedded" / "python_library.txt"
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idle_test"}
"""Folders whose files are not the library's own, or test it."""
_PLACE = re.compile(rb"((\d?[A-Za-z]+)\d+):\d+ ")
"""Of a verse: book and chapter."""


def book_bytes() -> list[int]:
    """Of each book, in their order: the verses with their places, and a line's end behind each."""
    return _parts(2)


def chapter_bytes() -> list[int]:
    """Of each chapter, likewise."""
    return _parts(1)


def library_bytes() -> list[int]:
    """Of each file of Python that is not empty, ascending; see the note beside the table."""
    return [int(line) for line in LIBRARY_FILE.read_text(encoding="ascii").split()]


def measured_library(folder: Path) -> list[int]:
    """How the table was made: the same, of a folder with a library."""
    files = (path for path in folder.rglob("*.py") if not LEFT_OUT & {*path.relative_to(folder).parts})
    return sorted(size for path in files if (size := path.stat().st_size))


DOCUMENTS: dict[str, Callable[[], list[int]]] = {
    "chapters": chapter_bytes,
    "books": book_bytes,
    "files": library_bytes,
}
"""Bytes of each document, by kind."""


def _parts(group: int) -> list[int]:
    found: Counter[bytes] = Counter()
    for line in read_text(None).splitlines(keepends=True):
        place = _PLACE.match(line)
        assert place is not None, "every line of the book is a verse behind its place"
        found[place[group]] += len(line)
    return list(found.values())
