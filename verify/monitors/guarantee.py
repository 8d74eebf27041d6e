"""What does a policy promise of every run? The limits that monitors hold it to."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """What a policy promises of every run; infinity promises nothing.

    Args:
        gap: steps that a worker just finishing one may be ahead of the slowest worker alive.
        staleness: versions of the shared model between a message's reading and its application, while its sender is
            there: nobody waits for one that is gone.
        deferral: steps that a worker may finish between sending a message and its application, likewise.
        lossless: no message is dropped.
        preserves_mean: mixing keeps the sum of all models: its weights are doubly stochastic.
        remembers: workers forget nothing of what they have made; not so where a compressor has no memory.
        amplification: a message and what stays behind have together at most this many times the size of what was to be
            sent, size as in `Mass`: 1 where messages take some entries and leave the others as they are.
    """

    gap: float = math.inf
    staleness: float = math.inf
    deferral: float = math.inf
    lossless: bool = True
    preserves_mean: bool = True
    remembers: bool = True
    amplification: float = 1.0
