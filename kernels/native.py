"""Error feedback and selection in one step: e ← e + g, select from e, zero what was selected, return it.

`feedback_select(gradient, residual, k)` is what `ErrorFeedback` and `SELECTORS[rule]` do together, in one to five
passes over the vector instead of many: the same payload and the same residual, bit for bit. The work is done by the op
`sparsync::feedback_select_`, compiled on first use (`native_build.py`), or by its definition in PyTorch where there is
no compiler, no kernel for the device, or a residual that is not float32; `backend()` says which.

On a GPU nothing here waits for the device; a payload waits when it is first read (`payload.py`). A call can be captured
in a CUDA graph: call once before with the same state, keep the gradient where it is, and after a replay read
`payload.padded()`, for the other properties keep what they found first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import TypeVar, get_args, overload

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from sparsync.kernels import feedback_reference, native_build
from sparsync.kernels.call_checks import CHECK_MEMORY, check_pairs
from sparsync.kernels.call_plan import Rule as Rule
from sparsync.kernels.call_plan import dimensions_of, plan_of
from sparsync.kernels.chunks import CHUNK_SIZE
from sparsync.kernels.magnitude import NonFiniteError
from sparsync.kernels.payload import Report, SparsePayload
from sparsync.kernels.selection import SELECTORS

KERNEL_RULES = tuple(rule for rule in get_args(Rule) if rule in SELECTORS)
"""Selectors that `feedback_select` has."""

_RULE_NUMBERS = {rule: number for number, rule in enumerate(feedback_reference.RULES)}
_MEMORY_COLUMN_COUNT = 2

_Number = TypeVar("_Number", int, float)
_Operator = Callable[
    [list[Tensor], list[Tensor], list[int], int, list[float], list[int], Tensor], tuple[Tensor, Tensor, Tensor]
]


class SelectionState:
    """What one call of a training step leaves for the same call of the next, so that it takes fewer passes.

    It never changes a result. Keep one for every tensor (or every call of `feedback_select_many`) and rule. One whose
    first call is captured in a CUDA graph starts anew at every replay: then let it serve a call before the capture.
    """

    def __init__(self) -> None:
        self._memory: Tensor | None = None
        self._rule = ""

    def memory_for(self, rule: str, group_count: int, device: torch.device) -> Tensor:
        """The memory [groups, 2] int32; zeros until `keep` was called.

        Raises:
            ValueError: an earlier call had another rule, number of groups or device.
        """
        memory = self._memory
        if memory is None:
            return _empty_memory(group_count, device)
        if rule != self._rule:
            raise ValueError(f"this state belongs to rule {self._rule!r}, got {rule!r}")
        if memory.shape[0] != group_count:
            raise ValueError(f"this state belongs to {memory.shape[0]} selections, got {group_count}")
        if memory.device != device:
            raise ValueError(f"this state belongs to {memory.device}, got {device}")
        return memory

    def keep(self, rule: str, memory: Tensor) -> None:
        """Belong to the rule and the memory of a call that was served."""
        self._memory, self._rule = memory, rule


def feedback_select(
    gradient: Tensor,
    residual: Tensor,
    k: int,
    *,
    rule: Rule = "gaussian_k",
    state: SelectionState | None = None,
    threshold: float | None = None,
    capacity: int | None = None,
) -> SparsePayload:
    """Add the gradient to the residual, select from the sum by a rule, zero what was selected, return it.

    Where the sum is not finite, the residual keeps its old value; see Raises for CPUs. On a GPU (and under
    `torch.compile`) nothing stops for it: `first_non_finite` of the payload tells.

    Args:
        gradient: [d] float16, bfloat16, float32 or float64; not changed.
        residual: [d] on the same device, of a dtype that holds the gradient's values; changed in place. Only float32
            residuals have a kernel, others take the definition in PyTorch.
        k: target count, 1 ≤ k ≤ d; "threshold" checks it and ignores it.
        rule: "top_k", "chunked_top_k", "gaussian_k", "gaussian_k_released" as in `SELECTORS`, or "threshold": all with
            |u_i| ≥ t.
        state: makes later calls faster, never different.
        threshold: t ≥ 0, for the rule "threshold" only.
        capacity: return at most this many, those of lowest index; the rest stays in the residual. None never cuts.

    Raises:
        ValueError: an argument is not as said, a tensor is not contiguous or requires a gradient, the two overlap, the
            residual is a negated or a zero tensor, which have no memory of their own, or an inference tensor outside
            inference mode, or `state` belongs to another call; nothing has changed then.
        NonFiniteError: on a CPU, the sum is not finite somewhere; the residual is then e + g where that is finite and e
            elsewhere, and nothing is selected.
    """
    payloads = _select([gradient], [residual], [k], _number_of(rule), rule, state, [threshold], [capacity])
    return payloads[0]


@overload
def feedback_select_many(
    gradients: Sequence[Tensor],
    residuals: Sequence[Tensor],
    ks: int,
    *,
    rule: Rule = "gaussian_k",
    state: SelectionState | None = None,
    thresholds: float | Sequence[float] | None = None,
    capacity: int | Sequence[int] | None = None,
) -> SparsePayload: ...


@overload
def feedback_select_many(
    gradients: Sequence[Tensor],
    residuals: Sequence[Tensor],
    ks: Sequence[int],
    *,
    rule: Rule = "gaussian_k",
    state: SelectionState | None = None,
    thresholds: float | Sequence[float] | None = None,
    capacity: int | Sequence[int] | None = None,
) -> list[SparsePayload]: ...


def feedback_select_many(
    gradients: Sequence[Tensor],
    residuals: Sequence[Tensor],
    ks: int | Sequence[int],
    *,
    rule: Rule = "gaussian_k",
    state: SelectionState | None = None,
    thresholds: float | Sequence[float] | None = None,
    capacity: int | Sequence[int] | None = None,
) -> SparsePayload | list[SparsePayload]:
    """`feedback_select` for many tensors in one call: from each its own selection, or one from all of them together.

    Args:
        gradients: vectors of one dtype; not changed.
        residuals: vectors of the same lengths, of one dtype and device; changed in place.
        ks: one target count for each tensor, or a single one for all tensors one after another. Indices then count
            through all of them.
        rule: as in `feedback_select`. Chunks of "chunked_top_k" are cut from all tensors one after another, and the
            kernel serves those where each of them begins with a chunk; others take the definition in PyTorch.
        state: as in `feedback_select`.
        thresholds: t of every selection, or one t for each; for the rule "threshold" only.
        capacity: of every selection, or one for each; None never cuts.

    Returns:
        One payload for each tensor, or a single payload.

    Raises:
        ValueError: as `feedback_select`.
    """
    number = _number_of(rule)
    try:
        counts = [ks] if isinstance(ks, int) else list(ks)
    except TypeError:
        raise ValueError(f"ks must be an int or a sequence of ints, got {ks!r}") from None
    if not isinstance(ks, int) and len(counts) != len(residuals):
        raise ValueError(f"expected one count or {len(residuals)}, got {len(counts)}")
    limits = _for_each(thresholds, len(counts), "thresholds")
    capacities = _for_each(capacity, len(counts), "capacity")
    payloads = _select(list(gradients), list(residuals), counts, number, rule, state, limits, capacities)
    return payloads[0] if isinstance(ks, int) else payloads


def backend() -> str:
    """What does the work: "native (CPU)", "native (CPU, CUDA)", or "reference: " and why there is no library."""
    return native_build.library().backend()


def has_kernel(device: torch.device) -> bool:
    """Whether compiled code selects from float32 vectors on a device; `backend` says why not."""
    return _is_native(device.type)


def _is_native(device_type: str) -> bool:
    return device_type in native_build.library().devices


# What `torch.compiler.assume_constant_result` sets, without importing the compiler for it (a second or more).
_is_native._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _operator_for(residual: Tensor) -> _Operator:
    if residual.dtype == torch.float32 and _is_native(residual.device.type):
        operator: _Operator = torch.ops.sparsync.feedback_select_.default
        return operator
    return feedback_reference.feedback_select_


def _chosen_operator(rule: str, residuals: list[Tensor], group_count: int) -> _Operator:
    """What serves a call: the definition, too, where an op would cut other chunks than the rule does."""
    if _chunks_are_tiles(rule, residuals, group_count):
        return _operator_for(residuals[0])
    return feedback_reference.feedback_select_


def _chunks_are_tiles(rule: str, residuals: list[Tensor], group_count: int) -> bool:
    """Can an op cut the groups as the rule does? Its tiles begin with each tensor, chunks with the group."""
    if rule != "chunked_top_k" or group_count == len(residuals):
        return True
    lengths = [residual.numel() for residual in residuals]
    starts = accumulate(lengths, initial=0)
    return all(start % CHUNK_SIZE == 0 for start, length in zip(starts, lengths, strict=False) if length)


def _select(
    gradients: list[Tensor],
    residuals: list[Tensor],
    counts: list[int],
    number: int,
    rule: Rule,
    state: SelectionState | None,
    thresholds: Sequence[float | None],
    capacities: Sequence[int | None],
) -> list[SparsePayload]:
    """Check everything, call the op, and put what it returned into payloads."""
    if not _does_the_op_check(rule, gradients, residuals, counts):
        check_pairs(gradients, residuals)
    dimensions, device = dimensions_of(residuals, counts), residuals[0].device
    plan = plan_of(rule, counts, dimensions, thresholds, capacities)
    if not isinstance(state, SelectionState | None):
        raise ValueError(f"state must be a SelectionState or None, got {state!r}")
    memory = _empty_memory(len(counts), device) if state is None else state.memory_for(rule, len(counts), device)
    if torch.compiler.is_compiling():
        CHECK_MEMORY(gradients, residuals, memory)
    operator = _chosen_operator(rule, residuals, len(counts))
    try:
        values, indices, table = operator(
            gradients, residuals, counts, number, plan.parameters, plan.capacities, memory
        )
    except RuntimeError:
        # The op says what it saw; this names the tensor, if it was one.
        check_pairs(gradients, residuals)
        raise
    if not torch.compiler.is_compiling():
        # What autograd kept of a residual for a backward pass is no longer there.
        increment_version(residuals)
    if state is not None:
        state.keep(rule, memory)
    report, is_full = Report(table), rule in ("top_k", "chunked_top_k")
    payloads = []
    for group, places in enumerate(plan.places):
        # Fewer than its places only if the residual held NaN or infinity before.
        known = places[1] - places[0] if is_full else None
        payloads.append(
            SparsePayload.from_report(values, indices, dimensions[group], report, group, places, count=known)
        )
    if device.type == "cpu" and not torch.compiler.is_compiling():
        _refuse_non_finite(gradients, residuals, payloads, report)
    return payloads


def _number_of(rule: str) -> int:
    number = _RULE_NUMBERS.get(rule) if isinstance(rule, str) else None
    if number is None:
        raise ValueError(f"unknown rule {rule!r}; known: {', '.join(_RULE_NUMBERS)}")
    return number


_REQUIRES_GRADIENT = attrgetter("requires_grad")


def _does_the_op_check(rule: str, gradients: list[Tensor], residuals: list[Tensor], counts: list[int]) -> bool:
    """Does the native op refuse all that `_check_pairs` refuses? Then once is enough: a model has many tensors."""
    if torch.compiler.is_compiling() or not residuals or len(gradients) != len(residuals):
        return False
    if not isinstance(residuals[0], Tensor):
        return False
    try:
        if _chosen_operator(rule, residuals, len(counts)) is feedback_reference.feedback_select_:
            return False
        # Who needs a gradient is unknown to the op, and who was made in inference mode.
        needs = any(map(_REQUIRES_GRADIENT, chain(gradients, residuals)))
        return not (needs or any(map(Tensor.is_inference, residuals)))
    except (AttributeError, TypeError):
        # One is not a tensor; the longer check names it.
        return False


def _for_each(given: _Number | Sequence[_Number] | None, count: int, name: str) -> Sequence[_Number | None]:
    """A number for each selection, where one for all or none was given."""
    if given is None or isinstance(given, int | float):
        return [given] * count
    try:
        length = len(given)
    except TypeError:
        raise ValueError(f"{name} must be an int, a float or a sequence of them, got {given!r}") from None
    if length != count:
        raise ValueError(f"{name} must be one number or {count}, got {length}")
    return given


def _empty_memory(group_count: int, device: torch.device) -> Tensor:
    return torch.zeros((group_count, _MEMORY_COLUMN_COUNT), dtype=torch.int32, device=device)


def _refuse_non_finite(
    gradients: list[Tensor], residuals: list[Tensor], payloads: list[SparsePayload], report: Report
) -> None:
    """If a sum was not finite, put everything selected back and raise."""
    refused = report.non_finite()
    if not refused:
        return
    step = len(residuals) // len(payloads)
    for group, payload in enumerate(payloads):
        _put_back(residuals[group * step : (group + 1) * step], payload)
    group, index = refused[0]
    position = group * step
    while index >= residuals[position].numel():
        index -= residuals[position].numel()
        position += 1
    terms = f"{gradients[position][index].item()} + {residuals[position][index].item()}"
    raise NonFiniteError(f"entry {index} of tensor {position} is not finite: gradient + residual = {terms}")


def _put_back(residuals: list[Tensor], payload: SparsePayload) -> None:
    """Undo a selection: write the values of a payload to where they came from."""
    first = 0
    for residual in residuals:
        here = (payload.indices >= first) & (payload.indices < first + residual.numel())
        residual[payload.indices[here].long() - first] = payload.values[here]
        first += residual.numel()
