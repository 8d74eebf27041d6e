"""How a vector of every worker becomes the mean of all: sent whole, or a selection of it with error feedback.

Used for gradients and for factors. What is selected and corrected goes the road of `experiments/training/roads.py`.
Before anything is sent, `Agreement` makes sure that all workers take the same step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.averaging.messages import Average
from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.experiments.learning.kfac_factors import Shares, from_shares, largest_share, share_vector
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


@dataclass(frozen=True, eq=False)
class Taken:
    """What a worker has for a step.

    Args:
        gradient: of all trained parameters, [d].
        factors: of the layers that it used, by name.
        used: the parameters that have a gradient.
        problem: why the step cannot be made; empty if it can.
    """

    gradient: Tensor
    factors: dict[str, tuple[Tensor, Tensor]]
    used: tuple[int, ...]
    problem: str


def fitting_count(ranks: Sequence[int], worker_count: int) -> int:
    """The number of workers, if these ranks can be among them.

    Raises:
        ValueError: they cannot, or it is below 1.
    """
    if worker_count < 1:
        raise ValueError(f"worker_count must be at least 1, got {worker_count}")
    if not ranks or ranks[0] < 0 or ranks[-1] >= worker_count or list(ranks) != sorted(set(ranks)):
        raise ValueError(f"ranks must ascend below {worker_count}, got {ranks}")
    return worker_count


def shared(
    averager: VectorAverager, parts: Sequence[Sequence[Tensor]], counts: Sequence[int], shares: Shares, like: Tensor
) -> tuple[list[Tensor], int]:
    """All things in order, and the bytes that were sent, where each worker gives those that it owns.

    Args:
        averager: how workers meet.
        parts: of each worker here.
        counts: numbers of each thing, 0 where there is none.
        shares: of all workers of the run.
        like: says dtype and device.
    """
    length = largest_share(counts, shares)
    if not length:
        return [torch.empty(0)] * len(counts), 0
    gathered = averager.gather_vectors([share_vector(one, length, like) for one in parts])
    return from_shares(gathered.vectors, counts, shares), gathered.sent_bytes


_PROBLEM, _FIT = -2.0, -1.0


@dataclass(frozen=True, eq=False)
class Agreement:
    """All workers take the same step, or none does.

    Args:
        averager: how they meet.
        ranks: of the workers here.
        worker_count: over all processes.
        parameters: entries of each trained parameter, by name.
        layers: names of those that have factors.
    """

    averager: VectorAverager
    ranks: Sequence[int]
    worker_count: int
    parameters: Mapping[str, int]
    layers: Sequence[str]

    def require(self, taken: Sequence[Taken], step: int, facts: object) -> None:
        """Make sure that all workers can take this step, and take the same.

        Args:
            taken: what the workers here have.
            step: its number, from 0.
            facts: what has to be printed alike everywhere.

        Raises:
            ValueError: there are other workers than expected, or one cannot take the step.
            FloatingPointError: something is not finite.
            ExchangeError: the facts of workers, or the layers that they have used, differ.
        """
        rows = []
        for rank, one in zip(self.ranks, taken, strict=True):
            whole = (self.worker_count, step, facts, one.used, sorted(one.factors), list(self.parameters.items()))
            # 48 bits, so that the number passes through a float64 unchanged.
            number = float(int.from_bytes(hashlib.sha256(repr(whole).encode()).digest()[:6], "little"))
            rows.append((number, _PROBLEM if one.problem else self._first_unfit(one), float(rank)))
        digests, states, ranks = zip(*self.averager.gather_rows(rows), strict=True)
        if list(ranks) != list(range(self.worker_count)):
            raise ValueError(
                f"expected workers 0 to {self.worker_count - 1} (worker_count {self.worker_count}), but "
                f"{len(ranks)} came, of the ranks {list(map(int, ranks))}; here: {list(self.ranks)}"
            )
        if own := next((one.problem for one in taken if one.problem), ""):
            raise ValueError(own)
        if unable := [rank for rank, state in enumerate(states) if state == _PROBLEM]:
            raise ValueError(f"workers {unable} cannot take step {step}, and so none does; they say why")
        names = [f"gradient of {name}" for name in self.parameters] + [f"factor of {name}" for name in self.layers]
        if said := [f"the {names[int(place)]} of worker {rank}" for rank, place in enumerate(states) if place >= 0]:
            raise FloatingPointError(f"step {step}: {', '.join(said)} is not finite; try a smaller step size")
        if others := [rank for rank, digest in enumerate(digests) if digest != digests[0]]:
            raise ExchangeError(
                f"step {step}: workers {others} have used other layers than worker 0, or have another model, "
                f"other settings or another number of steps; here: {facts}, layers {sorted(taken[0].factors)}"
            )

    def _first_unfit(self, taken: Taken) -> float:
        """The first parameter, or behind them the first layer, where something is not finite."""
        for place, part in enumerate(taken.gradient.split(list(self.parameters.values()))):
            if not bool(part.isfinite().all()):
                return place
        for place, name in enumerate(self.layers):
            if not all(bool(one.isfinite().all()) for one in taken.factors.get(name, ())):
                return len(self.parameters) + place
        return _FIT


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

    def restored(self, state: Mapping[int, Mapping[str, Any]], like: Tensor) -> list[Worker]:
        """The workers that `state` was of, for `go_on`.

        Args:
            state: empty where nothing has been sent.
            like: a vector as it will be sent.

        Raises:
            ValueError: a worker of this process is missing, or its memory is of other vectors.
        """
        if not state:
            return []
        if missing := [rank for rank in self._ranks if rank not in state]:
            raise ValueError(f"no memory of the {self._purpose} of workers {missing}; there is one of {sorted(state)}")
        workers = [self._new_worker(rank, like) for rank in self._ranks]
        for worker in workers:
            kept = state[worker.rank]["memory"]
            if {name: one.shape for name, one in kept.items()} != {k: one.shape for k, one in worker.memory.items()}:
                shapes = {name: tuple(one.shape) for name, one in kept.items()}
                raise ValueError(f"the memory of the {self._purpose} of worker {worker.rank} does not fit: {shapes}")
            worker.memory = {name: one.to(like).clone() for name, one in kept.items()}
            # The state of a generator is read on the CPU, wherever a file was loaded to.
            worker.generator.set_state(state[worker.rank]["generator"].cpu())
        return workers

    def go_on(self, workers: list[Worker]) -> None:
        """Take workers that were `restored`."""
        self._workers = workers

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
