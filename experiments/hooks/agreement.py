"""Do all ranks send what belongs together? Asked once for each set of parameters that is exchanged, before it is sent.

Buffers of different lengths would hang or corrupt a collective; so ranks first compare one digest, in a header. Only
where it differs do they tell each other more, to name what it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist

from sparsync.experiments.averaging.header import Header, headers_in, require_common
from sparsync.experiments.averaging.messages import AllGather, Conversation
from sparsync.experiments.averaging.payloads import gathered_numbers
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call
from sparsync.experiments.training.collectives import converse


def require_agreement(
    parts: Mapping[str, object],
    *,
    what: str,
    group: dist.ProcessGroup | None,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> None:
    """All ranks call this with the same names of parts, and with equal values; waits for them.

    Args:
        parts: by name, what must be equal; compared as `repr` prints it.
        what: is about to happen, for the message.
        group: the ranks.
        timeout_seconds: how long they wait for each other.

    Raises:
        ValueError: on every rank alike, if a value differs from rank 0's; parts and ranks are named.
        ExchangeError: on every rank alike, if one of them is in another call, or does not come in time.
    """
    digests = [_digest(value) for value in parts.values()]
    device = torch.device("cuda" if dist.get_backend(group) == "nccl" else "cpu")
    everyone = converse(_compared(digests, what, device), Call(what, group, timeout_seconds))
    different = {
        part: ranks
        for place, part in enumerate(parts)
        if (ranks := [rank for rank, theirs in enumerate(everyone) if theirs[place] != everyone[0][place]])
    }
    if different:
        named = "; ".join(f"{part} of ranks {ranks}" for part, ranks in different.items())
        raise ValueError(f"{what}: {named} differ from those of rank 0")


def _compared(digests: Sequence[int], what: str, device: torch.device) -> Conversation[list[list[int]]]:
    """All ranks' digests; only this rank's if all are equal."""
    own = Header("agreement", 0, count=len(digests), checksum=_digest([*digests]))
    headers = headers_in((yield AllGather(own.message(device))), what)
    if len({header.checksum for header in headers}) == 1:
        return [[*digests]]
    require_common(f"{what}: ranks compare different numbers of parts", [header.count for header in headers])
    return (yield from gathered_numbers(digests, device))


def _digest(value: object) -> int:
    """64 bits that hardly any other value has."""
    return int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:8], "little", signed=True)
