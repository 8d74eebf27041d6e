"""Which files of the repository does the site show? Those that a page links to, as pages with numbered lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Place:
    """A line of a file: its words, and where the site has it.

    Args:
        file: seen from the repository's root.
        line: from 1; 0 is the whole file.
    """

    file: str
    line: int = 0

    @property
    def page(self) -> str:
        """The address, seen from the site's root."""
        return f"{page_of(self.file)}{f'#L{self.line}' if self.line else ''}"


@dataclass
class Sources:
    """Files that pages link to, gathered while the pages are made."""

    files: set[str] = field(default_factory=set)

    def place(self, file: str, line: int | None = None) -> Place:
        """A place that a page will link to.

        Raises:
            FileNotFoundError: there is no such file.
        """
        if not (ROOT / file).is_file():
            raise FileNotFoundError(f"the repository has no file {file}")
        self.files.add(file)
        return Place(file, line or 0)

    def first(self, file: str, word: str) -> Place:
        """The line of a file that holds a word in quotes first, or the file where none does."""
        lines = lines_of(file)
        return self.place(file, next((number for number, line in enumerate(lines, 1) if f'"{word}"' in line), None))


def page_of(file: str) -> str:
    """Where the site shows a file."""
    return f"source/{file}.html"


@cache
def lines_of(file: str) -> tuple[str, ...]:
    """The lines of a file of the repository."""
    return tuple((ROOT / file).read_text(encoding="utf-8").splitlines())


def twin_tests(module_file: str) -> list[str]:
    """The tests of a file of `theory/` or `verify/`, which bear its name."""
    folder, _, name = module_file.rpartition("/")
    path = f"tests/{folder}/test_{name}"
    return [path] if (ROOT / path).is_file() else []


def importing_tests(module: str) -> list[str]:
    """The tests of the paper that import a module of its studies."""
    pattern = re.compile(rf"^\s*(?:from {re.escape(module)} import|import {re.escape(module)}\b)", re.MULTILINE)
    package, _, stem = module.rpartition(".")
    pattern_of_package = re.compile(rf"^\s*from {re.escape(package)} import [^\n]*\b{re.escape(stem)}\b", re.MULTILINE)
    return [name for name, text in _tests() if pattern.search(text) or pattern_of_package.search(text)]


@cache
def _tests() -> tuple[tuple[str, str], ...]:
    paths = sorted((ROOT / "tests" / "paper").rglob("test_*.py"))
    return tuple((str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in paths)
