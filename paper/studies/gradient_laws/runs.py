"""What did the runs of the study `gradient_laws` find? By model, kind and seed; any of them may be missing.

Of the first seed there is a full record, which figures draw; of the others a short one, with what numbers are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from paper.comparisons import ratio
from paper.results import Result, result
from paper.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, Look
from sparsync.verify.tools.intervals import Estimate, mean

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
    """The runs of a kind that are there, of the first seed, by model."""
    study = result(data_folder, NAME)
    found = {model: run_of(study, model, kind) for model in MODELS}
    return {model: run for model, run in found.items() if run is not None}


def by_seed(data_folder: Path, model: str, kind: str) -> dict[int, Result]:
    """The runs of a model and kind that are there, by seed. A result from before there were further seeds has one."""
    study = result(data_folder, NAME)
    first = run_of(study, model, kind)
    found = {} if first is None else {int(study["seed"]): first}
    repeats = study.records("repeats") if "repeats" in study.fields else []
    return found | {int(run["seed"]): run for run in repeats if (run["model"], run["kind"]) == (model, kind)}


def all_runs(data_folder: Path, kinds: Iterable[str] = KINDS) -> list[tuple[str, Result]]:
    """Every run of some kinds, of every seed, each with its model."""
    return [(model, run) for kind in kinds for model in MODELS for run in by_seed(data_folder, model, kind).values()]


def seed_counts(data_folder: Path) -> dict[str, int]:
    """On how many seeds each model was run both ways; models without are left out."""
    counts = {model: len(_paired_seeds(data_folder, model)) for model in MODELS}
    return {model: count for model, count in counts.items() if count}


def distances(run: Result) -> dict[str, float]:
    """By law, the Kolmogorov–Smirnov distance at the last observation; empty where nothing was fitted."""
    last = _last_observation(run)
    return {} if last is None else {name: law["distance"] for name, law in last["laws"].items()}


def best_of(run: Result) -> str | None:
    """The law named best at the last observation; None where nothing was fitted."""
    last = _last_observation(run)
    best: str | None = None if last is None else last["best_law"]
    return best


def inflation(data_folder: Path, model: str, field: str = "late_deviation") -> Estimate | None:
    """The logarithm of the late standard deviation, or another measure, with feedback over that without.

    Paired over the seeds that were run both ways; None if there are none.
    """
    seeds = _paired_seeds(data_folder, model)
    if not seeds:
        return None
    dense, top_k = (by_seed(data_folder, model, kind) for kind in ("dense", "top_k"))
    return ratio([top_k[seed][field] for seed in seeds], [dense[seed][field] for seed in seeds])


def inflations(data_folder: Path, field: str = "late_deviation") -> list[Estimate]:
    """Of every model that was run both ways."""
    found = [inflation(data_folder, model, field) for model in MODELS]
    return [estimate for estimate in found if estimate is not None]


def late_mean(data_folder: Path, model: str, kind: str, field: str) -> Estimate | None:
    """The mean over seeds of a measure of late training; None if there are no such runs."""
    values = [float(run[field]) for run in by_seed(data_folder, model, kind).values()]
    return mean(values) if values else None


def shares(runs: Sequence[Result], label: str, field: str) -> list[float]:
    """What a rung's hypothesis has of each run, such as the `share` of updates at which it is met."""
    return [float(run["hypotheses"][label][field]) for run in runs]


def _paired_seeds(data_folder: Path, model: str) -> list[int]:
    dense, top_k = (by_seed(data_folder, model, kind) for kind in ("dense", "top_k"))
    return sorted(dense.keys() & top_k.keys())


def _last_observation(run: Result) -> Result | None:
    """Of the last update that was looked at closely; None where none was, as the run diverged before."""
    observations = run.records("observations")
    return observations[-1] if observations else None
