"""What do ways to the k largest entries over ranks cost, and what do they miss? Read from `global_selection.json`.

`make bench` writes it. Bytes are set against the statements' bounds, and the largest buckets of sorts against theirs.
An error is the energy that is left beyond what as many of the largest entries of the mean would leave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREY, ORANGE, PURPLE, VERMILION, legend_below, new_figure

TITLES = {
    "exact": "exact",
    "sampled": "samples, one round",
    "gaussian": "Gaussian threshold",
    "own": r"$k/p$ of each part",
    "scattered": "scatter, then exact",
    "gtop_k": "gTop-$k$",
    "gathered": "Gaussian-$k$, gathered",
}
OF_PARTS = 4
"""The first so many begin with a part of the mean on each rank."""
KIND, WORST_KIND = "gaussian", "skewed"
RANK_LOOKS = {2: ("o", BLUE), 4: ("s", VERMILION)}
RULE_LOOKS: dict[int | None, tuple[str, str]] = {None: ("fewest bytes", PURPLE), 1: ("fewest samples", ORANGE)}
CROWDING, EQUAL = "crowding", "equal keys"
_ROUNDING = 1e-9
"""Of energies, relative: far above roundings in float64, far below what an entry too few leaves."""


def selections(data_folder: Path, method: str) -> list[Result]:
    """The rows of a way."""
    return [row for row in result(data_folder, "global_selection").records("selections") if row["method"] == method]


def excess(row: Result) -> float:
    """The energy left beyond the least that as many entries leave, as a share of that; 0 up to roundings.

    Raises:
        ValueError: the least is 0, and more is left.
    """
    left, least = float(row["left_share"]), float(row["least_share"])
    if left - least <= _ROUNDING:
        return 0.0
    if least == 0:
        raise ValueError(f"{row.path}: {row['method']} leaves {left} where nothing need be left")
    return left / least - 1


def largest_place(data_folder: Path) -> tuple[int, float]:
    """The most entries with the lowest density."""
    study = result(data_folder, "global_selection")
    rows = [row for row in study.records("selections") if row["vectors"] == KIND]
    return max(int(row["dimension"]) for row in rows), min(study["densities"])


def shown_rows(data_folder: Path, method: str) -> list[Result]:
    """By number of ranks, on Gaussian vectors at `largest_place`."""
    place = largest_place(data_folder)
    rows = [row for row in selections(data_folder, method) if row["vectors"] == KIND]
    return [row for row in rows if (row["dimension"], row["density"]) == place]


def used_share(row: Result) -> float:
    """Of what the bound of the largest bucket allows beyond d/p, how much was there."""
    mean = row["key_count"] / row["rank_count"]
    return float((row["largest_bucket"] - mean) / (row["bound"] - mean))


def selection_figure(data_folder: Path) -> Figure:
    """Bytes, errors and seconds of every way; below, the largest buckets of sorts."""
    figure = new_figure(5.0, profile=result(data_folder, "global_selection")["profile"])
    grid = figure.add_gridspec(2, 3, height_ratios=(1.25, 1.0))
    sent = figure.add_subplot(grid[0, 0])
    missed, taken = (figure.add_subplot(grid[0, column], sharey=sent) for column in (1, 2))
    buckets = figure.add_subplot(grid[1, :])
    for axes, draw in ((sent, _draw_bytes), (missed, _draw_errors), (taken, _draw_seconds)):
        draw(axes, data_folder)
        axes.axhline(OF_PARTS - 0.5, color=GREY, lw=0.6)
        axes.grid(visible=False, axis="y")
    sent.set_yticks(range(len(TITLES)), list(TITLES.values()))
    sent.set_ylim(len(TITLES) - 0.5, -0.5)
    for axes in (missed, taken):
        axes.tick_params(labelleft=False)
    _draw_buckets(buckets, data_folder)
    legend_below(figure, taken, columns=len(RANK_LOOKS))
    return figure


def _draw_bytes(axes: Axes, data_folder: Path) -> None:
    """What all ranks send, and the bounds as strokes."""
    for place, method in enumerate(TITLES):
        for row in shown_rows(data_folder, method):
            marker, colour = RANK_LOOKS[int(row["rank_count"])]
            axes.plot(row["sent_bytes"], place, marker, color=colour, ms=4.5, mew=0)
            if row["bound_bytes"] is not None:
                axes.plot(row["bound_bytes"], place, "|", color=BLACK, ms=11, mew=0.9)
    axes.set(xscale="log", xlabel="bytes, all ranks")


def _draw_errors(axes: Axes, data_folder: Path) -> None:
    """Every row as a dot, and between which multiples of k the counts lie."""
    for place, method in enumerate(TITLES):
        rows = selections(data_folder, method)
        for row in rows:
            marker, colour = RANK_LOOKS[int(row["rank_count"])]
            axes.plot(excess(row), place, marker, color=colour, ms=3.5, alpha=0.5, mew=0)
        shares = [row["count"] / row["k"] for row in rows]
        axes.annotate(
            _range(shares), (1.03, place), xycoords=("axes fraction", "data"), ha="left", va="center", fontsize=7
        )
    axes.annotate("entries$/k$", (1.03, 1.02), xycoords="axes fraction", ha="left", va="bottom", fontsize=7)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set(xlabel="energy left too much")


def _range(shares: Sequence[float]) -> str:
    low, high = f"{min(shares):.2g}", f"{max(shares):.2g}"
    return low if min(shares) == max(shares) else f"{low} to {high}"


def _draw_seconds(axes: Axes, data_folder: Path) -> None:
    for place, method in enumerate(TITLES):
        for row in shown_rows(data_folder, method):
            marker, colour = RANK_LOOKS[int(row["rank_count"])]
            label = f"{row['rank_count']} ranks" if place == 0 else None
            axes.plot(row["seconds"], place, marker, color=colour, ms=4.5, mew=0, label=label)
    axes.set_xlim(0, 1.05 * axes.get_xlim()[1])
    axes.set(xlabel="seconds")


def _draw_buckets(axes: Axes, data_folder: Path) -> None:
    """By order of the keys, the share of the bound's excess that is used."""
    rows = result(data_folder, "global_selection").records("sorts")
    orders = list(dict.fromkeys(str(row["order"]) for row in rows))
    labelled = (orders.index(EQUAL), orders.index(CROWDING))
    for (rule, (title, colour)), row_of, shift in zip(RULE_LOOKS.items(), labelled, (-0.16, 0.16), strict=True):
        for ranks, (marker, _) in RANK_LOOKS.items():
            own = [row for row in rows if (row["rank_count"], row["oversampling"]) == (ranks, rule)]
            places = [orders.index(str(row["order"])) + shift for row in own]
            axes.plot([used_share(row) for row in own], places, marker, color=colour, ms=4.5, mew=0)
        axes.annotate(title, (0.5, row_of + shift), color=colour, ha="center", va="center", fontsize=8)
    axes.axvline(1.0, color=BLACK, lw=0.9)
    axes.annotate("bound", (1.0, 1.01), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=8)
    axes.set_yticks(range(len(orders)), orders)
    axes.set_ylim(len(orders) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set(xlabel="of the keys beyond $d/p$ that the bound allows the largest bucket", xlim=(-0.03, 1.03))


def _of_ranks(data_folder: Path, method: str) -> Result:
    """On the most ranks, at `largest_place`."""
    return max(shown_rows(data_folder, method), key=lambda row: int(row["rank_count"]))


def _bytes(data_folder: Path, *, method: str, field: str = "sent_bytes") -> str:
    return latex.size(_of_ranks(data_folder, method)[field])


def _milliseconds(data_folder: Path, *, method: str) -> str:
    return latex.decimal(1e3 * _of_ranks(data_folder, method)["seconds"], 0)


def _largest_excess(data_folder: Path, *, method: str) -> str:
    return latex.percent(max(map(excess, selections(data_folder, method))))


def _wrong_count(data_folder: Path) -> str:
    rows = [row for method in ("exact", "scattered") for row in selections(data_folder, method)]
    wrong = sum(row["count"] != row["k"] or excess(row) > 0 for row in rows)
    return f"{latex.integer(wrong) if wrong else 'none'} of {latex.integer(len(rows))}"


def _count(data_folder: Path, *, method: str, end: Callable[[list[float]], float]) -> str:
    return latex.decimal(end([row["count"] / row["k"] for row in selections(data_folder, method)]), 2)


def _bound_share(data_folder: Path, *, end: Callable[[list[float]], float]) -> str:
    """Bytes of exact selection over their bound."""
    return latex.percent(end([row["sent_bytes"] / row["bound_bytes"] for row in selections(data_folder, "exact")]), 0)


def _crowded(data_folder: Path, rule: int | None, rank_count: int) -> Result:
    """The sort of the most keys in the crowding order."""
    rows = [
        row
        for row in result(data_folder, "global_selection").records("sorts")
        if (row["order"], row["oversampling"], row["rank_count"]) == (CROWDING, rule, rank_count)
    ]
    return max(rows, key=lambda row: int(row["key_count"]))


def _most_ranks(data_folder: Path) -> int:
    return int(max(result(data_folder, "global_selection")["rank_counts"]))


def _crowded_share(data_folder: Path, *, rule: int | None) -> str:
    return latex.percent(used_share(_crowded(data_folder, rule, _most_ranks(data_folder))), 0)


def _largest_over_mean(data_folder: Path, *, rule: int | None, digits: int) -> str:
    row = _crowded(data_folder, rule, _most_ranks(data_folder))
    return latex.decimal(row["largest_bucket"] * row["rank_count"] / row["key_count"], digits)


def _largest_used(data_folder: Path, *, order: str, rule: int | None) -> str:
    rows = result(data_folder, "global_selection").records("sorts")
    return latex.percent(
        max(used_share(row) for row in rows if (row["order"], row["oversampling"]) == (order, rule)), 0
    )


MACROS: dict[str, Macro] = {
    "GlobalRanks": lambda folder: " and ".join(map(str, result(folder, "global_selection")["rank_counts"])),
    "GlobalMostRanks": lambda folder: latex.integer(_most_ranks(folder)),
    "GlobalCores": lambda folder: latex.integer(result(folder, "global_selection")["core_count"]),
    "GlobalDimension": lambda folder: latex.integer(largest_place(folder)[0]),
    "GlobalDensity": lambda folder: latex.shortest(largest_place(folder)[1]),
    "GlobalDensities": lambda folder: " and ".join(
        latex.shortest(density) for density in result(folder, "global_selection")["densities"]
    ),
    "GlobalWrong": _wrong_count,
    "GlobalExactBytes": partial(_bytes, method="exact"),
    "GlobalExactBound": partial(_bytes, method="exact", field="bound_bytes"),
    "GlobalBoundLeast": partial(_bound_share, end=min),
    "GlobalBoundMost": partial(_bound_share, end=max),
    "GlobalScatteredBytes": partial(_bytes, method="scattered"),
    "GlobalTreeBytes": partial(_bytes, method="gtop_k"),
    "GlobalGatheredBytes": partial(_bytes, method="gathered"),
    "GlobalTreeExcess": partial(_largest_excess, method="gtop_k"),
    "GlobalGatheredExcess": partial(_largest_excess, method="gathered"),
    "GlobalOwnExcess": partial(_largest_excess, method="own"),
    "GlobalSampledExcess": partial(_largest_excess, method="sampled"),
    "GlobalGaussianLeast": partial(_count, method="gaussian", end=min),
    "GlobalGaussianMost": partial(_count, method="gaussian", end=max),
    "GlobalGatheredMost": partial(_count, method="gathered", end=max),
    "GlobalExactTime": partial(_milliseconds, method="exact"),
    "GlobalScatteredTime": partial(_milliseconds, method="scattered"),
    "GlobalTreeTime": partial(_milliseconds, method="gtop_k"),
    "GlobalGatheredTime": partial(_milliseconds, method="gathered"),
    "GlobalCrowdedFew": partial(_crowded_share, rule=None),
    "GlobalCrowdedCoarse": partial(_crowded_share, rule=1),
    "GlobalBucketFew": partial(_largest_over_mean, rule=None, digits=3),
    "GlobalBucketCoarse": partial(_largest_over_mean, rule=1, digits=2),
    "GlobalKeys": lambda folder: latex.integer(_crowded(folder, None, _most_ranks(folder))["key_count"]),
    "GlobalTurnsFew": partial(_largest_used, order="in turns", rule=None),
    "GlobalRandomFew": partial(_largest_used, order="random", rule=None),
    "GlobalRandomCoarse": partial(_largest_used, order="random", rule=1),
}

STUDY = Study(macros=MACROS, figures={"global_selection": selection_figure}, results=("global_selection",))
"""What the paper prints of it."""
