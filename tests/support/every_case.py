"""Every call that the kernels are held to, by name, and what the definition makes of it."""

from __future__ import annotations

import functools

from torch import Tensor

from sparsync.kernels.feedback_reference import feedback_select_
from tests.support.edge_cases import edge_cases
from tests.support.feedback_cases import all_cases, outcome

CASES = all_cases() | edge_cases()


@functools.cache
def expected(name: str) -> list[Tensor]:
    """Computed once in a process; not to be changed."""
    return outcome(feedback_select_, CASES[name])
