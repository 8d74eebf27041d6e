"""Which parameters are none: every policy refuses them in the same words, before or when it meets its workers."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.counts import require_count, require_count_or_infinity
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.entries import make_policy
from tests.support.fitting import usual_for

COUNTS = [
    (name, item.name)
    for name, policy in POLICIES.items()
    for item in fields(policy)
    if item.init and item.type in ("int", "int | None")
]
BOUNDS = [(name, item.name) for name, policy in POLICIES.items() for item in fields(policy) if item.name == "staleness"]


def simulate(name: str, worker_count: int, **parameters: Any) -> None:
    Simulation(make_policy(name, parameters), Cluster(worker_count), Horizon(steps=2)).run()


@pytest.mark.parametrize("value", [1.5, 2.0, math.inf, math.nan, True, "2"], ids=repr)
@pytest.mark.parametrize(("name", "parameter"), COUNTS)
def test_numbers_of_things_are_ints(name: str, parameter: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{parameter} must be an int, got {value!r}$"):
        POLICIES[name](**{parameter: value})


@pytest.mark.parametrize(("name", "parameter"), COUNTS)
def test_numbers_of_things_are_not_negative(name: str, parameter: str) -> None:
    with pytest.raises(ValueError, match=f"^{parameter} must be at least [01], got -1$"):
        POLICIES[name](**{parameter: -1})


@pytest.mark.parametrize("name", [name for name, _ in BOUNDS if name != "pbsp"])
@pytest.mark.parametrize("value", [2.5, -1, -math.inf, math.nan, True, "3"], ids=repr)
def test_a_staleness_is_whole_or_infinite(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"staleness must be .*got {value!r}"):
        POLICIES[name](staleness=value)  # type: ignore[call-arg]
    for bound in (0, 2.0, math.inf):
        simulate(name, 3, staleness=bound)


@pytest.mark.parametrize(
    ("name", "parameter", "most"),
    [
        ("backup", "backups", 2),
        ("pbsp", "sample", 2),
        ("pssp", "sample", 2),
        ("aw_psp", "sample", 2),
        ("ds_sync", "group_size", 3),
    ],
)
def test_no_more_are_wanted_than_three_workers_are(name: str, parameter: str, most: int) -> None:
    simulate(name, 3, **{parameter: most})
    with pytest.raises(ValueError, match=f"{parameter} must be .*got {most + 1}"):
        simulate(name, 3, **{parameter: most + 1})


@pytest.mark.parametrize("worker_count", [1, 2, 3])
@pytest.mark.parametrize("name", POLICIES)
def test_few_workers_need_no_more_than_fewer_backups_and_smaller_samples(name: str, worker_count: int) -> None:
    simulate(name, worker_count, **usual_for(name, worker_count))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("dedloc", {"target_batch": math.inf}, "target_batch must be positive and finite, got inf"),
        ("adsp", {"least_seconds": math.inf}, "least_seconds must be at least 0 and finite, got inf"),
        ("adsp", {"target_loss": math.nan}, "target nan"),
        ("adsp", {"target_loss": 0.5, "commits": math.inf}, "commits inf"),
        ("parameter_database", {"writes": 3}, "writes must be tuples of blocks, one for each worker, got 3"),
        ("parameter_database", {"writes": (0, 1)}, r"writes must be tuples of blocks, .*got \(0, 1\)"),
        ("parameter_database", {"writes": ((0.5,),)}, "a block of writes must be an int, got 0.5"),
        ("parameter_database", {"writes": ((0,),), "reads": "0"}, "reads must be tuples of blocks, .*got '0'"),
    ],
)
def test_what_would_never_happen_or_name_nothing_is_refused(name: str, parameters: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_policy(name, parameters)


@given(st.integers(-5, 5), st.integers(-5, 5))
def test_a_count_has_a_least_value(value: int, least: int) -> None:
    for require in (require_count, require_count_or_infinity):
        if value >= least:
            require("things", value, least=least)
        else:
            with pytest.raises(ValueError, match=f"^things must be at least {least}, got {value}$"):
                require("things", value, least=least)
