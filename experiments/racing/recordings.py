"""The traces of a race as files that `sparsync.verify.judge` judges: one for each contestant, named after it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from sparsync.experiments.engine.core import Engine
from sparsync.experiments.engine.layout import Layout
from sparsync.experiments.hosts import told_rates
from sparsync.experiments.racing.contest import Outcome, Race
from sparsync.experiments.racing.entries import Contestant, label, parameters_of
from sparsync.experiments.racing.real import Conditions
from sparsync.verify.monitors.files import Recording, write_trace
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.trace import Header
from sparsync.verify.tools.provenance import provenance

CLUSTER_FIELDS = (
    "cluster",
    "fixed_share",
    "flat_until",
    "workers",
    "bandwidth",
    "latency",
    "shared_link",
    "rack_size",
    "rack_bandwidth",
)
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
    return f"{re.sub(r'[^A-Za-z0-9_.,=+-]+', '-', outcome.label)}.jsonl"


def recording(race: Race, outcome: Outcome) -> Recording:
    """What a trace file says of a contestant before its events."""
    run = (outcome.policy, outcome.parameters)
    return _recording(race, *run, outcome.header, outcome.guarantee, outcome.layout, process_count=1)


def recording_of(
    race: Race, name: str, engine: Engine, layout: Layout, conditions: Mapping[str, Any] | None = None
) -> Recording:
    """What a trace file says of a real run of the policy of this name before its events.

    `conditions` are included, and the Mbit/s of the links of the hosts, if it runs on some.
    """
    run = (name, parameters_of(name, engine.policy))
    found = _recording(race, *run, engine.header, engine.guarantee, layout, process_count=race.workers + 1)
    if conditions is None:
        return found
    said = {"conditions": sayable(dict(conditions)), "links_mbit": list(told_rates())}
    return replace(found, run={**found.run, **said})


def recorded_contestant(run: Mapping[str, Any]) -> Contestant:
    """The policy that a trace file names, and its parameters.

    Raises:
        ValueError: it names none.
    """
    name, parameters = run.get("policy"), run.get("parameters")
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise ValueError("it does not say which policy ran, with which parameters")
    return name, {key: unsaid(value) for key, value in parameters.items()}


def recorded_race(recording: Recording) -> Race:
    """The conditions that a trace file states.

    Raises:
        ValueError: it does not state them all, or one is out of its range.
    """
    said = {**recording.run, **recording.cluster}
    names = [item.name for item in fields(Race)]
    missing = [name for name in names if name not in said]
    if missing:
        raise ValueError(f"it does not say under which conditions of a race it ran: {', '.join(missing)}")
    try:
        return Race(**{name: unsaid(said[name]) for name in names})
    except TypeError as error:
        raise ValueError(f"its conditions are none of a race: {error}") from error


def _recording(
    race: Race,
    policy: str,
    parameters: dict[str, Any],
    header: Header,
    guarantee: Guarantee,
    layout: Layout,
    *,
    process_count: int,
) -> Recording:
    conditions = sayable(asdict(race))
    run = {name: value for name, value in conditions.items() if name not in CLUSTER_FIELDS}
    return Recording(
        run={
            "name": label(policy, parameters),
            "policy": policy,
            "parameters": sayable(parameters),
            **run,
            "provenance": provenance(process_count=process_count),
        },
        cluster={name: conditions[name] for name in CLUSTER_FIELDS},
        guarantee=guarantee,
        worker_count=header.worker_count,
        initial=header.initial,
        arithmetic=layout.arithmetic,
        block_bytes=layout.block_bytes,
        policy_seed=race.seed,
    )


def recorded_conditions(recording: Recording) -> Conditions:
    """How slow the workers of a real run were made; those of a simulated one take real seconds for simulated ones.

    Raises:
        ValueError: there are no such conditions.
    """
    said = recording.run.get("conditions", {"unit_seconds": 1.0})
    try:
        return Conditions(**{name: unsaid(value) for name, value in said.items()})
    except (TypeError, AttributeError) as error:
        raise ValueError(f"its conditions are none of a real race: {error}") from error


def sayable(value: Any) -> Any:
    """A value as JSON, which cannot say what is infinite: that is the text "inf"."""
    if isinstance(value, dict):
        return {key: sayable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sayable(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def unsaid(value: Any) -> Any:
    """A value as it was before JSON: see `sayable`."""
    if isinstance(value, list):
        return tuple(map(unsaid, value))
    return {"inf": math.inf, "-inf": -math.inf}.get(value, value) if isinstance(value, str) else value
