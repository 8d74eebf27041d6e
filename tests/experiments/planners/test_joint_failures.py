"""Correlated failures: counted at changes only, the same as over whole traces, and found in the cluster of shocks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.engine.presets import CLUSTERS, SHOCK_GROUP_SIZE
from sparsync.experiments.planners.joint_failures import JointFailures

THRESHOLD = 0.35
TRACES = st.integers(1, 30).flatmap(
    lambda length: st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=length, max_size=length)
)


def after(looks: Sequence[Sequence[bool]], *, neighbours: int = 4, threshold: float = THRESHOLD) -> JointFailures:
    """What looks at all workers saw; only who changed is named."""
    failures = JointFailures(len(looks[0]), neighbours, threshold)
    before: Sequence[bool] = [False] * len(looks[0])
    for look in looks:
        failures.look((worker, now) for worker, now in enumerate(look) if now != before[worker])
        before = look
    return failures


@given(TRACES)
def test_counting_at_changes_is_counting_at_every_look(looks: list[list[bool]]) -> None:
    failures = after(looks)
    for worker, other in ((0, 1), (1, 2), (2, 0)):
        first, second = ([float(look[place]) for look in looks] for place in (worker, other))
        joint = Fraction(sum(not (look[worker] or look[other]) for look in looks), len(looks))
        varies = min(np.std(first), np.std(second)) > 0
        correlation = float(np.corrcoef(first, second)[0, 1]) if varies else 0.0
        # No share or correlation of at most 30 looks is that near to the threshold but not there.
        assert failures.are_correlated(worker, other) == (max(correlation, float(joint)) >= THRESHOLD - 1e-12)


def test_who_fails_together_is_suspected_while_one_is_gone() -> None:
    both = [[True] * 6] * 8 + [[False, False, *[True] * 4]] * 2 + [[True] * 6] * 8
    assert after(both).suspects() == []
    assert after([*both, [False, *[True] * 5]]).suspects() == [1]
    assert after([*both, [*[True] * 5, False]]).suspects() == []
    # Near by number, the first after the last: of 1, one is 0 or 2.
    assert after([*both, [False, *[True] * 5]], neighbours=0).suspects() == []


def test_pairs_that_are_far_are_not_looked_at() -> None:
    failures = after([[True] * 8])
    assert not failures.are_correlated(0, 2)
    assert not failures.are_correlated(0, 7)
    with pytest.raises(KeyError):
        failures.are_correlated(0, 3)


def test_without_a_failure_or_a_look_nobody_is_correlated() -> None:
    assert not JointFailures(3, 4, THRESHOLD).are_correlated(0, 1)
    assert not after([[True] * 3] * 5).are_correlated(0, 1)


def test_shocks_correlate_a_group_and_no_others() -> None:
    cluster = CLUSTERS["shocks"](12, 1)
    is_there = [True] * 12
    looks, changes = [], list(cluster.changes)
    for second in range(10_000):
        while changes and changes[0].time <= second:
            change = changes.pop(0)
            is_there[change.worker] = change.kind == "join"
        looks.append(list(is_there))
    failures = after(looks)
    for worker in range(12):
        for other in ((worker + distance) % 12 for distance in (1, 2)):
            is_together = worker // SHOCK_GROUP_SIZE == other // SHOCK_GROUP_SIZE
            assert failures.are_correlated(worker, other) == is_together
