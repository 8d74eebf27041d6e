"""How long does each collective take, in fractions for one number of workers or in doubles for many? By the statements.

Seconds are those of `theory/cost/`, without headers; a part that is not whole counts as the fraction it is. Of a
worker's entries a share φ lies where no worker before it selected, so that n workers select min(d, k(1 + φ(n − 1)))
coordinates: with φ = 0 they select alike, with φ = 1 apart. Flat collectives go by the link between nodes, unless there
is one node only, since neighbours of a ring or tree may be anywhere. Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy
import sympy
from numpy.typing import NDArray

from sparsync.experiments.averaging.link import Link
from sparsync.theory.statements import STATEMENTS

COLLECTIVES = (
    "ring_all_reduce",
    "doubling_all_reduce",
    "tree_all_reduce",
    "ring_all_gather",
    "doubling_all_gather",
    "balanced_all_reduce",
    "global_top_k",
    "hierarchical_all_reduce",
    "hierarchical_gather",
)
"""Labels of the statements that say how long each takes; of equally fast ones the first is taken."""
EXACT = tuple(name for name in COLLECTIVES if name != "global_top_k")
"""Those after which all workers have the sum of everything."""
IN_NODES = ("hierarchical_all_reduce", "hierarchical_gather")
"""Those that need nodes of several workers."""
PARTS: dict[str, tuple[str, ...]] = {
    "messages": ("message_seconds", "inner_message_seconds"),
    "bytes": ("byte_seconds", "inner_byte_seconds"),
    "additions": ("merge_seconds",),
}
"""What seconds are spent on, and the parameters of the statements without which nothing is."""

Line = tuple[Fraction, Fraction]
"""Seconds with no entries, and seconds an entry."""
Whole = NDArray[numpy.int64]


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        workers: n, whole nodes.
        dimension: d.
        density: share of the coordinates that each worker selects, in (0, 1]; k is dκ to the nearest whole, at least 1.
        link: α and β, between nodes where there are nodes.
        merge_seconds_per_byte: γ, of a byte that is added where it arrives.
        value_bytes: s, of a value, selected or not.
        index_bytes: j, of a selected value's position.
        fresh_share: φ, in [0, 1]; see above.
        node_size: m; 1 where there are no nodes.
        inner_link: inside a node; needed where there are nodes.
        allowed: some of `COLLECTIVES`.

    Raises:
        ValueError: a field out of range, named with its value.
    """

    workers: int
    dimension: int
    density: float
    link: Link
    merge_seconds_per_byte: float = 0.0
    value_bytes: int = 4
    index_bytes: int = 4
    fresh_share: float = 1.0
    node_size: int = 1
    inner_link: Link | None = None
    allowed: tuple[str, ...] = EXACT

    def __post_init__(self) -> None:
        for name in ("dimension", "value_bytes", "index_bytes", "node_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        self.require_workers(self.workers)
        require_density(self.density)
        if not 0 <= self.fresh_share <= 1:
            raise ValueError(f"fresh_share must lie in [0, 1], got {self.fresh_share}")
        if not 0 <= self.merge_seconds_per_byte < math.inf:
            raise ValueError(f"merge_seconds_per_byte must not be negative, got {self.merge_seconds_per_byte}")
        if self.node_size > 1 and self.inner_link is None:
            raise ValueError(f"nodes of {self.node_size} workers need an inner_link, got None")
        if not self.allowed or set(self.allowed) - set(COLLECTIVES):
            raise ValueError(f"allowed must be some of {', '.join(COLLECTIVES)}, got {self.allowed}")

    @property
    def count(self) -> int:
        """k."""
        return count_at(self.density, self.dimension)

    @property
    def able(self) -> tuple[str, ...]:
        """The allowed collectives that can be run, in the order of `COLLECTIVES`."""
        return self.runnable(self.allowed)

    def runnable(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Some collectives without those that need nodes where there are none, in the order of `COLLECTIVES`."""
        return tuple(name for name in COLLECTIVES if name in names and (name not in IN_NODES or self.node_size > 1))

    def require_workers(self, workers: int) -> None:
        """Refuse what is not a number of whole nodes.

        Raises:
            ValueError: it is not.
        """
        if workers < 1 or workers % self.node_size:
            raise ValueError(f"workers must be whole nodes of {self.node_size}, got {workers}")


def require_density(density: float) -> None:
    """Refuse what is no share of the coordinates.

    Raises:
        ValueError: it is not in (0, 1].
    """
    if not 0 < density <= 1:
        raise ValueError(f"density must lie in (0, 1], got {density}")


def count_at(density: float, dimension: int) -> int:
    """k at a density: dκ to the nearest whole number, at least 1."""
    return max(1, round(Fraction(density) * dimension))


def seconds_of(question: Question, name: str, workers: int, count: int) -> Fraction:
    """Seconds with other workers and entries than the question's, exact."""
    return Fraction(_value(name, _numbers(question, workers, *_selected(question, workers, Fraction(count)))))


def doubles_of(question: Question, name: str, workers: Whole) -> NDArray[numpy.float64]:
    """Seconds for many numbers of workers, to roundings."""
    inner = question.inner_link or question.link
    is_one_node = workers <= question.node_size
    count, dimension = float(question.count), float(question.dimension)
    numbers: dict[str, Any] = {
        **{parameter: float(value) for parameter, value in _fixed(question).items()},
        "n": workers.astype(numpy.float64),
        # The exponent of n − 1 is its number of bits.
        "doubling_count": numpy.frexp(workers - 1.0)[1].astype(numpy.float64),
        "node_count": workers / question.node_size,
        "message_seconds": numpy.where(is_one_node, inner.latency_seconds, question.link.latency_seconds),
        "byte_seconds": numpy.where(is_one_node, inner.seconds_per_byte, question.link.seconds_per_byte),
        "k": count,
        "node_union_size": min(count * (1 + question.fresh_share * (question.node_size - 1)), dimension),
        "union_size": numpy.minimum(count * (1 + question.fresh_share * (workers - 1.0)), dimension),
    }
    return numpy.broadcast_to(_value(name, numbers), workers.shape)


def parts_of(question: Question, name: str) -> dict[str, Fraction]:
    """Seconds of the question's collective by what they are spent on, exact; they are all its seconds together."""
    numbers = _numbers(question, question.workers, *_selected(question, question.workers, Fraction(question.count)))
    nothing = {parameter: Fraction(0) for parameters in PARTS.values() for parameter in parameters}
    return {
        part: Fraction(_value(name, numbers | nothing | {parameter: numbers[parameter] for parameter in parameters}))
        for part, parameters in PARTS.items()
    }


def lines_of(question: Question, name: str) -> set[Line]:
    """Lines in k whose least is the collective's seconds: unions that grow with k, and unions of everything."""
    dimension = Fraction(question.dimension)
    sizes = {"node_union_size": question.node_size, "union_size": question.workers}
    growing = {union: _ratio(question, size) for union, size in sizes.items() if union in _compiled(name)[1]}
    found = set()
    for are_whole in product((False, True), repeat=len(growing)):
        whole = {union for union, is_whole in zip(growing, are_whole, strict=True) if is_whole}
        free, one = (
            _value(
                name,
                _numbers(question, question.workers, count, dimension, dimension)
                | {union: dimension if union in whole else count * ratio for union, ratio in growing.items()},
            )
            for count in (Fraction(0), Fraction(1))
        )
        found.add((Fraction(free), Fraction(one - free)))
    return found


@lru_cache
def _compiled(name: str) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """The formula of a statement, for fractions or arrays, and the names of what it takes in order."""
    statement = STATEMENTS[name]
    formula = sympy.lambdify(statement.parameters, statement.bound, modules="numpy")
    return formula, tuple(str(parameter.name) for parameter in statement.parameters)


def _value(name: str, numbers: Mapping[str, Any]) -> Any:
    formula, names = _compiled(name)
    return formula(*(numbers[parameter] for parameter in names))


def _ratio(question: Question, workers: int) -> Fraction:
    """1 + φ(n − 1): coordinates that some worker selected, for each of one worker's, if there are so many."""
    return 1 + Fraction(question.fresh_share) * (workers - 1)


def _selected(question: Question, workers: int, count: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """k, and the coordinates that some worker of a node and some worker of all selected."""
    dimension = Fraction(question.dimension)
    node, every = (min(count * _ratio(question, size), dimension) for size in (question.node_size, workers))
    return count, node, every


def _numbers(
    question: Question, workers: int, count: Fraction, node_union: Fraction, union: Fraction
) -> dict[str, Fraction]:
    """What formulas take, exact, by the names of the statements' parameters."""
    inner = question.inner_link or question.link
    link = inner if workers <= question.node_size else question.link
    return {
        **_fixed(question),
        "n": Fraction(workers),
        "doubling_count": Fraction((workers - 1).bit_length()),
        "node_count": Fraction(workers, question.node_size),
        "message_seconds": Fraction(link.latency_seconds),
        "byte_seconds": Fraction(link.seconds_per_byte),
        "k": count,
        "node_union_size": node_union,
        "union_size": union,
    }


def _fixed(question: Question) -> dict[str, Fraction]:
    """What does not depend on the numbers of workers and entries."""
    inner = question.inner_link or question.link
    return {
        "d": Fraction(question.dimension),
        "value_bytes": Fraction(question.value_bytes),
        "index_bytes": Fraction(question.index_bytes),
        "node_workers": Fraction(question.node_size),
        "inner_message_seconds": Fraction(inner.latency_seconds),
        "inner_byte_seconds": Fraction(inner.seconds_per_byte),
        "merge_seconds": Fraction(question.merge_seconds_per_byte),
    }
