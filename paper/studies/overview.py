"""What is gained in one look? The figure `overview` at the head of the README: send little, wait little.

Left tuned runs of FNN-3 with momentum of the study `convergence`, right the races on the cluster with one slow worker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.results import Result, result
from paper.rules import METHODS
from paper.studies.convergence.runs import MOMENTUM, contestant, study_of
from paper.studies.races.times import runs, smoothed
from paper.studies.study import Study
from paper.style import BLACK, BLUE, GREEN, SKY, VERMILION, Look, new_figure
from sparsync.verify.tools.intervals import Estimate, mean

SENT = ("dense", "top_k", "dgc", "gaussian_k")
"""Methods on the left."""
WAITED = {
    "bsp": Look("BSP", BLACK),
    "ssp": Look("SSP", BLUE, (0, (4, 1.5))),
    "elastic_bsp": Look("ElasticBSP", GREEN, (0, (3, 2))),
    "asp": Look("ASP", VERMILION),
    "adsp": Look("ADSP", SKY),
}
"""Policies on the right."""
CLUSTER, SELECTOR = "one_slow", "none"
_MEGABYTE = 1e6


def overview(data_folder: Path) -> Figure:
    """Test accuracy: on the left against bytes sent, on the right against simulated seconds."""
    trained = study_of(data_folder, MOMENTUM.arena)
    study = result(data_folder, "races")
    figure = new_figure(2.9, profile=study["profile"])
    send, wait = figure.subplots(1, 2)
    for method in SENT:
        found = contestant(trained, MOMENTUM.rule, method, MOMENTUM.density)
        if found is not None:
            _draw(send, METHODS[method], *accuracy_by_bytes(found))
    for policy, look in WAITED.items():
        _draw(wait, look, *accuracy_by_time(study, policy))
    send.set(title=f"send little (density {MOMENTUM.density:g})", xlabel="sent by all workers so far (MB)")
    workers = study.record("race")["workers"]
    wait.set(title=f"wait little (one of {workers} workers is slow)", xlabel="simulated seconds")
    send.set(xscale="log", ylabel="test accuracy (%)")
    for axes in (send, wait):
        axes.legend(loc="lower right")
    return figure


def accuracy_by_bytes(found: Result) -> tuple[list[float], list[Estimate]]:
    """Mean megabytes sent and accuracy in per cent, with its interval over the seeds, at each evaluation.

    Up to where a run diverged.
    """
    path = found.record("path")
    columns = zip(zip(*path["sent_bytes"], strict=True), zip(*path["test_accuracy"], strict=True), strict=True)
    known = [(sent, shares) for sent, shares in columns if None not in shares]
    places = [fmean(sent) / _MEGABYTE for sent, _ in known]
    return places, [mean([100 * share for share in shares]) for _, shares in known]


def accuracy_by_time(study: Result, policy: str) -> tuple[list[float], list[Estimate]]:
    """Simulated seconds and smoothed accuracy in per cent, with its interval over the seeds.

    The first measurement, before any step, is left out.
    """
    curves = [smoothed(row["accuracy"])[1:] for row in runs(study, policy, CLUSTER, SELECTOR)]
    return study["seconds"][1:], [mean([100 * share for share in column]) for column in zip(*curves, strict=True)]


def _draw(axes: Axes, look: Look, places: Sequence[float], estimates: Sequence[Estimate]) -> None:
    axes.plot(places, [estimate.value for estimate in estimates], **look.line)
    # One seed says nothing of the spread: there is no band.
    if all(math.isfinite(estimate.low) for estimate in estimates):
        low, high = [e.low for e in estimates], [e.high for e in estimates]
        axes.fill_between(places, low, high, color=look.colour, alpha=0.2, linewidth=0)


STUDY = Study(
    figures={"overview": overview},
    results=("convergence", "races"),
    remade=("convergence_fnn3", "races"),
)
