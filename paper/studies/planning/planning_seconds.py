"""Which planners are there, and how long do they think? Read from `planning_seconds.json` of `make bench`."""

from __future__ import annotations

from pathlib import Path

from paper import latex
from paper.results import result
from paper.studies.study import Study


def planners_table(data_folder: Path) -> str:
    """Each planner, what it asks, on which question it was timed, and its seconds."""
    rows = result(data_folder, "planning_seconds").records("rows")
    lines = (
        rf"\texttt{{{latex.escape(str(row['planner']))}}} & {latex.escape(str(row['asks']))} & "
        rf"{latex.escape(str(row['question']))} & {latex.decimal(float(row['seconds']), 2)} \\"
        for row in rows
    )
    layout = r"l>{\raggedright\arraybackslash}p{6.6cm}>{\raggedright\arraybackslash}p{4.2cm}r"
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            r"planner & asks & timed on & seconds \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _slowest(data_folder: Path) -> str:
    rows = result(data_folder, "planning_seconds").records("rows")
    return latex.decimal(max(float(row["seconds"]) for row in rows), 1)


STUDY = Study(
    macros={
        "PlannersCount": lambda folder: latex.integer(len(result(folder, "planning_seconds").records("rows"))),
        "PlannersSlowest": _slowest,
        "PlannersAim": lambda folder: latex.shortest(float(result(folder, "planning_seconds")["aim_seconds"])),
    },
    tables={"planners.tex": planners_table},
    results=("planning_seconds",),
)
