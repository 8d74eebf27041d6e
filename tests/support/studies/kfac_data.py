"""A small result file of the study `kfac`, with numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

STEP_COUNTS = [10, 20, 30, 40]
TARGET = 0.8
STEPS: dict[str, list[int | None]] = {
    "kfac": [10, 20],
    "sgd": [20, 40],
    "adamw": [20, None],
    "period 80": [10, 30],
    "kfac, gradients 0.1": [20, 20],
    "kfac, gradients 0.01": [30, 30],
    "sgd, gradients 0.1": [30, 40],
    "sgd, gradients 0.01": [None, None],
    "factors 0.1, ef14": [30, 40],
    "factors 0.1, ef21": [10, 20],
    "factors 0.01, ef14": [40, None],
    "factors 0.01, ef21": [20, 30],
}
"""To the target, of two seeds."""
ACCURACY: dict[str, list[float | None]] = {
    "kfac": [0.90, 0.92],
    "sgd": [0.88, 0.90],
    "adamw": [0.86, 0.70],
    "period 80": [0.90, 0.92],
    "kfac, gradients 0.1": [0.89, 0.91],
    "kfac, gradients 0.01": [0.85, 0.85],
    "sgd, gradients 0.1": [0.88, 0.88],
    "sgd, gradients 0.01": [0.5, None],
    "factors 0.1, ef14": [0.85, 0.91],
    "factors 0.1, ef21": [0.90, 0.92],
    "factors 0.01, ef14": [0.80, 0.70],
    "factors 0.01, ef21": [0.88, 0.90],
}
"""At the end; one diverged."""


def kfac_record(profile: str = "quick") -> dict[str, Any]:
    """The content of `kfac.json`: two seeds, and seconds of two rounds."""
    return {
        "profile": profile,
        "model": "resnet20",
        "worker_count": 4,
        "batch_size": 8,
        "steps": 40,
        "test_count": 1000,
        "target": TARGET,
        "seeds": [0, 1],
        "factor_period": 5,
        "decomposition_period": 20,
        "periods": [80],
        "densities": [0.1, 0.01],
        "step_counts": STEP_COUNTS,
        "tuning": [
            {"method": method, "settings": {"step_size": 0.1}, "is_at_edge": method == "sgd", "tried": [{}] * 12}
            for method in ("kfac", "sgd", "adamw")
        ],
        "runs": [run_record(name) for name in STEPS],
        "step_seconds": {"kfac": [0.3, 0.2], "sgd": [0.1, 0.1], "adamw": [0.1, 0.2]},
        "schemes": [
            scheme_record("everyone", {"agreement": 0, "gradients": 400, "factors": 90, "decompositions": 30}),
            scheme_record("owners", {"agreement": 0, "gradients": 400, "factors": 90, "preconditioned": 200}),
        ],
    }


def run_record(name: str) -> dict[str, Any]:
    """A contestant."""
    density = float(name.split()[2]) if "gradients" in name else 1.0
    factor_density = float(name.split()[1].rstrip(",")) if name.startswith("factors") else 1.0
    ends = ACCURACY[name]
    return {
        "name": name,
        "method": name.partition(",")[0] if name.partition(",")[0] in ("sgd", "adamw") else "kfac",
        "settings": {
            "step_size": 0.1,
            "density": density,
            "factor_density": factor_density,
            "decomposition_period": 80 if name.startswith("period") else 20,
        },
        "steps_to_target": STEPS[name],
        "test_accuracy": ends,
        "accuracies": [[0.2, 0.4, 0.6, end] for end in ends],
        "sent_bytes": 520_000 * min(density, factor_density),
    }


def scheme_record(scheme: str, by_subject: dict[str, float]) -> dict[str, Any]:
    """Bytes of a step, twenty of them headers."""
    measured = sum(by_subject.values())
    return {
        "scheme": scheme,
        "measured": measured,
        "headers": 20.0,
        "stated": measured - 20.0,
        "by_subject": by_subject,
    }
