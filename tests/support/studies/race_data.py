"""Races of three policies: BSP is slow, "asp" fast, and "ssp" never at the target, and once beyond its bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paper.studies.races.times import CLUSTERS, SELECTORS
from tests.support.paper_data import write

FAST, SLOW, NEVER = [0.1, 0.6, 0.75, 0.75, 0.75], [0.1, 0.2, 0.5, 0.7, 0.76], [0.1, 0.1, 0.1, 0.1, 0.1]
"""By measurement. The second seed has 0.01 less everywhere."""
CURVES = {"bsp": SLOW, "asp": FAST, "ssp": NEVER}
_MEASURED = [0, 10, 20, 30, 40]


def write_races(folder: Path) -> Path:
    """Write `races.json` and `race_finals.json` into a folder; returns it."""
    study = _study([*CLUSTERS], [*SELECTORS], workers=8, model="fnn2")
    study["races"][-1]["broken_bound"] = "worker 0 is 17 ahead"
    study["tuning"][0]["is_at_edge"] = True
    write(folder / "races.json", study)
    finals = _study(["one_slow"], ["none"], workers=4, model="resnet20")
    write(folder / "race_finals.json", finals | {"finalists": ["asp", "ssp"], "mean_ranks": {}})
    return folder


def _study(clusters: Sequence[str], selectors: Sequence[str], *, workers: int, model: str) -> dict[str, Any]:
    places = [(policy, cluster, selector) for policy in CURVES for cluster in clusters for selector in selectors]
    race = {"seconds": 40.0, "density": 0.01, "workers": workers, "model": model, "batch_size": 32}
    return {
        "profile": "quick",
        "seconds": _MEASURED,
        "seed_count": 2,
        "tuning_seed_count": 1,
        "step_sizes": [0.1, 0.2, 0.4],
        "race": race,
        "tuning": [
            {"policy": policy, "cluster": cluster, "selector": selector, "step_size": 0.2, "is_at_edge": False}
            for policy, cluster, selector in places
        ],
        "races": [_row(*place, seed) for place in places for seed in (0, 1)],
    }


def _row(policy: str, cluster: str, selector: str, seed: int) -> dict[str, Any]:
    row = {"policy": policy, "cluster": cluster, "selector": selector, "seed": seed, "diverged": False}
    row |= {"accuracy": [value - seed / 100 for value in CURVES[policy]], "broken_bound": None}
    each = 1_000_000 if selector == "none" else 10_000
    return row | {"sent_bytes": [each * at for at in _MEASURED], "waiting_share": 0.254, "largest_gap": 3}
