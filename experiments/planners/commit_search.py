"""How many commits per period? A greedy search that judges a number by the curve of the loss that was seen under it.

`experiments/policies/adsp.py` drives it with alarms. Source: Hu, Wang, Wu 2020, whose programs fit the curve by least
squares; through three points it is determined, and here in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

Number = TypeVar("Number", float, Fraction)


@dataclass(frozen=True)
class Curve(Generic[Number]):
    """loss(t) = 1/(slope · t + offset) + floor, falling: slope > 0."""

    slope: Number
    offset: Number
    floor: Number

    def reward(self, target: Number) -> Number | float:
        """One over the time at which the loss is `target`: 0 if it never is, infinity if it was before time 0."""
        if target <= self.floor:
            return 0.0
        rise = 1 / (target - self.floor) - self.offset
        return self.slope / rise if rise > 0 else math.inf


def fitted_curve(points: Sequence[tuple[Number, Number]]) -> Curve[Number] | None:
    """The one curve through three points (time, loss) in order of time; None unless losses fall, ever more slowly.

    That 1/(loss − floor) is linear in time is, times the denominators, a linear equation for the floor.

    Raises:
        ValueError: not three points, or not in order of time.
    """
    times = [time for time, _ in points]
    if len(points) != 3 or not times[0] < times[1] < times[2]:
        raise ValueError(f"a curve needs three points in order of time, got {list(points)}")
    (first_time, first), (middle_time, middle), (last_time, last) = points
    before, after = middle_time - first_time, last_time - middle_time
    bend = after * first + before * last - (before + after) * middle
    if not first > middle > last or not bend > 0:
        return None
    floor = ((before + after) * first * last - middle * (after * last + before * first)) / bend
    if not last > floor:  # by rounding only
        return None
    slope = (1 / (last - floor) - 1 / (first - floor)) / (before + after)
    return Curve(slope, 1 / (first - floor) - slope * first_time, floor)


class CommitSearch:
    """Tries one commit more per period as long as that raises the reward: finds the maximiser of a unimodal reward.

    Args:
        target_loss: that training is to reach soon.
        commits: tried first.
    """

    def __init__(self, *, target_loss: float, commits: float = 1) -> None:
        self.target_loss = target_loss
        self.commits = commits
        """on trial; the best when the search is finished"""
        self.is_finished = False
        self._best_reward = -math.inf
        self._points: list[tuple[float, float]] = []

    def observe(self, time: float, loss: float) -> None:
        """The loss at the beginning, the middle or the end of a trial; an end is the beginning of the next trial.

        Times count from the beginning of training in all trials: counted from each trial's own beginning, rewards would
        grow by themselves as training comes closer to its target.
        """
        self._points.append((time, loss))
        if len(self._points) == 3:
            curve = fitted_curve(self._points)
            self.judge(curve.reward(self.target_loss) if curve else 0.0)
            del self._points[:2]

    def judge(self, reward: float) -> None:
        """What the number on trial is worth.

        Raises:
            ValueError: the search is finished.
        """
        if self.is_finished:
            raise ValueError(f"the search is finished, at {self.commits} commits")
        if reward > self._best_reward:
            self._best_reward = reward
            self.commits += 1
        else:
            self.commits -= 1
            self.is_finished = True
