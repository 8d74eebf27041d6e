"""The JSON that a training run leaves: what was set, what was measured, and where it was made.

Per-step series have one entry per update; `selected_count` is the mean over the workers, with the smallest and the
largest worker beside it. Field names carry units.
"""

from __future__ import annotations

from dataclasses import asdict
from statistics import fmean
from typing import Any

from sparsync.experiments.training.loop import TrainingResult
from sparsync.verify.tools.provenance import provenance


def result_line(run_name: str, result: TrainingResult) -> str:
    """What a person wants to know first: accuracy, updates, workers, bytes beside those of dense vectors, seconds."""
    workers = result.run.workers or 1
    sent = sum(facts.sent_bytes for facts in result.steps)
    # Workers may have been others before a checkpoint.
    vectors = sum(len(facts.selected_counts) for facts in result.steps)
    dense = vectors * result.dimension * result.parameters.element_size()
    ended = "" if result.diverged_at_step is None else f"diverged at step {result.diverged_at_step}; before that "
    share = f" ({sent / dense:.2%} of dense)" if dense else ""
    again = f", {len(result.attempts)} attempts, {result.lost_steps} updates done again"
    return (
        f"{run_name}: {ended}test accuracy {result.test_accuracy:.1%} after {result.evaluations[-1].step_count} "
        f"updates of {workers} workers, {readable_size(sent)} sent{share}, {result.wall_seconds:.1f} s"
        f"{again if len(result.attempts) > 1 else ''}"
    )


def readable_size(byte_count: int) -> str:
    """`3.1 MB`: decimal, in three digits."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if byte_count >= unit:
            return f"{byte_count / unit:.3g} {name}"
    return f"{byte_count} bytes"


def training_record(run_name: str, result: TrainingResult, *, process_count: int) -> dict[str, Any]:
    """Everything a figure or a reader needs of a run; series end where a run diverged, and `diverged_at_step` says so.

    Args:
        run_name: key of `RUNS` that the run started from.
        result: what it measured.
        process_count: how many processes made it; 1 for a simulation.
    """
    steps = result.steps
    return {
        "run_name": run_name,
        "run": asdict(result.run),
        "seed": result.run.seed,
        "dimension": result.dimension,
        "data_sha256": result.data_sha256,
        "train_count": result.train_count,
        "test_count": result.test_count,
        "target_count": [facts.target_count for facts in steps],
        "loss": [facts.loss for facts in steps],
        "selected_count": [fmean(facts.selected_counts) for facts in steps],
        "smallest_selected_count": [min(facts.selected_counts) for facts in steps],
        "largest_selected_count": [max(facts.selected_counts) for facts in steps],
        "delta": [fmean(facts.deltas) for facts in steps],
        "sent_bytes": [facts.sent_bytes for facts in steps],
        "evaluations": [asdict(evaluation) for evaluation in result.evaluations],
        "test_accuracy": result.test_accuracy,
        "diverged_at_step": result.diverged_at_step,
        "parameters_sha256": result.parameters_sha256,
        "attempts": [asdict(attempt) for attempt in result.attempts],
        "lost_steps": result.lost_steps,
        "wall_seconds": result.wall_seconds,
        "provenance": provenance(process_count=process_count, device=result.parameters.device),
    }
