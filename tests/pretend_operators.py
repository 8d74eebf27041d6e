"""torch's own operators on the pretend GPU: each runs as the CPU's operator on the same memory."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterable
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
_ACROSS_DEVICES = ("copy_", "_to_copy", "index", "index_put_", "_index_put_impl_")
_TRACERS = (
    torch._C._TorchDispatchModeKey.FAKE,
    torch._C._TorchDispatchModeKey.FUNCTIONAL,
    torch._C._TorchDispatchModeKey.PROXY,
)


class Operators(TorchDispatchMode):
    """While it is entered, operators with CUDA tensors run on host memory.

    An operator waits for its stream, as a kernel on that stream would, and for no other. While a stream is captured,
    an operator that changes tensors in place becomes a node of the graph.
    """

    supports_higher_order_operators = True

    def __init__(self, runtime: ctypes.CDLL) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._runtime = runtime
        self._generators: dict[torch.Generator, torch.Generator] = {}
        self._nodes: list[Any] = []  # captured graphs call them as long as the process lives
        self.seen = Counter[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, torch._ops.HigherOrderOperator) or self._is_true(func, tree_leaves((args, kwargs))):
            return func(*args, **kwargs)
        namespace, name = func._schema.name.split("::")
        self.seen[f"{namespace}::{name}"] += 1
        host_args, host_kwargs = tree_map(self._on_host, args), tree_map(self._on_host, kwargs)
        if torch.cuda.is_current_stream_capturing():
            return self._captured(func, name, args, host_args, host_kwargs)
        self._runtime.cudaStreamSynchronize(_stream())
        result = func(*host_args, **host_kwargs)
        written = _written(func, args, kwargs)
        if written and func._schema.returns:
            return written[0] if len(func._schema.returns) == 1 else tuple(written)
        device = kwargs.get("device") or torch.device(CUDA)
        return tree_map(lambda one: _on_device(one) if device.type == CUDA else one, result)

    def _is_true(self, func: Any, leaves: list[Any]) -> bool:
        """Whether torch does it as on a GPU."""
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        devices = {tensor.device.type for tensor in tensors if tensor.dim() > 0}
        namespace, name = func._schema.name.split("::")
        if namespace not in ("aten", "c10d") or name in _TRUE or _is_view(func) or _is_traced(tensors):
            return True
        if not any(_is_cuda(leaf) for leaf in leaves):
            return True
        if name in ("copy_", "_to_copy"):
            return _is_plain_copy(tensors, [leaf for leaf in leaves if isinstance(leaf, torch.dtype)])
        if name not in _ACROSS_DEVICES and len(devices) > 1:
            raise RuntimeError(f"{func} with tensors on {' and '.join(sorted(devices))}")
        return False

    def _on_host(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.device):
            return torch.device("cpu")
        if isinstance(leaf, torch.Generator) and leaf.device.type == CUDA:
            if leaf not in self._generators:
                self._generators[leaf] = torch.Generator().manual_seed(leaf.initial_seed())
            return self._generators[leaf]
        return _aliased(leaf) if isinstance(leaf, Tensor) and leaf.is_cuda else leaf

    def _captured(self, func: Any, name: str, args: Any, host_args: Any, host_kwargs: Any) -> Any:
        if name in _MAKING:
            content = func(*host_args, **host_kwargs)
            made = torch.empty_like(content, device=CUDA)
            self._put(lambda: _aliased(made).copy_(content))
            return made
        if not name.endswith("_"):
            raise NotImplementedError(f"{func} while a stream is captured")
        self._put(lambda: func(*host_args, **host_kwargs))
        return args[0] if func._schema.returns else None

    def _put(self, work: Callable[[], object]) -> None:
        node = ctypes.CFUNCTYPE(None)(lambda: (work(), None)[1])
        self._nodes.append(node)
        self._runtime.pretend_put(_stream(), node)


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
