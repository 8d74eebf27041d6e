"""The traces of a race as files that `sparsync.verify.judge` judges: one for each contestant, named after it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sparsync.experiments.racing.contest import Outcome, Race
from sparsync.verify.monitors.files import Recording, write_trace
from sparsync.verify.tools.provenance import provenance

CLUSTER_FIELDS = ("cluster", "workers", "bandwidth", "latency", "shared_link")
"""Of the conditions: who computes and sends, and how fast."""


def write_traces(folder: Path, race: Race, outcomes: Sequence[Outcome]) -> list[Path]:
    """Write what every contestant did; the files' paths.

    Raises:
        OSError: a file cannot be written.
    """
    paths = [folder / trace_name(outcome) for outcome in outcomes]
    for path, outcome in zip(paths, outcomes, strict=True):
        write_trace(path, recording(race, outcome), outcome.trace, race.seconds)
    return paths


def trace_name(outcome: Outcome) -> str:
    """The file of a contestant: `ssp:staleness=5` lies in `ssp-staleness=5.jsonl`."""
    return f"{re.sub(r'[^A-Za-z0-9_.,=-]+', '-', outcome.label)}.jsonl"


def recording(race: Race, outcome: Outcome) -> Recording:
    """What a trace file says of a contestant before its events."""
    conditions = sayable(asdict(race))
    run = {name: value for name, value in conditions.items() if name not in CLUSTER_FIELDS}
    return Recording(
        run={
            "name": outcome.label,
            "policy": outcome.policy,
            "parameters": sayable(outcome.parameters),
            **run,
            "provenance": provenance(process_count=1),
        },
        cluster={name: conditions[name] for name in CLUSTER_FIELDS},
        guarantee=outcome.guarantee,
        worker_count=outcome.header.worker_count,
        initial=outcome.header.initial,
        arithmetic=outcome.arithmetic,
    )


def sayable(value: Any) -> Any:
    """A value as JSON, which cannot say what is infinite: that is the text "inf"."""
    if isinstance(value, dict):
        return {key: sayable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sayable(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value
