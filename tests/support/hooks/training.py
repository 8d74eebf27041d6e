"""Training with the hook on real ranks, and what must hold after each step: created = sent + pending, on every rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import GradBucket
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.ddp import ErrorFeedbackState, error_feedback_hook

FEATURES, CLASSES = 12, 4
SMALL_BUCKET_BYTES = 1000


class Branches(nn.Module):
    """A small network; the branch is used if asked for, the frozen layer never learns."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(FEATURES, 16)
        self.frozen = nn.Linear(16, 16).requires_grad_(requires_grad=False)
        self.norm = nn.LayerNorm(16)
        self.branch = nn.Linear(16, 16, bias=False)
        self.last = nn.Linear(16, CLASSES)

    def forward(self, features: Tensor, *, with_branch: bool = True) -> Tensor:
        hidden = self.norm(torch.tanh(self.frozen(self.first(features))))
        if with_branch:
            hidden = hidden + self.branch(hidden)
        out: Tensor = self.last(hidden)
        return out


def seeded_model(make: Callable[[], nn.Module] = Branches) -> nn.Module:
    """The same on every rank."""
    torch.manual_seed(0)
    return make()


def batch(step: int, rank: int | None = None) -> tuple[Tensor, Tensor]:
    """Examples of a rank's own; None is this one."""
    stream = torch.Generator().manual_seed(1000 * step + (dist.get_rank() if rank is None else rank))
    features = torch.randn(6, FEATURES, generator=stream)
    return features, torch.randint(CLASSES, (6,), generator=stream)


def loss_of(model: Callable[..., Tensor], step: int, *, rank: int | None = None, **options: Any) -> Tensor:
    """Cross-entropy of a rank's batch; None is this one."""
    features, labels = batch(step, rank)
    return nn.functional.cross_entropy(model(features, **options), labels)


class Recorder(ErrorFeedbackState):
    """A state that notes what goes into the hook."""

    def __init__(self, model: nn.Module, **options: Any) -> None:
        super().__init__(model, **options)
        self.gradients: dict[str, Tensor] = {}
        self.before: dict[str, Tensor] = {}
        self.bucket_count = 0

    def names(self) -> list[str]:
        """Of the parameters that need a gradient."""
        return list(self._parameters)

    def communicate(self, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        """Note gradients and residuals, and go on."""
        self.bucket_count = bucket.index() + 1
        if bucket.index() == 0:
            self.gradients = {}
            self.before = {name: self.pending(name) for name in self.names()}
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
            self.gradients[self._names[parameter]] = gradient.clone()
        return super().communicate(bucket)


def hooked(model: nn.Module, state: ErrorFeedbackState, **ddp_options: Any) -> DistributedDataParallel:
    """The model under DDP with the hook, in buckets of few parameters."""
    ddp = DistributedDataParallel(model, **{"bucket_cap_mb": SMALL_BUCKET_BYTES / 2**20, **ddp_options})
    ddp.register_comm_hook(state, error_feedback_hook)
    return ddp


def wrapped(hook_options: Mapping[str, Any], ddp_options: Mapping[str, Any]) -> tuple[Any, Recorder]:
    """The seeded model under DDP with a recorder."""
    model = seeded_model()
    recorder = Recorder(model, **hook_options)
    return hooked(model, recorder, **ddp_options), recorder


def conserved(recorder: Recorder, parameters: Mapping[str, nn.Parameter]) -> list[str]:
    """Names of parameters for which the step lost or made something, in bits; the same answer on every rank.

    Args:
        recorder: after backward.
        parameters: by name, each with the gradient that the optimiser is given; None where DDP left it alone.
    """
    wrong = []
    for name in recorder.names():
        created = recorder.before[name] + recorder.gradients[name]
        kept = recorder.pending(name)
        # Every entry is either sent, and leaves a zero, or kept.
        sent = torch.where(kept == 0, created, 0)
        if not torch.equal(sent + kept, created):
            wrong.append(f"{name}: kept is neither created nor 0")
        everyone: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(everyone, sent)
        mean = torch.zeros_like(sent, dtype=torch.promote_types(sent.dtype, torch.float32))
        for theirs in everyone:
            mean += theirs
        arrived = parameters[name].grad
        # Formed in float32 and rounded to the gradient's dtype.
        mean = (mean / len(everyone)).to(recorder.gradients[name].dtype)
        if not torch.equal(mean.to(sent.dtype), torch.zeros_like(sent) if arrived is None else arrived.to(sent.dtype)):
            wrong.append(f"{name}: delivered is not the mean of what was sent")
    return wrong
