"""Which parameters of a model are exchanged, and under which names? Those that they have without any wrapper."""

from __future__ import annotations

from torch import nn
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel


def named_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that need a gradient, by the names that they have in the module that was wrapped or compiled.

    Raises:
        ValueError: there are none, or one is sharded.
    """
    inner = model
    while (wrapped := _within(inner)) is not None:
        inner = wrapped
    found = {name: parameter for name, parameter in inner.named_parameters() if parameter.requires_grad}
    if not found:
        raise ValueError(f"no parameter of {type(inner).__name__} needs a gradient")
    for name, parameter in found.items():
        if isinstance(parameter, DTensor):
            raise ValueError(f"parameter {name!r} is sharded; sparsync.experiments.fsdp serves FSDP2")
    return found


def _within(model: nn.Module) -> nn.Module | None:
    """What DDP or the compiler has wrapped; None if neither has."""
    name = "module" if isinstance(model, DistributedDataParallel) else "_orig_mod"
    inner: nn.Module | None = getattr(model, name, None)
    return inner
