"""Which numbers does the study `races` give? Seconds and bytes until an accuracy, waiting, leads and broken bounds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from paper import latex
from paper.results import Result, races_result
from paper.studies.training_macros import Macro

TARGET = 0.65
"""Test accuracy whose time is compared."""
CLUSTERS = {"equal": "equal", "one_slow": "one slow", "pareto": "Pareto", "churn": "churn"}
"""Clusters of the study by their names in tables and figures."""
SELECTORS = {"none": "dense", "top_k": "Top-$k$"}
SMOOTHED = 3
"""Measurements that are averaged: one measurement has the noise of the last few steps."""
NOT_REACHED = "--"
REFERENCE = "bsp"


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
    study = races_result(data_folder)
    heads = " & ".join(f"\\multicolumn{{2}}{{c}}{{{title}}}" for title in CLUSTERS.values())
    rules = "".join(f"\\cmidrule(lr){{{2 * place + 2}-{2 * place + 3}}}" for place in range(len(CLUSTERS)))
    kinds = " & ".join(title for _ in CLUSTERS for title in SELECTORS.values())
    body = "".join(_line(study, policy) for policy in policies(study))
    layout = f"@{{}}l{'rr' * len(CLUSTERS)}rr@{{}}"
    top = f" & {heads} & & \\\\\n{rules}\n & {kinds} & waits (\\%) & lead \\\\\n"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{top}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def _line(study: Result, policy: str) -> str:
    seconds = (seconds_to_target(study, policy, cluster, kind) for cluster in CLUSTERS for kind in SELECTORS)
    slow = runs(study, policy, "one_slow", "none")
    cells = [f"\\texttt{{{latex.escape(policy)}}}"]
    cells += [NOT_REACHED if found is None else latex.integer(round(found)) for found in seconds]
    cells.append(latex.percent(fmean(row["waiting_share"] for row in slow), 0))
    cells.append(latex.integer(max(int(row["largest_gap"]) for row in slow)))
    return " & ".join(cells) + " \\\\\n"


def speed_up(data_folder: Path, policy: str, cluster: str, selector: str) -> float | None:
    """Seconds of BSP to the target over those of a policy, sending the same way; None if either does not reach it."""
    study = races_result(data_folder)
    reference = seconds_to_target(study, REFERENCE, cluster, selector)
    seconds = seconds_to_target(study, policy, cluster, selector)
    return None if reference is None or not seconds else reference / seconds


def _conditions(data_folder: Path, name: str) -> str:
    return latex.shortest(races_result(data_folder).record("race")[name])


def _broken(data_folder: Path) -> str:
    counts = broken_bounds(races_result(data_folder))
    return ", ".join(f"\\texttt{{{latex.escape(policy)}}} in {count}" for policy, count in counts.items()) or "none"


def _seconds(data_folder: Path, *, policy: str, cluster: str, selector: str) -> str:
    seconds = seconds_to_target(races_result(data_folder), policy, cluster, selector)
    return NOT_REACHED if seconds is None else latex.integer(round(seconds))


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


RACE_MACROS: dict[str, Macro] = {
    "RaceTarget": lambda _folder: latex.percent(TARGET),
    "RaceSeconds": lambda folder: _conditions(folder, "seconds"),
    "RaceStepSize": lambda folder: _conditions(folder, "step_size"),
    "RaceDensity": lambda folder: _conditions(folder, "density"),
    "RaceWorkers": lambda folder: _conditions(folder, "workers"),
    "RaceCount": lambda folder: latex.integer(len(races_result(folder)["races"])),
    "RacePolicies": lambda folder: latex.integer(len(policies(races_result(folder)))),
    "RaceBroken": _broken,
    **{
        f"Race{word}": partial(_seconds, policy=policy, cluster=cluster, selector=selector)
        for word, (policy, cluster, selector) in QUOTED.items()
    },
}
