"""What do the simulated workers minimise? Problems give each worker the gradient of its own batch at a given model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor

from sparsync.experiments.engine.examples import ALONE, Examples, Injection, Partition
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.models import FlatModel, require_pair
from sparsync.experiments.training.seeding import random_stream

GATHERED = 1024
"""Training examples by whose statistics a model normalises when its quality is measured."""


class Problem(Protocol):
    """An objective that is a mean over workers, seen through batches.

    Args:
        initial: [d], the model that all start from; its dtype is that of the run.
        block_sizes: entries of each block (layer) of the model, in order; they sum to d.
    """

    initial: Tensor
    block_sizes: tuple[int, ...]

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        """Loss and gradient [d] on the worker's batch of its step (from 0), `batch` times the usual size."""
        ...

    def quality(self, model: Tensor) -> float:
        """How good the model is: a test accuracy, or the distance of the objective from its minimum."""
        ...


class Quadratics:
    """f_w(x) = ½ Σ_i h_i (x_i − c_wi)² with noise: curvatures shared, optima c_w and noise by worker.

    Args:
        curvatures: h, positive, [d].
        worker_count: n.
        spread: standard deviation of the optima around a common one.
        noise: standard deviation of each entry of a gradient, at the usual batch.
        block_count: into how many nearly equal blocks the model is cut.
        seed: of optima and noise.

    Raises:
        ValueError: a curvature is not positive or a deviation negative, one of them is not finite, or there are more
            blocks than entries.
    """

    def __init__(
        self,
        curvatures: Sequence[float],
        *,
        worker_count: int,
        spread: float = 0.0,
        noise: float = 0.0,
        block_count: int = 1,
        seed: int = 0,
    ) -> None:
        if not curvatures or not all(0 < curvature < math.inf for curvature in curvatures):
            raise ValueError(f"curvatures must be positive and finite, got {list(curvatures)}")
        if not (0 <= spread < math.inf and 0 <= noise < math.inf):
            raise ValueError(f"spread and noise must be at least 0 and finite, got {spread} and {noise}")
        if not 1 <= block_count <= len(curvatures):
            raise ValueError(f"{len(curvatures)} entries cannot be cut into {block_count} blocks")
        self._curvatures = torch.tensor(list(curvatures), dtype=torch.float64)
        dimension = len(curvatures)
        drawn = torch.randn(worker_count, dimension, dtype=torch.float64, generator=random_stream(seed, "optima"))
        self._optima = spread * drawn
        self._noise, self._seed = noise, seed
        self.initial = torch.ones(dimension, dtype=torch.float64)
        edges = [round(block * dimension / block_count) for block in range(block_count + 1)]
        self.block_sizes = tuple(end - begin for begin, end in pairwise(edges))

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        """See `Problem`; the noise's variance is divided by `batch`."""
        difference = model - self._optima[worker]
        gradient = self._curvatures * difference
        loss = 0.5 * float(torch.dot(gradient, difference))
        if self._noise:
            stream = random_stream(self._seed, "noise", worker, step)
            drawn = torch.randn(len(gradient), dtype=torch.float64, generator=stream)
            gradient = gradient.add(drawn, alpha=self._noise / batch**0.5)
        return loss, gradient

    def quality(self, model: Tensor) -> float:
        """f(x) − min f for the mean f of all workers' objectives."""
        difference = model - self._optima.mean(dim=0)
        return 0.5 * float(torch.dot(self._curvatures * difference, difference))


class Banded:
    """f(x) = ½ Σ_b ‖x_b − c_b‖² + ½ κ Σ_b ‖x_b − x_(b+1)‖²; worker w holds block w and the gradient on it alone.

    It reads its neighbours' blocks and writes its own. Its gradient is n times ∇f there and zero elsewhere, so that the
    mean of all workers' is ∇f.

    Args:
        worker_count: n, also the number of blocks.
        block_size: entries of a block.
        coupling: κ ≥ 0.
        seed: of the optima c, standard normal.

    Raises:
        ValueError: there is no entry, or the coupling is negative or not finite.
    """

    def __init__(self, worker_count: int, *, block_size: int = 2, coupling: float = 0.5, seed: int = 0) -> None:
        if worker_count < 1 or block_size < 1 or not 0 <= coupling < math.inf:
            raise ValueError(f"no banded problem: {worker_count} blocks of {block_size}, coupling {coupling}")
        self._coupling = coupling
        stream = random_stream(seed, "optima")
        self._optima = torch.randn(worker_count, block_size, dtype=torch.float64, generator=stream)
        self.initial = torch.ones(worker_count * block_size, dtype=torch.float64)
        self.block_sizes = (block_size,) * worker_count
        self.writes = tuple((worker,) for worker in range(worker_count))
        self.reads = tuple(
            tuple(range(max(0, worker - 1), min(worker_count, worker + 2))) for worker in range(worker_count)
        )

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        """See `Problem`; there is no noise. The mean of all losses is f."""
        del step, batch
        blocks = model.view_as(self._optima)
        difference = blocks[worker] - self._optima[worker]
        loss, own = 0.5 * float(difference @ difference), difference.clone()
        for other in self.reads[worker]:
            apart = blocks[worker] - blocks[other]
            loss += 0.25 * self._coupling * float(apart @ apart)
            own += self._coupling * apart
        gradient = torch.zeros_like(blocks)
        gradient[worker] = len(blocks) * own
        return len(blocks) * loss, gradient.flatten()

    def quality(self, model: Tensor) -> float:
        """f(x) − min f."""
        count = len(self._optima)
        between = torch.zeros(max(0, count - 1), count, dtype=torch.float64)
        for edge, row in enumerate(between):
            row[edge], row[edge + 1] = 1.0, -1.0
        hessian = torch.eye(count, dtype=torch.float64) + self._coupling * between.T @ between
        difference = model.view_as(self._optima) - torch.linalg.solve(hessian, self._optima)
        return 0.5 * float((difference * (hessian @ difference)).sum())


class Training:
    """A network on real examples; each worker draws its own batches, usually from all of the training data.

    Args:
        data: examples.
        worker_count: n.
        model: a key of `MODELS`. Nothing but parameters is shared: layers that normalise over the batch do it by the
            worker's own batch in training, and by statistics of `GATHERED` training examples when quality is measured.
        batch_size: examples in a usual batch.
        seed: of parameters and batches.
        partition: from which examples workers draw.
        injection: what they pass to each other.
        device: where gradients are computed; models and gradients come and go in the host's memory.

    Raises:
        ValueError: another model, data that it does not take, or see `Examples`.
    """

    def __init__(
        self,
        data: Dataset,
        *,
        worker_count: int,
        model: str = "fnn3",
        batch_size: int = 32,
        seed: int = 0,
        partition: Partition = "none",
        injection: Injection = ALONE,
        device: torch.device | str = "cpu",
    ) -> None:
        require_pair(model, data.kind)
        self._data, self._batch_size, self._device = data, batch_size, device
        self._images, self._labels = data.train_images.to(device), data.train_labels.to(device)
        self._examples = Examples(
            data.train_labels,
            worker_count=worker_count,
            batch_size=batch_size,
            seed=seed,
            partition=partition,
            injection=injection,
        )
        self._model = FlatModel(
            model,
            feature_count=data.feature_count,
            class_count=data.class_count,
            seed=seed,
            device=device,
            image_shape=data.image_shape,
        )
        self.initial = self._model.parameters.to("cpu", copy=True)
        self.block_sizes = self._model.block_sizes

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        """See `Problem`, and `Examples` for the batch."""
        examples = self._examples.of(worker, step, self._size(batch))
        self._model.parameters.copy_(model)
        loss, gradient = self._model.loss_and_gradient(self._images[examples], self._labels[examples])
        return loss, gradient.to("cpu")

    def received_bytes(self, worker: int, step: int, batch: float) -> int:
        """Of the examples and labels that others pass to a worker for a step."""
        of_one = self._data.train_images[0].nbytes + self._data.train_labels[0].nbytes
        return of_one * self._examples.received_count(worker, step, self._size(batch))

    def _size(self, batch: float) -> int:
        return max(1, round(batch * self._batch_size))

    def quality(self, model: Tensor) -> float:
        """Test accuracy; of a text, the share of tokens that are foreseen."""
        self._model.parameters.copy_(model)
        self._model.gather_statistics(self._images[:GATHERED])
        return self._model.accuracy(self._data.test_images.to(self._device), self._data.test_labels.to(self._device))
