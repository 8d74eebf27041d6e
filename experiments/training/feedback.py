"""Error feedback for a loop of one's own: one object a worker, with the residual that `Ef14` keeps in a memory.

Other variants, and what a run uses, are in `experiments/feedbacks/`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.feedbacks.feedback import StepLocation
from sparsync.kernels.payload import SparsePayload


class ErrorFeedback:
    """One worker's residual e, so that after every step: corrected = sent + kept, bit for bit.

    Args:
        dimension: d.
        step_location: whether the memory holds ηg ("inside") or g ("outside"); see `Ef14`.
        dtype: of the residual and of all that is added to it.
        device: where the residual lives.

    Raises:
        ValueError: `dimension` is no int of at least 1, or `step_location` is neither.
    """

    def __init__(
        self,
        dimension: int,
        *,
        step_location: StepLocation = "inside",
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self._rule = Ef14(step_location)
        self.residual = self._rule.memory(dimension, dtype=dtype, device=device)["residual"]

    @property
    def step_location(self) -> StepLocation:
        """Where the step size stands."""
        return self._rule.step_location

    def correct(self, gradient: Tensor, step_size: float) -> Tensor:
        """The corrected gradient u [d]: e + ηg, or e + g when the step size stands outside; a new tensor.

        Raises:
            ValueError: see `scaled`.
        """
        return self._rule.correct({"residual": self.residual}, gradient, step_size)

    def store_residual(self, corrected: Tensor, payload: SparsePayload) -> None:
        """Keep what was not sent: e = u − C(u), exactly, as the selected entries are set to zero.

        Raises:
            ValueError: `corrected` or `payload` has not the residual's length.
        """
        memory = {"residual": self.residual}
        self._rule.settle(memory, corrected, payload)
        self.residual = memory["residual"]
