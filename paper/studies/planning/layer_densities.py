"""What do densities by layer leave out, beside one density in the same seconds? And which density suits a link?

Reads `layer_densities.json`. Trainings are paired by seed: a gain is what one way leaves out less what another does, in
points of the energy of a corrected gradient, seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.comparisons import difference_cell, tally
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, Look, new_figure
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference

MODELS = {"fnn3": "FNN-3", "resnet20": "ResNet-20", "gpt": "GPT"}
WAYS = {
    "layers": Look("a density for each layer", VERMILION),
    "one": Look("one for all layers", BLUE, "--"),
    "whole": Look("Top-$k$ of all, nothing hidden", GREY, ":"),
}
"""How energy is left out in the same seconds."""
RATES = (Look("", VERMILION), Look("", ORANGE, "--"), Look("", GREEN, "-."))
"""Of links, the slowest first."""
LAWS = {"steady_drift": "persistent", "steady_noise": "noise"}
BY_WORKERS = (Look("", BLUE), Look("", GREEN, "--"), Look("", VERMILION, "-."))
NOT_IN_TIME = "not in time"
_GIGA, _MEGA, _MICRO = 1e9, 1e6, 1e-6
_FEW = 5
"""Messages that are all numbered."""


@dataclass(frozen=True)
class Place:
    """A network on a link.

    Args:
        model: that.
        rate: of the link, in bits per second.
        links: of each training of it, what was found there, in the order of the seeds.
    """

    model: str
    rate: float
    links: tuple[Result, ...]

    @property
    def is_feasible(self) -> bool:
        """With every seed an entry of each layer is in time."""
        return all(link["densities"] is not None for link in self.links)

    def left_out(self, way: str, *, is_later: bool) -> list[float]:
        """Percent of the energy, by seed: of the gradient planned for, or of later ones."""
        field = "later_left_out" if is_later else "left_out"
        return [100 * link.record(field)[way] for link in self.links]

    def gain(self, other: str, *, is_later: bool) -> Estimate:
        """Points that another way leaves out more than the planned densities do."""
        return paired_difference(self.left_out(other, is_later=is_later), self.left_out("layers", is_later=is_later))

    def share(self, way: str) -> float:
        """Of all entries, that are sent; the mean of the seeds."""
        return fmean(link.record("entry_share")[way] for link in self.links)


def places(study: Result) -> list[Place]:
    """Every network on every link, in the order of `MODELS`, slow links first."""
    runs = sorted(study.records("runs"), key=lambda run: int(run["seed"]))
    return [
        Place(
            model,
            rate,
            tuple(
                link
                for run in runs
                if run["model"] == model
                for link in run.records("links")
                if link["bits_per_second"] == rate
            ),
        )
        for model in study["messages"]
        for rate in sorted(study["bits_per_second"])
    ]


def feasible(study: Result) -> list[Place]:
    """Those where an entry of each layer is in time."""
    return [place for place in places(study) if place.is_feasible]


def layer_figure(data_folder: Path) -> Figure:
    """Density by depth, a panel for each network."""
    return _by_model(data_folder, _draw_densities, ylabel=r"density $\kappa$")


def left_out_figure(data_folder: Path) -> Figure:
    """What is left out of gradients that the densities were not planned for, a panel for each network."""
    figure = _by_model(data_folder, _draw_left_out, ylabel="energy left out in %")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _by_model(data_folder: Path, draw: Callable[[Axes, Sequence[Place]], None], *, ylabel: str) -> Figure:
    study = result(data_folder, "layer_densities")
    figure = new_figure(2.4, profile=study["profile"])
    panels = figure.subplots(1, len(study["messages"]), squeeze=False)[0]
    panels[0].set_ylabel(ylabel)
    for model, axes in zip(study["messages"], panels, strict=True):
        axes.set_title(MODELS[model])
        draw(axes, [place for place in feasible(study) if place.model == model])
    return figure


def _draw_densities(axes: Axes, own: Sequence[Place]) -> None:
    """The mean of the seeds as steps, one density for all beside it, a colour for each link, named once."""
    count = max((len(place.links[0]["densities"]) for place in own), default=1)
    for place, look in zip(own, RATES, strict=False):
        columns = list(zip(*(link["densities"] for link in place.links), strict=True))
        heights = [fmean(column) for column in columns]
        edges = [number - 0.5 for number in range(1, len(heights) + 2)]
        axes.stairs(heights, edges, baseline=None, color=look.colour, linewidth=1.4)
        common = fmean(link["one_density"] for link in place.links)
        axes.axhline(common, color=look.colour, linestyle=WAYS["one"].dash, linewidth=0.8)
        if axes.get_ylabel():
            label, corner = f"{place.rate / _GIGA:g} Gbit/s", (edges[0], heights[0])
            axes.annotate(label, corner, xytext=(0, 3), textcoords="offset points", fontsize=7, color=look.colour)
    axes.set(yscale="log", xlabel="message, from the input on")
    ticks = [1, *range(5, count + 1, 5)] if count > _FEW else range(1, count + 1)
    axes.set_xticks(ticks)
    axes.grid(visible=False, axis="x")


def _draw_left_out(axes: Axes, own: Sequence[Place]) -> None:
    rates = [place.rate / _GIGA for place in own]
    for name, look in WAYS.items():
        found = [mean(place.left_out(name, is_later=True)) for place in own]
        if found and found[0].count > 1:
            reach = [[one.value - one.low for one in found], [one.high - one.value for one in found]]
            axes.errorbar(rates, [one.value for one in found], reach, fmt="none", ecolor=look.colour, elinewidth=0.8)
        axes.plot(rates, [one.value for one in found], marker="o", markersize=3, **look.line)
    axes.set(xscale="log", xlabel="link in Gbit/s", ylim=(0, 102))
    axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
    axes.minorticks_off()


def rate_figure(data_folder: Path) -> Figure:
    """Seconds with the best density over those of the ring that sends everything, against b/a, a panel for each law."""
    study = result(data_folder, "layer_densities")
    figure = new_figure(2.3, profile=study["profile"])
    panels = figure.subplots(1, len(LAWS), sharey=True)
    rows = study.records("density_rates")
    workers = sorted({row["workers"] for row in rows})
    for (law, name), axes in zip(LAWS.items(), panels, strict=True):
        for count, look in zip(workers, BY_WORKERS, strict=True):
            own = [row for row in rows if (row["law"], row["workers"]) == (law, count)]
            ratios = [row["link_ratio"] for row in own]
            stated = [row["stated_over_ring"] for row in own]
            axes.plot(ratios, stated, color=look.colour, linestyle=look.dash)
            axes.plot(
                ratios, [row["seconds_over_ring"] for row in own], "o", color=look.colour, ms=2.5, fillstyle="none"
            )
            axes.annotate(
                f"$n={count}$", (ratios[-1], stated[-1]), xytext=(3, 0), textcoords="offset points", va="center",
                fontsize=7, color=look.colour, annotation_clip=False,
            )  # fmt: skip
        axes.axhline(1, color=BLACK, linewidth=0.6)
        axes.set(xscale="log", yscale="log", xlabel="link, $b/a$", title=f"{name}, $c={_entry_gain(rows, law):g}$")
        axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
        axes.minorticks_off()
    panels[0].set_ylabel("seconds over those of the ring")
    return figure


def _entry_gain(rows: Sequence[Result], law: str) -> float:
    """c, read off the row of the slowest link, in which κ* = √(a/((c − 1)b)) is below 1."""
    last = max((row for row in rows if row["law"] == law), key=lambda row: float(row["link_ratio"]))
    return float(round(1 + 1 / (last["stated_density"] ** 2 * last["link_ratio"])))


def layer_table(data_folder: Path) -> str:
    r"""A `tabular`: of each network and link what is sent, what is left out, and the gain over one density."""
    study = result(data_folder, "layer_densities")
    body = ""
    for place in places(study):
        name = f"{MODELS[place.model]}, {place.rate / _MEGA:g}\\,Mbit/s"
        if not place.is_feasible:
            body += f"{name} & \\multicolumn{{7}}{{c}}{{{NOT_IN_TIME}}} \\\\\n"
            continue
        sent = [latex.percent(place.share(way), 2) for way in ("layers", "one")]
        left = [latex.decimal(fmean(place.left_out(way, is_later=True)), 1) for way in WAYS]
        gains = [difference_cell(place.gain("one", is_later=is_later), digits=1) for is_later in (False, True)]
        body += " & ".join([name, *sent, *left, *gains]) + " \\\\\n"
    head = (
        "& \\multicolumn{2}{c}{sent} & \\multicolumn{3}{c}{left out} & \\multicolumn{2}{c}{gained over one} \\\\\n"
        "& layers & one & layers & one & whole & when planned & later \\\\\n"
    )
    return (
        f"\\begin{{tabular}}{{@{{}}lrrrrrrr@{{}}}}\n\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def _tallied(data_folder: Path, *, other: str, is_later: bool) -> str:
    gains = [place.gain(other, is_later=is_later) for place in feasible(result(data_folder, "layer_densities"))]
    return tally(gains, more="less", less="more") if gains else NOT_IN_TIME


def _range(data_folder: Path, *, other: str, is_later: bool) -> str:
    """`1.2 to 9.6`, of the mean gains in points."""
    gains = [place.gain(other, is_later=is_later).value for place in feasible(result(data_folder, "layer_densities"))]
    return f"{latex.decimal(min(gains), 1)} to {latex.decimal(max(gains), 1)}" if gains else NOT_IN_TIME


def _more_entries(data_folder: Path) -> str:
    """`1.0 to 7.4`: entries that are in time with a density for each layer, over those with one for all."""
    found = [place.share("layers") / place.share("one") for place in feasible(result(data_folder, "layer_densities"))]
    return f"{latex.decimal(min(found), 1)} to {latex.decimal(max(found), 1)}" if found else NOT_IN_TIME


def _largest_price(data_folder: Path) -> str:
    """Points that hiding costs at most: against Top-k of as many entries, wherever they lie."""
    found = [
        fmean(place.left_out("layers", is_later=False)) - fmean(place.left_out("free", is_later=False))
        for place in feasible(result(data_folder, "layer_densities"))
    ]
    return latex.decimal(max(found), 1) if found else NOT_IN_TIME


def _messages(data_folder: Path) -> str:
    """`3 of FNN-3, 20 of ResNet-20, 18 of GPT`."""
    study = result(data_folder, "layer_densities")
    return ", ".join(f"{latex.integer(len(own))} of {MODELS[model]}" for model, own in study["messages"].items())


def _overtakes(data_folder: Path, *, law: str, workers: int) -> str:
    for row in result(data_folder, "layer_densities").records("density_rates"):
        if (row["law"], row["workers"]) == (law, workers) and row["overtakes_at"] is not None:
            return latex.decimal(row["overtakes_at"], 1)
    raise ValueError(f"no crossover of {law} with {workers} workers")


def _quicker(data_folder: Path, *, field: str) -> str:
    """`12 of 126`: cases in which the best density is quicker than the ring."""
    rows = result(data_folder, "layer_densities").records("density_rates")
    return f"{latex.integer(sum(row[field] < 1 for row in rows))} of {latex.integer(len(rows))}"


def _never(data_folder: Path) -> str:
    """The law and number of workers of which no link makes any density quicker: `persistent with 4 and 8, …`."""
    rows = result(data_folder, "layer_densities").records("density_rates")
    said = []
    for law, name in LAWS.items():
        counts = sorted({row["workers"] for row in rows if row["law"] == law and row["overtakes_at"] is None})
        said.append(f"{' and '.join(map(latex.integer, counts)) or 'none'} ({name})")
    return ", ".join(said)


def _switch(data_folder: Path, *, place: int, field: str) -> float:
    ordered = sorted(result(data_folder, "layer_densities").records("switches"), key=lambda row: int(row["workers"]))
    return float(ordered[place][field])


def _setting(name: str) -> Macro:
    return lambda folder: latex.integer(result(folder, "layer_densities")[name])


MACROS: dict[str, Macro] = {
    "LayerWorkers": _setting("worker_count"),
    "LayerOperations": lambda folder: latex.scientific(result(folder, "layer_densities")["operations_per_second"]),
    "LayerLatency": lambda folder: latex.shortest(result(folder, "layer_densities")["latency_seconds"] / _MICRO),
    "LayerExposed": lambda folder: latex.percent(result(folder, "layer_densities")["exposed_share"], 0),
    "LayerTrainedDensity": lambda folder: latex.shortest(result(folder, "layer_densities")["trained_density"]),
    "LayerPlanned": _setting("planned_step"),
    "LayerLater": _setting("later_step"),
    "LayerSeeds": lambda folder: latex.integer(len(result(folder, "layer_densities")["seeds"])),
    "LayerMessages": _messages,
    "LayerGains": partial(_tallied, other="one", is_later=False),
    "LayerGainRange": partial(_range, other="one", is_later=False),
    "LayerLaterGains": partial(_tallied, other="one", is_later=True),
    "LayerLaterRange": partial(_range, other="one", is_later=True),
    "LayerWholeGains": partial(_tallied, other="whole", is_later=True),
    "LayerWholeRange": partial(_range, other="whole", is_later=True),
    "LayerMoreEntries": _more_entries,
    "LayerPrice": _largest_price,
    "RateDriftTwo": partial(_overtakes, law="steady_drift", workers=2),
    "RateNoiseTwo": partial(_overtakes, law="steady_noise", workers=2),
    "RateNoiseFour": partial(_overtakes, law="steady_noise", workers=4),
    "RateNever": _never,
    "RateStated": partial(_quicker, field="stated_over_ring"),
    "RateTight": partial(_quicker, field="seconds_over_ring"),
    "SwitchPlanStep": lambda folder: latex.shortest(_switch(folder, place=0, field="largest_step")),
    "SwitchPlanSlow": lambda folder: latex.shortest(_switch(folder, place=0, field="slow_seconds")),
    "SwitchPlanWorkers": lambda folder: latex.integer(int(_switch(folder, place=0, field="workers"))),
    "SwitchPlanManyWorkers": lambda folder: latex.integer(int(_switch(folder, place=-1, field="workers"))),
    "SwitchPlanShare": lambda folder: latex.percent(_switch(folder, place=0, field="synchronous"), 1),
    "SwitchPlanManyShare": lambda folder: latex.percent(_switch(folder, place=-1, field="synchronous"), 1),
    "SwitchPlanLimit": lambda folder: latex.percent(_switch(folder, place=-1, field="limit_share"), 1),
    "SwitchPlanSeconds": lambda folder: latex.percent(_switch(folder, place=0, field="seconds_over_synchronous"), 0),
}

STUDY = Study(
    macros=MACROS,
    figures={"layer_densities": layer_figure, "layers_left_out": left_out_figure, "density_rates": rate_figure},
    tables={"layer_densities.tex": layer_table},
    results=("layer_densities",),
)
"""What the paper prints of it."""
