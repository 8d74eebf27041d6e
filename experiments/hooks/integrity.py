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
        places = torch.arange(layout.capacity, device=device)
        # That the total is given saves waiting for the device.
        self._selection = torch.arange(len(spans), device=device).repeat_interleave(
            self._capacities, output_size=layout.capacity
        )
        self._place = places - (self._capacities.cumsum(0) - self._capacities)[self._selection]
        self._lowest = placed(self.starts, device=device)[self._selection]
        self._end = placed([span.stop for span in spans], device=device)[self._selection]

    def faults(self, buffers: Tensor) -> Tensor:
        """`CHANGED`, `MISPLACED`, both or 0 of each of buffers [ranks, words], [ranks] int32."""
        _, indices, counts = self._layout.places(buffers)
        changed = self._layout.are_intact(buffers).logical_not().int() * CHANGED
        return changed + self._are_misplaced(indices, counts).int() * MISPLACED

    def _are_misplaced(self, indices: Tensor, counts: Tensor) -> Tensor:
        """Of indices [ranks, capacity] and counts [ranks, selections], [ranks] bool."""
        impossible = ((counts < 0) | (counts > self._capacities)).any(1)
        wrong = (indices < self._lowest) | (indices >= self._end)
        wrong[:, 1:] |= (indices[:, 1:] <= indices[:, :-1]) & (self._place[1:] > 0)
        return (wrong & (self._place < counts[:, self._selection])).any(1) | impossible
