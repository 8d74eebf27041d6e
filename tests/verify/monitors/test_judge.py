"""Every kind of fault is caught by its monitor, in traces written by hand; the same traces without the fault pass."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest

from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Judge, Violation, judge_trace
from sparsync.verify.monitors.trace import (
    NOTHING,
    Applied,
    Arrived,
    Departed,
    Dropped,
    Event,
    Fetched,
    Header,
    Joined,
    Lost,
    Mass,
    Rang,
    Released,
    Sent,
    Started,
    Stepped,
)
from tests.support.written_traces import (
    END,
    HEADER,
    MEAN,
    MIXED,
    ROUND,
    SHARED,
    Edit,
    changed,
    inserted,
    judged,
    mass,
    steps_on,
    swapped,
    without,
)

TURNS = [
    pytest.param(changed(4, time=0.25), "time runs from 0.5 back to 0.25", id="time backwards"),
    pytest.param(changed(4, time=math.nan), "time runs from 0.5 back to nan", id="no time"),
    pytest.param(changed(16, time=4.0), "AlarmSet at 4.0: time runs", id="alarm before its time"),
    pytest.param(without(2), "worker 0 finishes step 1, but it is transferring", id="step that never started"),
    pytest.param(inserted(3, Started(0.25, 0)), "worker 0 starts a step, but it is computing", id="started twice"),
    pytest.param(changed(2, batch=0.0), "worker 0 starts a step on a batch of 0.0", id="no examples"),
    pytest.param(changed(17, clock=3), "worker 1 finishes step 3 after step 1", id="step skipped"),
    pytest.param(swapped(4), "worker 0 sends message 0, but it is computing", id="sent before the step"),
    pytest.param(swapped(11), "", id="the order of releases is free"),
    pytest.param(without(12), "worker 1 starts a step, but it is waiting", id="started without release"),
    pytest.param(inserted(13, Released(3.0, 1, 1, mass(7.5))), "worker 1 goes on, but it is tran", id="released twice"),
    pytest.param(without(0), "worker 0 starts a step, but it is not there", id="never joined"),
    pytest.param(inserted(2, Joined(0.0, 0, 0, mass(10.0))), "worker 0 joins, but it is tran", id="joined twice"),
    pytest.param(changed(0, worker=2), "worker 2 joins; there are workers 0 to 1", id="unknown worker"),
    pytest.param(changed(14, reason="left"), "worker 0 departs .left., but it is computing", id="left within a step"),
    pytest.param(changed(14, reason="bored"), "worker 0 departs for the reason 'bored'", id="unknown reason"),
    pytest.param(inserted(15, Departed(4.5, 0, "crashed")), "worker 0 departs .*it is not there", id="departed twice"),
    pytest.param(inserted(20, Rang(9.0, "'key'")), "the run ends at 8.0, after an event at 9.0", id="end too early"),
    pytest.param(inserted(20, Rang(7.5, "'other'")), "alarm 'other' rings, but it was not set", id="alarm not set"),
    pytest.param(inserted(20, *[Rang(7.5, "'key'")] * 2), "alarm 'key' rings, but it was not set, or has", id="twice"),
    pytest.param(inserted(20, Rang(7.25, "'key'")), r"alarm 'key' rings at 7.25, but it is due at 7.5", id="too early"),
    pytest.param(changed(16, due=5.0), "alarm 'key' is set for 5.0, which is over", id="alarm in the past"),
]
MESSAGES = [
    pytest.param(changed(8, message=5), "worker 1 sends message 5 where 1 is due", id="number skipped"),
    pytest.param(changed(8, message=0), "worker 1 sends message 0 where 1 is due", id="number used twice"),
    pytest.param(changed(9, message=7), "message 7 arrives, but it was never sent", id="arrived unsent"),
    pytest.param(inserted(9, Arrived(3.0, 0)), "message 0 arrives, but it has arrived before", id="arrived twice"),
    pytest.param(inserted(13, Arrived(3.0, 0)), "message 0 arrives, but it was applied", id="arrived again"),
    pytest.param(without(9), "message 1 is applied, but it is still on its way", id="applied in flight"),
    pytest.param(
        inserted(11, Applied(3.0, (0,), (0.5,), 2, mass(6.0))),
        "message 0 is applied, but it was applied, dropped or lost before",
        id="applied twice",
    ),
    pytest.param(changed(10, messages=(0, 0)), "message 0 is applied, but it was applied", id="applied twice at once"),
    pytest.param(changed(10, messages=(0, 9)), "message 9 is applied, but it was never sent", id="applied unsent"),
    pytest.param(changed(10, weights=(0.5,)), r"messages \(0, 1\) are applied with 1 weights", id="weight missing"),
    pytest.param(changed(10, weights=(0.5, math.inf)), r"with weights \(0.5, inf\)", id="infinite weight"),
    pytest.param(inserted(20, Dropped(7.0, (2,))), r"messages \(2,\) of workers \[1\] are dropped", id="dropped"),
    pytest.param(changed(11, corrections=(7,)), "worker 0 adds message 7, but it was never sent", id="added unsent"),
    pytest.param(
        lambda events: changed(10, corrections=(1,))(swapped(10)(events)),
        "worker 0 adds message 1, but that is of worker 1",
        id="added another's message",
    ),
    pytest.param(
        lambda events: changed(10, corrections=(0, 0))(swapped(10)(events)),
        r"worker 0 adds \(0, 0\) to the model of version 1",
        id="added twice",
    ),
    pytest.param(inserted(9, Lost(3.0, 1)), "message 1 is lost, but its sender has not crashed", id="lost for nothing"),
    pytest.param(inserted(20, Lost(7.0, 0)), "message 0 is lost, but it was applied, dropped or lost", id="lost late"),
    pytest.param(inserted(20, Lost(7.0, 9)), "message 9 is lost, but it was never sent", id="lost unsent"),
    pytest.param(
        inserted(20, Fetched(7.0, 0, 1, (0,))), r"worker 0 has read blocks \(0,\), but it is not there", id="read gone"
    ),
]
BOUNDS = [
    pytest.param(
        inserted(20, Applied(7.0, (2,), (1.0,), 3, mass(7.25))), "version 3 comes after version 1", id="version skipped"
    ),
    pytest.param(
        inserted(13, Fetched(3.0, 1, 2, (0,))),
        "worker 1 has read blocks of version 2, but 1 is the newest",
        id="read ahead",
    ),
    pytest.param(changed(12, version=0), "worker 1 reads version 0 where 1 is the present one", id="old version"),
    pytest.param(changed(18, read_version=0), "says that worker 1 read version 0, not 1", id="wrong version named"),
    pytest.param(
        lambda events: [
            *events[:7],
            Applied(1.5, (0,), (0.5,), 1, mass(8.5)),
            *events[7:10],
            Applied(3.0, (1,), (0.5,), 2, mass(7.5)),
        ],
        "message 1 of worker 1 read version 0 and is applied to version 1: stale by 1, promised are 0",
        id="stale message",
    ),
    pytest.param(
        lambda events: [
            *events[:7],
            Applied(1.5, (0,), (0.5,), 1, mass(8.5)),
            Released(1.5, 0, 1, mass(8.5)),
            Started(1.5, 0),
            Stepped(1.75, 0, 2, mass(0.0)),
        ],
        "worker 0 finishes its step 2, 2 ahead of worker 1, promised are 1",
        id="gap too large",
    ),
    pytest.param(
        lambda events: [
            *events[:10],
            Applied(3.0, (1,), (0.5,), 1, mass(9.0)),
            Released(3.0, 0, 1, mass(9.0)),
            Started(3.0, 0),
            Stepped(4.0, 0, 2, mass(0.0)),
        ],
        "message 0 of worker 0 waits for 1 steps of its sender, promised are 0",
        id="dropped without a word",
    ),
]
LEDGERS = [
    pytest.param(
        changed(5, kept=mass(0.0)),
        r"worker 0 keeps after message 0 is \(0.0,\), but the ledger has \(-1.0,\): off by 1",
        id="lost residual",
    ),
    pytest.param(changed(5, mass=mass(-4.0)), "what worker 0 keeps after message 0 is", id="sent and kept"),
    pytest.param(changed(5, kept=mass(0.0), lost=mass(-1.0)), r"worker 0 forgets \(-1.0,\) with mes", id="forgotten"),
    pytest.param(changed(7, created=mass(-2.5)), "what worker 1 keeps after message 1 is", id="made and not counted"),
    pytest.param(changed(14, abandoned=mass(0.0)), r"worker 0 abandons is \(0.0,\), but", id="vanished residual"),
    pytest.param(changed(1, model=mass(9.0)), r"worker 1 joins with is \(9.0,\), but the", id="wrong start"),
    pytest.param(changed(10, weights=(0.5, 0.25)), r"messages \(0, 1\), version 1, is \(7.5,\)", id="wrong weight"),
    pytest.param(changed(10, model=mass(8.5)), "the shared model after messages .0, 1.", id="added to a stale model"),
    pytest.param(
        changed(12, base=mass(10.0)),
        r"the model of version 1 that worker 1 reads is \(10.0,\), but the ledger has \(7.5,\)",
        id="stale read",
    ),
    pytest.param(changed(12, version=-1), "own model with which worker 1 goes on is .7.5,., but", id="read unsaid"),
    pytest.param(changed(12, base=NOTHING), "a sketch has 0 sums where those of the run have 1", id="no sketch"),
    pytest.param(changed(12, base=Mass((7.5,), 7.0)), "a sketch of size 7.0 cannot have the sums", id="size too small"),
    pytest.param(changed(12, base=Mass((math.nan,), 7.0)), "cannot have the sums .nan,.", id="no number"),
]
MIXING = [
    pytest.param(
        changed(6, weights=((0.5, 0.25), (0.5, 0.5))), r"worker 0 mixes, \(0.5, 0.25\), sum to 1 -0.25", id="row"
    ),
    pytest.param(
        changed(6, weights=((0.5, 0.5), (0.25, 0.75))),
        r"weights with which \(0, 1\) mix worker 0 in, .* -0.25",
        id="column",
    ),
    pytest.param(changed(6, weights=((1.5, -0.5), (-0.5, 1.5))), "worker 0 mixes with a negative", id="negative"),
    pytest.param(changed(6, weights=((1.0,), (1.0,))), r"2 members \(0, 1\) mix with weights", id="no square"),
    pytest.param(changed(6, weights=((math.nan, 0.5), MEAN[1])), "worker 0 mixes with a negative", id="no number"),
    pytest.param(changed(6, members=(0, 0)), r"members \(0, 0\) mix: none, or one twice", id="member twice"),
    pytest.param(changed(6, sent_bytes=(8,)), r"members \(0, 1\) mix, and publish \(8,\) bytes", id="bytes of one"),
    pytest.param(changed(6, step=0.0), r"members \(0, 1\) mix with step 0.0", id="no step"),
    pytest.param(swapped(5), r"worker 1 mixes with \(0, 1\), but it is computing", id="member not waiting"),
    pytest.param(changed(6, step=0.25), r"worker 0 has mixed is \(7.0,\), but the ledger has \(6.5,\)", id="step"),
    pytest.param(
        changed(6, weights=((0.25, 0.75), (0.75, 0.25))), "the model that worker 0 has mixed is", id="other weights"
    ),
    pytest.param(
        changed(6, models=(mass(7.0), mass(11.5))), "the model that worker 1 has mixed is .11.5,.", id="wrong model"
    ),
    pytest.param(changed(6, models=(mass(7.0),)), r"mix with 2 copies, 2 changes and 1 models", id="model missing"),
    pytest.param(changed(6, changes=(mass(-4.0), mass(1.0))), "the model that worker 1 has mix", id="wrong change"),
    pytest.param(
        changed(6, changes=(mass(-4.0), mass(1.0)), models=(mass(7.0), mass(10.0))),
        r"what worker 1 mixes in is \(1.0,\), but the ledger has \(2.0,\)",
        id="change held back",
    ),
    pytest.param(changed(8, base=mass(12.0)), "the own model with which worker 1 goes on is .12.0,.", id="other base"),
    pytest.param(changed(11, abandoned=mass(-3.0)), "what worker 0 abandons is .-3.0,., but", id="mixed and kept"),
]


def test_the_round_passes_and_is_reported() -> None:
    report = judge_trace(HEADER, ROUND, SHARED, END)
    first, second = report.workers
    assert (first.transferring_seconds, first.computing_seconds, first.waiting_seconds) == (1.0, 1.5, 2.0)
    assert (second.transferring_seconds, second.computing_seconds, second.waiting_seconds) == (2.5, 2.5, 3.0)
    assert (first.steps, first.sent, first.applied, first.sent_bytes) == (1, 1, 1, 8)
    assert (second.steps, second.sent, second.applied, second.sent_bytes) == (2, 2, 1, 32)
    assert (report.in_flight, report.inbox, report.undelivered) == ((), (2,), mass(-0.25))
    assert (report.version, report.largest_gap, report.largest_staleness, report.largest_deferral) == (1, 1, 0, 0)
    assert report.participation_ratio == 1


def test_the_mixing_passes_and_is_reported() -> None:
    report = judge_trace(HEADER, Guarantee(), MIXED, END)
    assert report.mixed_bytes == 8
    assert [(worker.sent_bytes, worker.pulled_bytes) for worker in report.workers] == [(6, 2), (2, 6)]
    assert report.participation_ratio == math.inf


@pytest.mark.parametrize(("edit", "message"), [case for case in TURNS + MESSAGES + BOUNDS + LEDGERS if case.values[1]])
def test_a_fault_of_the_round_is_named(edit: Edit, message: str) -> None:
    with pytest.raises(Violation, match=message):
        judged(edit(SHARED), ROUND)


@pytest.mark.parametrize(("edit", "message"), MIXING)
def test_a_fault_of_the_mixing_is_named(edit: Edit, message: str) -> None:
    with pytest.raises(Violation, match=message):
        judged(edit(MIXED))


@pytest.mark.parametrize(("edit", "message"), TURNS[:-1] + MESSAGES + BOUNDS)
def test_turns_messages_and_bounds_are_judged_without_vectors(edit: Edit, message: str) -> None:
    def bare(event: Event) -> Event:
        none: dict[str, Any] = {name: NOTHING for name, value in event._asdict().items() if isinstance(value, Mass)}
        return event._replace(**none)

    header = Header(2)
    judged([bare(event) for event in SHARED], ROUND, header)
    if not message:
        judged([bare(event) for event in edit(SHARED)], ROUND, header)
        return
    with pytest.raises(Violation, match=message):
        judged([bare(event) for event in edit(SHARED)], ROUND, header)


LOPSIDED = changed(6, weights=((0.5, 0.5), (0.25, 0.75)), models=(mass(7.0), mass(11.5)))
UNPROMISED: dict[str, tuple[list[Event], Guarantee]] = {
    "that nothing is lost": ([*SHARED, Dropped(7.0, (2,))], Guarantee(lossless=False)),
    "to remember": (
        changed(5, kept=mass(0.0), lost=mass(-1.0))(without(*range(14, 20))(SHARED)),
        Guarantee(remembers=False),
    ),
    "to preserve the mean": (without(8)(LOPSIDED(MIXED)), Guarantee(preserves_mean=False)),
}


@pytest.mark.parametrize("promise", UNPROMISED)
def test_what_is_not_promised_is_not_asked_for_and_what_is_promised_is(promise: str) -> None:
    events, guarantee = UNPROMISED[promise]
    judged(events, guarantee)
    with pytest.raises(Violation):
        judged(events, Guarantee())


def test_what_is_dropped_is_no_longer_under_way() -> None:
    report = judge_trace(HEADER, Guarantee(lossless=False), [*SHARED, Dropped(7.0, (2,))], END)
    assert (report.inbox, report.undelivered, report.workers[1].dropped) == ((), Mass((0.0,), 0.0), 1)


def test_what_was_on_its_way_when_its_sender_crashed_may_be_lost_and_is_accounted_for() -> None:
    """It is neither under way nor in the inbox then, and the sums still agree."""
    crashed = [*SHARED[:19], Departed(6.5, 1, "crashed", mass(-0.75)), Lost(6.5, 2)]
    report = judge_trace(HEADER, ROUND, crashed, END)
    assert (report.in_flight, report.inbox, report.undelivered) == ((), (), Mass((0.0,), 0.0))
    assert [worker.lost for worker in report.workers] == [0, 1]


def test_a_violation_shows_the_trace_up_to_the_fault() -> None:
    stale = changed(12, base=mass(10.0))(SHARED)
    with pytest.raises(Violation, match=r"^event 12, Released at 3.0: ") as caught:
        judged(stale)
    assert caught.value.trace == tuple(stale[:13])


def test_a_judge_keeps_as_many_events_as_it_is_told() -> None:
    judge = Judge(HEADER, ROUND, keeps=3)
    for event in SHARED:
        judge.observe(event)
    with pytest.raises(Violation, match="worker 1 sends message 2 where 3 is due") as caught:
        judge.observe(SHARED[18]._replace(time=7.0))
    assert caught.value.trace == (*SHARED[18:], SHARED[18]._replace(time=7.0))


def test_a_trace_without_events_proves_nothing() -> None:
    with pytest.raises(ValueError, match="a trace without events proves nothing"):
        judged([])


def test_a_judge_that_has_objected_objects_again_and_hears_no_more() -> None:
    """The monitors after the one that objected have not heard of its event: what they say later would be wrong."""
    judge = Judge(HEADER, ROUND)
    with pytest.raises(Violation) as first:
        judge.observe(SHARED[4])
    for later in (partial(judge.observe, SHARED[0]), partial(judge.finish, END)):
        with pytest.raises(Violation) as again:
            later()
        assert again.value is first.value
        assert again.value.trace == (SHARED[4],)


GONE: list[Event] = [
    *(Joined(0.0, worker, 0) for worker in (0, 1)),
    *(Started(0.0, worker) for worker in (0, 1)),
    Stepped(1.0, 0, 1),
    Sent(1.0, 0, 0, 0, 8),
    Stepped(1.0, 1, 1),
    Sent(1.0, 1, 1, 0, 8),
    Arrived(2.0, 1),
]


def test_nobody_waits_for_a_message_of_one_that_is_gone() -> None:
    rounds: list[Event] = [Applied(2.0, (1,), (1.0,), 1), Arrived(3.0, 0), Applied(3.0, (0,), (1.0,), 2)]
    with pytest.raises(Violation, match="message 0 of worker 0 read version 0 and is applied to version 1"):
        judged([*GONE, *rounds], ROUND, Header(2))
    judged([*GONE, Departed(2.0, 0, "crashed"), *rounds], ROUND, Header(2))
    again: list[Event] = [Departed(2.0, 0, "crashed"), Joined(2.0, 0, 0), Started(2.0, 0), Stepped(2.0, 0, 2)]
    report = judge_trace(Header(2), ROUND, [*GONE, *again, *rounds], END)
    assert (report.largest_staleness, report.largest_deferral) == (1, 0)


def test_one_that_joins_later_counts_from_the_others() -> None:
    def steps(worker: int, first: int, last: int) -> list[Event]:
        return [event for clock in range(first, last + 1) for event in steps_on(worker, clock, time=1.0)]

    # Worker 0 has finished 4 steps and passed the gate with 3 of them when the other is back.
    back: list[Event] = [Departed(1.0, 1, "crashed"), Joined(1.0, 1, 0), Started(1.0, 1), Stepped(1.0, 1, 1)]
    events = [*GONE[:5], *steps(0, 2, 4), *back]
    assert judge_trace(Header(2), Guarantee(), events, END).largest_gap == 4
    judged([*events, *steps(1, 2, 5)], Guarantee(gap=4), Header(2))
    with pytest.raises(Violation, match="worker 1 finishes its step 6, 5 ahead of worker 0, promised are 4"):
        judged([*events, *steps(1, 2, 6)], Guarantee(gap=4), Header(2))
    judged([*events, *steps(0, 5, 9)], Guarantee(gap=4), Header(2))
    with pytest.raises(Violation, match="worker 0 finishes its step 10, 5 ahead of worker 1, promised are 4"):
        judged([*events, *steps(0, 5, 10)], Guarantee(gap=4), Header(2))


def test_a_message_may_be_deferred_by_as_many_steps_as_promised() -> None:
    two_later: list[Event] = [*GONE[:6], *steps_on(0, 2, time=1.0), *steps_on(0, 3, time=1.0)]
    applied: list[Event] = [Arrived(2.0, 0), Applied(2.0, (0,), (1.0,), 1)]
    assert judge_trace(Header(2), Guarantee(deferral=2), [*two_later, *applied], END).largest_deferral == 2
    with pytest.raises(Violation, match="message 0 of worker 0 waits for 2 steps"):
        judged(two_later, Guarantee(deferral=1), Header(2))
    # One that may still be dropped is judged only when it is applied.
    judged(two_later, Guarantee(deferral=1, lossless=False), Header(2))
    with pytest.raises(Violation, match="message 0 of worker 0 has waited for 2 steps"):
        judged([*two_later, *applied], Guarantee(deferral=1, lossless=False), Header(2))
