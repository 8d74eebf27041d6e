"""The states of an outer step for another number of ranks, and in a `torch.distributed.checkpoint`.

    dcp.save({"model": …, "outer_step": sharded(outer)}, checkpoint_id=folder)
    load(outer, folder)

Right after an outer step all ranks have one model, and then their number may change. Between two of them each has a
model of its own, which is none of this state.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load as load_checkpoint

from sparsync.experiments.hooks import checkpoint, residuals
from sparsync.experiments.hooks.residuals import Foreign, Missing
from sparsync.experiments.local import OuterStep

KEY = "outer_step"
_COMMON = ("world_size", "inner_steps", "step", "anchor", "outer")


def resized(states: Sequence[Mapping[str, Any]], world_size: int) -> list[dict[str, Any]]:
    """The states of all ranks right after an outer step, for another number of ranks: the mean owes what it owed.

    θ and the outer optimiser's state are alike on all ranks; residuals are carried as
    `sparsync.experiments.hooks.residuals.resized` does it, with its bound. The model of every new rank is θ.

    Args:
        states: as `OuterStep.state_dict` returns them, of every rank of one step.
        world_size: P′.

    Raises:
        ValueError: the states are not those of all ranks, each once, of one step and one θ; or that step lies between
            two outer steps.
    """
    for state in states:
        _require_exchanged(state)
    carried = residuals.resized(states, world_size)
    anchors = [state["anchor"] for state in states]
    for name, first in anchors[0].items():
        if not all(name in anchor and torch.equal(anchor[name], first) for anchor in anchors):
            raise ValueError(f"the states have other values of θ at {name!r}")
    return carried


def sharded(outer: OuterStep) -> dict[str, Any]:
    """What `dcp.save` takes: residuals of all ranks, of which this process holds its own, and what is alike on all.

    Every rank calls this. Between two outer steps, save the model under a key of its rank's own: of what stands under
    one key on several ranks, only one rank's is written.
    """
    saved = outer.state_dict()
    file = io.BytesIO()
    torch.save({name: saved[name] for name in _COMMON}, file)
    packed = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
    return {**checkpoint.sharded(_Residuals(outer)), "common": packed}


def load(outer: OuterStep, folder: Path | str, *, key: str = KEY) -> None:
    """Go on from what was saved under a key, with as many ranks or with others; every rank calls this.

    With as many ranks each gets its own residuals, bit for bit. Otherwise see `resized`.

    Raises:
        ValueError: nothing was saved under the key; it was saved between two outer steps by another number of ranks; or
            see `OuterStep.load_state_dict`. Nothing has changed then.
    """
    reader = FileSystemReader(folder)
    found = reader.read_metadata().state_dict_metadata.get(f"{key}.common")
    if not isinstance(found, TensorStorageMetadata):
        raise ValueError(f"{folder} holds no outer step under {key!r}")
    packed = torch.empty(found.size, dtype=torch.uint8)
    load_checkpoint({key: {"common": packed}}, storage_reader=reader, process_group=outer.process_group)
    common = torch.load(io.BytesIO(packed.numpy().tobytes()), weights_only=True, map_location="cpu")
    if common["world_size"] != dist.get_world_size(outer.process_group):
        _require_exchanged(common)
    taken = _Residuals(outer)
    checkpoint.load(taken, folder, key=key)
    outer.load_state_dict({**common, **taken.loaded})


class _Residuals:
    """An outer step as the state of a hook, as `sparsync.experiments.hooks.checkpoint` takes it; `loaded` is kept."""

    shards: None = None

    def __init__(self, outer: OuterStep) -> None:
        self._outer = outer
        self.loaded: dict[str, Any] = {}

    @property
    def process_group(self) -> dist.ProcessGroup | None:
        return self._outer.process_group

    @property
    def timeout_seconds(self) -> float:
        return self._outer.timeout_seconds

    def place(self) -> dict[str, int]:
        group = self.process_group
        return {"rank": dist.get_rank(group), "world_size": dist.get_world_size(group)}

    def state_dict(self) -> dict[str, Any]:
        saved = self._outer.state_dict()
        return {**self.place(), "step": saved["step"], "residuals": saved["residuals"]}

    def load_state_dict(
        self, saved: Mapping[str, Any], *, missing: Missing = "error", foreign: Foreign = "error"
    ) -> None:
        assert missing == foreign == "error"
        self.loaded = dict(saved)


def _require_exchanged(state: Mapping[str, Any]) -> None:
    if state["step"] % state["inner_steps"]:
        raise ValueError(
            f"step {state['step']} lies between two outer steps, with {state['inner_steps']} inner steps each: every "
            "rank has changed its model, and another number of ranks would lose that; save right after an outer step"
        )
