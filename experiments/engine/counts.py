"""Is it a number of things? The checks of what users of the engine and of its policies set."""

from __future__ import annotations

import math


def require_count(name: str, value: object, *, least: int) -> None:
    """It is an int of at least `least`; True and False are none.

    Raises:
        ValueError: it is not, named with its value.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} must be an int, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def require_count_or_infinity(name: str, value: object, *, least: int) -> None:
    """It is a whole number of at least `least`, a float perhaps, or infinity.

    Raises:
        ValueError: it is not, named with its value.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not (value == math.inf or value % 1 == 0):
        raise ValueError(f"{name} must be a whole number or infinity, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
