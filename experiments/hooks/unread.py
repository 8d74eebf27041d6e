"""The road of an exchange on a GPU, where the host does not look at what a step finds before the next one begins.

Flags, the sum over the ranks and the marks of what is refused or unused are tensors of the device, and gradients become
means, infinity or zero by them. What all ranks said is copied to the host meanwhile. Until that is read the step may
prove to have been none, so all memories are copied before. The bits are those of a CPU, which looks at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.feedbacks.feedback import Feedback, Memory
from sparsync.experiments.hooks.integrity import Integrity
from sparsync.experiments.hooks.packing import NON_FINITE, ZERO, Layout
from sparsync.experiments.hooks.pieces import Piece
from sparsync.experiments.hooks.side import Side, placed
from sparsync.experiments.hooks.watching import Passage


def flags_of(gradients: Sequence[Tensor]) -> Tensor:
    """`NON_FINITE`, `ZERO` or neither of each gradient, [gradients] int32 on their device."""
    # The largest magnitude of a vector with NaN is NaN.
    largest = torch.stack(torch._foreach_norm(list(gradients), torch.inf))
    return ((largest == 0).int() * ZERO).masked_fill(largest.isfinite().logical_not(), NON_FINITE)


def refusing_all(flags: Tensor, *, where: Tensor | None = None) -> Tensor:
    """The flags; all `NON_FINITE` where none of them is: gradients are finite, and their sums with residuals are not.

    Args:
        flags: [pieces] int32.
        where: [] bool, whether a sum is not; None if that is known.
    """
    are_finite = (flags & NON_FINITE).any().logical_not()
    return flags.masked_fill(are_finite if where is None else are_finite & where, NON_FINITE)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the buffers of all ranks mean, on the device.

    Args:
        refused: [] bool, whether a gradient is not finite on some rank, or a buffer is not to be believed.
        unused: [pieces] bool, whether it is zero on all.
        faults: of each rank's buffer, see `Integrity.faults`.
    """

    refused: Tensor
    unused: Tensor
    faults: Tensor


class Before:
    """Memories as they were before a step.

    Args:
        memories: of the exchange.
        feedback: their variant.
    """

    def __init__(self, memories: Sequence[Memory], feedback: Feedback) -> None:
        self._memories, self._is_changed_in_place = memories, feedback.fusion is not None
        self._vectors: list[Memory] = []

    def take(self) -> None:
        """From now on it is this step."""
        if not self._is_changed_in_place:
            self._vectors = [dict(memory) for memory in self._memories]
            return
        if not self._vectors:
            self._vectors = [{name: torch.empty_like(v) for name, v in memory.items()} for memory in self._memories]
        self._copy(self._memories, self._vectors)

    def put_back(self, places: Sequence[int]) -> None:
        """Memories at these places are again what they were."""
        here, there = [self._memories[place] for place in places], [self._vectors[place] for place in places]
        if self._is_changed_in_place:
            self._copy(there, here)
            return
        for memory, before in zip(here, there, strict=True):
            memory.update(before)

    @staticmethod
    def _copy(given: Sequence[Memory], taking: Sequence[Memory]) -> None:
        vectors = [vector for memory in given for vector in memory.values()]
        if vectors:
            places = [to[name] for to, memory in zip(taking, given, strict=True) for name in memory]
            torch._foreach_copy_(places, vectors)


class Unread:
    """What an exchange has found and nobody has read.

    Args:
        pieces: of the exchange.
        packed: those that travel in the buffer.
        layout: of the buffer.
        integrity: of the buffers.
        is_full: every selection always fills its places.
        feedback: of all memories.
        side: where it is found.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        packed: Sequence[Piece],
        *,
        layout: Layout,
        integrity: Integrity,
        is_full: bool,
        feedback: Feedback,
        side: Side,
    ) -> None:
        self._pieces, self._layout, self._side = pieces, layout, side
        self._remembering = [place for place, piece in enumerate(pieces) if piece.memory is not None]
        self._before = Before([piece.memory for piece in pieces if piece.memory is not None], feedback)
        device = pieces[0].gradient.device
        self._column = {id(piece): column for column, piece in enumerate(pieces)}
        self._columns = placed([self._column[id(piece)] for piece in packed], device=device)
        self._ends = placed([piece.gradient.numel() for piece in packed], device=device).cumsum(0)
        self._integrity = integrity
        self._padding = None if is_full else Padding(layout, integrity.starts, device)
        self._host: Tensor | None = None
        self._mark: Any = None
        self._passage: Passage | None = None
        self.step = 0
        """Of which it was found."""

    def remember(self) -> None:
        """Before memories change."""
        self._before.take()

    def verdict(self, gathered: Tensor) -> Verdict:
        """What the buffers of all ranks [ranks, words] say together."""
        flags, faults = self._layout.flags_in(gathered), self._integrity.faults(gathered)
        refused = (flags & NON_FINITE).any() | faults.any() | self._layout.are_alike(gathered).logical_not()
        return Verdict(refused, (flags & ZERO).bool().all(0), faults)

    def unused(self, verdict: Verdict, piece: Piece) -> Tensor:
        """Whether this piece is, [] bool."""
        return verdict.unused[self._column[id(piece)]]

    def average(self, gathered: Tensor, verdict: Verdict, total: Tensor, size: Tensor) -> None:
        """Form the mean of all ranks' entries in `total` [d], added one rank after the other.

        It is infinity everywhere where something is refused, and zero in unused pieces.

        Args:
            gathered: [ranks, words] int32.
            verdict: what it says.
            total: of at least one packed piece.
            size: [], P in the dtype of `total`.
        """
        total.copy_(total.new_zeros(()).masked_fill_(verdict.refused, torch.inf))
        values, indices, counts = self._layout.places(gathered)
        # Whatever arrives, nothing is written elsewhere.
        indices = indices.long().clamp_(0, len(total) - 1)
        if self._padding is not None:
            values, indices = self._padding.replaced(values, indices, counts)
        piece = torch.bucketize(indices, self._ends, right=True)
        is_silent = verdict.refused | verdict.unused[self._columns][piece]
        for own_values, own_indices in zip(values.masked_fill(is_silent, 0), indices, strict=True):
            # No atomic addition, which makes zeros of subnormal numbers: where indices are equal, so are the sums.
            total.index_copy_(0, own_indices, total.index_select(0, own_indices).add_(own_values))
        # Divided by a tensor, for a device multiplies by the inverse of a number.
        if indices.numel() < len(total) // 4:
            everywhere = indices.flatten()
            total.index_copy_(0, everywhere, total.index_select(0, everywhere).div_(size))
        else:
            total.div_(size)

    def note(self, gathered: Tensor, verdict: Verdict, step: int, passage: Passage | None = None) -> None:
        """Copy what all ranks say to the host, which reads it later, and tells the passage."""
        said = torch.cat([self._layout.heads(gathered), verdict.faults.unsqueeze(1)], dim=1)
        if self._host is None:
            self._host = self._side.room(said.shape)
        self._host.copy_(said, non_blocking=True)
        self._mark, self._passage, self.step = self._side.mark(), passage, step

    def read(self) -> list[tuple[str, int]]:
        """Names of parameters whose gradient is not finite, with ranks; waits until they are known.

        Where there are none, memories of unused parameters are what they were before.

        Raises:
            ExchangeError: a rank's buffer was of another step, was none, or is not to be believed.
        """
        assert self._host is not None
        if self._mark is not None:
            self._mark.synchronize()
        flags = self._layout.flags(self._host[:, :-1], self._host[:, -1], self.step)
        refused = [
            (piece.name, rank)
            for place, piece in enumerate(self._pieces)
            for rank, its_flags in enumerate(flags)
            if its_flags[place] & NON_FINITE
        ]
        if not refused:
            unused = [all(its_flags[place] & ZERO for its_flags in flags) for place in self._remembering]
            self._put_back([place for place, is_unused in enumerate(unused) if is_unused])
        return refused

    def put_back(self) -> None:
        """All memories are what they were before."""
        self._put_back(range(len(self._remembering)))

    def _put_back(self, places: Sequence[int]) -> None:
        self._before.put_back(places)
        if self._passage is not None:
            self._passage.dropped = frozenset(self._pieces[self._remembering[place]].name for place in places)


def read_all(found: Sequence[Unread]) -> list[tuple[str, int]]:
    """What the exchanges of a step found, as `Unread.read` says; if that is anything, all memories are what they were.

    Raises:
        ExchangeError: see `Unread.read`; all memories are what they were then too.
    """
    try:
        refused = [one for unread in found for one in unread.read()]
    except ExchangeError:
        _put_all_back(found)
        raise
    if refused:
        _put_all_back(found)
    return refused


def _put_all_back(found: Sequence[Unread]) -> None:
    for unread in found:
        unread.put_back()


class Padding:
    """Where selections may return fewer entries than they have places, each place that is left repeats the first entry.

    So all that is written to one place of the sum is the same.

    Args:
        layout: of the buffer.
        starts: where each selection's first entry may lie in the exchange, at least.
        device: of the buffer.
    """

    def __init__(self, layout: Layout, starts: Sequence[int], device: torch.device) -> None:
        total = layout.capacity
        capacities = placed(layout.capacities, device=device)
        # That the total is given saves waiting for the device.
        self._selection = torch.arange(len(capacities), device=device).repeat_interleave(capacities, output_size=total)
        self._place = torch.arange(total, device=device)
        self._first = (capacities.cumsum(0) - capacities)[self._selection]
        self._start = placed(starts, device=device)[self._selection]

    def replaced(self, values: Tensor, indices: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Values and indices [ranks, capacity] without padding; a selection without an entry has zeros at its start."""
        is_empty = self._place - self._first >= counts[:, self._selection]
        values, indices = values.masked_fill(is_empty, 0), torch.where(is_empty, self._start, indices)
        source = torch.where(is_empty, self._first, self._place)
        return values.gather(1, source), indices.gather(1, source)
