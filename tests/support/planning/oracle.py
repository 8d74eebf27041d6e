"""What a planner's test needs to know: questions, the best answer by other means, and what more of a resource is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparsync.experiments.planners.plan import Plan


@dataclass(frozen=True)
class Oracle:
    """Other ways to the same optimum.

    Args:
        small: draws a question that can be answered by trying everything; some of them cannot be met.
        brute: the least objective over all choices, or None if there is none that keeps every constraint.
        medium: draws a larger question.
        program: the least objective by a linear or integer program in cvxpy, or None if it is infeasible.
        objective_of: the objective of a plan's choice, from the question alone; it fails an assertion where the choice
            breaks a constraint.
        more: the question with more of the resource in which the objective must not increase.
        tolerance: relative, of the program's solver; the planner itself is held to a few roundings.
    """

    small: Callable[[random.Random], Any]
    brute: Callable[[Any], float | None]
    medium: Callable[[random.Random], Any]
    program: Callable[[Any], float | None]
    objective_of: Callable[[Any, Plan], float]
    more: Callable[[Any, random.Random], Any]
    tolerance: float = 1e-6
