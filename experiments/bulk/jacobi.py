"""Jacobi's method on a list of blocks of rows: what one block makes of an approximation, whoever computes it.

A block's new values depend on the approximation and on the block alone, and sums over blocks are taken in a tree
that is fixed by their number; so the iterates have the same bits on any number of workers. With a density below 1
of each block only the values that change most are used, the others stay: none is lost, since the next change begins at
what stayed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.training.seeding import random_stream

CONTRACTION = 0.9
"""Sum of the weights in a row, and so the factor by which the largest error falls in an iteration at least."""
POSITION, VALUE = torch.int32, torch.float64


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a linear system.

    Args:
        first: the number of the first one.
        matrix: [rows, d] float64, with zeros in place of the diagonal.
        diagonal: [rows].
        right: [rows], the right sides.
    """

    first: int
    matrix: Tensor
    diagonal: Tensor
    right: Tensor

    def relaxed(self, approximation: Tensor) -> Tensor:
        """[rows]: each row solved for its own unknown."""
        return (self.right - self.matrix @ approximation) / self.diagonal


def make_block(unknowns: int, rows: int, number: int, seed: int) -> Block:
    """The block of that number, the same in every process; its rows are diagonally dominant.

    Args:
        unknowns: d.
        rows: of a block, at least two of d.
        number: from 0.
        seed: of all draws.
    """
    generator, first = random_stream(seed, "rows", number), number * rows
    weights = 0.1 + torch.rand(rows, unknowns, generator=generator, dtype=VALUE)
    own = torch.arange(first, first + rows)
    weights[torch.arange(rows), own] = 0.0
    diagonal = 1 + torch.rand(rows, generator=generator, dtype=VALUE)
    scale = CONTRACTION * diagonal / weights.sum(1)
    return Block(first, weights * scale[:, None], diagonal, torch.randn(rows, generator=generator, dtype=VALUE))


@dataclass(frozen=True, eq=False)
class Change:
    """What a block makes of an approximation.

    Args:
        positions: [m] int32, of the unknowns that are set, ascending.
        values: [m] float64, what they are set to.
        energy: [1] float64, the squared change of all its rows, set or not.
    """

    positions: Tensor
    values: Tensor
    energy: Tensor


def change(block: Block, approximation: Tensor, kept: int, pause_seconds: float) -> Change:
    """The block's `kept` largest changes, after a pause that stands for more work.

    Args:
        block: its rows.
        approximation: [d].
        kept: at most its rows; equally large ones are kept from the front.
        pause_seconds: how long to sleep.
    """
    new = block.relaxed(approximation)
    moved = new - approximation[block.first : block.first + len(new)]
    time.sleep(pause_seconds)
    places = moved.abs().argsort(descending=True, stable=True)[:kept].sort().values
    return Change((block.first + places).to(POSITION), new[places], moved.square().sum().view(1))


def tree_sum(parts: Sequence[Tensor]) -> Tensor:
    """Neighbours are added until one is left: the bits depend on the parts and their order alone.

    Raises:
        ValueError: there are none.
    """
    if not parts:
        raise ValueError("a sum of no parts has no shape")
    level = list(parts)
    while len(level) > 1:
        pairs = [level[place] + level[place + 1] for place in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0]


def packed(*tensors: Tensor) -> Tensor:
    """Their bytes, one after the other, as one message."""
    return torch.cat([tensor.contiguous().view(torch.uint8) for tensor in tensors])


def unpacked(message: Tensor, *parts: tuple[int, torch.dtype]) -> list[Tensor]:
    """The tensors of a message again, as many entries of a dtype each.

    Raises:
        ValueError: the message has another length.
    """
    sizes = [count * dtype.itemsize for count, dtype in parts]
    if message.numel() != sum(sizes):
        raise ValueError(f"a message has {message.numel()} bytes, expected {sum(sizes)}")
    # Of its own storage, since bytes may lie where no number can.
    pieces = [piece.clone() for piece in message.split(sizes)]
    return [piece.view(dtype) for piece, (_, dtype) in zip(pieces, parts, strict=True)]
