"""What method does a user's file pose? The one class with a `step`, and the numbers that it is run with.

Every number of the class becomes exact, `--set` replaces it, and what else it holds is refused by name. Name only files
that you trust as you trust a program that you start. Ours.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sparsync.verify.worst_case_rates.exact_numbers import MethodError, Number, number
from sparsync.verify.worst_case_rates.function_classes import function_class
from sparsync.verify.worst_case_rates.problem import Setting

TEXTS = ("function_class", "initial", "performance")
"""Attributes that are words."""
CALLED = ("step", "start", "fixed_point", "lyapunov", "initial", "performance", "closed_form")
"""Functions of a method that are called, if it has them."""
MOST_WORKERS = 20
"""A sum over more workers is no programme for a laptop."""


@dataclass(frozen=True)
class Method:
    """A method with its numbers.

    Args:
        name: of its class.
        path: where it was read.
        numbers: by name, those that the class computes included.
        setting: what it is run on.
        instance: an object of the class.
    """

    name: str
    path: Path
    numbers: Mapping[str, Fraction]
    setting: Setting
    instance: Any

    def word(self, name: str) -> str | None:
        """An attribute that is a word; None where the method has none or a function."""
        found = getattr(self.instance, name, None)
        return found if isinstance(found, str) else None

    def has(self, name: str) -> bool:
        """True iff the method has a function of the name."""
        return callable(getattr(self.instance, name, None))

    def call(self, name: str, *arguments: Any) -> Any:
        """What a function of the method returns.

        Raises:
            MethodError: it fails; the message has the line of the file.
        """
        with said_where(self.path, f"{self.name}.{name}"):
            return getattr(self.instance, name)(*arguments)


@contextmanager
def said_where(path: Path, what: str) -> Iterator[None]:
    """Turn any error of a user's code into one line that names the line of the file.

    Raises:
        MethodError: the code failed.
    """
    try:
        yield
    except Exception as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename) == path.resolve()
        ]
        place = f"{path}:{lines[-1]}" if lines else f"{path}"
        reason = f"{error}" if isinstance(error, MethodError) else f"{type(error).__name__}: {error}"
        raise MethodError(f"{place}, {what}: {reason}") from error


def read_method(text: str, changes: Mapping[str, str]) -> Method:
    """The method of `FILE.py`, or of `FILE.py:Class` where the file has several.

    Args:
        text: what names it.
        changes: numbers by name that replace the class's own, as texts.

    Raises:
        MethodError: there is no such file or class, or it is no method; the message names what is wrong.
    """
    name = text.rpartition(":")[2] if text.rpartition(":")[0].endswith(".py") else None
    path = Path(text.rpartition(":")[0] if name else text)
    return method_of(_chosen(path, _classes(path), name), path, changes)


def method_of(kind: type, path: Path, changes: Mapping[str, str]) -> Method:
    """The method of a class.

    Raises:
        MethodError: see `read_method`.
    """
    own = _attributes(kind)
    settable = {name for name, value in own.items() if _holds_number(name, value)} | {*_promised(kind)}
    unknown = sorted(set(changes) - settable - {"workers", "epsilon", "delta", "smoothness", "mu"})
    if unknown:
        raise MethodError(f"{kind.__name__} has no number {unknown[0]}; it has {', '.join(sorted(settable)) or 'none'}")
    missing = sorted(_promised(kind) - own.keys() - changes.keys())
    if missing:
        raise MethodError(f"{kind.__name__} gives {missing[0]} no value: set it by --set {missing[0]}=NUMBER")
    exact = {name: _exact(name, value) for name, value in {**own, **changes}.items() if name not in TEXTS}
    for one, other in (("epsilon", "delta"), ("delta", "epsilon")):
        if one in changes and other in exact:
            exact[other] = Number(1 - exact[one])
    with said_where(path, kind.__name__):
        # Numbers go into a class of its own, so that properties and __init__ compute with them.
        instance = type(kind.__name__, (kind,), dict(exact))()
    for name, value in vars(instance).items():
        if not name.startswith("_") and name not in TEXTS and not callable(value):
            object.__setattr__(instance, name, _exact(name, value))
    numbers = _numbers(instance, path)
    return Method(kind.__name__, path, numbers, _setting(instance, numbers), instance)


def _setting(instance: Any, numbers: Mapping[str, Fraction]) -> Setting:
    common = getattr(instance, "common_minimiser", False)
    if not isinstance(common, bool):
        raise MethodError(f"common_minimiser must be True or False, got {common!r}")
    workers = numbers.get("workers", Number(1))
    if workers.denominator != 1 or not 1 <= workers <= MOST_WORKERS:
        raise MethodError(f"workers must be a whole number from 1 to {MOST_WORKERS}, got {workers}")
    for name in TEXTS:
        value = getattr(instance, name, "")
        if not isinstance(value, str) and not (callable(value) and name in CALLED):
            raise MethodError(f"{name} must be a word, got {value!r}")
    epsilon = numbers.get("epsilon")
    if "delta" in numbers:
        if epsilon is not None and epsilon != 1 - numbers["delta"]:
            raise MethodError(f"epsilon must be 1 - delta, got {epsilon} and {numbers['delta']}")
        epsilon = 1 - numbers["delta"]
    if epsilon is not None and epsilon < 0:
        raise MethodError(f"epsilon must not be negative, got {epsilon}")
    return Setting(
        function_class(getattr(instance, "function_class", None), numbers),
        worker_count=int(workers),
        common_minimiser=common,
        epsilon=epsilon,
    )


def _classes(path: Path) -> dict[str, type]:
    """The classes with a `step` that a file defines."""
    if not path.is_file():
        raise MethodError(f"there is no file {path}")
    if path.suffix != ".py":
        raise MethodError(f"a method is a file that ends in .py, got {path}")
    name = f"method of {path.resolve()}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up while it is made.
    sys.modules[name] = module
    try:
        with said_where(path, "the file cannot be run"):
            spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return {
        name: value for name, value in vars(module).items() if inspect.isclass(value) and value.__module__ == spec.name
    }


def _chosen(path: Path, classes: Mapping[str, type], name: str | None) -> type:
    methods = {key: kind for key, kind in classes.items() if callable(getattr(kind, "step", None))}
    if name is not None:
        if name not in classes:
            raise MethodError(f"{path} has no class {name}; it has {', '.join(classes) or 'none'}")
        if name not in methods:
            raise MethodError(f"the class {name} of {path} has no function step")
        return methods[name]
    if not methods:
        others = f"; it has {', '.join(classes)}, without one" if classes else "; it has no class at all"
        raise MethodError(f"{path} has no class with a function step{others}")
    if len(methods) > 1:
        raise MethodError(f"{path} has several methods, {', '.join(methods)}: name one as {path}:{next(iter(methods))}")
    return next(iter(methods.values()))


def _attributes(kind: type) -> dict[str, Any]:
    """Public attributes of a class and its parents that are no functions or properties."""
    found: dict[str, Any] = {}
    for parent in reversed(kind.__mro__[:-1]):
        for name, value in vars(parent).items():
            if not name.startswith("_"):
                found[name] = value
    hidden = (property, staticmethod, classmethod)
    return {
        name: value
        for name, value in found.items()
        if not isinstance(value, hidden) and not callable(value) and not inspect.ismemberdescriptor(value)
    }


def _promised(kind: type) -> set[str]:
    """Names that have an annotation."""
    return {name for parent in kind.__mro__[:-1] for name in inspect.get_annotations(parent) if name[0] != "_"} - {
        *TEXTS,
        "common_minimiser",
    }


def _holds_number(name: str, value: object) -> bool:
    return name not in TEXTS and not isinstance(value, bool | list | tuple)


def _exact(name: str, value: object) -> Any:
    if name == "common_minimiser":
        return value
    if isinstance(value, list | tuple):
        return tuple(number(entry, f"an entry of {name}") for entry in value)
    try:
        return number(value, name)
    except MethodError as error:
        raise MethodError(
            f"the attribute {name} = {value!r} is unknown: a method has numbers, lists of numbers, {', '.join(TEXTS)}, "
            "common_minimiser, and names that begin with _ for its own use"
        ) from error


def _numbers(instance: Any, path: Path) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for name in dir(type(instance)) + list(vars(instance)):
        if name.startswith("_"):
            continue
        with said_where(path, f"{type(instance).__name__}.{name}"):
            value = getattr(instance, name)
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
            found[name] = number(value, name)
    return found
