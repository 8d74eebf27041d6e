"""Where does the released threshold rule miss its range? A map of its count over k for two families of laws.

Reads `refinement.json`. White is inside the range, from two thirds to four thirds of k.
"""

from __future__ import annotations

from math import log10
from pathlib import Path

from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

from paper.results import refinement_result
from paper.style import new_figure

RULE = "gaussian_k_released"
AXES = {"mean": "mean, in standard deviations", "exponent": r"exponent $\beta$ of $\exp(-|u|^\beta)$"}
"""Names of the laws' parameters on the figure."""

TITLES = {"shifted gaussian": "Gaussian with a mean", "generalised gaussian": "generalised Gaussian"}
"""Names of the families on the figure."""
EDGES = (0.0, 0.01, 0.1, 2 / 3, 4 / 3, 10.0, 100.0, float("inf"))
"""Counts over k at which the colour changes; the lowest class holds a count of zero."""
_COLOURS = ("#08306B", "#4292C6", "#C6DBEF", "#FFFFFF", "#FDD0A2", "#F16913", "#7F2704")
_NAMES = ("below 0.01", "0.01 to 0.1", "0.1 to 2/3", "in the range", "4/3 to 10", "10 to 100", "above 100")


def failure_map(data_folder: Path) -> Figure:
    """The class of count/k that the released rule returns, for each law and density."""
    study = refinement_result(data_folder)
    figure = new_figure(3.0, profile=study["profile"])
    families = study["families"]
    mesh = None
    for axes, (name, family) in zip(figure.subplots(1, len(families)), families.items(), strict=True):
        classes = [
            [relative_class(count, target) for count, target in zip(row, study["target_count"], strict=True)]
            for row in family["selected_count"][RULE]
        ]
        logarithms = [log10(density) for density in study["density"]]
        mesh = axes.pcolormesh(
            family["value"],
            logarithms,
            list(zip(*classes, strict=True)),
            cmap=ListedColormap(_COLOURS),
            norm=BoundaryNorm(range(len(_COLOURS) + 1), len(_COLOURS)),
            shading="nearest",
            rasterized=True,
        )
        axes.grid(visible=False)
        axes.set(title=TITLES.get(name, name), xlabel=AXES.get(family["parameter"], family["parameter"]))
        if family["parameter"] == "exponent":
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_yticks([-4, -3, -2, -1], ["$10^{-4}$", "$10^{-3}$", "$10^{-2}$", "$10^{-1}$"])
    figure.axes[0].set_ylabel(r"density $\kappa$")
    if mesh is not None:
        bar = figure.colorbar(mesh, ax=figure.axes, ticks=[index + 0.5 for index in range(len(_NAMES))])
        bar.set_ticklabels(_NAMES, fontsize=7)
        bar.set_label("entries sent, divided by $k$")
    return figure


def relative_class(count: int, target: int) -> int:
    """Which of the classes between `EDGES` a count falls into; the range includes both its ends, exactly.

    Args:
        count: entries selected.
        target: k.
    """
    if 2 * target <= 3 * count <= 4 * target:
        return _NAMES.index("in the range")
    ratio = count / target
    return sum(ratio >= edge for edge in EDGES[1:-1])
