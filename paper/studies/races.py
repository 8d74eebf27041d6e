"""Who is fast, and who sends little? The study `races`: time and bytes to an accuracy, waiting, leads, broken bounds.

In the figure a few models are drawn in colour; the others are thin grey lines, and stand in the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.rules import RULES
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, legend_below, new_figure

TARGET = 0.65
"""Test accuracy whose time is compared."""
CLUSTERS = {"equal": "equal", "one_slow": "one slow", "pareto": "Pareto", "churn": "churn"}
"""Clusters of the study by their names in tables and figures."""
SELECTORS = {"none": RULES["dense"].title, "top_k": RULES["top_k"].title}
"""What is sent, likewise."""
SMOOTHED = 3
"""Measurements that are averaged: one measurement has the noise of the last few steps."""
NOT_REACHED = "--"
REFERENCE = "bsp"
QUOTED = {
    "EqualBspDense": ("bsp", "equal", "none"),
    "EqualBspSparse": ("bsp", "equal", "top_k"),
    "EqualAdspDense": ("adsp", "equal", "none"),
    "EqualAdspSparse": ("adsp", "equal", "top_k"),
    "EqualLocalDense": ("local_sgd", "equal", "none"),
    "EqualLocalSparse": ("local_sgd", "equal", "top_k"),
    "SlowBsp": ("bsp", "one_slow", "none"),
    "SlowSsp": ("ssp", "one_slow", "none"),
    "SlowDssp": ("dssp", "one_slow", "none"),
    "SlowAsp": ("asp", "one_slow", "none"),
    "SlowBackup": ("backup", "one_slow", "none"),
    "SlowBalanced": ("lb_bsp", "one_slow", "none"),
    "SlowElastic": ("elastic_bsp", "one_slow", "none"),
    "SlowAdsp": ("adsp", "one_slow", "none"),
}
"""Words of macro names to policy, cluster and selector of the seconds that the text quotes."""
SHOWN = {
    "bsp": Look("BSP", BLACK),
    "ssp": Look("SSP", BLUE, (0, (4, 1.5))),
    "asp": Look("ASP", VERMILION),
    "elastic_bsp": Look("ElasticBSP", GREEN, (0, (3, 2))),
    "adsp": Look("ADSP", SKY),
    "local_sgd": Look("local SGD", ORANGE, (0, (5, 1, 1, 1))),
    "dybw": Look("DyBW", PURPLE, (0, (1, 1))),
}
"""Policies drawn in colour."""
LOWEST_PERCENT = 30
"""Below that all curves rise alike."""
_MEGABYTE = 1e6


def runs(study: Result, policy: str, cluster: str, selector: str) -> list[Result]:
    """The repetitions of one contestant.

    Raises:
        ValueError: the study holds none.
    """
    wanted = (policy, cluster, selector)
    found = [row for row in study.records("races") if (row["policy"], row["cluster"], row["selector"]) == wanted]
    if not found:
        raise ValueError(f"{study.path}: no race of {policy!r} in cluster {cluster!r} with selector {selector!r}")
    return found


def repetitions_in_words(data_folder: Path) -> str:
    """`one run`, or how many runs a contestant has, `3 runs`, the fewest if they differ."""
    rows = result(data_folder, "races").records("races")
    count = min(Counter((row["policy"], row["cluster"], row["selector"]) for row in rows).values())
    return "one run" if count == 1 else f"{latex.integer(count)} runs"


def policies(study: Result) -> list[str]:
    """All contestants, in the order of the study."""
    return list(dict.fromkeys(str(row["policy"]) for row in study.records("races")))


def mean_curve(repetitions: Sequence[Result], field: str) -> list[float]:
    """The mean over the repetitions, at every measurement."""
    return [fmean(column) for column in zip(*(row[field] for row in repetitions), strict=True)]


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each measurement and its neighbours; the ends have fewer."""
    half = SMOOTHED // 2
    return [fmean(values[max(0, place - half) : place + half + 1]) for place in range(len(values))]


def place_of_target(repetitions: Sequence[Result]) -> int | None:
    """The first measurement whose smoothed accuracy is the target or above; None if there is none."""
    curve = smoothed(mean_curve(repetitions, "accuracy"))
    return next((place for place, accuracy in enumerate(curve) if accuracy >= TARGET), None)


def seconds_to_target(study: Result, policy: str, cluster: str, selector: str) -> float | None:
    """Simulated seconds until the target; None if it is not reached."""
    place = place_of_target(runs(study, policy, cluster, selector))
    return None if place is None else float(study["seconds"][place])


def bytes_to_target(study: Result, policy: str, cluster: str, selector: str) -> float | None:
    """Bytes that all workers have sent until the target; None if it is not reached."""
    repetitions = runs(study, policy, cluster, selector)
    place = place_of_target(repetitions)
    return None if place is None else mean_curve(repetitions, "sent_bytes")[place]


def broken_bounds(study: Result) -> dict[str, int]:
    """In how many races each policy broke a bound that its source claims; those that broke none are left out."""
    broken = [str(row["policy"]) for row in study.records("races") if row["broken_bound"] is not None]
    return {policy: broken.count(policy) for policy in dict.fromkeys(broken)}


def race_table(data_folder: Path) -> str:
    r"""A `tabular`: seconds to the target, by policy, cluster and sending; waiting and lead in the cluster one_slow."""
    study = result(data_folder, "races")
    heads = " & ".join(f"\\multicolumn{{2}}{{c}}{{{title}}}" for title in CLUSTERS.values())
    rules = "".join(f"\\cmidrule(lr){{{2 * place + 2}-{2 * place + 3}}}" for place in range(len(CLUSTERS)))
    kinds = " & ".join(title for _ in CLUSTERS for title in SELECTORS.values())
    body = "".join(_line(study, policy) for policy in policies(study))
    layout = f"@{{}}l{'rr' * len(CLUSTERS)}rr@{{}}"
    top = f" & {heads} & & \\\\\n{rules}\n & {kinds} & waits (\\%) & lead \\\\\n"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{top}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def speed_up(data_folder: Path, policy: str, cluster: str, selector: str) -> float | None:
    """Seconds of BSP to the target over those of a policy, sending the same way; None if either does not reach it."""
    study = result(data_folder, "races")
    reference = seconds_to_target(study, REFERENCE, cluster, selector)
    seconds = seconds_to_target(study, policy, cluster, selector)
    return None if reference is None or not seconds else reference / seconds


def races(data_folder: Path) -> Figure:
    """Test accuracy in every cluster: dense against time, Top-k against time, and both against bytes."""
    study = result(data_folder, "races")
    figure = new_figure(6.0, profile=study["profile"])
    panels = figure.subplots(3, len(CLUSTERS), sharey=True, sharex="row")
    for (cluster, title), column in zip(CLUSTERS.items(), panels.T, strict=True):
        by_time, compressed, by_bytes = column
        by_time.set_title(title)
        for axes, selector in ((by_time, "none"), (compressed, "top_k")):
            for policy in _grey_first(policies(study)):
                repetitions = runs(study, policy, cluster, selector)
                _draw(axes, policy, study["seconds"], repetitions)
                _draw(by_bytes, policy, _megabytes(repetitions), repetitions)
        by_bytes.set_xscale("log")
        compressed.set_xlabel("simulated seconds")
        by_bytes.set_xlabel("MB sent by all workers")
    both = " and ".join(reversed(SELECTORS.values()))
    for axes, kind in zip(panels[:, 0], (*SELECTORS.values(), both), strict=True):
        axes.set_ylabel(f"{kind}\ntest accuracy (%)")
    panels[0, 0].set_ylim(bottom=LOWEST_PERCENT)
    legend_below(figure, panels[0, 0], columns=len(SHOWN))
    return figure


def _line(study: Result, policy: str) -> str:
    seconds = (seconds_to_target(study, policy, cluster, kind) for cluster in CLUSTERS for kind in SELECTORS)
    slow = runs(study, policy, "one_slow", "none")
    cells = [f"\\texttt{{{latex.escape(policy)}}}"]
    cells += [NOT_REACHED if found is None else latex.integer(round(found)) for found in seconds]
    cells.append(latex.percent(fmean(row["waiting_share"] for row in slow), 0))
    cells.append(latex.integer(max(int(row["largest_gap"]) for row in slow)))
    return " & ".join(cells) + " \\\\\n"


def _conditions(data_folder: Path, name: str) -> str:
    return latex.shortest(result(data_folder, "races").record("race")[name])


def _broken(data_folder: Path) -> str:
    counts = broken_bounds(result(data_folder, "races"))
    return ", ".join(f"\\texttt{{{latex.escape(policy)}}} in {count}" for policy, count in counts.items()) or "none"


def _seconds(data_folder: Path, *, policy: str, cluster: str, selector: str) -> str:
    seconds = seconds_to_target(result(data_folder, "races"), policy, cluster, selector)
    return NOT_REACHED if seconds is None else latex.integer(round(seconds))


def _grey_first(names: Sequence[str]) -> list[str]:
    """Coloured lines lie above the grey ones, and the legend follows `SHOWN`."""
    return [name for name in names if name not in SHOWN] + [name for name in SHOWN if name in names]


def _draw(axes: Axes, policy: str, places: Sequence[float], repetitions: Sequence[Result]) -> None:
    # Nothing is sent at the first measurement, and a logarithmic axis has no place for it.
    places = places[1:]
    percent = [100 * share for share in smoothed(mean_curve(repetitions, "accuracy"))[1:]]
    if policy in SHOWN:
        axes.plot(places, percent, **SHOWN[policy].line, linewidth=1.0)
    else:
        axes.plot(places, percent, color=GREY, linewidth=0.4, alpha=0.6)


def _megabytes(repetitions: Sequence[Result]) -> list[float]:
    return [sent / _MEGABYTE for sent in mean_curve(repetitions, "sent_bytes")]


MACROS: dict[str, Macro] = {
    "RaceTarget": lambda _folder: latex.percent(TARGET),
    "RaceSeconds": lambda folder: _conditions(folder, "seconds"),
    "RaceStepSize": lambda folder: _conditions(folder, "step_size"),
    "RaceDensity": lambda folder: _conditions(folder, "density"),
    "RaceWorkers": lambda folder: _conditions(folder, "workers"),
    "RaceCount": lambda folder: latex.integer(len(result(folder, "races")["races"])),
    "RaceRuns": repetitions_in_words,
    "RacePolicies": lambda folder: latex.integer(len(policies(result(folder, "races")))),
    "RaceBroken": _broken,
    **{
        f"Race{word}": partial(_seconds, policy=policy, cluster=cluster, selector=selector)
        for word, (policy, cluster, selector) in QUOTED.items()
    },
}

STUDY = Study(macros=MACROS, figures={"races": races}, tables={"races.tex": race_table}, results=("races",))
