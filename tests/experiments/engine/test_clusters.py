"""Durations are functions of worker and step, links keep their books, and clusters refuse what cannot be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import (
    CHUNK,
    BatchCost,
    Change,
    Cluster,
    Constant,
    Drawn,
    Durations,
    Line,
    Link,
    Recorded,
    Slowdowns,
    exponential,
    pareto,
)

LAWS: dict[str, Callable[[], Durations]] = {
    "constant": lambda: Constant((1.0, 2.0)),
    "exponential": lambda: Drawn(exponential(2.0), factors=(1.0, 3.0), seed=4),
    "pareto": lambda: Drawn(pareto(), seed=4),
    "slowdowns": lambda: Slowdowns(Drawn(exponential(), seed=1), period=3, share=0.5, seed=2),
    "recorded": lambda: Recorded(((1.0, 2.0, 3.0), (4.0,))),
}
asked = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5 * CHUNK)), min_size=1, max_size=30)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@settings(max_examples=40)
@given(questions=asked)
def test_durations_do_not_depend_on_who_was_asked_before(
    law: Callable[[], Durations], questions: list[tuple[int, int]]
) -> None:
    together, backwards = law(), law()
    found = {question: together(*question) for question in questions}
    assert found == {question: backwards(*question) for question in reversed(questions)}
    assert found == {question: law()(*question) for question in questions}
    assert min(found.values()) > 0


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        (exponential(0.5), 0.5, 0.5),
        # Of exponent a and least m: mean a m/(a − 1), variance a m²/((a − 1)²(a − 2)).
        (pareto(4.5, 0.7), 0.9, math.sqrt(4.5 * 0.49 / (3.5**2 * 2.5))),
    ],
    ids=["exponential", "pareto"],
)
def test_means_are_as_stated(draw: Any, mean: float, deviation: float) -> None:
    count, durations = 40_000, Drawn(draw, seed=6)
    total = math.fsum(durations(worker, step) for worker in range(4) for step in range(count // 4))
    assert abs(total / count - mean) < 5 * deviation / math.sqrt(count)


def test_the_usual_pareto_steps_have_mean_one_and_never_last_less_than_their_least() -> None:
    durations = Drawn(pareto(), seed=3)
    drawn = [durations(0, step) for step in range(4 * CHUNK)]
    assert min(drawn) >= 0.6
    assert pytest.approx(1.0) == 0.6 * 2.5 / 1.5
    # P(longer than twice the least) = 2^−2.5, within five standard errors.
    share = sum(seconds > 1.2 for seconds in drawn) / len(drawn)
    assert abs(share - 2**-2.5) < 5 * math.sqrt(2**-2.5 * (1 - 2**-2.5) / len(drawn))


def test_factors_scale_the_same_draws_and_workers_have_draws_of_their_own() -> None:
    plain, scaled = Drawn(exponential(), seed=8), Drawn(exponential(), factors=(1.0, 4.0), seed=8)
    assert [scaled(1, step) for step in range(9)] == [4 * plain(1, step) for step in range(9)]
    assert scaled(2, 5) == plain(2, 5)
    assert len({plain(worker, step) for worker in range(5) for step in range(5)}) == 25
    assert plain(0, 0) != Drawn(exponential(), seed=9)(0, 0)


def test_slowdowns_last_whole_periods_and_whole_groups() -> None:
    slow = Slowdowns(Constant((1.0,)), factor=5.0, period=10, share=0.3, group_size=3, seed=1)
    table = [[slow(worker, step) for step in range(2000)] for worker in range(6)]
    assert {seconds for row in table for seconds in row} == {1.0, 5.0}
    # As flags: pytest would look for the differences of two such rows for minutes.
    assert [row == table[0] for row in table] == [True] * 3 + [False] * 3
    assert [row == table[3] for row in table] == [False] * 3 + [True] * 3
    periods = [table[worker][start : start + 10] for worker in (0, 3) for start in range(0, 2000, 10)]
    assert all(len(set(period)) == 1 for period in periods)
    share = sum(period[0] == 5.0 for period in periods) / len(periods)
    assert abs(share - 0.3) < 5 * math.sqrt(0.3 * 0.7 / len(periods))


def test_recorded_and_constant_durations_are_read_cyclically() -> None:
    recorded = Recorded(((1.0, 2.0, 3.0), (4.0, 5.0)))
    assert [recorded(0, step) for step in range(5)] == [1.0, 2.0, 3.0, 1.0, 2.0]
    assert [recorded(worker, 1) for worker in range(4)] == [2.0, 5.0, 2.0, 5.0]
    assert [Constant((1.0, 2.0, 3.0))(worker, 7) for worker in range(4)] == [1.0, 2.0, 3.0, 1.0]


@pytest.mark.parametrize(
    ("cost", "shares"),
    [
        (BatchCost(), [0.125, 0.5, 1.0, 3.0]),
        (BatchCost(fixed_share=0.25), [0.34375, 0.625, 1.0, 2.5]),
        (BatchCost(flat_until=0.5), [0.5, 0.5, 1.0, 3.0]),
        (BatchCost(0.25, 0.5), [0.625, 0.625, 1.0, 2.5]),
    ],
)
def test_a_step_takes_a_fixed_share_and_is_flat_until_it_is_straight(cost: BatchCost, shares: list[float]) -> None:
    assert [cost(batch) for batch in (0.125, 0.5, 1.0, 3.0)] == shares
    cluster = Cluster(3, Constant((2.0,)), (cost, BatchCost()))
    assert [cluster.step_seconds(worker, 0, 3.0) for worker in range(3)] == [2 * shares[3], 6.0, 2 * shares[3]]


@given(seconds=st.floats(1e-9, 1e9), batch=st.floats(1e-9, 1e9))
def test_where_nothing_is_fixed_a_step_takes_its_duration_times_its_batch_in_bits(seconds: float, batch: float) -> None:
    assert Cluster(1, Constant((seconds,))).step_seconds(0, 0, batch) == seconds * batch


def test_what_comes_only_at_the_beginning_is_not_repeated() -> None:
    recorded = Recorded(((9.0, 2.0, 3.0), (4.0,)), first_count=1)
    assert [recorded(0, step) for step in range(6)] == [9.0, 2.0, 3.0, 2.0, 3.0, 2.0]
    assert [recorded(1, step) for step in range(3)] == [4.0, 4.0, 4.0]
    with pytest.raises(ValueError, match="first_count must be at least 0, got -1"):
        Recorded(((1.0,),), first_count=-1)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_durations_are_positive_and_finite(bad: float) -> None:
    makers: dict[str, Callable[[], object]] = {
        "seconds": lambda: Constant((1.0, bad)),
        "factors": lambda: Drawn(exponential(), factors=(bad,)),
        "mean": lambda: exponential(bad),
        "least": lambda: pareto(2.5, bad),
        "factor": lambda: Slowdowns(Constant(), factor=bad),
    }
    for name, make in makers.items():
        with pytest.raises(ValueError, match=rf"^{name} must be positive and finite, got .*{bad}"):
            make()
    with pytest.raises(ValueError, match=r"^seconds must be positive and finite"):
        Recorded(((1.0,), (2.0, bad)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(()), r"seconds must be positive and finite, got \(\)"),
        (lambda: Recorded(()), "there are no recorded seconds"),
        (lambda: Recorded(((),)), r"seconds must be positive and finite, got \(\)"),
        (lambda: pareto(1.0), "shape must exceed 1, so that there is a mean, got 1.0"),
        (lambda: Slowdowns(Constant(), share=1.5), r"share must lie in \[0, 1\], got 1.5"),
        (lambda: Slowdowns(Constant(), period=0), "period must be at least 1, got 0"),
        (lambda: Slowdowns(Constant(), period=1.5), "period must be an int, got 1.5"),  # type: ignore[arg-type]
        (lambda: Slowdowns(Constant(), group_size=0), "group_size must be at least 1, got 0"),
        (lambda: Slowdowns(Constant(), group_size=2.0), "group_size must be an int, got 2.0"),  # type: ignore[arg-type]
        (lambda: Link(latency_seconds=-0.5), "latency_seconds must be at least 0 and finite, got -0.5"),
        (lambda: Link(latency_seconds=math.inf), "latency_seconds must be at least 0 and finite, got inf"),
        (lambda: Link(message_seconds=math.nan), "message_seconds must be at least 0 and finite, got nan"),
        (lambda: Link(bytes_per_second=0.0), "bytes_per_second must be positive, got 0.0"),
        (lambda: Link(bytes_per_second=math.nan), "bytes_per_second must be positive, got nan"),
        (lambda: Link(own_rates=(1.0, 0.0)), r"own_rates must be positive, got \(1.0, 0.0\)"),
        (lambda: Line(Link(own_rates=(1.0, 2.0)), 3), "a link with 2 own rates cannot serve 3 workers"),
        (lambda: Change(-1.0, 0, "join"), "the time of a change must be at least 0 and finite, got -1.0"),
        (lambda: Change(math.inf, 0, "join"), "the time of a change must be at least 0 and finite, got inf"),
        (lambda: Change(1.0, 0, "explode"), "a worker can join, leave or crash, got 'explode'"),  # type: ignore[arg-type]
        (lambda: BatchCost(fixed_share=1.0), r"fixed_share must lie in \[0, 1\), got 1.0"),
        (lambda: BatchCost(fixed_share=math.nan), r"fixed_share must lie in \[0, 1\), got nan"),
        (lambda: BatchCost(flat_until=-0.5), r"flat_until must lie in \[0, 1\], got -0.5"),
        (lambda: Cluster(1, batch_costs=()), r"batch_costs must name one cost at least, got \(\)"),
        (lambda: Cluster(0), "worker_count must be at least 1, got 0"),
        (lambda: Cluster(2, rack_size=0), "rack_size must be at least 1, got 0"),
        (lambda: Cluster(2.5), "worker_count must be an int, got 2.5"),  # type: ignore[arg-type]
        (lambda: Cluster(1, order_seconds=-1.0), "order_seconds must be at least 0 and finite, got -1.0"),
        (lambda: Cluster(2, absent=frozenset({0, 1})), "no worker is there: 2 workers, 2 of them absent"),
        (lambda: Cluster(3, absent=frozenset({3})), r"there are workers 0 to 2, got \[3\]"),
        (lambda: Cluster(3, changes=(Change(1.0, -1, "crash"),)), r"there are workers 0 to 2, got \[-1\]"),
    ],
)
def test_bad_values_are_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_changes_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match=r"in order of time, got Change\(time=2.0.* before Change\(time=1.0"):
        Cluster(2, changes=(Change(2.0, 0, "crash"), Change(1.0, 1, "crash")))


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (("join",), "worker 1 is there"),
        (("crash", "leave"), "worker 1 is gone"),
        (("leave", "crash"), "worker 1 is gone"),
        (("leave", "leave"), "worker 1 is gone"),
        (("leave", "join", "join"), "worker 1 is there"),
    ],
)
def test_nobody_joins_twice_or_goes_twice(kinds: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cluster(2, changes=tuple(Change(1.0 + place, 1, kind) for place, kind in enumerate(kinds)))


def test_coming_and_going_by_turns_is_accepted() -> None:
    changes = (Change(1.0, 0, "join"), Change(1.0, 1, "crash"), Change(2.0, 0, "leave"), Change(2.0, 1, "join"))
    assert Cluster(2, changes=changes, absent=frozenset({0})).changes == changes


def test_a_line_is_busy_for_headers_and_bytes_but_not_for_latency() -> None:
    link = Link(latency_seconds=10.0, bytes_per_second=4.0, message_seconds=0.5)
    line = Line(link, 2)
    assert link.occupied_seconds(6) == 2.0
    assert [line.arrival(0, 1.0, 6), line.arrival(0, 1.5, 6), line.arrival(1, 1.5, 6)] == [13.0, 15.0, 13.5]
    assert line.arrival(0, 20.0, 6) == 32.0


def test_a_shared_line_is_one_for_all() -> None:
    line = Line(Link(bytes_per_second=4.0, is_shared=True), 3)
    assert [line.arrival(worker, 0.0, 4) for worker in (2, 0, 1)] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("is_shared", "arrivals"), [(False, [2.5, 5.5, 2.5, 10.5]), (True, [2.5, 5.5, 6.5, 10.5])])
def test_a_transfer_takes_the_longer_of_the_line_and_of_its_worker_s_own_end(
    is_shared: bool, arrivals: list[float]
) -> None:
    link = Link(latency_seconds=0.5, bytes_per_second=4.0, is_shared=is_shared, own_rates=(math.inf, 1.6, 100.0))
    line = Line(link, 3)
    # Eight bytes: 2 s on the line, 5 s over the end of worker 1.
    assert [line.arrival(worker, 0.0, 8) for worker in (0, 1, 2, 1)] == arrivals


def test_transfers_take_no_time_on_the_usual_link() -> None:
    assert Line(Link(), 1).arrival(0, 3.25, 10**12) == 3.25


def test_a_ring_leaves_each_rack_as_often_as_its_order_does() -> None:
    racks = Cluster(7, rack_size=3)
    assert racks.rack_count == 3
    rings = [(0, 1, 2), (0, 1, 3), (0, 3, 1, 4), (6,), (2, 5, 6)]
    assert [racks.racks_left(ring) for ring in rings] == [[], [0, 1], [0, 1, 0, 1], [], [0, 1, 2]]
    assert Cluster(7).racks_left((0, 3, 1, 4)) == []
    assert Cluster(7).rack_count == 1


def test_a_ring_passes_twice_all_but_one_share_of_what_a_member_publishes() -> None:
    # Five members publish 1000 bytes together: 2 · 4/5 · 200 = 320 bytes each.
    own = Line(Link(latency_seconds=1.0, bytes_per_second=320.0), 5)
    shared = Line(Link(latency_seconds=1.0, bytes_per_second=320.0, is_shared=True), 5)
    assert own.ring_end((0, 1, 2, 3, 4), 0.5, 1000) == 2.5
    assert shared.ring_end((0, 1, 2, 3, 4), 0.5, 1000) == 6.5
    assert own.ring_end((3,), 9.0, 1000) == 10.0
