"""Which numbers does the study `switching` give? Errors by order and share, their comparison, and limits of the step.

Read from `switching.json`. Errors are f − min f of the quadratics, and the share of misclassified test examples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean

from paper import latex
from paper.results import Result, switching_result

CONDITIONS = {
    "same optimum": "quadratic",
    "own optima": "quadratic, own optima",
    "same optimum, momentum": "quadratic, momentum",
    "network": "network",
}
"""Titles of the conditions."""
CLUSTERS = {"one_slow": "one slow worker", "pareto": "Pareto durations"}
"""Titles of the clusters."""
NEVER_SWITCHES = {0.0: "asp", 1.0: "bsp"}
"""By synchronous share: the contestants at the ends of every order."""


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


def won_pairs(
    data_folder: Path, first: str, second: str, *, conditions: tuple[str, ...] = tuple(CONDITIONS)
) -> tuple[int, int]:
    """In how many pairs of condition, cluster, share and seed the first order ends lower, and how many there are."""
    study = switching_result(data_folder)
    pairs = [
        pair
        for condition in conditions
        for cluster in CLUSTERS
        for share in switch_shares(study)
        for pair in zip(
            *(end_errors(study, condition, cluster, order)[share] for order in (first, second)), strict=True
        )
    ]
    return sum(one < other for one, other in pairs), len(pairs)


def better_than_ends(data_folder: Path, order: str, share: float) -> tuple[int, int]:
    """In how many conditions and clusters an order ends with less mean error than both `asp` and `bsp`; of all."""
    study = switching_result(data_folder)
    places = [(condition, cluster) for condition in CONDITIONS for cluster in CLUSTERS]
    means = [{at: fmean(values) for at, values in end_errors(study, *place, order).items()} for place in places]
    return sum(found[share] < min(found[end] for end in NEVER_SWITCHES) for found in means), len(places)


def largest_step_runs(data_folder: Path, order: str) -> tuple[int, int]:
    """For how many contestants of an order the largest step size tried was the best, and how many there are."""
    runs = [run for run in switching_result(data_folder).records("runs") if run["order"] == order]
    return sum(run["is_largest_step"] for run in runs), len(runs)


def time_ratio(data_folder: Path, condition: str, cluster: str, order: str, share: float) -> float | None:
    """Seconds in which BSP gets to the mean error that it ends with, over those of a contestant; None for never.

    Raises:
        ValueError: no such run.
    """
    study = switching_result(data_folder)
    place = (condition, cluster)
    reference = _seconds_to_target(study, (*place, NEVER_SWITCHES[1.0], 1.0))
    seconds = _seconds_to_target(study, (*place, NEVER_SWITCHES.get(share, order), share))
    return reference / seconds if reference and seconds else None


def _seconds_to_target(study: Result, wanted: tuple[str, str, str, float]) -> float | None:
    for run in study.records("runs"):
        if (run["condition"], run["cluster"], run["order"], run["share"]) == wanted:
            return None if run["seconds_to_target"] is None else float(run["seconds_to_target"])
    raise ValueError(f"{study.path}: no run {wanted}")


def limit(data_folder: Path, worker_count: int, momentum: float, *, cluster: str = "equal") -> Result:
    """What was found of the largest stable step size without a barrier.

    Raises:
        ValueError: no such limit was sought.
    """
    study = switching_result(data_folder)
    for found in study.records("frontier"):
        if (found["policy"], found["cluster"]) == ("asp", cluster) and (
            (found["worker_count"], found["momentum"]) == (worker_count, momentum)
        ):
            return found
    raise ValueError(f"{study.path}: no limit of {worker_count} workers on {cluster!r} with momentum {momentum}")


def largest_limit_deviation(data_folder: Path) -> float:
    """The largest relative difference of a measured limit from its formula."""
    limits = switching_result(data_folder).records("frontier")
    known = [found for found in limits if found["predicted"] is not None]
    return max(abs(float(found["measured"]) / float(found["predicted"]) - 1) for found in known)


def largest_count(data_folder: Path) -> int:
    """The most workers whose limit was sought on clusters of unequal speeds."""
    limits = switching_result(data_folder).records("frontier")
    return max(int(found["worker_count"]) for found in limits)


def switching_table(data_folder: Path) -> str:
    r"""A `tabular`: the mean error at the end, a row per condition and cluster, a column per contestant."""
    study = switching_result(data_folder)
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
            values = [fmean(ends[0.0]), fmean(ends[1.0])]
            values += [fmean(by_order[order][share]) for order in orders for share in shares]
            cells = [_marked(value, min(values)) for value in values]
            lines.append(" & ".join([f"{title}, {cluster_title}", *cells]))
    body = "".join(f"{line} \\\\\n" for line in lines)
    layout = f"@{{}}l{'r' * (len(heads) - 1)}@{{}}"
    head = " & ".join(heads)
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def _marked(value: float, least: float) -> str:
    """Three digits, the least of a row in bold."""
    text = latex.decimal(value, 3)
    return f"{{\\boldmath{text}}}" if value == least else text


def _pairs(first: str, second: str, conditions: tuple[str, ...]) -> Callable[[Path], str]:
    def words(data_folder: Path) -> str:
        won, count = won_pairs(data_folder, first, second, conditions=conditions)
        return f"{latex.integer(won)} of {latex.integer(count)}"

    return words


def _largest_steps(data_folder: Path, *, order: str) -> str:
    largest, count = largest_step_runs(data_folder, order)
    return f"{latex.integer(largest)} of {latex.integer(count)}"


def _measured_limit(data_folder: Path, cluster: str, momentum: float) -> str:
    return latex.decimal(limit(data_folder, largest_count(data_folder), momentum, cluster=cluster)["measured"], 2)


def _formula_limit(data_folder: Path, momentum: float) -> str:
    return latex.decimal(limit(data_folder, largest_count(data_folder), momentum)["predicted"], 2)


def _small_share(data_folder: Path) -> float:
    return min(switch_shares(switching_result(data_folder)))


def _time_ratio(data_folder: Path, order: str, share: float) -> str:
    """On the network with one slow worker."""
    ratio = time_ratio(data_folder, "network", "one_slow", order, share)
    return "--" if ratio is None else latex.decimal(ratio, 1)


def _small_share_time(data_folder: Path, *, order: str) -> str:
    return _time_ratio(data_folder, order, _small_share(data_folder))


_ORDERS = ("synchronous_first", "asynchronous_first")
_FALLING = ("synchronous_first_falling", "asynchronous_first_falling")
_ALIKE = ("same optimum", "same optimum, momentum")

SWITCHING_MACROS: dict[str, Callable[[Path], str]] = {
    "SwitchWorkers": lambda folder: latex.integer(switching_result(folder)["worker_count"]),
    "SwitchSeeds": lambda folder: latex.integer(switching_result(folder)["seed_count"]),
    "SwitchSeconds": lambda folder: latex.shortest(switching_result(folder)["seconds"][-1]),
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
    "SwitchNetworkPairs": _pairs(*_ORDERS, ("network",)),
    "SwitchQuadraticPairs": _pairs(*_ORDERS, _ALIKE),
    "SwitchOwnPairs": _pairs(*_ORDERS, ("own optima",)),
    "SwitchFallingNetworkPairs": _pairs(*_FALLING, ("network",)),
    "SwitchFallingQuadraticPairs": _pairs(*_FALLING, _ALIKE),
    "SwitchFallingOwnPairs": _pairs(*_FALLING, ("own optima",)),
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
"""Every macro of this study by its name without the leading `\\sp`."""
