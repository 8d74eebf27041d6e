"""Predicted steps are those of the planner's command, and the study's numbers follow from them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.sizing.measured_times import CodecTimes, MeasuredTimes
from sparsync.experiments.sizing.step import Conditions, planned_step
from sparsync.experiments.studies.planning import scaling
from sparsync.experiments.studies.planning.scaling import (
    LEAST_GAIN,
    SLOWNESS,
    case_count,
    measured_machine,
    run_scaling,
)
from sparsync.experiments.studies.planning.scaling_steps import (
    INDEX_BYTES,
    VALUE_BYTES,
    WAYS,
    Machine,
    Place,
    Trainee,
    exchange_seconds,
    low_rank_share,
    quickest_step,
    selecting_seconds,
    step_of,
)

TRAINEE = Trainee("resnet50", 8)
SELECTING = MeasuredTimes("some", ((1, 0.0), (10**9, 1.0)))
CODING = CodecTimes(MeasuredTimes("some", ((1, 0.25), (10**9, 0.25))), MeasuredTimes("some", ((1, 0.5), (10**9, 0.5))))
MACHINE = Machine(
    hardware="some",
    selection=tuple((way.contender, SELECTING) for way in WAYS.values() if way.is_sparse),
    codec=CODING,
    entry_bytes=((0.001, 2.0), (0.01, 1.5)),
    merge_seconds_per_byte=0.0,
    latency_seconds=50e-6,
    node_size=8,
    inner_link=Link(3e-6, 1e-12),
)
PLACE = Place(16, 10e9, 0.001, 1e13)
BUCKET_BYTES = 25_000_000


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    networks = scaling.TRAINEES[:1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "TRAINEES", networks)
        return run_scaling("smoke")


@pytest.mark.parametrize(("way", "density"), [("dense_ring", 1.0), ("gather", 0.001)])
def test_a_step_is_that_of_the_planner_s_command(way: str, density: float) -> None:
    """On rings, without additions: the command has no other exchanges. It rounds the parts of a ring up."""
    conditions = Conditions(
        worker_count=PLACE.workers,
        memory_bytes=10**13,
        bits_per_second=PLACE.bits_per_second,
        operations_per_second=PLACE.operations_per_second,
        density=density,
        batch=TRAINEE.batch,
        value_bytes=VALUE_BYTES,
        index_bytes=INDEX_BYTES,
        selection=SELECTING,
    )
    ring = replace(WAYS[way], collectives=WAYS[way].collectives[:1])
    planned = planned_step(TRAINEE.buckets(BUCKET_BYTES), conditions).timeline
    found = step_of(TRAINEE, ring, MACHINE, PLACE, BUCKET_BYTES)
    # Less than a value a bucket and message, of 2(n − 1) one after the other.
    messages = 2 * (PLACE.workers - 1) * len(TRAINEE.buckets(BUCKET_BYTES))
    rounding = messages * VALUE_BYTES * 8 / PLACE.bits_per_second
    assert found.step_seconds == pytest.approx(planned.step_seconds, abs=rounding)
    assert found.link_seconds == pytest.approx(planned.link_seconds, abs=rounding)
    assert rounding < 1e-4 * planned.link_seconds


def test_what_a_device_computes_is_counted_from_the_network() -> None:
    """Of ResNet-50 4.1 · 10⁹ multiplications and as many additions forwards, and twice that backwards."""
    assert TRAINEE.operations() / TRAINEE.batch == pytest.approx(3 * 2 * 4.1e9, rel=0.01)
    assert TRAINEE.parameter_count == 25_557_032


def test_the_quickest_of_several_exchanges_and_buckets_is_taken() -> None:
    ring, best = (exchange_seconds(WAYS[way], MACHINE, PLACE, 10**6) for way in ("dense_ring", "dense"))
    assert best <= ring
    size, step = quickest_step(TRAINEE, WAYS["dense"], MACHINE, PLACE, (10_000, BUCKET_BYTES))
    steps = {
        size: step_of(TRAINEE, WAYS["dense"], MACHINE, PLACE, size).step_seconds for size in (10_000, BUCKET_BYTES)
    }
    assert step.step_seconds == steps[size] == min(steps.values())


def test_coded_messages_are_shorter_and_take_their_coding() -> None:
    way, plain = WAYS["chunks_coded"], replace(WAYS["chunks_coded"], is_coded=False)
    seconds = {
        each: exchange_seconds(each, MACHINE, replace(PLACE, bits_per_second=1e6), 10**7) for each in (way, plain)
    }
    # Two bytes an entry instead of six, and latencies that are alike.
    assert seconds[way] / seconds[plain] == pytest.approx(2 / 6, rel=1e-3)
    assert selecting_seconds(way, MACHINE, PLACE, 10**6) == pytest.approx(1e-3 + 0.25 + 15 * 0.5)


def test_a_slower_selection_takes_so_many_times_the_seconds_and_dense_steps_none() -> None:
    slow = replace(PLACE, slowness=10.0)
    one, ten = (selecting_seconds(WAYS["gather"], MACHINE, place, 10**6) for place in (PLACE, slow))
    assert ten == pytest.approx(10 * one) == pytest.approx(1e-2)
    assert selecting_seconds(WAYS["dense"], MACHINE, slow, 10**6) == 0


def test_powersgd_sends_what_both_factors_have() -> None:
    share = low_rank_share("resnet50", WAYS["powersgd"].rank)
    whole = Place(16, 1e6, 1.0, 1e14)
    both = [exchange_seconds(WAYS["dense"], MACHINE, whole, count) for count in (10**7, round(share * 10**7))]
    assert both[1] / both[0] == pytest.approx(share, rel=0.05)
    assert 0.01 < share < 0.02


def test_every_row_has_efficiencies_that_selecting_leaves_room_for(study: dict[str, Any]) -> None:
    rows = study["rows"]
    assert {row["way"] for row in rows} == set(WAYS)
    for row in rows:
        for efficiency, share in zip(row["efficiency"], row["select_share"], strict=True):
            assert 0 < efficiency <= 1 - share + 1e-12
            assert (share > 0) == WAYS[row["way"]].is_sparse


def test_slower_selection_never_helps_and_faster_links_never_harm(study: dict[str, Any]) -> None:
    rows = {
        (row["way"], row["bits_per_second"], row["density"], row["slowness"]): row["efficiency"]
        for row in study["rows"]
    }
    slow, fast = study["bits_per_second"]
    for (way, rate, density, slowness), found in rows.items():
        if slowness == SLOWNESS:
            assert all(one <= other for one, other in zip(found, rows[way, rate, density, 1.0], strict=True))
        if rate == slow:
            assert all(one <= other for one, other in zip(found, rows[way, fast, density, slowness], strict=True))


def test_a_flip_is_where_the_gain_is_the_least_that_counts(study: dict[str, Any]) -> None:
    """To the hundredth to which it is sought."""
    case = scaling._Case(scaling.TRAINEES[0], measured_machine(Path("paper/data")), scaling.SIZES["smoke"])
    found = [
        (row, workers, operations)
        for row in study["flips"]
        for workers, operations in zip(study["workers"], row["operations_per_second"], strict=True)
    ]
    assert {operations is None for *_, operations in found} == {True, False}
    row, workers, operations = next(each for each in found if each[2])
    place = Place(workers, row["bits_per_second"], row["density"], operations)
    below = replace(place, operations_per_second=operations / math.exp(math.log(1e5) / 2**10))
    assert scaling._gain(case, row["way"], place) >= LEAST_GAIN > scaling._gain(case, row["way"], below)


def test_a_record_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"wire\.json"):
        measured_machine(tmp_path)


def test_cases_are_as_many_as_networks(study: dict[str, Any]) -> None:
    assert case_count("smoke") == len(scaling.TRAINEES) == 4
    assert [row["network"] for row in study["networks"]] == ["resnet50"]
