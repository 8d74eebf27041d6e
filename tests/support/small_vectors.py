"""The engine's vectors on a small problem, and what their sketches should be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.vectors import Vectors
from sparsync.verify.monitors.trace import Mass

DIMENSION = 24
BLOCKS = 4
CURVATURES = tuple(1.0 + place % 5 for place in range(DIMENSION))


def make_vectors(worker_count: int = 3, *, dtype: torch.dtype = torch.float64, **options: Any) -> Vectors:
    problem = Quadratics(CURVATURES, worker_count=worker_count, spread=1.0, noise=0.5, block_count=BLOCKS, seed=4)
    problem.initial = problem.initial.to(dtype)
    return Vectors(problem, Descent(**options), worker_count=worker_count, seed=1)


def in_place(vectors: Vectors, message: int) -> Tensor:
    """A message that was sent, as a whole vector; takes it out again through the shared model."""
    before = vectors.shared.clone()
    vectors.shared.zero_()
    vectors.apply((message,), (1.0,))
    found = vectors.shared.clone()
    vectors.shared.copy_(before)
    return found


def exact_sketch(vectors: Vectors, vector: Tensor) -> tuple[Fraction, ...]:
    combinations = vectors.layout._combinations.tolist()
    entries = [Fraction(entry) for entry in vector.double().tolist()]
    return tuple(sum((int(w) * e for w, e in zip(row, entries, strict=True)), Fraction(0)) for row in combinations)


def assert_same(found: Mass, expected: Mass) -> None:
    """Of one vector, off the grid: sketches are sums of d products, in whatever order."""
    tolerance = 2 * (DIMENSION + 1) * 2.0**-53 * max(found.size, expected.size)
    assert found.sums == pytest.approx(expected.sums, rel=0, abs=tolerance)
