"""Sketches of the engine's vectors are linear, exact on the grid, and refuse what would not be."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.effects import USUAL_PLAN
from sparsync.experiments.engine.layout import GRID, WEIGHT_GRID
from sparsync.verify.monitors.trace import Mass
from tests.support.small_vectors import DIMENSION, exact_sketch, make_vectors

on_grid = st.lists(st.integers(-(2**20), 2**20), min_size=DIMENSION, max_size=DIMENSION)


@settings(max_examples=40)
@given(on_grid, on_grid, st.sampled_from([1.0, -0.5, 3 / 1024, 0.25]))
def test_sketches_are_linear_and_exact_on_the_grid(first: list[int], second: list[int], weight: float) -> None:
    vectors = make_vectors(is_on_grid=True)
    x, y = (torch.tensor(entries, dtype=torch.float64) * GRID for entries in (first, second))
    sketch = vectors.sketch(x)
    assert tuple(map(Fraction, sketch.sums)) == exact_sketch(vectors, x)
    assert sketch.size >= sum(abs(value) for value in x.tolist()) * 1023
    combined = vectors.sketch(x + weight * y).sums
    assert combined == tuple(a + weight * b for a, b in zip(sketch.sums, vectors.sketch(y).sums, strict=True))
    assert vectors.sketch(x, y).sums == vectors.sketch(x + y).sums


def test_every_single_entry_shows_in_a_sketch() -> None:
    vectors = make_vectors(is_on_grid=True)
    for place in range(DIMENSION):
        moved = vectors.shared.clone()
        moved[place] += GRID
        assert all(a != b for a, b in zip(vectors.sketch(moved).sums, vectors.sketch(vectors.shared).sums, strict=True))


def test_what_is_too_large_for_exact_sums_is_refused_on_the_grid_only() -> None:
    large = torch.full((DIMENSION,), 2.0**10, dtype=torch.float64)
    with pytest.raises(OverflowError, match=r"a sketch of size .* is too large to be exact on the grid"):
        make_vectors(is_on_grid=True).sketch(large)
    assert make_vectors().sketch(large).size == 1023 * 2.0**10 * DIMENSION


def test_the_largest_sketch_that_is_accepted_is_exact() -> None:
    vectors = make_vectors(is_on_grid=True)
    largest = math.floor(2.0**23 / 1023 / DIMENSION) + 1 - GRID * WEIGHT_GRID
    vector = torch.full((DIMENSION,), largest, dtype=torch.float64)
    vector[::2] *= -1
    vector[0] = -GRID * WEIGHT_GRID
    assert tuple(map(Fraction, vectors.sketch(vector).sums)) == exact_sketch(vectors, vector)


@pytest.mark.parametrize("weight", [1 / 3, 2.0**-11, 0.1])
def test_weights_off_the_grid_are_refused(weight: float) -> None:
    vectors = make_vectors(is_on_grid=True)
    vectors.step(0, 0, USUAL_PLAN)
    vectors.send(0, 0, None)
    with pytest.raises(ValueError, match=rf"weights that are multiples of 2\^-10, got {weight}"):
        vectors.apply((0,), (weight,))


def test_the_grid_needs_double_precision() -> None:
    with pytest.raises(ValueError, match=r"grid mode needs a float64 model, got torch\.float32"):
        make_vectors(dtype=torch.float32, is_on_grid=True)


def test_grid_mode_cannot_average_models() -> None:
    with pytest.raises(ValueError, match="grid mode cannot average models"):
        make_vectors(is_on_grid=True).mix((0, 1), ((0.5, 0.5), (0.5, 0.5)))


def test_rounding_is_declared_off_the_grid_and_absent_on_it() -> None:
    assert make_vectors(is_on_grid=True).arithmetic.unit_roundoff == 0.0
    assert make_vectors(dtype=torch.float32).arithmetic.unit_roundoff >= 2.0**-23
    assert make_vectors().sketch(torch.zeros(DIMENSION)) == Mass((0.0, 0.0), 0.0)
