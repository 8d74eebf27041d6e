"""Local memories hold what they say, the external one what was put there; both name what does not fit."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from sparsync.experiments.bulk.memory import (
    DTYPE,
    LOCAL_BLOCKS,
    ExternalMemory,
    LocalMemory,
    Shape,
    byte_count,
)
from sparsync.experiments.planners.plan import InfeasibleError

SHAPE = Shape(rows=12, outer=2, grid=3)


def external(folder: Path, processor: tuple[int, int] = (0, 0), word_seconds: float = 0.0) -> ExternalMemory:
    path = folder / "external"
    if not path.exists():
        path.write_bytes(bytes(byte_count(SHAPE)))
    return ExternalMemory(path, SHAPE, processor, word_seconds)


def test_rows_that_cannot_be_shared_are_refused() -> None:
    with pytest.raises(ValueError, match="the 13 rows must be a multiple of 6, for 2 outer blocks a side on 3 process"):
        Shape(13, 2, 3)


def test_blocks_that_fit_just_are_allowed_and_a_byte_less_is_refused_with_what_would_do() -> None:
    shape = Shape(rows=120, outer=1, grid=2)
    needed = LOCAL_BLOCKS * 60 * 60 * 8
    shape.require_room(needed)
    with pytest.raises(InfeasibleError, match=f"{needed} bytes, the local memory has {needed - 1}; 2 outer blocks"):
        shape.require_room(needed - 1)
    Shape(rows=120, outer=2, grid=2).require_room(needed - 1)


def test_a_memory_that_holds_no_block_at_all_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="no number of outer blocks would do"):
        SHAPE.require_room(LOCAL_BLOCKS * 8 - 1)


def test_a_local_memory_holds_so_many_bytes_at_once() -> None:
    local = LocalMemory(3 * 4 * 8)
    assert local.block(2).shape == (2, 2)
    local.take(4 * 8)
    local.release(4 * 8)
    local.take(2 * 4 * 8)
    with pytest.raises(InfeasibleError, match="1 bytes do not fit in a local memory of 96 of which 96 are in use"):
        local.take(1)
    assert (local.used_bytes, local.most_bytes) == (96, 96)


def test_every_block_lies_where_its_product_begins(tmp_path: Path) -> None:
    numbers = torch.arange(144, dtype=DTYPE).view(12, 12)
    external(tmp_path).put_matrices(numbers, -numbers)
    for i in range(3):
        for j in range(3):
            memory, block = external(tmp_path, (i, j)), torch.empty(2, 2, dtype=DTYPE)
            middle = (i + j) % 3
            memory.fetch("left", 1, 0, block)
            assert torch.equal(block, numbers[6 + 2 * i : 8 + 2 * i, 2 * middle : 2 * middle + 2])
            memory.fetch("right", 1, 0, block)
            assert torch.equal(block, -numbers[6 + 2 * middle : 8 + 2 * middle, 2 * j : 2 * j + 2])
            assert memory.read_words == 8


def test_a_product_is_put_together_of_what_all_wrote(tmp_path: Path) -> None:
    numbers = torch.arange(144, dtype=DTYPE).view(12, 12)
    for i in range(3):
        for j in range(3):
            memory = external(tmp_path, (i, j))
            for row in range(2):
                for column in range(2):
                    first, second = 6 * row + 2 * i, 6 * column + 2 * j
                    memory.write(row, column, numbers[first : first + 2, second : second + 2].contiguous())
            assert (memory.read_words, memory.written_words) == (0, 16)
            memory.count_anew()
            assert memory.written_words == 0
    assert torch.equal(external(tmp_path).product(), numbers)


def test_a_slower_memory_takes_longer(tmp_path: Path) -> None:
    memory, block = external(tmp_path, word_seconds=0.002), torch.empty(2, 2, dtype=DTYPE)
    began = time.perf_counter()
    memory.fetch("left", 0, 0, block)
    memory.write(0, 0, block)
    assert time.perf_counter() - began >= 8 * 0.002
