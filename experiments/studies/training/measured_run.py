"""What does one training run say of a method? Quality along the way, bytes, how much was selected, and what it gained.

Used by `convergence.py`. It is apart from who competes, so that finished runs stay valid where only that changes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import fmean, median
from typing import Any

from sparsync.experiments.studies.training.contestants import Case, trained
from sparsync.experiments.training.loop import TrainingResult
from sparsync.experiments.training.worker import StepFacts
from sparsync.verify.tools.provenance import machine_name


def run_case(case: Case, device: str = "cpu") -> dict[str, Any]:
    """Train once.

    Returns:
        `test_loss` and `test_accuracy` at the end, and as `path` their lists after each of `steps`, with the
        `sent_bytes` of all workers up to there; null from where the run diverged on. `sent_bytes` of all workers in a
        mean update.
        Of a selector, else null: `in_range_share`, of the updates at which every worker's count lies in [2k/3, 4k/3];
        the `smallest_count` and `largest_count` of a worker over k, the `median_count` over the updates of the workers'
        mean over k; and of the gain δ/κ, mean over the workers, the `gain` in the mean of the updates up to each of
        `steps` from the one before, and the `median_gain`. `rank`, `dimension`, `train_count`, `test_count`,
        `target_count`, `computed_on` and `processor_seconds`.
    """
    began = time.process_time()
    result, rank = trained(case, device)
    evaluated = result.evaluations[1:]
    has_ended = result.diverged_at_step is None
    places = [*range(case.run.evaluate_every, case.run.steps, case.run.evaluate_every), case.run.steps]
    sent = list(accumulate((facts.sent_bytes for facts in result.steps), initial=0))
    path: dict[str, list[float]] = {
        "test_loss": [each.test_loss for each in evaluated],
        "test_accuracy": [each.test_accuracy for each in evaluated],
        "sent_bytes": [sent[each.step_count] for each in evaluated],
    }
    return {
        "test_loss": path["test_loss"][-1] if has_ended else None,
        "test_accuracy": path["test_accuracy"][-1] if has_ended else None,
        "steps": places,
        "path": {name: _filled(values, len(places)) for name, values in path.items()},
        "sent_bytes": sent[-1] / len(result.steps) if result.steps else None,
        **_selection(result, places, is_selecting=case.run.selector != "keep_all"),
        "rank": rank,
        "dimension": result.dimension,
        "train_count": result.train_count,
        "test_count": result.test_count,
        "computed_on": machine_name(device),
        "processor_seconds": time.process_time() - began,
    }


def _selection(result: TrainingResult, places: Sequence[int], *, is_selecting: bool) -> dict[str, Any]:
    """What was selected; null where nothing is, or where no update was made."""
    names = ("target_count", "in_range_share", "smallest_count", "median_count", "largest_count", "median_gain", "gain")
    steps = result.steps
    if not is_selecting or not steps:
        return dict.fromkeys(names)
    gains = [fmean(facts.deltas) * result.dimension / facts.target_count for facts in steps]
    windows = [fmean(gains[first:last]) for first, last in pairwise((0, *places)) if last <= len(gains)]
    return {
        "target_count": steps[-1].target_count,
        "in_range_share": fmean(map(_is_in_range, steps)),
        "smallest_count": min(min(facts.selected_counts) / facts.target_count for facts in steps),
        "median_count": median(fmean(facts.selected_counts) / facts.target_count for facts in steps),
        "largest_count": max(max(facts.selected_counts) / facts.target_count for facts in steps),
        "median_gain": median(gains),
        "gain": _filled(windows, len(places)),
    }


def _is_in_range(facts: StepFacts) -> bool:
    """Whether every worker's count lies in [2k/3, 4k/3]; exact in integers."""
    smallest, largest = min(facts.selected_counts), max(facts.selected_counts)
    return 2 * facts.target_count <= 3 * smallest and 3 * largest <= 4 * facts.target_count


def _filled(values: Sequence[float], count: int) -> list[float | None]:
    """The values, and nothing where a run was not any more."""
    return [*values, *[None] * (count - len(values))]
