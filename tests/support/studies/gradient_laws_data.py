"""Examples of the result of the study `gradient_laws`, with numbers that can be checked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.paper_data import PROVENANCE, write

DENSITIES = [0.001, 0.1]
LAWS = ("norm", "laplace", "gennorm", "t", "dweibull", "dgamma")


def observation(step: int, best: str | None) -> dict[str, Any]:
    distance = {name: 0.2 if name == "norm" else 0.04 for name in LAWS}
    return {
        "step": step,
        "histogram": [0.25, 0.5, 0.0],
        "magnitude": [2.0, 1.0, 0.0],
        "relative_error": [0.9, 0.4],
        "laws": {name: {"distance": distance[name]} for name in LAWS} if best else {},
        "best_law": best,
    }


def run(model: str, kind: str, *, best: str | None = "t", deviation: float = 1.0, share: float = 1.0) -> dict[str, Any]:
    hypothesis = {"share": share, "strict_share": share / 2, "median_rise": 1.0, "largest_rise": 2 - share}
    return {
        "model": model,
        "kind": kind,
        "parameter_count": 3000,
        "steps": 400,
        "diverged_at_step": None,
        "rank": [1, 1501, 3000],
        "bounds": {"square_convex": [0.99, 0.81], "bell_shaped": [0.98, 0.7]},
        "observations": [observation(step, best) for step in (1, 2, 20, 400)],
        "series": {"step": [200, 400], "gain": [20.0, 10.0]},
        "hypotheses": {"square_convex": hypothesis | {"share": 1.0}, "bell_shaped": hypothesis},
        "bound_share": {"bell_shaped": share},
        "late_gain": 10.0 * deviation,
        "late_deviation": deviation,
        "late_largest": 2.0 if kind == "dense" else 3.0,
        "late_gaussian_count_ratio": 3.0,
    }


RUNS = [
    run("fnn3", "dense", best="norm"),
    run("fnn3", "top_k", deviation=7.0),
    run("resnet20", "dense", share=0.5),
    run("resnet20", "top_k", deviation=3.0, share=0.25),
    run("gpt", "dense"),
]


def repeat(model: str, kind: str, seed: int, **facts: Any) -> dict[str, Any]:
    """A short record: a run of another seed."""
    full = run(model, kind, **facts)
    last = {name: value for name, value in full["observations"][-1].items() if name in ("step", "laws", "best_law")}
    left_out = ("parameter_count", "rank", "bounds", "series")
    kept = {name: value for name, value in full.items() if name not in left_out}
    return {**kept, "seed": seed, "observations": [last]}


def repeats_of(runs: Sequence[dict[str, Any]], seeds: Sequence[int], *, spread: float = 1.0) -> list[dict[str, Any]]:
    """Every run again on other seeds; with feedback deviations grow by a factor from seed to seed."""
    return [
        repeat(one["model"], one["kind"], seed, deviation=deviation)
        for seed in seeds
        for one in runs
        for deviation in [one["late_deviation"] * (spread**seed if one["kind"] == "top_k" else 1.0)]
    ]


def study(folder: Path, runs: list[dict[str, Any]], repeats: list[dict[str, Any]] | None = None) -> Path:
    """Write the result; None: from before there were further seeds."""
    facts = {"profile": "record", "seed": 0, "worker_count": 4, "density": 0.001, "densities": DENSITIES}
    steady = {"steady_drift": [2.99, 2.5], "steady_noise": [5.97, 4.0]}
    own = {"steady_drift": 2.99, "steady_noise": 5.97}
    laws = {"steady_gain": steady, "own_steady_gain": own, "edges_deviations": [-1.0, 0.0, 0.5, 1.0]}
    further = {} if repeats is None else {"repeats": repeats}
    write(folder / "gradient_laws.json", {**facts, **laws, "runs": runs, **further, "provenance": PROVENANCE})
    return folder
