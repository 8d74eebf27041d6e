"""What the paper prints of the studies `races` and `race_finals`: a table, macros, and the figures of `figures.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from paper import latex
from paper.comparisons import difference_phrase, ratio_phrase, tally
from paper.results import Result, result
from paper.studies.races.figures import QUESTIONED, race_bytes, race_clusters, race_finals, race_speed
from paper.studies.races.times import (
    CLUSTERS,
    REFERENCE,
    SELECTORS,
    alike,
    at_target,
    broken_bounds,
    edge_count,
    gain,
    lead,
    policies,
    reached_count,
    repetitions,
    runs,
    sending_gain,
    target,
)
from paper.studies.study import Macro, Study
from sparsync.verify.tools.intervals import Estimate, compared

NOT_REACHED = "--"
NEVER_WAITING = "asp"
SPEEDS = {
    "SlowSsp": "ssp",
    "SlowDssp": "dssp",
    "SlowAsp": "asp",
    "SlowBackup": "backup",
    "SlowBalanced": "lb_bsp",
    "SlowAdsp": "adsp",
    "SlowSmooth": "smooth_switch",
    "SlowMixing": "dybw",
}
"""Words of macro names to the policies whose gain with one slow worker the text quotes."""
SENT = {"SendingBsp": "bsp", "SendingAsp": "asp", "SendingAdsp": "adsp", "SendingLocal": "local_sgd"}
"""Likewise, of those whose time with Top-k the text compares with that of sending all."""
_SENDING_CLUSTER = "equal"
_MEGABYTE = 1e6
_SURE = {"sooner": r"{\boldmath%s}", "later": r"\underline{%s}", "inconclusive": "%s"}
"""How a cell is written whose time differs from BSP's like this."""


def race_table(data_folder: Path) -> str:
    r"""A `tabular`: mean seconds to the target by policy, cluster and sending; waits and lead with one slow worker."""
    study = result(data_folder, "races")
    heads = " & ".join(f"\\multicolumn{{2}}{{c}}{{{title}}}" for title in CLUSTERS.values())
    rules = "".join(f"\\cmidrule(lr){{{2 * place + 2}-{2 * place + 3}}}" for place in range(len(CLUSTERS)))
    kinds = " & ".join(title for _ in CLUSTERS for title in SELECTORS.values())
    body = "".join(_line(study, policy) for policy in policies(study))
    layout = f"@{{}}l{'rr' * len(CLUSTERS)}rr@{{}}"
    top = f" & {heads} & & \\\\\n{rules}\n & {kinds} & waits (\\%) & lead \\\\\n"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{top}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def _line(study: Result, policy: str) -> str:
    slow = [row for row in runs(study, policy, QUESTIONED, "none") if not row["diverged"]]
    cells = [_name(policy)]
    cells += [_cell(study, (policy, cluster, selector)) for cluster in CLUSTERS for selector in SELECTORS]
    cells.append(latex.percent(fmean(row["waiting_share"] for row in slow), 0) if slow else NOT_REACHED)
    cells.append(latex.integer(max(int(row["largest_gap"]) for row in slow)) if slow else NOT_REACHED)
    return " & ".join(cells) + " \\\\\n"


def _cell(study: Result, place: tuple[str, str, str]) -> str:
    seconds, difference = at_target(study, place, "seconds"), gain(study, *place)
    if seconds is None:
        return f"{NOT_REACHED} ({reached_count(study, place)})"
    said = "inconclusive" if difference is None else compared(difference, more="sooner", less="later")
    return _SURE[said] % latex.integer(round(fmean(seconds)))


def _name(policy: str) -> str:
    return f"\\texttt{{{latex.escape(policy)}}}"


def repetitions_in_words(data_folder: Path) -> str:
    """`one run`, or how many runs an entrant has, `3 runs`."""
    return _counted(repetitions(result(data_folder, "races")), "run")


def _counted(count: int, word: str) -> str:
    return f"one {word}" if count == 1 else f"{latex.integer(count)} {word}s"


def gain_in_words(study: Result, policy: str, cluster: str, selector: str) -> str:
    """How many times as early as BSP, `1.42 (1.20 to 1.64)`; or how often it is there, `there on 3 of 5 seeds`."""
    place = policy, cluster, selector
    found = gain(study, *place)
    if found is not None:
        return _ratio_in_words(found)
    return f"there on {latex.integer(reached_count(study, place))} of {latex.integer(len(runs(study, *place)))} seeds"


def speed_tally(data_folder: Path, cluster: str, selector: str) -> str:
    """`later in 2, sooner in 9, inconclusive in 4, not there on every seed in 2`: all against BSP.

    Policies whose races are the same are counted once; those whose races are BSP's own, apart: `BSP itself in 1`.
    """
    study = result(data_folder, "races")
    groups = alike(study, cluster, selector)
    others = [names[0] for names in groups if REFERENCE not in names]
    gains = [gain(study, policy, cluster, selector) for policy in others]
    found = [estimate for estimate in gains if estimate is not None]
    absent, same = len(gains) - len(found), sum(len(names) - 1 for names in groups if REFERENCE in names)
    said = f"{tally(found, more='sooner', less='later')}, not there on every seed in {absent or 'none'}"
    return f"{said}, BSP itself in {same}" if same else said


def sooner_than_asp(data_folder: Path, selector: str) -> str:
    """Who is surely there before ASP with one slow worker, seed by seed, sending alike; or `none`."""
    study = result(data_folder, "races")
    gains = {policy: gain(study, policy, QUESTIONED, selector, over=NEVER_WAITING) for policy in policies(study)}
    return _names([policy for policy, found in gains.items() if found is not None and found.low > 0])


def _alike(data_folder: Path, *, cluster: str) -> str:
    """The policies whose races are those of ASP, and ASP."""
    groups = alike(result(data_folder, "races"), cluster, "none")
    return _names(next(names for names in groups if NEVER_WAITING in names))


def _names(names: Sequence[str]) -> str:
    """`asp`, `ssp` and `dssp`, in their type; or `none`."""
    said = [_name(name) for name in names]
    return " and ".join(filter(None, (", ".join(said[:-1]), *said[-1:]))) or "none"


def least_sender(study: Result, *, dense: bool) -> tuple[str, float]:
    """Who sends fewest MB until the target with one slow worker, of all with Top-k or of all who send everything."""
    selector = "none" if dense else "top_k"
    sent = {policy: at_target(study, (policy, QUESTIONED, selector), "sent_bytes") for policy in policies(study)}
    means = {policy: fmean(found) / _MEGABYTE for policy, found in sent.items() if found is not None}
    least = min(means, key=lambda policy: means[policy])
    return least, means[least]


def _least(data_folder: Path, *, dense: bool) -> str:
    policy, megabytes = least_sender(result(data_folder, "races"), dense=dense)
    return f"{_name(policy)} ({latex.decimal(megabytes, 2 if megabytes < 10 else 0)}\\,MB)"


def final_tally(data_folder: Path) -> str:
    """`less in none, more in 4, inconclusive in 2`: the finalists against BSP, in points in the mean over a race."""
    return tally(list(final_leads(data_folder).values()), more="above", less="below")


def final_leads(data_folder: Path) -> dict[str, Estimate]:
    """Points of each finalist above BSP."""
    final = result(data_folder, "race_finals")
    return {policy: lead(final, policy, QUESTIONED, "none") for policy in final["finalists"]}


def _final_leads(data_folder: Path) -> str:
    leads = final_leads(data_folder)
    ordered = sorted(leads, key=lambda policy: -leads[policy].value)
    return ", ".join(f"{_name(policy)} {difference_phrase(leads[policy])}" for policy in ordered)


def _condition(data_folder: Path, *, study: str, name: str) -> str:
    return latex.shortest(result(data_folder, study).record("race")[name])


def _step_sizes(data_folder: Path, *, study: str) -> str:
    sizes: Sequence[float] = result(data_folder, study)["step_sizes"]
    return latex.shortest(sizes[0]) if len(sizes) == 1 else f"{latex.shortest(sizes[0])} to {latex.shortest(sizes[-1])}"


def _edges(data_folder: Path, *, study: str) -> str:
    at_edge, count = edge_count(result(data_folder, study))
    return f"{latex.integer(at_edge) if at_edge else 'none'} of {latex.integer(count)}"


def _seeds(data_folder: Path, *, study: str, name: str) -> str:
    return _counted(int(result(data_folder, study)[name]), "seed")


def _spacing(data_folder: Path) -> str:
    seconds = result(data_folder, "races")["seconds"]
    return latex.shortest(seconds[1] - seconds[0])


def _broken(data_folder: Path) -> str:
    counts = broken_bounds(result(data_folder, "races"))
    return ", ".join(f"{_name(policy)} in {count}" for policy, count in counts.items()) or "none"


def _gain(policy: str) -> Macro:
    return lambda folder: gain_in_words(result(folder, "races"), policy, QUESTIONED, "none")


def _sending(data_folder: Path, *, policy: str) -> str:
    found = sending_gain(result(data_folder, "races"), policy, _SENDING_CLUSTER)
    return "not known (not there on every seed)" if found is None else _ratio_in_words(found)


def _ratio_in_words(found: Estimate) -> str:
    """Races may be the same, to the last digit: there is nothing inconclusive about that."""
    return f"{latex.decimal(1, 2)} (every seed alike)" if found.low == found.high == 0 else ratio_phrase(found)


def _race_count(data_folder: Path) -> str:
    return latex.integer(len(result(data_folder, "races")["races"]))


MACROS: dict[str, Macro] = {
    "RaceTarget": lambda folder: latex.percent(target(result(folder, "races")), 0),
    "RaceSeconds": partial(_condition, study="races", name="seconds"),
    "RaceDensity": partial(_condition, study="races", name="density"),
    "RaceWorkers": partial(_condition, study="races", name="workers"),
    "RaceStepSizes": partial(_step_sizes, study="races"),
    "RaceEdges": partial(_edges, study="races"),
    "RaceSeeds": partial(_seeds, study="races", name="seed_count"),
    "RaceTuningSeeds": partial(_seeds, study="races", name="tuning_seed_count"),
    "RaceSpacing": _spacing,
    "RaceCount": _race_count,
    "RaceRuns": repetitions_in_words,
    "RacePolicies": lambda folder: latex.integer(len(policies(result(folder, "races")))),
    "RaceBroken": _broken,
    "RaceSlowTally": partial(speed_tally, cluster=QUESTIONED, selector="none"),
    "RaceSlowSparseTally": partial(speed_tally, cluster=QUESTIONED, selector="top_k"),
    "RaceEqualTally": partial(speed_tally, cluster="equal", selector="none"),
    "RaceParetoTally": partial(speed_tally, cluster="pareto", selector="none"),
    "RaceChurnTally": partial(speed_tally, cluster="churn", selector="none"),
    "RaceEqualAlike": partial(_alike, cluster="equal"),
    "RaceBeyondAsp": partial(sooner_than_asp, selector="none"),
    "RaceBeyondAspSparse": partial(sooner_than_asp, selector="top_k"),
    "RaceLeastDense": partial(_least, dense=True),
    "RaceLeastSparse": partial(_least, dense=False),
    **{f"Race{word}": _gain(policy) for word, policy in SPEEDS.items()},
    **{f"Race{word}": partial(_sending, policy=policy) for word, policy in SENT.items()},
    "FinalWorkers": partial(_condition, study="race_finals", name="workers"),
    "FinalSeconds": partial(_condition, study="race_finals", name="seconds"),
    "FinalBatch": partial(_condition, study="race_finals", name="batch_size"),
    "FinalStepSizes": partial(_step_sizes, study="race_finals"),
    "FinalEdges": partial(_edges, study="race_finals"),
    "FinalSeeds": partial(_seeds, study="race_finals", name="seed_count"),
    "FinalTally": final_tally,
    "FinalLeads": _final_leads,
}

STUDY = Study(
    macros=MACROS,
    figures={
        "race_speed": race_speed,
        "race_bytes": race_bytes,
        "race_clusters": race_clusters,
        "race_finals": race_finals,
    },
    tables={"races.tex": race_table},
    results=("races", "race_finals"),
    remade=("races",),
    apart={"race_finals": ("races", "race_finals")},
)
