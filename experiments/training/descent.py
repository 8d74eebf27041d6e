"""The update that every replica applies to the averaged payloads: heavy-ball gradient descent, or AdamW.

Momentum and weight decay act after aggregation, as in the released code of Shi et al. 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import StepLocation

OptimiserName = Literal["sgd", "adamw"]
OPTIMISERS: tuple[OptimiserName, ...] = ("sgd", "adamw")

SQUARE_DECAY = 0.999
"""β₂ of AdamW."""
SMALLEST_ROOT = 1e-8
"""ε of AdamW."""


class Descent(Protocol):
    """An update rule with what it remembers."""

    def apply(self, mean: Tensor, step_size: float) -> None:
        """Move the parameters by one step along `mean` [d]."""
        ...

    def state(self) -> dict[str, Tensor]:
        """What is remembered, by name; of the tensors themselves, which the next step changes."""
        ...

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Remember what `state` returned instead."""
        ...


def new_descent(
    name: OptimiserName, parameters: Tensor, *, momentum: float, weight_decay: float, step_location: StepLocation
) -> Descent:
    """The update rule of this name, for parameters [d] that it changes in place.

    Raises:
        ValueError: unknown name, or one that the place of the step size does not go with.
    """
    require_optimiser(name, step_location)
    if name == "adamw":
        return AdamWDescent(parameters, momentum=momentum, weight_decay=weight_decay)
    return MomentumDescent(parameters, momentum=momentum, weight_decay=weight_decay, step_location=step_location)


def require_optimiser(name: str, step_location: StepLocation) -> None:
    """Refuse an update rule that is not there, or whose steps would not be those of its step size.

    Raises:
        ValueError: unknown name; or AdamW with the step size inside, which it would divide out.
    """
    if name not in OPTIMISERS:
        raise ValueError(f"unknown optimiser {name!r}; known: {', '.join(OPTIMISERS)}")
    if name == "adamw" and step_location != "outside":
        raise ValueError(f"optimiser 'adamw' divides by the size of what it gets; step_location {step_location!r}")


class MomentumDescent:
    """x ← x − v with v ← βv + mean + ηλx; with the step size outside the memory, x ← x − ηv, v ← βv + mean + λx.

    Args:
        parameters: x [d], changed in place.
        momentum: β.
        weight_decay: λ.
        step_location: where the step size stands; see `Feedback`.
    """

    def __init__(
        self, parameters: Tensor, *, momentum: float, weight_decay: float, step_location: StepLocation
    ) -> None:
        self._parameters = parameters
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._inside = step_location == "inside"
        self._velocity = torch.zeros_like(parameters)

    def apply(self, mean: Tensor, step_size: float) -> None:
        """Move the parameters by one step along `mean` [d]."""
        decay = self._weight_decay * (step_size if self._inside else 1.0)
        self._velocity.mul_(self._momentum).add_(mean)
        if decay:
            self._velocity.add_(self._parameters, alpha=decay)
        self._parameters.sub_(self._velocity, alpha=1.0 if self._inside else step_size)

    def state(self) -> dict[str, Tensor]:
        """The velocity [d]."""
        return {"velocity": self._velocity}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from that velocity."""
        self._velocity.copy_(state["velocity"])


class AdamWDescent:
    """x ← (1 − ηλ)x − η m̂/(√v̂ + ε), m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², where ^ divides by 1 − βᵗ.

    Source: Loshchilov, Hutter 2019, arXiv 1711.05101; the decay is that of `torch.optim.AdamW`, times η.

    Args:
        parameters: x [d], changed in place.
        momentum: β₁; 0 divides every gradient by its own size alone.
        weight_decay: λ.
    """

    def __init__(self, parameters: Tensor, *, momentum: float, weight_decay: float) -> None:
        self._parameters = parameters
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._mean = torch.zeros_like(parameters)
        self._square = torch.zeros_like(parameters)
        self._step_count = 0

    def apply(self, mean: Tensor, step_size: float) -> None:
        """Move the parameters by one step, where `mean` [d] is the gradient."""
        self._step_count += 1
        self._mean.mul_(self._momentum).add_(mean, alpha=1 - self._momentum)
        self._square.mul_(SQUARE_DECAY).addcmul_(mean, mean, value=1 - SQUARE_DECAY)
        root = self._square.div(1 - SQUARE_DECAY**self._step_count).sqrt_().add_(SMALLEST_ROOT)
        length = step_size / (1 - self._momentum**self._step_count)
        self._parameters.mul_(1 - step_size * self._weight_decay).addcdiv_(self._mean, root, value=-length)

    def state(self) -> dict[str, Tensor]:
        """Both running means [d], and the number of steps that they are of."""
        return {"mean": self._mean, "square": self._square, "step_count": torch.tensor(self._step_count)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from those."""
        self._mean.copy_(state["mean"])
        self._square.copy_(state["square"])
        self._step_count = int(state["step_count"])
