"""torch's own operators on the pretend GPU: each runs as the CPU's operator on the same memory.

Drawn numbers are the CPU generator's for another seed, so that a generator's place is seen in them.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

CUDA = "cuda"
# These start no kernel, as views do not; `item()` ends in the last, which torch's debug mode is to see.
_ALLOCATING = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided")
_TRUE = (*_ALLOCATING, "record_stream", "is_pinned", "_pin_memory", "_local_scalar_dense")
_MAKING = ("zeros", "zeros_like", "new_zeros", "ones", "full", "full_like")
_INDEXING = ("index", "index_put_", "_index_put_impl_")
_TRACERS = (
    torch._C._TorchDispatchModeKey.FAKE,
    torch._C._TorchDispatchModeKey.FUNCTIONAL,
    torch._C._TorchDispatchModeKey.PROXY,
)


class Operators(TorchDispatchMode):
    """While it is entered, operators with CUDA tensors run on host memory.

    An operator waits for its stream, as a kernel on that stream would, and for no other. One that fills new memory does
    so in the order of the stream, without a wait. While a stream is captured, such operators and those that change
    tensors in place become nodes of the graph.

    Raises:
        RuntimeError: an operator's tensors are on several devices, or something failed on a stream before.
        NotImplementedError: another operator while a stream is captured.
    """

    supports_higher_order_operators = True

    def __init__(self, runtime: ctypes.CDLL) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._runtime = runtime
        self._nodes: list[Any] = []  # captured graphs call them as long as the process lives

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator) or _is_true(func, args, kwargs):
            return self._true(func, args, kwargs)
        host_args, host_kwargs = tree_map(_on_host, args), tree_map(_on_host, kwargs)
        if _name(func) in _MAKING:
            return self._made(func(*host_args, **host_kwargs))
        if torch.cuda.is_current_stream_capturing():
            return self._captured(func, args, host_args, host_kwargs)
        if status := self._runtime.cudaStreamSynchronize(_stream()):
            raise RuntimeError(f"the pretend GPU failed with CUDA error {status}")
        result = func(*host_args, **host_kwargs)
        written = _written(func, args, kwargs)
        if written and func._schema.returns:
            return written[0] if len(func._schema.returns) == 1 else tuple(written)
        device = kwargs.get("device") or torch.device(CUDA)
        return tree_map(lambda one: _on_device(one) if device.type == CUDA else one, result)

    def _true(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What torch does as on a GPU; our library's calls find no device memory that the host could touch."""
        if getattr(func, "namespace", None) != "sparsync":
            return func(*args, **kwargs)
        self._runtime.pretend_enter(1)
        try:
            return func(*args, **kwargs)
        finally:
            self._runtime.pretend_enter(0)

    def _made(self, content: Tensor) -> Tensor:
        made = torch.empty_like(content, device=CUDA)
        if content.numel() > 0:
            size = ctypes.c_size_t(content.untyped_storage().nbytes())
            target, source = ctypes.c_void_p(made.data_ptr()), ctypes.c_void_p(content.data_ptr())
            self._runtime.pretend_fill(target, source, size, _stream())
        return made

    def _captured(self, func: Any, args: Any, host_args: Any, host_kwargs: Any) -> Any:
        if not _name(func).endswith("_"):
            raise NotImplementedError(f"{func} while a stream is captured")

        def run() -> None:
            try:
                func(*host_args, **host_kwargs)
            except Exception:
                traceback.print_exc()
                self._runtime.pretend_fail()

        node = ctypes.CFUNCTYPE(None)(run)
        self._nodes.append(node)
        self._runtime.pretend_put(_stream(), node)
        return args[0] if func._schema.returns else None


def _name(func: Any) -> str:
    return str(func._schema.name.split("::")[1])


def _is_true(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether torch does it as on a GPU."""
    leaves = tree_leaves((args, kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    name = _name(func)
    if func.namespace not in ("aten", "c10d") or name in _TRUE or _is_view(func) or _is_traced(tensors):
        return True
    if not any(_is_cuda(leaf) for leaf in leaves):
        return True
    if name in ("copy_", "_to_copy"):
        return _is_plain_copy(tensors, [leaf for leaf in leaves if isinstance(leaf, torch.dtype)])
    _check_devices(func, tensors, args)
    return False


def _check_devices(func: Any, tensors: list[Tensor], args: Any) -> None:
    """Only single numbers on the CPU, and indices there, may meet CUDA tensors."""
    together = tensors
    if _name(func) in _INDEXING:
        itself, indices, *values = args
        together = [itself, *(one for one in values if isinstance(one, Tensor))]
        if not itself.is_cuda:
            together += [one for one in indices if one is not None]
    devices = {tensor.device.type for tensor in together if tensor.is_cuda or tensor.dim() > 0}
    if len(devices) > 1:
        raise RuntimeError(f"{func} with tensors on {' and '.join(sorted(devices))}")


def _on_host(leaf: Any) -> Any:
    if isinstance(leaf, torch.device):
        return torch.device("cpu")
    if isinstance(leaf, torch.Generator) and leaf.device.type == CUDA:
        return _generator_on_host(leaf)
    return _aliased(leaf) if isinstance(leaf, Tensor) and leaf.is_cuda else leaf


def _generator_on_host(given: torch.Generator) -> torch.Generator:
    """It depends on the seed and on the place in the sequence of draws, which goes on."""
    place = given.get_offset()
    given.set_offset(place + 4)  # the least step
    return torch.Generator().manual_seed(((given.initial_seed() + 1) * 0x9E3779B97F4A7C15 + place) % 2**63)


def _is_cuda(leaf: object) -> bool:
    if isinstance(leaf, torch.device):
        return leaf.type == CUDA
    return isinstance(leaf, (Tensor, torch.Generator)) and leaf.device.type == CUDA


def _is_view(func: Any) -> bool:
    aliases = [result.alias_info for result in func._schema.returns]
    return bool(aliases) and all(alias is not None and not alias.is_write for alias in aliases)


def _is_traced(tensors: Iterable[Tensor]) -> bool:
    """Whether nothing is computed: a compiler looks which operators there are."""
    if any(torch._C._get_dispatch_mode(key) is not None for key in _TRACERS):
        return True
    return any(type(tensor) not in (Tensor, torch.nn.Parameter) for tensor in tensors)


def _is_plain_copy(tensors: list[Tensor], types: list[torch.dtype]) -> bool:
    """Whether torch leaves the copy to the runtime, without a kernel."""
    first = tensors[0]
    same = all(one.shape == first.shape and one.is_contiguous() for one in tensors)
    return same and {first.dtype} == {*types, *(one.dtype for one in tensors)}


def _aliased(tensor: Tensor) -> Tensor:
    """A CPU tensor on the same memory."""
    storage = tensor.untyped_storage()
    if storage.nbytes() == 0:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    host = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=tensor.dtype).set_(host, tensor.storage_offset(), tensor.shape, tensor.stride())


def _on_device(one: object) -> object:
    if not isinstance(one, Tensor):
        return one
    made = torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device=CUDA)
    _aliased(made).copy_(one)
    return made


def _written(func: Any, args: Any, kwargs: Any) -> list[Any]:
    given = {argument.name: value for argument, value in zip(func._schema.arguments, args, strict=False)} | kwargs
    return [
        given[argument.name]
        for argument in func._schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write and argument.name in given
    ]


def _stream() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
