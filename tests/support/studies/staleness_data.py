"""A small `staleness.json` with numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

from tests.support.paper_data import PROVENANCE


def staleness_record(profile: str = "quick") -> dict[str, Any]:
    """Depth n needs 90 and 110 steps, and a fifth of n more per unit of s/4; Adam misses the target from s = 8 on."""
    depths = [_setting(hidden_count=count, per_four=20 * count) for count in range(5)]
    workers = [_setting(worker_count=count, per_four=10 * count) for count in (1, 8)]
    others = [_setting(optimiser=name, per_four=50) for name in ("rmsprop", "adagrad", "momentum")]
    adam = _setting(optimiser="adam", per_four=150)
    for run in adam["runs"][2:]:
        run |= {"steps": [None, 90], "relative": None, "best_relative": None, "best_step_size": None}
    return {
        "profile": profile,
        "target": 0.78,
        "patience": 3,
        "seed_count": 2,
        "batch_size": 16,
        "middle": {"hidden_count": 2, "optimiser": "sgd", "worker_count": 4},
        "stalenesses": [4, 8, 16],
        "retuned_stalenesses": [4, 8],
        "settings": [*reversed(depths), *workers, *others, adam],
        "rates": [
            {"problem": name, "staleness": s, "left": 0.5 * share, "right": 0.5, "coherence": 1 - share}
            for name, share in (
                ("quadratic", 0.5),
                ("quadratic, noise", 0.25),
                ("regression", 0.125),
                ("regression, noise", 0.0625),
            )
            for s in (1, 4, 16)
        ],
        "limits": [
            {"delay": delay, "momentum": momentum, "stated": 1.0, "fixed": 0.98 + momentum / 100, "uniform": 1.47}
            for momentum in (0.0, 0.9)
            for delay in (0, 1, 2)
        ],
        "provenance": PROVENANCE,
    }


def _setting(*, hidden_count: int = 2, optimiser: str = "sgd", worker_count: int = 4, per_four: int) -> dict[str, Any]:
    runs: list[dict[str, Any]] = [{"staleness": 0, "steps": [90, 110], "relative": 1.0}]
    for s in (4, 8, 16):
        relative = 1 + per_four * s / 400
        run: dict[str, Any] = {"staleness": s, "relative": relative}
        run["steps"] = [round(steps * relative) for steps in (90, 110)]
        if s < 16:
            run |= {"best_relative": 1 + (relative - 1) / 2, "best_step_size": 0.1}
        runs.append(run | {"probed": [50, 100, 150], "coherence": [1.0, 4 / s - 1, -s / 16]})
    names = {"hidden_count": hidden_count, "optimiser": optimiser, "worker_count": worker_count}
    return {**names, "step_size": 0.2, "limit": 300, "runs": runs}
