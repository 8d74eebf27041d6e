"""Residuals in a `torch.distributed.checkpoint`: each rank writes its own, and any number of ranks can go on.

    dcp.save({"model": …, "error_feedback": sharded(state)}, checkpoint_id=folder)
    load(state, folder)

A parameter's residuals are one tensor [ranks, *shape], of which each rank has a row.
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

from sparsync.experiments.hooks.residuals import Missing, resized_by_mean
from sparsync.experiments.training.collectives import begin_all_reduce

KEY = "error_feedback"


class Remembering(Protocol):
    """A state of a hook."""

    process_group: dist.ProcessGroup | None

    def state_dict(self) -> dict[str, Any]:
        """This rank's residuals and step."""
        ...

    def load_state_dict(self, saved: Mapping[str, Any], *, missing: Missing = "error") -> None:
        """Go on from them."""
        ...


def sharded(state: Remembering) -> dict[str, Any]:
    """What `dcp.save` takes: the step, and residuals of all ranks, of which this process holds its own.

    Every rank calls this, between two steps.
    """
    saved = state.state_dict()
    mesh = _mesh(state)
    residuals = {
        name: DTensor.from_local(residual.unsqueeze(0), mesh, [Shard(0)], run_check=False)
        for name, residual in saved["residuals"].items()
    }
    return {"step": torch.tensor(saved["step"]), "residuals": residuals}


def load(state: Remembering, folder: Path | str, *, key: str = KEY, missing: Missing = "error") -> None:
    """Go on from what was saved under a key, with as many ranks or with others; every rank calls this.

    With as many ranks each gets its own residuals, bit for bit. Otherwise what the mean owes stays: see
    `sparsync.experiments.hooks.residuals.resized`.

    Args:
        state: of the hook.
        folder: of the checkpoint.
        key: under which `sharded` stood in what was saved.
        missing: as in `ErrorFeedbackState.load_state_dict`.

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
    mesh, rank, size = _mesh(state), dist.get_rank(state.process_group), dist.get_world_size(state.process_group)
    wanted: dict[str, Any] = {"step": torch.tensor(0), "residuals": {n: _rows(f, mesh) for n, f in sizes.items()}}
    load_checkpoint({key: wanted}, storage_reader=reader, process_group=state.process_group)
    residuals = {}
    for name, rows in wanted["residuals"].items():
        local = rows.to_local()
        residuals[name] = local[0] if rows.shape[0] == size else _resized(local, rows.shape[0], rank, size, state)
    found = {"step": int(wanted["step"]), "rank": rank, "world_size": size, "residuals": residuals}
    state.load_state_dict(found, missing=missing)


def _mesh(state: Remembering) -> DeviceMesh:
    group = state.process_group or dist.group.WORLD
    assert group is not None
    return DeviceMesh.from_group(group, "cuda" if dist.get_backend(group) == "nccl" else "cpu")


def _rows(found: TensorStorageMetadata, mesh: DeviceMesh) -> DTensor:
    """Room for this rank's share of the rows; where there are more ranks than rows, some have none."""
    count, size = found.size[0], mesh.size()
    share = -(-count // size)
    mine = max(0, min(share, count - mesh.get_rank() * share))
    local = torch.empty((mine, *found.size[1:]), dtype=found.properties.dtype, device=mesh.device_type)
    return DTensor.from_local(
        local, mesh, [Shard(0)], run_check=False, shape=found.size, stride=_contiguous_stride(found.size)
    )


def _contiguous_stride(size: torch.Size) -> tuple[int, ...]:
    return torch.empty(size, device="meta").stride()


def _resized(local: Tensor, count: int, rank: int, size: int, state: Remembering) -> Tensor:
    total = local.double().sum(0)
    begin_all_reduce(total, state.process_group).wait()
    mean, first = resized_by_mean(total.div_(count), local.dtype, size)
    return mean if rank else first
