"""What ranks tell each other in an outer step: a message of the codec each, and before it a header with its length.

The model has a device, a process group serves devices, and the codec works on CPUs. So entries come to the CPU, bytes
travel on a device that the group serves, and means go back to the model's; each of that waits. An outer step is rare.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.checksum import checksum
from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES, begun
from sparsync.experiments.averaging.header import Header
from sparsync.experiments.averaging.messages import AllGather, Conversation, Place
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call
from sparsync.experiments.training.collectives import converse
from sparsync.kernels.codec import Indices, Values, decode, encode_into, encoded_bound
from sparsync.kernels.payload import SparsePayload

KIND = "outer step"
"""What headers call it."""


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
    message: Tensor,
    step: int,
    *,
    dimension: int,
    group: dist.ProcessGroup | None,
    near: torch.device,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> tuple[list[Tensor], int]:
    """Every rank's message, on the CPU, and how many bytes this rank handed to collectives. Every rank calls this.

    Args:
        message: [n] uint8 on the CPU; without a byte it says that its rank has nothing finite to send.
        step: of the rank.
        dimension: of what messages stand for.
        group: the ranks; None is the default group.
        near: the model's device.
        timeout_seconds: how long ranks wait for each other.

    Raises:
        ExchangeError: on every rank alike, if ranks are at different steps, a message is not what was sent, or a rank
            does not come in time.
        FloatingPointError: on every rank alike, if a rank has nothing finite to send.
    """
    device = served_device(dist.get_backend_config(group), near)
    place = Place(dist.get_rank(group), dist.get_world_size(group))
    said = Header(KIND, step, dimension=dimension, count=len(message), checksum=_checksum(message))
    call = Call(said.title, group, timeout_seconds)
    messages = converse(_exchanged(message, said, place, device), call)
    return messages, ENVELOPE_BYTES + max(map(len, messages))


def _exchanged(message: Tensor, said: Header, place: Place, device: torch.device) -> Conversation[list[Tensor]]:
    """Every rank's message, on the CPU, once all have received what was sent."""
    exchange = yield from begun(said, place, device)
    lengths = exchange.counts
    if lost := [rank for rank, length in enumerate(lengths) if length == 0]:
        raise FloatingPointError(f"step {said.step}: what ranks {lost} would send of their parameters is not finite")
    padded = torch.nn.functional.pad(message.to(device), (0, max(lengths) - len(message)))
    gathered = yield AllGather(padded)
    messages = [theirs.cpu()[:length] for theirs, length in zip(gathered, lengths, strict=True)]
    for rank, (theirs, told) in enumerate(zip(messages, exchange.checksums, strict=True)):
        if _checksum(theirs) != told:
            exchange.blame(rank)
    yield from exchange.close()
    return messages


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


def _checksum(message: Tensor) -> int:
    return int(checksum(message)) if len(message) else 0
