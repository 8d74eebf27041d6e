"""Small result files of the studies `switching` and `budgets`, with numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

from paper.studies.budgets import PROBLEMS
from paper.studies.switching import CLUSTERS, CONDITIONS

SHARES = (0.125, 0.5)
ORDERS = (
    "synchronous_first",
    "synchronous_first_falling",
    "asynchronous_first",
    "asynchronous_first_falling",
)
ERRORS = {
    "asp": [0.2, 0.4],
    "bsp": [0.5, 0.7],
    "synchronous_first": [0.1, 0.3],
    "synchronous_first_falling": [0.4, 0.4],
    "asynchronous_first": [0.2, 0.2],
    "asynchronous_first_falling": [0.3, 0.1],
}
"""At the end, of two seeds, everywhere alike."""
RULES = ("bsp", "local 16")
DENSITIES = (0.01, 1.0)


def switching_record(profile: str = "quick") -> dict[str, Any]:
    """The content of `switching.json`."""
    contestants = [("asp", 0.0), ("bsp", 1.0), *((order, share) for order in ORDERS for share in SHARES)]
    return {
        "profile": profile,
        "worker_count": 4,
        "seed_count": 2,
        "seconds": [0.0, 24.0, 48.0],
        "runs": [
            {
                "condition": condition,
                "cluster": cluster,
                "order": order,
                "share": share,
                "end_error": ERRORS[order],
                "seconds_to_target": seconds_to_target(order, share),
                "is_largest_step": share == max(SHARES),
            }
            for condition in CONDITIONS
            for cluster in CLUSTERS
            for order, share in contestants
        ],
        "frontier": [
            limit(policy, cluster, count, momentum)
            for policy, cluster, count in (
                ("bsp", "equal", 2),
                ("asp", "equal", 1),
                ("asp", "equal", 4),
                ("asp", "one_slow", 4),
                ("asp", "pareto", 4),
            )
            for momentum in (0.0, 0.9)
        ],
        "limits": [
            {"momentum": momentum, "worker_count": [1, 4], "limit": [2 + momentum, 1 + momentum]}
            for momentum in (0.0, 0.9)
        ],
    }


def seconds_to_target(order: str, share: float) -> float | None:
    """BSP gets to the mean of its last errors before it ends."""
    if (order, share) == ("synchronous_first_falling", 0.5):
        return None
    return 36.0 if order == "bsp" else 24.0


def limit(policy: str, cluster: str, count: int, momentum: float) -> dict[str, Any]:
    """What was found of a largest step size: a hundredth above the formula, where there is one."""
    predicted = (2 if policy == "bsp" or count == 1 else 1) * (1 + momentum)
    return {
        "policy": policy,
        "cluster": cluster,
        "worker_count": count,
        "momentum": momentum,
        "measured": 1.01 * predicted,
        "predicted": predicted if cluster == "equal" else None,
    }


def budgets_record(profile: str = "quick") -> dict[str, Any]:
    """The content of `budgets.json`."""
    grid = [(rule, density) for rule in RULES for density in DENSITIES]
    predictors = ("perturbation", "energy_by_perturbation", "observed", "energy_by_observed", "steps_per_worker")
    return {
        "profile": profile,
        "worker_count": 4,
        "seed_count": 2,
        "dense_seconds": 8.0,
        "simulated_seconds": 48.0,
        "step_sizes": {problem: [0.1, 0.5, 1.5] for problem in PROBLEMS},
        "cells": [
            cell(problem, rule, density, [place + 0.1, place + 0.3])
            for problem in PROBLEMS
            for place, (rule, density) in enumerate(grid)
        ],
        "lines": [
            cell(problem, "local 16" if period > 1 else "bsp", 0.01 * period, [error, error], period=period)
            for problem in PROBLEMS
            for period, error in ((1, 2.0), (16, 3.0))
        ],
        "agreement": {
            problem: {
                **dict.fromkeys(predictors, 0.25),
                "best": ["bsp", 0.01],
                "predicted_best": ["bsp", 1.0],
                "excess": 6.0,
            }
            for problem in PROBLEMS
        },
    }


def cell(problem: str, rule: str, density: float, errors: list[float], *, period: int | None = None) -> dict[str, Any]:
    """A contestant of the grid or of a line."""
    return {
        "problem": problem,
        "rule": rule,
        "period": period or (16 if rule == "local 16" else 1),
        "density": density,
        "step_size": 0.5,
        "end_error": errors,
        "residual_steps": 0.0 if density == 1 else 2.0,
        "perturbation": 100.0 / (period or 1),
        "steps_per_worker": 20.0,
    }
