"""Does a farm end its speed-up where its costs say? The study `farms`: its figure and macros, of real processes.

Predictions are those of the statements at the constants that the study measured, medians over its rounds; a speed-up
is over one worker, measured over measured and predicted over predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, VERMILION, new_figure
from sparsync.theory.cost.farm_boundaries import STATEMENTS

COLOURS = (BLUE, GREEN, VERMILION)
"""Of the densities on the left: all is told, some, least."""
MODELS = {"Phased": "phased_seconds", "Pipelined": "pipelined_seconds"}
"""Words of macro names to predictions."""
_MILLI = 1000


def rows_of(data_folder: Path) -> list[Result]:
    """The densities, from the largest on."""
    return sorted(result(data_folder, "farms").records("rows"), key=lambda row: -float(row["density"]))


def shown_rows(rows: list[Result]) -> list[Result]:
    """The largest density, the middle one and the smallest, each once."""
    places = dict.fromkeys((0, len(rows) // 2, len(rows) - 1))
    return [rows[place] for place in places]


def counts(row: Result) -> list[int]:
    """How many workers were tried."""
    return [int(point["worker_count"]) for point in row.records("curve")]


def speed_ups(row: Result) -> list[list[float]]:
    """Over one worker in the same round: by number of workers and round."""
    points = row.records("curve")
    return [
        [alone / seconds for alone, seconds in zip(points[0]["seconds"], point["seconds"], strict=True)]
        for point in points
    ]


def predicted_speed_ups(row: Result) -> list[float]:
    """The same in phases, as predicted."""
    seconds = [float(point["phased_seconds"]) for point in row.records("curve")]
    return [seconds[0] / each for each in seconds]


def errors(data_folder: Path, model: str) -> list[float]:
    """Predicted seconds over the median of measured ones, less 1, at every density and number of workers."""
    return [
        point[model] / median(point["seconds"]) - 1 for row in rows_of(data_folder) for point in row.records("curve")
    ]


def predicted_count(row: Result) -> int:
    """Which of the numbers that were tried should be fastest, the least of them."""
    best = min(row.records("curve"), key=lambda point: float(point["phased_seconds"]))
    return int(best["worker_count"])


def found_count(row: Result) -> int:
    """The fewest that could not be told from the fastest."""
    return int(min(row["close_counts"]))


def agreement_count(data_folder: Path) -> int:
    """Densities at which that one could not be told from the fastest."""
    return sum(predicted_count(row) in row["close_counts"] for row in rows_of(data_folder))


def shared_constants(data_folder: Path) -> dict[str, float]:
    """L, t_s and t_w as the statements call them: medians over densities, on which they do not depend."""
    found = [row.record("constants") for row in rows_of(data_folder)]
    middle = {name: median(float(one[name]) for one in found) for name in found[0].fields}
    return {
        "latency": (middle["dispatch_seconds"] + middle["collect_seconds"]) / 2,
        "send_time": middle["send_seconds"],
        "work_time": middle["work_seconds"],
    }


def saturation(data_folder: Path) -> float:
    """The boundary that no selection passes: K* of a whole approximation times the largest gain."""
    constants = shared_constants(data_folder)
    dense = STATEMENTS["star_farm_boundary"].evaluate(**constants)
    link = {name: constants[name] for name in ("latency", "send_time")}
    return dense * STATEMENTS["selected_farm_gain"].evaluate(**link)


def farms_figure(data_folder: Path) -> Figure:
    """Speed-up over the number of workers, and the boundary over the share that is told."""
    figure = new_figure(2.9, profile=result(data_folder, "farms")["profile"])
    left, right = figure.subplots(1, 2)
    for row, colour in zip(shown_rows(rows_of(data_folder)), COLOURS, strict=False):
        _draw_curve(left, row, colour)
    left.set(xlabel="workers", ylabel="speed-up over one worker", ylim=(0, None))
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.set_xlim(0, 1.18 * max(counts(rows_of(data_folder)[0])))
    _draw_boundary(right, data_folder)
    return figure


def _draw_curve(axes: Axes, row: Result, colour: str) -> None:
    tried, measured, predicted = counts(row), speed_ups(row), predicted_speed_ups(row)
    middle = [median(rounds) for rounds in measured]
    reach = [
        [value - min(rounds) for value, rounds in zip(middle, measured, strict=True)],
        [max(rounds) - value for value, rounds in zip(middle, measured, strict=True)],
    ]
    axes.plot(tried, predicted, color=colour, lw=1.0)
    axes.errorbar(tried, middle, yerr=reach, fmt="o", color=colour, ms=3.0, elinewidth=0.8)
    found = tried.index(found_count(row))
    axes.plot([tried[found]], [middle[found]], "o", ms=8.0, mfc="none", mec=colour, mew=0.9)
    boundary = float(row["boundary"]["worker_count"])
    axes.plot([boundary], [0.04], "^", color=colour, ms=5.0, clip_on=False, transform=axes.get_xaxis_transform())
    label = f"$\\rho={row['payload_share']:.2g}$"
    axes.annotate(
        label, (tried[-1], predicted[-1]), (5, 0), textcoords="offset points", va="center", color=colour, fontsize=8
    )


def _draw_boundary(axes: Axes, data_folder: Path) -> None:
    constants = shared_constants(data_folder)
    shares = np.linspace(0.002, 1, 120)
    stated = STATEMENTS["selected_farm_boundary"]
    curve = [stated.evaluate(**constants, payload_share=float(share)) for share in shares]
    axes.plot(shares, curve, color=BLACK, lw=1.0)
    most = saturation(data_folder)
    axes.axhline(most, color=GREY, lw=0.8, ls="--")
    axes.annotate(
        "no selection passes this", (0.99, most), (0, 2), textcoords="offset points", ha="right", fontsize=7, color=GREY
    )
    for row in rows_of(data_folder):
        share, close = float(row["payload_share"]), row["close_counts"]
        axes.plot([share, share], [min(close), max(close)], color=VERMILION, lw=1.0)
        axes.plot([share] * len(close), close, "_", color=VERMILION, ms=6.0)
        axes.plot([share], [found_count(row)], "o", color=VERMILION, ms=4.0)
    axes.annotate("$K^*(\\rho)$", (shares[60], curve[60]), (4, 4), textcoords="offset points", fontsize=8)
    axes.set(
        xlabel=r"share $\rho$ of the approximation that is told", ylabel="best number of workers", ylim=(0, 1.2 * most)
    )


def _list(data_folder: Path) -> str:
    return ", ".join(latex.shortest(row["density"]) for row in rows_of(data_folder))


def _close(row: Result) -> str:
    """`5`, or `4 to 6`, or `4, 6`, of numbers that were tried."""
    close, tried = list(row["close_counts"]), counts(row)
    if len(close) == 1:
        return latex.integer(close[0])
    first = tried.index(close[0])
    if len(close) > 2 and tried[first : first + len(close)] == close:
        return f"{latex.integer(close[0])} to {latex.integer(close[-1])}"
    return ", ".join(map(latex.integer, close))


def _of(place: int, say: Callable[[Result], str]) -> Macro:
    """Of the largest density (0) or the smallest (−1)."""
    return lambda folder: say(rows_of(folder)[place])


def _milliseconds(name: str, factor: float = 1.0) -> Macro:
    return lambda folder: latex.decimal(_MILLI * factor * shared_constants(folder)[name], 1)


def _size(name: str) -> Macro:
    return lambda folder: latex.integer(result(folder, "farms")[name])


def _tree(name: str) -> Macro:
    return lambda folder: latex.shortest(result(folder, "farms").record("tree")[name])


def _tree_counts(word: str, name: str) -> dict[str, Macro]:
    """What was found where workers fold, or the master."""

    def found(folder: Path) -> Result:
        return result(folder, "farms").record("tree").record(name)

    return {
        f"Farm{word}Boundary": lambda folder: latex.decimal(found(folder)["boundary"], 1),
        f"Farm{word}Best": lambda folder: latex.integer(found(folder)["best_count"]),
        f"Farm{word}Level": lambda folder: latex.integer(found(folder)["best_level_count"]),
    }


def _ends(word: str, place: int) -> dict[str, Macro]:
    return {
        f"Farm{word}Density": _of(place, lambda row: latex.shortest(row["density"])),
        f"Farm{word}Share": _of(place, lambda row: latex.decimal(row["payload_share"], 2)),
        f"Farm{word}Boundary": _of(place, lambda row: latex.decimal(row["boundary"]["worker_count"], 1)),
        f"Farm{word}Found": _of(place, lambda row: latex.integer(found_count(row))),
        f"Farm{word}Close": _of(place, _close),
    }


def _error(model: str, of: Callable[[list[float]], float]) -> Macro:
    return lambda folder: latex.percent(of([abs(error) for error in errors(folder, model)]), 1)


MACROS: dict[str, Macro] = {
    "FarmUnknowns": _size("unknowns"),
    "FarmBlocks": _size("blocks"),
    "FarmIterations": _size("iterations"),
    "FarmRounds": lambda folder: latex.integer(len(rows_of(folder)[0].records("curve")[0]["seconds"])),
    "FarmWorkers": lambda folder: latex.integer(max(counts(rows_of(folder)[0]))),
    "FarmDensities": _list,
    "FarmMessage": _milliseconds("latency", 2.0),
    "FarmSend": _milliseconds("send_time"),
    "FarmWork": _milliseconds("work_time"),
    **_ends("Whole", 0),
    **_ends("Least", -1),
    "FarmSaturation": lambda folder: latex.decimal(saturation(folder), 1),
    "FarmAgreements": lambda folder: latex.integer(agreement_count(folder)),
    "FarmDensityCount": lambda folder: latex.integer(len(rows_of(folder))),
    **{f"Farm{word}Error": _error(model, median) for word, model in MODELS.items()},
    **{f"Farm{word}Worst": _error(model, max) for word, model in MODELS.items()},
    "FarmTreeParts": lambda folder: latex.integer(result(folder, "farms").record("tree")["parts"]),
    "FarmTreeMap": _tree("map_seconds"),
    "FarmTreeFold": lambda folder: latex.scientific(result(folder, "farms").record("tree")["fold_seconds"]),
    "FarmTreeRound": _tree("round_seconds"),
    **_tree_counts("Gathered", "gathered"),
    **_tree_counts("Folded", "tree"),
}

STUDY = Study(macros=MACROS, figures={"farms": farms_figure}, results=("farms",))
"""What the paper prints of it."""
