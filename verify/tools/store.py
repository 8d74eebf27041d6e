"""What has been computed already? Finished cases, each under a digest of all that its result depends on. Ours.

A result may be taken over if a run of the same function on the same case, from the same sources with the same
libraries and the same arithmetic, left it. Files are written whole, so an interrupt loses the cases in flight only.
"""

import ast
import hashlib
import json
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from sparsync.verify.tools.arithmetic import arithmetic
from sparsync.verify.tools.provenance import write_whole

LIBRARIES = (
    "clarabel",
    "cvc5",
    "cvxpy",
    "gmpy2",
    "highspy",
    "hypothesis",
    "mpmath",
    "numpy",
    "opacus",
    "python-flint",
    "scikit-learn",
    "scipy",
    "scs",
    "sympy",
    "torch",
    "z3-solver",
)
"""Distributions whose version can change a result."""
OUR_PACKAGE = "sparsync"
_DATA_SUFFIXES = (".npz", ".h", ".cpp", ".cu", ".cuh")
"""Files that the modules of a folder read, besides Python's own."""


@dataclass(frozen=True)
class Store:
    """Results by key, a file each.

    Args:
        folder: where they lie; made with the first of them.
        packages: packages of ours whose every source is taken to be in use, for functions that import by name.
    """

    folder: Path
    packages: tuple[str, ...] = ()

    def key(self, function: Callable[..., Any], case: object) -> str:
        """64 hexadecimal digits of all that `function(case)` depends on.

        Raises:
            TypeError: the case, or an argument that is bound already, is of a kind that has no fixed description.
        """
        modules = {found.__module__ for found in (*functions_in(function), *functions_in(case))}
        facts = {
            "function": described(function),
            "case": described(case),
            "sources": [sources_digest(module, self.packages) for module in sorted(modules)],
            "environment": environment(),
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def __contains__(self, key: str) -> bool:
        return self._path(key).is_file()

    def __getitem__(self, key: str) -> Any:
        """A result.

        Raises:
            KeyError: there is none, or its file was damaged.
        """
        try:
            content = self._path(key).read_bytes()
        except OSError as error:
            raise KeyError(key) from error
        digest, _, pickled = content.partition(b"\n")
        if hashlib.sha256(pickled).hexdigest().encode() != digest:
            raise KeyError(key)
        return pickle.loads(pickled)

    def __setitem__(self, key: str, result: object) -> None:
        """Keep a result.

        Raises:
            OSError: its file cannot be written.
        """
        pickled = pickle.dumps(result)
        content = hashlib.sha256(pickled).hexdigest().encode() + b"\n" + pickled
        write_whole(self._path(key), lambda beside: beside.write_bytes(content))

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.result"


def described(value: object) -> Any:
    """A value as JSON that is the same in every process and differs where the value does.

    Raises:
        TypeError: no such description is known for its type; the message names it.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Fraction | Path):
        return [type(value).__name__, value.hex() if isinstance(value, float) else str(value)]
    if isinstance(value, Enum):
        return [_named(type(value)), value.name]
    if is_dataclass(value) and not isinstance(value, type):
        return [_named(type(value)), [[field.name, described(getattr(value, field.name))] for field in fields(value)]]
    if isinstance(value, Mapping):
        return ["mapping", [[described(key), described(item)] for key, item in value.items()]]
    if isinstance(value, list | tuple | range):
        return [type(value).__name__, [described(item) for item in value]]
    if isinstance(value, frozenset):
        return ["frozenset", sorted((described(item) for item in value), key=repr)]
    if isinstance(value, partial):
        return ["partial", described(value.func), described(value.args), described(value.keywords)]
    if callable(value) and getattr(value, "__qualname__", "<").isidentifier():
        return _named(value)
    raise TypeError(f"a case cannot be described: {value!r} of type {type(value).__name__}")


def functions_in(value: object) -> Iterator[Callable[..., Any]]:
    """Every function and class in a value that `described` describes."""
    if isinstance(value, partial):
        yield from functions_in((value.func, *value.args, *value.keywords.values()))
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        for field in fields(value):
            yield from functions_in(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield from functions_in((*value.keys(), *value.values()))
    elif isinstance(value, list | tuple | frozenset):
        for item in value:
            yield from functions_in(item)
    elif callable(value):
        yield value


def _named(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


@cache
def environment() -> dict[str, Any]:
    """Python, the versions of `LIBRARIES` and the arithmetic of this process."""
    versions = {name: _version(name) for name in LIBRARIES}
    return {"python": list(sys.version_info[:2]), "libraries": versions, **arithmetic()}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def sources_digest(module: str, packages: tuple[str, ...] = ()) -> str:
    """SHA-256 of the sources of a module, of all of ours that it imports, however far, and of the data beside them.

    Args:
        module: its import name.
        packages: of ours; every module in them counts too.
    """
    names = sources_in_use(module).union(*(_modules_of(package) for package in packages))
    digest = hashlib.sha256()
    for path in sorted({_source(name) for name in names} | _data_of(names)):
        digest.update(hashlib.sha256(path.name.encode()).digest() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def sources_in_use(module: str) -> frozenset[str]:
    """The module and every module of ours that it imports, however far, by import name; no module outside is."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and _is_ours(name):
            found.add(name)
            waiting += _imported(name)
    return frozenset(found)


@cache
def _imported(module: str) -> tuple[str, ...]:
    """Modules of ours that a module imports, anywhere in it."""
    names: list[str] = []
    for node in ast.walk(ast.parse(_source(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(dict.fromkeys(name for name in names if _is_ours(name)))


@cache
def _is_ours(name: str) -> bool:
    """True iff it is the name of a module, not of a package or of something in a module."""
    if not name.startswith(f"{OUR_PACKAGE}."):
        return False
    parent, _, last = name.rpartition(".")
    try:
        folders = getattr(import_module(parent), "__path__", ())
    except ModuleNotFoundError:
        return False
    return any((Path(folder) / f"{last}.py").is_file() for folder in folders)


def _source(module: str) -> Path:
    parent, _, last = module.rpartition(".")
    found = (Path(folder) / f"{last}.py" for folder in import_module(parent).__path__)
    return next(path for path in found if path.is_file())


def _modules_of(package: str) -> set[str]:
    return {found.name for found in walk_packages(import_module(package).__path__, f"{package}.") if not found.ispkg}


def _data_of(names: Iterable[str]) -> set[Path]:
    """Files with data or native code anywhere in the folders at the top of these modules: `kernels`, `experiments`."""
    tops = {".".join(name.split(".")[:2]) for name in names}
    folders = [Path(folder) for top in tops for folder in import_module(top).__path__]
    return {path for folder in folders for path in folder.rglob("*") if path.suffix in _DATA_SUFFIXES}
