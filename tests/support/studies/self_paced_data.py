"""A small result file of the study `self_paced`, with numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

ERRORS = {
    "plain": [0.4, 0.8],
    "self_paced": [0.1, 0.2],
    "huber": [0.2, 0.8],
    "clean": [0.05, 0.1],
}
"""Of two seeds, wherever nine batches are corrupted; with four, Huber's are those of self-paced ADMM."""
BYTES = {1.0: [1000, 2000], 0.25: [500, 4000]}


def self_paced_record(profile: str = "quick") -> dict[str, Any]:
    """The content of `self_paced.json`."""
    return {
        "profile": profile,
        "regression": {"feature_count": 20, "example_count": 1000},
        "corrupted_count": [4, 9],
        "density": [1.0, 0.25],
        "memory_density": 0.25,
        "tolerance": 1e-6,
        "selection_step_count": 150,
        "recovery": [
            recovery_row(source, count, seed)
            for source in ("synthetic", "diabetes")
            for count in (4, 9)
            for seed in (0, 1)
        ],
        "descent": [
            {"example_count": count, "z_step": z_step, "seed": seed, "rising_share": share, "distance": distance}
            for count in (5, 50)
            for z_step, share, distance in (("right", 0.0, 1e-9), ("printed", count / 100, 0.5))
            for seed in (0, 1)
        ],
        "selection": [
            *(selection_row(density, "ef21", False, seed) for density in BYTES for seed in (0, 1)),
            *(selection_row(0.25, memory, False, seed) for memory in ("ef14", "none") for seed in (0, 1)),
            *(selection_row(0.25, "ef21", True, seed) for seed in (0, 1)),
        ],
    }


def recovery_row(source: str, corrupted_count: int, seed: int) -> dict[str, Any]:
    """One task."""
    errors = {name: values[seed] for name, values in ERRORS.items()}
    if corrupted_count == 4:
        errors["huber"] = errors["self_paced"]
    return {
        "source": source,
        "corrupted_count": corrupted_count,
        "seed": seed,
        **errors,
        "selected_count": 100,
        "selected_moved_count": 10 + 10 * seed,
        "violation_count": 0,
    }


def selection_row(density: float, memory: str, is_damped: bool, seed: int) -> dict[str, Any]:
    """One run; those that are damped never end."""
    return {
        "density": density,
        "memory": memory,
        "is_damped": is_damped,
        "damping": 0.05 if is_damped else 1.0,
        "seed": seed,
        "step_count": None if is_damped else 3,
        "sent_bytes": None if is_damped else BYTES[density][seed],
        "distance": 0.25 if memory == "none" else 1e-7,
        "violation_count": 0,
        "residual": None if seed else [1.0, 0.1, 1e-7],
    }
