"""Which density is best on a link, and when is it time to switch modes? Two planners beside their closed forms.

The planner `density` takes the steps of the tight rate, the closed form (`best_density`) those of N/δ, which are no
more. Both have the contraction δ = cκ/(1 + (c − 1)κ) of the steady state. The link is said by b/a: seconds of
exchanging every entry by an all-gather over those of computing. `sparse_overtakes_ring` says where the best density is
as quick as the ring that sends everything. The planner `switch_point` is asked about step sizes that fall to zero.
"""

from __future__ import annotations

import math
from typing import Any

from sparsync.experiments.planners import density, switch_point
from sparsync.theory.statements import STATEMENTS

GAINS = {"steady_drift": 3, "steady_noise": 6}
"""c, by the statement that gives δ."""
WORKERS = (2, 4, 8)
LINK_RATIOS = tuple(10 ** (place / 4) for place in range(-4, 17))
"""b/a."""
SWITCH_WORKERS = (8, 64)
LARGEST_STEP = 1.9
"""Of the step size times the largest curvature, at first; synchronous descent is stable below 2."""
_UPDATES = 1000
_SLOW_SECONDS = 1.5
"""Of a gradient, for one worker; the others take one second."""


def density_rates(dimension: int) -> list[dict[str, Any]]:
    """Both planner and closed form, by `law`, `workers` and `link_ratio`.

    Args:
        dimension: d.

    Returns:
        Of each its `density`, and `seconds_over_ring`: the least seconds with an all-gather over those
        of the ring; `stated_density` and `stated_over_ring`: the closed form's; `overtakes_at`: b/a beyond which an
        all-gather is sooner, None where it never is.
    """
    return [
        _rate(law, workers, link_ratio, dimension) for law in GAINS for workers in WORKERS for link_ratio in LINK_RATIOS
    ]


def switches() -> list[dict[str, Any]]:
    """By `workers`: what share of a run is `synchronous`, the `order`, and its seconds over those of no switch.

    `limit_share` is what the synchronous share tends to with many workers: asynchronous reports are stable up to a step
    of n · 2 sin(π/(2(2n − 1))), which tends to π/2.
    """
    return [_switch(workers) for workers in SWITCH_WORKERS]


def _rate(law: str, workers: int, link_ratio: float, dimension: int) -> dict[str, Any]:
    gain = GAINS[law]
    # An all-gather of all entries takes b = 64(n − 1)d bits, of a float32 and an int32 each; a is one second.
    bandwidth = 64 * (workers - 1) * dimension / link_ratio
    sparse, dense = (
        density.plan(density.Question(dimension, workers, bandwidth, 1.0, ratio=law, collectives=(name,)))
        for name in (density.SPARSE, density.DENSE)
    )
    stated = min(1.0, 1 / math.sqrt((gain - 1) * link_ratio))
    steps = (1 + (gain - 1) * stated) / (gain * stated)
    ring = 1 + link_ratio / workers
    return {
        "law": law,
        "workers": workers,
        "link_ratio": link_ratio,
        "density": sparse.choice["density"],
        "seconds_over_ring": sparse.objective / dense.objective,
        "stated_density": stated,
        "stated_over_ring": steps * (1 + stated * link_ratio) / ring,
        "overtakes_at": _overtakes_at(gain, workers),
    }


def _overtakes_at(gain: int, workers: int) -> float | None:
    if gain <= workers:
        return None
    return STATEMENTS["sparse_overtakes_ring"].evaluate(entry_gain=gain, n=workers)


def _switch(workers: int) -> dict[str, Any]:
    question = switch_point.Question(
        step_sizes=tuple(LARGEST_STEP * (1 - update / _UPDATES) for update in range(_UPDATES)),
        curvatures=(1.0,) * _UPDATES,
        worker_seconds=(*(1.0,) * (workers - 1), _SLOW_SECONDS),
    )
    found = switch_point.plan(question)
    synchronous: Any = found.choice["bsp_fraction"]
    return {
        "workers": workers,
        "order": found.choice["order"],
        "synchronous": synchronous,
        "largest_step": LARGEST_STEP,
        "slow_seconds": _SLOW_SECONDS,
        "seconds_over_synchronous": found.objective / switch_point.run_seconds(question, _UPDATES),
        "seconds_over_asynchronous": found.objective / switch_point.run_seconds(question, 0),
        "limit_share": 1 - math.pi / 2 / LARGEST_STEP,
    }
