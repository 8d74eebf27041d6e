"""The steps of the hook in a plain loop: all ranks in one process, with one `Feedback` object and no DDP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sparsync.experiments.feedbacks.feedback import Feedback, Memory
from sparsync.experiments.feedbacks.registry import new_feedback
from sparsync.kernels.codec import Values, quantised
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS, target_count
from tests.support.hooks.training import loss_of, seeded_model

Settings = dict[str, float]
DYADIC: dict[str, Settings] = {
    "ef14": {},
    "ef21": {},
    "ef21_sgdm": {"momentum": 0.25},
    "econtrol": {"control": 0.5},
    "dgc": {"momentum": 0.5},
    "decayed": {"decay": 0.5},
    "rmsprop": {"averaging": 0.5, "epsilon": 0.25},
}
"""Hyperparameters that no rounding follows, but where there are roots."""


class Played:
    """What all ranks would do with a feedback, parameter by parameter.

    Args:
        feedback: a key of `FEEDBACKS`, with `DYADIC` hyperparameters.
        density: k/d of matrices; others are dense.
        world_size: P.
        is_joint: one selection from all matrices.
        values: how they are sent. All that is sent in a step is one message of one block, so its order does not matter.
    """

    def __init__(
        self, feedback: str, *, density: float, world_size: int, is_joint: bool = False, values: Values = "exact"
    ) -> None:
        settings = tuple(DYADIC[feedback].items())
        self._feedback: Feedback = new_feedback(feedback, settings, step_location="outside")
        self._density, self._is_joint = density, is_joint
        self._values: Values = values
        self.memories: list[dict[str, Memory]] = [{} for _ in range(world_size)]

    def deliver(self, gradients: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """What the optimiser gets; gradients [ranks] by name. One that is zero everywhere has no part in the step."""
        sparse = [name for name, gradient in gradients[0].items() if gradient.ndim > 1 or self._feedback.is_update]
        unused = [name for name in gradients[0] if not any(g[name].any() for g in gradients)]
        before = [{name: dict(memory[name]) for name in unused if name in memory} for memory in self.memories]
        sent = [self._sent(rank, {name: g[name] for name in sparse}) for rank, g in enumerate(gradients)]
        delivered = {}
        for name, gradient in gradients[0].items():
            if name in unused:
                delivered[name] = torch.zeros_like(gradient)
                for memory, old in zip(self.memories, before, strict=True):
                    memory |= old
                continue
            parts = [theirs[name] for theirs in sent] if name in sparse else [g[name].flatten() for g in gradients]
            total = torch.zeros_like(parts[0])
            for part in parts:
                total += part
            mean = total / len(parts)
            if name in sparse:
                mean, *_ = [self._feedback.deliver(memory[name], mean) for memory in self.memories]
            delivered[name] = mean.view(gradient.shape)
        return delivered

    def _sent(self, rank: int, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What a rank sends of each parameter, as a vector."""
        corrected = {}
        for name, gradient in gradients.items():
            count = gradient.numel()
            own = self.memories[rank]
            if name not in own:
                own[name] = self._feedback.memory(count, dtype=gradient.dtype, device="cpu")
            corrected[name] = self._feedback.correct(own[name], gradient.flatten(), 1.0)
        matrices = [name for name, gradient in gradients.items() if gradient.ndim > 1]
        vectors = [name for name in gradients if name not in matrices]
        units = [names for names in (matrices, vectors) if names] if self._is_joint else [[name] for name in gradients]
        chosen = []
        for names in units:
            whole = torch.cat([corrected[name] for name in names])
            # Of vectors, if they are sent so, everything is.
            chosen.append(
                SELECTORS["top_k"](whole, target_count(1.0 if names[0] in vectors else self._density, len(whole)))
            )
        values = torch.cat([payload.values for payload in chosen])
        message = SparsePayload(values, torch.arange(len(values), dtype=torch.int32), 4096)
        arriving = quantised(message, values=self._values).values.split([payload.count for payload in chosen])
        sent = {}
        for names, payload, its_values in zip(units, chosen, arriving, strict=True):
            dense = SparsePayload(its_values, payload.indices, payload.dimension).dense()
            taken = torch.zeros_like(dense, dtype=torch.bool)
            taken[payload.indices.long()] = True
            sizes = [corrected[name].numel() for name in names]
            for name, part, here in zip(names, dense.split(sizes), taken.split(sizes), strict=True):
                places = here.nonzero().flatten().to(torch.int32)
                own_payload = SparsePayload(part[places.long()], places, len(part))
                self._feedback.settle(self.memories[rank][name], corrected[name], own_payload)
                sent[name] = part
        return sent


def gradients_of(model: nn.Module, step: int, rank: int, *, with_branch: bool) -> dict[str, Tensor]:
    """Those of one rank's batch, by name; zeros where a parameter is not used."""
    parameters = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    loss = loss_of(model, step, rank=rank, with_branch=with_branch)
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    return {
        name: torch.zeros_like(parameter) if gradient is None else gradient
        for (name, parameter), gradient in zip(parameters.items(), found, strict=True)
    }


def played_training(with_branch: Sequence[bool], **options: Any) -> tuple[dict[str, Tensor], list[dict[str, Memory]]]:
    """Train the seeded model with momentum, for each step with the branch or without.

    Returns:
        Parameters by name, and every rank's memories by name.
    """
    model, played = seeded_model(), Played(**options)
    parameters = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    optimiser = torch.optim.SGD(parameters.values(), lr=0.1, momentum=0.9)
    for step, is_used in enumerate(with_branch):
        ranks = range(len(played.memories))
        delivered = played.deliver([gradients_of(model, step, rank, with_branch=is_used) for rank in ranks])
        for name, parameter in parameters.items():
            # PyTorch leaves the gradient of what nobody used alone, and so does the optimiser.
            parameter.grad = None if name.startswith("branch") and not is_used else delivered[name].clone()
        optimiser.step()
    return {name: parameter.detach() for name, parameter in parameters.items()}, played.memories
