"""Which order of synchronous and asynchronous training is better, and how large may the step size be?

Reads `switching.json`. Errors are f − min f of the quadratics, and the share of misclassified test examples. One
figure: the error at the end against the share of time at the full barrier, a panel per problem and cluster; the other:
the largest stable step size in the engine against its formula.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean, geometric_mean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from paper import latex
from paper.comparisons import UNKNOWN, ratio, ratio_phrase
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, SKY, VERMILION, Look, half_figure, legend_below, new_figure
from sparsync.verify.tools.intervals import Estimate, compared, paired_difference

CONDITIONS = {
    "same optimum": "quadratic",
    "own optima": "quadratic, own optima",
    "same optimum, momentum": "quadratic, momentum",
    "network": "network",
}
"""Titles of the conditions."""
DRAWN = ("own optima", "network")
"""Those that the figure shows; the table has all."""
CLUSTERS = {"one_slow": "one slow worker", "pareto": "Pareto durations"}
"""Titles of the clusters."""
NEVER_SWITCHES = {0.0: "asp", 1.0: "bsp"}
"""By synchronous share: the contestants at the ends of every order."""
LESS, MORE = "less", "more"
_ORDERS = ("synchronous_first", "asynchronous_first")
_FALLING = ("synchronous_first_falling", "asynchronous_first_falling")
_ALIKE = ("same optimum", "same optimum, momentum")
ORDERS: dict[str, Look] = {
    "synchronous_first": Look("synchronous first, steps alike", BLUE),
    "asynchronous_first": Look("asynchronous first, steps alike", VERMILION),
    "synchronous_first_falling": Look("synchronous first, steps falling", SKY, (0, (4, 1.5))),
    "asynchronous_first_falling": Look("asynchronous first, steps falling", GREEN, (0, (4, 1.5))),
}
"""How each order is drawn; both ends of a curve are the policies that never switch."""
LIMITS: dict[float, Look] = {
    0.0: Look("no momentum", BLUE),
    0.9: Look("momentum 0.9 of each worker", VERMILION, (0, (4, 1.5))),
}
"""By momentum."""
TICKS = (0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0, 2.0)
MARKERS = {"equal": "o", "one_slow": "s", "pareto": "^"}
_NAMES = {
    "equal": "measured, workers alike",
    "one_slow": "measured, one slow",
    "pareto": "measured, Pareto",
}


def end_errors(study: Result, condition: str, cluster: str, order: str) -> dict[float, list[float]]:
    """The errors of all seeds at the end, by synchronous share, with the policies that never switch at both ends.

    Raises:
        ValueError: the study has no run of this kind, or one of them diverged.
    """
    found = {
        run["share"]: run["end_error"]
        for run in study.records("runs")
        if (run["condition"], run["cluster"]) == (condition, cluster)
        and run["order"] in (order, NEVER_SWITCHES.get(run["share"]))
    }
    if set(found) <= set(NEVER_SWITCHES):
        raise ValueError(f"{study.path}: no run of {order!r} under {condition!r} on {cluster!r}")
    if any(None in values for values in found.values()):
        raise ValueError(f"{study.path}: a run of {order!r} under {condition!r} on {cluster!r} diverged")
    return {share: [float(value) for value in found[share]] for share in sorted(found)}


def switch_shares(study: Result) -> list[float]:
    """The synchronous shares of those that switch, ascending."""
    return sorted({run["share"] for run in study.records("runs")} - set(NEVER_SWITCHES))


def order_ratio(
    data_folder: Path, first: str, second: str, *, conditions: tuple[str, ...] = tuple(CONDITIONS)
) -> Estimate:
    """The logarithm of the error of the first order over that of the second, at the end, paired over seeds.

    A seed's value is the mean of the logarithms over conditions, clusters and shares of the barrier.
    """
    study = result(data_folder, "switching")
    pairs = [
        [end_errors(study, condition, cluster, order)[share] for order in (first, second)]
        for condition in conditions
        for cluster in CLUSTERS
        for share in switch_shares(study)
    ]
    of_first, of_second = (
        [geometric_mean(errors) for errors in zip(*group, strict=True)] for group in zip(*pairs, strict=True)
    )
    return ratio(of_first, of_second)


def against_ends(data_folder: Path, order: str, share: float) -> list[str]:
    """For each condition and cluster: less error at the end than both `asp` and `bsp`, or more than one, if it is sure.

    One of `LESS`, `MORE` and, where the intervals of the differences leave it open, `UNKNOWN`.
    """
    study = result(data_folder, "switching")
    places = [(condition, cluster) for condition in CONDITIONS for cluster in CLUSTERS]
    return [_against_ends(end_errors(study, *place, order), share) for place in places]


def _against_ends(errors: dict[float, list[float]], share: float) -> str:
    said = {compared(paired_difference(errors[share], errors[end]), more=MORE, less=LESS) for end in NEVER_SWITCHES}
    return MORE if MORE in said else UNKNOWN if UNKNOWN in said else LESS


def largest_step_runs(data_folder: Path, order: str) -> tuple[int, int]:
    """For how many contestants of an order the largest step size tried was the best, and how many there are."""
    runs = [run for run in result(data_folder, "switching").records("runs") if run["order"] == order]
    return sum(run["is_largest_step"] for run in runs), len(runs)


def time_ratio(data_folder: Path, condition: str, cluster: str, order: str, share: float) -> float | None:
    """Seconds in which BSP gets to the mean error that it ends with, over those of a contestant; None for never.

    Raises:
        ValueError: no such run.
    """
    study = result(data_folder, "switching")
    place = (condition, cluster)
    reference = _seconds_to_target(study, (*place, NEVER_SWITCHES[1.0], 1.0))
    seconds = _seconds_to_target(study, (*place, NEVER_SWITCHES.get(share, order), share))
    return reference / seconds if reference and seconds else None


def limit(data_folder: Path, worker_count: int, momentum: float, *, cluster: str = "equal") -> Result:
    """What was found of the largest stable step size without a barrier.

    Raises:
        ValueError: no such limit was sought.
    """
    study = result(data_folder, "switching")
    for found in study.records("frontier"):
        if (found["policy"], found["cluster"]) == ("asp", cluster) and (
            (found["worker_count"], found["momentum"]) == (worker_count, momentum)
        ):
            return found
    raise ValueError(f"{study.path}: no limit of {worker_count} workers on {cluster!r} with momentum {momentum}")


def largest_limit_deviation(data_folder: Path) -> float:
    """The largest relative difference of a measured limit from its formula."""
    limits = result(data_folder, "switching").records("frontier")
    known = [found for found in limits if found["predicted"] is not None]
    return max(abs(float(found["measured"]) / float(found["predicted"]) - 1) for found in known)


def largest_count(data_folder: Path) -> int:
    """The most workers whose limit was sought on clusters of unequal speeds."""
    limits = result(data_folder, "switching").records("frontier")
    return max(int(found["worker_count"]) for found in limits)


def switching_table(data_folder: Path) -> str:
    r"""A `tabular`: the mean error at the end, a row per condition and cluster, a column per contestant."""
    study = result(data_folder, "switching")
    shares = switch_shares(study)
    orders = {"synchronous_first": "S", "asynchronous_first": "A"}
    orders |= {f"{order}_falling": f"{letter}$\\downarrow$" for order, letter in orders.items()}
    heads = ["", "ASP", "BSP"]
    heads += [f"{letter} {latex.shortest(100 * share)}\\,\\%" for letter in orders.values() for share in shares]
    lines = []
    for condition, title in CONDITIONS.items():
        for cluster, cluster_title in CLUSTERS.items():
            by_order = {order: end_errors(study, condition, cluster, order) for order in orders}
            ends = by_order["synchronous_first"]
            errors = [ends[0.0], ends[1.0], *(by_order[order][share] for order in orders for share in shares)]
            least = min(errors, key=fmean)
            cells = [_marked(values, least) for values in errors]
            lines.append(" & ".join([f"{title}, {cluster_title}", *cells]))
    body = "".join(f"{line} \\\\\n" for line in lines)
    layout = f"@{{}}l{'r' * (len(heads) - 1)}@{{}}"
    head = " & ".join(heads)
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def switching(data_folder: Path) -> Figure:
    """The mean error at the end against the synchronous share, with a mark for every seed."""
    study = result(data_folder, "switching")
    figure = new_figure(4.1, profile=study["profile"])
    panels = figure.subplots(len(CLUSTERS), len(DRAWN), sharex=True, squeeze=False)
    for row, (cluster, cluster_title) in zip(panels, CLUSTERS.items(), strict=True):
        for axes, condition in zip(row, DRAWN, strict=True):
            for order, look in ORDERS.items():
                _draw_order(axes, study, (condition, cluster, order), look)
            axes.set_title(f"{CONDITIONS[condition]}, {cluster_title}")
            axes.set_yscale("log")
            axes.yaxis.set_minor_locator(NullLocator())
            low, high = axes.get_ylim()
            ticks = [tick for tick in TICKS if low <= tick <= high]
            axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    for axes in panels[-1]:
        axes.set_xlabel("synchronous share")
    for row in panels:
        row[0].set_ylabel("error at the end")
    legend_below(figure, panels[0][0], columns=2)
    return figure


def step_limits(data_folder: Path) -> Figure:
    """The largest stable step size without a barrier, against the number of workers: measured, and by formula."""
    study = result(data_folder, "switching")
    figure = half_figure(profile=study["profile"])
    axes = figure.subplots()
    limits = [limit for limit in study.records("frontier") if limit["policy"] == "asp"]
    for momentum, look in LIMITS.items():
        own = [limit for limit in limits if limit["momentum"] == momentum]
        formula = next(curve for curve in study.records("limits") if curve["momentum"] == momentum)
        axes.plot(formula["worker_count"], formula["limit"], **look.line, zorder=1)
        for limit in own:
            axes.plot(
                limit["worker_count"],
                limit["measured"],
                marker=MARKERS[limit["cluster"]],
                color=look.colour,
                markerfacecolor="none",
                linestyle="none",
            )
    for cluster, marker in MARKERS.items():
        axes.plot([], [], marker=marker, color=BLACK, markerfacecolor="none", linestyle="none", label=_NAMES[cluster])
    axes.axhline(2, color=GREY, linewidth=0.6)
    axes.annotate(
        "barrier, no momentum", (0.7, 2), xycoords=("axes fraction", "data"), va="bottom", ha="center", fontsize=7
    )
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
    axes.set_yscale("log")
    axes.set_yticks([0.2, 0.5, 1, 2, 4], ["0.2", "0.5", "1", "2", "4"])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="workers $n$", ylabel=r"largest stable $\eta\lambda$", ylim=(0.01, 5), title="reports in turn")
    axes.legend(loc="lower left", fontsize=7)
    return figure


def _seconds_to_target(study: Result, wanted: tuple[str, str, str, float]) -> float | None:
    for run in study.records("runs"):
        if (run["condition"], run["cluster"], run["order"], run["share"]) == wanted:
            return None if run["seconds_to_target"] is None else float(run["seconds_to_target"])
    raise ValueError(f"{study.path}: no run {wanted}")


def _marked(errors: list[float], least: list[float]) -> str:
    """Three digits; in bold the least of a row, and what is not surely more: the difference may be zero."""
    text = latex.decimal(fmean(errors), 3)
    return f"{{\\boldmath{text}}}" if paired_difference(errors, least).holds_zero else text


def _order_ratio(first: str, second: str, conditions: tuple[str, ...]) -> Callable[[Path], str]:
    return lambda data_folder: ratio_phrase(order_ratio(data_folder, first, second, conditions=conditions))


def _largest_steps(data_folder: Path, *, order: str) -> str:
    largest, count = largest_step_runs(data_folder, order)
    return f"{latex.integer(largest)} of {latex.integer(count)}"


def _measured_limit(data_folder: Path, cluster: str, momentum: float) -> str:
    return latex.decimal(limit(data_folder, largest_count(data_folder), momentum, cluster=cluster)["measured"], 2)


def _formula_limit(data_folder: Path, momentum: float) -> str:
    return latex.decimal(limit(data_folder, largest_count(data_folder), momentum)["predicted"], 2)


def _small_share(data_folder: Path) -> float:
    return min(switch_shares(result(data_folder, "switching")))


def _time_ratio(data_folder: Path, order: str, share: float) -> str:
    """On the network with one slow worker."""
    ratio = time_ratio(data_folder, "network", "one_slow", order, share)
    return "--" if ratio is None else latex.decimal(ratio, 1)


def _small_share_time(data_folder: Path, *, order: str) -> str:
    return _time_ratio(data_folder, order, _small_share(data_folder))


def _draw_order(axes: Axes, study: Result, place: tuple[str, str, str], look: Look) -> None:
    """A curve from no barrier at all to a barrier throughout."""
    errors = end_errors(study, *place)
    axes.plot(list(errors), [fmean(values) for values in errors.values()], **look.line, marker=".", markersize=4)
    for share, values in errors.items():
        axes.plot(
            [share] * len(values), values, color=look.colour, linestyle="none", marker="_", markersize=4, alpha=0.5
        )


MACROS: dict[str, Macro] = {
    "SwitchWorkers": lambda folder: latex.integer(result(folder, "switching")["worker_count"]),
    "SwitchSeeds": lambda folder: latex.integer(result(folder, "switching")["seed_count"]),
    "SwitchSeconds": lambda folder: latex.shortest(result(folder, "switching")["seconds"][-1]),
    "SwitchSmallShare": lambda folder: latex.shortest(100 * _small_share(folder)),
    "SwitchAspTime": lambda folder: _time_ratio(folder, "asp", 0.0),
    **{
        f"Switch{word}Time": partial(_small_share_time, order=order)
        for word, order in {
            "SyncFirst": "synchronous_first",
            "AsyncFirst": "asynchronous_first",
            "SyncFalling": "synchronous_first_falling",
            "AsyncFalling": "asynchronous_first_falling",
        }.items()
    },
    "SwitchNetworkRatio": _order_ratio(*_ORDERS, ("network",)),
    "SwitchQuadraticRatio": _order_ratio(*_ORDERS, _ALIKE),
    "SwitchOwnRatio": _order_ratio(*_ORDERS, ("own optima",)),
    "SwitchFallingNetworkRatio": _order_ratio(*_FALLING, ("network",)),
    "SwitchFallingQuadraticRatio": _order_ratio(*_FALLING, _ALIKE),
    "SwitchFallingOwnRatio": _order_ratio(*_FALLING, ("own optima",)),
    "SwitchFallingLargestSteps": partial(_largest_steps, order=_FALLING[0]),
    "SwitchLimitDeviation": lambda folder: latex.percent(largest_limit_deviation(folder), 2),
    "SwitchLimitWorkers": lambda folder: latex.integer(largest_count(folder)),
    "SwitchLimitFormula": lambda folder: _formula_limit(folder, 0.0),
    "SwitchLimitMomentum": lambda folder: _formula_limit(folder, 0.9),
    "SwitchLimitSlow": lambda folder: _measured_limit(folder, "one_slow", 0.0),
    "SwitchLimitPareto": lambda folder: _measured_limit(folder, "pareto", 0.0),
    "SwitchLimitSlowMomentum": lambda folder: _measured_limit(folder, "one_slow", 0.9),
    "SwitchLimitParetoMomentum": lambda folder: _measured_limit(folder, "pareto", 0.9),
}

STUDY = Study(
    macros=MACROS,
    figures={"switching": switching, "step_limits": step_limits},
    tables={"switching.tex": switching_table},
    results=("switching",),
)
