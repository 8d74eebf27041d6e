"""Which numbers do the training runs give? Accuracies, paired differences, counts, gains and bytes, per condition.

Read from `convergence/` of the data folder; formatted in `study.py` and `tables.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from paper import rules
from paper.results import Result, results, trained_runs, training_results
from sparsync.verify.tools.intervals import Estimate, mean


@dataclass(frozen=True)
class Condition:
    """What the runs of a table's row or column have in common.

    Args:
        setting: plain, standardised, momentum or paper (the settings of the released code).
        density: k/d.
    """

    setting: str
    density: float


THOUSANDTH = Condition("plain", 0.001)
HUNDREDTH = Condition("plain", 0.01)
STANDARDISED = Condition("standardised", 0.001)
RELEASED_SETTINGS = Condition("paper", 0.001)
MOMENTUM = Condition("momentum", 0.001)
SMOOTHING_UPDATES = 20
"""The loss is drawn as the mean of this many updates, at the last of them."""


def trained_methods(data_folder: Path, condition: Condition) -> list[str]:
    """Every method that has runs in the setting of a condition.

    Raises:
        FileNotFoundError: none has.
    """
    names = trained_runs(data_folder, condition.setting)
    return rules.in_order({name.removeprefix("fnn3_").removesuffix("_paper") for name in names})


def condition_results(data_folder: Path, condition: Condition, method: str) -> list[Result]:
    """One result per seed; a dense run has no density, and lies among those of density 0.001.

    Args:
        data_folder: holds the folder `convergence`.
        condition: see there.
        method: the ending of the run's name, `fnn3_<method>`.

    Raises:
        FileNotFoundError: no such run.
    """
    ending = "_paper" if condition.setting == "paper" else ""
    density = THOUSANDTH.density if method == "dense" else condition.density
    return training_results(data_folder, condition.setting, f"fnn3_{method}{ending}", density)


def accuracies(results: Sequence[Result]) -> list[float]:
    """Final test accuracy of each seed in per cent."""
    return [100 * result["test_accuracy"] for result in results]


def diverged_at_step(result: Result) -> int | None:
    """The update at which a run met a number that is not finite, and where its series end; None: it went to its end."""
    step: int | None = result["diverged_at_step"]
    return step


def diverged_count(results: Sequence[Result]) -> int:
    """How many of the runs diverged."""
    return sum(diverged_at_step(result) is not None for result in results)


def all_diverged(data_folder: Path) -> tuple[int, int]:
    """How many of all training runs diverged, and how many there are."""
    runs = results(data_folder, "convergence")
    return diverged_count(runs), len(runs)


def paired_differences(results: Sequence[Result], references: Sequence[Result]) -> dict[int, float]:
    """Final test accuracy of each result minus that of the reference with the same seed, in percentage points, by seed.

    Seeds that only one of the two has are left out.

    Raises:
        ValueError: no seed is common to both.
    """
    of_references = {int(reference["seed"]): reference["test_accuracy"] for reference in references}
    found = {
        int(result["seed"]): 100 * (result["test_accuracy"] - of_references[result["seed"]])
        for result in results
        if result["seed"] in of_references
    }
    if not found:
        raise ValueError(f"{results[0].path} and its fellows have no seed in common with {references[0].path}")
    return found


def accuracy_difference(results: Sequence[Result], references: Sequence[Result]) -> Estimate:
    """The mean of `paired_differences` with its interval."""
    return mean(list(paired_differences(results, references).values()))


def still_running(series: Sequence[Sequence[float]]) -> list[list[float]]:
    """At each place the values of those series that reach it: of runs, those that have not diverged."""
    longest = max(map(len, series), default=0)
    return [[values[place] for values in series if place < len(values)] for place in range(longest)]


def band_share(results: Sequence[Result]) -> float:
    """Share of the updates, over all seeds, at which every worker's count lies in [2k/3, 4k/3]; exact in integers."""
    inside = [
        2 * target <= 3 * smallest and 3 * largest <= 4 * target
        for result in results
        for smallest, largest, target in zip(
            result["smallest_selected_count"], result["largest_selected_count"], result["target_count"], strict=True
        )
    ]
    return fmean(inside)


def relative_counts(results: Sequence[Result], name: str, *, only_later_half: bool = False) -> list[float]:
    """A count over k at every update of every seed, or of the later half of its updates.

    Args:
        results: the runs.
        name: `selected_count` (mean of the workers), `smallest_selected_count` or `largest_selected_count`.
        only_later_half: leave the first half of each run out, rounded down.
    """
    pairs = [[*zip(result[name], result["target_count"], strict=True)] for result in results]
    return [count / target for run in pairs for count, target in run[len(run) // 2 * only_later_half :]]


def median_gain(results: Sequence[Result]) -> float:
    """The median over updates and seeds of δ/κ, with δ the mean of the workers and κ = k/d."""
    return median(gain for result in results for gain in gains(result))


def gains(result: Result) -> list[float]:
    """δ/κ at every update, with δ the mean of the workers and κ = k/d."""
    return [
        delta * result["dimension"] / target
        for delta, target in zip(result["delta"], result["target_count"], strict=True)
    ]


def bytes_per_update(results: Sequence[Result]) -> float:
    """What all workers together hand to the collective, on average over updates and seeds."""
    return fmean(sent for result in results for sent in result["sent_bytes"])


def smoothed(series: Sequence[Sequence[float]], width: int) -> tuple[range, list[list[float]]]:
    """Updates, and the means over those before them of the runs still running there.

    Args:
        series: a run each, from its first update to its last.
        width: how many updates are averaged, at most as many as the longest run has.
    """
    longest = max(map(len, series), default=0)
    width = max(1, min(width, longest))
    means = [moving_mean(values, width) if len(values) >= width else [] for values in series]
    return range(width, longest + 1), still_running(means)


def moving_mean(values: Sequence[float], width: int) -> list[float]:
    """The mean of each `width` consecutive values, at most as many as there are; [n − width + 1] means."""
    width = min(width, len(values))
    return [fmean(values[end - width : end]) for end in range(width, len(values) + 1)]
