"""The model of a step finds what times were made with, on one half, and is judged on the other, which no one chose."""

from __future__ import annotations

import random
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.studies.links.model import Point, StepModel, fitted, halves, judged

RATES = (10.0, 100.0, 1000.0)
ROADS = {"loop_seconds": 0.004, "hook_seconds": 0.016, "bucket_seconds": 0.002, "outer_seconds": 0.0005}
TRUTH = StepModel(2e-4, 1.0625, 2e-9, waiting_share=0.15, hidden_share=0.6, **ROADS)


def made(model: StepModel, count: int = 90) -> list[Point]:
    """Steps of all kinds, each exactly as long as a model says."""
    stream = random.Random(1)
    points = []
    for place in range(count):
        point = Point(
            name=f"step {place}",
            mbit_per_second=stream.choice(RATES),
            compute_seconds=stream.uniform(0.002, 0.2),
            select_seconds=stream.choice([0.0, stream.uniform(0.0, 0.01)]),
            message_count=stream.choice([6, 9, 18, 60]),
            sent_bytes=10 ** stream.uniform(3, 6.5),
            step_seconds=1.0,
            bucket_count=stream.choice([1, 1, 2, 5]),
            road=stream.choice(["loop", "hook"]),
        )
        if point.road == "loop":
            point = replace(point, bucket_count=1)
        if place % 5 == 0:
            point = replace(point, bucket_count=1, road="local")
        points.append(replace(point, step_seconds=model.seconds(point)))
    return points


def test_a_step_is_added_up_as_by_hand() -> None:
    point = Point("p", 10.0, 0.1, 0.02, 6, 1e6, 1.0)
    # 10 Mbit/s are 8e-7 s a byte; 1.0625 times that, and 2e-9.
    sending = 6 * 2e-4 + 1e6 * 8.52e-7
    assert TRUTH.link(10.0).seconds_per_byte == pytest.approx(8.52e-7)
    assert TRUTH.link(10.0).latency_seconds == 2e-4
    # A few roundings of 2⁻⁵³ each.
    assert TRUTH.seconds(point) == pytest.approx(1.15 * 0.12 + 0.004 + sending, rel=1e-14)
    hooked = replace(point, bucket_count=4, road="hook")
    beside = 0.016 + 4 * 0.002
    assert TRUTH.seconds(hooked) == pytest.approx(1.15 * 0.12 + beside + sending - 0.06, rel=1e-14)
    slow = replace(hooked, compute_seconds=10.0)
    assert TRUTH.seconds(slow) == pytest.approx(1.15 * 10.02 + beside + sending / 4, rel=1e-14)
    alone = replace(point, road="local")
    assert TRUTH.seconds(alone) == pytest.approx(0.12 + 0.0005 + sending, rel=1e-14)
    assert TRUTH.error(replace(point, step_seconds=TRUTH.seconds(point) / 1.25)) == pytest.approx(0.25)


def test_what_times_were_made_with_is_found_and_predicts_the_other_half() -> None:
    points = made(TRUTH)
    found = judged(points)
    assert found is not None
    # The search for ω ends within 1e-9, and a hook's step changes with it by at most its computing.
    for name, truth in asdict(TRUTH).items():
        assert found[name] == pytest.approx(truth, rel=1e-4)
    assert found["largest_error"] < 1e-5
    assert len(found["errors"]) == len(found["fitted_on"]) == 45


@settings(max_examples=5)
@given(st.floats(0, 0.5), st.floats(0, 1))
def test_any_shares_are_found(waiting_share: float, hidden_share: float) -> None:
    model = fitted(made(replace(TRUTH, waiting_share=waiting_share, hidden_share=hidden_share)))
    assert model.waiting_share == pytest.approx(waiting_share, abs=1e-4)
    assert model.hidden_share == pytest.approx(hidden_share, abs=1e-4)


def test_errors_are_of_the_half_that_was_not_fitted() -> None:
    points = made(TRUTH)
    _, second = halves(points)
    wrong = second[3].name
    changed = [replace(p, step_seconds=2 * p.step_seconds) if p.name == wrong else p for p in points]
    found = judged(changed)
    assert found is not None
    assert set(found["errors"]) == {point.name for point in second}
    # Half of what was measured; the model is as it was.
    assert found["errors"][wrong] == pytest.approx(-0.5, abs=1e-5)
    assert found["largest_error"] == pytest.approx(0.5, abs=1e-5)
    assert found["mean_error"] == pytest.approx(0.5 / 45, abs=1e-5)
    roads = [point.road for point in second]
    assert found["mean_errors"].keys() == {"loop", "hook", "local"} == {*roads}
    assert found["mean_errors"][second[3].road] == pytest.approx(0.5 / roads.count(second[3].road), abs=1e-5)
    assert found["median_error"] < 1e-5


def test_nothing_that_was_fitted_is_negative() -> None:
    """Steps faster than their own parts, and the faster the more is sent, make all of it zero."""
    points = [Point(str(size), 10.0, 0.1, 0.0, 1.0, size, 0.09 - 1e-8 * size) for size in (1.0, 1e5, 1e6)]
    model = fitted(points)
    assert (model.link(10.0), model.waiting_share) == (Link(0.0, 0.0), 0.0)


@given(st.permutations(made(TRUTH, 11)))
def test_halves_depend_on_names_alone(points: list[Point]) -> None:
    first, second = halves([replace(point, step_seconds=5.0) for point in points])
    assert (len(first), len(second)) == (6, 5)
    names = [[point.name for point in half] for half in halves(made(TRUTH, 11))]
    assert [[point.name for point in half] for half in (first, second)] == names
    assert {*names[0]} | {*names[1]} == {f"step {place}" for place in range(11)}


def test_one_point_cannot_be_judged() -> None:
    assert judged(made(TRUTH, 1)) is None


def test_rates_that_nobody_measured_are_predicted() -> None:
    points = made(TRUTH)
    model = fitted([point for point in points if point.mbit_per_second != 100.0])
    others = [point for point in points if point.mbit_per_second == 100.0]
    assert max(abs(model.error(point)) for point in others) < 1e-5


def test_what_is_no_point_or_no_model_is_refused() -> None:
    point = Point("p", 10.0, 0.1, 0.0, 6, 1e3, 0.2)
    for changes, message in (
        ({"compute_seconds": -1.0}, "compute_seconds of p must not be negative, got -1"),
        ({"sent_bytes": float("nan")}, "sent_bytes of p must not be negative, got nan"),
        ({"step_seconds": 0.0}, "step_seconds of p must be positive, got 0"),
        ({"bucket_count": 0}, "bucket_count of p must be at least 1, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(point, **changes)
    with pytest.raises(ValueError, match="no points"):
        fitted([])
    with pytest.raises(ValueError, match="one name"):
        halves([point, point])
