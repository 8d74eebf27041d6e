"""Which macros report the training runs? Settings, accuracies, differences, counts and bytes, per condition.

Part of `MACROS` in `numbers.py`: each is a function from a data folder to the macro's text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from paper import latex, training_facts
from paper.results import Result
from paper.training_facts import (
    HUNDREDTH,
    MOMENTUM,
    RELEASED_SETTINGS,
    STANDARDISED,
    THOUSANDTH,
    Condition,
    condition_results,
    paired_differences,
)

Macro = Callable[[Path], str]
"""A data folder to the macro's replacement text."""

CONDITIONS: dict[str, Condition] = {
    "Thousandth": THOUSANDTH,
    "Hundredth": HUNDREDTH,
    "Standardised": STANDARDISED,
    "ReleasedSettings": RELEASED_SETTINGS,
}
"""The first word of a macro's name; names may hold letters only."""
METHODS = {
    "Dense": "dense",
    "Topk": "top_k",
    "Randk": "random_k",
    "Ours": "gaussian_k",
    "Theirs": "gaussian_k_released",
}
"""The second word; "Theirs" is the rule of the released code."""
GAUSSIAN_METHODS = {word: METHODS[word] for word in ("Ours", "Theirs")}


def _setting(condition: Condition, name: str, show: Callable[[Any], str]) -> Macro:
    """A field of the runs' configuration, read from the first Top-k run."""
    return lambda data_folder: show(condition_results(data_folder, condition, "top_k")[0].record("run")[name])


def _measured(condition: Condition, method: str, show: Callable[[list[Result]], str]) -> Macro:
    """What is shown of the runs, one per seed, of a method under a condition."""
    return lambda data_folder: show(condition_results(data_folder, condition, method))


def _difference(condition: Condition, method: str, show: Callable[[list[float]], str]) -> Macro:
    """What is shown of the paired differences, in points of test accuracy, to exact Top-k."""
    return lambda data_folder: show(
        paired_differences(
            condition_results(data_folder, condition, method), condition_results(data_folder, condition, "top_k")
        )
    )


def _mean_and_range(results: Sequence[Result]) -> str:
    """`80.5 (79.8--81.2)`; the mean alone for a single seed."""
    shares = training_facts.accuracies(results)
    mean = latex.decimal(fmean(shares), 1)
    if len(shares) == 1:
        return mean
    return f"{mean} ({latex.decimal(min(shares), 1)}--{latex.decimal(max(shares), 1)})"


def _signed_list(differences: Sequence[float]) -> str:
    return ", ".join(latex.signed(difference, 2) for difference in differences)


def _signed_mean(differences: Sequence[float]) -> str:
    return latex.signed(fmean(differences), 2)


def _deviation(differences: Sequence[float]) -> str:
    """The sample standard deviation, which a single seed does not have."""
    return latex.decimal(stdev(differences), 2) if len(differences) > 1 else "undefined"


def _extreme_count(name: str, choose: Callable[[list[float]], float]) -> Callable[[list[Result]], str]:
    return lambda results: latex.decimal(choose(training_facts.relative_counts(results, name)), 2)


def _condition_macros(word: str, condition: Condition) -> dict[str, Macro]:
    macros = {
        f"{word}{name}Accuracy": _measured(condition, method, _mean_and_range) for name, method in METHODS.items()
    }
    macros[f"{word}TopkGain"] = _measured(condition, "top_k", lambda r: latex.decimal(training_facts.median_gain(r), 1))
    for name, method in GAUSSIAN_METHODS.items():
        own = f"{word}{name}"
        macros |= {
            f"{own}Differences": _difference(condition, method, _signed_list),
            f"{own}Difference": _difference(condition, method, _signed_mean),
            f"{own}BandShare": _measured(condition, method, _band_share),
            f"{own}SmallestCount": _measured(condition, method, _extreme_count("smallest_selected_count", min)),
            f"{own}MedianCount": _measured(condition, method, _extreme_count("selected_count", median)),
            f"{own}LargestCount": _measured(condition, method, _extreme_count("largest_selected_count", max)),
            f"{own}Bytes": _measured(condition, method, _bytes),
        }
    return macros


def _momentum_macros(name: str, method: str) -> dict[str, Macro]:
    return {
        f"Momentum{name}Mean": _difference(MOMENTUM, method, _signed_mean),
        f"Momentum{name}Deviation": _difference(MOMENTUM, method, _deviation),
        f"Momentum{name}Smallest": _difference(MOMENTUM, method, lambda points: latex.signed(min(points), 2)),
        f"Momentum{name}Largest": _difference(MOMENTUM, method, lambda points: latex.signed(max(points), 2)),
    }


def _median_gain(results: Sequence[Result]) -> str:
    return latex.decimal(training_facts.median_gain(results), 1)


def _band_share(results: Sequence[Result]) -> str:
    return latex.percent(training_facts.band_share(results))


def _bytes(results: Sequence[Result]) -> str:
    return latex.size(training_facts.bytes_per_update(results))


def _target_count(results: Sequence[Result]) -> str:
    return latex.integer(results[0]["target_count"][-1])


TRAINING_MACROS: dict[str, Macro] = {
    "TrainCount": _measured(THOUSANDTH, "top_k", lambda results: latex.integer(results[0]["train_count"])),
    "TestCount": _measured(THOUSANDTH, "top_k", lambda results: latex.integer(results[0]["test_count"])),
    "Workers": _setting(THOUSANDTH, "workers", latex.integer),
    "Steps": _setting(THOUSANDTH, "steps", latex.integer),
    "BatchSize": _setting(THOUSANDTH, "batch_size", latex.integer),
    "StepSize": _setting(THOUSANDTH, "step_size", latex.shortest),
    "ReleasedSteps": _setting(RELEASED_SETTINGS, "steps", latex.integer),
    "ReleasedBatchSize": _setting(RELEASED_SETTINGS, "batch_size", latex.integer),
    "ReleasedStepSize": _setting(RELEASED_SETTINGS, "step_size", latex.shortest),
    "ReleasedWeightDecay": _setting(RELEASED_SETTINGS, "weight_decay", latex.shortest),
    "ReleasedMomentum": _setting(RELEASED_SETTINGS, "momentum", latex.shortest),
    "MomentumValue": _setting(MOMENTUM, "momentum", latex.shortest),
    "Seeds": _measured(THOUSANDTH, "top_k", lambda results: latex.integer(len(results))),
    "MomentumSeeds": _measured(MOMENTUM, "top_k", lambda results: latex.integer(len(results))),
    "SmoothingUpdates": lambda _: latex.integer(training_facts.SMOOTHING_UPDATES),
    "Dimension": _measured(THOUSANDTH, "top_k", lambda results: latex.integer(results[0]["dimension"])),
    "ThousandthTarget": _measured(THOUSANDTH, "top_k", _target_count),
    "HundredthTarget": _measured(HUNDREDTH, "top_k", _target_count),
    "DenseBytes": _measured(THOUSANDTH, "dense", _bytes),
    "ThousandthTopkBytes": _measured(THOUSANDTH, "top_k", _bytes),
    "HundredthTopkBytes": _measured(HUNDREDTH, "top_k", _bytes),
    "ReleasedSettingsTopkBytes": _measured(RELEASED_SETTINGS, "top_k", _bytes),
    **{
        name: macro
        for word, condition in CONDITIONS.items()
        for name, macro in _condition_macros(word, condition).items()
    },
    **{
        name: macro
        for word, method in GAUSSIAN_METHODS.items()
        for name, macro in _momentum_macros(word, method).items()
    },
}
"""By the macro's name without the leading `\\sp`."""
