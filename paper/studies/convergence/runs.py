"""Which numbers do the tuned training runs give? Ends, paired differences, counts and gains, by setting.

Read from `convergence_<arena>.json`; an arena whose file is not there, or that a profile leaves out, has not been run.
Ends are points of test accuracy; of text they are per cent of the loss of what is compared with, and less loss is
more. Formatted in `study.py`, `tables.py` and `figures.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from paper.results import Result, result
from sparsync.verify.tools.intervals import Estimate, mean

NAME = "convergence"
NOT_RUN = "not run"
ARENAS = {
    "fnn3": "FNN-3",
    "fnn3_16": "FNN-3 with 16 workers",
    "lenet5": "LeNet-5",
    "resnet20": "ResNet-20",
    "gpt": "GPT",
    "lstm": "LSTM",
}
"""Titles, in the order of tables."""
RULES = {"plain": "no momentum", "momentum": "momentum 0.9", "adamw": "AdamW"}
"""Titles of what moves the parameters."""
USUAL = {
    "fnn3": "momentum",
    "lenet5": "momentum",
    "resnet20": "momentum",
    "gpt": "adamw",
    "fnn3_16": "momentum",
    "lstm": "adamw",
}
"""The update rule that is usual for each arena, in the order in which they are shown where there is room for some."""
DENSE, LOW_RANK, EXACT, OURS, THEIRS = "dense", "powersgd", "top_k", "gaussian_k", "gaussian_k_released"
"""Methods; the last is the rule of the code released with Shi et al."""
RANDOM = "random_k"
BEFORE = "dgc"
"""Exact Top-k with the momentum of DGC, which stands before the selection."""
BAND = (2 / 3, 4 / 3)
"""The counts, over k, that Gaussian-k aims at."""
GUESSED = 0.99
"""Of the loss of guessing all classes alike: a run that ends with as much, or more, has learnt nothing."""
_IMAGE_CLASS_COUNT, _TEXT_CLASS_COUNT = 10, 256
"""Kinds of clothes, and bytes."""
LEAST_SEEDS = 5
"""Fewer say nothing of a claim."""


@dataclass(frozen=True)
class Setting:
    """Where methods are compared.

    Args:
        arena: key of `ARENAS`.
        rule: key of `RULES`.
        density: k/d.
    """

    arena: str
    rule: str
    density: float

    @property
    def title(self) -> str:
        """`FNN-3, momentum 0.9, density 0.001`."""
        return f"{ARENAS[self.arena]}, {RULES[self.rule]}, density {self.density:g}"


PLAIN = Setting("fnn3", "plain", 0.001)
PLAIN_HUNDREDTH = Setting("fnn3", "plain", 0.01)
PLAIN_DENSEST = Setting("fnn3", "plain", 0.05)
MOMENTUM = Setting("fnn3", "momentum", 0.001)


def study_of(data_folder: Path, arena: str) -> Result:
    """The result of an arena.

    Raises:
        FileNotFoundError: it has not been run.
    """
    return result(data_folder, f"{NAME}_{arena}")


def studies(data_folder: Path) -> dict[str, Result]:
    """The results of all arenas that have been run, in the order of `ARENAS`."""
    there = [arena for arena in ARENAS if (data_folder / f"{NAME}_{arena}.json").is_file()]
    return {arena: study_of(data_folder, arena) for arena in there}


def contestant(study: Result, rule: str, method: str, density: float) -> Result | None:
    """What was found of a method; None if the run lacks it. Methods that select nothing have no density."""
    for found in study.records("contestants"):
        if (found["optimiser"], found["method"]) == (rule, method) and found["density"] in (None, density):
            return found
    return None


def settings(data_folder: Path, method: str = EXACT) -> list[Setting]:
    """Wherever a selector was run, in the order of tables."""
    return [
        Setting(arena, found["optimiser"], found["density"])
        for arena, study in studies(data_folder).items()
        for rule in RULES
        for found in study.records("contestants")
        if (found["optimiser"], found["method"]) == (rule, method)
    ]


def methods(study: Result, rule: str, density: float) -> list[str]:
    """All that were run with an update rule, at a density or without one, in the order of the study."""
    return [
        str(found["method"])
        for found in study.records("contestants")
        if found["optimiser"] == rule and found["density"] in (None, density)
    ]


def is_text(study: Result) -> bool:
    """Whether the ends are losses."""
    return str(study.record("setup")["data"]).partition(":")[0] == "text"


def ends(study: Result, found: Result) -> list[float] | None:
    """With what every seed ended: test accuracy in per cent, of text the loss; None if one diverged."""
    values = found["test_loss" if is_text(study) else "test_accuracy"]
    if None in values:
        return None
    return [float(value) if is_text(study) else 100 * float(value) for value in values]


def differences(study: Result, found: Result, reference: Result) -> list[float] | None:
    """How much more a method ends with than another, seed by seed; None if a run of either diverged."""
    own, other = ends(study, found), ends(study, reference)
    if own is None or other is None:
        return None
    if is_text(study):
        return [100 * (1 - loss / base) for loss, base in zip(own, other, strict=True)]
    return [accuracy - base for accuracy, base in zip(own, other, strict=True)]


def difference(study: Result, found: Result, reference: Result) -> Estimate | None:
    """The mean of `differences` with its interval."""
    values = differences(study, found, reference)
    return None if values is None else mean(values)


def compared(data_folder: Path, setting: Setting, method: str, reference: str = EXACT) -> Estimate | None:
    """`difference` of two methods in a setting; None if it has not been run, or diverged."""
    study = studies(data_folder).get(setting.arena)
    if study is None:
        return None
    both = [contestant(study, setting.rule, name, setting.density) for name in (method, reference)]
    if both[0] is None or both[1] is None:
        return None
    return difference(study, both[0], both[1])


def keeps_about_k(found: Result) -> bool:
    """Whether the median count of every seed lies in the range that Gaussian-k aims at."""
    return all(count is not None and BAND[0] <= count <= BAND[1] for count in found["median_count"])


def diverged_count(found: Result) -> int:
    """Runs of a contestant that diverged."""
    return sum(loss is None for loss in found["test_loss"])


def collapsed_count(study: Result, found: Result) -> int:
    """Runs of a contestant that did not diverge and have learnt nothing."""
    return sum(loss is not None and _is_guess(study, loss) for loss in found["test_loss"])


def _is_guess(study: Result, loss: float) -> bool:
    return loss >= GUESSED * math.log(_TEXT_CLASS_COUNT if is_text(study) else _IMAGE_CLASS_COUNT)


def band_shares(study: Result, found: Result) -> list[float]:
    """The share of the updates at which every worker's count lay in range, of each seed that has learnt something.

    Of a network whose units are all dead few entries of the gradient are left, so that no rule finds k of them.
    """
    both = zip(found["in_range_share"], found["test_loss"], strict=True)
    return [float(share) for share, loss in both if share is not None and not (loss and _is_guess(study, loss))]


def median_gain(found: Result) -> float:
    """The median over seeds that did not diverge of the median over updates of δ/κ; of those alone if all did."""
    both = zip(found["median_gain"], found["test_loss"], strict=True)
    gains = [(float(gain), loss is not None) for gain, loss in both if gain is not None]
    ended = [gain for gain, has_ended in gains if has_ended]
    return median(ended or [gain for gain, _ in gains])


def mean_gains(found: Result) -> list[float | None]:
    """The mean over the seeds of δ/κ between evaluations; None from where a run diverged on."""
    if None in found["gain"]:
        return []  # of a run that made no update nothing is known
    return [None if None in column else fmean(column) for column in zip(*found["gain"], strict=True)]
