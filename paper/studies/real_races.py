"""What did policies reach on real processes, and how well were they foretold? The study `real_races`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper import latex
from paper.results import Result, result
from paper.rules import RULES
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, Look, half_figure, legend_below, new_figure
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference

NAME = "real_races"
CONDITIONS = {"one_slow": "one slow", "pareto": "Pareto", "one_killed": "one killed"}
"""Of the study, by their titles."""
REFERENCE = "bsp"
WITHIN = 0.1
"""What an error of a prediction may be."""
SENDINGS = {
    False: Look(RULES["dense"].title, BLACK),
    True: Look(RULES["top_k"].title, ORANGE, (0, (4, 1.5))),
}
"""By whether a density below 1 was sent."""
PREDICTIONS = {
    "from_own_trace": Look("from its own trace", BLUE),
    "from_base_trace": Look("others, from the trace of ASP", VERMILION),
}
BEFOREHAND = Look("beforehand, steps", GREY, (0, (1, 1)))
"""How errors of the simulation before a run are drawn."""
LEADERS = 3
"""Policies, besides the reference, whose curves are drawn: the best, dense, with one slow worker."""
_LEADER_COLOURS = (BLUE, GREEN, PURPLE)
_MEGABYTE = 1e6


def runs(study: Result, policy: str, condition: str, *, is_sparse: bool) -> list[Result]:
    """The repetitions of a policy, by seed."""
    found = [
        run
        for run in study.records("runs")
        if (run["policy"], run["condition"], run["density"] < 1) == (policy, condition, is_sparse)
    ]
    return sorted(found, key=lambda run: int(run["seed"]))


def policies(study: Result) -> list[str]:
    """In the order of the study."""
    return list(dict.fromkeys(str(run["policy"]) for run in study.records("runs")))


def qualities(repetitions: Sequence[Result]) -> list[float] | None:
    """Accuracies at the end; None if a run ended early, or there is none."""
    if not repetitions or any("reason" in run["real"] for run in repetitions):
        return None
    return [float(run["real"]["quality"]) for run in repetitions]


def gain(study: Result, policy: str, condition: str, *, is_sparse: bool) -> Estimate | None:
    """Accuracy at the end less the reference's, paired over seeds; None if either ended early."""
    ours = qualities(runs(study, policy, condition, is_sparse=is_sparse))
    theirs = qualities(runs(study, REFERENCE, condition, is_sparse=is_sparse))
    return None if ours is None or theirs is None else paired_difference(ours, theirs)


def errors(study: Result, name: str, policy: str | None = None, condition: str | None = None) -> list[float]:
    """Predicted seconds over observed ones, less 1, wherever there are both.

    The policy whose trace foretells the others is left out where it would foretell itself.

    Args:
        study: the result.
        name: key of `PREDICTIONS`.
        policy: None for all.
        condition: None for all.
    """
    itself = study["base"] if name == "from_base_trace" else None
    return [
        run[name] / run["makespan_seconds"] - 1
        for run in study.records("runs")
        if isinstance(run[name], float)
        and run["policy"] != itself
        and policy in (None, run["policy"])
        and condition in (None, run["condition"])
    ]


def beforehand_errors(study: Result) -> list[float]:
    """Steps simulated beforehand over real ones, less 1, of runs that went to their end."""
    return [
        run["simulated"]["step_count"] / run["real"]["step_count"] - 1
        for run in study.records("runs")
        if "reason" not in run["real"]
    ]


def best_first(study: Result) -> list[str]:
    """All policies, by their dense accuracy with one slow worker."""

    def quality(policy: str) -> float:
        return fmean(qualities(runs(study, policy, "one_slow", is_sparse=False)) or [0.0])

    return sorted(policies(study), key=quality, reverse=True)


def real_races(data_folder: Path) -> Figure:
    """Accuracy at the end, with its interval over seeds, under each condition, dense and with Top-k."""
    study = result(data_folder, NAME)
    names = best_first(study)[::-1]
    figure = new_figure(0.9 + 0.2 * len(names), profile=study["profile"])
    panels = figure.subplots(1, len(CONDITIONS), sharey=True, sharex=True)
    for axes, (condition, title) in zip(panels, CONDITIONS.items(), strict=True):
        axes.set(title=title, xlabel="test accuracy (%)")
        for is_sparse, look in SENDINGS.items():
            _draw_ends(axes, study, names, condition, is_sparse=is_sparse, look=look)
    panels[0].set_yticks(range(len(names)), names)
    legend_below(figure, panels[0], columns=len(SENDINGS))
    return figure


def _draw_ends(axes: Axes, study: Result, names: Sequence[str], condition: str, *, is_sparse: bool, look: Look) -> None:
    label: str | None = look.title
    shift = 0.15 if is_sparse else -0.15
    for place, name in enumerate(names):
        ends = qualities(runs(study, name, condition, is_sparse=is_sparse))
        if ends is None:
            axes.annotate(
                "ended", (0.03, place), xycoords=("axes fraction", "data"), fontsize=6, color=GREY, va="center"
            )
            continue
        seen = mean([100 * end for end in ends])
        spread = None if len(ends) == 1 else [[seen.value - seen.low], [seen.high - seen.value]]
        axes.errorbar(
            [seen.value], [place - shift], xerr=spread, fmt="o", markersize=2.5, linewidth=0.8, color=look.colour,
            label=label,
        )  # fmt: skip
        label = None


def real_curves(data_folder: Path) -> Figure:
    """One slow worker: accuracy by the clock and by bytes, of the reference and the best policies."""
    study = result(data_folder, NAME)
    figure = new_figure(2.8, profile=study["profile"])
    by_time, by_bytes = figure.subplots(1, 2, sharey=True)
    leaders = [name for name in best_first(study) if name != REFERENCE][:LEADERS]
    for name, colour in zip((REFERENCE, *leaders), (BLACK, *_LEADER_COLOURS), strict=False):
        for is_sparse, sending in SENDINGS.items():
            repetitions = [run.record("real") for run in runs(study, name, "one_slow", is_sparse=is_sparse)]
            seconds, quality, sent = (
                [fmean(column) for column in zip(*(run[field] for run in repetitions), strict=True)]
                for field in ("curve_seconds", "curve_quality", "curve_bytes")
            )
            style: dict[str, Any] = {"color": colour, "linestyle": sending.line["linestyle"], "linewidth": 1.0}
            percent = [100 * value for value in quality]
            by_time.plot(seconds, percent, **style, label=f"{name}, {sending.title}")
            # Nothing has travelled at the beginning, and a logarithmic axis has no place for it.
            by_bytes.plot([value / _MEGABYTE for value in sent[1:]], percent[1:], **style)
    by_time.set(xlabel="real seconds", ylabel="test accuracy (%)")
    by_bytes.set(xlabel="MB, both directions, all workers", xscale="log")
    legend_below(figure, by_time, columns=4)
    return figure


def real_errors(data_folder: Path) -> Figure:
    """The share of the runs that are foretold within so many per cent."""
    study = result(data_folder, NAME)
    figure = half_figure(profile=study["profile"])
    axes = figure.subplots()
    axes.axvspan(0, 100 * WITHIN, color=GREY, alpha=0.15, linewidth=0)
    kinds = {BEFOREHAND: beforehand_errors(study)}
    kinds |= {look: errors(study, name) for name, look in PREDICTIONS.items()}
    for look, found in kinds.items():
        sizes = sorted(100 * abs(error) for error in found)
        axes.step(sizes, [(place + 1) / len(sizes) for place in range(len(sizes))], where="post", **look.line)
    axes.set(title="real runs", xlabel="foretold within so many %", ylabel="share of runs", ylim=(0, 1.02))
    axes.set_xlim(left=0)
    axes.legend(loc="lower right", fontsize=7)
    return figure


def real_makespans(data_folder: Path) -> Figure:
    """Errors of predicted makespans, run by run, by policy and condition."""
    study = result(data_folder, NAME)
    names = policies(study)[::-1]
    figure = new_figure(0.9 + 0.17 * len(names), profile=study["profile"])
    panels = figure.subplots(1, len(CONDITIONS), sharey=True, sharex=True)
    for axes, (condition, title) in zip(panels, CONDITIONS.items(), strict=True):
        axes.axvspan(-100 * WITHIN, 100 * WITHIN, color=GREY, alpha=0.15, linewidth=0)
        for shift, (name, look) in zip((-0.15, 0.15), PREDICTIONS.items(), strict=True):
            points = [
                (100 * error, place + shift)
                for place, policy in enumerate(names)
                for error in errors(study, name, policy, condition)
            ]
            axes.plot(
                [error for error, _ in points], [place for _, place in points], ".", color=look.colour, markersize=3,
                label=look.title,
            )  # fmt: skip
        axes.set(title=title, xlabel="error of the prediction (%)")
    panels[0].set_yticks(range(len(names)), names)
    legend_below(figure, panels[0], columns=len(PREDICTIONS))
    return figure


def real_table(data_folder: Path) -> str:
    """A `tabular`: accuracy against the reference's, in points, with intervals; megabytes; what a kill leads to."""
    study = result(data_folder, NAME)
    kept = [(condition, is_sparse) for condition in ("one_slow", "pareto") for is_sparse in SENDINGS]
    heads = " & ".join(f"\\multicolumn{{2}}{{c}}{{{CONDITIONS[condition]}}}" for condition in ("one_slow", "pareto"))
    kinds = " & ".join(SENDINGS[is_sparse].title for _, is_sparse in kept)
    sizes = " & ".join(f"MB, {look.title}" for look in SENDINGS.values())
    top = f" & {heads} & \\multicolumn{{2}}{{c}}{{one slow}} & \\\\\n & {kinds} & {sizes} & one killed \\\\\n"
    body = "".join(_line(study, policy, kept) for policy in best_first(study))
    return (
        f"\\begin{{tabular}}{{@{{}}lrrrrrrl@{{}}}}\n\\toprule\n{top}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"
    )


def _line(study: Result, policy: str, kept: Sequence[tuple[str, bool]]) -> str:
    cells = [f"\\texttt{{{latex.escape(policy)}}}"]
    cells += [_points(gain(study, policy, condition, is_sparse=is_sparse)) for condition, is_sparse in kept]
    cells += [_megabytes(runs(study, policy, "one_slow", is_sparse=is_sparse)) for is_sparse in SENDINGS]
    killed = [run for is_sparse in SENDINGS for run in runs(study, policy, "one_killed", is_sparse=is_sparse)]
    ended = sum("reason" in run["real"] for run in killed)
    cells.append("goes on" if not ended else "ends" if ended == len(killed) else f"ends in {ended} of {len(killed)}")
    return " & ".join(cells) + " \\\\\n"


def _points(difference: Estimate | None) -> str:
    """`+3.1 (+2.0 to +4.2)`, in grey where the sign is not known."""
    if difference is None:
        return "--"
    said = latex.signed(100 * difference.value, 1)
    if difference.count > 1:
        said += f" ({latex.signed(100 * difference.low, 1)} to {latex.signed(100 * difference.high, 1)})"
    return f"\\textcolor{{gray}}{{{said}}}" if difference.holds_zero and difference.value else said


def _megabytes(repetitions: Sequence[Result]) -> str:
    moved = [
        run["real"]["sent_bytes"] + run["real"]["pulled_bytes"] for run in repetitions if "reason" not in run["real"]
    ]
    return latex.decimal(fmean(moved) / _MEGABYTE, 1) if moved else "--"


def _compared(data_folder: Path, *, choose: Callable[[Estimate], bool]) -> str:
    """For how many policies, dense, with one slow worker, the difference from the reference is of a kind."""
    study = result(data_folder, NAME)
    gains = [gain(study, policy, "one_slow", is_sparse=False) for policy in policies(study) if policy != REFERENCE]
    return latex.integer(sum(found is not None and choose(found) for found in gains))


def _error(data_folder: Path, *, read: Callable[[Result], list[float]], choose: Callable[[list[float]], float]) -> str:
    return latex.percent(choose([abs(error) for error in read(result(data_folder, NAME))]))


def _counted(data_folder: Path, *, read: Callable[[Result], list[float]], within: bool) -> str:
    found = read(result(data_folder, NAME))
    return latex.integer(sum(abs(error) <= WITHIN for error in found) if within else len(found))


def _outside(data_folder: Path, *, name: str) -> str:
    r"""`\texttt{dssp}, \texttt{osp}`: for whom a prediction is further off than is counted as well; or `none`."""
    study = result(data_folder, NAME)
    found = [policy for policy in policies(study) if any(abs(off) > WITHIN for off in errors(study, name, policy))]
    return ", ".join(f"\\texttt{{{latex.escape(policy)}}}" for policy in found) or "none"


def _ended(data_folder: Path, *, early: bool) -> str:
    study = result(data_folder, NAME)
    return latex.integer(sum(("reason" in run["real"]) == early for run in study.records("runs")))


def _repetitions(study: Result) -> str:
    """`one run`, or how many runs a policy has under each condition."""
    count = len({run["seed"] for run in study.records("runs")})
    return "one run" if count == 1 else f"{latex.integer(count)} runs"


def _race(data_folder: Path, name: str) -> str:
    return latex.shortest(result(data_folder, NAME).record("race")[name])


_READ: dict[str, Callable[[Result], list[float]]] = {
    "Before": beforehand_errors,
    "Own": partial(errors, name="from_own_trace"),
    "Base": partial(errors, name="from_base_trace"),
}
MACROS: dict[str, Macro] = {
    "RealPolicies": lambda folder: latex.integer(len(policies(result(folder, NAME)))),
    "RealSeeds": lambda folder: _repetitions(result(folder, NAME)),
    "RealRuns": partial(_ended, early=False),
    "RealEnded": partial(_ended, early=True),
    "RealWorkers": partial(_race, name="workers"),
    "RealSeconds": partial(_race, name="seconds"),
    "RealUnit": lambda folder: latex.shortest(result(folder, NAME)["unit_seconds"]),
    "RealBetter": partial(_compared, choose=lambda found: found.low > 0),
    "RealWorse": partial(_compared, choose=lambda found: found.high < 0),
    "RealUnknown": partial(_compared, choose=lambda found: found.holds_zero),
    **{f"Real{word}Median": partial(_error, read=read, choose=median) for word, read in _READ.items()},
    **{f"Real{word}Largest": partial(_error, read=read, choose=max) for word, read in _READ.items()},
    **{f"Real{word}Within": partial(_counted, read=read, within=True) for word, read in _READ.items()},
    "RealBeforeAbove": lambda folder: latex.integer(
        sum(error > 0 for error in beforehand_errors(result(folder, NAME)))
    ),
    "RealOwnOutside": partial(_outside, name="from_own_trace"),
    "RealBaseOutside": partial(_outside, name="from_base_trace"),
    **{f"Real{word}Count": partial(_counted, read=read, within=False) for word, read in _READ.items()},
}

STUDY = Study(
    macros=MACROS,
    figures={
        "real_races": real_races,
        "real_curves": real_curves,
        "real_errors": real_errors,
        "real_makespans": real_makespans,
    },
    tables={"real_races.tex": real_table},
    results=(NAME,),
)
