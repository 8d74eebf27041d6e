"""Is what arrived what was sent, and can its indices be? Found on the device of the buffers; nobody waits for it.

One pass over the words of each rank's buffer for its checksum, and one over its indices: in each selection they ascend
strictly within the parameters that it is from, so that no addition is lost and none falls elsewhere. Where selections
share a stretch of the exchange (one of all parameters of a density), that two of them hold one index is not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sparsync.experiments.hooks.packing import CHANGED, MISPLACED, Layout
from sparsync.experiments.hooks.side import placed


class Integrity:
    """What the buffers of an exchange are compared with.

    Args:
        layout: of the buffers.
        spans: of each selection, between which indices of the exchange its own are.
        device: of the buffers.
    """

    def __init__(self, layout: Layout, spans: Sequence[range], device: torch.device) -> None:
        self._layout = layout
        self.starts = [span.start for span in spans]
        self._capacities = placed(layout.capacities, device=device)
        # That the total is given saves waiting for the device.
        self._selection = torch.arange(len(spans), device=device).repeat_interleave(
            self._capacities, output_size=layout.capacity
        )
        self._first = self._capacities.cumsum(0) - self._capacities
        place = torch.arange(layout.capacity, device=device) - self._first[self._selection]
        self._place = place.to(torch.int32)
        self._lowest = placed(self.starts, device=device)
        self._end = placed([span.stop for span in spans], device=device)

    def faults(self, buffers: Tensor) -> Tensor:
        """`CHANGED`, `MISPLACED`, both or 0 of each of buffers [ranks, words], [ranks] int32."""
        _, indices, counts = self._layout.places(buffers)
        changed = self._layout.are_intact(buffers).logical_not().int() * CHANGED
        return changed + self._are_misplaced(indices, counts).int() * MISPLACED

    def _are_misplaced(self, indices: Tensor, counts: Tensor) -> Tensor:
        """Of indices [ranks, capacity] and counts [ranks, selections], [ranks] bool."""
        wrong = ((counts < 0) | (counts > self._capacities)).any(1)
        if not self._layout.capacity:
            return wrong
        # Where they ascend, all lie between the first and the last.
        last = self._first + (counts - 1).clamp(0).minimum(self._capacities - 1)
        outside = (indices.gather(1, self._within(self._first.expand_as(counts))) < self._lowest) | (
            indices.gather(1, self._within(last)) >= self._end
        )
        falls = indices[:, 1:] <= indices[:, :-1]
        # Each but the first of a selection follows one of its own; with one selection there is nothing to look up.
        limits = counts if counts.shape[1] == 1 else counts[:, self._selection[1:]]
        falls &= self._place[1:] < limits
        falls &= self._place[1:] > 0
        return wrong | ((counts > 0) & outside).any(1) | falls.any(1)

    def _within(self, places: Tensor) -> Tensor:
        """Places that are some, for selections without any."""
        return places.clamp(0, self._layout.capacity - 1)
