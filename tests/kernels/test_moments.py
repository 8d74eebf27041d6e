"""The fixed-order mean and standard deviation: their definition read literally, and how far from the truth they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsync.kernels.moments import TILE_SIZE, moments
from sparsync.verify.contraction.strategies import finite_tensors
from tests.support.hard_vectors import DTYPES, HARD_VECTORS

Tile = tuple[float, float, float]


def tree(numbers: Sequence[float]) -> float:
    """The sum of 4096 places, adjacent pairs first; missing entries are zeros."""
    level = [*numbers, *([0.0] * (TILE_SIZE - len(numbers)))]
    while len(level) > 1:
        level = [level[i] + level[i + 1] for i in range(0, len(level), 2)]
    return level[0]


def tile_of(numbers: Sequence[float]) -> Tile:
    count = float(len(numbers))
    mean = tree(numbers) / count
    return count, mean, tree([(x - mean) * (x - mean) for x in numbers])


def combined(left: Tile, right: Tile) -> Tile:
    count = left[0] + right[0]
    difference, share = right[1] - left[1], right[0] / count
    return count, left[1] + difference * share, (left[2] + right[2]) + (difference * difference) * (left[0] * share)


def moments_by_listing(pieces: Sequence[Sequence[float]]) -> tuple[float, float]:
    tiles = [tile_of(piece[i : i + TILE_SIZE]) for piece in pieces for i in range(0, len(piece), TILE_SIZE)]
    while len(tiles) > 1:
        pairs = [combined(*tiles[i : i + 2]) for i in range(0, len(tiles) - 1, 2)]
        tiles = pairs + tiles[len(pairs) * 2 :]
    count, mean, squares = tiles[0]
    return mean, math.sqrt(squares / (count - 1)) if count > 1 else math.nan


def stream() -> torch.Generator:
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize(
    "lengths",
    [(1,), (2,), (TILE_SIZE - 1,), (TILE_SIZE,), (TILE_SIZE + 1,), (3 * TILE_SIZE, 5, 0, TILE_SIZE), (1, 1, 20_000, 1)],
)
def test_they_are_their_definition_bit_for_bit(lengths: tuple[int, ...]) -> None:
    pieces = [torch.randn(length, generator=stream()) + 2.0 for length in lengths]
    found = moments(pieces)
    expected = moments_by_listing([piece.double().tolist() for piece in pieces])
    assert found.mean == expected[0]
    assert found.standard_deviation == expected[1] or math.isnan(expected[1])
    assert math.isnan(found.standard_deviation) is (lengths == (1,))


@given(vector=finite_tensors(torch.float32))
def test_they_are_their_definition_on_drawn_vectors(vector: torch.Tensor) -> None:
    found, expected = moments([vector]), moments_by_listing([vector.double().tolist()])
    assert found.mean == expected[0]
    assert found.standard_deviation == expected[1] or vector.numel() == 1


def test_more_tiles_than_one_batch_are_combined_in_the_same_tree() -> None:
    vector = torch.randn(300 * TILE_SIZE + 17, generator=stream())
    rows = vector[: 300 * TILE_SIZE].view(300, TILE_SIZE)
    as_pieces = moments([*rows.unbind(), vector[300 * TILE_SIZE :]])
    assert moments([vector]) == as_pieces


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [name for name in HARD_VECTORS if name != "single_element"])
def test_they_are_near_the_exact_mean_and_deviation(name: str, dtype: torch.dtype) -> None:
    """12 additions of a tile, the division, and the deviations' square each round once: far below 10⁻¹³ of the size."""
    vector = HARD_VECTORS[name](dtype).float().nan_to_num(posinf=1e38, neginf=-1e38).double()
    numbers = vector.tolist()
    mean = math.fsum(numbers) / len(numbers)
    deviation = math.sqrt(math.fsum((x - mean) * (x - mean) for x in numbers) / (len(numbers) - 1))
    found = moments([vector])
    size = math.fsum(map(abs, numbers)) / len(numbers)
    assert found.mean == pytest.approx(mean, rel=0, abs=1e-13 * size)
    assert found.standard_deviation == pytest.approx(deviation, rel=1e-12, abs=1e-13 * size)


def test_a_large_mean_does_not_swallow_a_small_deviation() -> None:
    """10⁸ ± 1 in float64: Σx² − d·mean² would keep no digit of the deviation."""
    vector = 1e8 + (1.0 - 2.0 * (torch.arange(100_000, dtype=torch.float64) % 2))
    found = moments([vector])
    assert found.mean == 1e8
    assert found.standard_deviation == pytest.approx(math.sqrt(100_000 / 99_999), rel=1e-12)


def test_where_a_piece_ends_is_where_a_tile_ends() -> None:
    vector = torch.randn(2 * TILE_SIZE, generator=stream(), dtype=torch.float64)
    halves = vector.split(TILE_SIZE)
    assert moments([vector]) == moments(halves)
    assert moments(vector.split(1000)) != moments([vector])


def test_one_entry_has_no_standard_deviation() -> None:
    found = moments([torch.tensor([3.0])])
    assert found.mean == 3.0
    assert math.isnan(found.standard_deviation)


def test_no_entry_has_no_moments() -> None:
    with pytest.raises(ValueError, match="no entries"):
        moments([torch.zeros(0)])


@given(data=st.data())
def test_zeros_have_zero_moments(data: st.DataObject) -> None:
    length = data.draw(st.integers(2, 5000))
    found = moments([torch.zeros(length)])
    assert (found.mean, found.standard_deviation) == (0.0, 0.0)
