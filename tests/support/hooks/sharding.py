"""Sharded training on a mesh of two by two real ranks; in each exchange created = sent + pending."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from sparsync.experiments.feedbacks.feedback import Memory
from sparsync.experiments.fsdp import ShardedErrorFeedback
from sparsync.experiments.hooks.residuals import copied
from sparsync.experiments.hooks.sharding import ShardGroup
from sparsync.kernels.payload import SparsePayload
from tests.support.hooks.training import loss_of

NAMES = ("replicate", "shard")


def mesh_of(replicas: int = 2, shards: int = 2) -> DeviceMesh:
    """(replicate, shard) of all ranks."""
    return init_device_mesh("cpu", (replicas, shards), mesh_dim_names=NAMES)


def uneven_model() -> nn.Sequential:
    """The same on every rank; two ranks share seven and five rows unevenly, and a single row not at all."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(12, 7), nn.Tanh(), nn.Linear(7, 1), nn.Linear(1, 5), nn.LayerNorm(5), nn.Linear(5, 4)
    )


def sharded_model(mesh: DeviceMesh, **options: Any) -> nn.Sequential:
    """The uneven one, sharded over a mesh in three groups."""
    model = uneven_model()
    for part in (model[0], [model[2], model[3]], model):
        fully_shard(part, mesh=mesh, **options)
    return model


def loss_now(model: nn.Module, step: int) -> Tensor:
    """Cross-entropy of this rank's batch."""
    return loss_of(model, step)


def local_parameters(model: nn.Module) -> list[Tensor]:
    """This rank's shards; copies."""
    return [shard_of(parameter).clone() for parameter in model.parameters()]


def shard_of(parameter: Tensor | None) -> Tensor:
    """This rank's, of a parameter or a gradient; not a copy."""
    assert isinstance(parameter, DTensor)
    local: Tensor = parameter.to_local()
    return local.detach()


class Recorder(ShardedErrorFeedback):
    """A state that fills padding with infinity, and compares what each exchange does with what its variant says."""

    def __init__(self, model: nn.Module, mesh: DeviceMesh, **options: Any) -> None:
        super().__init__(model, mesh, **options)
        self.wrong: list[str] = []
        self.padding_count = 0
        self.created: dict[str, Tensor] = {}
        self.delivered: dict[str, Tensor] = {}

    def _communicate(self, group: ShardGroup, reduced: Tensor) -> None:
        shards = {name: part.clone() for name, part in group.parts(reduced).items()}
        reduced.fill_(torch.inf)
        for name, part in group.parts(reduced).items():
            part.copy_(shards[name])
        self.padding_count += int(reduced.isinf().sum())
        held = self._held.get(group.name)
        if held is not None:
            shards = {name: part + shards[name] for name, part in group.parts(held).items()}
        step = self.step if group.name in self._in_step else self.step - 1
        before = {
            name: copied(self._residuals.memory(name), self._rule.feedback)
            for name, shard in shards.items()
            if shard.numel() and not isinstance(self._treatment(name, step), str)
        }
        super()._communicate(group, reduced)
        if group.holds_back():
            return
        for name, part in group.parts(reduced).items():
            self.delivered[name] = part.clone()
            self._compare(name, before.get(name), shards[name], part)

    def _compare(self, name: str, memory: Memory | None, gradient: Tensor, delivered: Tensor) -> None:
        sent, feedback = gradient, self._rule.feedback
        self.created[name] = gradient
        if memory is not None:
            self.created[name] = corrected = feedback.correct(memory, gradient, 1.0)
            empty = torch.empty(0, dtype=torch.int32)
            if_nothing_were_sent = dict(memory)
            feedback.settle(if_nothing_were_sent, corrected, SparsePayload(corrected[:0], empty, len(corrected)))
            kept = self._residuals.memory(name)
            is_sent = feedback.pending(kept) != feedback.pending(if_nothing_were_sent)
            payload = SparsePayload(corrected[is_sent], is_sent.nonzero().flatten().to(torch.int32), len(corrected))
            feedback.settle(memory, corrected, payload)
            sent = payload.dense()
        everyone: list[Any] = [None] * dist.get_world_size(self.process_group)
        dist.all_gather_object(everyone, sent, group=self.process_group)
        mean = torch.zeros_like(sent)
        for theirs in everyone:
            mean += theirs
        mean /= len(everyone)
        if memory is not None:
            mean = feedback.deliver(memory, mean)
            self.wrong += [
                f"step {self.step}, {name}: {vector} is not as defined"
                for vector, wanted in memory.items()
                if not torch.equal(wanted, self._residuals.memory(name)[vector])
            ]
        # Formed in float32 and rounded to the gradient's dtype.
        if not torch.equal(mean.to(delivered.dtype), delivered):
            self.wrong.append(f"step {self.step}, {name}: delivered is not the mean of what was sent")
