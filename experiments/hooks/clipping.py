"""By how much is a gradient shortened before the selection, so that one outlier does not fill the residual?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.training.collectives import begin_all_reduce

Clipping = Literal["local", "global"]


def clip_factor(
    gradients: Sequence[Tensor], norm: float, *, clip: Clipping, loss_scale: float, group: dist.ProcessGroup | None
) -> float:
    """min(1, norm/‖g‖); "global" waits for the other ranks.

    Args:
        gradients: all of this rank's; g is them divided by the loss scale.
        norm: the longest that g may be.
        clip: ‖g‖ is this rank's ("local"; Lin et al. 2018 clip so, before the gradient is added to the residual), or
            the root mean square of all ranks' norms ("global"), which is at least the norm of their mean.
        loss_scale: of the gradients.
        group: the ranks.

    Returns:
        The factor; 1 where the norm is not finite, which is for others to refuse.
    """
    own = torch.stack(torch._foreach_norm(list(gradients), 2, dtype=torch.float64))
    square = torch.linalg.vector_norm(own).square_()
    if clip == "global":
        begin_all_reduce(square, group).wait()
        square /= dist.get_world_size(group)
    length = math.sqrt(float(square)) / loss_scale
    return norm / length if norm < length < math.inf else 1.0
