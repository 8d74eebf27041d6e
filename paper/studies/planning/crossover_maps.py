"""Which collective is quickest where, and how is it drawn? The maps of `crossovers.json`, read and shown.

Beside the maps of exact collectives are the κ* of the statements, and where gTop-k, which is not exact, is quicker.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from paper.results import Result, result
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, Look, legend_below, new_figure

GLOBAL_TOP_K = "global_top_k"
LOWEST_DENSITY = 1e-5
_GIGA, _MICRO = 1e9, 1e-6
_WIDE, _NARROW, _HALF_NAME = 2.0, 1.5, 0.4
"""Decades: of pieces, and of half a name, which stands at the left of a narrow one."""
_LEAST_LABELLED = 0.03
"""Share of a map that a region must have to bear its name."""


@dataclass(frozen=True)
class Region:
    """How a collective's part of a map is drawn.

    Args:
        title: its name there.
        colour: of all of it.
        across: how far to the right in a wide piece the name stands, as a share.
        up: in which piece it stands, by the share of the area that lies below.
    """

    title: str
    colour: str
    across: float = 0.65
    up: float = 0.5


REGIONS = {
    "doubling_all_gather": Region("all-\ngather", "#A6D5F2"),
    "doubling_all_reduce": Region("all-\nreduce", "#E2E2E2", across=0.82),
    "balanced_all_reduce": Region("owners", "#9ADBC6", across=0.4, up=0.25),
    "hierarchical_gather": Region("all-gather\nin nodes", "#F5D08F", up=0.7),
    "hierarchical_all_reduce": Region("all-reduce\nin nodes", "#C4C4C4", across=0.75, up=0.6),
    "ring_all_gather": Region("ring\nall-gather", BLUE),
    "ring_all_reduce": Region("ring\nall-reduce", GREY),
    "tree_all_reduce": Region("tree", ORANGE),
}
"""Names and colours on the maps, of exact collectives."""
LINES = {
    "doubling_crossover": Look(r"$\kappa^*$, doubling", BLACK),
    "gather_crossover": Look(r"$\kappa^*$, rings", BLACK, "--"),
    "balanced_crossover": Look(r"$\kappa^*$, owners and a ring", GREEN, "-."),
    "hierarchical_crossover": Look(r"$\kappa^*$, sums of nodes and a ring", VERMILION, "-."),
}
"""Closed forms drawn on them."""
MERGED = Look("inside: gTop-$k$ is quicker, not exact", PURPLE, (0, (1, 1)))
LIMIT = Look(r"limit of $\kappa^*$, rings", BLUE, ":")


@dataclass(frozen=True)
class Piece:
    """Where one collective is quickest, for one number of workers, in decadic logarithms.

    Args:
        collective: that.
        start: the lowest density.
        end: the highest.
        low: of the workers, half-way to the number before.
        high: likewise to the next.
    """

    collective: str
    start: float
    end: float
    low: float
    high: float

    @property
    def area(self) -> float:
        """In decades of either axis."""
        return (self.end - self.start) * (self.high - self.low)


def map_of(study: Result, network: str, fresh_share: float) -> list[Result]:
    """The rows of a map, by ascending workers.

    Raises:
        ValueError: there is no such map.
    """
    for found in study.records("maps"):
        if (found["network"], found["fresh_share"]) == (network, fresh_share):
            return found.records("rows")
    raise ValueError(f"{study.path}: no map of {network!r} with a fresh share of {fresh_share:g}")


def row_of(study: Result, network: str, workers: int, *, fresh_share: float) -> Result:
    """One number of workers of a map.

    Raises:
        ValueError: there is none.
    """
    for row in map_of(study, network, fresh_share):
        if row["workers"] == workers:
            return row
    raise ValueError(f"{study.path}: no row of {workers} workers on {network!r}")


def pieces(rows: Sequence[Result]) -> list[Piece]:
    """The map in pieces, from `LOWEST_DENSITY` on."""
    places = [math.log10(row["workers"]) for row in rows]
    middles = [(one + other) / 2 for one, other in pairwise(places)]
    edges = [places[0], *middles, places[-1]]
    found = []
    for row, (low, high) in zip(rows, pairwise(edges), strict=True):
        start = math.log10(LOWEST_DENSITY)
        for name, density in row["stretches"]:
            end = math.log10(max(density, LOWEST_DENSITY))
            if end > start:
                found.append(Piece(name, start, end, low, high))
            start = max(start, end)
    return found


def label_place(found: Sequence[Piece], collective: str) -> tuple[float, float] | None:
    """Where a collective's name stands, in logarithms, or None if its region is too small for one."""
    own, region = [piece for piece in found if piece.collective == collective], REGIONS[collective]
    area = sum(piece.area for piece in own)
    if area < _LEAST_LABELLED * sum(piece.area for piece in found):
        return None
    below = list(accumulate(piece.area for piece in own))
    piece = next(piece for piece, passed in zip(own, below, strict=True) if passed >= region.up * area)
    width = piece.end - piece.start
    share = region.across if width > _WIDE else 0.5
    return piece.start + (share * width if width > _NARROW else _HALF_NAME), (piece.low + piece.high) / 2


def merged_range(row: Result) -> tuple[float, float] | None:
    """The densities between which gTop-k is quicker than all exact collectives; None if there are none."""
    start = 0.0
    for name, end in row["with_global_top_k"]:
        if name == GLOBAL_TOP_K:
            return start, end
        start = end
    return None


def crossover_maps(data_folder: Path, *, is_alike: bool = False) -> Figure:
    """Which collective is quickest by density and workers, a panel for each network; workers select apart, or alike."""
    study = result(data_folder, "crossovers")
    figure = new_figure(2.9, profile=study["profile"])
    networks, maps = list(study["networks"]), study.records("maps")
    share = (min if is_alike else max)(float(one["fresh_share"]) for one in maps)
    panels = figure.subplots(1, len(networks), sharey=True, squeeze=False)[0]
    for network, axes in zip(networks, panels, strict=True):
        _draw_map(axes, study, network, share)
        axes.set(title=network_title(study, network), xlabel=r"density $\kappa$")
    panels[0].set_ylabel(f"workers $n$ ($\\varphi={share:g}$)")
    workers = [row["workers"] for one in maps for row in one.records("rows")]
    panels[0].set_ylim(min(workers), max(workers))
    ticks = [4**power for power in range(1, 7) if min(workers) <= 4**power <= max(workers)]
    panels[0].set_yticks(ticks, [str(tick) for tick in ticks])
    panels[0].minorticks_off()
    for look in (*LINES.values(), LIMIT, MERGED):
        panels[0].plot([], [], **look.line)
    legend_below(figure, panels[0], columns=3)
    return figure


def network_title(study: Result, name: str) -> str:
    """`25 Gbit/s, 20 µs`, and of nodes how many are in one."""
    network = study.record("networks").record(name)
    title = f"{network['bits_per_second'] / _GIGA:g} Gbit/s, {network['latency_seconds'] / _MICRO:g} µs"
    return title if network["node_size"] == 1 else f"{title}; nodes of {network['node_size']}"


def _draw_map(axes: Axes, study: Result, network: str, share: float) -> None:
    rows = map_of(study, network, share)
    found = pieces(rows)
    for piece in found:
        left, bottom = 10**piece.start, 10**piece.low
        axes.barh(
            bottom,
            10**piece.end - left,
            10**piece.high - bottom,
            left,
            align="edge",
            color=REGIONS[piece.collective].colour,
            # Neighbours leave no hair of white between them.
            edgecolor=REGIONS[piece.collective].colour,
            linewidth=0.3,
        )
    for label, look in LINES.items():
        if label.startswith("hierarchical") or network != "nodes":
            axes.plot(*_curve(rows, label), color=look.colour, linestyle=look.dash, linewidth=0.9)
    if network in study["limits"]:
        axes.axvline(study["limits"][network], color=LIMIT.colour, linestyle=LIMIT.dash, linewidth=1.0)
    axes.plot(*_outline(rows), color=MERGED.colour, linestyle=MERGED.dash, linewidth=1.1)
    for collective, region in REGIONS.items():
        place = label_place(found, collective)
        if place is not None:
            text = axes.annotate(region.title, (10 ** place[0], 10 ** place[1]), ha="center", va="center", fontsize=7)
            text.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
    axes.set(xscale="log", yscale="log", xlim=(LOWEST_DENSITY, 1))
    axes.grid(visible=False)


def _outline(rows: Sequence[Result]) -> tuple[list[float], list[int]]:
    """Around the densities and workers with which gTop-k is quicker: up on the left, and down on the right."""
    merged = [(row["workers"], merged_range(row)) for row in rows]
    ends = [(between, workers) for workers, between in merged if between is not None]
    points = [(between[0], workers) for between, workers in ends]
    points += [(between[1], workers) for between, workers in reversed(ends)]
    places = [max(density, LOWEST_DENSITY / 10) for density, _ in points]
    return places + places[:1], [workers for _, workers in points] + [workers for _, workers in points[:1]]


def _curve(rows: Sequence[Result], label: str) -> tuple[list[float], list[int]]:
    known = [row for row in rows if label in row["crossovers"]]
    return [row["crossovers"][label] for row in known], [row["workers"] for row in known]
