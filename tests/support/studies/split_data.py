"""A small result file of the study `split`, with numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

SEEDS = (0, 1)
RUNS: dict[tuple[str, float | None], tuple[tuple[float, float], tuple[float, float]]] = {
    ("none", None): ((0.8, 0.9), (0.8, 0.8)),
    ("biased", 1.0): ((0.7, 0.8), (0.6, 0.6)),
    ("biased", 8.0): ((0.3, 0.3), (0.2, 0.2)),
    ("corrected", 1.0): ((0.8, 0.8), (0.6, 0.5)),
    ("corrected", 8.0): ((0.2, 0.4), (-0.5, 0.1)),
    ("noise", 2.0): ((0.6, 0.7), (0.5, 0.5)),
    ("top_k", 0.1): ((0.8, 0.8), (0.7, 0.6)),
    ("top_k", 0.01): ((0.5, 0.4), (0.4, 0.9)),
}
"""By method and strength: accuracy, and the share that is read, of two seeds."""
WIDTHS = ((2, 2), (64, 16))


def split_record(profile: str = "quick") -> dict[str, Any]:
    """The content of `split.json`."""
    return {
        "profile": profile,
        "seeds": list(SEEDS),
        "settings": {"steps": 100, "batch_size": 64},
        "runs": [
            {
                "method": method,
                "strength": strength,
                "accuracy": list(accuracies),
                "explained_share": list(shares),
                "dcor_biased": [0.9, 0.7],
                "dcor_corrected": [0.5, 0.3],
                "sent_bytes": [1_000_000, 1_000_000],
            }
            for (method, strength), (accuracies, shares) in RUNS.items()
        ],
        "independent": [
            {
                "example_count": count,
                "widths": list(widths),
                "biased_square": [0.81, 0.81] if widths == WIDTHS[1] else [0.16, 0.16],
                "paired_square": [0.80, 0.82] if widths == WIDTHS[1] else [0.14, 0.16],
                "corrected": [0.01, -0.02],
            }
            for widths in WIDTHS
            for count in (32, 128, 256)
        ],
    }
