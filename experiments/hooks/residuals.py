"""The residuals of one rank, by the name of the parameter: saved and loaded whole, and carried to other world sizes.

A residual is kept as a vector in the order in which the parameter's entries lie in memory, as DDP's buckets are, and
saved in the parameter's own shape. So neither buckets, which DDP forms anew, nor memory formats matter to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

Missing = Literal["error", "zero"]


class Residuals:
    """What one rank has not sent yet, for every parameter with a residual; zeros at first.

    Args:
        parameters: all of a model that need a gradient, or this rank's shards of them, by name.
    """

    def __init__(self, parameters: Mapping[str, Tensor]) -> None:
        self._parameters = dict(parameters)
        self._vectors: dict[str, Tensor] = {}

    def vector(self, name: str) -> Tensor:
        """e of a parameter, [numel], in the order of its memory; made where there is none yet, on its device now.

        Raises:
            ValueError: the parameter has moved to another device or changed its size since.
        """
        parameter = self._parameters[name]
        found = self._vectors.get(name)
        if found is None:
            dtype = torch.promote_types(parameter.dtype, torch.float32)
            found = self._vectors[name] = torch.zeros(parameter.numel(), dtype=dtype, device=parameter.device)
        if found.device != parameter.device or found.numel() != parameter.numel():
            raise ValueError(
                f"the residual of {name!r} has {found.numel()} entries on {found.device}, the parameter now "
                f"{parameter.numel()} on {parameter.device}"
            )
        return found

    def names(self) -> list[str]:
        """Of the parameters that have a residual by now."""
        return list(self._vectors)

    def replace(self, vectors: Mapping[str, Tensor]) -> None:
        """Put vectors, as `vector` returns them, back in place; others stay."""
        for name, vector in vectors.items():
            self._vectors[name].copy_(vector)

    def shaped(self) -> dict[str, Tensor]:
        """Copies in the parameters' shapes, contiguous, by name."""
        return {name: _as_parameter(vector, self._parameters[name]) for name, vector in self._vectors.items()}

    def load(self, shaped: Mapping[str, Tensor], *, expected: Iterable[str], missing: Missing = "error") -> None:
        """Take over residuals as `shaped` returns them; nothing changes if one cannot be.

        Args:
            shaped: by name.
            expected: the parameters that have a residual.
            missing: what is done for an expected one that is not there: "error", or "zero".

        Raises:
            ValueError: one is missing, or is of no parameter that has one, or has another shape; each named.
        """
        wanted = set(expected)
        if foreign := sorted(shaped.keys() - wanted):
            raise ValueError(f"no parameter with a residual is called {', '.join(map(repr, foreign))}")
        if missing == "error" and (absent := sorted(wanted - shaped.keys())):
            raise ValueError(f"no residual was saved for {', '.join(map(repr, absent))}; missing='zero' begins anew")
        for name, saved in shaped.items():
            if saved.shape != self._parameters[name].shape:
                raise ValueError(
                    f"the residual of {name!r} was saved with shape {tuple(saved.shape)}, the parameter has "
                    f"{tuple(self._parameters[name].shape)}"
                )
        self._vectors.clear()
        for name, saved in shaped.items():
            self.vector(name).copy_(_as_memory(saved, self._parameters[name]))


def _as_parameter(vector: Tensor, parameter: Tensor) -> Tensor:
    if parameter.is_contiguous():
        return vector.view(parameter.shape).clone()
    return vector.as_strided(parameter.shape, parameter.stride()).contiguous()


def _as_memory(saved: Tensor, parameter: Tensor) -> Tensor:
    saved = saved.to(parameter.device)
    if parameter.is_contiguous():
        return saved.reshape(-1)
    strided = torch.empty_strided(parameter.shape, parameter.stride(), dtype=saved.dtype, device=saved.device)
    return strided.copy_(saved).as_strided((parameter.numel(),), (1,))


def resized(states: Sequence[Mapping[str, Any]], world_size: int) -> list[dict[str, Any]]:
    """The states of all ranks of a run, for another number of ranks: what the mean still owes stays what it was.

    A mean over P ranks owes (1/P) Σ eₚ. Each of P′ ranks gets ē, that mean rounded to the residuals' dtype, and rank 0
    also P′ times what the rounding took, so that (1/P′) Σ e′ differs by one rounding of a term that is a rounding
    itself. Copying eₚ to more ranks instead would lose part of what is pending.

    Args:
        states: as `ErrorFeedbackState.state_dict` returns them, of every rank of one step.
        world_size: P′.

    Returns:
        A state for each new rank; the given ones are left alone.

    Raises:
        ValueError: `world_size` below 1; or the states are not of all ranks, each once, of one step and one model.
    """
    if world_size < 1:
        raise ValueError(f"world_size must be at least 1, got {world_size}")
    ordered = sorted(states, key=lambda state: int(state["rank"]))
    ranks = [int(state["rank"]) for state in ordered]
    sizes = {int(state["world_size"]) for state in ordered}
    if sizes != {len(ranks)} or ranks != list(range(len(ranks))):
        raise ValueError(f"expected every rank of one run once, got ranks {ranks} of world sizes {sorted(sizes)}")
    steps = {int(state["step"]) for state in ordered}
    if len(steps) > 1:
        raise ValueError(f"the states are of different steps: {sorted(steps)}")
    names = ordered[0]["residuals"].keys()
    if any(state["residuals"].keys() != names for state in ordered):
        raise ValueError("the states have residuals of different parameters")
    first: dict[str, Tensor] = {}
    others: dict[str, Tensor] = {}
    for name in names:
        exact = torch.stack([state["residuals"][name].double() for state in ordered]).sum(0).div_(len(ranks))
        others[name], first[name] = resized_by_mean(exact, ordered[0]["residuals"][name].dtype, world_size)
    common = {key: value for key, value in ordered[0].items() if key not in ("rank", "world_size", "residuals")}
    return [
        {
            **common,
            "rank": rank,
            "world_size": world_size,
            "residuals": {name: tensor.clone() for name, tensor in (others if rank else first).items()},
        }
        for rank in range(world_size)
    ]


def resized_by_mean(exact: Tensor, dtype: torch.dtype, world_size: int) -> tuple[Tensor, Tensor]:
    """ē, which every rank but the first gets, and what the first gets; see `resized`.

    Args:
        exact: the mean of all old residuals, float64.
        dtype: of the residuals.
        world_size: P′.
    """
    mean = exact.to(dtype)
    remainder = (exact - mean.double()).mul_(world_size)
    return mean, (mean.double() + remainder).to(dtype)
