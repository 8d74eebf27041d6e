"""Does sending less pay, against the clock? Tables and macros of the studies `links` and `link_accuracy_*`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from paper import latex
from paper.comparisons import ratio_phrase
from paper.results import result
from paper.studies.links.figures import frontier, look_of, one_step, time_to_accuracy
from paper.studies.links.times import MODELS, TRAINED, Links, Reached, communication_share
from paper.studies.study import Macro, Study
from sparsync.verify.tools.intervals import Estimate

NOT_RUN = "--"
JUDGED = "resnet20"
"""The network whose gain is printed."""
LARGE_BYTES = 100_000
"""That a worker sends in a step: packets are full then."""
MOST_COMMUNICATING = 0.8
"""Share of a step that is called mostly communicating."""
SHOWN = (
    "hook dense",
    "hook dense_bfloat16",
    "hook powersgd",
    "loop keep_all, dense",
    "loop keep_all, dense_bfloat16",
    "loop top_k 0.01, sparse",
    "loop top_k 0.01, balanced",
    "loop top_k 0.01, hierarchical",
    "loop top_k 0.01, auto",
    "loop top_k 0.01, sparse, int8",
    "loop top_k 0.01, sparse, int2",
    "loop gaussian_k 0.01, sparse",
    "loop top_k 0.01 dgc, sparse",
    "loop top_k 0.001, sparse",
    "hook top_k 0.01, exact",
    "hook top_k 0.01, int8",
    "hook gaussian_k 0.01, int8",
    "local chunked_top_k 0.02, int8, every 30",
)
"""Ways of sending in the table of seconds; the record has all."""


def columns(found: Links) -> list[tuple[str, float]]:
    """Network and rate of every column."""
    return [(model, rate) for model in found.models for rate in found.rates]


def seconds_rows(found: Links) -> list[tuple[str, list[float | None]]]:
    """Of each way that is shown, seconds of a step in every column."""
    return [(way, [found.step_seconds(model, way, rate) for model, rate in columns(found)]) for way in SHOWN]


def time_rows(found: Links) -> list[tuple[str, list[Reached | None]]]:
    """Of each method, when it reaches dense training's accuracy less half a point in every column."""
    return [
        (method, [found.reached(model, method, rate) for model, rate in columns(found)]) for method in found.methods
    ]


def bold_least(values: Sequence[float | None], rows: Sequence[Sequence[float | None]], place: int) -> bool:
    """Whether the value at a place is the least of its column."""
    column = [row[place] for row in rows if row[place] is not None]
    return values[place] is not None and values[place] == min(each for each in column if each is not None)


def reached_words(reached: Reached | None, write: Callable[[float], str]) -> str:
    """The mean over seeds; on how many seeds it gets there, where these are not all; or that it was not run."""
    if reached is None:
        return NOT_RUN
    if reached.seconds is None:
        count = sum(step is not None for step in reached.steps)
        return f"{count} of {len(reached.steps)}"
    return write(fmean(reached.seconds))


def digits(value: float) -> int:
    """After the point, for three significant ones at most."""
    return 0 if value >= 100 else 1 if value >= 10 else 2


def _table(found: Links, head: str, rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    layout = "l" + "".join(" " + "r" * len(found.rates) for _ in found.models)
    models = "".join(f" & \\multicolumn{{{len(found.rates)}}}{{c}}{{{MODELS[model]}}}" for model in found.models)
    rates = "".join(f" & {latex.shortest(rate)}" for _ in found.models for rate in found.rates)
    body = "".join(f"{name} & {' & '.join(cells)} \\\\\n" for name, cells in rows)
    return (
        f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{models} \\\\\n{head}{rates} \\\\\n\\midrule\n{body}"
        "\\bottomrule\n\\end{tabular}\n"
    )


def seconds_table(data_folder: Path) -> str:
    """Milliseconds of a step, by way of sending, network and rate; the least of a column in bold."""
    found = Links(data_folder)
    rows = seconds_rows(found)
    values = [row for _, row in rows]
    written = [
        (
            latex.escape(way),
            [
                NOT_RUN
                if value is None
                else _bold(latex.decimal(1e3 * value, digits(1e3 * value)), is_bold=bold_least(row, values, place))
                for place, value in enumerate(row)
            ],
        )
        for way, row in rows
    ]
    return _table(found, "Mbit/s", written)


def times_table(data_folder: Path) -> str:
    """Seconds to the accuracy, by method, network and rate; the least of a column in bold."""
    found = Links(data_folder)
    rows = time_rows(found)
    means = [[fmean(each.seconds) if each is not None and each.seconds else None for each in row] for _, row in rows]
    written = [
        (
            latex.escape(look_of(method).title),
            [
                _bold(
                    reached_words(each, lambda value: latex.decimal(value, digits(value))),
                    is_bold=bold_least(means[line], means, place),
                )
                for place, each in enumerate(row)
            ],
        )
        for line, (method, row) in enumerate(rows)
    ]
    return _table(found, "Mbit/s", written)


def _bold(text: str, *, is_bold: bool) -> str:
    return f"\\textbf{{\\boldmath {text}}}" if is_bold else text


def judged_rate(found: Links, model: str = JUDGED) -> tuple[float, float] | None:
    """The largest rate at which dense bfloat16 mostly communicates, and the share; None if it does so at none."""
    cells = [(rate, found.cells.get((model, "loop keep_all, dense_bfloat16", rate))) for rate in found.rates]
    shares = [(rate, communication_share(cell)) for rate, cell in cells if cell is not None]
    return max((pair for pair in shares if pair[1] >= MOST_COMMUNICATING), default=None)


def not_paying(found: Links, *, surely: bool = True) -> list[tuple[str, float]]:
    """Networks and rates where the fastest whole gradient is no slower than the fastest sparse one.

    Args:
        found: what was measured.
        surely: it is so in every round; otherwise those are wanted where it is so in some rounds, and in others not.
    """
    places = []
    for model, rate in columns(found):
        whole, sparse = (found.fastest_steps(model, rate, whole=is_whole) for is_whole in (True, False))
        faster = [one <= other for one, other in zip(whole, sparse, strict=False)]
        if any(faster) and all(faster) == surely:
            places.append((model, rate))
    return places


def excess_bytes(found: Links, *, least: float) -> list[float]:
    """What the interface has sent beyond what is counted, but for headers of packets, of cells that send so much."""
    return [
        cell["carried_bytes"] / cell["sent_bytes"] - 1 for cell in found.cells.values() if cell["sent_bytes"] >= least
    ]


def message_bytes(found: Links) -> float:
    """What a message costs beside what is counted: the median over all cells."""
    cells = found.cells.values()
    return median(float((cell["carried_bytes"] - cell["sent_bytes"]) / cell["message_count"]) for cell in cells)


def unexplained_bytes(found: Links) -> list[float]:
    """Shares by which interfaces have sent more or less than what is counted with `message_bytes` for each message."""
    each = message_bytes(found)
    return [
        abs(cell["carried_bytes"] / (cell["sent_bytes"] + each * cell["message_count"]) - 1)
        for cell in found.cells.values()
    ]


def gain_at_judged(found: Links) -> Estimate | None:
    """The logarithm of the time of the best sparse setting over that of the best dense one, there."""
    place = judged_rate(found)
    return None if place is None else found.gain(JUDGED, place[0])


def _judged(data_folder: Path) -> str:
    """Two sentences: where dense bfloat16 mostly communicates, and what the best sparse setting needs there."""
    found = Links(data_folder)
    place, gain = judged_rate(found), gain_at_judged(found)
    if place is None:
        return f"Dense bfloat16 mostly communicates for {MODELS[JUDGED]} at no rate."
    rate, share = latex.shortest(place[0]), latex.percent(place[1], 0)
    said = f"At {rate}\\,Mbit/s dense bfloat16 communicates for {share}\\,\\% of a step of {MODELS[JUDGED]}. "
    best = found.sparse(JUDGED, place[0])
    if gain is None or best is None:
        return f"{said}No sparse setting is known to reach the accuracy of dense training there."
    return (
        f"{said}There the fastest sparse setting ({latex.escape(best.way)}) needs {ratio_phrase(gain)} times the time "
        f"of the fastest dense training, by each round {_by_round(found.gain_by_round(JUDGED, place[0]))}."
    )


def _by_round(factors: Sequence[float]) -> str:
    """`0.15, 0.16, 0.15`."""
    return ", ".join(latex.decimal(factor, 2) for factor in factors)


def _not_paying(data_folder: Path, *, surely: bool) -> str:
    """`FNN-3 at 1000 Mbit/s, …`, or none."""
    found = not_paying(Links(data_folder), surely=surely)
    places = [f"{MODELS[model]} at {latex.shortest(rate)}\\,Mbit/s" for model, rate in found]
    return ", ".join(places) if places else "none"


def _excess(data_folder: Path, *, least: float) -> str:
    excess = excess_bytes(Links(data_folder), least=least)
    return NOT_RUN if not excess else f"{latex.percent(median(excess))} to {latex.percent(max(excess))}"


def _of_bytes(data_folder: Path, *, say: Callable[[Links], str]) -> str:
    found = Links(data_folder)
    return say(found) if found.cells else NOT_RUN


def _error(data_folder: Path, *, name: str) -> str:
    fitted = result(data_folder, "links")["model"]
    return NOT_RUN if fitted is None else latex.percent(fitted[name])


def seen_at_other_rates(fitted: Mapping[str, Any]) -> tuple[int, int]:
    """How many of the points that a model was judged on it has seen at another rate, and how many there are."""
    seen = {name.rpartition(", ")[0] for name in fitted["fitted_on"]}
    judged_on = [name.rpartition(", ")[0] for name in fitted["errors"]]
    return sum(name in seen for name in judged_on), len(judged_on)


def _seen(data_folder: Path) -> str:
    fitted = result(data_folder, "links")["model"]
    if fitted is None:
        return NOT_RUN
    count, whole = seen_at_other_rates(fitted)
    return f"{latex.integer(count)} of {latex.integer(whole)}"


def _road_errors(data_folder: Path) -> str:
    """`9.0 by the loop, …`, percent."""
    fitted = result(data_folder, "links")["model"]
    roads = {"loop": "by the loop", "hook": "by hooks", "local": "of local steps"}
    errors = {} if fitted is None else fitted["mean_errors"]
    said = [f"{latex.percent(errors[road])} {words}" for road, words in roads.items() if road in errors]
    return ", ".join(said) if said else NOT_RUN


def _machine(data_folder: Path) -> str:
    return latex.escape(str(result(data_folder, "links").record("provenance")["processor_name"]))


MACROS: dict[str, Macro] = {
    "LinksCells": lambda folder: latex.integer(len(result(folder, "links")["cells"])),
    "LinksMachine": _machine,
    "LinksSeeds": lambda folder: latex.integer(Links(folder).seed_count),
    "LinksJudged": _judged,
    "LinksNotPaying": partial(_not_paying, surely=True),
    "LinksUndecided": partial(_not_paying, surely=False),
    "LinksRounds": lambda folder: latex.integer(Links(folder).round_count),
    "LinksLargeExcess": partial(_excess, least=LARGE_BYTES),
    "LinksMessageBytes": partial(_of_bytes, say=lambda found: latex.integer(round(message_bytes(found)))),
    "LinksUnexplained": partial(_of_bytes, say=lambda found: latex.percent(max(unexplained_bytes(found)))),
    "LinksMeanError": lambda folder: _error(folder, name="mean_error"),
    "LinksRoadErrors": _road_errors,
    "LinksSeen": _seen,
    "LinksMedianError": lambda folder: _error(folder, name="median_error"),
    "LinksLargestError": lambda folder: _error(folder, name="largest_error"),
}

STUDY = Study(
    macros=MACROS,
    figures={"links": time_to_accuracy, "links_frontier": frontier, "links_step": one_step},
    tables={"links_seconds.tex": seconds_table, "links_times.tex": times_table},
    results=("links", *(f"link_accuracy_{model}" for model in TRAINED)),
)
