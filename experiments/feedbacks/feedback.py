"""What does a worker do with what it did not send? The protocol of all variants, and what they check.

gradient [d] → `correct` → corrected [d] → selector → `SparsePayload` → `settle`; mean of payloads [d] → `deliver`.
Where a variant has a `fusion`, one call of the kernel corrects, selects and settles, with the same bits.
A variant is a frozen dataclass of hyperparameters. What it remembers is a `Memory` of each worker: save it with the
parameters, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from sparsync.kernels.payload import SparsePayload

StepLocation = Literal["inside", "outside"]
"""Does the memory hold gradients times the step size, or gradients?"""

Memory = dict[str, Tensor]
"""Vectors [d] of one worker, by name. A variant replaces them and never changes one, so that a copy of the dict is one
of the memory. The kernel alone changes one: a residual that a `Fusion` gives it."""


@dataclass(frozen=True)
class Fusion:
    """`correct`, selection and `settle` as one call of `feedback_select`, with the same bits; for a residual u − C(u).

    Both functions get a copy of the worker's memory, which takes its place once something is selected. So what they
    replace is as it was where they or the kernel refuse; vectors that they put there themselves they may change.

    Args:
        addend: of that copy, a gradient [d] and a step size, as `correct` takes them: brings the memory up to date, and
            returns what the kernel is to add to its "residual" to get u, of a dtype that the residual can take.
        settle: of that copy and the payload, what is left to do then; None where it is nothing.
    """

    addend: Callable[[Memory, Tensor, float], Tensor]
    settle: Callable[[Memory, SparsePayload], None] | None = None


class Feedback(Protocol):
    """A variant; all workers of a run have the same one, and each a memory of its own."""

    @property
    def step_location(self) -> StepLocation:
        """Is the delivered mean subtracted from the parameters as it is (inside), or times the step size (outside)?"""
        ...

    @property
    def fusion(self) -> Fusion | None:
        """How the kernel does it; None where it cannot, as it only adds to a vector that loses what is selected."""
        ...

    @property
    def pends_remainder(self) -> bool:
        """Is what is `pending` u − C(u), once it is settled?"""
        ...

    @property
    def is_update(self) -> bool:
        """Is what it delivers an optimiser's update already, of which the optimiser only makes a step?"""
        ...

    def memory(self, dimension: int, *, dtype: torch.dtype, device: torch.device | str) -> Memory:
        """Zeros [dimension], from which every worker begins."""
        ...

    def correct(self, memory: Memory, gradient: Tensor, step_size: float) -> Tensor:
        """The vector [d] to select from, a new tensor; a variant with momentum moves it on in the memory."""
        ...

    def settle(self, memory: Memory, corrected: Tensor, payload: SparsePayload) -> None:
        """Remember what `payload` did not take of `corrected` [d]: all of it, less the payload's values.

        The values are those of `corrected`, or, where they are sent in fewer bits, what every receiver reads.
        """
        ...

    def deliver(self, memory: Memory, mean: Tensor) -> Tensor:
        """What the optimiser gets [d] where `mean` [d] is that of all payloads; alike on all workers. Not to change."""
        ...

    def pending(self, memory: Memory) -> Tensor:
        """What this worker still owes [d]; the variant says of which sum."""
        ...


def zeros(names: tuple[str, ...], dimension: int, *, dtype: torch.dtype, device: torch.device | str) -> Memory:
    """A memory of zeros [dimension] under these names.

    Raises:
        ValueError: `dimension` is no int of at least 1.
    """
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise ValueError(f"dimension must be an int of at least 1, got {dimension!r}")
    return {name: torch.zeros(dimension, dtype=dtype, device=device) for name in names}


def scaled(gradient: Tensor, step_size: float, *, like: Tensor, step_location: StepLocation) -> Tensor:
    """What a memory takes of a gradient: `addend_of`, in the dtype of `like`.

    Raises:
        ValueError: see `addend_of`.
    """
    return addend_of(gradient, step_size, like=like, step_location=step_location).to(like.dtype)


def addend_of(gradient: Tensor, step_size: float, *, like: Tensor, step_location: StepLocation) -> Tensor:
    """ηg inside, in the dtype of `like`; g itself outside, of a dtype whose values that holds.

    ηg is rounded before anything is added to it. One instruction for both, where a processor has it, rounds once.

    Args:
        gradient: g [d].
        step_size: η.
        like: a vector of the memory [d].
        step_location: where η stands.

    Raises:
        ValueError: `step_size` is not positive and finite, wherever it stands; `gradient` has not the shape of `like`,
            or values that its dtype cannot hold, or requires a gradient itself.
    """
    if not 0 < step_size < math.inf:
        raise ValueError(f"step_size must be positive and finite, got {step_size}")
    if gradient.shape != like.shape:
        raise ValueError(f"expected a gradient of shape {tuple(like.shape)}, got {tuple(gradient.shape)}")
    if torch.promote_types(gradient.dtype, like.dtype) != like.dtype:
        raise ValueError(f"a residual of {like.dtype} cannot take a gradient of {gradient.dtype}")
    if gradient.requires_grad:
        # The memory would hold the graphs of all steps.
        raise ValueError("the gradient requires a gradient; detach it")
    return gradient.to(like.dtype).mul(step_size) if step_location == "inside" else gradient


def require_step_location(step_location: str) -> None:
    """Refuse a place where no step size can stand.

    Raises:
        ValueError: neither "inside" nor "outside".
    """
    if step_location not in ("inside", "outside"):
        raise ValueError(f"step_location must be 'inside' or 'outside', got {step_location!r}")


def require_length(corrected: Tensor, like: Tensor) -> None:
    """Refuse to settle a vector of another length than the memory's.

    Raises:
        ValueError: `corrected` has not the shape of `like`.
    """
    if corrected.shape != like.shape:
        raise ValueError(f"expected a vector of shape {tuple(like.shape)}, got {tuple(corrected.shape)}")


def require_share(name: str, share: float, *, may_be_zero: bool = True) -> None:
    """Refuse a hyperparameter that is no share.

    Raises:
        ValueError: outside [0, 1], or 0 where that may not be.
    """
    if not (0 <= share <= 1 and (may_be_zero or share > 0)):
        raise ValueError(f"{name} must lie in {'[' if may_be_zero else '('}0, 1], got {share}")


def require_momentum(name: str, momentum: float) -> None:
    """Refuse a momentum that does not fade.

    Raises:
        ValueError: outside [0, 1).
    """
    if not 0 <= momentum < 1:
        raise ValueError(f"{name} must lie in [0, 1), got {momentum}")


def added(vector: Tensor, payload: SparsePayload, *, sign: int = 1) -> Tensor:
    """The vector [d] with a payload added, or with sign −1 subtracted; a new tensor.

    Raises:
        ValueError: the payload is of another dimension.
    """
    if vector.shape != (payload.dimension,):
        raise ValueError(f"expected a payload of dimension {vector.numel()}, got {payload.dimension}")
    # Indices are unique within a payload, so no addition is lost.
    return vector.index_add(0, payload.indices.long(), payload.values, alpha=sign)
