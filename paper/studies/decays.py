"""Which decay of the residual do runs prefer? The study `decays`: on quadratics, by what workers see, and on networks.

Drawn is what each β ends with against β = 1, seed by seed: on quadratics the ratio of f − f*, on networks the
difference of the test losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.comparisons import difference_phrase
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, VERMILION, legend_below, new_figure
from sparsync.verify.tools.intervals import Estimate, paired_difference

NAME = "decays"
NOT_RUN = "not run"
"""Where a profile has no networks."""
MODELS = {"gpt": ("GPT", BLUE), "fnn3": ("FNN-3", VERMILION)}
FLOOR = 1e-9
"""Of the ratios that are drawn."""
_COLOURS = {(1, 1): BLACK, (1, 6): BLUE, (8, 1): VERMILION, (8, 6): GREEN}
"""By local steps and entries sent."""


@dataclass(frozen=True)
class Kind:
    """Of settings on quadratics.

    Args:
        title: in the figure.
        has_spread: whether workers differ.
        has_noise: whether gradients are noisy.
    """

    title: str
    has_spread: bool
    has_noise: bool


KINDS = {
    "Equal": Kind("equal workers", has_spread=False, has_noise=False),
    "Differ": Kind("workers differ", has_spread=True, has_noise=False),
    "Noise": Kind("noise", has_spread=False, has_noise=True),
}


def settings(study: Result, kind: Kind) -> list[Result]:
    """The cases of a kind."""
    return [
        case
        for case in study.records("cases")
        if (case["spread"] > 0, case["noise"] > 0) == (kind.has_spread, kind.has_noise)
    ]


def share(data_folder: Path, kind: Kind, is_so: Callable[[Sequence[str]], bool]) -> str:
    """`3 of 4`: in how many settings of a kind something is so of the verdicts on all β < 1, β ascending."""
    found = settings(result(data_folder, NAME), kind)
    count = sum(is_so([row["verdict"] for row in case["by_decay"] if row["decay"] < 1]) for case in found)
    return f"{count} of {len(found)}"


def some_better(verdicts: Sequence[str]) -> bool:
    """True iff a β < 1 ends lower than β = 1."""
    return "better" in verdicts


def none_better(verdicts: Sequence[str]) -> bool:
    """True iff no β < 1 does, and the smallest ends higher."""
    return "better" not in verdicts and verdicts[0] in ("worse", "diverged")


def network_difference(data_folder: Path, model: str, decay: float) -> Estimate | None:
    """The test loss with a β less that with β = 1, seed by seed; None if that was not run, or diverged."""
    study = result(data_folder, NAME)
    by_decay = {
        row["decay"]: row["test_loss"]
        for network in study.records("networks")
        if network["model"] == model
        for row in network["by_decay"]
    }
    if decay not in by_decay or None in (*by_decay[decay], *by_decay[1.0]):
        return None
    return paired_difference(by_decay[decay], by_decay[1.0])


def network_phrase(data_folder: Path, model: str, decay: float) -> str:
    """`+0.012 (0.004 to 0.020)` nats."""
    found = network_difference(data_folder, model, decay)
    return NOT_RUN if found is None else difference_phrase(found, digits=3)


def networks_better(data_folder: Path) -> str:
    """`1 of 2`: on how many networks some β < 1 ends lower than β = 1."""
    found = result(data_folder, NAME).records("networks")
    count = sum(some_better([row["verdict"] for row in network["by_decay"] if row["decay"] < 1]) for network in found)
    return f"{count} of {len(found)}" if found else NOT_RUN


def decays(data_folder: Path) -> Figure:
    """A panel for each kind of quadratics, and one for networks."""
    study = result(data_folder, NAME)
    figure = new_figure(2.4, profile=study["profile"])
    panels = figure.subplots(1, len(KINDS) + 1)
    for axes, kind in zip(panels, KINDS.values(), strict=False):
        _draw_kind(axes, settings(study, kind), kind.title)
    panels[0].set_ylabel(r"$f-f^{*}$ over that of $\beta=1$")
    _draw_networks(panels[-1], study.records("networks"))
    legend_below(figure, panels[0], columns=4)
    return figure


def _draw_kind(axes: Axes, cases: Sequence[Result], title: str) -> None:
    for case in cases:
        rows = [row for row in case["by_decay"] if "log_ratio" in row]
        shift = 0.08 * (list(_COLOURS).index((case["local_steps"], case["sent_count"])) - 1.5)
        places = [[row["decay"] for row in case["by_decay"]].index(row["decay"]) + shift for row in rows]
        values, lows, highs = (
            [max(FLOOR, math.exp(row[name])) for row in rows] for name in ("log_ratio", "low", "high")
        )
        errors = [
            [value - low for value, low in zip(values, lows, strict=True)],
            [high - value for value, high in zip(values, highs, strict=True)],
        ]
        colour = _COLOURS[case["local_steps"], case["sent_count"]]
        label = f"$H={case['local_steps']}$, $k={case['sent_count']}$"
        axes.errorbar(places, values, errors, fmt="o-", markersize=2, linewidth=0.8, color=colour, label=label)
    axes.set(yscale="log", title=title, xlabel=r"$\beta$")
    _label_decays(axes, [row["decay"] for row in cases[0]["by_decay"]])


def _draw_networks(axes: Axes, networks: Sequence[Result]) -> None:
    axes.set(title="networks", xlabel=r"$\beta$", ylabel="test loss less that of $\\beta=1$")
    for shift, network in zip((-0.06, 0.06), networks, strict=False):
        name, colour = MODELS[network["model"]]
        rows = [row for row in network["by_decay"] if row["low"] is not None]
        places = [[row["decay"] for row in network["by_decay"]].index(row["decay"]) + shift for row in rows]
        values = [row["difference"] for row in rows]
        errors = [
            [row["difference"] - row["low"] for row in rows],
            [row["high"] - row["difference"] for row in rows],
        ]
        axes.errorbar(places, values, errors, fmt="o-", markersize=2, linewidth=0.8, color=colour, label=name)
        axes.legend()
        _label_decays(axes, [row["decay"] for row in network["by_decay"]])
    if not networks:
        axes.text(0.5, 0.5, NOT_RUN, ha="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])


def _label_decays(axes: Axes, found: Sequence[float]) -> None:
    axes.set_xticks(range(len(found)), [f"{decay:g}".removeprefix("0") or "0" for decay in found])
    axes.tick_params(axis="x", labelsize=6)


def _network_macro(model: str, decay: float) -> Macro:
    return lambda folder: network_phrase(folder, model, decay)


def _share_macro(kind: str, is_so: Callable[[Sequence[str]], bool]) -> Macro:
    return lambda folder: share(folder, KINDS[kind], is_so)


MACROS: dict[str, Macro] = {
    "DecaysEqualLess": _share_macro("Equal", some_better),
    "DecaysDifferWhole": _share_macro("Differ", none_better),
    "DecaysNoiseWhole": _share_macro("Noise", none_better),
    "DecaysNoiseLess": _share_macro("Noise", some_better),
    "DecaysDimension": lambda folder: latex.integer(result(folder, NAME)["dimension"]),
    "DecaysWorkers": lambda folder: latex.integer(result(folder, NAME)["worker_count"]),
    "DecaysSeeds": lambda folder: latex.integer(result(folder, NAME)["seed_count"]),
    "DecaysNetworksLess": networks_better,
    "DecaysGptNone": _network_macro("gpt", 0.0),
    "DecaysGptHalf": _network_macro("gpt", 0.5),
    "DecaysGptDefault": _network_macro("gpt", 0.95),
    "DecaysFnnNone": _network_macro("fnn3", 0.0),
    "DecaysFnnHalf": _network_macro("fnn3", 0.5),
    "DecaysFnnDefault": _network_macro("fnn3", 0.95),
}

STUDY = Study(macros=MACROS, figures={NAME: decays}, results=(NAME,))
