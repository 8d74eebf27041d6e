"""Which result files does the paper read? The tracked JSON of the studies, the ledger and Coq, and nothing else.

Every access names the file, and the field within it, that a figure or a number misses. Written by
`experiments/reproduce.py`, the studies of `make bench`, `make links` and `make real`, `verify/ledger/command.py` and
`verify/formal/coq.py`; read by the files of `studies/`. Nothing is trained here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsync.verify.tools.provenance import write_whole

COMMANDS = {
    **dict.fromkeys(("engine_speed", "hook_cost", "kernels", "wire"), "make bench"),
    **dict.fromkeys(("farms", "global_selection", "planning_seconds", "streams"), "make bench"),
    "formal": "make formal",
    **dict.fromkeys(("elastic", "links", "slices"), "make links"),
    **dict.fromkeys(("advice", "real_races"), "make real"),
}
"""What writes results that `make reproduce` does not write."""
_LONG = (
    "race_finals",
    *(f"link_accuracy_{model}" for model in ("resnet20", "gpt")),
    *(f"convergence_{arena}" for arena in ("fnn3_16", "lenet5", "resnet20", "lstm")),
)
LEFT_OUT = {
    "smoke": _LONG,
    "quick": ("variants", "gradient_laws", "density_costs", "link_accuracy_fnn3", "convergence_gpt", *_LONG),
}
"""By profile, results that a whole run of it does not have, though `make reproduce` writes them: the record's stay."""
COLLECTIONS = {"convergence": "convergence_*.json", "kernels": "kernels-*.json"}
"""Names that stand for several files: an arena each, or a machine each. Not all of them need be there."""

_READS: ContextVar[list[Path] | None] = ContextVar("_READS", default=None)
_KEPT: ContextVar[dict[Path, Result] | None] = ContextVar("_KEPT", default=None)


@dataclass(frozen=True)
class Result:
    """The content of one result file, or of a record within it; a missing field is an error that names both.

    Args:
        path: where it was read.
        fields: its content.
    """

    path: Path
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """The field's value.

        Raises:
            ValueError: there is no such field.
        """
        if name not in self.fields:
            raise ValueError(f"{self.path}: no field {name!r}")
        return self.fields[name]

    def record(self, name: str) -> Result:
        """A field that is itself a record, such as `run` or `provenance`."""
        return Result(self.path, self[name])

    def records(self, name: str) -> list[Result]:
        """A field that is a list of records."""
        return [Result(self.path, fields) for fields in self[name]]


def result(data_folder: Path, name: str) -> Result:
    """The content of `<name>.json`.

    Raises:
        FileNotFoundError: there is no such file; the message says which command writes it.
        ValueError: it is not JSON.
    """
    return _read(data_folder / f"{name}.json", name)


def results(data_folder: Path, name: str) -> list[Result]:
    """All results of a name, in the order of the file names: one, or those of a collection.

    Raises:
        FileNotFoundError: there is none.
        ValueError: one is not JSON.
    """
    if name not in COLLECTIONS:
        return [result(data_folder, name)]
    paths = sorted(data_folder.glob(COLLECTIONS[name]))
    if not paths:
        raise _missing(data_folder / COLLECTIONS[name], name)
    return [_read(path, name) for path in paths]


def result_name(file: str) -> str:
    """The name by which a file is made anew: `kernels-nvidia-h200.json` is of `kernels`; an arena's has its own."""
    found = (name for name, pattern in COLLECTIONS.items() if Path(file).match(pattern) and name in COMMANDS)
    return next(found, Path(file).stem)


def command(name: str) -> str:
    """Which command writes the results of a name: `make reproduce` where nothing else is said."""
    return COMMANDS.get(name, "make reproduce")


@contextmanager
def reads_recorded() -> Iterator[list[Path]]:
    """A list to which every result file that is read within the context is added: what a claim or a figure rests on."""
    reads: list[Path] = []
    token = _READS.set(reads)
    try:
        yield reads
    finally:
        _READS.reset(token)


@contextmanager
def each_read_once() -> Iterator[None]:
    """Within the context no result file is read twice: what was read is kept, and must not be changed.

    A number asks for its file by name, and hundreds ask for the same.
    """
    if _KEPT.get() is not None:
        yield
        return
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole, in UTF-8."""
    write_whole(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def _read(path: Path, name: str) -> Result:
    if not path.is_file():
        raise _missing(path, name)
    if (reads := _READS.get()) is not None:
        reads.append(path)
    kept = _KEPT.get()
    if kept is not None and path in kept:
        return kept[path]
    try:
        found = Result(path, json.loads(path.read_text(encoding="utf-8")))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if kept is not None:
        kept[path] = found
    return found


def _missing(path: Path, name: str) -> FileNotFoundError:
    return FileNotFoundError(f"{path} is missing; `{command(name)}` writes it")
