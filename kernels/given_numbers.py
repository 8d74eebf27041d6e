"""Numbers as callers give them: may one be a threshold, and how does a message show one that is refused?"""

from __future__ import annotations

import math

from torch import Tensor

_LONGEST_BIT_COUNT = 64


def is_threshold(given: object) -> bool:
    """Is it a finite number of at least 0, or a tensor of one such entry? A string of digits is no number."""
    if isinstance(given, Tensor) and given.numel() != 1:
        return False
    try:
        return math.isfinite(given) and bool(given >= 0)  # type: ignore[arg-type, operator]
    except (TypeError, ValueError, OverflowError):
        # No number, or an int beyond float64.
        return False


def shown(given: object) -> str:
    """Its `repr`; of an int beyond 64 bits how long it is, since Python prints no more than 4300 digits."""
    if isinstance(given, int) and given.bit_length() > _LONGEST_BIT_COUNT:
        return f"an int of {given.bit_length()} bits"
    return repr(given)
