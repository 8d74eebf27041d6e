"""On which vectors is the fused kernel timed? Residuals and gradients whose sum follows a law, or comes from training.

A residual e is drawn once and put back before every timed call; each gradient is a new draw u from the law, minus e.
So every call sees another corrected gradient than the call before, of the same law, as in a settled run.
`recorded_case` instead keeps the true sequence of pairs of a training run. Everything is drawn on the timed device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from sparsync.experiments.studies.kernels.model_shapes import Shape
from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.feedback import ErrorFeedback
from sparsync.experiments.training.models import FlatModel
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import SELECTORS, target_count

Granularity = Literal["vector", "tensors", "whole"]
Step = tuple[list[Tensor], list[Tensor]]
"""Residuals before a call, and the gradients that it adds."""

DRAWN_GRADIENT_COUNT = 3

# Read directly: `experiments/training/data.py` needs a downloader, which a machine with a GPU may lack.
_EMBEDDED_FILE = Path(__file__).resolve().parents[2] / "embedded" / "fashion_mnist_subset.npz"
_RECORDED_STEP_SIZE, _RECORDED_BATCH_SIZE, _SETTLING_STEP_COUNT = 0.1, 32, 30


@dataclass(frozen=True, eq=False)
class Case:
    """What every contender is timed on.

    Args:
        name: of the law, or of the model.
        granularity: one vector; one selection per tensor; one selection over all tensors.
        density: k/d.
        target_counts: k of each selection.
        steps: consecutive calls, used in turn from the beginning.
    """

    name: str
    granularity: Granularity
    density: float
    target_counts: tuple[int, ...]
    steps: Sequence[Step]

    @property
    def lengths(self) -> list[int]:
        """Entries of each tensor."""
        return [gradient.numel() for gradient in self.steps[0][1]]

    @property
    def dimension(self) -> int:
        """Entries of all tensors."""
        return sum(self.lengths)

    def step(self, index: int) -> Step:
        """The call of an index from 0 on; after the last the first follows."""
        return self.steps[index % len(self.steps)]

    def groups(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """What each selection ranges over: the tensors, or all of them as one vector."""
        return [torch.cat(list(tensors))] if self.granularity == "whole" else list(tensors)


Law = Callable[[int, torch.Generator], Tensor]

# Each draws [d] float32 on the generator's device.
LAWS: dict[str, Law] = {
    "gaussian": lambda dimension, stream: _gaussian(dimension, stream),
    "laplace": lambda dimension, stream: _exponential(dimension, stream).sub_(_exponential(dimension, stream)),
    "uniform": lambda dimension, stream: _unit(dimension, stream).mul_(2).sub_(1),
    "sparse 0.95": lambda dimension, stream: _gaussian(dimension, stream).mul_(_unit(dimension, stream) >= 0.95),
    "sparse 0.999": lambda dimension, stream: _gaussian(dimension, stream).mul_(_unit(dimension, stream) >= 0.999),
}


def drawn_case(law: str, dimension: int, density: float, *, device: torch.device, seed: int = 0) -> Case:
    """One vector whose corrected gradients follow a law of `LAWS`."""
    steps = _drawn_steps([dimension], [1.0], LAWS[law], _device_stream(seed, f"{law} {dimension}", device))
    return Case(law, "vector", density, (target_count(density, dimension),), steps)


def model_cases(
    name: str, shapes: Sequence[Shape], density: float, *, device: torch.device, seed: int = 0
) -> list[Case]:
    """The tensors of a model, each Gaussian with a scale of its own; selected from one by one, and as a whole."""
    lengths = [math.prod(shape) for shape in shapes]
    scales = [float(1 + index % 3) for index in range(len(shapes))]
    steps = _drawn_steps(lengths, scales, LAWS["gaussian"], _device_stream(seed, name, device))
    per_tensor = tuple(target_count(density, length) for length in lengths)
    return [
        Case(name, "tensors", density, per_tensor, steps),
        Case(name, "whole", density, (target_count(density, sum(lengths)),), steps),
    ]


def recorded_case(step_count: int, density: float, *, device: torch.device, seed: int = 0) -> Case:
    """Consecutive residuals and gradients (times the step size) of one worker that trains FNN-3 with exact Top-k."""
    with np.load(_EMBEDDED_FILE, allow_pickle=False) as arrays:
        images = torch.from_numpy(arrays["train_images"].reshape(len(arrays["train_images"]), -1)).float().div_(255)
        labels = torch.from_numpy(arrays["train_labels"].astype(np.int64))
    model = FlatModel("fnn3", feature_count=images.shape[1], class_count=int(labels.max()) + 1, seed=seed)
    feedback = ErrorFeedback(model.parameters.numel())
    schedule = BatchSchedule(len(labels), worker_count=1, batch_size=_RECORDED_BATCH_SIZE, seed=seed)
    k = target_count(density, model.parameters.numel())
    steps: list[Step] = []
    for index in range(_SETTLING_STEP_COUNT + step_count):
        examples = schedule.batch(index, 0)
        gradient = model.loss_and_gradient(images[examples], labels[examples])[1] * _RECORDED_STEP_SIZE
        if index >= _SETTLING_STEP_COUNT:
            steps.append(([feedback.residual.to(device)], [gradient.to(device)]))
        corrected = feedback.correct(gradient, 1.0)
        payload = SELECTORS["top_k"](corrected, k)
        feedback.store_residual(corrected, payload)
        model.parameters.sub_(payload.dense())
    return Case("recorded", "vector", density, (k,), steps)


def _drawn_steps(lengths: Sequence[int], scales: Sequence[float], draw: Law, stream: torch.Generator) -> list[Step]:
    """Steps that share their residual; a draw of zero stays zero, since e + (0 − e) = 0 exactly."""
    sizes = list(zip(lengths, scales, strict=True))
    residuals = [draw(length, stream).mul_(scale) for length, scale in sizes]
    steps: list[Step] = []
    for _ in range(DRAWN_GRADIENT_COUNT):
        wanted = [draw(length, stream).mul_(scale) for length, scale in sizes]
        steps.append((residuals, [one.sub_(residual) for one, residual in zip(wanted, residuals, strict=True)]))
    return steps


def _device_stream(seed: int, purpose: str, device: torch.device) -> torch.Generator:
    return torch.Generator(device).manual_seed(random_stream(seed, purpose).initial_seed())


def _gaussian(dimension: int, stream: torch.Generator) -> Tensor:
    return torch.randn(dimension, generator=stream, device=stream.device)


def _unit(dimension: int, stream: torch.Generator) -> Tensor:
    return torch.rand(dimension, generator=stream, device=stream.device)


def _exponential(dimension: int, stream: torch.Generator) -> Tensor:
    """−ln(1 − U), finite since U < 1."""
    return _unit(dimension, stream).neg_().log1p_().neg_()
