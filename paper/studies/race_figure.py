"""Who is fast, and who sends little? The races of the study `races`, accuracy against simulated time and against bytes.

A few models are drawn in colour; the others are thin grey lines, and stand in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.results import Result, races_result
from paper.studies.race_facts import CLUSTERS, mean_curve, policies, runs, smoothed
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, legend_below, new_figure

SHOWN = {
    "bsp": Look("BSP", BLACK),
    "ssp": Look("SSP", BLUE, (0, (4, 1.5))),
    "asp": Look("ASP", VERMILION),
    "elastic_bsp": Look("ElasticBSP", GREEN, (0, (3, 2))),
    "adsp": Look("ADSP", SKY),
    "local_sgd": Look("local SGD", ORANGE, (0, (5, 1, 1, 1))),
    "dybw": Look("DyBW", PURPLE, (0, (1, 1))),
}
"""Policies drawn in colour."""
LOWEST_PERCENT = 30
"""Below that all curves rise alike."""
_MEGABYTE = 1e6


def races(data_folder: Path) -> Figure:
    """Test accuracy in every cluster: dense against time, Top-k against time, and both against bytes."""
    study = races_result(data_folder)
    figure = new_figure(6.0, profile=study["profile"])
    panels = figure.subplots(3, len(CLUSTERS), sharey=True, sharex="row")
    for (cluster, title), column in zip(CLUSTERS.items(), panels.T, strict=True):
        by_time, compressed, by_bytes = column
        by_time.set_title(title)
        for axes, selector in ((by_time, "none"), (compressed, "top_k")):
            for policy in _grey_first(policies(study)):
                repetitions = runs(study, policy, cluster, selector)
                _draw(axes, policy, study["seconds"], repetitions)
                _draw(by_bytes, policy, _megabytes(repetitions), repetitions)
        by_bytes.set_xscale("log")
        compressed.set_xlabel("simulated seconds")
        by_bytes.set_xlabel("MB sent by all workers")
    for axes, kind in zip(panels[:, 0], ("dense", "Top-$k$", "Top-$k$ and dense"), strict=True):
        axes.set_ylabel(f"{kind}\ntest accuracy (%)")
    panels[0, 0].set_ylim(bottom=LOWEST_PERCENT)
    legend_below(figure, panels[0, 0], columns=len(SHOWN))
    return figure


def _grey_first(names: Sequence[str]) -> list[str]:
    """Coloured lines lie above the grey ones, and the legend follows `SHOWN`."""
    return [name for name in names if name not in SHOWN] + [name for name in SHOWN if name in names]


def _draw(axes: Axes, policy: str, places: Sequence[float], repetitions: Sequence[Result]) -> None:
    # Nothing is sent at the first measurement, and a logarithmic axis has no place for it.
    places = places[1:]
    percent = [100 * share for share in smoothed(mean_curve(repetitions, "accuracy"))[1:]]
    if policy in SHOWN:
        axes.plot(places, percent, **SHOWN[policy].line, linewidth=1.0)
    else:
        axes.plot(places, percent, color=GREY, linewidth=0.4, alpha=0.6)


def _megabytes(repetitions: Sequence[Result]) -> list[float]:
    return [sent / _MEGABYTE for sent in mean_curve(repetitions, "sent_bytes")]
