"""Which macros report the training runs? Settings, accuracies, differences, counts and bytes, per condition.

Part of `MACROS` in `numbers.py`: each is a function from a data folder to the macro's text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from paper import latex
from paper.results import Result
from paper.studies import training_facts
from paper.studies.training_facts import (
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
GAUSSIAN_RULES = {"Ours": "gaussian_k", "Theirs": "gaussian_k_released"}
"""The second word; "Theirs" is the rule of the code released with Shi et al."""
OTHER_RULES = {
    "Dgc": ("dgc_released", ("Smallest", "Largest")),
    "Grace": ("dgc_grace", ("Largest", "LateLargest")),
    "Sidco": ("sidco_released", ("Median",)),
    "Adapted": ("sidco_adaptive", ("Median", "Largest", "LateLargest")),
    "Carried": ("oktopk_released", ("Median", "Largest", "LateLargest")),
}
"""Words for the other threshold rules, and which of their counts over all conditions the text reports."""
COUNTS: dict[str, tuple[str, Callable[[list[float]], float], bool]] = {
    "Smallest": ("smallest_selected_count", min, False),
    "Median": ("selected_count", median, False),
    "Largest": ("largest_selected_count", max, False),
    "LateLargest": ("largest_selected_count", max, True),
}
"""What of a count is reported: a field of the results, what is chosen of its values, and is it of the later half."""


def _setting(condition: Condition, name: str, show: Callable[[Any], str]) -> Macro:
    """A field of the runs' configuration, read from the first Top-k run."""
    return lambda data_folder: show(condition_results(data_folder, condition, "top_k")[0].record("run")[name])


def _measured(condition: Condition, method: str, show: Callable[[list[Result]], str]) -> Macro:
    """What is shown of the runs, one per seed, of a method under a condition."""
    return lambda data_folder: show(condition_results(data_folder, condition, method))


def _difference(condition: Condition, method: str, show: Callable[[list[float]], str]) -> Macro:
    """What is shown of the paired differences, in points of test accuracy, to exact Top-k."""
    return lambda data_folder: show(_differences(data_folder, condition, method))


def _differences(data_folder: Path, condition: Condition, method: str) -> list[float]:
    references = condition_results(data_folder, condition, "top_k")
    return paired_differences(condition_results(data_folder, condition, method), references)


def _signed_mean(differences: Sequence[float]) -> str:
    return latex.signed(fmean(differences), 2)


def _count(name: str, choose: Callable[[list[float]], float]) -> Callable[[list[Result]], str]:
    return lambda results: latex.decimal(choose(training_facts.relative_counts(results, name)), 2)


def _condition_macros(word: str, condition: Condition) -> dict[str, Macro]:
    differences = {
        f"{word}{name}Difference": _difference(condition, rule, _signed_mean) for name, rule in GAUSSIAN_RULES.items()
    }
    return {f"{word}TopkGain": _measured(condition, "top_k", _median_gain), **differences}


def _median_gain(results: Sequence[Result]) -> str:
    return latex.decimal(training_facts.median_gain(results), 1)


def _extreme_difference(data_folder: Path, *, rule: str, choose: Callable[[list[float]], float]) -> str:
    """Of the mean differences to Top-k in the four conditions."""
    means = [fmean(_differences(data_folder, condition, rule)) for condition in CONDITIONS.values()]
    return latex.signed(choose(means), 2)


def _chosen_count(data_folder: Path, *, rule: str, word: str) -> str:
    """Of the counts over k in the four conditions, at all updates and seeds."""
    name, choose, is_late = COUNTS[word]
    counts = (
        training_facts.relative_counts(condition_results(data_folder, condition, rule), name, only_later_half=is_late)
        for condition in CONDITIONS.values()
    )
    return latex.decimal(choose([count for of_condition in counts for count in of_condition]), 2)


def _rule_macros(word: str, rule: str, counts: Sequence[str]) -> dict[str, Macro]:
    return {
        f"Trained{word}LeastDifference": partial(_extreme_difference, rule=rule, choose=min),
        f"Trained{word}LargestDifference": partial(_extreme_difference, rule=rule, choose=max),
        **{f"Trained{word}{count}Count": partial(_chosen_count, rule=rule, word=count) for count in counts},
    }


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
    "ThousandthOursBandShare": _measured(THOUSANDTH, "gaussian_k", _band_share),
    "StandardisedTheirsBandShare": _measured(STANDARDISED, "gaussian_k_released", _band_share),
    "ThousandthTheirsLargestCount": _measured(THOUSANDTH, "gaussian_k_released", _count("largest_selected_count", max)),
    **{
        f"{word}TheirsMedianCount": _measured(CONDITIONS[word], "gaussian_k_released", _count("selected_count", median))
        for word in ("Thousandth", "Hundredth", "Standardised")
    },
    **{name: macro for word, rule in OTHER_RULES.items() for name, macro in _rule_macros(word, *rule).items()},
}
"""By the macro's name without the leading `\\sp`."""
