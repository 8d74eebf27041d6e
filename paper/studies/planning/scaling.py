"""How efficiently would large networks train over links, and by how much does selecting matter? The study `scaling`.

In the figure, of each network: efficiency against the number of workers, all sent and a thousandth selected exactly,
for a few rates of links. Steps are predicted; beside them stands by how much predicted steps are off where steps were
measured, in the study `links`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.studies.planning.predicted_steps import NOT_FITTED
from paper.studies.study import Macro, Study
from paper.style import BLUE, GREEN, GREY, ORANGE, legend_below, new_figure

NETWORKS = {"resnet50": "ResNet-50", "vgg16": "VGG-16", "bert_large": "BERT-large", "llama_7b": "LLaMA 7B"}
WAYS = {
    "dense_ring": "all, ring",
    "dense": "all, quickest",
    "dense_nodes": "all, in nodes",
    "powersgd": "PowerSGD",
    "gather": "Top-$k$, gathered",
    "owners": "Top-$k$, owners of regions",
    "gather_nodes": "Top-$k$, in nodes",
    "global_top_k": "Top-$k$, tree of merges",
    "chunks_coded": "chunk-wise Top-$k$, coded",
}
"""Rows of the table."""
IN_NODES = {"gather_nodes": "dense_nodes"}
"""What a way is set against, where it is not the quickest dense exchange without nodes."""
DRAWN_DENSITY = 0.001
DRAWN_RATES = {10e9: ORANGE, 25e9: GREEN, 100e9: BLUE}
"""Bits per second, of which those are drawn that the study has."""
TABLE_RATES = (10e9, 100e9)
_GIGA, _TERA, _MICRO = 1e9, 1e12, 1e-6


class Cell(NamedTuple):
    """One network on one link with one number of workers.

    Args:
        bits_per_second: of the link.
        workers: n.
        other: efficiency of what is compared with.
        own: efficiency of a way.
    """

    bits_per_second: float
    workers: int
    other: float
    own: float


def row_of(study: Result, network: str, way: str, rate: float, density: float, slowness: float = 1.0) -> Result:
    """A curve over the numbers of workers; of ways that select nothing the density is of no matter.

    Raises:
        ValueError: there is none.
    """
    for row in study.records("rows"):
        place = (row["network"], row["way"], row["bits_per_second"], row["slowness"])
        if place == (network, way, rate, slowness) and row["density"] in (1.0, density):
            return row
    raise ValueError(f"{study.path}: no row of {way!r} for {network!r} at {rate:g} bit/s")


def cells(study: Result, way: str, density: float, *, other: str = "dense", slowness: float = 1.0) -> Iterator[Cell]:
    """A way beside another, everywhere."""
    for network in NETWORKS:
        for rate in study["bits_per_second"]:
            both = row_of(study, network, other, rate, density), row_of(study, network, way, rate, density, slowness)
            pairs = zip(study["workers"], both[0]["efficiency"], both[1]["efficiency"], strict=True)
            for workers, one, own in pairs:
                yield Cell(rate, workers, one, own)


def won(study: Result, found: Sequence[Cell]) -> tuple[int, int]:
    """In how many cells a way is quicker than the other, and the other than it, by the gain that counts."""
    gain = study["least_gain"]
    return sum(cell.own >= gain * cell.other for cell in found), sum(cell.other >= gain * cell.own for cell in found)


def largest_share(study: Result, way: str, slowness: float = 1.0) -> float:
    """Of any step that selecting takes."""
    rows = (row for row in study.records("rows") if (row["way"], row["slowness"]) == (way, slowness))
    return float(max(max(row["select_share"]) for row in rows))


def largest_loss(study: Result, way: str, slowness: float = 1.0) -> float:
    """Of efficiency, anywhere, against exact Top-k that sends the same way: at most so much less."""
    found = (
        cell for density in _densities(study) for cell in cells(study, way, density, other="gather", slowness=slowness)
    )
    return max(cell.other - cell.own for cell in found)


def largest_gain(study: Result, way: str) -> float:
    """Of efficiency, anywhere, against exact Top-k that sends the same way: at most so much more."""
    found = (cell for density in _densities(study) for cell in cells(study, way, density, other="gather"))
    return max(cell.own - cell.other for cell in found)


def flips(study: Result, way: str) -> list[tuple[str, float, float, int, float | None, float | None]]:
    """Network, rate, density, workers, operations a second from which a way is quicker, and the ratio there."""
    return [
        (row["network"], row["bits_per_second"], row["density"], workers, operations, ratio)
        for row in study.records("flips")
        if row["way"] == way
        for workers, operations, ratio in zip(study["workers"], row["operations_per_second"], row["ratio"], strict=True)
    ]


def scaling(data_folder: Path) -> Figure:
    """A panel for each network."""
    study = result(data_folder, "scaling")
    figure = new_figure(4.6, profile=study["profile"])
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, (network, title) in zip(panels.flat, NETWORKS.items(), strict=True):
        _draw(axes, study, network)
        axes.set(title=title, xscale="log", ylim=(0, 1.04))
        axes.set_xticks(study["workers"], [f"{workers}" for workers in study["workers"]], minor=False)
        axes.minorticks_off()
    fitted = result(data_folder, "links")["model"]
    if fitted is not None:
        half = 0.5 * float(fitted["mean_error"])
        where = study["workers"][0]
        panels[0, 0].errorbar([where], [0.5], [half], color=GREY, capsize=2, linewidth=1)
        panels[0, 0].annotate("mean error", (where, 0.5), xytext=(5, -3), textcoords="offset points", fontsize=7)
    for axes in panels[1]:
        axes.set_xlabel("workers")
    for axes in panels[:, 0]:
        axes.set_ylabel("efficiency")
    legend_below(figure, panels[0, 0], columns=3)
    return figure


def _draw(axes: Axes, study: Result, network: str) -> None:
    for rate, colour in DRAWN_RATES.items():
        if rate not in study["bits_per_second"]:
            continue
        for way, dash, words in (("dense", (0, (4, 1.5)), "all"), ("gather", "-", "Top-$k$")):
            row = row_of(study, network, way, rate, DRAWN_DENSITY)
            label = f"{words}, {rate / _GIGA:g} Gbit/s"
            axes.plot(
                study["workers"], row["efficiency"], color=colour, linestyle=dash, marker="o", markersize=2, label=label
            )


def scaling_table(data_folder: Path) -> str:
    """Efficiencies in percent with the workers in the middle, of every way, network and two rates."""
    study = result(data_folder, "scaling")
    place = _middle(study)
    rates = [rate for rate in TABLE_RATES if rate in study["bits_per_second"]]
    heads = " & ".join(rf"\multicolumn{{{len(rates)}}}{{c}}{{{title}}}" for title in NETWORKS.values())
    lines = []
    for way, title in WAYS.items():
        found = (row_of(study, network, way, rate, DRAWN_DENSITY) for network in NETWORKS for rate in rates)
        lines.append(f"{title} & {' & '.join(latex.percent(row['efficiency'][place], 0) for row in found)} \\\\")
    units = " & ".join(latex.shortest(rate / _GIGA) for _ in NETWORKS for rate in rates)
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * len(NETWORKS) * len(rates)}}}",
            r"\toprule",
            rf"& {heads} \\",
            rf"Gbit/s & {units} \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _densities(study: Result) -> list[float]:
    return sorted({row["density"] for row in study.records("rows")} - {1.0})


def _middle(study: Result) -> int:
    return len(study["workers"]) // 2


def _wins(data_folder: Path, *, way: str, density: float, lost: bool = False) -> str:
    study = result(data_folder, "scaling")
    found = list(cells(study, way, density, other=IN_NODES.get(way, "dense")))
    return f"{latex.integer(won(study, found)[int(lost)])} of {latex.integer(len(found))}"


def _winning_rate(data_folder: Path) -> str:
    """The fastest links, in Gbit/s, on which any way that selects or factorises wins anywhere."""
    study = result(data_folder, "scaling")
    found = (
        cell.bits_per_second
        for way in ("gather", "global_top_k", "powersgd", "chunks_coded", "owners")
        for density in _densities(study)
        for cell in cells(study, way, density)
        if won(study, [cell])[0]
    )
    return latex.shortest(max(found, default=0.0) / _GIGA)


def _most_workers(data_folder: Path, *, density: float) -> str:
    """With which gathering wins anywhere."""
    study = result(data_folder, "scaling")
    found = (cell.workers for cell in cells(study, "gather", density) if won(study, [cell])[0])
    return latex.integer(max(found, default=0))


def _ratios(data_folder: Path, *, best: Callable[[Sequence[float]], float]) -> str:
    study = result(data_folder, "scaling")
    found = [ratio for way in ("gather", "global_top_k") for *_, ratio in flips(study, way) if ratio is not None]
    return latex.decimal(best(found), 1)


def _flipping(data_folder: Path) -> str:
    """`286 for ResNet-50, …`, in 10¹² operations a second, with the fewest workers on the faster of two links."""
    study, rate = result(data_folder, "scaling"), TABLE_RATES[-1]
    fewest = study["workers"][0]
    found = {
        network: operations
        for network, at, density, workers, operations, _ in flips(study, "gather")
        if (at, density, workers) == (rate, DRAWN_DENSITY, fewest)
    }
    said = (
        f"{'no number' if operations is None else latex.decimal(operations / _TERA, 0)} for {NETWORKS[network]}"
        for network, operations in found.items()
    )
    return ", ".join(said)


def _never(data_folder: Path) -> str:
    """In how many places no device is fast enough for gathering to win."""
    found = [operations for *_, operations, _ in flips(result(data_folder, "scaling"), "gather")]
    return f"{latex.integer(found.count(None))} of {latex.integer(len(found))}"


def _share(data_folder: Path, *, way: str = "gather", is_slow: bool = False) -> str:
    study = result(data_folder, "scaling")
    return latex.percent(largest_share(study, way, study["slowness"] if is_slow else 1.0))


def _loss(data_folder: Path, *, way: str = "gather", is_slow: bool = False) -> str:
    study = result(data_folder, "scaling")
    return latex.percent(largest_loss(study, way, study["slowness"] if is_slow else 1.0))


def _error(data_folder: Path, *, field: str) -> str:
    fitted = result(data_folder, "links")["model"]
    return NOT_FITTED if fitted is None else rf"{latex.percent(fitted[field])}\,\%"


def _batches(data_folder: Path) -> str:
    """`128 for ResNet-50, …`."""
    found = result(data_folder, "scaling").records("networks")
    return ", ".join(f"{latex.integer(row['batch'])} for {NETWORKS[row['network']]}" for row in found)


def _field(data_folder: Path, *, say: Callable[[Result], str]) -> str:
    return say(result(data_folder, "scaling"))


MACROS: dict[str, Macro] = {
    "ScalingWorkersLeast": partial(_field, say=lambda study: latex.integer(study["workers"][0])),
    "ScalingWorkersMost": partial(_field, say=lambda study: latex.integer(study["workers"][-1])),
    "ScalingWorkersTable": partial(_field, say=lambda study: latex.integer(study["workers"][_middle(study)])),
    "ScalingRateLeast": partial(_field, say=lambda study: latex.shortest(study["bits_per_second"][0] / _GIGA)),
    "ScalingRateMost": partial(_field, say=lambda study: latex.shortest(study["bits_per_second"][-1] / _GIGA)),
    "ScalingRateTable": lambda _folder: latex.shortest(TABLE_RATES[-1] / _GIGA),
    "ScalingLatency": partial(_field, say=lambda study: latex.shortest(study["latency_seconds"] / _MICRO)),
    "ScalingOperations": partial(_field, say=lambda study: latex.scientific(study["operations_per_second"])),
    "ScalingBatches": _batches,
    "ScalingHardware": partial(_field, say=lambda study: latex.escape(study["hardware"])),
    "ScalingRank": partial(_field, say=lambda study: latex.integer(study["low_rank"])),
    "ScalingNodeSize": partial(_field, say=lambda study: latex.integer(study["node_size"])),
    "ScalingDensity": lambda _folder: latex.shortest(DRAWN_DENSITY),
    "ScalingDenser": partial(_field, say=lambda study: latex.shortest(_densities(study)[-1])),
    "ScalingGain": partial(_field, say=lambda study: latex.percent(study["least_gain"] - 1, 0)),
    "ScalingError": partial(_error, field="mean_error"),
    "ScalingErrorMost": partial(_error, field="largest_error"),
    "ScalingGatherWins": partial(_wins, way="gather", density=0.001),
    "ScalingGatherLosses": partial(_wins, way="gather", density=0.001, lost=True),
    "ScalingGatherDenserWins": partial(_wins, way="gather", density=0.01),
    "ScalingGatherDenserLosses": partial(_wins, way="gather", density=0.01, lost=True),
    "ScalingMergedWins": partial(_wins, way="global_top_k", density=0.01),
    "ScalingFactorWins": partial(_wins, way="powersgd", density=0.001),
    "ScalingCodedWins": partial(_wins, way="chunks_coded", density=0.001),
    "ScalingCodedLosses": partial(_wins, way="chunks_coded", density=0.001, lost=True),
    "ScalingNodesWins": partial(_wins, way="gather_nodes", density=0.001),
    "ScalingNodesLosses": partial(_wins, way="gather_nodes", density=0.001, lost=True),
    "ScalingWinningRate": _winning_rate,
    "ScalingGatherWorkers": partial(_most_workers, density=0.001),
    "ScalingGatherDenserWorkers": partial(_most_workers, density=0.01),
    "ScalingRatioLeast": partial(_ratios, best=min),
    "ScalingRatioMost": partial(_ratios, best=max),
    "ScalingFlips": _flipping,
    "ScalingNever": _never,
    "ScalingSlowness": partial(_field, say=lambda study: latex.shortest(study["slowness"])),
    "ScalingShare": _share,
    "ScalingSlowShare": partial(_share, is_slow=True),
    "ScalingSlowLoss": partial(_loss, is_slow=True),
    "ScalingTorchShare": partial(_share, way="gather_torch"),
    "ScalingTorchLoss": partial(_loss, way="gather_torch"),
    "ScalingReleasedLoss": partial(_loss, way="gather_released"),
    "ScalingApproximate": lambda folder: latex.percent(largest_gain(result(folder, "scaling"), "gather_gaussian"), 2),
}

STUDY = Study(
    macros=MACROS,
    figures={"scaling": scaling},
    tables={"scaling.tex": scaling_table},
    results=("scaling", "links"),
    remade=("scaling",),
)
"""What the paper prints of it."""
