"""Does sending less pay? Tables and sentences of `training.md`, from `links.json` and `link_accuracy_*.json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from paper.studies.links.study import (
    JUDGED,
    LARGE_BYTES,
    NOT_RUN,
    bold_least,
    columns,
    digits,
    excess_bytes,
    gain_at_judged,
    judged_rate,
    message_bytes,
    not_paying,
    reached_words,
    seconds_rows,
    seen_at_other_rates,
    time_rows,
    unexplained_bytes,
)
from paper.studies.links.times import MODELS, Links


def links_markdown(data_folder: Path) -> str:
    """Milliseconds of a step and seconds to an accuracy, and what follows from them.

    Raises:
        FileNotFoundError: one of the studies was not run.
    """
    found = Links(data_folder)
    place = found.links.record("provenance")
    heads = [f"{MODELS[model]}, {rate:g}" for model, rate in columns(found)]
    seconds = seconds_rows(found)
    rows = [row for _, row in seconds]
    steps = [
        [
            f"`{way}`",
            *(
                NOT_RUN if value is None else _bold(_written(1e3 * value), is_bold=bold_least(row, rows, place_of))
                for place_of, value in enumerate(row)
            ),
        ]
        for way, row in seconds
    ]
    times = [[f"`{method}`", *(reached_words(each, _written) for each in row)] for method, row in time_rows(found)]
    parts = [
        f"{place['processor_name']}, {str(place['date_utc'])[:10]}, milliseconds of a step by network and Mbit/s, the "
        f"median of {found.round_count} rounds:",
        _table(["way of sending", *heads], steps),
        "Seconds until the network is as accurate as dense training ends, less half a point: the mean over "
        f"{found.seed_count} seeds, by the fastest way of sending; or on how many seeds it gets there. "
        f"{_longer(found)}",
        _table(["method", *heads], times),
        " ".join(_sentences(found)),
    ]
    return "\n" + "\n\n".join(parts) + "\n"


def _longer(found: Links) -> str:
    """Who had how much more time."""
    said = [
        f"{MODELS[model]} has up to {most} times the steps where it is not there"
        for model in found.accuracies
        if (most := max(run["lasting"] for run in found.accuracies[model].records("runs"))) > 1
    ]
    return f"{'; '.join(said)}." if said else "All have as many steps as dense training."


def _sentences(found: Links) -> list[str]:
    said = []
    judged, gain = judged_rate(found), gain_at_judged(found)
    best = None if judged is None else found.sparse(JUDGED, judged[0])
    if judged is not None and gain is not None and best is not None:
        factor, low, high = (math.exp(value) for value in (gain.value, gain.low, gain.high))
        by_round = ", ".join(f"{each:.2f}" for each in found.gain_by_round(JUDGED, judged[0]))
        said.append(
            f"At {judged[0]:g} Mbit/s, where dense bfloat16 communicates for {judged[1]:.0%} of a step, "
            f"{MODELS[JUDGED]} reaches that accuracy by `{best.way}` in {factor:.2f} ({low:.2f} to {high:.2f}) of the "
            f"time of the fastest dense training; the interval is over seeds, by each round it is {by_round}."
        )
    said.append(
        f"Sending less does not pay, by the fastest step, in every round for: {_places(found, surely=True)}; in some "
        f"rounds for: {_places(found, surely=False)}."
    )
    excess = excess_bytes(found, least=LARGE_BYTES)
    if excess:
        each, unexplained = message_bytes(found), max(unexplained_bytes(found))
        said.append(
            f"Where a host sends at least {LARGE_BYTES // 1000} kB a step, its interface has carried "
            f"{median(excess):.1%} more than is counted, {max(excess):.1%} at most, headers of packets apart. A "
            f"message costs about {each:.0f} bytes of the transport's own; with these the two agree within "
            f"{unexplained:.1%} everywhere."
        )
    fitted = found.links["model"]
    if fitted is not None:
        elsewhere = seen_at_other_rates(fitted)
        said.append(
            "A model of latency, bytes, selection, overlap and what each road takes besides, fitted on one half of the "
            "cells, is off by "
            f"{fitted['mean_error']:.1%} in the mean on the other half, by {fitted['median_error']:.1%} in the median "
            f"and by {fitted['largest_error']:.1%} at most; in the mean by road, "
            f"{', '.join(f'{road} {error:.1%}' for road, error in fitted['mean_errors'].items())}. Of these "
            f"{elsewhere[1]} combinations {elsewhere[0]} were fitted on at another rate."
        )
    return said


def _places(found: Links, *, surely: bool) -> str:
    places = [f"{MODELS[model]} at {rate:g} Mbit/s" for model, rate in not_paying(found, surely=surely)]
    return ", ".join(places) if places else "none"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _written(value: float) -> str:
    return f"{value:.{digits(value)}f}"


def _bold(text: str, *, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text
