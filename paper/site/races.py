"""What does the explorable chart of races hold? Means over seeds with 95 % intervals, of every entrant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from paper.results import Result, result
from paper.studies.races.figures import GROUPS, colour_of
from paper.studies.races.times import (
    CLUSTERS,
    REFERENCE,
    SELECTORS,
    at_target,
    gain,
    policies,
    reached_count,
    runs,
    target,
)
from sparsync.verify.tools.intervals import mean

RESULTS = ("races", "race_finals")
FIRST_CHOSEN = ("bsp", "asp", "ssp", "backup")
"""Policies that the chart shows before anything is chosen."""
_MEGABYTE = 1e6


def race_data(data_folder: Path) -> dict[str, Any]:
    """The chart's data, ready for JSON: studies with their entrants, and the names and colours of all choices.

    Raises:
        FileNotFoundError: no races were run.
        ValueError: a race lacks a field.
    """
    return {
        "studies": [_study(result(data_folder, name)) for name in RESULTS],
        "clusters": CLUSTERS,
        "selectors": SELECTORS,
        "groups": [{"title": group.title, "colour": group.colour, "policies": list(group.members)} for group in GROUPS],
        "chosen": list(FIRST_CHOSEN),
        "reference": REFERENCE,
    }


def _study(study: Result) -> dict[str, Any]:
    race = study.record("race")
    places = dict.fromkeys((row["policy"], row["cluster"], row["selector"]) for row in study.records("races"))
    return {
        "name": study.path.stem,
        "title": f"{race['model']}, {race['workers']} workers",
        "seed_count": study["seed_count"],
        "seconds": study["seconds"],
        "target": round(100 * target(study), 6),
        "policies": policies(study),
        "entrants": [_entrant(study, place) for place in places],
    }


def _entrant(study: Result, place: tuple[str, str, str]) -> dict[str, Any]:
    """One policy in one cluster, sending one way: its curve, and when it is at the target."""
    rows = runs(study, *place)
    policy, cluster, selector = place
    accuracies = [mean([100 * share for share in column]) for column in _columns(rows, "accuracy")]
    seconds, sent = at_target(study, place, "seconds"), at_target(study, place, "sent_bytes")
    waited = [row["waiting_share"] for row in rows if not row["diverged"]]
    earlier = gain(study, *place)
    return {
        "policy": policy,
        "cluster": cluster,
        "selector": selector,
        "colour": colour_of(policy),
        "step_size": rows[0]["step_size"],
        "accuracy": [round(found.value, 2) for found in accuracies],
        # One seed says nothing of its spread.
        "low": [round(found.low, 2) for found in accuracies] if len(rows) > 1 else None,
        "high": [round(found.high, 2) for found in accuracies] if len(rows) > 1 else None,
        "megabytes": [round(fmean(column) / _MEGABYTE, 4) for column in _columns(rows, "sent_bytes")],
        "diverged": sum(bool(row["diverged"]) for row in rows),
        "waiting": round(100 * fmean(waited), 1) if waited else None,
        "reached": reached_count(study, place),
        "target_seconds": round(fmean(seconds), 2) if seconds else None,
        "target_megabytes": round(fmean(sent) / _MEGABYTE, 3) if sent else None,
        "sooner": None if earlier is None else "" if earlier.holds_zero else "sooner" if earlier.value > 0 else "later",
    }


def _columns(rows: Sequence[Result], name: str) -> list[list[float]]:
    """The values of all seeds by measurement."""
    return [list(column) for column in zip(*(row[name] for row in rows), strict=True)]
