"""Cannon's product of two outer blocks after the other, while the next two are fetched: one processor's part.

A hyperstep multiplies the resident tokens, handing blocks to the left and upwards, and fetches the next ones in a
thread; all processors meet after each of its products. Without overlap the next ones are fetched after the last.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sparsync.experiments.averaging.messages import AllReduce, Swap
from sparsync.experiments.bulk.memory import DTYPE, WORD_BYTES, ExternalMemory, LocalMemory, Shape
from sparsync.experiments.training.arrivals import Call
from sparsync.experiments.training.collectives import answer

Pair = tuple[Tensor, Tensor]
_CPU = torch.device("cpu")


@dataclass(frozen=True)
class Grid:
    """Where a process stands among N × N, and how it meets the others.

    Args:
        rank: its own, row by row.
        side: N.
        timeout_seconds: how long it waits for another.
    """

    rank: int
    side: int
    timeout_seconds: float

    @property
    def place(self) -> tuple[int, int]:
        """Its row and column."""
        return divmod(self.rank, self.side)

    def neighbour(self, down: int, right: int) -> int:
        """The rank that stands so far from it, around the edges."""
        row, column = self.place
        return (row + down) % self.side * self.side + (column + right) % self.side

    def shift(self, blocks: Pair, title: str) -> Pair:
        """Hand the first block to the left and the second upwards, and take those from the right and from below.

        Raises:
            ExchangeError: a neighbour is lost, or does not come in time.
        """
        parts = {self.neighbour(0, -1): _bytes(blocks[0]), self.neighbour(-1, 0): _bytes(blocks[1])}
        sizes = [block.numel() * WORD_BYTES for block in blocks]
        expected = dict(zip((self.neighbour(0, 1), self.neighbour(1, 0)), sizes, strict=True))
        found = answer(Swap(parts, expected, _CPU), self._call(title))
        left, upper = (one.view(DTYPE).view(block.shape) for one, block in zip(found, blocks, strict=True))
        return left, upper

    def meet(self, title: str) -> None:
        """Wait for all; one alone does not.

        Raises:
            ExchangeError: another is lost, or does not come in time.
        """
        if self.side > 1:
            answer(AllReduce(torch.zeros(1)), self._call(title))

    def _call(self, title: str) -> Call:
        return Call(f"rank {self.rank}, {title}", None, self.timeout_seconds)


def _bytes(block: Tensor) -> Tensor:
    return block.view(-1).view(torch.uint8)


@dataclass
class Counts:
    """What a processor did in all hypersteps.

    Args:
        operations: multiplications and additions.
        sent_words: to neighbours.
        barriers: in which all met.
        hypersteps: how many.
        working_seconds: of its products, shifts and barriers.
        waiting_seconds: for tokens when these had ended.
    """

    operations: int = 0
    sent_words: int = 0
    barriers: int = 0
    hypersteps: int = 0
    working_seconds: float = 0.0
    waiting_seconds: float = 0.0


@dataclass
class Processor:
    """One process's part in a product.

    Args:
        shape: of the product.
        grid: where it stands.
        external: where tokens come from and the product goes.
        local: what it can hold.
        overlaps: whether tokens are fetched while others are multiplied.
    """

    shape: Shape
    grid: Grid
    external: ExternalMemory
    local: LocalMemory
    overlaps: bool
    counts: Counts = field(default_factory=Counts)

    def multiply(self) -> None:
        """All outer blocks, one hyperstep after the other; the product is in the external memory.

        Raises:
            ExchangeError: another process is lost, or does not come in time.
            InfeasibleError: what it has to hold does not fit in its memory.
        """
        outer = range(self.shape.outer)
        order = [(row, column, middle) for row in outer for column in outer for middle in outer]
        buffers = [self._pair(), self._pair()]
        total = self.local.block(self.shape.side)
        with ThreadPoolExecutor(max_workers=1) as memory:
            self._fetch(order[0], buffers[0])
            for number, place in enumerate(order):
                after = order[number + 1] if number + 1 < len(order) else None
                fetched = buffers[(number + 1) % 2]
                self._hyperstep(
                    place, buffers[number % 2], total, _later(memory, self._fetch, after, fetched, self.overlaps)
                )
        for block in (*buffers[0], *buffers[1], total):
            self.local.release(block.numel() * WORD_BYTES)

    def _hyperstep(self, place: tuple[int, int, int], blocks: Pair, total: Tensor, fetched: Callable[[], None]) -> None:
        """Multiply two outer blocks, and write their sum when the last one is in it."""
        began = time.perf_counter()
        row, column, middle = place
        if middle == 0:
            total.zero_()
        self._products(blocks, total, f"outer blocks {place}")
        ended = time.perf_counter()
        fetched()
        self.counts.working_seconds += ended - began
        self.counts.waiting_seconds += time.perf_counter() - ended
        self.counts.hypersteps += 1
        if middle == self.shape.outer - 1:
            self.external.write(row, column, total)

    def _products(self, blocks: Pair, total: Tensor, title: str) -> None:
        """Cannon's algorithm: N products and N − 1 shifts."""
        for turn in range(self.grid.side):
            total.addmm_(*blocks)
            self.counts.operations += 2 * self.shape.side**3
            if turn < self.grid.side - 1:
                self._shift(blocks, title)
            self.grid.meet(title)
            self.counts.barriers += 1

    def _shift(self, blocks: Pair, title: str) -> None:
        """What comes takes the place of what went."""
        coming = sum(block.numel() for block in blocks) * WORD_BYTES
        self.local.take(coming)
        for block, found in zip(blocks, self.grid.shift(blocks, title), strict=True):
            block.copy_(found)
            self.counts.sent_words += block.numel()
        self.local.release(coming)

    def _pair(self) -> Pair:
        return self.local.block(self.shape.side), self.local.block(self.shape.side)

    def _fetch(self, place: tuple[int, int, int], blocks: Pair) -> None:
        row, column, middle = place
        self.external.fetch("left", row, middle, blocks[0])
        self.external.fetch("right", middle, column, blocks[1])


def _later(
    memory: ThreadPoolExecutor,
    fetch: Callable[[tuple[int, int, int], Pair], None],
    place: tuple[int, int, int] | None,
    blocks: Pair,
    overlaps: bool,
) -> Callable[[], None]:
    """Begin to fetch now, or when it is waited for; what waits for its end."""
    if place is None:
        return lambda: None
    if overlaps:
        return memory.submit(fetch, place, blocks).result
    return lambda: fetch(place, blocks)
