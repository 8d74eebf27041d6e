"""Error feedback: what a selector does not send is remembered and added to the next gradient.

Source: Seide et al. 2014; the memory of Stich, Cordonnier, Jaggi 2018. The step size may stand inside the memory,
u = e + ηg, as the analyses have it, or outside, u = e + g, as released code has it. The two
agree only while η is constant; with a changing η, outside replays old residuals at the new step size.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from sparsync.kernels.payload import SparsePayload

StepLocation = Literal["inside", "outside"]


class ErrorFeedback:
    """One worker's residual e, so that after every step: corrected = sent + kept, bit for bit.

    Args:
        dimension: d.
        step_location: whether the memory holds ηg ("inside") or g ("outside").
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
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise ValueError(f"dimension must be an int of at least 1, got {dimension!r}")
        if step_location not in ("inside", "outside"):
            raise ValueError(f"step_location must be 'inside' or 'outside', got {step_location!r}")
        self.step_location: StepLocation = step_location
        self.residual = torch.zeros(dimension, dtype=dtype, device=device)

    def correct(self, gradient: Tensor, step_size: float) -> Tensor:
        """The corrected gradient u [d]: e + ηg, or e + g when the step size stands outside; a new tensor.

        Raises:
            ValueError: `step_size` is not positive and finite, wherever it stands; `gradient` has not the residual's
                shape, or values that the residual's dtype cannot hold, or requires a gradient itself.
        """
        if not 0 < step_size < math.inf:
            raise ValueError(f"step_size must be positive and finite, got {step_size}")
        if gradient.shape != self.residual.shape:
            raise ValueError(f"expected a gradient of shape {tuple(self.residual.shape)}, got {tuple(gradient.shape)}")
        if torch.promote_types(gradient.dtype, self.residual.dtype) != self.residual.dtype:
            raise ValueError(f"a residual of {self.residual.dtype} cannot take a gradient of {gradient.dtype}")
        if gradient.requires_grad:
            # The residual would hold the graphs of all steps.
            raise ValueError("the gradient requires a gradient; detach it")
        return self.residual.add(gradient, alpha=step_size if self.step_location == "inside" else 1.0)

    def store_residual(self, corrected: Tensor, payload: SparsePayload) -> None:
        """Keep what was not sent: e = u − C(u), exactly, as the selected entries are set to zero.

        Raises:
            ValueError: `corrected` or `payload` has not the residual's length.
        """
        if corrected.shape != self.residual.shape:
            raise ValueError(f"expected a vector of shape {tuple(self.residual.shape)}, got {tuple(corrected.shape)}")
        self.residual = payload.remainder(corrected)
