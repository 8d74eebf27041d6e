"""How does a worker turn gradients into changes of the model, and what of them does it send?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.training.adaptive import require_selector

Feedback = Literal["memory", "none"]


@dataclass(frozen=True)
class Descent:
    """How a worker turns gradients into changes of the model, and what of them it sends.

    Args:
        step_size: η.
        momentum: β of each worker's own heavy ball, v ← βv + g, change −ηv.
        selector: a key of `SELECTORS` or `ADAPTIVE_SELECTORS`, or None: everything is sent and nothing kept. One that
            remembers does so for each worker and set of blocks.
        density: k/d of a selection, within the blocks that are sent.
        feedback: "memory" keeps what a selector leaves out and adds it to what is sent next; "none" forgets it.
        consensus_step: γ of `WorkerVectors.move`; compressed means need a smaller one than 1.
        is_on_grid: exact arithmetic, see `Layout`.
        largest_block: entries of the model that are sent apart from others at most, see `Layout`; None is a layer.

    Raises:
        ValueError: a value outside its range, named.
    """

    step_size: float = 0.1
    momentum: float = 0.0
    selector: str | None = None
    density: float = 0.01
    feedback: Feedback = "memory"
    consensus_step: float = 1.0
    is_on_grid: bool = False
    largest_block: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.step_size < float("inf"):
            raise ValueError(f"step_size must be positive, got {self.step_size}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must lie in [0, 1), got {self.momentum}")
        if self.selector is not None:
            require_selector(self.selector)
        if not 0 < self.density <= 1:
            raise ValueError(f"density must lie in (0, 1], got {self.density}")
        if not 0 < self.consensus_step <= 1:
            raise ValueError(f"consensus_step must lie in (0, 1], got {self.consensus_step}")
        if self.largest_block is not None:
            require_count("largest_block", self.largest_block, least=1)
        if self.feedback not in ("memory", "none"):
            raise ValueError(f"feedback must be 'memory' or 'none', got {self.feedback!r}")
