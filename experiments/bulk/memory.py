"""A processor's memory, which is small, and the external one, which holds streams of tokens: what passes is counted.

The external memory is a file that all processes of a machine map. Its tokens are the blocks that a processor of a grid
needs of two matrices, each where its product begins, and those of their product.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from sparsync.experiments.planners.plan import InfeasibleError

DTYPE = torch.float64
WORD_BYTES = DTYPE.itemsize
LOCAL_BLOCKS = 7
"""Blocks that a processor holds at once: two that are multiplied, two that come from its neighbours meanwhile, two that
are fetched, and one of the product."""
Stream = Literal["left", "right", "product"]
STREAMS: tuple[Stream, ...] = ("left", "right", "product")


@dataclass(frozen=True)
class Shape:
    """A product of matrices over outer blocks on a grid.

    Args:
        rows: n.
        outer: M, outer blocks along a side.
        grid: N, processors along a side.

    Raises:
        ValueError: rows are no multiple of outer blocks times grid.
    """

    rows: int
    outer: int
    grid: int

    def __post_init__(self) -> None:
        if self.rows % (self.outer * self.grid):
            parts = f"{self.outer} outer blocks a side on {self.grid} processors a side"
            raise ValueError(f"the {self.rows} rows must be a multiple of {self.outer * self.grid}, for {parts}")

    @property
    def side(self) -> int:
        """b, rows of a processor's block."""
        return self.rows // (self.outer * self.grid)

    @property
    def block_words(self) -> int:
        """Of a processor's block."""
        return self.side**2

    def require_room(self, byte_count: int) -> None:
        """Refuse blocks that a local memory cannot hold.

        Raises:
            InfeasibleError: the message says what they take, and how many outer blocks would do.
        """
        needed = LOCAL_BLOCKS * self.block_words * WORD_BYTES
        if needed <= byte_count:
            return
        share = self.rows // self.grid
        fitting = (
            count
            for count in range(self.outer + 1, share + 1)
            if share % count == 0 and LOCAL_BLOCKS * (share // count) ** 2 * WORD_BYTES <= byte_count
        )
        enough = next(fitting, None)
        help_ = f"{enough} outer blocks a side would do" if enough else "no number of outer blocks would do"
        raise InfeasibleError(
            f"{LOCAL_BLOCKS} blocks of {self.side} rows take {needed} bytes, the local memory has {byte_count}; {help_}"
        )


class LocalMemory:
    """Tensors of at most so many bytes at once.

    Args:
        byte_count: of all of them.
    """

    def __init__(self, byte_count: int) -> None:
        self._byte_count = byte_count
        self.used_bytes = 0
        self.most_bytes = 0

    def block(self, side: int) -> Tensor:
        """[side, side], which stays."""
        self.take(side * side * WORD_BYTES)
        return torch.empty(side, side, dtype=DTYPE)

    def take(self, byte_count: int) -> None:
        """Book what arrives.

        Raises:
            InfeasibleError: it does not fit.
        """
        if self.used_bytes + byte_count > self._byte_count:
            raise InfeasibleError(
                f"{byte_count} bytes do not fit in a local memory of {self._byte_count} of which {self.used_bytes} "
                "are in use"
            )
        self.used_bytes += byte_count
        self.most_bytes = max(self.most_bytes, self.used_bytes)

    def release(self, byte_count: int) -> None:
        """Book what is gone."""
        self.used_bytes -= byte_count


class ExternalMemory:
    """The file, as a process has it.

    Args:
        path: of the file, as large as `byte_count` says; it may be removed once all have mapped it.
        shape: what it holds.
        processor: row and column of this process in the grid.
        word_seconds: how long to sleep for each word, as if the memory were slower.
    """

    def __init__(self, path: Path, shape: Shape, processor: tuple[int, int], word_seconds: float) -> None:
        self._shape, self._processor, self._word_seconds = shape, processor, word_seconds
        words = byte_count(shape) // WORD_BYTES
        self._words = torch.from_file(str(path), shared=True, size=words, dtype=DTYPE)
        self.count_anew()

    def count_anew(self) -> None:
        """Forget what was read and written."""
        self.read_words, self.written_words = 0, 0

    def fetch(self, stream: Stream, row: int, column: int, into: Tensor) -> None:
        """This processor's block of an outer block, by the outer block's place."""
        time.sleep(self._word_seconds * into.numel())
        into.view(-1).copy_(self._token(stream, row, column, self._processor))
        self.read_words += into.numel()

    def write(self, row: int, column: int, block: Tensor) -> None:
        """This processor's block of the product."""
        time.sleep(self._word_seconds * block.numel())
        self._token("product", row, column, self._processor).copy_(block.view(-1))
        self.written_words += block.numel()

    def put_matrices(self, left: Tensor, right: Tensor) -> None:
        """Lay out two matrices as tokens, each block where its product begins; as the host does, which counts not."""
        outer, grid = self._shape.outer, self._shape.grid
        for row, column, i, j in _places(outer, grid):
            middle = (i + j) % grid
            token = self._token("left", row, column, (i, j))
            token.copy_(self._block(left, row * grid + i, column * grid + middle))
            token = self._token("right", row, column, (i, j))
            token.copy_(self._block(right, row * grid + middle, column * grid + j))

    def product(self) -> Tensor:
        """[n, n], put together from its tokens, as the host does."""
        shape = self._shape
        found, side = torch.empty(shape.rows, shape.rows, dtype=DTYPE), shape.side
        for row, column, i, j in _places(shape.outer, shape.grid):
            first, second = (row * shape.grid + i) * side, (column * shape.grid + j) * side
            token = self._token("product", row, column, (i, j))
            found[first : first + side, second : second + side] = token.view(side, side)
        return found

    def _block(self, matrix: Tensor, row: int, column: int) -> Tensor:
        side = self._shape.side
        return matrix[row * side : (row + 1) * side, column * side : (column + 1) * side].reshape(-1)

    def _token(self, stream: Stream, row: int, column: int, processor: tuple[int, int]) -> Tensor:
        shape, (i, j) = self._shape, processor
        outer_place = (STREAMS.index(stream) * shape.outer + row) * shape.outer + column
        begin = ((outer_place * shape.grid + i) * shape.grid + j) * shape.block_words
        return self._words[begin : begin + shape.block_words]


def byte_count(shape: Shape) -> int:
    """Of an external memory for two matrices and their product."""
    return len(STREAMS) * shape.rows**2 * WORD_BYTES


def _places(outer: int, grid: int) -> list[tuple[int, int, int, int]]:
    return [
        (row, column, i, j) for row in range(outer) for column in range(outer) for i in range(grid) for j in range(grid)
    ]
