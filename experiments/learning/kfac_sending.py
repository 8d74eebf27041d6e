"""How a vector of every worker becomes the mean of all: sent whole, or a selection of it with error feedback.

Used for gradients and for factors. What is selected and corrected goes the road of `experiments/training/roads.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.messages import Average
from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.experiments.learning.kfac_settings import Sending
from sparsync.experiments.training.averager import VectorAverager
from sparsync.experiments.training.collectives import GroupAverager, LocalAverager
from sparsync.experiments.training.roads import Worker, takes_kernel
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.native import SelectionState
from sparsync.kernels.reference import keep_all
from sparsync.kernels.selection import SELECTORS, target_count

NewAverager: TypeAlias = Callable[[str], VectorAverager]
"""How workers meet, by key of `COLLECTIVES`; `Party.averager` is one."""


def group_averager(collective: str) -> VectorAverager:
    """Over the default process group, or in this process where there is none."""
    if not (dist.is_available() and dist.is_initialized()):
        return LocalAverager(collective)
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    return GroupAverager(collective, device=device)


class Sender:
    """The workers of this process as they send one kind of vector, of one length for ever.

    Args:
        sending: what of it.
        averager: how they meet the others.
        purpose: names the random streams.
        ranks: of the workers here, ascending.
        seed: of the streams.
    """

    def __init__(
        self, sending: Sending, averager: VectorAverager, purpose: str, ranks: Sequence[int], *, seed: int
    ) -> None:
        self._sending, self._averager = sending, averager
        self._purpose, self._ranks, self._seed = purpose, ranks, seed
        self._workers: list[Worker] = []

    def mean(self, vectors: Sequence[Tensor]) -> Average:
        """The mean of what all workers of the run sent, or what the feedback makes of it.

        Args:
            vectors: [d] of each local worker.

        Raises:
            FloatingPointError: a vector with what had not been sent before is not finite.
        """
        count = target_count(self._sending.density, vectors[0].numel())
        if self._sending.is_whole:
            return self._averager.average([keep_all(vector, count) for vector in vectors])
        workers = self._begun(vectors[0])
        sent = [worker.send(vector, 1.0, count) for worker, vector in zip(workers, vectors, strict=True)]
        if unfit := [worker.rank for worker, made in zip(workers, sent, strict=True) if made is None]:
            raise FloatingPointError(f"what workers {unfit} would send of the {self._purpose} is not finite")
        average = self._averager.average([made.payload for made in sent if made is not None])
        delivered = [worker.feedback.deliver(worker.memory, average.mean) for worker in workers]
        # A variant may keep what it delivers, and factors are added to.
        return Average(delivered[0].clone(), average.sent_bytes)

    def state(self) -> dict[int, dict[str, Any]]:
        """What each worker here remembers, by rank; of the tensors themselves."""
        return {
            worker.rank: {"memory": dict(worker.memory), "generator": worker.generator.get_state()}
            for worker in self._workers
        }

    def restore(self, state: Mapping[int, Mapping[str, Any]], like: Tensor) -> None:
        """Remember what `state` returned instead.

        Args:
            state: empty where nothing has been sent.
            like: a vector as it will be sent.

        Raises:
            ValueError: a worker of this process is missing, or its memory is of other vectors.
        """
        if not state:
            self._workers = []
            return
        if missing := [rank for rank in self._ranks if rank not in state]:
            raise ValueError(f"no memory of the {self._purpose} of workers {missing}; there is one of {sorted(state)}")
        self._workers = []
        for worker in self._begun(like):
            kept = state[worker.rank]["memory"]
            if {name: one.shape for name, one in kept.items()} != {k: one.shape for k, one in worker.memory.items()}:
                shapes = {name: tuple(one.shape) for name, one in kept.items()}
                raise ValueError(f"the memory of the {self._purpose} of worker {worker.rank} does not fit: {shapes}")
            worker.memory = {name: one.to(like).clone() for name, one in kept.items()}
            worker.generator.set_state(state[worker.rank]["generator"])

    def _begun(self, like: Tensor) -> list[Worker]:
        if not self._workers:
            self._workers = [self._new_worker(rank, like) for rank in self._ranks]
        return self._workers

    def _new_worker(self, rank: int, like: Tensor) -> Worker:
        feedback = new_feedback(self._sending.feedback, step_location="outside")
        selector = self._sending.selector
        return Worker(
            rank=rank,
            feedback=feedback,
            memory=feedback.memory(like.numel(), dtype=like.dtype, device=like.device),
            generator=random_stream(self._seed, self._purpose, rank),
            selector=selector,
            select=SELECTORS[selector],
            state=SelectionState() if takes_kernel("auto", selector, feedback, like.device) else None,
        )
