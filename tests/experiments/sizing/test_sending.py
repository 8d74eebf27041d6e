"""A planned step says by which collective to send, and which densities cost no more time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sparsync.experiments.planners.layer_density import GROUPS_PER_OCTAVE
from sparsync.experiments.planners.osdp import MOST_BATCHES
from sparsync.experiments.planners.parts.captured import captured_share
from sparsync.experiments.planners.plan import Plan
from sparsync.experiments.sizing.operators import Operator
from sparsync.experiments.sizing.sending import LAW, collective_of, densities_of, sending_lines
from sparsync.experiments.sizing.step import Conditions, planned_step
from sparsync.theory.statements import STATEMENTS

BUCKETS = [Operator(f"bucket {place}", 100_000, 2e9, 1000) for place in range(4)]
CONDITIONS = Conditions(8, 10**9, 1e9, density=0.01, batch=4, operations_per_second=1e12)


def asked(conditions: Conditions, buckets: list[Operator] = BUCKETS) -> tuple[Plan | None, Plan | None]:
    step = planned_step(buckets, conditions)
    return collective_of(buckets, step, conditions), densities_of(buckets, step, conditions)


def chosen(plan: Plan | None, name: str) -> Any:
    assert plan is not None
    return plan.choice[name]


def test_the_collective_is_the_planners_for_the_largest_bucket() -> None:
    larger = [*BUCKETS, Operator("largest", 300_000, 2e9, 1000)]
    found, _ = asked(CONDITIONS, larger)
    stated = STATEMENTS["ring_all_gather"].fraction(
        n=8, k=3000, value_bytes=2, index_bytes=4, message_seconds=50e-6, byte_seconds=8e-9, merge_seconds=0
    )
    assert chosen(found, "count") == 3000
    assert chosen(found, "seconds")["ring_all_gather"] == pytest.approx(float(stated), rel=1e-12)


def test_densities_by_bucket_take_no_longer_and_leave_out_less() -> None:
    step = planned_step(BUCKETS, CONDITIONS)
    _, found = asked(CONDITIONS)
    assert found is not None
    end = found.parts["backward"] + found.parts["exposed"]
    forward = sum(work.forward_seconds for work in step.works)
    assert end <= (step.timeline.step_seconds - forward) * (1 + 1e-12)
    densities = chosen(found, "densities")
    # The first bucket's exchange, which is asked for last, is all that is not hidden.
    assert densities[-1] == pytest.approx(0.01, rel=1e-3)
    assert min(densities[:-1]) > 0.1
    one_density = 1 - float(captured_share(LAW)(np.asarray([0.01]))[0])
    assert found.objective < one_density / 2


def test_a_bucket_that_waits_for_the_link_has_no_more_to_send() -> None:
    _, found = asked(replace(CONDITIONS, bits_per_second=1e5))
    # Entries of a group have one square, and any of them may be taken: the density is settled up to a group.
    assert chosen(found, "densities") == pytest.approx([0.01] * 4, rel=2 ** (1 / GROUPS_PER_OCTAVE) - 1)


@pytest.mark.parametrize(
    ("changed", "has_collective"),
    [({"worker_count": 1}, False), ({"density": 1.0}, True), ({"memory_bytes": 2_600_000}, False)],
    ids=["alone", "dense", "sharded"],
)
def test_what_does_not_arise_is_not_answered(changed: dict[str, Any], has_collective: bool) -> None:
    found, densities = asked(replace(CONDITIONS, **changed))
    assert (found is not None) == has_collective
    assert densities is None


def test_lines_name_what_was_chosen() -> None:
    found, densities = asked(CONDITIONS)
    lines = sending_lines(collective=found, layer_density=densities)
    assert f"largest bucket: {chosen(found, 'collective')} " in lines[0]
    assert lines[-1].startswith("in the same time, densities from 0.01 to ")
    assert sending_lines(collective=None, layer_density=None) == []


def test_a_small_model_in_a_large_memory_is_planned_with_the_largest_batch_that_is_tried() -> None:
    step = planned_step(BUCKETS, replace(CONDITIONS, batch=None, memory_bytes=10**12))
    assert step.plan.choice["batch"] == MOST_BATCHES
