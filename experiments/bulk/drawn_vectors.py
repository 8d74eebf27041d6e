"""What do workers add up? Vectors of each worker by kind: light and heavy tails, skew, layers, ties, a gradient.

A worker's vector is a part that all share and noise of its own, as gradients of different batches are; or the noise is
opposed, and cancels where vectors are added. Each is a function of seed, kind and rank alone, so that any process can
draw any of them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import load_dataset
from sparsync.experiments.training.models import FlatModel
from sparsync.experiments.training.seeding import random_stream

_BATCH_SIZE = 32
_LAYER_COUNT, _DEAD_SHARE = 24, 0.3


def _gaussian(dimension: int, stream: torch.Generator) -> Tensor:
    """Independent standard normal entries."""
    return torch.randn(dimension, generator=stream)


def _heavy_tailed(dimension: int, stream: torch.Generator) -> Tensor:
    """Student's t with three degrees of freedom: the fourth moment is infinite."""
    mean_square = torch.stack([torch.randn(dimension, generator=stream).square() for _ in range(3)]).mean(dim=0)
    return torch.randn(dimension, generator=stream) / mean_square.sqrt()


def _skewed(dimension: int, stream: torch.Generator) -> Tensor:
    """Normal entries whose scale falls to a thousandth along the vector: what is large lies with the first ranks."""
    return torch.randn(dimension, generator=stream) * torch.logspace(0, -3, dimension)


def _layered(dimension: int, stream: torch.Generator) -> Tensor:
    """Layers of random scales over three decades, Laplace entries, and a share of entries that are zero."""
    layer = torch.arange(dimension) * _LAYER_COUNT // dimension
    scales = 10 ** (3 * torch.rand(_LAYER_COUNT, generator=random_stream(0, "scales of layers")))
    sides = torch.rand(dimension, generator=stream) < 0.5
    laplace = torch.empty(dimension).exponential_(generator=stream) * torch.where(sides, 1.0, -1.0)
    alive = torch.rand(dimension, generator=stream) >= _DEAD_SHARE
    return laplace * scales[layer] * alive


def _tied(dimension: int, stream: torch.Generator) -> Tensor:
    """Whole numbers, a dozen of them: nearly every entry has a tie."""
    return torch.randn(dimension, generator=stream).round()


LAWS: dict[str, Callable[[int, torch.Generator], Tensor]] = {
    "gaussian": _gaussian,
    "heavy_tailed": _heavy_tailed,
    "skewed": _skewed,
    "layered": _layered,
    "tied": _tied,
}
"""By kind: a vector of a dimension, drawn from a stream."""
GRADIENT = "gradient"
"""Of fnn3 at its first parameters, on a batch of the embedded images for each worker; its dimension is the model's."""
OPPOSED = "opposed"
"""Normal entries that all share, and others four times as large that one of two neighbours has with the other sign."""
_OPPOSED_SCALE = 4.0
KINDS = (*LAWS, OPPOSED, GRADIENT)


def worker_vectors(kind: str, *, dimension: int, rank_count: int, seed: int) -> Tensor:
    """The vectors of all workers, [ranks, d] float32.

    Args:
        kind: of KINDS.
        dimension: d ≥ 1; a gradient has that of its model.
        rank_count: how many workers.
        seed: names the streams.

    Raises:
        ValueError: unknown kind, or a number below 1.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown vectors {kind!r}; known: {', '.join(KINDS)}")
    for name, number in (("dimension", dimension), ("rank_count", rank_count)):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    if kind == GRADIENT:
        return _gradients(rank_count, seed)
    if kind == OPPOSED:
        return _opposed(dimension, rank_count, seed)
    draw = LAWS[kind]
    shared = draw(dimension, random_stream(seed, f"shared part, {kind}"))
    return torch.stack(
        [shared + draw(dimension, random_stream(seed, f"own part, {kind}", rank)) for rank in range(rank_count)]
    )


def _opposed(dimension: int, rank_count: int, seed: int) -> Tensor:
    """Of an odd number the last worker has no neighbour, and the shared part alone."""
    shared = torch.randn(dimension, generator=random_stream(seed, f"shared part, {OPPOSED}"))
    vectors = []
    for rank in range(rank_count):
        apart = torch.randn(dimension, generator=random_stream(seed, f"parts of two, {OPPOSED}", rank // 2))
        has_neighbour = rank // 2 < rank_count // 2
        vectors.append(shared + (-1) ** rank * has_neighbour * _OPPOSED_SCALE * apart)
    return torch.stack(vectors)


def _gradients(rank_count: int, seed: int) -> Tensor:
    """One of each worker's batch."""
    data = load_dataset("embedded")
    model = FlatModel("fnn3", feature_count=data.feature_count, class_count=data.class_count, seed=seed)
    schedule = BatchSchedule(len(data.train_images), worker_count=rank_count, batch_size=_BATCH_SIZE, seed=seed)
    gradients = []
    for rank in range(rank_count):
        batch = schedule.batch(0, rank)
        _, gradient = model.loss_and_gradient(data.train_images[batch], data.train_labels[batch])
        gradients.append(gradient.clone())
    return torch.stack(gradients)
