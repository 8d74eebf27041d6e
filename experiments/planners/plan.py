"""What does a planner say? What to do, how long that takes by part, what stands in the way of less, what would help.

A planner is a file here with one function `plan`, from what is asked to a `Plan`; `PLANNERS` in `registry.py` lists
them. All times are predictions of a model that the planner's file states. Ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class InfeasibleError(ValueError):
    """Nothing that can be chosen keeps a constraint; the message names it, what it allows, and what is needed."""


@dataclass(frozen=True)
class Plan:
    """A choice that no other is better than, by the planner's model.

    Args:
        planner: key of `PLANNERS`.
        choice: what to do, as JSON: decisions by name.
        objective: what the planner makes as small as can be, in the unit of its name; seconds unless its file says
            otherwise.
        parts: seconds by part; where parts overlap the planner's file says how they make up the whole.
        binding: constraints that the choice exhausts, so that less of what they allow would make the objective worse.
        remarks: a line each: what would change the plan, and what it would bring.
    """

    planner: str
    choice: Mapping[str, object]
    objective: float
    parts: Mapping[str, float]
    binding: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
