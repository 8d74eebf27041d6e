"""Does error feedback keep back no more than theory allows? A monitor that a run may add, for it needs norms.

With √(1 − δ) = a, one sending of a compressor with ‖u − C(u)‖ ≤ a‖u‖ turns the residual e into one of at most a(‖e‖ +
‖change‖). The bound on its fixed point is that of `theory/feedback/residual.py`, for every run instead of in the mean.
"""

from __future__ import annotations

import math

from sparsync.theory.feedback.residual import residual_minkowski
from sparsync.verify.monitors.books import NORM_ERROR, BrokenPromiseError, Handlers
from sparsync.verify.monitors.trace import Departed, Header, Sent


class ResidualBound:
    """‖e‖ ≤ U√(1 − δ)/(1 − √(1 − δ)), U the largest change that the worker has committed so far.

    For runs in which each message covers the whole model, or blocks of one partition: U is the largest of them all.

    Args:
        header: of the run; sums of vectors are off by its unit roundoff, which is added to a.
        contraction: δ, of ‖u − C(u)‖² ≤ (1 − δ)‖u‖²; for Top-k it is k/d.

    Raises:
        ValueError: δ outside (0, 1].

    Source: ours, `residual_minkowski`.
    """

    def __init__(self, header: Header, contraction: float) -> None:
        if not 0 < contraction <= 1:
            raise ValueError(f"contraction must lie in (0, 1], got {contraction}")
        self._root = math.sqrt(1 - contraction) * (1 + header.unit_roundoff)
        left = 1 - self._root**2
        # No bound where rounding eats the contraction.
        square = residual_minkowski().evaluate(delta=left, step_size=1, second_moment=1) if left > 0 else math.inf
        self._factor = math.sqrt(square)
        self._largest = [0.0] * header.worker_count
        self.closest = 0.0
        """the largest residual, as a share of its bound"""

    def handlers(self) -> Handlers:
        """See `Monitor`."""
        return {Sent: self._sent, Departed: self._departed}

    def _sent(self, event: Sent) -> None:
        worker, kept, corrected = event.worker, event.kept_norm, event.corrected_norm
        if not kept <= self._root * corrected * (1 + NORM_ERROR):
            raise BrokenPromiseError(
                f"message {event.message} of worker {worker} leaves a residual of norm {kept} of {corrected}, "
                f"more than {self._root} of it"
            )
        self._largest[worker] = max(self._largest[worker], event.change_norm)
        bound = self._factor * self._largest[worker] * (1 + NORM_ERROR)
        if not kept <= bound:
            raise BrokenPromiseError(
                f"message {event.message} of worker {worker} leaves a residual of norm {kept}, the bound is {bound} "
                f"for changes of at most {self._largest[worker]}"
            )
        if bound:
            self.closest = max(self.closest, kept / bound)

    def _departed(self, event: Departed) -> None:
        self._largest[event.worker] = 0.0
