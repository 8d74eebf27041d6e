"""Which statements does a file hold? A mapping by label that builds a statement when it is first looked at.

To build all takes seconds, and most programs need a few. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace

from sparsync.theory.language.statement import Statement

Builder = Callable[[], Statement]


class Stated(MutableMapping[str, Statement]):
    """Statements by label, in the order in which they were named; each is built once, when it is first looked at.

    Args:
        builders: what builds the statement of a label.

    Raises:
        ValueError: at the first look, what was built has another label.
    """

    def __init__(self, builders: Mapping[str, Builder]) -> None:
        self._builders = dict(builders)
        self._built: dict[str, Statement] = {}

    def build(self) -> None:
        """Build all that has not been looked at; raises as a look at it does."""
        for label in self:
            self[label]

    def __getitem__(self, label: str) -> Statement:
        if label not in self._built:
            statement = self._builders[label]()
            if statement.label != label:
                raise ValueError(f"statement {label!r} has the label {statement.label!r}")
            self._built[label] = statement
        return self._built[label]

    def __setitem__(self, label: str, statement: Statement) -> None:
        self._builders[label], self._built[label] = lambda: statement, statement

    def __delitem__(self, label: str) -> None:
        del self._builders[label]
        self._built.pop(label, None)

    def __contains__(self, label: object) -> bool:
        return label in self._builders

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


def by_label(module: str, *builders: Builder, **labelled: Builder) -> Stated:
    """The statements of a module, each knowing the module; a function's name is the label, unless it is given one.

    Raises:
        ValueError: two have one label.
    """
    named = [(builder.__name__, builder) for builder in builders] + list(labelled.items())
    labels = [label for label, _ in named]
    if len(set(labels)) < len(labels):
        raise ValueError(f"{module}: two statements have one label among {labels}")
    return Stated({label: _in_module(builder, module) for label, builder in named})


def joined(*parts: Stated) -> Stated:
    """The statements of all parts, in their order.

    Raises:
        ValueError: two have one label.
    """
    labels = [label for part in parts for label in part]
    if len(set(labels)) < len(labels):
        raise ValueError(f"two statements have one label: {sorted({one for one in labels if labels.count(one) > 1})}")
    return Stated({label: _of(part, label) for part in parts for label in part})


def _in_module(builder: Builder, module: str) -> Builder:
    return lambda: replace(builder(), module=module)


def _of(part: Stated, label: str) -> Builder:
    return lambda: part[label]
