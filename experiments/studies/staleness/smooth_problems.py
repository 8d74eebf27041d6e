"""Which functions are known well enough to check a rate on? Quadratics and softmax regression, with noise or without.

Of each the smoothness, the infimum and the variance of a noisy gradient are known, or bounded from the safe side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from sparsync.experiments.training.data import Dataset, load_dataset


class SmoothProblem(Protocol):
    """A function F with what the bound asks of it.

    Args:
        initial: [d] float64, x_1.
        smoothness: L, or more.
        infimum: inf F, or less.
    """

    initial: Tensor
    smoothness: float
    infimum: float

    def value(self, model: Tensor) -> float:
        """F at [d]."""
        ...

    def gradient(self, model: Tensor) -> tuple[Tensor, float]:
        """∇F [d], and the variance there of a noisy gradient."""
        ...

    def noisy_gradient(self, model: Tensor, stream: torch.Generator) -> Tensor:
        """∇F [d] and noise of mean zero."""
        ...


class NoisyQuadratic:
    """F(x) = Σ h_i x_i²/2 from x = (1, …, 1), with Gaussian noise on every gradient.

    Args:
        curvatures: h, positive, [d].
        noise: standard deviation of each entry.
    """

    def __init__(self, curvatures: Tensor, *, noise: float) -> None:
        self._curvatures, self._noise = curvatures, noise
        self.initial = torch.ones_like(curvatures)
        self.smoothness, self.infimum = float(curvatures.max()), 0.0

    def value(self, model: Tensor) -> float:
        """See `SmoothProblem`."""
        return 0.5 * float(self._curvatures @ model.square())

    def gradient(self, model: Tensor) -> tuple[Tensor, float]:
        """See `SmoothProblem`."""
        return self._curvatures * model, len(model) * self._noise**2

    def noisy_gradient(self, model: Tensor, stream: torch.Generator) -> Tensor:
        """See `SmoothProblem`."""
        noise = torch.randn(len(model), generator=stream, dtype=model.dtype)
        return self._curvatures * model + self._noise * noise


class SoftmaxRegression:
    """Mean cross-entropy of linear outputs plus ½ penalty ‖x‖², from x = 0; noise is that of batches.

    The Hessian of one example a is a aᵀ ⊗ (diag p − ppᵀ), and the largest eigenvalue of diag p − ppᵀ is at most ½, so
    L = λ_max(AᵀA/n)/2 + penalty. F is strongly convex, so inf F ≥ F(x) − ‖∇F(x)‖²/(2 penalty), used near the minimum.

    Args:
        features: A [n, f] float64.
        labels: [n] int64.
        class_count: c; the model has f·c entries.
        penalty: of the squared norm, positive.
        batch_size: examples of a noisy gradient, drawn with replacement; 0 takes all of them, without noise.

    Raises:
        ValueError: the penalty is not positive.
    """

    def __init__(
        self, features: Tensor, labels: Tensor, *, class_count: int, penalty: float, batch_size: int = 0
    ) -> None:
        if penalty <= 0:
            raise ValueError(f"penalty must be positive, got {penalty}")
        self._features, self._labels = features, labels
        self._targets = functional.one_hot(labels, class_count).to(features.dtype)
        self._penalty, self._batch_size = penalty, batch_size
        self.initial = torch.zeros(features.shape[1] * class_count, dtype=features.dtype)
        covariance = features.T @ features / len(features)
        self.smoothness = 0.5 * float(torch.linalg.eigvalsh(covariance)[-1]) + penalty
        nearly = self._nearly_minimal()
        self.infimum = self.value(nearly) - float(self.gradient(nearly)[0].square().sum()) / (2 * penalty)

    def value(self, model: Tensor) -> float:
        """See `SmoothProblem`."""
        return float(self._objective(model))

    def gradient(self, model: Tensor) -> tuple[Tensor, float]:
        """See `SmoothProblem`."""
        errors = torch.softmax(self._outputs(model, self._features), dim=1) - self._targets
        mean = (self._features.T @ errors / len(errors)).flatten()
        squares = errors.square().sum(dim=1) * self._features.square().sum(dim=1)
        variance = float(squares.mean() - mean.square().sum()) / self._batch_size if self._batch_size else 0.0
        return mean + self._penalty * model, variance

    def noisy_gradient(self, model: Tensor, stream: torch.Generator) -> Tensor:
        """See `SmoothProblem`."""
        if not self._batch_size:
            return self.gradient(model)[0]
        chosen = torch.randint(len(self._labels), (self._batch_size,), generator=stream)
        features = self._features[chosen]
        errors = torch.softmax(self._outputs(model, features), dim=1) - self._targets[chosen]
        return (features.T @ errors / self._batch_size).flatten() + self._penalty * model

    def _outputs(self, model: Tensor, features: Tensor) -> Tensor:
        return features @ model.view(features.shape[1], -1)

    def _objective(self, model: Tensor) -> Tensor:
        loss = functional.cross_entropy(self._outputs(model, self._features), self._labels)
        return loss + 0.5 * self._penalty * model.square().sum()

    def _nearly_minimal(self) -> Tensor:
        model = self.initial.clone().requires_grad_()
        search = torch.optim.LBFGS([model], max_iter=500, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

        def evaluate() -> float:
            search.zero_grad()
            objective = self._objective(model)
            objective.backward()
            return float(objective.detach())

        search.step(evaluate)
        return model.detach()


def pooled_regression(data: Dataset, *, example_count: int, batch_size: int) -> SoftmaxRegression:
    """Softmax regression on the first training images, averaged over squares of 4 × 4 pixels, with a constant."""
    channels, height, width = data.image_shape
    images = data.train_images[:example_count].double().view(-1, channels, height, width)
    pooled = functional.avg_pool2d(images, 4).flatten(start_dim=1)
    features = torch.cat([pooled, torch.ones(len(pooled), 1, dtype=torch.float64)], dim=1)
    labels = data.train_labels[:example_count]
    return SoftmaxRegression(features, labels, class_count=data.class_count, penalty=0.01, batch_size=batch_size)


def _quadratic(noise: float) -> NoisyQuadratic:
    return NoisyQuadratic(torch.logspace(-2, 0, 20, dtype=torch.float64), noise=noise)


def _regression(batch_size: int) -> SoftmaxRegression:
    return pooled_regression(_embedded(), example_count=200, batch_size=batch_size)


@cache
def _embedded() -> Dataset:
    return load_dataset("embedded")


PROBLEMS: dict[str, Callable[[], SmoothProblem]] = {
    "quadratic": lambda: _quadratic(0.0),
    "quadratic, noise": lambda: _quadratic(0.5),
    "regression": lambda: _regression(0),
    "regression, noise": lambda: _regression(1),
}
"""Every function by name; the noise of the regression is that of single examples."""
