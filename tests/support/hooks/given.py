"""A model whose gradients are what it is given: of every kind that an exchange tells apart, and spoilt where asked."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from sparsync.experiments.hooks.treatments import Treatment

SHAPES = {"wide": (5, 8), "long": (40, 2), "bias": (7,), "head": (6, 700), "tall": (50, 3)}
"""Of which a bias travels whole in the packed buffer; with `RULES` a head is all-reduced."""
RULES: dict[str, Treatment] = {"head": "dense"}
Kind = Literal["ordinary", "unused", "half used", "nan", "infinite bias", "infinite head", "huge"]
"""All are finite but those that are spoilt on one rank; of huge ones so are no two added."""
SPOILT: dict[Kind, tuple[int, str]] = {"nan": (1, "wide"), "infinite bias": (0, "bias"), "infinite head": (1, "head")}
"""On which rank, and where."""


class Given(nn.Module):
    """Parameters of zeros."""

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        for name, shape in SHAPES.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape, dtype=dtype)))

    def forward(self, gradients: dict[str, Tensor]) -> Tensor:
        return torch.stack([(p * gradients[name]).sum() for name, p in self.named_parameters()]).sum()


def gradients_of(
    kind: Kind, step: int, rank: int, dtype: torch.dtype = torch.float32, *, unit: float = 1.0
) -> dict[str, Tensor]:
    """Those of a rank: whole numbers of a unit, of which many are alike, some zero and a few far larger."""
    stream = torch.Generator().manual_seed(100 * step + rank)
    drawn = {name: torch.randint(-9, 10, shape, generator=stream) for name, shape in SHAPES.items()}
    gradients = {name: whole.to(dtype) ** 3 * unit for name, whole in drawn.items()}
    if kind == "unused" or (kind == "half used" and rank == 0):
        gradients["long"].zero_()
    if kind == "huge" and rank == 0:
        gradients["tall"].fill_(0.75 * torch.finfo(dtype).max)
    if kind in SPOILT and SPOILT[kind][0] == rank:
        gradients[SPOILT[kind][1]].view(-1)[3] = torch.nan if kind == "nan" else torch.inf
    return gradients
