"""What do those hold who hold the shared model? The model, and the messages that are not applied yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from sparsync.experiments.engine.layout import WEIGHT_GRID, Layout, Shipment
from sparsync.verify.monitors.trace import Mass


class SharedModel:
    """The shared model of one run, and its mail.

    Args:
        initial: [d], which all start from.
        layout: of the model.
    """

    def __init__(self, initial: Tensor, layout: Layout) -> None:
        self.layout = layout
        self.model = layout.rounded(initial.clone())
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
        for message, weight in zip(messages, weights, strict=True):
            if self.layout.is_on_grid and (weight / WEIGHT_GRID) % 1:
                raise ValueError(f"grid mode needs weights that are multiples of 2^-10, got {weight}")
            self._shipments.pop(message).add_to(self.model, weight)
            del self._senders[message]
        return self.sketch

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
