"""A drawing of training runs: how accurate is the model after how many bytes?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path

from matplotlib.figure import Figure

from sparsync.experiments.training.loop import TrainingResult
from sparsync.verify.tools.provenance import write_whole

MEGABYTE = 1e6


def accuracy_by_bytes(result: TrainingResult) -> tuple[list[float], list[float]]:
    """Megabytes that all workers had sent, and test accuracy in percent, at each evaluation behind which bytes lie."""
    sent = list(accumulate((facts.sent_bytes for facts in result.steps), initial=0))
    points = [(sent[item.step_count] / MEGABYTE, 100 * item.test_accuracy) for item in result.evaluations]
    # A logarithmic axis has no place for zero.
    return [place for place, _ in points if place], [percent for place, percent in points if place]


def draw_training(path: Path, results: Mapping[str, TrainingResult]) -> None:
    """Test accuracy against bytes sent on a logarithmic axis, a curve for each run by its title."""
    figure = Figure(figsize=(6.5, 3.8), layout="constrained")
    axes = figure.subplots()
    for title, result in results.items():
        axes.plot(*accuracy_by_bytes(result), marker=".", linewidth=1.4, label=title)
    axes.set(xscale="log", xlabel="MB sent by all workers so far", ylabel="test accuracy (%)")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    write_whole(path, lambda beside: figure.savefig(beside, dpi=150))
