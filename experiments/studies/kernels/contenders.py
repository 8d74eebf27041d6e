"""Who is timed? The floor, our fused kernel with each rule, cold and warm, and what PyTorch offers for the same work.

Every contender changes the residuals in place: gradients are added and what was selected is set to zero. The floor only
adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.studies.kernels.laws import Case
from sparsync.experiments.studies.kernels.published import PUBLISHED, PublishedRule
from sparsync.kernels.chunks import chunked_top_k
from sparsync.kernels.native import Rule, SelectionState, feedback_select, feedback_select_many
from sparsync.kernels.payload import SparsePayload

Selection = tuple[Tensor, Tensor]
"""Values and indices of one group, in any order."""
Result = Sequence[SparsePayload | Selection]
Call = Callable[[list[Tensor], list[Tensor]], Result]
"""From gradients and residuals to what was selected of each group; empty where nothing is."""

FLOOR = "add"
"""The contender that every other is compared with: e += g, the 12 bytes an entry that nobody can avoid."""
COPY = "copy"
"""A copy from gradients to residuals, 8 bytes an entry: what the memory of a GPU can do."""
BYTES_PER_ENTRY = 12

_CAPACITY_FACTOR = 4


@dataclass(frozen=True, eq=False)
class Contender:
    """One way to do a step of error feedback.

    Args:
        name: of its rows.
        call: does the work; a warm contender remembers from call to call.
        rule: whose result it must give, bit for bit if `ours`; None where nothing is selected.
        ours: is it the fused kernel.
        remembers: does a call depend on the ones before it, in time and not in result.
        capacity: at most so many entries are returned per group; None: as many as the rule selects.
        threshold: of the rule `threshold`.
        prepare: done before a call's measured time begins, with the call's arguments.
    """

    name: str
    call: Call
    rule: Rule | PublishedRule | None = None
    ours: bool = False
    remembers: bool = False
    capacity: int | None = None
    threshold: float | None = None
    prepare: Callable[[list[Tensor], list[Tensor]], None] | None = None


def contenders(case: Case, *, threshold: float) -> list[Contender]:
    """All contenders that can do a case's work.

    Args:
        case: what they are timed on.
        threshold: magnitude that the rule `threshold` selects from; used on single vectors only.
    """
    found = [Contender(FLOOR, _add)]
    if case.steps[0][0][0].is_cuda:
        found.append(Contender(COPY, _copy))
    found += [our_contender(case, rule, warm=warm) for rule in ("gaussian_k", "top_k") for warm in (False, True)]
    if case.granularity != "whole":  # chunks of a whole model are no chunks of its tensors, which the kernel asks for
        found.append(our_contender(case, "chunked_top_k"))
    if case.granularity == "vector":
        capacity = min(case.dimension, _CAPACITY_FACTOR * case.target_counts[0])
        found.append(our_contender(case, "gaussian_k_released", capacity=capacity))
        found.append(our_contender(case, "threshold", capacity=capacity, threshold=threshold))
        if case.name == "gaussian":
            # What sorting adds depends on k alone, not on the law; the other two are here for their usual cost.
            found.append(Contender("torch.topk, sorted", _torch_topk(case, is_sorted=True), "top_k"))
            found.append(Contender("chunked_top_k, PyTorch", _chunked_top_k(case), "chunked_top_k"))
            found.append(Contender("DGC, PyTorch", _published(case, "dgc_released"), "dgc_released"))
            found.append(Contender("SIDCo, PyTorch", _published(case, "sidco_released"), "sidco_released"))
        found.append(Contender("released, PyTorch", _published(case, "gaussian_k_released"), "gaussian_k_released"))
    if case.granularity != "whole":
        found.append(Contender("torch.topk, unsorted", _torch_topk(case, is_sorted=False), "top_k"))
    return found


def our_contender(
    case: Case,
    rule: Rule,
    *,
    warm: bool = False,
    capacity: int | None = None,
    threshold: float | None = None,
) -> Contender:
    """The fused kernel with a rule; warm, it keeps one `SelectionState` through all its calls."""
    state = SelectionState() if warm else None
    counts = case.target_counts

    def select_vector(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        options: dict[str, Any] = {"state": state, "threshold": threshold, "capacity": capacity}
        return [feedback_select(gradients[0], residuals[0], counts[0], rule=rule, **options)]

    def select_tensors(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        return feedback_select_many(gradients, residuals, counts, rule=rule, state=state)

    def select_whole(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        return [feedback_select_many(gradients, residuals, counts[0], rule=rule, state=state)]

    calls: dict[str, Call] = {"vector": select_vector, "tensors": select_tensors, "whole": select_whole}
    mode = "warm" if warm else "cold"
    return Contender(
        name=f"{rule}, {mode}" if rule in ("gaussian_k", "top_k") else rule,
        call=calls[case.granularity],
        rule=rule,
        ours=True,
        remembers=warm,
        capacity=capacity,
        threshold=threshold,
    )


def selections(result: Result) -> list[Selection]:
    """Values and indices of every group; on a GPU this waits for them."""
    return [(item.values, item.indices) if isinstance(item, SparsePayload) else item for item in result]


def pass_counts(result: Result) -> list[int]:
    """Streaming passes over each group's entries, where the contender counts them."""
    return list(_known(item.streaming_pass_count for item in result if isinstance(item, SparsePayload)))


def _known(counts: Iterable[int | None]) -> Iterable[int]:
    return (count for count in counts if count is not None)


def _add(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
    if len(residuals) == 1:
        residuals[0].add_(gradients[0])
    else:
        # torch's optimisers use it, but no public name leads to it.
        torch._foreach_add_(residuals, gradients)  # pyright: ignore[reportPrivateImportUsage]
    return []


def _copy(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
    for residual, gradient in zip(residuals, gradients, strict=True):
        residual.copy_(gradient)
    return []


def _take(residual: Tensor, indices: Tensor) -> Selection:
    values = residual[indices]
    residual[indices] = 0
    return values, indices


def _torch_topk(case: Case, *, is_sorted: bool) -> Call:
    def call(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        _add(gradients, residuals)
        groups = zip(residuals, case.target_counts, strict=True)
        return [_take(residual, residual.abs().topk(k, sorted=is_sorted).indices) for residual, k in groups]

    return call


def _chunked_top_k(case: Case) -> Call:
    def call(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        _add(gradients, residuals)
        payload = chunked_top_k(residuals[0], case.target_counts[0])
        residuals[0][payload.indices.long()] = 0
        return [payload]

    return call


def _published(case: Case, rule: PublishedRule) -> Call:
    def call(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        _add(gradients, residuals)
        return [_take(residuals[0], PUBLISHED[rule](case, residuals[0]))]

    return call
