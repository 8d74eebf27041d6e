"""What did the runs of the study `gradient_laws` find? By model and kind; a model or kind may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paper.results import Result, result
from paper.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, Look

NAME = "gradient_laws"
NOT_RUN = "not run"
"""Where a profile has no such run."""
MODELS: dict[str, Look] = {
    "fnn3": Look("FNN-3", BLUE),
    "lenet5": Look("LeNet-5", SKY, (0, (4, 1.5))),
    "resnet20": Look("ResNet-20", GREEN, (0, (5, 1, 1, 1))),
    "vgg16": Look("VGG-16", ORANGE, (0, (3, 1))),
    "lstm": Look("LSTM", VERMILION, (0, (1, 1))),
    "gpt": Look("GPT", PURPLE, (0, (6, 2))),
}
"""In the order of the study."""
KINDS = {"dense": "without feedback", "top_k": "with feedback"}
LAWS = {
    "norm": "normal",
    "laplace": "Laplace",
    "gennorm": "gen. normal",
    "t": "Student",
    "dweibull": "Weibull",
    "dgamma": "gamma",
}
"""Of the names in `scipy.stats`; the last two are symmetric ones."""


def run_of(study: Result, model: str, kind: str) -> Result | None:
    """A run of the study; None if it is not there."""
    return next((run for run in study.records("runs") if (run["model"], run["kind"]) == (model, kind)), None)


def runs_of(data_folder: Path, kind: str) -> dict[str, Result]:
    """The runs of a kind that are there, by model."""
    study = result(data_folder, NAME)
    found = {model: run_of(study, model, kind) for model in MODELS}
    return {model: run for model, run in found.items() if run is not None}


def last_observation(run: Result) -> Result:
    """Of the last update that was looked at closely."""
    return run.records("observations")[-1]


def distances(run: Result) -> dict[str, float]:
    """By law, the Kolmogorov–Smirnov distance at the last observation; empty where nothing was fitted."""
    return {name: law["distance"] for name, law in last_observation(run)["laws"].items()}


def best_of(run: Result) -> str | None:
    """The law named best at the last observation."""
    best: str | None = last_observation(run)["best_law"]
    return best


def inflation(data_folder: Path, model: str, field: str = "late_deviation") -> float | None:
    """The late standard deviation, or another measure, with feedback over that without; None unless both were run."""
    dense, top_k = (runs_of(data_folder, kind).get(model) for kind in ("dense", "top_k"))
    if dense is None or top_k is None:
        return None
    return float(top_k[field] / dense[field])


def shares(runs: Sequence[Result], label: str, field: str) -> list[float]:
    """What a rung's hypothesis has of each run, such as the `share` of updates at which it is met."""
    return [float(run["hypotheses"][label][field]) for run in runs]
