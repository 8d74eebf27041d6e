"""Which figures are there, what does each read, and what does it show? Drawn once for the same sources and results."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from paper.commands import commands
from paper.documents import DOCUMENTS
from paper.figures import FIGURES, write_figure
from paper.results import reads_recorded, write_text
from paper.rules import RULES
from paper.site.sources import ROOT, Place, Sources, importing_tests, lines_of
from paper.studies.registry import STUDIES
from sparsync.theory.statements import STATEMENTS

_DRAWING = ("paper", "theory", "verify/tools")
"""Folders whose sources decide what a figure shows."""
_ENVIRONMENT = re.compile(r"\\begin\{figure\*?\}.*?\\end\{figure\*?\}", re.DOTALL)


@dataclass(frozen=True)
class Figure:
    """A figure with what it rests on.

    Args:
        name: of its file, without the ending.
        study: of the paper, that it belongs to.
        caption: the question that it answers.
        image: the drawn file.
        reads: result files, seen from the data folder.
        command: which finds these results anew and draws them.
        source: the function that draws it.
        tests: of its study.
        statements: labels that its study or its caption in the paper names.
    """

    name: str
    study: str
    caption: str
    image: Path
    reads: tuple[str, ...]
    command: str
    source: Place
    tests: tuple[Place, ...]
    statements: tuple[str, ...]

    @property
    def page(self) -> str:
        """Where the site shows it."""
        return f"figures.html#{self.name}"


def figures(data_folder: Path, cache_folder: Path, sources: Sources, *, names: Collection[str]) -> list[Figure]:
    """The figures of these names, in the order of the paper, drawn where they have not been drawn before.

    Raises:
        FileNotFoundError: a result is missing.
        ValueError: a result lacks a field.
    """
    drawn = cache_folder / _digest(data_folder)
    for old in cache_folder.glob("*"):
        if old != drawn:
            shutil.rmtree(old)
    study_of = {name: key for key, study in STUDIES.items() for name in study.figures}
    chosen = [name for name in FIGURES if name in names]
    return [_figure(name, study_of[name], _drawn(name, data_folder, drawn), sources) for name in chosen]


def _drawn(name: str, data_folder: Path, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """The figure's file, and the result files that drawing it has read."""
    image, record = folder / f"{name}.png", folder / f"{name}.json"
    if not (image.is_file() and record.is_file()):
        with reads_recorded() as reads:
            write_figure(name, data_folder, folder, endings=("png",))
        files = sorted({str(path.relative_to(data_folder)) for path in reads})
        write_text(record, json.dumps(files))
    return image, tuple(json.loads(record.read_text(encoding="utf-8")))


def _digest(data_folder: Path) -> str:
    """Of all that figures are drawn from."""
    digest = hashlib.sha256()
    sources = (path for folder in _DRAWING for path in (ROOT / folder).rglob("*.py") if "site" not in path.parts)
    for path in (*sorted(sources), *sorted(data_folder.rglob("*.json"))):
        digest.update(str(path).encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _figure(name: str, study: str, drawn: tuple[Path, tuple[str, ...]], sources: Sources) -> Figure:
    function: Any = FIGURES[name]
    while isinstance(function, partial):
        function = function.func
    image, reads = drawn
    file = str(Path(inspect.getsourcefile(function) or "").resolve().relative_to(ROOT))
    package = function.__module__ if study in function.__module__ else function.__module__.rpartition(".")[0]
    return Figure(
        name=name,
        study=study,
        caption=" ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split()),
        image=image,
        reads=reads,
        command=commands()[name],
        source=sources.place(file, inspect.getsourcelines(function)[1]),
        tests=tuple(sources.place(test) for test in importing_tests(function.__module__) or importing_tests(package)),
        statements=_statements(name, file),
    )


def _statements(name: str, file: str) -> tuple[str, ...]:
    """The labels that are written in the figure's file, names of selectors apart, and in its caption in the paper."""
    words = re.findall(r"[\"`](\w+_\w+)[\"`]", "\n".join(lines_of(file)))
    labels = [word for word in words if word in STATEMENTS and word not in RULES]
    return tuple(dict.fromkeys([*_named_in_captions().get(name, ()), *labels]))


@cache
def _named_in_captions() -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for document in DOCUMENTS.values():
        for environment in _ENVIRONMENT.findall(document.text()):
            labels = re.findall(r"\\statement\{(\w+)\}", environment)
            for name in re.findall(r"\\includegraphics(?:\[.*?\])?\{(\w+)\}", environment):
                found.setdefault(name, []).extend(label for label in labels if label in STATEMENTS)
    return found
