"""What do a model's operators hold, compute and keep? Measured on PyTorch's meta device: no memory, no arithmetic.

The model is called once. What is computed from the call of one module that owns parameters to that of the next is the
first one's, so that the operators together have all operations and all that is kept for the backward pass. A parameter
belongs to the innermost module around it that was called. Fused attention keeps its inputs, its result and a number per
row, as on a GPU. Ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

Inputs = Tensor | Sequence[Tensor]


@dataclass(frozen=True)
class Operator:
    """A module that owns parameters, with what follows it up to the next one.

    Args:
        name: of the module, in the model; empty for the model itself.
        parameter_count: of what it owns; a parameter that two share is counted at the first.
        forward_flops: of one example, a multiplication and an addition being two.
        activation_bytes: kept of one example for the backward pass.
    """

    name: str
    parameter_count: int
    forward_flops: float
    activation_bytes: float


def operators_of(model: nn.Module, inputs: Inputs) -> list[Operator]:
    """In the order of their first call; those that own nothing and do nothing are left out.

    Args:
        model: on any device; it is moved to the meta device, and is of no other use afterwards.
        inputs: what it is called with; the first axis of the first one is the batch, all is divided by its length.

    Raises:
        ValueError: the inputs hold no example, or the model has no parameters.
        RuntimeError: the model cannot run on the meta device, with PyTorch's own words.
    """
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not given or given[0].dim() == 0 or given[0].shape[0] == 0:
        raise ValueError(f"the first input must hold examples along its first axis, got {_shapes(given)}")
    if not any(True for _ in model.parameters()):
        raise ValueError(f"a {type(model).__name__} without parameters has nothing to plan")
    sizes = _sizes(model)
    model.to("meta").train()
    count = given[0].shape[0]
    ledger = _Ledger(model, sizes)
    with ledger.watching():
        model(*(tensor.to("meta") for tensor in given))
    found = ledger.operators()
    return [
        replace(one, forward_flops=one.forward_flops / count, activation_bytes=one.activation_bytes / count)
        for one in found
    ]


def _sizes(model: nn.Module) -> dict[str, int]:
    """How many numbers each parameter has, by its first name: on its way to the meta device what is shared is not."""
    found: dict[int, tuple[str, int]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        found.setdefault(id(parameter), (name, parameter.numel()))
    return dict(found.values())


def _shapes(tensors: Sequence[Tensor]) -> str:
    return f"tensors of the shapes {[tuple(tensor.shape) for tensor in tensors]}"


class _Ledger:
    """Who is at work, and what has been computed and kept since."""

    def __init__(self, model: nn.Module, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._names = {module: name for name, module in model.named_modules()}
        self._called: dict[nn.Module, None] = {model: None}
        self._at_work = model
        self._flops: dict[nn.Module, float] = {}
        self._bytes: dict[nn.Module, float] = {}
        self._counter = FlopCounterMode(display=False)
        self._counted = 0
        self._kept: dict[int, torch.UntypedStorage] = {
            tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in _held_by(model)
        }
        """what is there anyway, and what was kept already"""

    def watching(self) -> _Watch:
        return _Watch(self._counter, self._enter, self._keep, self._flush)

    def _enter(self, module: nn.Module) -> None:
        self._called.setdefault(module)
        if module._parameters:
            self._flush()
            self._at_work = module

    def _flush(self) -> None:
        """What was computed since the last time is that of whoever is at work."""
        total = self._counter.get_total_flops()
        self._flops[self._at_work] = self._flops.get(self._at_work, 0.0) + total - self._counted
        self._counted = total

    def _keep(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._kept:
            self._kept[storage._cdata] = storage
            self._bytes[self._at_work] = self._bytes.get(self._at_work, 0.0) + storage.nbytes()
        return tensor

    def operators(self) -> list[Operator]:
        owned = self._owned()
        found = [
            Operator(self._names[one], owned.get(one, 0), self._flops.get(one, 0.0), self._bytes.get(one, 0.0))
            for one in self._called
        ]
        return [one for one in found if one.parameter_count or one.forward_flops or one.activation_bytes]

    def _owned(self) -> dict[nn.Module, int]:
        """How many numbers belong to each module that was called."""
        by_name = {name: module for module, name in self._names.items()}
        owned: dict[nn.Module, int] = {}
        for name, size in self._sizes.items():
            place = name.rpartition(".")[0]
            while by_name[place] not in self._called:
                place = place.rpartition(".")[0]
            owned[by_name[place]] = owned.get(by_name[place], 0) + size
        return owned


class _Watch:
    """Hooks on all modules, and the modes that see operations and what is kept, for as long as one call takes."""

    def __init__(
        self,
        counter: FlopCounterMode,
        enter: Callable[[nn.Module], None],
        keep: Callable[[Tensor], Tensor],
        flush: Callable[[], None],
    ) -> None:
        self._hook = lambda module, _inputs: enter(module)
        self._modes = (_FusedAttention(), saved_tensors_hooks(keep, lambda tensor: tensor), counter)
        self._flush = flush

    def __enter__(self) -> None:
        self._handle = nn.modules.module.register_module_forward_pre_hook(self._hook)
        for mode in self._modes:
            mode.__enter__()

    def __exit__(self, *failure: Any) -> None:
        self._flush()
        for mode in reversed(self._modes):
            mode.__exit__(*failure)
        self._handle.remove()


def _held_by(model: nn.Module) -> list[Tensor]:
    return [*model.parameters(), *model.buffers()]


class _FusedAttention(TorchFunctionMode):
    """Attention that forgets its weights: on the meta device PyTorch has only the form that keeps them."""

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        del types
        if function is functional.scaled_dot_product_attention:
            attend: Any = _Attention.apply
            return attend(kwargs or {}, *args)
        return function(*args, **(kwargs or {}))


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, kwargs: dict[str, Any], *args: Any) -> Tensor:
        names = ("query", "key", "value")
        query, key, value = (args[place] if place < len(args) else kwargs[name] for place, name in enumerate(names))
        with torch._C.DisableTorchFunction():
            result: Tensor = functional.scaled_dot_product_attention(*args, **kwargs)
        rows = torch.empty(query.shape[:-1], dtype=torch.float32, device=query.device)
        context.save_for_backward(query, key, value, result, rows)
        return result

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> Any:
        raise NotImplementedError("operators are measured in the forward pass alone")
