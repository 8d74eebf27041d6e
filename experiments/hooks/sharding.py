"""What FSDP2 reduce-scatters as one vector: which parameter's shard lies where in it, and where there is only padding.

PyTorch keeps that to itself, so this is the one file that reads its private attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, Shard


@dataclass(frozen=True, eq=False)
class Shards:
    """How the shards of all ranks are whole parameters.

    Args:
        mesh: (replicate, shard).
        shapes: of whole parameters, or of what is remembered of them, by name.
        dimensions: which of its dimensions is sharded, by name.
    """

    mesh: DeviceMesh
    shapes: Mapping[str, torch.Size]
    dimensions: Mapping[str, int]

    def renamed(self, owners: Mapping[str, str]) -> Shards:
        """The same under other names, each given with the one that it has now."""
        shapes = {name: self.shapes[owner] for name, owner in owners.items()}
        return Shards(self.mesh, shapes, {name: self.dimensions[owner] for name, owner in owners.items()})


@dataclass(frozen=True, eq=False)
class ShardGroup:
    """The parameters of one call of `fully_shard`, whose gradients are reduce-scattered together.

    Args:
        name: of the module; the root has none.
        module: that was sharded.
        names: of its parameters that need a gradient, in the order of the vector.
    """

    name: str
    module: FSDPModule
    names: tuple[str, ...]

    def local(self) -> dict[str, Tensor]:
        """This rank's shard of each parameter, as it is now, by name."""
        return dict(zip(self.names, (_local(record.sharded_param) for record in _records(self.module)), strict=True))

    def parts(self, reduced: Tensor) -> dict[str, Tensor]:
        """The shard of each gradient, as a part of what was reduce-scattered, without padding.

        Args:
            reduced: what `set_all_reduce_hook` gives to its hook.

        Raises:
            ValueError: it holds other gradients than those of all parameters, or lies elsewhere, or is wider than they.
        """
        records = _records(self.module)
        sizes = [record.padded_sharded_param_size.numel() for record in records]
        if sum(sizes) != reduced.numel():
            raise ValueError(
                f"{self.title()}: gradients of {reduced.numel()} entries were reduce-scattered, its parameters have "
                f"{sum(sizes)}; where some are left out of a step, call set_reduce_scatter_unused_params(True)"
            )
        shards = self.local()
        for name, shard in shards.items():
            if shard.device != reduced.device:
                raise ValueError(f"{name!r} is on {shard.device}, its gradient on {reduced.device}: no offloading")
            if _wide(shard.dtype) != _wide(reduced.dtype):
                raise ValueError(f"gradients of {name!r}, which is {shard.dtype}, are reduced in {reduced.dtype}")
        starts = accumulate(sizes[:-1], initial=0)
        return {
            name: reduced[start : start + shard.numel()]
            for start, (name, shard) in zip(starts, shards.items(), strict=True)
        }

    def is_divided_later(self, dtype: torch.dtype) -> bool:
        """True iff FSDP2 may divide what the hook returns: of this dtype, or as sums are forced."""
        return dtype not in (torch.float32, torch.bfloat16) or bool(self._inner().force_sum_reduction_for_comms)

    def holds_back(self) -> bool:
        """True iff `set_requires_all_reduce(False)` was the last word."""
        return not self._inner().all_reduce_grads

    def require_free(self) -> None:
        """No hook is registered yet.

        Raises:
            ValueError: there is one.
        """
        if self._inner()._all_reduce_hook is not None:
            raise ValueError(f"{self.title()} has a hook already: a model takes one state")

    def title(self) -> str:
        """What messages call it."""
        return f"module {self.name!r}" if self.name else "the root module"

    def _inner(self) -> Any:
        return _inner(self.module)


def shard_groups(model: nn.Module, mesh: DeviceMesh) -> tuple[list[ShardGroup], Shards]:
    """What `fully_shard` made of a model, module by module, and how shards are whole parameters.

    Args:
        model: sharded over the second dimension of the mesh alone.
        mesh: (replicate, shard).

    Raises:
        ValueError: the mesh has not two dimensions; no parameter needs a gradient; or one that does is not sharded, is
            sharded over other ranks or replicated by FSDP itself, or has no values yet; each with the reason.
    """
    if mesh.ndim != 2:
        raise ValueError(
            f"mesh must have two dimensions, (replicate, shard), got {mesh.ndim}: gradients are reduce-scattered, "
            "each rank holds other entries, and only between replicas is there anything to send sparsely"
        )
    model = getattr(model, "_orig_mod", model)
    names = {parameter: name for name, parameter in model.named_parameters() if parameter.requires_grad}
    if not names:
        raise ValueError(f"no parameter of {type(model).__name__} needs a gradient")
    ranks = dist.get_process_group_ranks(mesh.get_group(1))
    for parameter, name in names.items():
        _require_sharded(name, parameter, ranks)
    # Modules that were sharded by one call share what PyTorch records.
    modules = {id(_inner(m)): (name, m) for name, m in model.named_modules() if isinstance(m, FSDPModule)}
    groups = [
        ShardGroup(name, module, tuple(names[record.sharded_param] for record in _records(module)))
        for name, module in modules.values()
    ]
    if alone := sorted({*names.values()}.difference(*(group.names for group in groups))):
        raise ValueError(f"parameter {alone[0]!r} was not sharded by fully_shard, which exchanges no gradient of it")
    dimensions = {name: _placement(parameter).dim for parameter, name in names.items()}
    shards = Shards(mesh, {name: parameter.shape for parameter, name in names.items()}, dimensions)
    return [group for group in groups if group.names], shards


def _require_sharded(name: str, parameter: nn.Parameter, ranks: list[int]) -> None:
    if not isinstance(parameter, DTensor):
        raise ValueError(f"parameter {name!r} is not sharded: fully_shard(model, mesh=mesh['shard']) comes first")
    own = parameter.device_mesh
    if own.ndim != 1:
        raise ValueError(
            f"parameter {name!r} lies on a mesh of shape {tuple(own.shape)}, and one dimension can be served: over a "
            "replicate dimension PyTorch all-reduces every entry before it calls a hook, and tensor parallelism is not "
            "provided for; fully_shard(model, mesh=mesh['shard']) takes one"
        )
    found = own.mesh.flatten().tolist()
    if found != ranks:
        raise ValueError(
            f"parameter {name!r} is sharded over ranks {found}, the mesh's second dimension has ranks {ranks}: between "
            "ranks that share a parameter gradients are reduce-scattered, and there is nothing to send sparsely"
        )
    if _local(parameter).is_meta:
        raise ValueError(f"parameter {name!r} is on the meta device: give it values before the state is made")


def _inner(module: FSDPModule) -> Any:
    """PyTorch's own record of a module's parameters; None if another module has them all."""
    return module._get_fsdp_state()._fsdp_param_group


def _records(module: FSDPModule) -> list[Any]:
    """PyTorch's own records of those that need a gradient, in the order of what is reduce-scattered."""
    inner = _inner(module)
    return [] if inner is None else [record for record in inner.fsdp_params if record.sharded_param.requires_grad]


def _wide(dtype: torch.dtype) -> torch.dtype:
    """That of residuals."""
    return torch.promote_types(dtype, torch.float32)


def _local(parameter: Tensor) -> Tensor:
    assert isinstance(parameter, DTensor)
    local: Tensor = parameter.to_local()
    return local.detach()


def _placement(parameter: Tensor) -> Shard:
    assert isinstance(parameter, DTensor)
    (placement,) = parameter.placements
    assert isinstance(placement, Shard)
    return placement
