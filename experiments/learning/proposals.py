"""How do the batches' proposals w_i + α_i/ρ meet? Whole, or as selections of what the others lack of them.

A proposal is a state, not a change: its mean is needed in full at every step. So a selection is made of what an
estimate lacks, and all add up the mean of estimates, which is what EF21 does with gradients. That a residual alone
(EF14), or no memory, does not do is to be seen with `feedback`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import Feedback
from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.experiments.training.adaptive import new_selector, require_selector
from sparsync.experiments.training.averager import Averager
from sparsync.experiments.training.roads import Worker
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS, target_count

Memory = Literal["ef21", "ef14", "none"]
MEMORIES: tuple[Memory, ...] = get_args(Memory)


@dataclass(frozen=True)
class Selection:
    """What is sent of a proposal.

    Args:
        selector: key of `SELECTORS`, or one that remembers.
        density: k/p.
        memory: "ef21" sends what its estimate lacks, "ef14" a proposal and what was not sent before, "none" a proposal.
        seed: of selectors that draw.

    Raises:
        ValueError: no such selector or memory, or a density outside (0, 1].
    """

    selector: str = "top_k"
    density: float = 0.1
    memory: Memory = "ef21"
    seed: int = 0

    def __post_init__(self) -> None:
        require_selector(self.selector)
        target_count(self.density, 1)
        if self.memory not in MEMORIES:
            raise ValueError(f"unknown memory {self.memory!r}; known: {', '.join(MEMORIES)}")


@dataclass(frozen=True, eq=False)
class Met:
    """What came of a meeting.

    Args:
        mean: [p], of what all know of the proposals.
        errors: ‖w_i + α_i/ρ − what all know of it‖², of each local batch, with the roundings of what is added up since
            the first meeting; zeros where all is sent.
        sent_bytes: of all batches together.
    """

    mean: Tensor
    errors: list[float]
    sent_bytes: int


class Meeting:
    """The local batches, which meet all others.

    Args:
        averager: how; of "dense" where nothing is selected.
        ranks: of the local batches among all.
        feature_count: p.
        selection: None sends everything.
        device: where proposals are.
    """

    def __init__(
        self,
        averager: Averager,
        ranks: Sequence[int],
        feature_count: int,
        selection: Selection | None,
        device: torch.device,
    ) -> None:
        self._averager, self._selection, self._feature_count, self._device = averager, selection, feature_count, device
        self._workers = [] if selection is None else [self._worker(rank, selection) for rank in ranks]
        self._largest, self._meeting_count = 0.0, 0

    def average(self, proposals: Sequence[Tensor]) -> Met:
        """The mean of the proposals [p] of all batches, as far as they are known.

        Raises:
            FloatingPointError: a proposal is not finite.
            ExchangeError: another process is lost.
        """
        if self._selection is None:
            payloads = [SELECTORS["keep_all"](proposal, self._feature_count) for proposal in proposals]
            met = self._averager.average(payloads)
            return Met(met.mean, [0.0] * len(proposals), met.sent_bytes)
        count = target_count(self._selection.density, self._feature_count)
        payloads, errors = [], []
        self._meeting_count += 1
        for worker, proposal in zip(self._workers, proposals, strict=True):
            payload, error = self._sent(worker, proposal, count)
            payloads.append(payload)
            errors.append(error)
        met = self._averager.average(payloads)
        delivered = [worker.feedback.deliver(worker.memory, met.mean) for worker in self._workers]
        return Met(delivered[0], errors, met.sent_bytes)

    def _sent(self, worker: Worker, proposal: Tensor, count: int) -> tuple[SparsePayload, float]:
        assert self._selection is not None
        if self._selection.memory == "none":
            worker.memory = self._empty(worker.feedback)
        sent = worker.send(proposal, 1.0, count)
        if sent is None:
            raise FloatingPointError(f"the proposal of batch {worker.rank} is not finite")
        known = worker.memory["estimate"] if "estimate" in worker.memory else sent.payload.dense()
        # An estimate and the mean of all of them are sums of as many terms as there were meetings, of the largest size
        # that anything had here.
        self._largest = max(self._largest, float(known.norm()), float(proposal.norm()))
        drift = 2.0**-51 * self._meeting_count * self._largest
        return sent.payload, (float((proposal - known).norm()) + drift) ** 2

    def _worker(self, rank: int, selection: Selection) -> Worker:
        outside = selection.memory == "ef21"
        feedback = new_feedback("ef21", step_location="outside") if outside else new_feedback("ef14")
        return Worker(
            rank=rank,
            feedback=feedback,
            memory=self._empty(feedback),
            generator=random_stream(selection.seed, "self-paced selection", rank),
            selector=selection.selector,
            select=new_selector(selection.selector),
        )

    def _empty(self, feedback: Feedback) -> dict[str, Tensor]:
        return feedback.memory(self._feature_count, dtype=torch.float64, device=self._device)
