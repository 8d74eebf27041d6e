"""Where is the mass? Everything that is a vector in a simulated run: the shared model, and what each worker has.

The engine alone calls this; every method returns sketches, from which the monitors keep their own books. On a grid all
created changes are multiples of 2⁻²⁰ in float64 and weights multiples of 2⁻¹⁰, so that sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Plan, Pull
from sparsync.experiments.engine.problems import Problem
from sparsync.experiments.engine.shared_model import Download, SharedModel
from sparsync.experiments.engine.worker_vectors import Dispatch, WorkerVectors, layout_of
from sparsync.verify.monitors.trace import Arithmetic, Mass, StepStatistics


class Mixture(NamedTuple):
    """What a mixing did.

    Args:
        sent_bytes: that were published, by member.
        copies: sketches of what all know of the members' models.
        models: of the models afterwards.
        changes: of what was made and not sent, and is part of the models now.
    """

    sent_bytes: tuple[int, ...]
    copies: tuple[Mass, ...] = ()
    models: tuple[Mass, ...] = ()
    changes: tuple[Mass, ...] = ()


class Vectors:
    """The vectors of one run.

    Args:
        problem: what is minimised.
        descent: how.
        worker_count: n.
        seed: of random selectors.
        download: see `SharedModel`.

    Raises:
        ValueError: grid mode with a model that is not float64, or blocks that do not make up the model.
    """

    def __init__(
        self, problem: Problem, descent: Descent, *, worker_count: int, seed: int = 0, download: Download = "dense"
    ) -> None:
        self.problem, self.descent = problem, descent
        self.layout = layout_of(problem, descent)
        if self.layout.dimension != len(problem.initial):
            raise ValueError(
                f"blocks of {self.layout.dimension} entries do not make up a model of {len(problem.initial)}"
            )
        self.server = SharedModel(problem.initial, self.layout, download=download)
        self.workers = [
            WorkerVectors(problem, descent, self.layout, worker=worker, seed=seed) for worker in range(worker_count)
        ]
        self._heard: dict[tuple[int, int], int] = {}
        """by listener and teller, how many tellings of its model were heard"""

    @property
    def shared(self) -> Tensor:
        """The shared model [d]."""
        return self.server.model

    @property
    def block_bytes(self) -> tuple[int, ...]:
        """Dense size of each block."""
        return self.layout.block_bytes

    @property
    def arithmetic(self) -> Arithmetic:
        """In what vectors are added; exact on the grid."""
        return self.layout.arithmetic

    def sketch(self, *vectors: Tensor) -> Mass:
        """See `Layout.sketch`."""
        return self.layout.sketch(*vectors)

    def step(self, worker: int, index: int, plan: Plan) -> tuple[StepStatistics, Mass]:
        """See `WorkerVectors.step`."""
        return self.workers[worker].step(index, plan)

    def send(
        self, worker: int, message: int, blocks: Sequence[int] | None, *, spares_last_step: bool = False
    ) -> Dispatch:
        """See `WorkerVectors.pack`; the message is on its way."""
        shipment, dispatch = self.workers[worker].pack(blocks, spares_last_step=spares_last_step)
        self.server.keep(message, worker, shipment)
        return dispatch

    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        """See `SharedModel.apply`."""
        return self.server.apply(messages, weights)

    def drop(self, messages: Iterable[int]) -> None:
        """Forget messages."""
        self.server.drop(messages)

    def read(self, worker: int, pull: Pull) -> tuple[Mass, tuple[int, ...]]:
        """Give the worker the model that it goes on from; its sketch, and which messages it was corrected by."""
        own = self.workers[worker]
        if not pull.shared:
            return self.sketch(own.base), ()
        corrections = self.server.unapplied(worker) if pull.local_correction else {}
        return own.read(self.shared, corrections.values()), tuple(corrections)

    def mix(self, members: Sequence[int], weights: Sequence[Sequence[float]]) -> Mixture:
        """Members publish what others do not know of their models, and move towards weighted means.

        One alone has nobody to publish anything to. See `WorkerVectors.move`.

        Raises:
            ValueError: on the grid, a weight other than 0 and 1.
        """
        if self.descent.is_on_grid and any(weight not in (0.0, 1.0) for row in weights for weight in row):
            raise ValueError(f"grid mode cannot average models, weights {tuple(map(tuple, weights))}")
        own = [self.workers[member] for member in members]
        changes = tuple(self.sketch(worker.change) for worker in own)
        sent_bytes = tuple(self._told(member, members) if len(members) > 1 else 0 for member in members)
        models = tuple(
            worker.move(
                [weight for weight, other in zip(row, own, strict=True) if other is not worker],
                [other.public for other in own if other is not worker],
            )
            for worker, row in zip(own, weights, strict=True)
        )
        return Mixture(sent_bytes, tuple(self.sketch(worker.public) for worker in own), models, changes)

    def _told(self, teller: int, members: Sequence[int]) -> int:
        """A member tells the others more of its model, and what they have missed: the bytes of that."""
        own = self.workers[teller]
        own.publish()
        others = [(member, teller) for member in members if member != teller]
        sent_bytes = own.untold(min(self._heard.get(pair, 0) for pair in others))[0]
        self._heard.update(dict.fromkeys(others, own.published_count))
        return sent_bytes

    def depart(self, worker: int) -> Mass:
        """See `WorkerVectors.depart`."""
        return self.workers[worker].depart()

    def mean_model(self, workers: Iterable[int]) -> Tensor:
        """The mean [d] of the workers' own models."""
        return torch.stack([self.workers[worker].model for worker in workers]).mean(dim=0)
