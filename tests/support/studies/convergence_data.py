"""Small result files of the study `convergence`, with numbers that can be checked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ACCURACY = {
    "dense": (0.90, 0.92),
    "powersgd": (0.85, 0.85),
    "top_k": (0.80, 0.82),
    "random_k": (0.50, 0.60),
    "gaussian_k": (0.81, 0.80),
    "gaussian_k_released": (0.70, 0.82),
    "dgc_released": (0.80, 0.83),
    "sidco_adaptive": (0.79, 0.82),
    "dgc": (0.83, 0.86),
}
"""At the end, of even and of odd seeds; the loss is twice as much, of text too."""
COUNTS: dict[str, tuple[float, float, float, float]] = {
    "gaussian_k": (4 / 6, 5 / 6, 8 / 6, 1.0),
    "gaussian_k_released": (0.0, 0.25, 9.0, 0.25),
}
"""Smallest, median and largest count over k, and the share of the updates in range."""
STEPS = (300, 600)
PATH_BYTES = (10_000, 30_000)


def convergence_record(
    arena: str, profile: str, *, seeds: Sequence[int] = (0, 1), densities: Sequence[float] = (0.001, 0.01)
) -> dict[str, Any]:
    """An arena with all of `ACCURACY`, with and without momentum or with AdamW alone."""
    is_text = arena in ("gpt", "lstm")
    rules = ("adamw",) if is_text else ("plain", "momentum")
    return {
        "profile": profile,
        "arena": arena,
        "worker_count": 4,
        "setup": {
            "model": arena,
            "data": "text" if is_text else "embedded",
            "batch_size": 32,
            "steps": 600,
            "dimension": 6000,
            "train_count": 12000,
            "test_count": 2000,
        },
        "seeds": list(seeds),
        "tuning_seeds": [1000],
        "steps": list(STEPS),
        "contestants": [
            contestant_record(rule, method, density, seeds=seeds)
            for rule in rules
            for method in ACCURACY
            for density in ((None,) if method in ("dense", "powersgd") else densities)
        ],
        "processor_seconds": 100.0,
    }


def contestant_record(
    rule: str, method: str, density: float | None, *, seeds: Sequence[int] = (0, 1), **changes: Any
) -> dict[str, Any]:
    """What was found of a method; half of it was there halfway."""
    is_selecting = density is not None
    accuracy = [ACCURACY[method][seed % 2] for seed in seeds]
    smallest, median, largest, share = COUNTS.get(method, (1.0, 1.0, 1.0, 1.0))
    counts = {"smallest_count": smallest, "median_count": median, "largest_count": largest, "in_range_share": share}
    return {
        "optimiser": rule,
        "method": method,
        "density": density,
        "step_size": 0.1,
        "is_at_edge": method == "random_k",
        "tried": [{"step_size": 0.1, "test_loss": 1.0}, {"step_size": 0.2, "test_loss": None}],
        "tuned_on": ["A"],
        "rank": 2 if method == "powersgd" else None,
        "target_count": None if density is None else round(6000 * density),
        "test_loss": [2 * share for share in accuracy],
        "test_accuracy": accuracy,
        "sent_bytes": [50_000.0] * len(seeds),
        **{name: [value if is_selecting else None] * len(seeds) for name, value in counts.items()},
        "median_gain": [8.0 + seed if is_selecting else None for seed in seeds],
        "gain": [[10.0, 6.0 + seed] if is_selecting else None for seed in seeds],
        "path": {
            "test_loss": [[share, 2 * share] for share in accuracy],
            "test_accuracy": [[share / 2, share] for share in accuracy],
            "sent_bytes": [list(PATH_BYTES) for _ in seeds],
        },
        "computed_on": ["A"],
        **changes,
    }


def diverged(found: dict[str, Any], *, seed: int) -> dict[str, Any]:
    """The same with a seed that diverged after its first evaluation."""
    path = {
        name: [[values[0], None] if place == seed else values for place, values in enumerate(of_seeds)]
        for name, of_seeds in found["path"].items()
    }
    lost = {
        name: [None if place == seed else value for place, value in enumerate(found[name])]
        for name in ("test_loss", "test_accuracy")
    }
    return {**found, **lost, "path": path}
