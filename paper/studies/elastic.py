"""What becomes of a run that loses nodes, and what does taking turns cost? `elastic.json` and `slices.json`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median

from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, legend_below, new_figure

MODELS = {"fnn3": "FNN-3", "resnet20": "ResNet-20"}
_COLOURS = {1: ORANGE, 2: BLUE, 3: GREEN}
"""By the number of workers."""


def timeline(data_folder: Path) -> Figure:
    """Updates done by the clock, in the colour of how many workers did them; what happened, and what was done again."""
    study = result(data_folder, "elastic")
    figure = new_figure(2.6, profile=study["profile"])
    axes = figure.subplots()
    seen: set[int] = set()
    for count, points in _stretches(study):
        times, steps = [time for time, _ in points], [step for _, step in points]
        label = "_" if count in seen else f"{count} worker{'s' * (count > 1)}"
        axes.plot(times, steps, color=_COLOURS.get(count, GREY), linewidth=1.8, label=label)
        seen.add(count)
    for number, (first, again) in enumerate(restarts(study)):
        axes.vlines(first[0], again, first[1], color=VERMILION, linewidth=0.8, label="_" if number else "done again")
        axes.plot(first[0], again, marker="v", color=VERMILION, markersize=3.5, linestyle="none")
    for time, what in study["events"]:
        axes.axvline(time, color=BLACK, linewidth=0.6, linestyle=(0, (3, 2)))
        axes.text(time, 0, f" {what}", rotation=90, ha="left", va="bottom", fontsize=7)
    axes.set(xlabel="seconds", ylabel="updates done")
    legend_below(figure, axes, columns=4)
    return figure


def _stretches(study: Result) -> list[tuple[int, list[tuple[float, int]]]]:
    """Workers, and when how much was done, of every stretch without a change of workers or updates undone."""
    numbered, attempt = [], 0
    for place, (time, step, count) in enumerate(study["progress"]):
        before = study["progress"][place - 1] if place else None
        if before is not None and (step < before[1] or count != before[2]):
            attempt += 1
        numbered.append((attempt, count, time, step))
    return [
        (count, [(time, step) for _, _, time, step in points])
        for (_, count), points in groupby(numbered, key=lambda point: point[:2])
    ]


def restarts(study: Result) -> list[tuple[tuple[float, int], int]]:
    """When an attempt began, where the one before it had been, and where it went on from, if updates were lost."""
    found = []
    for (_, last, _), (time, step, _) in zip(study["progress"], study["progress"][1:], strict=False):
        if step < last:
            found.append(((time, last), step))
    return found


def slices_rows(study: Result) -> tuple[list[int], dict[str, list[list[float]]]]:
    """Numbers of processes, and seconds of a step by round on each of them, by network and method."""
    counts = sorted({row["process_count"] for row in study.records("rows")}, reverse=True)
    found: dict[str, dict[int, list[float]]] = {}
    for row in study.records("rows"):
        name = f"{MODELS.get(row['model'], row['model'])}, {row['method'].replace('_', '-')}"
        found.setdefault(name, {})[row["process_count"]] = row["step_seconds"]
    return counts, {name: [by_count[count] for count in counts] for name, by_count in found.items()}


def slices_table(data_folder: Path) -> str:
    """Milliseconds of a step of four workers, by network, method and number of processes: median and range."""
    counts, rows = slices_rows(result(data_folder, "slices"))
    heads = "".join(f" & {latex.integer(count)}" for count in counts)
    body = "".join(
        f"{latex.escape(name)} & {' & '.join(_spread(seconds, _decimal) for seconds in row)} \\\\\n"
        for name, row in rows.items()
    )
    return (
        f"\\begin{{tabular}}{{l{'r' * len(counts)}}}\n\\toprule\nprocesses{heads} \\\\\n\\midrule\n{body}"
        "\\bottomrule\n\\end{tabular}\n"
    )


def slices_markdown(data_folder: Path) -> str:
    """The same for `training.md`, with the machine.

    Raises:
        FileNotFoundError: nothing was timed.
    """
    study = result(data_folder, "slices")
    counts, rows = slices_rows(study)
    place, cores = study.record("provenance"), study["core_count"]
    lines = [["milliseconds of a step", *(f"{count} process{'es' * (count > 1)}" for count in counts)]]
    lines += [["---", *["--:"] * len(counts)]]
    lines += [
        [name, *(_spread(seconds, lambda value: f"{value:.1f}") for seconds in row)] for name, row in rows.items()
    ]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    head = f"{study['worker_count']} workers on {cores} cores, {place['processor_name']}, {str(place['date_utc'])[:10]}"
    return f"\n{head}, median and range of rounds:\n\n{table}\n"


def _decimal(value: float) -> str:
    return latex.decimal(value, 1)


def _spread(seconds: Sequence[float], write: Callable[[float], str]) -> str:
    middle, least, most = (write(1e3 * value) for value in (median(seconds), min(seconds), max(seconds)))
    return f"{middle} ({least} to {most})"


def _count(name: str) -> Macro:
    return lambda folder: latex.integer(result(folder, "elastic")[name])


MACROS: dict[str, Macro] = {
    "ElasticSteps": _count("steps"),
    "ElasticEvery": _count("every"),
    "ElasticLost": _count("lost_steps"),
    "ElasticAttempts": lambda folder: latex.integer(len(result(folder, "elastic")["attempts"])),
    "SlicesCores": lambda folder: latex.integer(result(folder, "slices")["core_count"]),
    "SlicesWorkers": lambda folder: latex.integer(result(folder, "slices")["worker_count"]),
}

STUDY = Study(
    macros=MACROS,
    figures={"elastic": timeline},
    tables={"slices.tex": slices_table},
    results=("elastic", "slices"),
)
