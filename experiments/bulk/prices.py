"""What do operations, words and barriers take here, and what does a streamed product cost by that?

All processes measure at once, as they will work at once, where there are fewer processors too; the slowest of them
counts, since all wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any, Protocol

import torch

from sparsync.experiments.bulk.cannon import Counts, Grid
from sparsync.experiments.bulk.memory import DTYPE, ExternalMemory, Shape
from sparsync.theory.cost import hypersteps, streamed_products

REPEATS = 9
"""Each is measured as often, and the median counts."""
LEAST_SECONDS = 1e-9
"""What noise has made less than a barrier counts as this: a clock's tick."""


@dataclass(frozen=True)
class Prices:
    """Seconds of each.

    Args:
        operation: a multiplication or an addition in a product of blocks.
        word: one that every processor sends, as part of two blocks.
        barrier: in which all meet.
        fetched: a word of a token.
    """

    operation: float = 0.0
    word: float = 0.0
    barrier: float = 0.0
    fetched: float = 0.0

    @staticmethod
    def slowest(prices: Sequence[Prices]) -> Prices:
        """The largest of each."""
        return Prices(*(max(getattr(one, part.name) for one in prices) for part in fields(Prices)))

    def as_json(self) -> dict[str, float]:
        """In seconds, and as g, l and e, in operations."""
        seconds = {f"{name}_seconds": value for name, value in asdict(self).items()}
        return {**seconds, **self.in_operations()}

    def in_operations(self) -> dict[str, float]:
        """g, l and e as the statements call them."""
        return {
            "word_cost": self.word / self.operation,
            "barrier_cost": self.barrier / self.operation,
            "fetch_cost": self.fetched / self.operation,
        }


def measured_prices(shape: Shape, grid: Grid, external: ExternalMemory) -> Prices:
    """What this process finds, with blocks as large as those of the product.

    Raises:
        ExchangeError: another process is lost, or does not come in time.
    """
    first, second, third = (torch.ones(shape.side, shape.side, dtype=DTYPE) for _ in range(3))
    words = 2 * shape.block_words

    def fetch() -> None:
        external.fetch("left", 0, 0, first)
        external.fetch("right", 0, 0, second)

    barrier = _median_seconds(lambda: None, grid)

    def alone(act: Callable[[], object]) -> float:
        return max(_median_seconds(act, grid) - barrier, LEAST_SECONDS)

    product = alone(lambda: third.addmm_(first, second))
    shift = alone(lambda: grid.shift((first, second), "measured")) if grid.side > 1 else 0.0
    return Prices(product / (2 * shape.side**3), shift / words, barrier, alone(fetch) / words)


def _median_seconds(act: Callable[[], object], grid: Grid) -> float:
    """From when all have met to when all have met again, who acted in between."""
    seconds = []
    for _ in range(REPEATS):
        grid.meet("measured")
        began = time.perf_counter()
        act()
        grid.meet("measured")
        seconds.append(time.perf_counter() - began)
    return median(seconds)


class Done(Protocol):
    """What a process did in a product, as far as it is counted."""

    @property
    def counts(self) -> Counts:
        """Operations and words that were sent."""
        ...

    @property
    def read_words(self) -> int:
        """From the external memory."""
        ...

    @property
    def written_words(self) -> int:
        """To it."""
        ...


def require_words(shape: Shape, all_of_them: Sequence[Done]) -> dict[str, int]:
    """What all processes did in a product, beside what is stated.

    Raises:
        RuntimeError: they differ.
    """
    stated = streamed_products.STATEMENTS
    sizes = {"matrix_side": shape.rows, "outer_count": shape.outer}
    found = {
        "operation_count": sum(one.counts.operations for one in all_of_them),
        "sent_count": sum(one.counts.sent_words for one in all_of_them),
        "external_count": sum(one.read_words + one.written_words for one in all_of_them),
    }
    expected = {
        "operation_count": 2 * shape.rows**3,
        "sent_count": int(stated["cannon_words"].fraction(grid_side=shape.grid, **sizes)),
        "external_count": int(stated["cannon_tokens"].fraction(**sizes)),
    }
    if found != expected:
        raise RuntimeError(f"a product had {found}, the statements say {expected}")
    return found


def predictions(shape: Shape, prices: Prices) -> dict[str, Any]:
    """Seconds with and without overlap, and which of computing and fetching hides the other.

    From the first word to the last, the product's words included, which are written while nothing is computed.
    """
    costs, count = prices.in_operations(), shape.outer**3
    sizes = {"matrix_side": shape.rows, "outer_count": shape.outer, "grid_side": shape.grid}
    cannon = streamed_products.STATEMENTS["streamed_cannon"]
    work = cannon.evaluate(**sizes, **{**costs, "fetch_cost": 0}) / count
    fetching = 2 * shape.block_words * costs["fetch_cost"]
    written = shape.outer**2 * shape.block_words * costs["fetch_cost"]
    whole = hypersteps.STATEMENTS["whole_stream"].evaluate(
        hyperstep_work=work,
        token_words=2 * shape.block_words,
        fetch_cost=costs["fetch_cost"],
        hyperstep_count=count,
    )
    alone = hypersteps.STATEMENTS["unoverlapped_hypersteps"].evaluate(
        streamed_time=cannon.evaluate(**sizes, **costs), mismatch_total=count * abs(work - fetching)
    )
    balance = streamed_products.STATEMENTS["cannon_crossover"].evaluate(
        block_side=shape.grid * shape.side,
        grid_side=shape.grid,
        word_cost=costs["word_cost"],
        barrier_cost=costs["barrier_cost"],
    )
    return {
        "streamed_seconds": (whole + written) * prices.operation,
        "unoverlapped_seconds": (alone + written) * prices.operation,
        "largest_hidden_fetch_cost": balance,
        "bound_by": "computing" if costs["fetch_cost"] <= balance else "memory",
    }
