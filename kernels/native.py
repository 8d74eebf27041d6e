"""Error feedback and selection in one step: e ← e + g, select from e, zero what was selected, return it.

`feedback_select(gradient, residual, k)` is what `ErrorFeedback` and `SELECTORS[rule]` do together, in one to four
passes over the vector instead of many: the same payload and the same residual, bit for bit. The work is done by the op
`sparsync::feedback_select_`, compiled on first use (`native_build.py`), or by its definition in PyTorch where there is
no compiler, no kernel for the device, or a residual that is not float32; `backend()` says which.

On a GPU nothing here waits for the device; a payload waits when it is first read (`payload.py`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, overload

import torch
from torch import Tensor

from sparsync.kernels import feedback_reference, native_build
from sparsync.kernels.payload import Report, SparsePayload
from sparsync.kernels.reference import two_sided_quantile

Rule = Literal["top_k", "gaussian_k", "gaussian_k_released", "threshold"]

_RULE_NUMBERS = {rule: number for number, rule in enumerate(feedback_reference.RULES)}
_FLOATING = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
# (gradient, residual): those where the residual's dtype holds every value of the gradient's.
_DTYPE_PAIRS = {(g, e) for g in _FLOATING for e in _FLOATING if torch.promote_types(g, e) == e}
_LARGEST_DIMENSION = 2**31 - 1
_MEMORY_COLUMN_COUNT = 2

_Number = TypeVar("_Number", int, float)
_Operator = Callable[
    [list[Tensor], list[Tensor], list[int], int, list[float], list[int], Tensor], tuple[Tensor, Tensor, Tensor]
]


class SelectionState:
    """What one call of a training step leaves for the same call of the next, so that it takes fewer passes.

    It never changes a result. Keep one for every tensor (or every call of `feedback_select_many`) and rule.
    """

    def __init__(self) -> None:
        self._memory: Tensor | None = None
        self._rule = ""

    def memory_for(self, rule: str, group_count: int, device: torch.device) -> Tensor:
        """The memory [groups, 2] int32, zeros at first.

        Raises:
            ValueError: an earlier call had another rule, number of groups or device.
        """
        memory = self._memory
        if memory is None:
            memory = _empty_memory(group_count, device)
            self._memory, self._rule = memory, rule
        elif rule != self._rule:
            raise ValueError(f"this state belongs to rule {self._rule!r}, got {rule!r}")
        elif memory.shape[0] != group_count:
            raise ValueError(f"this state belongs to {memory.shape[0]} selections, got {group_count}")
        elif memory.device != device:
            raise ValueError(f"this state belongs to {memory.device}, got {device}")
        return memory


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
        rule: "top_k", "gaussian_k", "gaussian_k_released" as in `SELECTORS`, or "threshold": all with |u_i| ≥ t.
        state: makes later calls faster, never different.
        threshold: t ≥ 0, for the rule "threshold" only.
        capacity: return at most this many, those of lowest index; the rest stays in the residual. None never cuts.

    Raises:
        ValueError: an argument is not as said, a tensor is not contiguous or requires a gradient, the two overlap, or
            `state` belongs to another call; nothing has changed then. Or, on a CPU, the sum is not finite somewhere:
            the residual is then e + g where that is finite and e elsewhere, and nothing is selected.
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
        rule: as in `feedback_select`.
        state: as in `feedback_select`.
        thresholds: t of every selection, or one t for each; for the rule "threshold" only.
        capacity: of every selection, or one for each; None never cuts.

    Returns:
        One payload for each tensor, or a single payload.

    Raises:
        ValueError: as `feedback_select`.
    """
    number = _number_of(rule)
    counts = [ks] if isinstance(ks, int) else list(ks)
    if not isinstance(ks, int) and len(counts) != len(residuals):
        raise ValueError(f"expected one count or {len(residuals)}, got {len(counts)}")
    limits = _for_each(thresholds, len(counts), "thresholds")
    capacities = _for_each(capacity, len(counts), "capacity")
    payloads = _select(list(gradients), list(residuals), counts, number, rule, state, limits, capacities)
    return payloads[0] if isinstance(ks, int) else payloads


def backend() -> str:
    """What does the work: "native (CPU)", "native (CPU, CUDA)", or "reference: " and why there is no library."""
    return native_build.library().backend()


def _is_native(device_type: str) -> bool:
    return device_type in native_build.library().devices


def _quantile(k: int, dimension: int) -> float:
    return _cached_quantile(k, dimension)


_cached_quantile = functools.lru_cache(maxsize=4096)(two_sided_quantile)
# What `torch.compiler.assume_constant_result` sets, without importing the compiler for it (a second or more).
_is_native._dynamo_marked_constant = True  # type: ignore[attr-defined]
_quantile._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _operator_for(residual: Tensor) -> _Operator:
    if residual.dtype == torch.float32 and _is_native(residual.device.type):
        operator: _Operator = torch.ops.sparsync.feedback_select_.default
        return operator
    return feedback_reference.feedback_select_


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
    _check_pairs(gradients, residuals)
    dimensions = _dimensions(residuals, counts)
    group_count, device = len(counts), residuals[0].device
    parameters, places = [0.0] * group_count, [0] * group_count
    for group in range(group_count):
        k, dimension = counts[group], dimensions[group]
        _check_count(k, dimension)
        parameters[group] = _parameter(rule, k, dimension, thresholds[group])
        places[group] = _capacity(rule, k, dimension, capacities[group])
    memory = _empty_memory(group_count, device) if state is None else state.memory_for(rule, group_count, device)
    operator = _operator_for(residuals[0])
    values, indices, table = operator(gradients, residuals, counts, number, parameters, places, memory)
    report = Report(table)
    payloads, first = [], 0
    for group in range(group_count):
        end = first + places[group]
        # Fewer than its places only if the residual held NaN or infinity before.
        known = places[group] if rule == "top_k" else None
        payloads.append(
            SparsePayload.from_report(values, indices, dimensions[group], report, group, (first, end), count=known)
        )
        first = end
    if device.type == "cpu" and not torch.compiler.is_compiling():
        _refuse_non_finite(gradients, residuals, payloads, report)
    return payloads


def _number_of(rule: str) -> int:
    number = _RULE_NUMBERS.get(rule)
    if number is None:
        raise ValueError(f"unknown rule {rule!r}; known: {', '.join(_RULE_NUMBERS)}")
    return number


def _check_pairs(gradients: list[Tensor], residuals: list[Tensor]) -> None:
    if not residuals or len(gradients) != len(residuals):
        raise ValueError(
            f"expected as many gradients as residuals and at least one, got {len(gradients)} and {len(residuals)}"
        )
    dtypes, device = (gradients[0].dtype, residuals[0].dtype), residuals[0].device
    if dtypes not in _DTYPE_PAIRS:
        raise ValueError(f"a residual of {dtypes[1]} cannot take a gradient of {dtypes[0]}")
    for position, (gradient, residual) in enumerate(zip(gradients, residuals, strict=True)):
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
    if not torch.compiler.is_compiling():
        _check_disjoint(gradients, residuals)


def _check_disjoint(gradients: list[Tensor], residuals: list[Tensor]) -> None:
    """No residual shares memory with a gradient or another residual; gradients may with each other."""
    spans = [
        (tensor.data_ptr(), tensor.numel() * tensors[0].element_size(), written, position)
        for tensors, written in ((gradients, False), (residuals, True))
        for position, tensor in enumerate(tensors)
    ]
    spans.sort()
    read_end = written_end = 0
    for begin, size, written, position in spans:
        if size > 0 and begin < (max(read_end, written_end) if written else written_end):
            name = "residual" if written else "gradient"
            raise ValueError(f"{name} {position} shares memory with a residual that is to be changed")
        if written:
            written_end = max(written_end, begin + size)
        else:
            read_end = max(read_end, begin + size)


def _dimensions(residuals: list[Tensor], counts: list[int]) -> list[int]:
    """The length of each selection: of each tensor, or of all tensors together when there is one count."""
    lengths = [residual.numel() for residual in residuals]
    if len(counts) == 1:
        lengths = [sum(lengths)]
    if max(lengths) > _LARGEST_DIMENSION:
        raise ValueError(f"d = {max(lengths)} does not fit int32 indices")
    return lengths


def _check_count(k: int, dimension: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= dimension:
        raise ValueError(f"k must be an integer with 1 <= k <= d = {dimension}, got {k!r}")


def _parameter(rule: Rule, k: int, dimension: int, threshold: float | None) -> float:
    if rule == "threshold":
        if threshold is None or not (math.isfinite(threshold) and threshold >= 0):
            raise ValueError(f"rule 'threshold' needs a finite threshold of at least 0, got {threshold}")
        return float(threshold)
    if threshold is not None:
        raise ValueError(f"rule {rule!r} takes no threshold, got {threshold}")
    return _quantile(k, dimension) if rule == "gaussian_k_released" else 0.0


def _capacity(rule: Rule, k: int, dimension: int, asked: int | None) -> int:
    """As many places as the rule can fill, but no more than were asked for."""
    if rule == "top_k":
        natural = k
    elif rule == "gaussian_k" and k < dimension:
        natural = min(dimension, 4 * k // 3)
    else:
        natural = dimension
    if asked is None:
        return natural
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
        raise ValueError(f"the capacity must be an integer of at least 1, got {asked!r}")
    return min(natural, asked)


def _for_each(given: _Number | Sequence[_Number] | None, count: int, name: str) -> Sequence[_Number | None]:
    """A number for each selection, where one for all or none was given."""
    if given is None or isinstance(given, int | float):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"{name} must be one number or {count}, got {len(given)}")
    return given


def _empty_memory(group_count: int, device: torch.device) -> Tensor:
    return torch.zeros((group_count, _MEMORY_COLUMN_COUNT), dtype=torch.int32, device=device)


def _refuse_non_finite(
    gradients: list[Tensor], residuals: list[Tensor], payloads: list[SparsePayload], report: Report
) -> None:
    """If a sum was not finite, put everything selected back and raise."""
    refused = [(group, row.first_non_finite) for group, row in enumerate(report.rows()) if row.first_non_finite >= 0]
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
    raise ValueError(f"entry {index} of tensor {position} is not finite: gradient + residual = {terms}")


def _put_back(residuals: list[Tensor], payload: SparsePayload) -> None:
    """Undo a selection: write the values of a payload to where they came from."""
    first = 0
    for residual in residuals:
        here = (payload.indices >= first) & (payload.indices < first + residual.numel())
        residual[payload.indices[here].long() - first] = payload.values[here]
        first += residual.numel()
