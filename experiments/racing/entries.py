"""Who races? Policies named on a command line: one of this project's, or a class in a file of the user's own.

`ssp`, `ssp:staleness=3`, `my_policies.py:Patient`, or `my_policies.py:Patient:rounds=2`. A value is read as the type of
the parameter's default, or by the function that its field names as `metadata["read"]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.own_code import own_object
from sparsync.experiments.policies.registry import POLICIES

Parameter = bool | int | float | str | tuple[int, ...] | tuple[tuple[int, ...], ...]
Contestant = tuple[str, dict[str, Parameter]]
"""A policy's name, or file and class, and its parameters."""


def policy_type(name: str) -> type[Policy]:
    """The policy of this name, or of this file and class.

    The file is run, as a module of its own: name only files that you trust as you trust a program that you start.

    Raises:
        ValueError: there is no such policy, file or class, the file cannot be run, or the class is no policy: a
            dataclass whose parameters all have defaults, derived from `Policy`.
    """
    if name in POLICIES:
        return POLICIES[name]
    found = own_object(name)
    if found is None:
        raise ValueError(f"unknown policy {name!r}; known: {', '.join(POLICIES)}; or name your own: file.py:Class")
    path, class_name, own = found
    if not (isinstance(own, type) and issubclass(own, Policy)):
        raise ValueError(f"{path} has no class {class_name!r} that is derived from sparsync's Policy")
    if not is_dataclass(own) or any(
        item.default is MISSING and item.default_factory is MISSING for item in fields(own) if item.init
    ):
        raise ValueError(f"{class_name} in {path} must be a dataclass, and all its parameters must have defaults")
    return own


def parameters_of(name: str, policy: Policy) -> dict[str, Any]:
    """The parameters of a policy of this name, as they are."""
    return {item: getattr(policy, item) for item in policy_parameters(name)}


def label(name: str, parameters: Mapping[str, Any]) -> str:
    """The policy with those of its parameters that are not as usual, as the command line takes them."""
    usual = policy_parameters(name)
    changed = [f"{key}={_text(value)}" for key, value in parameters.items() if value != usual[key]]
    return name + (f":{','.join(changed)}" if changed else "")


def _text(value: Any) -> str:
    """A value as the command line takes it; of numbers as `read_caps` does, of rows of them as `read_blocks`."""
    rows = value if isinstance(value, tuple) else ()
    return "/".join("+".join(map(str, row if isinstance(row, tuple) else (row,))) for row in rows) or str(value)


def split_entry(text: str) -> tuple[str, str]:
    """The policy's name, or file and class, and what is written of its parameters."""
    found = re.fullmatch(r"(?P<name>(?:.+\.py:)?[^:]*)(?::(?P<parameters>.*))?", text)
    assert found is not None
    return found["name"], found["parameters"] or ""


def make_policy(name: str, parameters: dict[str, Parameter]) -> Policy:
    """A policy with some parameters set.

    Raises:
        ValueError: no such policy or parameter, or a value that the policy refuses.
    """
    known = policy_parameters(name)
    for parameter in parameters:
        if parameter not in known:
            allowed = ", ".join(known) or "none"
            raise ValueError(f"policy {name!r} has no parameter {parameter!r}; it has: {allowed}")
    return policy_type(name)(**parameters)


def policy_parameters(name: str) -> dict[str, Any]:
    """The parameters of a policy, with their defaults.

    Raises:
        ValueError: see `policy_type`.
    """
    return {item.name: item.default for item in fields(policy_type(name)) if item.init}


def read_contestants(names: Sequence[str], options: Sequence[str]) -> list[Contestant]:
    """The policies with their parameters.

    Args:
        names: "ssp" or "ssp:staleness=3,…".
        options: what the command line holds besides, as "--staleness", "3", ….

    Raises:
        ValueError: no policy is named, one is unknown or comes twice with equal parameters, a parameter is set twice,
            or an option belongs to none of them.
    """
    if not names:
        raise ValueError(f"name at least one --policy of: {', '.join(POLICIES)}")
    common = _options(options)
    contestants: list[Contestant] = []
    complete: list[Contestant] = []
    for text in names:
        name, written = split_entry(text)
        known = policy_parameters(name)
        own: dict[str, str] = {}
        for key, value in (_assignment(part) for part in written.split(",") if part):
            if key in own:
                raise ValueError(f"{text!r} sets {key} twice")
            own[key] = value
        given = {key: value for key, value in common.items() if key in known} | own
        parameters = {key: _value(name, key, value) for key, value in given.items()}
        if (name, known | parameters) in complete:
            raise ValueError(f"{text!r} races already")
        complete.append((name, known | parameters))
        contestants.append((name, parameters))
    for key in common:
        if not any(key in policy_parameters(name) for name, _ in contestants):
            raise ValueError(f"none of the policies has a parameter {key!r}")
    return contestants


def _options(words: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if not word.startswith("--"):
            raise ValueError(f"unexpected argument {word!r}")
        key, equals, value = word.removeprefix("--").partition("=")
        if not equals:
            if not remaining:
                raise ValueError(f"option {word!r} needs a value")
            value = remaining.pop(0)
        parameter = key.replace("-", "_")
        if parameter in found:
            raise ValueError(f"option {'--' + key!r} is given twice")
        found[parameter] = value
    return found


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"expected parameter=value, got {text!r}")
    return key.strip(), value.strip()


def _value(name: str, key: str, text: str) -> Parameter:
    """The text as the type of the parameter's default."""
    known = policy_parameters(name)
    if key not in known:
        raise ValueError(f"policy {name!r} has no parameter {key!r}; it has: {', '.join(known) or 'none'}")
    read = next(item for item in fields(policy_type(name)) if item.name == key).metadata.get("read")
    if read is not None:
        try:
            return read(text)  # type: ignore[no-any-return]
        except ValueError as error:
            raise ValueError(f"{name}: {key} must be {error}, got {text!r}") from error
    default = known[key]
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{name}: {key} must be true or false, got {text!r}")
        return text.lower() == "true"
    if isinstance(default, int | float) or default is None:
        try:
            number = float(text)
        except ValueError as error:
            raise ValueError(f"{name}: {key} must be a number, got {text!r}") from error
        return int(number) if number.is_integer() else number
    if isinstance(default, str):
        return text
    raise ValueError(f"{name}: {key} can only be set in Python")
