"""A server that dies is begun anew where it was kept last: its trace, the shared model, and what had arrived.

Of the policy nothing is stored. A fresh one lives through the trace, and so comes to be where the first one was. Who
was at work then has ended with the server: each has crashed, with what it had not sent, and comes back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from sparsync.experiments.checkpoints.folder import Checkpoint, Folder, differences
from sparsync.experiments.checkpoints.together import Processes
from sparsync.experiments.engine.layout import Layout, Shipment
from sparsync.experiments.engine.real.orders import OrderingEngine
from sparsync.verify.monitors.files import Recording, stored_trace, write_trace
from sparsync.verify.monitors.trace import Event

KEPT_COUNT = 2
TRACE_NAME = "trace.jsonl"


@dataclass(frozen=True)
class Kept:
    """What a server goes on from.

    Args:
        events: of the run until then.
        until: in its seconds.
        model: the shared one [d].
        arrived: messages that were there and not settled, by number.
    """

    events: list[Event]
    until: float
    model: Tensor
    arrived: dict[int, Shipment]


class ServerKeeper:
    """Keeps a server's state, and finds it again.

    Args:
        path: a folder of this run and no other.
        every_seconds: from one keeping to the next, at least.
        settings: of the run, as JSON holds them; it goes on with the same or not at all.
    """

    def __init__(self, path: Path, *, every_seconds: float, settings: Mapping[str, Any]) -> None:
        self._folder = Folder(path, KEPT_COUNT)
        self._every_seconds, self._settings = every_seconds, dict(settings)
        self._kept_at = time.monotonic()

    def find(self, layout: Layout) -> Kept | None:
        """What was kept last and is whole; None if nothing was.

        Raises:
            ValueError: all that is there is damaged, or of another run: what differs is named.
        """
        self._folder.remove_leftovers()
        damages = []
        for checkpoint in self._folder.checkpoints():
            damage = checkpoint.damage()
            if damage:
                damages.append(damage)
                continue
            unlike = differences(checkpoint.manifest()["settings"], self._settings)
            if unlike:
                raise ValueError(f"{checkpoint.path} is of another run: {'; '.join(unlike)}")
            return _read(checkpoint, layout)
        if damages:
            raise ValueError(f"no checkpoint is whole: {'; '.join(damages)}")
        return None

    def look(self, engine: OrderingEngine, recording: Recording) -> None:
        """Keep the state, if it is time and nothing of the trace is open."""
        if time.monotonic() - self._kept_at >= self._every_seconds and engine.is_clear:
            self.keep(engine, recording)

    def keep(self, engine: OrderingEngine, recording: Recording) -> None:
        """Keep the state, of which nothing of the trace may be open.

        Raises:
            OSError: it cannot be written.
        """
        step = len(engine.trace)
        writing = self._folder.begin(step)
        write_trace(writing / TRACE_NAME, recording, engine.trace, engine.view.now)
        tensors = {"model": engine.shared.model}
        for uid, shipment in engine.shared.shipments().items():
            tensors[f"values {uid}"] = shipment.values
            if shipment.places is not None:
                tensors[f"places {uid}"] = shipment.places
        self._folder.write(step, tensors, Processes())
        whole = [uid for uid, shipment in engine.shared.shipments().items() if shipment.places is None]
        self._folder.finish(
            step, {"settings": self._settings, "arrived": sorted(engine.shared.shipments()), "whole": sorted(whole)}
        )
        self._kept_at = time.monotonic()


def _read(checkpoint: Checkpoint, layout: Layout) -> Kept:
    manifest = checkpoint.manifest()
    with stored_trace(checkpoint.path / TRACE_NAME) as trace:
        events, until = list(trace.events), trace.until
    arrived, whole = manifest["arrived"], set(manifest["whole"])
    names = ["model", *(f"values {uid}" for uid in arrived), *(f"places {uid}" for uid in arrived if uid not in whole)]
    tensors = checkpoint.read(names)
    found = tuple(tensors["model"].shape)
    if found != (layout.dimension,):
        raise ValueError(f"{checkpoint.path} holds a model of {found}, not ({layout.dimension},)")
    shipments = {uid: Shipment(tensors.get(f"places {uid}"), tensors[f"values {uid}"]) for uid in arrived}
    return Kept(events, until, tensors["model"], shipments)
