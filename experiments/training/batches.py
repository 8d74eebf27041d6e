"""Which training examples each worker sees at each step.

Every epoch permutes the data anew; the workers take disjoint consecutive batches of it, so n workers with
batch b see what one worker with batch nb would. What is left over at the end of an epoch is dropped. Where the number
of workers changes, the new ones go on in the permutation where the old ones stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from sparsync.experiments.training.seeding import random_stream

ORDERS_KEPT = 16
"""Permutations at hand, those asked for last: workers in so many different epochs at a time need no others."""


@dataclass(frozen=True)
class Position:
    """Before a step, how far the data were read.

    Args:
        step: from 0.
        epoch: the permutation that its examples come from, from 0.
        taken: how many examples of that were seen before.
    """

    step: int = 0
    epoch: int = 0
    taken: int = 0


class BatchSchedule:
    """A function of (step, rank) alone, so that any process can compute any worker's batch.

    Args:
        example_count: number of training examples.
        worker_count: n.
        batch_size: examples per worker and step.
        seed: names the permutations.
        start: where it begins; other workers, more or fewer, have seen what lies before.

    Raises:
        ValueError: one step would need more examples than there are.
    """

    def __init__(
        self, example_count: int, *, worker_count: int, batch_size: int, seed: int, start: Position | None = None
    ) -> None:
        if worker_count * batch_size > example_count:
            raise ValueError(
                f"{worker_count} workers with batch size {batch_size} need more than "
                f"the {example_count} training examples there are"
            )
        self.worker_count = worker_count
        self._example_count = example_count
        self._batch_size = batch_size
        self._seed = seed
        self.start = Position() if start is None else start
        self._orders: dict[int, Tensor] = {}
        """by epoch, the one asked for last at the end"""

    @property
    def steps_per_epoch(self) -> int:
        """Full steps of all workers that one permutation feeds."""
        return self._example_count // self._step_examples

    @property
    def _step_examples(self) -> int:
        return self.worker_count * self._batch_size

    def position(self, step: int) -> Position:
        """What all workers together have read before a step, not before the start."""
        start, done = self.start, step - self.start.step
        first = (self._example_count - start.taken) // self._step_examples
        if done < first:
            return Position(step, start.epoch, start.taken + done * self._step_examples)
        epochs, place = divmod(done - first, self.steps_per_epoch)
        return Position(step, start.epoch + 1 + epochs, place * self._step_examples)

    def epochs(self, step: int) -> Fraction:
        """How many epochs lie before a step; a share of one is that of its full steps."""
        position = self.position(step)
        return position.epoch + min(Fraction(1), Fraction(position.taken, self.steps_per_epoch * self._step_examples))

    def batch(self, step: int, rank: int) -> Tensor:
        """Indices [batch_size] int64 of the examples that worker `rank` sees at `step` (from 0)."""
        position = self.position(step)
        first = position.taken + rank * self._batch_size
        return self._order(position.epoch)[first : first + self._batch_size]

    def resumed(self, step: int, worker_count: int) -> BatchSchedule:
        """The schedule of another number of workers, which go on before a step where these end.

        Raises:
            ValueError: one step would need more examples than there are.
        """
        return BatchSchedule(
            self._example_count,
            worker_count=worker_count,
            batch_size=self._batch_size,
            seed=self._seed,
            start=self.position(step),
        )

    def _order(self, epoch: int) -> Tensor:
        order = self._orders.pop(epoch, None)
        if order is None:
            order = torch.randperm(self._example_count, generator=random_stream(self._seed, "order", epoch))
        self._orders[epoch] = order
        if len(self._orders) > ORDERS_KEPT:
            del self._orders[next(iter(self._orders))]
        return order
