"""Independent random streams: every draw comes from a generator named by seed, purpose and rank.

Naming the stream, rather than drawing seeds from a seed, keeps one worker's draws independent of how many
workers there are and of the order in which they are made.
"""

from __future__ import annotations

import hashlib

import torch


def random_stream(seed: int, purpose: str, *numbers: int) -> torch.Generator:
    """A CPU generator whose draws depend on `seed`, `purpose` and `numbers` (a rank, an epoch) alone."""
    name = "/".join([str(seed), purpose, *map(str, numbers)])
    digest = hashlib.sha256(name.encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little", signed=True))
