"""What are the gradients of all workers at once, each at a model of its own? Fully connected networks, stacked.

One batched product does the work of many small ones. The numbers are those of `FlatModel`, up to rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.data import Dataset
from sparsync.experiments.training.models import FlatModel


class StackedTraining:
    """A fully connected network on real examples; every worker draws its own batches from all of the training data.

    Args:
        data: examples.
        model: key of `VECTOR_MODELS`, of linear layers with rectifiers between them.
        worker_count: n.
        batch_size: examples of each worker and step.
        seed: of parameters and batches.
    """

    def __init__(self, data: Dataset, *, model: str, worker_count: int, batch_size: int, seed: int) -> None:
        self._data, self._worker_count = data, worker_count
        self._schedule = BatchSchedule(
            len(data.train_labels), worker_count=worker_count, batch_size=batch_size, seed=seed
        )
        self._flat = FlatModel(model, feature_count=data.feature_count, class_count=data.class_count, seed=seed)
        self.initial = self._flat.parameters.clone()
        """[d], the model that all start from"""

    def gradients(self, step: int, models: Tensor) -> Tensor:
        """The gradients [n, d] of the mean cross-entropies of the workers' batches at their models [n, d]."""
        examples = torch.stack([self._schedule.batch(step, worker) for worker in range(self._worker_count)])
        parameters = models.detach().requires_grad_()
        outputs = self._outputs(parameters, self._data.train_images[examples])
        labels = self._data.train_labels[examples]
        losses = functional.cross_entropy(outputs.flatten(end_dim=1), labels.flatten(), reduction="sum")
        return torch.autograd.grad(losses / examples.shape[1], parameters)[0]

    def loss_gradient(self, model: Tensor, example_count: int) -> Tensor:
        """The gradient [d] of the mean cross-entropy of the first so many training examples."""
        self._flat.parameters.copy_(model)
        images, labels = self._data.train_images[:example_count], self._data.train_labels[:example_count]
        return self._flat.loss_and_gradient(images, labels)[1].clone()

    def accuracy(self, model: Tensor) -> float:
        """Share of the test images that a model [d] gets right.

        Raises:
            FloatingPointError: an output is not finite.
        """
        self._flat.parameters.copy_(model)
        return self._flat.accuracy(self._data.test_images, self._data.test_labels)

    def _outputs(self, parameters: Tensor, images: Tensor) -> Tensor:
        """[n, b, classes] of images [n, b, features]."""
        layers = torch.split(parameters, list(self._flat.block_sizes), dim=1)
        for weights, biases in zip(layers[::2], layers[1::2], strict=True):
            if weights is not layers[0]:
                images = functional.relu(images)
            matrices = weights.reshape(len(weights), biases.shape[1], -1)
            images = torch.baddbmm(biases[:, None, :], images, matrices.transpose(1, 2))
        return images
