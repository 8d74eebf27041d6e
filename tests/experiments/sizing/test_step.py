"""A planned step is its plan on a timeline; what binds is what more of would make quicker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sparsync.experiments.planners.plan import InfeasibleError
from sparsync.experiments.sizing.measured_times import CodecTimes, MeasuredTimes
from sparsync.experiments.sizing.operators import Operator
from sparsync.experiments.sizing.step import Conditions, binding, changes, planned_step

BUCKETS = [Operator(f"layer {place}", 1_000_000, 2e9, 4e6) for place in range(6)]
ROOMY = Conditions(worker_count=4, memory_bytes=10**12, bits_per_second=1e9, batch=8)


def test_a_step_adds_up_as_by_hand() -> None:
    step = planned_step(BUCKETS, ROOMY)
    compute = 6 * 8 * 3 * 2e9 / 1e14
    # A quarter of a bucket in 2 bytes a value, in 2 passes of 3 messages.
    exchange = 2 * 3 * (50e-6 + 250_000 * 2 * 8e-9)
    assert step.timeline.compute_seconds == pytest.approx(compute, rel=1e-12)
    assert step.timeline.link_seconds == pytest.approx(6 * exchange, rel=1e-12)
    # The link begins with the last bucket's backward pass done, and is then never idle.
    first = compute / 3 + compute * 2 / 3 / 6
    assert step.timeline.step_seconds == pytest.approx(first + 6 * exchange, rel=1e-12)
    assert step.sample_seconds == pytest.approx(step.timeline.step_seconds / 32, rel=1e-12)


def test_what_the_timeline_does_is_what_the_planner_adds_up() -> None:
    for conditions in (ROOMY, replace(ROOMY, memory_bytes=160_000_000), replace(ROOMY, density=0.001)):
        step = planned_step(BUCKETS, conditions)
        added = step.timeline.compute_seconds + step.timeline.link_seconds
        assert step.plan.objective * step.sample_count == pytest.approx(added, rel=1e-12)


def test_with_little_memory_operators_are_sharded_and_gathered() -> None:
    step = planned_step(BUCKETS, replace(ROOMY, memory_bytes=160_000_000))
    assert {span.kind for span in step.timeline.spans} == {"forward", "backward", "gather", "exchange"}
    with pytest.raises(InfeasibleError, match="memory: the limit is 1000 bytes"):
        planned_step(BUCKETS, replace(ROOMY, memory_bytes=1000))


def test_selecting_takes_the_time_that_was_measured_where_a_selection_is_sent() -> None:
    times = MeasuredTimes("some", ((1, 0.5), (2_000_000, 0.5)))
    dense = planned_step(BUCKETS, replace(ROOMY, selection=times))
    assert sum(work.select_seconds for work in dense.works) == 0
    sparse = planned_step(BUCKETS, replace(ROOMY, selection=times, density=0.001))
    assert [work.select_seconds for work in sparse.works] == [0.5] * 6


def test_a_device_codes_its_own_message_and_those_of_all_others() -> None:
    once = MeasuredTimes("some", ((1, 0.25), (2_000_000, 0.25)))
    codec = CodecTimes(once, MeasuredTimes("some", ((1, 0.125), (2_000_000, 0.125))))
    sparse = planned_step(BUCKETS, replace(ROOMY, selection=once, codec=codec, density=0.001))
    expected = 0.25 + 0.25 + (ROOMY.worker_count - 1) * 0.125
    assert [work.select_seconds for work in sparse.works] == [expected] * 6


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (replace(ROOMY, operations_per_second=1e9), ("processor",)),
        (replace(ROOMY, bits_per_second=1e6, operations_per_second=1e18), ("bandwidth",)),
        (replace(ROOMY, latency_seconds=10.0, operations_per_second=1e18, bits_per_second=1e12), ("latency",)),
    ],
)
def test_what_binds_is_what_there_is_too_little_of(conditions: Conditions, expected: tuple[str, ...]) -> None:
    step = planned_step(BUCKETS, conditions)
    assert binding(step, changes(BUCKETS, conditions)) == expected


def test_memory_binds_where_more_of_it_replicates() -> None:
    tight = replace(ROOMY, memory_bytes=160_000_000)
    assert "memory" in binding(planned_step(BUCKETS, tight), changes(BUCKETS, tight))
    assert "memory" not in binding(planned_step(BUCKETS, ROOMY), changes(BUCKETS, ROOMY))


def test_no_change_that_helps_is_said_to_hurt() -> None:
    base = planned_step(BUCKETS, ROOMY).sample_seconds
    found = changes(BUCKETS, ROOMY)
    assert all(change.sample_seconds <= base * (1 + 1e-12) for name, change in found.items() if name != "density")


@pytest.mark.parametrize("name", ["bits_per_second", "operations_per_second", "activation_share"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_rates_that_are_none_are_refused(name: str, value: float) -> None:
    wrong: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"{name} must be positive, got {value}"):
        replace(ROOMY, **wrong)
