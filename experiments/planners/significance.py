"""How much does a gradient change from step to step? The measure by which `experiments/policies/selsync.py` decides.

Source: Tyagi, Swany 2023; smoothing as in their programs.
"""

from __future__ import annotations

import math
from collections import deque
from operator import mul

from sparsync.experiments.engine.addition import sum_in_order


class Smoothed:
    """Σ_a (1 − decay)^a v_{t−a} / Σ_a (1 − decay)^a over the last `window` values.

    Args:
        window: values.
        decay: α in [0, 1).
    """

    def __init__(self, window: int, decay: float) -> None:
        self._values: deque[float] = deque(maxlen=window)
        self._decay = decay

    def after(self, value: float) -> float:
        """The mean once `value` has been added."""
        self._values.appendleft(value)
        weights = [(1 - self._decay) ** age for age in range(len(self._values))]
        return sum_in_order(map(mul, weights, self._values)) / sum_in_order(weights)


class Significance:
    """How much the gradient's norm changes: smoothed |G_t − G_{t−1}|/G_{t−1}, G the smoothed sum of block norms.

    Args:
        window: of both smoothings, in steps.
        decay: of both.
    """

    def __init__(self, window: int, decay: float) -> None:
        self._norm, self._change = Smoothed(window, decay), Smoothed(window, decay)
        self._last = 0.0
        self.step_count = 0

    def after(self, norm: float) -> float:
        """The change up to a step with this sum of block norms; infinite when there was no gradient before."""
        last, self._last = self._last, self._norm.after(norm)
        self.step_count += 1
        if self.step_count == 1:
            return 0.0
        change = abs(self._last - last)
        return self._change.after(change / last if last else (math.inf if change else 0.0))
