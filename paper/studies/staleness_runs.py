"""How many times as many steps do late updates cost? The runs of the study `staleness`, setting by setting.

Runs are paired over seeds: a multiple is of the same seed's steps without delays, the step size kept. Of smaller step
sizes the file keeps the mean alone.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from paper.results import Result, result
from sparsync.verify.tools.intervals import Estimate, paired_difference

SWEPT = ("hidden_count", "optimiser", "worker_count")
"""What a setting consists of; a sweep changes one and keeps the others as in the study's middle."""
OPTIMISER_NAMES = {
    "sgd": "SGD",
    "momentum": "momentum",
    "adam": "Adam",
    "adagrad": "Adagrad",
    "rmsprop": "RMSProp",
}
"""How each optimiser is written."""
Setting = tuple[str, str | int]
OPTIMISERS: dict[str, Setting] = {
    "Sgd": ("optimiser", "sgd"),
    "Momentum": ("optimiser", "momentum"),
    "Adam": ("optimiser", "adam"),
    "Adagrad": ("optimiser", "adagrad"),
    "Rmsprop": ("optimiser", "rmsprop"),
}
"""Words of macro names to what a sweep is set to."""
WORKERS: dict[str, Setting] = {"OneWorker": ("worker_count", 1), "EightWorkers": ("worker_count", 8)}
SIZES: dict[str, Setting] = {"Shallow": ("hidden_count", 0), "Deep": ("hidden_count", 4), **WORKERS}
"""Likewise, of depths and numbers of workers."""


def sweep(study: Result, swept: str) -> list[Result]:
    """The settings that differ from the middle in one thing at most, ascending; optimisers in the study's order.

    Raises:
        ValueError: there is none.
    """
    middle = study["middle"]
    others = [name for name in SWEPT if name != swept]
    found = [setting for setting in study.records("settings") if all(setting[name] == middle[name] for name in others)]
    if not found:
        raise ValueError(f"{study.path}: no setting as the middle but for {swept!r}")
    if swept == "optimiser":
        return sorted(found, key=lambda setting: list(OPTIMISER_NAMES).index(setting[swept]))
    return sorted(found, key=lambda setting: int(setting[swept]))


def late_run(setting: Result, staleness: int) -> Result:
    """The runs of a setting at a staleness.

    Raises:
        ValueError: there are none.
    """
    for run in setting.records("runs"):
        if run["staleness"] == staleness:
            return run
    raise ValueError(f"{setting.path}: no run at s = {staleness}")


def multiples(setting: Result, staleness: int) -> list[float] | None:
    """Steps to the target over those of the same seed without delays, the step size kept; None: a seed missed it."""
    late, early = late_run(setting, staleness)["steps"], late_run(setting, 0)["steps"]
    if late is None or None in late:
        return None
    return [many / few for many, few in zip(late, early, strict=True)]


def undelayed_steps(setting: Result) -> float:
    """Mean steps to the target without delays."""
    return fmean(late_run(setting, 0)["steps"])


def setting_of(data_folder: Path, wanted: Setting) -> Result:
    """The setting that gives to what a sweep changes this value.

    Raises:
        ValueError: the study holds no such setting.
    """
    study = result(data_folder, "staleness")
    swept, value = wanted
    for setting in sweep(study, swept):
        if setting[swept] == value:
            return setting
    raise ValueError(f"{study.path}: no setting with {swept} {value!r}")


def mean_multiple(setting: Result, staleness: int) -> float | None:
    """Of `multiples`."""
    found = multiples(setting, staleness)
    return None if found is None else fmean(found)


def best_multiple(setting: Result, staleness: int) -> float | None:
    """With smaller steps tried too: of a smaller one the ratio of the means, as its seeds are not kept apart."""
    late = late_run(setting, staleness)
    if late["best_step_size"] == setting["step_size"]:
        return mean_multiple(setting, staleness)
    best: float | None = late["best_relative"]
    return best


def multiple_difference(data_folder: Path, one: Setting, other: Setting, *, staleness: int = 4) -> Estimate | None:
    """Multiples of the first setting minus those of the second, paired over seeds; None: the target was missed."""
    first, second = (multiples(setting_of(data_folder, setting), staleness) for setting in (one, other))
    return None if first is None or second is None else paired_difference(first, second)
