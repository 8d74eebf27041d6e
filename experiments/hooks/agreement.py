"""Do all ranks send what belongs together? Asked once for each set of parameters that is exchanged, before it is sent.

Buffers of different lengths would hang or corrupt a collective; so ranks first compare digests of a fixed length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
import torch.distributed as dist

from sparsync.experiments.training.collectives import begin_all_gather


def require_agreement(parts: Mapping[str, object], *, what: str, group: dist.ProcessGroup | None) -> None:
    """All ranks call this with the same names of parts, and with equal values; waits for them.

    Args:
        parts: by name, what must be equal; compared as `repr` prints it.
        what: is about to happen, for the message.
        group: the ranks.

    Raises:
        ValueError: on every rank alike, if a value differs from rank 0's; parts and ranks are named.
    """
    digests = [hashlib.sha256(repr(value).encode()).digest()[:8] for value in parts.values()]
    mine = torch.tensor([int.from_bytes(digest, "little", signed=True) for digest in digests])
    device = torch.device("cuda" if dist.get_backend(group) == "nccl" else "cpu")
    everyone, future = begin_all_gather(mine.to(device), group)
    future.wait()
    unlike = (everyone != everyone[0]).tolist()
    different = {
        part: [rank for rank, row in enumerate(unlike) if row[place]]
        for place, part in enumerate(parts)
        if any(row[place] for row in unlike)
    }
    if different:
        named = "; ".join(f"{part} of ranks {ranks}" for part, ranks in different.items())
        raise ValueError(f"{what}: {named} differ from those of rank 0")
