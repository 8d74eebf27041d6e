"""What are gradients multiplied by before the selection, so that no loss scale and no outlier fills the residual?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.hooks.pieces import Factor, Scaling
from sparsync.experiments.training.arrivals import Call
from sparsync.experiments.training.collectives import add_over_ranks

Clipping = Literal["local", "global"]


def scaling_of(
    gradients: Sequence[Tensor],
    *,
    scaler: torch.amp.GradScaler | None,
    clip_norm: float | None,
    clip: Clipping,
    call: Call,
    waits: bool,
) -> Scaling:
    """What all gradients of a step are multiplied by.

    Args:
        gradients: all of this rank's.
        scaler: of the losses.
        clip_norm: the longest that they may be; None does not clip.
        clip: by whose norm, see `clip_factor`.
        call: to the other ranks.
        waits: for the device, so as to have numbers; else they stay there.
    """
    loss_scale: Factor = 1.0
    if scaler is not None:
        one = torch.ones((), dtype=torch.float64, device=gradients[0].device)
        # What scales losses says by how much, without a wait.
        loss_scale = float(scaler.get_scale()) if waits else scaler.scale(one)
    if clip_norm is None:
        return Scaling(loss_scale=loss_scale)
    factor = clip_factor(gradients, clip_norm, clip=clip, loss_scale=loss_scale, call=call)
    return Scaling(float(factor) if waits else factor, loss_scale)


def clip_factor(gradients: Sequence[Tensor], norm: float, *, clip: Clipping, loss_scale: Factor, call: Call) -> Tensor:
    """min(1, norm/‖g‖), [] float64 on their device; "global" waits for the other ranks, but for no GPU.

    Args:
        gradients: all of this rank's; g is them divided by the loss scale.
        norm: the longest that g may be.
        clip: ‖g‖ is this rank's ("local"; Lin et al. 2018 clip so, before the gradient is added to the residual), or
            the root mean square of all ranks' norms ("global"), which is at least the norm of their mean.
        loss_scale: of the gradients.
        call: to the other ranks.

    Returns:
        The factor; 1 where the norm is not finite, which is for others to refuse.
    """
    own = torch.stack(torch._foreach_norm(list(gradients), 2, dtype=torch.float64))
    square = torch.linalg.vector_norm(own).square_()
    if clip == "global":
        add_over_ranks(square, call)
        square /= dist.get_world_size(call.group)
    length = square.sqrt() / loss_scale
    is_longer = (norm < length) & length.isfinite()
    # A number over a tensor would be rounded twice.
    factor: Tensor = torch.full_like(length, norm) / length
    return factor.masked_fill(is_longer.logical_not(), 1.0)
