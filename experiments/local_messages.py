"""What ranks tell each other in an outer step: a message of the codec each, and before it how long that is.

The model has a device, a process group serves devices, and the codec works on CPUs. So entries come to the CPU, bytes
travel on a device that the group serves, and means go back to the model's; each of that waits. An outer step is rare.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.training.collectives import begin_all_gather
from sparsync.kernels.codec import Indices, Values, decode, encode_into, encoded_bound
from sparsync.kernels.payload import SparsePayload


def served_device(configuration: str, near: torch.device) -> torch.device:
    """Where bytes are when a process group sends them: on the CPU if it serves that, else near the model if it can.

    Args:
        configuration: of the group, as `torch.distributed.get_backend_config` has it: "cpu:gloo,cuda:gloo" or
            "cuda:nccl".
        near: the model's device.
    """
    kinds = [pair.partition(":")[0] for pair in configuration.split(",")]
    if "cpu" in kinds:
        return torch.device("cpu")
    return near if near.type in kinds else torch.device(kinds[0])


def encoded(payload: SparsePayload, *, values: Values, positions: Indices) -> tuple[Tensor, SparsePayload]:
    """The message [n] uint8 on the CPU, and what every rank reads of it, on the payload's device; waits for that.

    Args:
        payload: on any device.
        values: as in `encode`.
        positions: as `indices` in `encode`.

    Raises:
        ValueError: as `encode`; of what a selector returned, only that a value is not finite in the dtype that is sent.
    """
    host = _moved(payload, torch.device("cpu"))
    room = encoded_bound(host.count, host.dimension, values=values, indices=positions, dtype=host.values.dtype)
    buffer = torch.empty(room, dtype=torch.uint8)
    length = encode_into(host, buffer, values=values, indices=positions)
    return buffer[:length], _moved(decode(buffer), payload.values.device)


def gathered(
    message: Tensor, step: int, *, group: dist.ProcessGroup | None, near: torch.device
) -> tuple[list[Tensor], int]:
    """Every rank's message, on the CPU, and how many bytes this rank handed to collectives. Every rank calls this.

    Args:
        message: [n] uint8 on the CPU; without a byte it says that its rank has nothing finite to send.
        step: of the rank.
        group: the ranks; None is the default group.
        near: the model's device.

    Raises:
        ValueError: on every rank alike, if ranks are at different steps.
        FloatingPointError: on every rank alike, if a rank has nothing finite to send.
    """
    device = served_device(dist.get_backend_config(group), near)
    own = torch.tensor([len(message), step], device=device)
    everyone, future = begin_all_gather(own, group)
    future.wait()
    lengths, steps = everyone.T.tolist()
    if len({*steps}) > 1:
        raise ValueError(f"ranks exchange in different steps: {steps}, by rank")
    if lost := [rank for rank, length in enumerate(lengths) if length == 0]:
        raise FloatingPointError(f"step {step}: what ranks {lost} would send of their parameters is not finite")
    padded = torch.nn.functional.pad(message.to(device), (0, max(lengths) - len(message)))
    everyone, future = begin_all_gather(padded, group)
    future.wait()
    rows = zip(everyone.cpu(), lengths, strict=True)
    return [row[:length] for row, length in rows], own.nbytes + padded.nbytes


def mean_of(messages: Sequence[Tensor], like: Tensor) -> Tensor:
    """The mean [d] of the vectors that messages stand for, added in their order, of the dtype and device of `like`."""
    total = torch.zeros_like(like)
    for message in messages:
        sent = _moved(decode(message), like.device)
        # Indices are unique within a message, so no addition is lost.
        total[sent.indices.long()] += sent.values
    return total.div_(len(messages))


def _moved(payload: SparsePayload, device: torch.device) -> SparsePayload:
    return SparsePayload(payload.values.to(device), payload.indices.to(device), payload.dimension)
