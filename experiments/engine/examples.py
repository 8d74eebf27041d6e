"""Which training examples does a worker see at a step? A function of worker, step and seed alone.

So any process can compute any worker's examples, and what workers pass to each other, they can also draw themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sparsync.experiments.training.batches import BatchSchedule
from sparsync.experiments.training.seeding import random_stream

Partition = Literal["none", "labels"]
"""All workers draw from all examples; or each from its own part of them, which are sorted by label."""


@dataclass(frozen=True)
class Injection:
    """In each step some workers, drawn anew, pass some of their examples to all others; all batches stay as large.

    Of n workers k = round(αn) pass s = ⌊βb/(1 + βk)⌋ examples of a batch of b: the first ones of their own. Those
    replace as many of the others'. So of what a worker sees, ks/b is in the mean like all examples together, and only
    1 − ks/b like its own part, where b is the same for all.

    Args:
        worker_share: α in [0, 1]; 0 is no injection.
        batch_share: β in [0, 1], of what is left to a worker of its own batch; 0 is no injection.

    Source: Tyagi, Swany 2023, as described to us; that they replace others, to keep batches as large, too.
    """

    worker_share: float = 0.0
    batch_share: float = 0.0

    def __post_init__(self) -> None:
        for name in ("worker_share", "batch_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")

    def donor_count(self, worker_count: int) -> int:
        """k, of n workers."""
        return round(self.worker_share * worker_count) if self.batch_share else 0

    def passed_count(self, size: int, worker_count: int) -> int:
        """s, of batches of so many examples."""
        count = self.donor_count(worker_count)
        return math.floor(self.batch_share * size / (1 + self.batch_share * count)) if count else 0


ALONE = Injection()
"""Nothing is passed."""


class Examples:
    """The training examples of all workers.

    Args:
        labels: of the training examples; "labels" needs one number for each.
        worker_count: n.
        batch_size: examples of a usual batch.
        seed: names all draws.
        partition: see `Partition`; parts differ by one example at most, and are drawn from with replacement.
        injection: what workers pass to each other.

    Raises:
        ValueError: there are fewer examples than one step needs, they have no labels to sort by, or an injection
            passes nothing.
    """

    def __init__(
        self,
        labels: Tensor,
        *,
        worker_count: int,
        batch_size: int,
        seed: int,
        partition: Partition = "none",
        injection: Injection = ALONE,
    ) -> None:
        if partition not in get_args(Partition):
            raise ValueError(f"partition must be one of {', '.join(get_args(Partition))}, got {partition!r}")
        if partition == "labels" and labels.dim() != 1:
            raise ValueError(f"partition {partition!r} needs a label for each example, got {list(labels.shape)}")
        is_wanted = injection.worker_share > 0 and injection.batch_share > 0
        if is_wanted and not injection.passed_count(batch_size, worker_count):
            raise ValueError(f"{injection} passes nothing in batches of {batch_size} of {worker_count} workers")
        self._count, self._worker_count, self._batch_size = len(labels), worker_count, batch_size
        self._seed, self._injection = seed, injection
        self._schedule = BatchSchedule(len(labels), worker_count=worker_count, batch_size=batch_size, seed=seed)
        self._parts: tuple[Tensor, ...] = ()
        """of each worker, if there are any"""
        if partition == "labels":
            order = torch.argsort(labels, stable=True)
            self._parts = torch.tensor_split(order, worker_count)

    def of(self, worker: int, step: int, size: int) -> Tensor:
        """Indices [size] int64 of the examples on which a worker takes a step (from 0)."""
        passed = self._injection.passed_count(size, self._worker_count)
        donors = [donor for donor in self.donors(step) if donor != worker] if passed else []
        own = self._own(worker, step, size)
        if not donors:
            return own
        return torch.cat(
            [own[: size - passed * len(donors)], *(self._own(other, step, size)[:passed] for other in donors)]
        )

    def donors(self, step: int) -> list[int]:
        """Who passes examples to all others in a step."""
        count = self._injection.donor_count(self._worker_count)
        order = torch.randperm(self._worker_count, generator=random_stream(self._seed, "donors", step))
        return sorted(order[:count].tolist())

    def received_count(self, worker: int, step: int, size: int) -> int:
        """How many of a worker's examples in a step were others'."""
        passed = self._injection.passed_count(size, self._worker_count)
        return passed * sum(donor != worker for donor in self.donors(step)) if passed else 0

    def _own(self, worker: int, step: int, size: int) -> Tensor:
        """What a worker would see by itself; of all examples another size than the usual is drawn with replacement."""
        if not self._parts and size == self._batch_size:
            return self._schedule.batch(step, worker)
        drawn_from = len(self._parts[worker]) if self._parts else self._count
        stream = random_stream(self._seed, "batch", worker, step)
        places = torch.randint(drawn_from, (size,), generator=stream)
        return self._parts[worker][places] if self._parts else places
