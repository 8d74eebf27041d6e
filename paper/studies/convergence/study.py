"""Does sending little cost accuracy, and is the count what was asked for? The study `convergence`: its macros.

All read the runs in `convergence/`. Accuracies are compared with those of exact Top-k, paired over seeds, and the words
for it are chosen by the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from paper import latex
from paper.comparisons import UNKNOWN, difference_phrase, tally
from paper.results import Result
from paper.rules import METHODS, named
from paper.studies.convergence import runs as facts
from paper.studies.convergence.figures import convergence, counts, momentum
from paper.studies.convergence.runs import (
    HUNDREDTH,
    MOMENTUM,
    RELEASED_SETTINGS,
    STANDARDISED,
    THOUSANDTH,
    Condition,
    accuracy_difference,
    condition_results,
)
from paper.studies.convergence.tables import accuracy_table, count_table, momentum_table
from paper.studies.study import Macro, Study
from sparsync.verify.tools.intervals import Estimate

CONDITIONS: dict[str, Condition] = {
    "Thousandth": THOUSANDTH,
    "Hundredth": HUNDREDTH,
    "Standardised": STANDARDISED,
    "ReleasedSettings": RELEASED_SETTINGS,
}
"""The first word of a macro's name; names may hold letters only."""
GAUSSIAN_RULES = {"Ours": "gaussian_k", "Theirs": "gaussian_k_released"}
"""Words for the two; "Theirs" is the rule of the code released with Shi et al."""
COMPARED = {**GAUSSIAN_RULES, "Dense": "dense"}
"""The second word: what is compared with exact Top-k in every condition."""
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


def _difference(condition: Condition, method: str) -> Macro:
    """The paired difference, in points of test accuracy, to exact Top-k, with its interval."""
    return lambda data_folder: difference_phrase(_compared_with_top_k(data_folder, condition, method), unit="points")


def _compared_with_top_k(data_folder: Path, condition: Condition, method: str) -> Estimate:
    references = condition_results(data_folder, condition, "top_k")
    return accuracy_difference(condition_results(data_folder, condition, method), references)


def _in_all_conditions(data_folder: Path, rule: str) -> list[Estimate]:
    return [_compared_with_top_k(data_folder, condition, rule) for condition in CONDITIONS.values()]


def _count(name: str, choose: Callable[[list[float]], float]) -> Callable[[list[Result]], str]:
    return lambda results: latex.decimal(choose(facts.relative_counts(results, name)), 2)


def _condition_macros(word: str, condition: Condition) -> dict[str, Macro]:
    differences = {f"{word}{name}Difference": _difference(condition, method) for name, method in COMPARED.items()}
    return {f"{word}TopkGain": _measured(condition, "top_k", _median_gain), **differences}


def _median_gain(results: Sequence[Result]) -> str:
    return latex.decimal(facts.median_gain(results), 1)


def _outcome(data_folder: Path, *, rule: str) -> str:
    """In how many of the four conditions a rule ends above or below Top-k, and between which means."""
    found = _in_all_conditions(data_folder, rule)
    means = [difference.value for difference in found]
    least, largest = latex.signed(min(means), 2), latex.signed(max(means), 2)
    return f"{tally(found, more='higher', less='lower')} of {len(found)} settings ({least} to {largest} points)"


def _near_rules(data_folder: Path, *, is_sure: bool) -> str:
    """Rules whose mean differences to Top-k, or even the intervals, lie within a point in all four conditions."""
    names = [
        named(rule).title
        for rule in (*GAUSSIAN_RULES.values(), *(rule for rule, _ in OTHER_RULES.values()))
        if all(_is_near(found, is_sure=is_sure) for found in _in_all_conditions(data_folder, rule))
    ]
    return "; ".join(names) or "none"


def _is_near(difference: Estimate, *, is_sure: bool) -> bool:
    ends = (difference.low, difference.high) if is_sure else (difference.value,)
    return all(abs(end) <= 1 for end in ends)


def _share_in_band(data_folder: Path, *, rule: str) -> str:
    """Of the updates in all four conditions at which every worker's count is in range."""
    runs = [run for condition in CONDITIONS.values() for run in condition_results(data_folder, condition, rule)]
    return latex.percent(facts.band_share(runs))


def _diverged_runs(data_folder: Path) -> str:
    count, total = facts.all_diverged(data_folder)
    return f"{latex.integer(count) if count else 'none'} of {latex.integer(total)}"


def _seed_counts(condition: Condition, methods: Sequence[str]) -> Macro:
    """`3`, or `1 to 8` where the methods differ."""

    def words(data_folder: Path) -> str:
        counts = {len(condition_results(data_folder, condition, method)) for method in methods}
        return " to ".join(map(latex.integer, sorted({min(counts), max(counts)})))

    return words


def _chosen_count(data_folder: Path, *, rule: str, word: str) -> str:
    """Of the counts over k in the four conditions, at all updates and seeds."""
    name, choose, is_late = COUNTS[word]
    counts = (
        facts.relative_counts(condition_results(data_folder, condition, rule), name, only_later_half=is_late)
        for condition in CONDITIONS.values()
    )
    return latex.decimal(choose([count for of_condition in counts for count in of_condition]), 2)


def _rule_macros(word: str, rule: str, counts: Sequence[str]) -> dict[str, Macro]:
    return {
        f"Trained{word}Outcome": partial(_outcome, rule=rule),
        **{f"Trained{word}{count}Count": partial(_chosen_count, rule=rule, word=count) for count in counts},
    }


def _band_share(results: Sequence[Result]) -> str:
    return latex.percent(facts.band_share(results))


def _bytes(results: Sequence[Result]) -> str:
    return latex.size(facts.bytes_per_update(results))


def _target_count(results: Sequence[Result]) -> str:
    return latex.integer(max((result["target_count"] for result in results), key=len)[-1])


MACROS: dict[str, Macro] = {
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
    "Seeds": _seed_counts(THOUSANDTH, tuple(METHODS)),
    "OtherSeeds": _seed_counts(THOUSANDTH, tuple(rule for rule, _ in OTHER_RULES.values())),
    "MomentumSeeds": _seed_counts(MOMENTUM, ("top_k", *GAUSSIAN_RULES.values())),
    "DivergedRuns": _diverged_runs,
    "Inconclusive": lambda _data_folder: UNKNOWN,
    **{f"Momentum{word}Difference": _difference(MOMENTUM, rule) for word, rule in GAUSSIAN_RULES.items()},
    **{f"Trained{word}Outcome": partial(_outcome, rule=rule) for word, rule in COMPARED.items()},
    "TrainedOursBandShare": partial(_share_in_band, rule="gaussian_k"),
    "TrainedTheirsBandShare": partial(_share_in_band, rule="gaussian_k_released"),
    "TrainedNearRules": partial(_near_rules, is_sure=False),
    "TrainedSurelyNearRules": partial(_near_rules, is_sure=True),
    "SmoothingUpdates": lambda _: latex.integer(facts.SMOOTHING_UPDATES),
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

STUDY = Study(
    macros=MACROS,
    figures={"convergence": convergence, "counts": counts, "momentum": momentum},
    tables={"accuracy.tex": accuracy_table, "counts.tex": count_table, "momentum.tex": momentum_table},
    results=("convergence",),
)
