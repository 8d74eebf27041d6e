"""Addition whose last bits do not depend on the version of Python: what decides an event must not."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add


def sum_in_order(values: Iterable[float]) -> float:
    """Σ values, from left to right and rounded after each; from Python 3.12 on, `sum` compensates for the roundings."""
    return reduce(add, values, 0.0)
