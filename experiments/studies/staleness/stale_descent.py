"""What does an optimiser do when updates arrive late? Workers with a cached copy of the model each, exactly.

As described to us of Dai, Zhou, Dong, Zhang and Xing (2018): the update that a worker makes at step t reaches each
worker's copy, its own included, at step t + 1 + r, where r is uniform on {0, …, s}, drawn anew for every pair of
workers and every step. Nothing is lost, and s = 0 is synchronous. Used by the study `staleness`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from sparsync.experiments.training.seeding import random_stream

OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "momentum": partial(torch.optim.SGD, momentum=0.9),
    "adam": torch.optim.Adam,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
}
"""Every optimiser by name, with PyTorch's defaults besides the step size and the momentum; all work entry by entry."""

Gradients = Callable[[int, Tensor], Tensor]
"""The workers' gradients [n, d] at a step (from 0), at their models [n, d]."""
Delays = Callable[[], list[list[int]]]
"""Draws the delays of one step: row by who made the update, column by who reads it."""


def uniform_delays(staleness: int, *, worker_count: int, seed: int) -> Delays:
    """Independent delays, uniform on {0, …, s}.

    Raises:
        ValueError: a negative staleness.
    """
    if staleness < 0:
        raise ValueError(f"staleness must be at least 0, got {staleness}")
    stream = random_stream(seed, "delays")
    return lambda: torch.randint(staleness + 1, (worker_count, worker_count), generator=stream).tolist()


class StaleDescent:
    """One run.

    A worker's optimiser sees the gradients of this worker alone, each taken at the worker's own copy, and keeps its own
    state; what travels is the update that it makes of them, divided by the number of workers.

    Args:
        gradients: of the workers.
        initial: [d], the model that all start from.
        optimiser: key of `OPTIMISERS`.
        step_size: of every worker.
        worker_count: n.
        delays: of the updates.

    Raises:
        ValueError: an unknown optimiser, or no worker.
    """

    def __init__(
        self,
        gradients: Gradients,
        initial: Tensor,
        *,
        optimiser: str,
        step_size: float,
        worker_count: int,
        delays: Delays,
    ) -> None:
        if optimiser not in OPTIMISERS:
            raise ValueError(f"unknown optimiser {optimiser!r}; known: {', '.join(OPTIMISERS)}")
        if worker_count < 1:
            raise ValueError(f"there must be at least one worker, got {worker_count}")
        self.step_count = 0
        self.copies = initial.repeat(worker_count, 1)
        """every worker's model [n, d]"""
        self._gradients, self._delays = gradients, delays
        # An optimiser that works entry by entry has n states of its own in the rows of one. It starts each step from
        # zero, which leaves the update itself, not rounded by any model.
        self._updates = torch.zeros_like(self.copies)
        self._optimiser = OPTIMISERS[optimiser]([self._updates], lr=step_size)
        self._under_way: dict[int, Tensor] = defaultdict(lambda: torch.zeros_like(self.copies))

    def step(self) -> None:
        """Every worker makes an update; then what is due at the next step arrives."""
        self._updates.zero_()
        self._updates.grad = self._gradients(self.step_count, self.copies)
        self._optimiser.step()
        self.step_count += 1
        for update, row in zip(self._updates / len(self.copies), self._delays(), strict=True):
            for reader, delay in enumerate(row):
                self._under_way[self.step_count + delay][reader] += update
        if self.step_count in self._under_way:
            self.copies += self._under_way.pop(self.step_count)

    def settled(self) -> Tensor:
        """The copies [n, d] once all updates made so far have arrived: equal but for rounding."""
        return self.copies + sum(self._under_way.values())
