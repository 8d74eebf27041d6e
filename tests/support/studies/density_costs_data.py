"""An example of the result of the study `density_costs`, with numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

SEEDS = (0, 1)
DENSITIES = (0.001, 0.01)


def density_costs_record(profile: str = "record") -> dict[str, Any]:
    """FNN-3 with its best step size, where Top-k ends 0.02 lower than dense and should end 0.01 higher; no other."""
    return {
        "profile": profile,
        "worker_count": 4,
        "seeds": list(SEEDS),
        "window_share": 0.5,
        "networks": [comparison_record("fnn3", 1.0)],
        "momentum": [
            {
                "momentum": momentum,
                "density": density,
                "step_size": step_size,
                "is_at_edge": False,
                "tried": [],
                "test_loss": [0.5 - momentum / 10, 0.6 - momentum / 10],
            }
            for momentum, step_size in ((0.0, 0.4), (0.9, 0.1))
            for density in (None, 0.01, 0.001)
        ],
    }


def comparison_record(model: str, share: float) -> dict[str, Any]:
    """A network at a share of its best step size: lags of 0.1/κ and of 0.2/κ are said, and −1 and −2 are measured."""
    return {
        "model": model,
        "data": "embedded",
        "batch_size": 32,
        "steps": 4,
        "step_share": share,
        "step_size": 0.4 * share,
        "is_at_edge": False,
        "tried": [],
        "dimension": 6000,
        "gradient_count": 6,
        "evaluate_every": 2,
        "curve": [[2.0, 1.0, 0.5]] * len(SEEDS),
        "laws": [],
        "densities": [
            {
                "density": density,
                **{
                    source: {"predicted_lag": [0.1 / density, 0.2 / density], "predicted": [0.01, 0.01]}
                    for source in ("point", "path")
                },
                "measured": [-0.02, -0.02],
                "measured_lag": {"point": [-1.0, -2.0], "path": [None, None]},
            }
            for density in DENSITIES
        ],
        "computed_on": ["Test & Sons 100%"],
    }
