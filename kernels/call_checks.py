"""What `feedback_select` refuses of the tensors that it is given, in a line that names the tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

_FLOATING = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
# (gradient, residual): those where the residual's dtype holds every value of the gradient's.
_DTYPE_PAIRS = {(g, e) for g in _FLOATING for e in _FLOATING if torch.promote_types(g, e) == e}


def check_pairs(gradients: list[Tensor], residuals: list[Tensor]) -> None:
    """Refuse tensors that `feedback_select_many` cannot add and select from.

    Raises:
        ValueError: they are not as many of one as of the other, or none; one is not a tensor; a dtype, shape, device or
            layout does not fit; one requires a gradient or has no memory of its own; a residual shares memory with
            another tensor of which something is read or written.
    """
    if not residuals or len(gradients) != len(residuals):
        raise ValueError(
            f"expected as many gradients as residuals and at least one, got {len(gradients)} and {len(residuals)}"
        )
    for name, tensors in (("gradient", gradients), ("residual", residuals)):
        for position, tensor in enumerate(tensors):
            # A parameter that took no part in a step has None for its gradient.
            if not isinstance(tensor, Tensor):
                found = type(tensor).__name__
                raise ValueError(f"{name} {position} must be a tensor, got {found}; give zeros where there is none")
            # Of an embedding with sparse=True.
            if tensor.layout != torch.strided:
                raise ValueError(f"{name} {position} must be dense, got {tensor.layout}")
    dtypes, device = (gradients[0].dtype, residuals[0].dtype), residuals[0].device
    if device.type == "meta":
        raise ValueError("tensors on the device meta hold nothing to select from")
    if dtypes not in _DTYPE_PAIRS:
        raise ValueError(f"a residual of {dtypes[1]} cannot take a gradient of {dtypes[0]}")
    for position, (gradient, residual) in enumerate(zip(gradients, residuals, strict=True)):
        _check_pair(position, gradient, residual, dtypes, device)
    if not torch.compiler.is_compiling():
        check_memory(gradients, residuals)


def _check_pair(
    position: int,
    gradient: Tensor,
    residual: Tensor,
    dtypes: tuple[torch.dtype, torch.dtype],
    device: torch.device,
) -> None:
    if residual.ndim != 1 or gradient.shape != residual.shape:
        raise ValueError(
            f"gradient and residual {position} must be vectors of one length, got shapes "
            f"{tuple(gradient.shape)} and {tuple(residual.shape)}"
        )
    if (gradient.dtype, residual.dtype) != dtypes:
        raise ValueError(
            f"gradient and residual {position} are {gradient.dtype} and {residual.dtype}, "
            f"the first are {dtypes[0]} and {dtypes[1]}"
        )
    if gradient.device != device or residual.device != device:
        raise ValueError(
            f"gradient {position} is on {gradient.device}, residual {position} on {residual.device}, "
            f"the first residual on {device}"
        )
    if not (gradient.is_contiguous() and residual.is_contiguous()):
        strides = gradient.stride(), residual.stride()
        raise ValueError(f"gradient and residual {position} must be contiguous, got strides {strides}")
    if gradient.requires_grad or residual.requires_grad:
        raise ValueError(f"gradient or residual {position} requires a gradient; detach it")
    # `is_neg` is nothing that torch.compile can trace.
    if residual.resolve_neg() is not residual:
        raise ValueError(f"residual {position} is a negated view, which cannot be changed in place; resolve_neg it")


def check_memory(gradients: Sequence[Tensor], residuals: Sequence[Tensor]) -> None:
    """Refuse what only tensors in memory can tell: who shares it, and whether a residual may be written.

    Raises:
        ValueError: a residual shares memory with a gradient or another residual (gradients may with each other), or
            cannot be written, or one has no memory of its own.
    """
    may_write_all = torch.is_inference_mode_enabled()
    for position, (gradient, residual) in enumerate(zip(gradients, residuals, strict=True)):
        if gradient._is_zerotensor() or residual._is_zerotensor():
            raise ValueError(f"gradient or residual {position} is a zero tensor, which has no memory; clone it")
        if not may_write_all and residual.is_inference():
            raise ValueError(
                f"residual {position} was made in inference mode, outside of which it cannot be changed; clone it"
            )
    _check_disjoint(gradients, residuals)


def _check_disjoint(gradients: Sequence[Tensor], residuals: Sequence[Tensor]) -> None:
    try:
        spans = [
            (tensor.data_ptr(), tensor.numel() * tensors[0].element_size(), written, position)
            for tensors, written in ((gradients, False), (residuals, True))
            for position, tensor in enumerate(tensors)
        ]
    except RuntimeError as error:
        raise ValueError("a tensor has no memory of its own, as under torch.func.vmap") from error
    spans.sort()
    # Of gradients and of residuals: the furthest end so far, and whose it is. Empty tensors begin and end at 0.
    ends = {False: (0, ""), True: (0, "")}
    for begin, size, written, position in spans:
        name = f"{'residual' if written else 'gradient'} {position}"
        end, other = max(ends.values()) if written else ends[True]
        if begin < end:
            raise ValueError(f"{name} shares memory with {other}, and a residual is changed in place")
        ends[written] = max(ends[written], (begin + size, name))


def _register(name: str) -> Callable[[Sequence[Tensor], Sequence[Tensor], Tensor], None]:
    """An op that does `check_memory` wherever the tensors lie.

    `memory` is said to change, so that no compiler drops it or lets the selection, which takes the same, come first.
    """
    torch.library.define(name, "(Tensor[] gradients, Tensor[] residuals, Tensor(a!) memory) -> ()")
    torch.library.impl(
        name, "CompositeExplicitAutograd", lambda gradients, residuals, _: check_memory(gradients, residuals)
    )
    torch.library.register_fake(name, lambda *_: None)
    operator: Callable[[Sequence[Tensor], Sequence[Tensor], Tensor], None] = getattr(
        torch.ops.sparsync, name.partition("::")[2]
    ).default
    return operator


CHECK_MEMORY = _register("sparsync::check_memory_")
"""`check_memory` as an op: in a compiled step tensors have no memory until it runs."""
