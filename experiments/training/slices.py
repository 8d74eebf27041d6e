"""Several workers in each process, in turn: a run has the same bits on any number of processes.

Each worker keeps its rank, its residual, its random stream and its share of the data, wherever it lives, and whatever
is added is added in the order of ranks. So the parameters do not depend on how many processes there are. That training
must not depend on the machines it is given is the promise of EasyScale (Li et al. 2022, arXiv 2208.14228); how it is
kept here is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.dense import gathered_vectors, gathered_vectors_mean
from sparsync.experiments.averaging.envelope import gathered_floats
from sparsync.experiments.averaging.link import Link
from sparsync.experiments.averaging.messages import (
    AllGather,
    Answer,
    Average,
    Conversation,
    Message,
    Place,
    Swap,
    carried,
)
from sparsync.experiments.averaging.registry import procedure, require_collective
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call, require_timeout
from sparsync.experiments.training.averager import Gathered, VectorAverager, require_rows
from sparsync.experiments.training.collectives import answer, gathered
from sparsync.kernels.payload import SparsePayload


def shares(worker_count: int, process_count: int) -> list[range]:
    """The ranks of the workers in each process: neighbours, the first processes with one more where it does not divide.

    Raises:
        ValueError: fewer workers than processes.
    """
    if worker_count < process_count:
        raise ValueError(f"{worker_count} workers are fewer than the {process_count} processes started")
    size, more = divmod(worker_count, process_count)
    ends = list(accumulate(size + (process < more) for process in range(process_count)))
    return [range(first, end) for first, end in zip([0, *ends], ends, strict=False)]


class SlicedAverager(VectorAverager):
    """The workers of this process, which meet all others as if each had a process of its own.

    Dense vectors are gathered and added in rank order. Bytes are those that as many processes as workers would send.

    Args:
        collective: key of `COLLECTIVES`, the same on all processes.
        worker_count: over all processes.
        node_size: how many neighbours in rank share a node; "hierarchical" knows of nodes.
        link: by which "auto" chooses, the same on all processes; None is measured at the first call of `average`.
        device: where gathered numbers live, the GPU for NCCL; payloads stay where they are.
        group: None is the default one.
        timeout_seconds: how long a process waits for the others in one operation, of which a call has a few.

    Raises:
        ValueError: `collective` is unknown, `node_size` or `timeout_seconds` is not positive, or see `shares`.
    """

    def __init__(
        self,
        collective: str,
        *,
        worker_count: int,
        node_size: int = 1,
        link: Link | None = None,
        device: torch.device | str = "cpu",
        group: dist.ProcessGroup | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        require_collective(collective, node_size)
        require_timeout(timeout_seconds)
        self._shares = shares(worker_count, dist.get_world_size(group))
        self._own = self._shares[dist.get_rank(group)]
        self._collective, self._device = collective, torch.device(device)
        self._group, self._timeout_seconds = group, timeout_seconds
        self._notes: list[dict[str, Tensor]] = [{} for _ in self._own]
        self._places = [
            Place(rank, worker_count, rank_order=True, node_size=node_size, link=link, notes=notes)
            for rank, notes in zip(self._own, self._notes, strict=True)
        ]
        self._procedures = [procedure(collective, place) for place in self._places]
        self._step = 0

    knows_count = True

    def gather_rows(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        """A row of each local worker in, that of every worker out.

        Raises:
            ValueError: not as many as there are local workers, or not one to three numbers in one.
            ExchangeError: on every process alike, see `GroupAverager`.
        """
        require_rows(rows, len(self._own))
        step = self._begin()
        return self._carried("gather", step, [gathered_floats(row, step, self._device) for row in rows])

    def average(self, payloads: Sequence[SparsePayload]) -> Average:
        """A payload of each local worker in, the mean over all workers out.

        Raises:
            ValueError: not as many as there are local workers.
            ExchangeError: on every process alike, see `GroupAverager`.
        """
        self._require_one_each(payloads)
        step = self._begin()
        said = [say(payload, step) for say, payload in zip(self._procedures, payloads, strict=True)]
        return self._carried(self._collective, step, said)

    def mean(self, vectors: Sequence[Tensor]) -> Tensor:
        """A vector of each local worker in, the mean over all workers out.

        Raises:
            ValueError: not as many as there are local workers.
            ExchangeError: on every process alike, see `GroupAverager`.
        """
        self._require_one_each(vectors)
        step = self._begin()
        said = [gathered_vectors_mean(vector, step, place) for vector, place in zip(vectors, self._places, strict=True)]
        return self._carried("mean", step, said)

    def gather_vectors(self, vectors: Sequence[Tensor]) -> Gathered:
        """A vector of each local worker in, those of all workers out.

        Raises:
            ValueError: not as many as there are local workers.
            ExchangeError: on every process alike, see `GroupAverager`.
        """
        self._require_one_each(vectors)
        step = self._begin()
        said = [gathered_vectors(vector, step, place) for vector, place in zip(vectors, self._places, strict=True)]
        return gathered(self._carried("vectors", step, said))

    def state(self) -> dict[str, Tensor]:
        """The notes of the collective, see `Place`."""
        return dict(self._notes[0])

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on with those notes."""
        for notes in self._notes:
            notes.clear()
            notes.update(state)

    def _require_one_each(self, given: Sequence[object]) -> None:
        if len(given) != len(self._own):
            raise ValueError(f"expected one for each of {len(self._own)} local workers, got {len(given)}")

    def _begin(self) -> int:
        step, self._step = self._step, self._step + 1
        return step

    def _carried(self, kind: str, step: int, conversations: Sequence[Conversation[Answer]]) -> Answer:
        """Carry the conversations of all local workers; what the first of them returns, as the others would."""
        call = Call(f"{kind}, step {step}", self._group, self._timeout_seconds)
        return carried(conversations, lambda messages: self._answers(messages, call))

    def _answers(self, messages: Sequence[Message], call: Call) -> list[list[Tensor]]:
        gathered = [message.mine for message in messages if isinstance(message, AllGather)]
        swaps = [message for message in messages if isinstance(message, Swap)]
        # In rank order nothing is all-reduced.
        assert len(messages) in (len(gathered), len(swaps)), "workers that do not say the same"
        return self._swapped(swaps, call) if swaps else [self._gathered(gathered, call)] * len(gathered)

    def _gathered(self, vectors: Sequence[Tensor], call: Call) -> list[Tensor]:
        """What all workers gave, in rank order; processes with fewer workers fill up."""
        missing = len(self._shares[0]) - len(vectors)
        mine = torch.stack([*vectors, *[vectors[0]] * missing]).flatten()
        received = answer(AllGather(mine), call)
        rows = [message.view(-1, vectors[0].numel()) for message in received]
        return [row for share, some in zip(self._shares, rows, strict=True) for row in some[: len(share)]]

    def _swapped(self, swaps: Sequence[Swap], call: Call) -> list[list[Tensor]]:
        """What each local worker expects; all that goes from one process to another is one message."""
        by_rank = dict(zip(self._own, swaps, strict=True))
        device = swaps[0].device
        nothing = torch.empty(0, dtype=torch.uint8, device=device)
        others = {process: share for process, share in enumerate(self._shares) if share != self._own}
        parts = {
            process: torch.cat([swap.parts.get(rank, nothing) for swap in swaps for rank in share])
            for process, share in others.items()
        }
        sizes = {
            process: [by_rank[own].expected.get(rank, 0) for rank in share for own in self._own]
            for process, share in others.items()
        }
        received = answer(Swap(parts, {process: sum(counts) for process, counts in sizes.items()}, device), call)
        found: dict[tuple[int, int], Tensor] = {
            (sender, own): by_rank[sender].parts.get(own, nothing) for sender in self._own for own in self._own
        }
        for (process, counts), message in zip(sizes.items(), received, strict=True):
            pairs = [(rank, own) for rank in others[process] for own in self._own]
            found |= dict(zip(pairs, message.split(counts), strict=True))
        return [[found[sender, own] for sender in by_rank[own].expected] for own in self._own]
