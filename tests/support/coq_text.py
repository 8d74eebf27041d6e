"""Coq definitions read as sympy expressions: the arithmetic that our bounds are written in, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import sympy

from sparsync.verify.formal.coq import read_sources

_TOKEN = re.compile(r"\s*(Num\.sqrt|%/|\^\+|\^-1|\.\+\d|\*:|[-+*/^()]|\d+|[A-Za-z_][A-Za-z_0-9']*)")
_SCOPES = re.compile(r"%:R|%N|%:Q")
_DEFINITION = re.compile(r"^Definition (\w+)((?:\s*\([^)]*\)|\s+\w+)*)\s*:\s*(?:R|nat) :=\s+(.*?)\.(?=\s)", re.M | re.S)


@dataclass(frozen=True)
class Definition:
    """A definition of a number: parameters and body text."""

    parameters: tuple[str, ...]
    body: str


def read_definitions() -> dict[str, Definition]:
    """Every definition of a number in our files, by name.

    Raises:
        ValueError: a name is defined twice.
    """
    return definitions_of("\n".join(map(without_comments, read_sources().values())))


def definitions_of(source: str) -> dict[str, Definition]:
    """Every definition of a number in a source without comments, by name.

    Raises:
        ValueError: a name is defined twice.
    """
    found = {}
    for name, parameters, body in _DEFINITION.findall(source):
        if name in found:
            raise ValueError(f"{name} is defined twice")
        found[name] = Definition(_parameters(parameters), body)
    return found


def without_comments(source: str) -> str:
    """The source as Coq reads it: comments may hold comments.

    Raises:
        ValueError: a comment is not closed, or none is open.
    """
    kept, depth = [], 0
    for part in re.split(r"(\(\*|\*\))", source):
        depth += {"(*": 1, "*)": -1}.get(part, 0)
        if depth < 0:
            raise ValueError("a comment is closed that is not open")
        if depth == 0 and part != "*)":
            kept.append(part)
    if depth:
        raise ValueError("a comment is not closed")
    return "".join(kept)


def statement_of(source: str, name: str) -> str:
    """The text of a theorem from its name to the full stop, in single spaces.

    Raises:
        ValueError: the file does not state it once.
    """
    stated = rf"^(?:Theorem|Lemma|Corollary|Example) {name}\b(.*?)\.\nProof"
    found = re.findall(stated, without_comments(source), re.M | re.S)
    if len(found) != 1:
        raise ValueError(f"{name} is stated {len(found)} times")
    return " ".join(found[0].split())


def sympy_of(text: str, values: Mapping[str, sympy.Expr], definitions: Mapping[str, Definition]) -> sympy.Expr:
    """The value of a Coq expression whose variables have these values.

    Raises:
        ValueError: it is not arithmetic, or has a name that is neither a variable nor a definition.
    """
    return _Reader(_tokens(text), values, definitions).whole()


def _parameters(text: str) -> tuple[str, ...]:
    """The names in `(d k : nat) x`; a type as parameter, such as R, counts for nothing."""
    names = re.sub(r":[^)]*", "", text).replace("(", " ").replace(")", " ").split()
    return tuple(name for name in names if name != "R")


def _tokens(text: str) -> list[str]:
    rest, tokens = _SCOPES.sub("", text).strip(), []
    while rest:
        match = _TOKEN.match(rest)
        if match is None:
            raise ValueError(f"not arithmetic: {rest!r}")
        tokens.append(match[1])
        rest = rest[match.end() :].strip()
    return [token for token in tokens if token != "R"]


class _Reader:
    """Precedence climbing: + and − below * and /, powers and application above."""

    def __init__(self, tokens: list[str], values: Mapping[str, sympy.Expr], definitions: Mapping[str, Definition]):
        self.tokens, self.values, self.definitions = tokens, values, definitions

    def whole(self) -> sympy.Expr:
        value = self.sum()
        if self.tokens:
            raise ValueError(f"not arithmetic: {' '.join(self.tokens)}")
        return value

    def sum(self) -> sympy.Expr:
        value = self.product()
        while self.next() in ("+", "-"):
            sign = self.tokens.pop(0)
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self) -> sympy.Expr:
        value = self.power()
        while self.next() in ("*", "*:", "/", "%/"):
            sign, other = self.tokens.pop(0), self.power()
            value = {"/": lambda a, b: a / b, "%/": lambda a, b: sympy.floor(a / b)}.get(sign, lambda a, b: a * b)(
                value, other
            )
        return value

    def power(self) -> sympy.Expr:
        value = self.application()
        while self.next() in ("^", "^+", "^-1"):
            value = 1 / value if self.tokens.pop(0) == "^-1" else value ** self.application()
        return value

    def application(self) -> sympy.Expr:
        name = self.next()
        if name in self.definitions and name not in self.values:
            self.tokens.pop(0)
            definition = self.definitions[name]
            arguments = {parameter: self.atom() for parameter in definition.parameters}
            return _Reader(_tokens(definition.body), arguments, self.definitions).whole()
        return self.atom()

    def atom(self) -> sympy.Expr:
        token = self.tokens.pop(0) if self.tokens else ""
        if token == "(":
            value = self.sum()
            if self.next() != ")":
                raise ValueError("a bracket is not closed")
            self.tokens.pop(0)
        elif token.isdigit():
            value = sympy.Integer(token)
        elif token == "Num.sqrt":
            value = sympy.sqrt(self.atom())
        elif token in self.values:
            value = self.values[token]
        else:
            raise ValueError(f"no value for {token!r}")
        while self.next().startswith(".+"):
            value = value + int(self.tokens.pop(0)[2:])
        return value

    def next(self) -> str:
        return self.tokens[0] if self.tokens else ""
