"""What do those hold who hold the shared model? The model, and the messages that are not applied yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from sparsync.experiments.engine.layout import WEIGHT_GRID, Layout, Shipment
from sparsync.kernels.payload import SparsePayload
from sparsync.verify.monitors.trace import Mass

Download = Literal["dense", "sparse"]
_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Integers as long as a number of so many bytes, for zeros have two signs."""


class SharedModel:
    """The shared model of one run, and its mail.

    Args:
        initial: [d], which all start from.
        layout: of the model.
        download: who reads blocks gets them whole ("dense"), or what of them has changed since it read them ("sparse"),
            where that is shorter.

    Raises:
        ValueError: another download.
    """

    def __init__(self, initial: Tensor, layout: Layout, *, download: Download = "dense") -> None:
        if download not in ("dense", "sparse"):
            raise ValueError(f"download must be 'dense' or 'sparse', got {download!r}")
        self.layout = layout
        self.download: Download = download
        self.model = layout.rounded(initial.clone())
        self._version = 0
        self._changed = torch.zeros(layout.dimension, dtype=torch.int64) if download == "sparse" else None
        """of each entry [d], the version since which it has been as it is"""
        self._shipments: dict[int, Shipment] = {}
        self._senders: dict[int, int] = {}

    @property
    def sketch(self) -> Mass:
        """Of the model."""
        return self.layout.sketch(self.model)

    def keep(self, message: int, sender: int, shipment: Shipment) -> None:
        """A message that is to be applied or dropped."""
        self._shipments[message], self._senders[message] = shipment, sender

    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        """Shared model += Σ weight · message, in this order; the sketch of it afterwards.

        Raises:
            ValueError: on the grid, a weight that is no multiple of 2⁻¹⁰.
        """
        before = None if self._changed is None else self.model.clone()
        for message, weight in zip(messages, weights, strict=True):
            if self.layout.is_on_grid and (weight / WEIGHT_GRID) % 1:
                raise ValueError(f"grid mode needs weights that are multiples of 2^-10, got {weight}")
            self._shipments.pop(message).add_to(self.model, weight)
            del self._senders[message]
        self._version += 1
        self._note_changes(before)
        return self.sketch

    def go_on_from(self, model: Tensor, version: int) -> None:
        """Be this model [d] of that version; who has read any, has the initial one."""
        before = self.model.clone()
        self.model.copy_(model)
        self._version = version
        self._note_changes(before)

    def news(self, since: Mapping[int, int]) -> SparsePayload | None:
        """What of these blocks has changed since a version of each, in their order; None where they are read whole.

        With the entries as of that version in all other places these are the blocks, bit by bit.
        """
        if self._changed is None or not since:
            return None
        values, changed = self.layout.parts(self.model), self.layout.parts(self._changed)
        is_new = torch.cat([changed[block] > version for block, version in since.items()])
        indices = is_new.nonzero().flatten()
        return SparsePayload(torch.cat([values[block] for block in since])[indices], indices.int(), len(is_new))

    def _note_changes(self, before: Tensor | None) -> None:
        """Entries of other bits than before are of this version."""
        if self._changed is not None and before is not None:
            bits = _BITS[self.model.element_size()]
            self._changed[before.view(bits) != self.model.view(bits)] = self._version

    def drop(self, messages: Iterable[int]) -> None:
        """Forget messages."""
        for message in messages:
            del self._shipments[message], self._senders[message]

    def shipments(self) -> dict[int, Shipment]:
        """All messages that are here and not settled, by number."""
        return dict(self._shipments)

    def unapplied(self, worker: int) -> dict[int, Shipment]:
        """The worker's messages that are not applied, by number."""
        return {uid: self._shipments[uid] for uid, sender in self._senders.items() if sender == worker}
