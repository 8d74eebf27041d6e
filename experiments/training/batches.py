"""Which training examples each worker sees at each step.

Every epoch permutes the data anew; the workers take disjoint consecutive batches of it, so n workers with
batch b see what one worker with batch nb would. What is left over at the end of an epoch is dropped.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sparsync.experiments.training.seeding import random_stream

ORDERS_KEPT = 16
"""Permutations at hand, those asked for last: workers in so many different epochs at a time need no others."""


class BatchSchedule:
    """A function of (step, rank) alone, so that any process can compute any worker's batch.

    Args:
        example_count: number of training examples.
        worker_count: n.
        batch_size: examples per worker and step.
        seed: names the permutations.

    Raises:
        ValueError: one step would need more examples than there are.
    """

    def __init__(self, example_count: int, *, worker_count: int, batch_size: int, seed: int) -> None:
        if worker_count * batch_size > example_count:
            raise ValueError(
                f"{worker_count} workers with batch size {batch_size} need more than "
                f"the {example_count} training examples there are"
            )
        self._example_count = example_count
        self._worker_count = worker_count
        self._batch_size = batch_size
        self._seed = seed
        self._orders: dict[int, Tensor] = {}
        """by epoch, the one asked for last at the end"""

    @property
    def steps_per_epoch(self) -> int:
        """Full steps of all workers that one permutation feeds."""
        return self._example_count // (self._worker_count * self._batch_size)

    def batch(self, step: int, rank: int) -> Tensor:
        """Indices [batch_size] int64 of the examples that worker `rank` sees at `step` (from 0)."""
        epoch, position = divmod(step, self.steps_per_epoch)
        start = (position * self._worker_count + rank) * self._batch_size
        return self._order(epoch)[start : start + self._batch_size]

    def _order(self, epoch: int) -> Tensor:
        order = self._orders.pop(epoch, None)
        if order is None:
            order = torch.randperm(self._example_count, generator=random_stream(self._seed, "order", epoch))
        self._orders[epoch] = order
        if len(self._orders) > ORDERS_KEPT:
            del self._orders[next(iter(self._orders))]
        return order
