"""How large may a step be when updates are late? One worker on ½λx², every step size at once.

The largest stable step of runs, beside the statements `delayed_descent_limit` and `delayed_momentum_limit`: for delays
that are fixed, and for the uniform ones of `stale_descent.py` with the same mean, about which nothing is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log
from typing import Any

import torch
from torch import Tensor

from sparsync.experiments.training.seeding import random_stream
from sparsync.theory.statements import STATEMENTS

MOMENTA = (0.0, 0.9)
GRID_RATIO = 1.01
"""Between neighbouring steps that are tried: the resolution of a measured limit."""
SMALLEST_STEP, LARGEST_STEP = 0.003, 4.5
"""The ends of the grid; the largest limit is 2(1 + 0.9)."""
PERIOD_COUNT = 200
"""Length of a run, in units of (2τ + 1)/(1 − γ) steps: more than half a turn of the roots at the limit."""
LEAST_STEP_COUNT = 4000
"""Length at least, so that random delays average out."""


def limit_row(delay: int, momentum: float, *, seed: int) -> dict[str, Any]:
    """The largest stable ηλ at a mean delay: stated and measured for a fixed one, measured for a uniform one.

    Args:
        delay: τ; the uniform delays are drawn from {0, …, 2τ}.
        momentum: γ, of the worker.
        seed: of the uniform delays.
    """
    if momentum:
        stated = STATEMENTS["delayed_momentum_limit"].evaluate(delay=delay, momentum=momentum)
    else:
        stated = STATEMENTS["delayed_descent_limit"].evaluate(delay=delay)
    step_count = max(LEAST_STEP_COUNT, ceil(PERIOD_COUNT * (2 * delay + 1) / (1 - momentum)))
    drawn = torch.randint(2 * delay + 1, (step_count,), generator=random_stream(seed, "limit", delay))
    return {
        "delay": delay,
        "momentum": momentum,
        "stated": stated,
        "fixed": largest_stable_step([delay] * step_count, momentum=momentum),
        "uniform": largest_stable_step(drawn.tolist(), momentum=momentum),
    }


def largest_stable_step(delays: Sequence[int], *, momentum: float) -> float:
    """The largest step of the grid below which no run's model grows from its second quarter to its last.

    Args:
        delays: of the update of each step; a run is as long.
        momentum: γ: the update v_t = γ v_{t−1} − ηλ x_t arrives at step t + 1 + delay.
    """
    exponents = torch.arange(ceil(log(LARGEST_STEP / SMALLEST_STEP) / log(GRID_RATIO)), dtype=torch.float64)
    steps = SMALLEST_STEP * GRID_RATIO**exponents
    maxima = _quarter_maxima(steps, delays, momentum)
    # What overflowed is no number, and grows; what underflowed does not.
    grows = ~((maxima[3] < maxima[1]) | (maxima[3] == 0))
    return float(steps[int(grows.int().argmax()) - 1])


def _quarter_maxima(steps: Tensor, delays: Sequence[int], momentum: float) -> Tensor:
    """max |x| [4, m] over each quarter of the runs with m steps."""
    slots = torch.zeros(max(delays) + 2, len(steps), dtype=steps.dtype)
    model, velocity = torch.ones_like(steps), torch.zeros_like(steps)
    maxima = torch.zeros(4, len(steps), dtype=steps.dtype)
    for step, delay in enumerate(delays):
        velocity.mul_(momentum).addcmul_(steps, model, value=-1.0)
        slots[(step + 1 + delay) % len(slots)] += velocity
        arriving = slots[(step + 1) % len(slots)]
        model += arriving
        arriving.zero_()
        quarter = maxima[4 * step // len(delays)]
        torch.maximum(quarter, model.abs(), out=quarter)
    return maxima
