"""Which variant of error feedback comes closest to dense training? The study `variants`: its figure, tables and macros.

What a contestant loses is paired with dense training by seed: points of test accuracy for images, per cent of the test
loss for text; less is better, and below zero it gained. At density 0.01, and for PowerSGD, one such unit is called
close, at 0.001 two. The words are chosen by the intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.comparisons import ONE_SEED, UNKNOWN, difference_cell, difference_phrase, tally
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREY, VERMILION, legend_below, new_figure
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference

DENSE, LOW_RANK = "dense", "powersgd"
DEFAULT = "ef14"
"""What a run takes where nothing is said."""
MODELS = {"resnet20": ("ResNet-20", "points"), "gpt": ("GPT", r"\%")}
"""Title, and the unit of what is lost."""
OPTIMISERS = {"momentum": "momentum 0.9", "adamw": "AdamW"}
CLOSE = {0.01: 1.0, 0.001: 2.0}
"""By density, in units."""
TITLES = {
    "ef14": "EF14",
    "ef21": "EF21",
    "ef21_sgdm": "EF21-SGDM",
    "econtrol": "EControl",
    "dgc": "DGC",
    "decayed": "decayed",
    "rmsprop": "RMSProp",
    LOW_RANK: "PowerSGD",
}
"""Of methods; one without an entry is called after its name."""
WITHIN, BEYOND, DIVERGED = "within", "beyond", "diverged"
NOT_RUN = "--"
_WORDS = {
    "ResnetMomentum": ("resnet20", "momentum"),
    "ResnetAdam": ("resnet20", "adamw"),
    "GptMomentum": ("gpt", "momentum"),
    "GptAdam": ("gpt", "adamw"),
}
_DENSITY_WORDS = {"Hundredth": 0.01, "Thousandth": 0.001}
_WIDTH = 12.0
"""Units that a panel of the figure shows to the right, at most; what is beyond is drawn at the edge."""
LOOKS = ((BLUE, 0.17), (VERMILION, -0.17))
"""Of densities, the largest first: the colour, and by how many rows it is drawn above its method."""


def title(method: str) -> str:
    """How a method is called in LaTeX."""
    return TITLES.get(method, latex.escape(method.replace("_", " ")))


def contestant(study: Result, model: str, optimiser: str, method: str, density: float | None) -> Result | None:
    """What was found of a method; None if the run lacks it.

    Args:
        study: the result `variants`.
        model: key of `MODELS`.
        optimiser: key of `OPTIMISERS`.
        method: its name in the study.
        density: of what is selected; for methods that select nothing it says nothing.
    """
    place = (model, optimiser, method)
    for run in study.records("runs"):
        if (run["model"], run["optimiser"], run["method"]) == place and run["density"] in (None, density):
            return run
    return None


def seed_losses(study: Result, model: str, run: Result) -> list[float] | None:
    """What a contestant loses against dense training on each seed, in the unit of the model; None if a run diverged."""
    dense = contestant(study, model, run["optimiser"], DENSE, None)
    return None if dense is None else _paired_losses(model, run, dense)


def _paired_losses(model: str, run: Result, dense: Result) -> list[float] | None:
    field = "test_accuracy" if model == "resnet20" else "test_loss"
    if None in run[field] or None in dense[field]:
        return None
    pairs = zip(run[field], dense[field], strict=True)
    if field == "test_accuracy":
        return [100 * (theirs - own) for own, theirs in pairs]
    return [100 * (own / theirs - 1) for own, theirs in pairs]


def lost(study: Result, model: str, run: Result) -> Estimate | None:
    """The mean of `seed_losses` with its interval; None if a run diverged."""
    values = seed_losses(study, model, run)
    return None if values is None else mean(values)


def verdict(loss: Estimate | None, density: float) -> str:
    """`WITHIN` or `BEYOND` what is close at a density, where the interval says so; else why not."""
    if loss is None:
        return DIVERGED
    if loss.count == 1:
        return ONE_SEED
    return WITHIN if loss.high <= CLOSE[density] else BEYOND if loss.low > CLOSE[density] else UNKNOWN


def nearest(study: Result, model: str, optimiser: str, density: float) -> tuple[str, Estimate] | None:
    """The variant that loses least at a density, by its mean, and how much; None if the run has none to compare."""
    found = [
        (loss.value, method, loss)
        for method in variants(study)
        if (run := contestant(study, model, optimiser, method, density)) and (loss := lost(study, model, run))
    ]
    return min(found)[1:] if found else None


def scores(study: Result, method: str) -> list[float] | None:
    """Of each seed, the mean over all comparisons of what a variant loses, in units of what is close there.

    None if the run lacks the variant in a comparison, or it diverged.
    """
    found = []
    for model, optimiser in places(study):
        for density in densities(study):
            run = contestant(study, model, optimiser, method, density)
            values = None if run is None else seed_losses(study, model, run)
            if values is None:
                return None
            found.append([value / CLOSE[density] for value in values])
    return [fmean(values) for values in zip(*found, strict=True)]


def best(study: Result) -> tuple[str, list[float]] | None:
    """The variant of least score, by the mean over seeds, with its scores; None if each diverged somewhere."""
    found = [(fmean(score), method, score) for method in variants(study) if (score := scores(study, method))]
    return min(found)[1:] if found else None


def variants(study: Result) -> list[str]:
    """The variants of error feedback, in the order of the study."""
    names = dict.fromkeys(str(run["method"]) for run in study.records("runs") if run["density"] is not None)
    return list(names)


def places(study: Result) -> list[tuple[str, str]]:
    """Model and optimiser of every comparison that the run has."""
    there = {(run["model"], run["optimiser"]) for run in study.records("runs")}
    return [(model, optimiser) for model in MODELS for optimiser in OPTIMISERS if (model, optimiser) in there]


def densities(study: Result) -> list[float]:
    """The densities of the run, the largest first."""
    return sorted(map(float, study["densities"]), reverse=True)


def loss_table(data_folder: Path) -> str:
    r"""A `tabular`: what every variant loses at each density, and PowerSGD; a column per model and optimiser."""
    study = result(data_folder, "variants")
    columns = places(study)
    heads = " & ".join(f"{MODELS[model][0]}, {OPTIMISERS[optimiser]}" for model, optimiser in columns)
    units = " & ".join(MODELS[model][1] for model, _ in columns)
    body = ""
    shown = partial(cell, study, write=partial(difference_cell, digits=1), bold=r"{{\boldmath{}}}")
    for method, density in table_rows(study):
        name = title(method) if method == LOW_RANK else f"{title(method)}, {latex.shortest(density)}"
        cells = [shown(place, method, density) for place in columns]
        body += " & ".join([name, *cells]) + " \\\\\n"
    layout = f"@{{}}l{'r' * len(columns)}@{{}}"
    head = f" & {heads} \\\\\n & {units} \\\\\n"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def shorter_table(data_folder: Path) -> str:
    r"""A `tabular`: what the variant of least loss at each density loses after fewer steps, and after all of them."""
    study = result(data_folder, "variants")
    counts = sorted({int(run["steps"]) for run in study.records("shorter")})
    body = ""
    for (model, optimiser, method, density), found in _by_length(study).items():
        name = f"{MODELS[model][0]}, {OPTIMISERS[optimiser]}, {latex.shortest(density)}: {title(method)}"
        cells = [DIVERGED if values is None else difference_cell(mean(values), digits=1) for values in found]
        body += " & ".join([name, MODELS[model][1], *cells]) + " \\\\\n"
    heads = " & ".join([*map(latex.integer, counts), "all"])
    layout = f"@{{}}ll{'r' * (len(counts) + 1)}@{{}}"
    head = f" & & {heads} \\\\\n"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def _by_length(study: Result) -> dict[tuple[str, str, str, float], list[list[float] | None]]:
    """Of each method that was run for fewer steps too: what it loses on each seed, the fewest steps first, all last."""
    shorter = sorted(study.records("shorter"), key=lambda run: int(run["steps"]))
    dense = {(run["model"], run["optimiser"], run["steps"]): run for run in shorter if run["method"] == DENSE}
    found: dict[tuple[str, str, str, float], list[list[float] | None]] = {}
    for run in (run for run in shorter if run["method"] != DENSE):
        model, optimiser = str(run["model"]), str(run["optimiser"])
        losses = _paired_losses(model, run, dense[model, optimiser, run["steps"]])
        found.setdefault((model, optimiser, str(run["method"]), float(run["density"])), []).append(losses)
    for (model, optimiser, method, density), by_length in found.items():
        whole = contestant(study, model, optimiser, method, density)
        by_length.append(None if whole is None else seed_losses(study, model, whole))
    return found


def table_rows(study: Result) -> list[tuple[str, float]]:
    """Methods with the density at which they are judged, PowerSGD last."""
    found = [(method, density) for density in densities(study) for method in variants(study)]
    is_there = any(run["method"] == LOW_RANK for run in study.records("runs"))
    return [*found, (LOW_RANK, max(CLOSE))] if is_there else found


def machines(study: Result) -> list[str]:
    """All that computed something, in the order of their names."""
    return sorted({str(name) for run in study.records("runs") for name in (*run["tuned_on"], *run["computed_on"])})


def losses(data_folder: Path) -> Figure:
    """What every variant loses, with its interval: a panel per model and optimiser, a colour per density."""
    study = result(data_folder, "variants")
    columns, names = places(study), _names(study)
    figure = new_figure(2.9, profile=study["profile"])
    panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    for axes, place in zip(panels, columns, strict=True):
        axes.axvline(0, color=GREY, linewidth=0.6)
        for density, (colour, shift) in zip(densities(study), LOOKS, strict=False):
            _draw(axes, study, place, density, colour=colour, shift=shift, edge=_edge(study, place))
        axes.set(title=f"{MODELS[place[0]][0]}\n{OPTIMISERS[place[1]]}", ylim=(-0.6, len(names) - 0.4))
        axes.set_xlabel("points lost" if place[0] == "resnet20" else r"loss added (%)")
    panels[0].set_yticks(range(len(names)), [title(name) for name in names])
    legend_below(figure, panels[0], columns=len(densities(study)))
    return figure


def _names(study: Result) -> list[str]:
    """Methods from the bottom to the top."""
    return [LOW_RANK, *reversed(variants(study))]


def _losses(study: Result, place: tuple[str, str], density: float) -> dict[str, Estimate | None]:
    """What each method loses that the run has."""
    found = {name: contestant(study, *place, name, density) for name in _names(study)}
    return {name: lost(study, place[0], run) for name, run in found.items() if run is not None}


def _edge(study: Result, place: tuple[str, str]) -> float:
    """How far to the right the panels of a model and optimiser show."""
    shown = [loss for density in densities(study) for loss in _losses(study, place, density).values() if loss]
    return min(_WIDTH, 1.1 * max([*CLOSE.values(), *(_finite(loss.high, loss.value) for loss in shown)]))


def _draw(
    axes: Axes, study: Result, place: tuple[str, str], density: float, *, colour: str, shift: float, edge: float
) -> None:
    """A dot and an interval for each method; at the edge a cross for one that diverged, an arrow for one beyond."""
    axes.axvline(CLOSE[density], color=colour, linewidth=0.7, linestyle=(0, (3, 2)))
    axes.plot([], [], marker="o", color=colour, markersize=3.5, linewidth=1.0, label=f"density {density:g}")
    names = _names(study)
    for name, loss in _losses(study, place, density).items():
        is_low_rank = name == LOW_RANK
        if is_low_rank and density != max(densities(study)):
            continue  # it has no density, and is the same at each
        height, own = names.index(name) + (0 if is_low_rank else shift), BLACK if is_low_rank else colour
        if loss is None or loss.value > edge:
            axes.plot(edge, height, marker="x" if loss is None else ">", color=own, markersize=4, clip_on=False)
            continue
        low, high = (_finite(end, loss.value) for end in (loss.low, loss.high))
        axes.plot([low, min(high, edge)], [height, height], color=own, linewidth=1.0)
        axes.plot(loss.value, height, marker="o", color=own, markersize=3.5, linestyle="none")


def _finite(end: float, value: float) -> float:
    """An interval's end; of one seed there is none."""
    return value if math.isinf(end) else end


def cell(
    study: Result, place: tuple[str, str], method: str, density: float, *, write: Callable[[Estimate], str], bold: str
) -> str:
    """What a method loses at a place (model, optimiser) as a table shows it: in bold where it is surely close."""
    run = contestant(study, *place, method, density)
    if run is None:
        return NOT_RUN
    loss = lost(study, place[0], run)
    if loss is None:
        return DIVERGED
    return bold.format(write(loss)) if verdict(loss, density) == WITHIN else write(loss)


def _nearest(data_folder: Path, *, place: tuple[str, str], density: float) -> str:
    """`EF14, +0.42 points (−0.10 to 0.94; inconclusive), within 1`."""
    study = result(data_folder, "variants")
    found = nearest(study, *place, density)
    if found is None:
        return NOT_RUN
    method, loss = found
    said = {WITHIN: "within", BEYOND: "beyond"}.get(verdict(loss, density), "not surely within")
    limit = latex.shortest(CLOSE[density])
    return f"{title(method)}, {difference_phrase(loss, unit=MODELS[place[0]][1])}, {said} {limit}"


def _close_count(data_folder: Path, *, density: float) -> str:
    """In how many comparisons some variant is surely close, of how many: `2 of 4`."""
    study = result(data_folder, "variants")
    found = [nearest(study, *place, density) for place in places(study)]
    is_close = [each is not None and verdict(each[1], density) == WITHIN for each in found]
    return f"{latex.integer(sum(is_close))} of {latex.integer(len(is_close))}"


def _best(data_folder: Path) -> str:
    found = best(result(data_folder, "variants"))
    return NOT_RUN if found is None else title(found[0])


def _best_score(data_folder: Path) -> str:
    """Of the best variant: its score less that of the default, paired by seed."""
    study = result(data_folder, "variants")
    found, default = best(study), scores(study, DEFAULT)
    return NOT_RUN if found is None or default is None else difference_phrase(paired_difference(found[1], default))


def _against_low_rank(data_folder: Path) -> str:
    """What the nearest variant at density 0.01 loses less what PowerSGD does: `less in 2, more in none, …`."""
    study, density = result(data_folder, "variants"), max(CLOSE)
    differences = []
    for model, optimiser in places(study):
        found = nearest(study, model, optimiser, density)
        methods = [LOW_RANK] if found is None else [found[0], LOW_RANK]
        runs = [contestant(study, model, optimiser, method, density) for method in methods]
        both = [seed_losses(study, model, run) for run in runs if run is not None]
        compared = [values for values in both if values is not None]
        if len(compared) > 1:
            differences.append(paired_difference(*compared))
    return tally(differences) if differences else NOT_RUN


def _trend(data_folder: Path) -> str:
    """What is lost after all steps less what is after the fewest, of every method that was run for both."""
    ends = [(found[-1], found[0]) for found in _by_length(result(data_folder, "variants")).values()]
    differences = [paired_difference(last, first) for last, first in ends if last is not None and first is not None]
    return tally(differences) if differences else NOT_RUN


def _edges(data_folder: Path) -> str:
    """How many contestants chose a step size at the edge of the grid, of how many: `1 of 56`."""
    runs = result(data_folder, "variants").records("runs")
    return f"{latex.integer(sum(run['is_at_edge'] for run in runs))} of {latex.integer(len(runs))}"


def _low_rank_bytes(data_folder: Path, *, model: str) -> str:
    """Bytes of PowerSGD over those of Top-k at density 0.01."""
    study = result(data_folder, "variants")
    pair = [contestant(study, model, "momentum", method, max(CLOSE)) for method in (LOW_RANK, "ef14")]
    sent = [None if run is None else run["sent_bytes"] for run in pair]
    counts = [float(count) for count in sent if count is not None]
    return latex.decimal(counts[0] / counts[1], 2) if len(counts) > 1 else NOT_RUN


def _of_setup(data_folder: Path, *, model: str, fact: str) -> str:
    """A whole number that is said of a network."""
    setups = result(data_folder, "variants").records("setups")
    return next((latex.integer(setup[fact]) for setup in setups if setup["model"] == model), NOT_RUN)


def _machine_names(data_folder: Path) -> str:
    return latex.escape(" and ".join(machines(result(data_folder, "variants"))))


MACROS: dict[str, Macro] = {
    "VariantsSeeds": lambda folder: latex.integer(len(result(folder, "variants")["seeds"])),
    "VariantsEdges": _edges,
    "VariantsBest": _best,
    "VariantsBestScore": _best_score,
    "VariantsLowRank": _against_low_rank,
    "VariantsTrend": _trend,
    "VariantsMachines": _machine_names,
    **{
        f"Variants{word}{fact.capitalize()}": partial(_of_setup, model=model, fact=fact)
        for word, model in (("Resnet", "resnet20"), ("Gpt", "gpt"))
        for fact in ("steps", "dimension")
    },
    "VariantsResnetBytes": partial(_low_rank_bytes, model="resnet20"),
    "VariantsGptBytes": partial(_low_rank_bytes, model="gpt"),
    **{f"VariantsClose{word}": partial(_close_count, density=density) for word, density in _DENSITY_WORDS.items()},
    **{
        f"Variants{place_word}{density_word}": partial(_nearest, place=place, density=density)
        for place_word, place in _WORDS.items()
        for density_word, density in _DENSITY_WORDS.items()
    },
}

STUDY = Study(
    macros=MACROS,
    figures={"variants": losses},
    tables={"variants.tex": loss_table, "variants_shorter.tex": shorter_table},
    results=("variants",),
)
