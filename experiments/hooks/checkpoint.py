"""Residuals in a `torch.distributed.checkpoint`: each rank writes its own, and any number of ranks can go on.

    dcp.save({"model": …, "error_feedback": sharded(state)}, checkpoint_id=folder)
    load(state, folder)

A parameter's residuals are one tensor [ranks, *shape], of which each rank has a row; where parameters are sharded, a
row is that of a replica, and each of its ranks has the shard of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load as load_checkpoint
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor import empty as empty_distributed

from sparsync.experiments.hooks.residuals import Foreign, Missing, resized_by_mean
from sparsync.experiments.hooks.sharding import Shards
from sparsync.experiments.training.arrivals import Call
from sparsync.experiments.training.collectives import add_over_ranks

KEY = "error_feedback"


class Remembering(Protocol):
    """A state of a hook."""

    @property
    def process_group(self) -> dist.ProcessGroup | None:
        """The ranks that exchange; None is the default one."""
        ...

    @property
    def shards(self) -> Shards | None:
        """How this rank's part is one of whole parameters; None where it has them whole."""
        ...

    @property
    def timeout_seconds(self) -> float:
        """How long ranks wait for each other in an exchange."""
        ...

    def place(self) -> dict[str, int]:
        """Which rank this is, of how many."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """This rank's residuals and step."""
        ...

    def load_state_dict(
        self, saved: Mapping[str, Any], *, missing: Missing = "error", foreign: Foreign = "error"
    ) -> None:
        """Go on from them."""
        ...


def sharded(state: Remembering) -> dict[str, Any]:
    """What `dcp.save` takes: the step, and residuals of all ranks, of which this process holds its own.

    Every rank calls this, between two steps.
    """
    saved = state.state_dict()
    mesh, residuals = _mesh(state), {}
    for name, residual in saved["residuals"].items():
        shape = torch.Size([mesh.size(0), *(residual.shape if state.shards is None else state.shards.shapes[name])])
        stride = torch.empty(shape, device="meta").stride()
        residuals[name] = DTensor.from_local(
            residual.unsqueeze(0), mesh, _placements(state, name), run_check=False, shape=shape, stride=stride
        )
    return {"step": torch.tensor(saved["step"]), "residuals": residuals}


def load(
    state: Remembering,
    folder: Path | str,
    *,
    key: str = KEY,
    missing: Missing = "error",
    foreign: Foreign = "error",
) -> None:
    """Go on from what was saved under a key, with as many ranks or with others; every rank calls this.

    With as many ranks each gets its own residuals, bit for bit. Otherwise what the mean owes stays: see
    `sparsync.experiments.hooks.residuals.resized`.

    Args:
        state: of the hook.
        folder: of the checkpoint.
        key: under which `sharded` stood in what was saved.
        missing: as in `ErrorFeedbackState.load_state_dict`.
        foreign: likewise.

    Raises:
        ValueError: nothing was saved under the key, or see `ErrorFeedbackState.load_state_dict`.
    """
    reader = FileSystemReader(folder)
    metadata = reader.read_metadata().state_dict_metadata
    prefix = f"{key}.residuals."
    sizes = {
        name.removeprefix(prefix): found
        for name, found in metadata.items()
        if name.startswith(prefix) and isinstance(found, TensorStorageMetadata)
    }
    if f"{key}.step" not in metadata:
        raise ValueError(f"{folder} holds nothing under {key!r}")
    rank, size = dist.get_rank(state.process_group), dist.get_world_size(state.process_group)
    if state.shards is not None:
        if foreign == "drop":
            sizes = {name: found for name, found in sizes.items() if name in state.shards.shapes}
        _require_shapes(state.shards, sizes)
    mesh = _mesh(state)
    rows = {name: _rows(found, mesh, _placements(state, name)) for name, found in sizes.items()}
    wanted: dict[str, Any] = {"step": torch.tensor(0), "residuals": rows}
    load_checkpoint({key: wanted}, storage_reader=reader, process_group=state.process_group)
    residuals = {}
    for name, found in wanted["residuals"].items():
        local, count = found.to_local(), found.shape[0]
        residuals[name] = local[0] if count == size else _resized(local, count, rank, size, state)
    saved = {**state.place(), "step": int(wanted["step"]), "residuals": residuals}
    state.load_state_dict(saved, missing=missing, foreign=foreign)


def _mesh(state: Remembering) -> DeviceMesh:
    """Its first dimension is that of the ranks that exchange."""
    if state.shards is not None:
        return state.shards.mesh
    group = state.process_group or dist.group.WORLD
    assert group is not None
    return DeviceMesh.from_group(group, "cuda" if dist.get_backend(group) == "nccl" else "cpu")


def _placements(state: Remembering, name: str) -> list[Shard]:
    """Which dimension of [ranks, *shape] each dimension of the mesh shards."""
    return [Shard(0)] if state.shards is None else [Shard(0), Shard(1 + state.shards.dimensions[name])]


def _rows(found: TensorStorageMetadata, mesh: DeviceMesh, placements: list[Shard]) -> DTensor:
    """Room for this rank's share of the rows; where there are more ranks than rows, some have none."""
    return empty_distributed(found.size, dtype=found.properties.dtype, device_mesh=mesh, placements=placements)


def _require_shapes(shards: Shards, sizes: Mapping[str, TensorStorageMetadata]) -> None:
    for name, found in sizes.items():
        if name not in shards.shapes:
            raise ValueError(f"no parameter with a residual is called {name!r}")
        if found.size[1:] != shards.shapes[name]:
            raise ValueError(
                f"the residual of {name!r} was saved with shape {tuple(found.size[1:])}, the parameter has "
                f"{tuple(shards.shapes[name])}"
            )


def _resized(local: Tensor, count: int, rank: int, size: int, state: Remembering) -> Tensor:
    total = local.double().sum(0)
    title = "carrying residuals to another number of ranks"
    add_over_ranks(total, Call(title, state.process_group, state.timeout_seconds))
    mean, first = resized_by_mean(total.div_(count), local.dtype, size)
    return mean if rank else first
