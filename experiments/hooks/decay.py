"""Which parameters does weight decay act on? Those that the hook sends sparsely by default: matrices, and no biases.

Decay belongs to the optimiser, after the exchange: added to a gradient before the selection, it would fill the residual
of entries that are seldom sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from torch import nn


def decay_groups(model: nn.Module, weight_decay: float, *, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Groups for an optimiser: `torch.optim.AdamW(decay_groups(model, 0.1), lr=…)`.

    Args:
        model: before or after it is wrapped.
        weight_decay: of all parameters but those of at most one dimension, as biases and the scales of norms.
        without: regular expressions, searched for in parameters' names; these have none either.

    Returns:
        Parameters that decay and those that do not, each once, in the model's order; frozen ones are left out, and so
        is an empty group.

    Raises:
        ValueError: `weight_decay` is negative or not finite, or an expression is none or fits no parameter.
    """
    if not 0 <= weight_decay < float("inf"):
        raise ValueError(f"weight_decay must be at least 0 and finite, got {weight_decay}")
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    spared = [name for name, parameter in named if parameter.ndim <= 1]
    for pattern in without:
        try:
            found = [name for name, _ in named if re.search(pattern, name)]
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        if not found:
            raise ValueError(f"{pattern!r} fits no parameter of the model")
        spared += found
    groups = [
        {"params": [p for name, p in named if name not in spared], "weight_decay": weight_decay},
        {"params": [p for name, p in named if name in spared], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]
