"""Logical workers on unequal devices: by hand, what is wasted, what binds, and what is refused."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from sparsync.experiments.planners.easyscale import DeviceType, Job, plan
from sparsync.experiments.planners.plan import InfeasibleError
from sparsync.theory.statements import STATEMENTS
from tests.support.planning.easyscale import drawn


def test_a_placement_by_hand() -> None:
    """One V100 of two steps per second takes two of four logical workers, and two P100 of one step one each."""
    found = plan(Job(4, (DeviceType(1, 2.0), DeviceType(2, 1.0))))
    assert found.choice == {"hosted": [[2], [1, 1]], "most_hosted": [2, 1], "throughput": 4.0, "waste": 0.0}
    assert found.objective == found.parts["step"] == 1.0


def test_a_device_that_is_too_slow_hosts_nobody() -> None:
    found = plan(Job(3, (DeviceType(1, 4.0), DeviceType(1, 0.5))))
    assert found.choice["hosted"] == [[3], [0]]
    assert found.choice["waste"] == 4.5 - 4.0
    assert "with one more device of type 0 a step takes 0.5 s" in found.remarks


def test_waste_is_that_of_the_statement() -> None:
    numbers = random.Random(7)
    for _ in range(20):
        question = drawn(numbers, most_devices=3, most_logical=8)
        try:
            found = plan(question)
        except InfeasibleError:
            continue
        speeds = [Fraction(own.capability) for own in question.types]
        most = found.choice["most_hosted"]
        assert isinstance(most, list)
        stated = STATEMENTS["placement_waste"].fraction(
            overload=max(places / speed for places, speed in zip(most, speeds, strict=True)),
            total_capability=sum(own.device_count * speed for own, speed in zip(question.types, speeds, strict=True)),
            logical_count=question.logical_count,
        )
        assert found.choice["waste"] == pytest.approx(float(stated), rel=1e-12, abs=1e-13)


def test_what_binds_cannot_be_less_without_harm_and_what_does_not_can() -> None:
    numbers = random.Random(8)
    bound = free = 0
    for _ in range(150):
        question = drawn(numbers, most_devices=3, most_logical=8)
        try:
            found = plan(question)
        except InfeasibleError:
            continue
        for place, own in enumerate(question.types):
            if not own.cap or not own.device_count:
                continue
            types = list(question.types)
            types[place] = replace(own, cap=own.cap - 1)
            try:
                is_worse = plan(replace(question, types=tuple(types))).objective > found.objective
            except InfeasibleError:
                is_worse = True
            assert is_worse == any(line.startswith(f"cap of type {place}:") for line in found.binding)
            bound, free = bound + is_worse, free + (not is_worse)
    assert min(bound, free) > 20


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="capability must be positive and finite, got 0"):
        DeviceType(1, 0.0)
    with pytest.raises(ValueError, match="device_count must be at least 0, got -1"):
        DeviceType(-1, 1.0)
    with pytest.raises(ValueError, match="cap must be at least 0, got -2"):
        DeviceType(1, 1.0, -2)
    with pytest.raises(ValueError, match="logical_count must be at least 1, got 0"):
        Job(0, ())
    with pytest.raises(InfeasibleError, match="caps: all devices together host 6 of 7 logical workers"):
        plan(Job(7, (DeviceType(3, 1.0, 2),)))
    with pytest.raises(InfeasibleError, match="host 0 of 1"):
        plan(Job(1, ()))


def test_a_device_that_never_ends_a_step_hosts_nobody() -> None:
    never = DeviceType(1, 5e-324)
    found = plan(Job(4, (never, DeviceType(1, 1.0))))
    assert (found.choice["hosted"], found.objective) == ([[0], [4]], 4.0)
    with pytest.raises(ValueError, match="in any time that a double holds"):
        plan(Job(4, (never,)))
