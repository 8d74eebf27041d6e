"""Did a short trace lead to the right policy? The study `advice`: the advised one against the fastest, for real."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLUE, GREY, half_figure

NAME = "advice"
CONSTANT = ("asp", 1.0)
"""A policy and a density that one may always take, whatever the setting."""


def rows(study: Result) -> dict[str, Result]:
    """Settings by name."""
    return {name: Result(study.path, fields) for name, fields in study["settings"].items()}


def ratio(setting: Result) -> float:
    """Seconds of the advised candidate over those of the fastest; infinite if it did not get there, or none did."""
    # JSON has no infinity: there it is a word.
    fastest, advised = float(setting["fastest_seconds"]), float(setting["candidates"][0]["real_mean_seconds"])
    return advised / fastest if fastest < math.inf else math.inf


def largest_ratio(data_folder: Path) -> float:
    """The largest `ratio` of any setting."""
    return max(ratio(setting) for setting in rows(result(data_folder, NAME)).values())


def constant_ratio(setting: Result) -> float:
    """Seconds of the candidate that nobody has to be asked for, `CONSTANT`, over those of the fastest."""
    fastest = float(setting["fastest_seconds"])
    (constant,) = (row for row in setting.records("candidates") if (row["policy"], row["density"]) == CONSTANT)
    return float(constant["real_mean_seconds"]) / fastest if fastest < math.inf else math.inf


def advice_table(data_folder: Path) -> str:
    """A `tabular`: what was advised in each setting, what was fastest, the ratio of their seconds, and that of ASP."""
    body = "".join(_line(name, setting) for name, setting in rows(result(data_folder, NAME)).items())
    top = "setting & advised & s, predicted & s, real & fastest & s, real & ratio & \\texttt{asp} \\\\\n"
    return (
        f"\\begin{{tabular}}{{@{{}}llrrlrrr@{{}}}}\n\\toprule\n{top}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def candidate_seconds(study: Result) -> list[tuple[float, float]]:
    """Predicted and real seconds to the target of every candidate that has both."""
    candidates = [row for setting in rows(study).values() for row in setting.records("candidates")]
    pairs = [
        (float(row["predicted_seconds"]["value"]), float(row["real_mean_seconds"]))
        for row in candidates
        if row["predicted_seconds"] is not None
    ]
    return [pair for pair in pairs if max(pair) < math.inf]


def advice(data_folder: Path) -> Figure:
    """Real seconds of every candidate against those predicted."""
    study = result(data_folder, NAME)
    pairs = candidate_seconds(study)
    figure = half_figure(profile=study["profile"])
    axes = figure.subplots()
    ends = [min(map(min, pairs)), max(map(max, pairs))]
    axes.plot(ends, ends, color=GREY, linewidth=0.6)
    axes.plot(*zip(*pairs, strict=True), "o", color=BLUE, markersize=3, fillstyle="none")
    axes.set(title="candidates of advice", xlabel="predicted seconds", ylabel="real seconds")
    return figure


def _line(name: str, setting: Result) -> str:
    candidates = setting.records("candidates")
    advised, fastest = candidates[0], min(candidates, key=lambda one: float(one["real_mean_seconds"]))
    predicted = advised["predicted_seconds"]
    cells = [
        latex.escape(name.replace("_", " ")),
        _candidate(advised),
        "--" if predicted is None else latex.decimal(predicted["value"], 2),
        _seconds(advised),
        _candidate(fastest),
        _seconds(fastest),
        *(latex.decimal(found, 2) if found < math.inf else "--" for found in (ratio(setting), constant_ratio(setting))),
    ]
    return " & ".join(cells) + " \\\\\n"


def _candidate(row: Result) -> str:
    sent = "" if row["density"] == 1 else f", {latex.shortest(row['density'])}"
    return f"\\texttt{{{latex.escape(row['policy'])}}}{sent}"


def _seconds(row: Result) -> str:
    seconds = float(row["real_mean_seconds"])
    return latex.decimal(seconds, 2) if seconds < math.inf else "not reached"


def _count(data_folder: Path, *, well: bool) -> str:
    settings = rows(result(data_folder, NAME)).values()
    return latex.integer(sum(setting["is_within"] for setting in settings) if well else len(settings))


def _first(data_folder: Path) -> Result:
    return next(iter(rows(result(data_folder, NAME)).values()))


def _factor(value: float) -> str:
    return latex.decimal(value, 3) if value < math.inf else "not known"


MACROS: dict[str, Macro] = {
    "AdviceSettings": partial(_count, well=False),
    "AdviceWell": partial(_count, well=True),
    "AdviceConstant": lambda folder: _factor(max(map(constant_ratio, rows(result(folder, NAME)).values()))),
    "AdviceLargest": lambda folder: _factor(largest_ratio(folder)),
    "AdviceWithin": lambda folder: latex.percent(result(folder, NAME)["within"] - 1, 0),
    "AdviceCandidates": lambda folder: latex.integer(len(_first(folder)["candidates"])),
    "AdviceSeeds": lambda folder: latex.integer(len(_first(folder)["candidates"][0]["real_seconds"])),
}

STUDY = Study(macros=MACROS, figures={"advice": advice}, tables={"advice.tex": advice_table}, results=(NAME,))
