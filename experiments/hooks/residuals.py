"""The residuals of one rank, by the name of the parameter: saved and loaded whole, and carried to other world sizes.

A residual is kept as a vector in the order in which the parameter's entries lie in memory, as DDP's buckets are, and
saved in the parameter's own shape. So neither buckets, which DDP forms anew, nor memory formats matter to that.
A variant of error feedback may remember several such vectors of a parameter; all of them are kept so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.ef14 import Ef14
from sparsync.experiments.feedbacks.feedback import Feedback, Memory

Missing = Literal["error", "zero"]
Foreign = Literal["error", "drop"]


class Residuals:
    """What one rank has not sent yet, for every parameter with a residual; zeros at first.

    Args:
        parameters: all of a model that need a gradient, or this rank's shards of them, by name.
        feedback: the variant, which says what is remembered of a parameter.
    """

    def __init__(self, parameters: Mapping[str, Tensor], feedback: Feedback | None = None) -> None:
        self._parameters = dict(parameters)
        self.feedback = Ef14("outside") if feedback is None else feedback
        self._memories: dict[str, Memory] = {}

    def memory(self, name: str) -> Memory:
        """Vectors [numel] of a parameter, in the order of its memory; made where there are none yet, on its device now.

        It is the same dict at every call, whose vectors a step changes or replaces.

        Raises:
            ValueError: the parameter has moved to another device or changed its size since.
        """
        parameter = self._parameters[name]
        if name not in self._memories:
            self._memories[name] = self._zeros(parameter.numel(), parameter)
        found = self._memories[name]
        for vector in found.values():
            if vector.device != parameter.device or vector.numel() != parameter.numel():
                raise ValueError(
                    f"the residual of {name!r} has {vector.numel()} entries on {vector.device}, the parameter now "
                    f"{parameter.numel()} on {parameter.device}"
                )
        return found

    def pending(self, name: str) -> Tensor:
        """A copy of what is not yet sent of a parameter, in its shape; zeros where nothing is remembered of it."""
        parameter, memory = self._parameters[name], self._memories.get(name)
        if memory is None:
            return torch.zeros_like(parameter, requires_grad=False)
        return _as_parameter(self.feedback.pending(memory), parameter)

    def shaped(self) -> dict[str, Tensor]:
        """Copies in the parameters' shapes, contiguous, by `keys`."""
        return {
            key: _as_parameter(memory[vector], self._parameters[name])
            for name, memory in self._memories.items()
            for key, (_, vector) in self._places([name]).items()
        }

    def keys(self, names: Iterable[str]) -> set[str]:
        """What is saved of parameters: a residual by the name, or "name.vector" for each vector of another variant."""
        return set(self._places(names))

    def owners(self, names: Iterable[str]) -> dict[str, str]:
        """The parameter of each key."""
        return {key: name for key, (name, _) in self._places(names).items()}

    def load(
        self,
        shaped: Mapping[str, Tensor],
        *,
        expected: Iterable[str],
        missing: Missing = "error",
        foreign: Foreign = "error",
    ) -> None:
        """Take over residuals as `shaped` returns them; nothing changes if one cannot be.

        Args:
            shaped: by key.
            expected: keys of the parameters that have a residual.
            missing: what is done for an expected one that is not there: "error", or "zero".
            foreign: what is done with one that is not expected: "error", or "drop", and what it owes is never sent.

        Raises:
            ValueError: one is missing, or is of no parameter that has one, or has another shape; each named.
        """
        wanted = set(expected)
        if (others := sorted(shaped.keys() - wanted)) and foreign == "error":
            named = ", ".join(map(repr, others))
            raise ValueError(f"no parameter with a residual is called {named}; foreign='drop' leaves it out")
        shaped = {key: saved for key, saved in shaped.items() if key in wanted}
        if missing == "error" and (absent := sorted(wanted - shaped.keys())):
            raise ValueError(f"no residual was saved for {', '.join(map(repr, absent))}; missing='zero' begins anew")
        places = self._places(self._parameters)
        for key, saved in shaped.items():
            shape = self._parameters[places[key][0]].shape
            if saved.shape != shape:
                raise ValueError(
                    f"the residual of {key!r} was saved with shape {tuple(saved.shape)}, the parameter has "
                    f"{tuple(shape)}"
                )
        self._memories.clear()
        for key, saved in shaped.items():
            name, vector = places[key]
            self.memory(name)[vector].copy_(_as_memory(saved, self._parameters[name]))

    def _zeros(self, count: int, like: Tensor) -> Memory:
        dtype = torch.promote_types(like.dtype, torch.float32)
        # A shard may be empty, a memory not.
        memory = self.feedback.memory(max(1, count), dtype=dtype, device=like.device)
        return {vector: zeros[:count] for vector, zeros in memory.items()}

    def _places(self, names: Iterable[str]) -> dict[str, tuple[str, str]]:
        """The parameter and the vector of each key."""
        vectors = list(self._zeros(1, torch.empty(0)))
        if self.feedback == Ef14("outside"):
            return {name: (name, vectors[0]) for name in names}
        return {f"{name}.{vector}": (name, vector) for name in names for vector in vectors}


def copied(memory: Memory, feedback: Feedback) -> Memory:
    """A memory as it is now, whatever a step does to it: the kernel changes a residual in place, no variant does."""
    return {name: vector.clone() if feedback.fusion is not None else vector for name, vector in memory.items()}


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
    also P′ times what the rounding took (but nothing below zero where ē is not). That sum is rounded once more, so that
    (1/P′) Σ e′ differs by half a unit in the last place of rank 0's, divided by P′. Copying eₚ to more ranks instead
    would lose part of what is pending. Estimates, momenta and mean squares are carried likewise: all variants but
    "rmsprop" are linear but for their selections, so their means over the ranks go on as they would have.

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
    first = (mean.double() + remainder).to(dtype)
    # Below the normal numbers a rounding is as large as the number, and a mean square must not become negative.
    return mean, torch.where(exact >= 0, first.clamp_min(0), first)
