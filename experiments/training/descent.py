"""The update that every replica applies to the averaged payloads: gradient descent with heavy-ball momentum.

Momentum and weight decay act after aggregation, as in the released code of Shi et al. 2019.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import StepLocation


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
