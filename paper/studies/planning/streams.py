"""Does fetching hide behind computing, as the formula says? The study `streams`: its figure and macros.

Predictions are those of the statements at the prices that the study measured, medians over its rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLUE, GREY, VERMILION, Look, new_figure

WAYS = {"streamed": Look("with overlap", BLUE), "unoverlapped": Look("without", VERMILION, "--")}
"""How each way is drawn."""
_NANO, _MILLI = 1e9, 1000


def cells_of(data_folder: Path) -> list[Result]:
    """All products."""
    return result(data_folder, "streams").records("cells")


def by_outer(data_folder: Path) -> list[Result]:
    """Products at the one word price, by outer blocks a side."""
    price = result(data_folder, "streams")["word_seconds"]
    found = [cell for cell in cells_of(data_folder) if cell["word_seconds"] == price]
    return sorted(found, key=lambda cell: int(cell["outer"]))


def by_price(data_folder: Path) -> list[Result]:
    """Products with the one number of outer blocks, by what a word was measured to take."""
    outer = result(data_folder, "streams")["outer"]
    found = [cell for cell in cells_of(data_folder) if cell["outer"] == outer]
    return sorted(found, key=word_price)


def word_price(cell: Result) -> float:
    """Seconds of a word of external memory, its own and those of sleep."""
    return float(cell["prices"]["fetched_seconds"])


def crossover(data_folder: Path) -> float:
    """The word price up to which computing hides fetching, at the one number of outer blocks: median over prices."""
    return median(float(cell["hidden_word_seconds"]) for cell in by_price(data_folder))


def operation_share(data_folder: Path) -> float:
    """Share of the operations in a hyperstep's supersteps, at the one number of outer blocks: median over prices."""
    side = round(result(data_folder, "streams")["process_count"] ** 0.5)
    # 2Nb³ operations, over what 2b² words may take to be hidden.
    shares = [
        side * cell["block_rows"] * cell["prices"]["operation_seconds"] / cell["hidden_word_seconds"]
        for cell in by_price(data_folder)
    ]
    return float(median(shares))


def errors(data_folder: Path, way: str) -> list[float]:
    """Predicted seconds over the median of measured ones, less 1, of every product."""
    return [cell[f"{way}_predicted_seconds"] / median(cell[f"{way}_seconds"]) - 1 for cell in cells_of(data_folder)]


def overlap_errors(data_folder: Path, bound_by: str) -> list[float]:
    """Those of products with overlap that memory should bind, or computing."""
    found = zip(cells_of(data_folder), errors(data_folder, "streamed"), strict=True)
    return [error for cell, error in found if cell["bound_by"] == bound_by]


def gains(data_folder: Path) -> list[float]:
    """Seconds without overlap over those with, medians, of products that have more than one hyperstep."""
    return [
        median(cell["unoverlapped_seconds"]) / median(cell["streamed_seconds"])
        for cell in cells_of(data_folder)
        if cell["outer"] > 1
    ]


def predicted_gains(data_folder: Path) -> list[float]:
    """The same as predicted."""
    return [
        cell["unoverlapped_predicted_seconds"] / cell["streamed_predicted_seconds"]
        for cell in cells_of(data_folder)
        if cell["outer"] > 1
    ]


def exact_count(data_folder: Path) -> int:
    """Products of which in every round as many words were sent and fetched as are stated."""
    return sum(
        all(set(cell[f"{kind}_counts"]) == {cell[f"stated_{kind}_count"]} for kind in ("sent", "external"))
        for cell in cells_of(data_folder)
    )


def streams_figure(data_folder: Path) -> Figure:
    """Seconds of a product by outer blocks at one word price, and by word price at one number of outer blocks."""
    study = result(data_folder, "streams")
    figure = new_figure(2.9, profile=study["profile"])
    left, right = figure.subplots(1, 2)
    cells = by_outer(data_folder)
    _draw(left, cells, [int(cell["outer"]) for cell in cells])
    left.set(xlabel="outer blocks $M$ a side, and local memory in MB", ylabel="seconds", ylim=(0, None))
    left.set_xticks(
        [int(cell["outer"]) for cell in cells],
        [f"{cell['outer']}\n{_megabytes(cell['local_bytes'])}" for cell in cells],
        fontsize=7,
    )
    left.legend(loc="upper left")
    cells = by_price(data_folder)
    _draw(right, cells, [_NANO * word_price(cell) for cell in cells])
    edge = _NANO * crossover(data_folder)
    right.axvline(edge, color=GREY, lw=0.8, ls=":")
    for side, words in ((-1, "computing\nbinds"), (1, "memory\nbinds")):
        right.annotate(
            words,
            (edge, 0.02),
            (4 * side, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if side < 0 else "left",
            color=GREY,
            fontsize=7,
        )
    right.set(xlabel="nanoseconds of an external word", ylabel="seconds", ylim=(0, None), xlim=(0, None))
    return figure


def _draw(axes: Axes, cells: list[Result], places: list[float] | list[int]) -> None:
    """Measured medians with their ranges, predictions as lines."""
    for way, look in WAYS.items():
        axes.plot(places, [cell[f"{way}_predicted_seconds"] for cell in cells], **look.line)
        measured = [cell[f"{way}_seconds"] for cell in cells]
        middle = [median(rounds) for rounds in measured]
        reach = [
            [value - min(rounds) for value, rounds in zip(middle, measured, strict=True)],
            [max(rounds) - value for value, rounds in zip(middle, measured, strict=True)],
        ]
        axes.errorbar(places, middle, yerr=reach, fmt="o", color=look.colour, ms=3.0, elinewidth=0.8)


def _megabytes(byte_count: int) -> str:
    """With two significant digits."""
    return f"{float(f'{byte_count / 1e6:.2g}'):g}"


def _worst(found: list[float]) -> str:
    """The largest, in per cent, or that there is none."""
    return latex.percent(max(map(abs, found)), 0) if found else "no"


def _error(way: str, of: Callable[[list[float]], float]) -> Macro:
    return lambda folder: latex.percent(of([abs(error) for error in errors(folder, way)]), 0)


def _of(name: str) -> Macro:
    return lambda folder: latex.integer(result(folder, "streams")[name])


MACROS: dict[str, Macro] = {
    "StreamRows": _of("rows"),
    "StreamProcesses": _of("process_count"),
    "StreamOuter": _of("outer"),
    "StreamRounds": lambda folder: latex.integer(len(cells_of(folder)[0]["streamed_seconds"])),
    "StreamSleep": lambda folder: latex.shortest(_NANO * result(folder, "streams")["word_seconds"]),
    "StreamCells": lambda folder: latex.integer(len(cells_of(folder))),
    "StreamExact": lambda folder: latex.integer(exact_count(folder)),
    "StreamBarrier": lambda folder: latex.decimal(
        _MILLI * median(cell["prices"]["barrier_seconds"] for cell in cells_of(folder)), 2
    ),
    "StreamOperations": lambda folder: latex.percent(operation_share(folder), 0),
    "StreamCrossover": lambda folder: latex.decimal(_NANO * crossover(folder), 0),
    "StreamMemoryBound": lambda folder: latex.integer(sum(cell["bound_by"] == "memory" for cell in by_outer(folder))),
    "StreamOuterCount": lambda folder: latex.integer(len(by_outer(folder))),
    "StreamMemoryWorst": lambda folder: _worst(overlap_errors(folder, "memory")),
    "StreamComputingWorst": lambda folder: _worst(overlap_errors(folder, "computing")),
    "StreamGain": lambda folder: latex.decimal(max(gains(folder)), 2),
    "StreamLeastGain": lambda folder: latex.decimal(min(gains(folder)), 2),
    "StreamPredictedGain": lambda folder: latex.decimal(max(predicted_gains(folder)), 2),
    "StreamOverlapError": _error("streamed", median),
    **{f"StreamAlone{word}": _error("unoverlapped", of) for word, of in (("Error", median), ("Worst", max))},
}

STUDY = Study(macros=MACROS, figures={"streams": streams_figure}, results=("streams",))
"""What the paper prints of it."""
