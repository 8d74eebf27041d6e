"""One processor's part: the next tokens are fetched while others are multiplied, in no more memory than is said."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sparsync.experiments.bulk.cannon import Grid, Processor
from sparsync.experiments.bulk.memory import DTYPE, ExternalMemory, LocalMemory, Shape, Stream, byte_count
from sparsync.experiments.planners.plan import InfeasibleError

SHAPE = Shape(rows=6, outer=3, grid=1)
ROOM = 5 * 4 * 8
"""On a grid of one nothing comes from neighbours."""


class Watched(ExternalMemory):
    """Notes who fetches what."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, SHAPE, (0, 0), 0.0)
        self.fetched: list[tuple[Stream, int, int, bool]] = []

    def fetch(self, stream: Stream, row: int, column: int, into: Tensor) -> None:
        self.fetched.append((stream, row, column, threading.current_thread() is threading.main_thread()))
        super().fetch(stream, row, column, into)


def processor(folder: Path, *, overlaps: bool, room: int = ROOM) -> tuple[Processor, Watched, Tensor]:
    """One that multiplies two matrices, and their product."""
    path = folder / "external"
    path.write_bytes(bytes(byte_count(SHAPE)))
    external = Watched(path)
    left, right = (torch.arange(36, dtype=DTYPE).view(6, 6) % size for size in (5, 7))
    external.put_matrices(left, right)
    return Processor(SHAPE, Grid(0, 1, 20.0), external, LocalMemory(room), overlaps), external, left @ right


@pytest.mark.parametrize("overlaps", [True, False])
def test_a_product_is_right_and_its_operations_and_words_are_counted(overlaps: bool, tmp_path: Path) -> None:
    one, external, expected = processor(tmp_path, overlaps=overlaps)
    one.multiply()
    assert torch.equal(external.product(), expected)
    assert (one.counts.operations, one.counts.sent_words) == (2 * 6**3, 0)
    assert (one.counts.hypersteps, one.counts.barriers) == (27, 27)
    assert (external.read_words, external.written_words) == (2 * 3 * 36, 36)
    assert one.local.used_bytes == 0
    assert one.local.most_bytes == ROOM


@pytest.mark.parametrize("overlaps", [True, False])
def test_tokens_are_fetched_in_the_order_of_hypersteps_and_in_a_thread_if_they_overlap(
    overlaps: bool, tmp_path: Path
) -> None:
    one, external, _ = processor(tmp_path, overlaps=overlaps)
    one.multiply()
    order = [(row, column, middle) for row in range(3) for column in range(3) for middle in range(3)]
    expected = [one for row, column, middle in order for one in (("left", row, middle), ("right", middle, column))]
    assert [fetched[:3] for fetched in external.fetched] == expected
    assert [by_main for *_, by_main in external.fetched] == [True, True] + [not overlaps] * 52


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    one, _, _ = processor(tmp_path, overlaps=True, room=ROOM - 1)
    with pytest.raises(InfeasibleError, match="32 bytes do not fit in a local memory of 159"):
        one.multiply()


def test_a_token_that_cannot_be_fetched_ends_the_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, external, _ = processor(tmp_path, overlaps=True)
    right = external.fetch

    def broken(stream: Stream, row: int, column: int, into: Tensor) -> None:
        if (row, column) == (1, 1):
            raise OSError("the disk is gone")
        right(stream, row, column, into)

    monkeypatch.setattr(external, "fetch", broken)
    with pytest.raises(OSError, match="the disk is gone"):
        one.multiply()


def test_neighbours_on_a_grid_go_round_its_edges() -> None:
    grid = Grid(5, 3, 20.0)
    assert grid.place == (1, 2)
    assert (grid.neighbour(0, -1), grid.neighbour(0, 1)) == (4, 3)
    assert (grid.neighbour(-1, 0), grid.neighbour(1, 0)) == (2, 8)
