"""What an exchange is made of: the gradients, the ranks, the rule that they follow, and what they are multiplied by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import Feedback, Memory
from sparsync.experiments.hooks.treatments import Treatment
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call
from sparsync.kernels.codec import Values

DENSE_IN_BUFFER = 4096
"""A dense parameter with more entries is all-reduced on its own: P ranks that gather it would receive P copies."""

Factor = float | Tensor
"""A number, or one [] on a device, float64, for which the host does not wait."""


@dataclass(frozen=True, eq=False)
class Piece:
    """One parameter's gradient in an exchange.

    Args:
        name: of the parameter.
        gradient: [numel], in the order of memory, a part of a bucket; the mean is written here.
        treatment: what is sent of it.
        memory: of the variant, vectors [numel]; None where nothing can stay behind.
    """

    name: str
    gradient: Tensor
    treatment: Treatment
    memory: Memory | None

    @property
    def is_packed(self) -> bool:
        """True iff its entries travel in the packed buffer."""
        if self.treatment == "dense":
            return self.gradient.numel() <= DENSE_IN_BUFFER
        return self.treatment != "excluded"


@dataclass(frozen=True, eq=False)
class Group:
    """The ranks that exchange.

    Args:
        process_group: None is the default one.
        rank: of this process in it.
        size: P.
        timeout_seconds: how long they wait for each other in an exchange.
    """

    process_group: dist.ProcessGroup | None
    rank: int
    size: int
    timeout_seconds: float = TIMEOUT_SECONDS

    def call(self, title: str) -> Call:
        """What is sent in the background; an error begins with the title."""
        return Call(title, self.process_group, self.timeout_seconds, is_background=True)


@dataclass(frozen=True)
class Rule:
    """How entries are selected, sent and remembered, the same on every rank.

    Args:
        selector: a key of `SELECTORS`.
        feedback: the variant of all memories.
        values: a key of `VALUE_CODES`.
        seed: names the draws of a random selector.
        is_joint: one selection from all pieces of a density, instead of one from each.
    """

    selector: str
    feedback: Feedback
    values: Values
    seed: int
    is_joint: bool


@dataclass(frozen=True, eq=False)
class Scaling:
    """What gradients are multiplied by.

    Args:
        clip: factor of all gradients before the selection, at most 1.
        loss_scale: gradients come multiplied by it; residuals are kept, and entries sent, without.
    """

    clip: Factor = 1.0
    loss_scale: Factor = 1.0

    @property
    def on_device(self) -> list[Tensor]:
        """The factors that are no numbers of the host."""
        return [factor for factor in (self.clip, self.loss_scale) if isinstance(factor, Tensor)]


def multiply(vectors: list[Tensor], factor: Factor) -> None:
    """Vectors of one dtype, in place; a factor on their device gives the bits of the same number on the host."""
    if not vectors or (not isinstance(factor, Tensor) and factor == 1):
        return
    dtype = vectors[0].dtype
    wide = torch.promote_types(dtype, torch.float32)
    if wide == dtype:
        torch._foreach_mul_(vectors, factor.to(dtype) if isinstance(factor, Tensor) else factor)
        return
    # Unless it has a dimension, a factor is rounded to the vectors' dtype.
    own = factor.to(wide).view(1) if isinstance(factor, Tensor) else vectors[0].new_full((1,), factor, dtype=wide)
    for vector in vectors:
        vector.mul_(own)


def averages_of(pieces: Sequence[Piece]) -> list[float]:
    """A number for each mean of all ranks' estimates that a variant remembers; of equal means they are equal."""
    memories = [piece.memory for piece in pieces if piece.memory is not None]
    return [float(memory["average"].sum(dtype=torch.float64)) for memory in memories if "average" in memory]
