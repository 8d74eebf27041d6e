"""Training with local steps: a small model, what it trains as one vector, and θ as another."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sparsync.experiments.local import OuterStep
from tests.support.hooks.training import loss_of

INNER, OUTER = 3, 4


def local_step(model: nn.Module, optimiser: torch.optim.Optimizer, step: int) -> None:
    """With a batch of this rank's own."""
    optimiser.zero_grad()
    loss_of(model, step).backward()
    optimiser.step()


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """Without frozen ones."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def flat(model: nn.Module) -> Tensor:
    """What is trained, as one vector; a copy."""
    return torch.cat([parameter.detach().flatten() for parameter in trainable(model)])


def anchor_of(outer: OuterStep) -> Tensor:
    """θ [d]."""
    return torch.cat([part.flatten() for part in outer.state_dict()["anchor"].values()])


def outer_of(model: nn.Module, options: dict[str, Any]) -> OuterStep:
    """With H inner steps unless told otherwise."""
    usual: dict[str, Any] = {"inner_steps": INNER}
    return OuterStep(model, **(usual | options))
