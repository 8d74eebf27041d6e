"""What does self-paced ADMM recover, does it descend, and what does a selection cost? The study `self_paced`.

In the figure, left: distance from the true model by number of corrupted batches; middle: error on the test of real
data; right: residuals by step of what is sent, of one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.comparisons import ratio, ratio_phrase, tally
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, new_figure
from sparsync.verify.tools.intervals import Estimate, mean

NAME = "self_paced"
NEVER = "--"
"""Where no selection ended, as in a short run."""
METHODS: dict[str, Look] = {
    "plain": Look("least squares", GREY, (0, (4, 1.5))),
    "huber": Look("Huber", VERMILION, (0, (1, 1))),
    "self_paced": Look("self-paced ADMM", BLUE),
    "clean": Look("unmoved targets only", BLACK, (0, (3, 1, 1, 1))),
}
"""How each method of the study is drawn."""
SOURCES = {"synthetic": r"$\Vert\hat{w}-w^{*}\Vert$", "diabetes": "mean absolute error (test)"}
"""What is drawn of each source."""
DENSITY_COLOURS = (BLACK, BLUE, SKY, GREEN, PURPLE)
"""By density, descending, where estimates are kept."""
KINDS: dict[tuple[str, bool], Look] = {
    ("ef21", True): Look("damped as proved", ORANGE, (0, (4, 1.5))),
    ("ef14", False): Look("residual", VERMILION, (0, (1, 1))),
    ("none", False): Look("no memory", GREY, (0, (3, 1, 1, 1))),
}
"""Memory and damping of the other runs, all of one density."""


def recovery_errors(study: Result, source: str, corrupted_count: int) -> dict[str, list[float]]:
    """The errors of every method, seed by seed.

    Raises:
        ValueError: the study has none.
    """
    rows = [
        row for row in study.records("recovery") if (row["source"], row["corrupted_count"]) == (source, corrupted_count)
    ]
    if not rows:
        raise ValueError(f"{study.path}: no recovery from {corrupted_count} corrupted batches of {source!r}")
    return {name: [float(row[name]) for row in rows] for name in METHODS}


def against(data_folder: Path, source: str, other: str) -> list[Estimate]:
    """The logarithm of the error of self-paced ADMM over that of another method, by number of corrupted batches."""
    study = result(data_folder, NAME)
    found = [recovery_errors(study, source, count) for count in study["corrupted_count"]]
    return [ratio(errors["self_paced"], errors[other]) for errors in found]


def moved_share(data_folder: Path, source: str) -> float:
    """Of the examples that had weight in the end, how many had been moved, where most batches were corrupted."""
    study = result(data_folder, NAME)
    most = max(study["corrupted_count"])
    rows = [row for row in study.records("recovery") if (row["source"], row["corrupted_count"]) == (source, most)]
    moved, selected = (sum(int(row[f"selected_{name}count"]) for row in rows) for name in ("moved_", ""))
    return moved / max(1, selected)


def violations(data_folder: Path) -> int:
    """How often L rose in a run of recovery or of selection by more than roundings and selection explain."""
    study = result(data_folder, NAME)
    return sum(row["violation_count"] for part in ("recovery", "selection") for row in study.records(part))


def descent_rows(study: Result, z_step: str) -> dict[int, tuple[Estimate, list[float]]]:
    """By examples of a batch: the share of steps in which L rose, and the distance from the optimum of each seed."""
    found: dict[int, tuple[list[float], list[float]]] = {}
    for row in study.records("descent"):
        if row["z_step"] == z_step:
            shares, distances = found.setdefault(int(row["example_count"]), ([], []))
            shares.append(float(row["rising_share"]))
            distances.append(float(row["distance"]))
    return {count: (mean(shares), distances) for count, (shares, distances) in found.items()}


def selections(study: Result, density: float, memory: str = "ef21", *, is_damped: bool = False) -> list[Result]:
    """The runs of a selection, seed by seed.

    Raises:
        ValueError: the study has none.
    """
    wanted = (density, memory, is_damped)
    rows = [row for row in study.records("selection") if (row["density"], row["memory"], row["is_damped"]) == wanted]
    if not rows:
        raise ValueError(f"{study.path}: no selection of density {density} with memory {memory!r}")
    return rows


def cost_ratio(data_folder: Path, density: float, field: str) -> Estimate | None:
    """The logarithm of steps or bytes until z was near, over those of all entries; None if it never was in a run."""
    study = result(data_folder, NAME)
    selected, whole = ([row[field] for row in selections(study, kind)] for kind in (density, 1.0))
    if None in selected or None in whole:
        return None
    return ratio(selected, whole)


def cheapest_density(data_folder: Path) -> float | None:
    """Below 1, with the fewest bytes on average, of those that came near in every run; None: of none."""
    densities = [float(density) for density in result(data_folder, NAME)["density"] if density < 1]
    costs = [(cost_ratio(data_folder, density, "sent_bytes"), density) for density in densities]
    return min(((cost.value, density) for cost, density in costs if cost is not None), default=(0.0, None))[1]


def descent_table(data_folder: Path) -> str:
    r"""A `tabular`: steps in which L rose, and distance from the optimum, by batch size and step of z."""
    study = result(data_folder, NAME)
    kinds = [descent_rows(study, z_step) for z_step in ("right", "printed")]
    lines = []
    for count in kinds[0]:
        cells = [str(count)]
        for rows in kinds:
            share, distances = rows[count]
            cells += [latex.percent(share.value, 0), latex.scientific(fmean(distances))]
        lines.append(" & ".join(cells) + " \\\\\n")
    return (
        "\\begin{tabular}{@{}rrrrr@{}}\n\\toprule\n"
        "& \\multicolumn{2}{c}{with $\\Vert z\\Vert^{2}$} & \\multicolumn{2}{c}{as printed} \\\\\n"
        "examples & rises (\\%) & distance & rises (\\%) & distance \\\\\n\\midrule\n"
        f"{''.join(lines)}\\bottomrule\n\\end{{tabular}}\n"
    )


def self_paced(data_folder: Path) -> Figure:
    """Errors by corrupted batches, and residuals by step."""
    study = result(data_folder, NAME)
    figure = new_figure(2.7, profile=study["profile"])
    left, middle, right = figure.subplots(1, 3)
    for axes, (source, label) in zip((left, middle), SOURCES.items(), strict=True):
        _draw_errors(axes, study, source)
        axes.set_title(f"{source}: {label}", fontsize=8)
        axes.set_xlabel("corrupted batches of 10")
    left.set_yscale("log")
    _draw_residuals(right, study)
    right.set_title("residual", fontsize=8)
    right.set_xlabel("step")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2, columnspacing=1.0)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=3, columnspacing=1.0)
    return figure


def _draw_errors(axes: Axes, study: Result, source: str) -> None:
    counts = list(study["corrupted_count"])
    for name, look in METHODS.items():
        found = [mean(recovery_errors(study, source, count)[name]) for count in counts]
        values = [estimate.value for estimate in found]
        axes.plot(counts, values, marker=".", **look.line)
        if found[0].count > 1:
            reach = [estimate.high - estimate.value for estimate in found]
            axes.errorbar(counts, values, yerr=reach, color=look.colour, linestyle="none", capsize=1.5, linewidth=0.7)
    axes.set_xticks(counts)


def _draw_residuals(axes: Axes, study: Result) -> None:
    for density, colour in zip(study["density"], DENSITY_COLOURS, strict=False):
        _draw_residual(axes, selections(study, density), Look(f"$k/p={density:g}$", colour))
    for (memory, is_damped), look in KINDS.items():
        rows = selections(study, study["memory_density"], memory, is_damped=is_damped)
        _draw_residual(axes, rows, look)
    axes.set_yscale("log")


def _draw_residual(axes: Axes, rows: Sequence[Result], look: Look) -> None:
    residuals = next(row["residual"] for row in rows if row["residual"] is not None)
    axes.plot(range(1, len(residuals) + 1), residuals, **look.line)


def _density(data_folder: Path) -> float:
    return float(result(data_folder, NAME)["memory_density"])


def _tally(source: str, other: str) -> Macro:
    return lambda data_folder: tally(against(data_folder, source, other))


def _at_most(source: str, other: str) -> Macro:
    return lambda data_folder: ratio_phrase(against(data_folder, source, other)[-1])


def _cost(field: str) -> Macro:
    def macro(data_folder: Path) -> str:
        density = cheapest_density(data_folder)
        found = None if density is None else cost_ratio(data_folder, density, field)
        return NEVER if found is None else ratio_phrase(found)

    return macro


def _mean_distance(memory: str, *, is_damped: bool = False) -> Macro:
    def macro(data_folder: Path) -> str:
        study = result(data_folder, NAME)
        rows = selections(study, _density(data_folder), memory, is_damped=is_damped)
        return latex.scientific(fmean(float(row["distance"]) for row in rows))

    return macro


def _rises(z_step: str) -> Macro:
    def macro(data_folder: Path) -> str:
        rows = descent_rows(result(data_folder, NAME), z_step)
        return latex.percent(fmean(share.value for share, _ in rows.values()), 0)

    return macro


def _damping(data_folder: Path) -> str:
    rows = selections(result(data_folder, NAME), _density(data_folder), is_damped=True)
    return latex.decimal(fmean(float(row["damping"]) for row in rows), 3)


def _slow_count(*, is_damped: bool) -> Macro:
    def macro(data_folder: Path) -> str:
        rows = selections(result(data_folder, NAME), _density(data_folder), is_damped=is_damped)
        return f"{sum(row['step_count'] is None for row in rows) or 'none'} of {len(rows)}"

    return macro


def _cheapest(data_folder: Path) -> str:
    density = cheapest_density(data_folder)
    return NEVER if density is None else latex.shortest(density)


def _seed_count(data_folder: Path) -> str:
    study = result(data_folder, NAME)
    return str(len(recovery_errors(study, "synthetic", study["corrupted_count"][0])["plain"]))


def _of(field: Callable[[Result], object]) -> Macro:
    return lambda data_folder: str(field(result(data_folder, NAME)))


MACROS: dict[str, Macro] = {
    "SelfPacedSeeds": _seed_count,
    "SelfPacedFeatures": _of(lambda study: study.record("regression")["feature_count"]),
    "SelfPacedExamples": lambda folder: latex.integer(result(folder, NAME).record("regression")["example_count"]),
    "SelfPacedMost": _of(lambda study: max(study["corrupted_count"])),
    "SelfPacedHuberTally": _tally("synthetic", "huber"),
    "SelfPacedHuberRatio": _at_most("synthetic", "huber"),
    "SelfPacedPlainRatio": _at_most("synthetic", "plain"),
    "SelfPacedCleanRatio": _at_most("synthetic", "clean"),
    "SelfPacedRealHuberTally": _tally("diabetes", "huber"),
    "SelfPacedRealHuberRatio": _at_most("diabetes", "huber"),
    "SelfPacedRealCleanRatio": _at_most("diabetes", "clean"),
    "SelfPacedMovedShare": lambda folder: latex.percent(moved_share(folder, "synthetic")),
    "SelfPacedRealMovedShare": lambda folder: latex.percent(moved_share(folder, "diabetes")),
    "SelfPacedViolations": lambda folder: str(violations(folder) or "none"),
    "SelfPacedRightRises": _rises("right"),
    "SelfPacedPrintedRises": _rises("printed"),
    "SelfPacedTolerance": lambda folder: latex.scientific(result(folder, NAME)["tolerance"]),
    "SelfPacedDensity": _cheapest,
    "SelfPacedBytes": _cost("sent_bytes"),
    "SelfPacedSteps": _cost("step_count"),
    "SelfPacedMemoryDensity": lambda folder: latex.shortest(_density(folder)),
    "SelfPacedEstimateDistance": _mean_distance("ef21"),
    "SelfPacedResidualDistance": _mean_distance("ef14"),
    "SelfPacedNoMemoryDistance": _mean_distance("none"),
    "SelfPacedDamping": _damping,
    "SelfPacedSlow": _slow_count(is_damped=True),
    "SelfPacedUndampedSlow": _slow_count(is_damped=False),
    "SelfPacedStepLimit": _of(lambda study: study["selection_step_count"]),
}
"""Numbers of the text."""

STUDY = Study(
    macros=MACROS,
    figures={NAME: self_paced},
    tables={"self_paced_descent.tex": descent_table},
    results=(NAME,),
)
"""What the paper prints of it."""
