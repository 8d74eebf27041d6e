"""Every kind of fault is caught by its monitor, in traces written by hand; the same traces without the fault pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from sparsync.verify.monitor_books import BrokenPromiseError, Monitor
from sparsync.verify.monitor_ledgers import Conservation, WorkerLedger
from sparsync.verify.monitor_mixing import OwnModels
from sparsync.verify.monitor_residual import ResidualBound
from sparsync.verify.monitors import Guarantee, Judge, Violation, judge_trace
from sparsync.verify.trace import (
    NOTHING,
    Applied,
    Arrived,
    Departed,
    Dropped,
    Event,
    Header,
    Joined,
    Mass,
    Mixed,
    Rang,
    Released,
    Sent,
    Started,
    Stepped,
)

END = 8.0
NO_BOUND = Guarantee()
ROUND = Guarantee(gap=1, staleness=0, deferral=0)
Edit = Callable[[list[Event]], list[Event]]


def mass(value: float) -> Mass:
    return Mass((value,), abs(value))


HEADER = Header(2, mass(10.0))
SHARED: list[Event] = [
    Joined(0.0, 0, 0, mass(10.0)),
    Joined(0.0, 1, 0, mass(10.0)),
    Started(0.0, 0),
    Started(0.5, 1),
    Stepped(1.0, 0, 1, mass(-4.0)),
    Sent(1.0, 0, 0, 0, 8, mass(-3.0), mass(-1.0)),
    Arrived(1.5, 0),
    Stepped(2.0, 1, 1, mass(-2.0)),
    Sent(2.0, 1, 1, 0, 16, mass(-2.0), mass(0.0)),
    Arrived(3.0, 1),
    Applied(3.0, (0, 1), (0.5, 0.5), 1, mass(7.5)),
    Released(3.0, 0, 1, mass(7.5)),
    Released(3.0, 1, 1, mass(7.5)),
    Started(4.0, 0),
    Departed(4.5, 0, "crashed", mass(-1.0)),
    Started(5.0, 1),
    Rang(5.5, "'key'"),
    Stepped(6.0, 1, 2, mass(-1.0)),
    Sent(6.0, 1, 2, 1, 16, mass(-0.25), mass(-0.75)),
    Arrived(7.0, 2),
]
"""Two workers and a round; one crashes with a residual, the other's second message is not applied in the end."""

MEAN = ((0.5, 0.5), (0.5, 0.5))
MIXED: list[Event] = [
    Joined(0.0, 0, 0, mass(10.0)),
    Joined(0.0, 1, 0, mass(10.0)),
    Started(0.0, 0),
    Started(0.0, 1),
    Stepped(1.0, 0, 1, mass(-4.0)),
    Stepped(1.0, 1, 1, mass(2.0)),
    Mixed(1.0, (0, 1), MEAN, 0.5, 8, (mass(7.0), mass(11.0)), (mass(7.0), mass(11.0)), (mass(-4.0), mass(2.0))),
    Released(1.0, 0, -1, mass(7.0)),
    Released(1.0, 1, -1, mass(11.0)),
    Started(1.0, 0),
    Stepped(2.0, 0, 2, mass(1.0)),
    Departed(2.0, 0, "left", mass(1.0)),
]
"""Two workers and a mixing half-way towards the mean of copies that lag behind their models of 6 and 12."""


def judged(events: Sequence[Event], guarantee: Guarantee = NO_BOUND, header: Header = HEADER) -> None:
    judge_trace(header, guarantee, events, END)


def changed(place: int, **fields: Any) -> Edit:
    return lambda events: [*events[:place], events[place]._replace(**fields), *events[place + 1 :]]


def without(*places: int) -> Edit:
    return lambda events: [event for place, event in enumerate(events) if place not in places]


def inserted(place: int, *new: Event) -> Edit:
    return lambda events: [*events[:place], *new, *events[place:]]


def swapped(place: int) -> Edit:
    return lambda events: [*events[:place], events[place + 1], events[place], *events[place + 2 :]]


TURNS = [
    pytest.param(changed(4, time=0.25), "time runs from 0.5 back to 0.25", id="time backwards"),
    pytest.param(changed(4, time=math.nan), "time runs from 0.5 back to nan", id="no time"),
    pytest.param(changed(16, time=4.0), "Rang at 4.0: time runs", id="alarm before its time"),
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
        "message 0 is applied, but it was applied or dropped before",
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
]
BOUNDS = [
    pytest.param(
        inserted(20, Applied(7.0, (2,), (1.0,), 3, mass(7.25))), "version 3 comes after version 1", id="version skipped"
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
    assert (report.in_flight, report.inbox, report.unsettled) == ((), (2,), mass(-0.25))
    assert (report.version, report.largest_gap, report.largest_staleness, report.largest_deferral) == (1, 1, 0, 0)
    assert report.participation_ratio == 1


def test_the_mixing_passes_and_is_reported() -> None:
    report = judge_trace(HEADER, Guarantee(), MIXED, END)
    assert report.mixed_bytes == 8
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
    assert (report.inbox, report.unsettled, report.workers[1].dropped) == ((), Mass((0.0,), 0.0), 1)


@pytest.mark.parametrize("events", [SHARED, [*SHARED, Dropped(7.0, (2,))], MIXED], ids=["round", "drop", "mixing"])
def test_the_sums_over_a_whole_run_agree(events: list[Event]) -> None:
    summed(events).finish()


@pytest.mark.parametrize(
    ("edit", "made", "gone"),
    [
        (changed(18, kept=mass(0.0)), -7.0, -6.25),
        (changed(7, created=mass(-2.5)), -7.5, -7.0),
        (changed(8, mass=mass(-3.0)), -7.0, -8.0),
        (changed(14, abandoned=mass(-1.5)), -7.0, -7.5),
        (changed(18, lost=mass(-1.0)), -7.0, -8.0),
    ],
)
def test_the_sums_over_a_whole_run_find_what_is_missing(edit: Edit, made: float, gone: float) -> None:
    with pytest.raises(BrokenPromiseError, match=rf"made \({made},\), but .* sums to \({gone},\): off by"):
        summed(edit(SHARED)).finish()


def summed(events: list[Event]) -> Conservation:
    """That monitor alone."""
    monitor = Conservation(HEADER)
    tell(monitor, events)
    return monitor


def tell(monitor: Monitor, events: list[Event]) -> None:
    handlers = monitor.handlers()
    for event in events:
        if type(event) in handlers:
            handlers[type(event)](event)


def sent_then_mixed(*, kept: float, change: float, abandoned: float) -> list[Event]:
    """One worker makes −4, sends all but what it keeps, makes 2 more, mixes a change in and departs."""
    return [
        Stepped(1.0, 0, 1, mass(-4.0)),
        Sent(1.0, 0, 0, 0, 8, mass(-4.0 - kept), mass(kept)),
        Stepped(2.0, 0, 2, mass(2.0)),
        Mixed(2.0, (0,), ((1.0,),), 1.0, 0, (mass(12.0),), (mass(12.0),), (mass(change),)),
        Departed(2.0, 0, "left", mass(abandoned)),
    ]


def test_what_is_mixed_in_is_not_kept_but_a_residual_is() -> None:
    tell(WorkerLedger(HEADER, NO_BOUND), sent_then_mixed(kept=-1.0, change=2.0, abandoned=-1.0))
    with pytest.raises(BrokenPromiseError, match=r"worker 0 abandons is \(1.0,\), but the ledger has \(-1.0,\)"):
        tell(WorkerLedger(HEADER, NO_BOUND), sent_then_mixed(kept=-1.0, change=2.0, abandoned=1.0))


def test_without_a_residual_everything_unsent_is_mixed_in() -> None:
    tell(WorkerLedger(HEADER, NO_BOUND), sent_then_mixed(kept=0.0, change=2.0, abandoned=0.0))
    with pytest.raises(BrokenPromiseError, match=r"worker 0 mixes in is \(1.0,\), but the ledger has \(2.0,\)"):
        tell(WorkerLedger(HEADER, NO_BOUND), sent_then_mixed(kept=0.0, change=1.0, abandoned=1.0))


def test_the_ledger_of_models_sees_by_itself_that_their_sum_is_not_kept() -> None:
    lopsided = changed(6, weights=((0.5, 0.5), (0.25, 0.75)), models=(mass(7.0), mass(11.5)))(MIXED)[:7]
    tell(OwnModels(HEADER, Guarantee(preserves_mean=False)), lopsided)
    with pytest.raises(BrokenPromiseError, match=r"sum to \(18.0,\) before and \(18.5,\) after mixing: off by 0.5"):
        tell(OwnModels(HEADER, Guarantee()), lopsided)


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


def test_a_local_correction_is_the_shared_model_and_the_messages_on_their_way() -> None:
    start: list[Event] = [*SHARED[:7], Released(1.5, 0, 0, mass(7.0), (0,))]
    judged(start)
    with pytest.raises(Violation, match=r"worker 0 reads is \(10.0,\), but the ledger has \(7.0,\)"):
        judged([*start[:-1], Released(1.5, 0, 0, mass(10.0), (0,))])


def test_one_that_comes_back_goes_on_from_the_model_that_it_joined_with() -> None:
    newer = Applied(7.0, (2,), (1.0,), 2, mass(7.25))
    back: list[Event] = [newer, Joined(7.0, 0, 2, mass(7.25)), Started(7.0, 0), Stepped(7.0, 0, 2, mass(0.0))]
    judged([*SHARED, *back, Released(7.0, 0, -1, mass(7.25))])
    with pytest.raises(Violation, match=r"worker 0 goes on is \(7.5,\), but the ledger has \(7.25,\)"):
        judged([*SHARED, *back, Released(7.0, 0, -1, mass(7.5))])


def later(worker: int, clock: int, *, time: float) -> list[Event]:
    """A release of the own model and the next step, in which nothing is made."""
    return [Released(time, worker, -1), Started(time, worker), Stepped(time, worker, clock)]


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
        return [event for clock in range(first, last + 1) for event in later(worker, clock, time=1.0)]

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
    two_later: list[Event] = [*GONE[:6], *later(0, 2, time=1.0), *later(0, 3, time=1.0)]
    applied: list[Event] = [Arrived(2.0, 0), Applied(2.0, (0,), (1.0,), 1)]
    assert judge_trace(Header(2), Guarantee(deferral=2), [*two_later, *applied], END).largest_deferral == 2
    with pytest.raises(Violation, match="message 0 of worker 0 waits for 2 steps"):
        judged(two_later, Guarantee(deferral=1), Header(2))
    # One that may still be dropped is judged only when it is applied.
    judged(two_later, Guarantee(deferral=1, lossless=False), Header(2))
    with pytest.raises(Violation, match="message 0 of worker 0 has waited for 2 steps"):
        judged([*two_later, *applied], Guarantee(deferral=1, lossless=False), Header(2))


ROUNDED = Header(1, Mass((1.0,), 1.0), unit_roundoff=2.0**-23)


def after_one_step(excess: float) -> list[Event]:
    """A worker makes 1 in 2 steps and sends half of it; what it says to keep is off by this."""
    half = Mass((0.5,), 0.5)
    return [
        Joined(0.0, 0, 0, Mass((1.0,), 1.0)),
        Started(0.0, 0),
        Stepped(1.0, 0, 1, half),
        Released(1.0, 0, -1, Mass((1.0,), 1.0)),
        Started(1.0, 0),
        Stepped(2.0, 0, 2, half),
        Sent(2.0, 0, 0, 0, 8, half, Mass((0.5 + excess,), 1.0)),
    ]


def test_rounding_is_tolerated_up_to_its_bound() -> None:
    # Three terms and what is recorded, of sizes 3 · 0.5 + 1.
    tolerance = 4 * 2.5 * 2.0**-23
    judged(after_one_step(tolerance), header=ROUNDED)
    with pytest.raises(Violation, match=r"rounding explains 1.19e-06"):
        judged(after_one_step(1.01 * tolerance), header=ROUNDED)
    with pytest.raises(Violation, match="rounding explains 0"):
        judged(after_one_step(2.0**-52), header=ROUNDED._replace(unit_roundoff=0.0))


@pytest.mark.parametrize("count", [3, 7, 49])
def test_weights_may_be_rounded_but_not_more(count: int) -> None:
    members = tuple(range(count))
    start = [event for w in members for event in (Joined(0.0, w, 0), Started(0.0, w), Stepped(1.0, w, 1))]
    row = (1 / count,) * count
    ordered = sorted(start, key=lambda event: event.time)
    judged([*ordered, Mixed(1.0, members, (row,) * count, 1.0, 0)], header=Header(count))
    off = (row[0] + 2 * count * 2.0**-52, *row[1:])
    with pytest.raises(Violation, match="the weights with which worker 0 mixes"):
        judged([*ordered, Mixed(1.0, members, (off, *(row,) * (count - 1)), 1.0, 0)], header=Header(count))


def constant_direction(root: float, step_count: int, *, factor: float = 1.0) -> list[Event]:
    """A compressor C(u) = (1 − a)u of changes of norm 1 in one direction; each residual is `factor` times as large."""
    events: list[Event] = [Joined(0.0, 0, 0), Started(0.0, 0)]
    residual = 0.0
    for step in range(step_count):
        corrected = residual + 1
        residual = root * corrected * factor
        sent = Sent(0.0, 0, step, 0, 8, change_norm=1.0, corrected_norm=corrected, kept_norm=residual)
        events += [Stepped(0.0, 0, step + 1), sent, Released(0.0, 0, -1), Started(0.0, 0)]
    return events


def test_the_residual_bound_holds_and_is_nearly_reached() -> None:
    monitor = ResidualBound(Header(1), 0.19)
    judge_trace(Header(1), Guarantee(), constant_direction(0.9, 200), END, more=(monitor,))
    assert 1 - 1e-5 < monitor.closest <= 1


def test_a_compressor_that_contracts_less_is_caught() -> None:
    with pytest.raises(Violation, match=r"message 0 of worker 0 leaves a residual of norm 0.909.* more than 0.9"):
        judge_trace(
            Header(1),
            Guarantee(),
            constant_direction(0.9, 1, factor=1.01),
            END,
            more=(ResidualBound(Header(1), 0.19),),
        )


def test_a_residual_that_was_not_committed_is_caught() -> None:
    # The contraction is kept, but 40 cannot have been corrected where only changes of norm 1 were made: 9 is the most.
    events = [*constant_direction(0.9, 5)[:-2], *later(0, 6, time=0.0)]
    events.append(Sent(0.0, 0, 5, 0, 8, change_norm=1.0, corrected_norm=40.0, kept_norm=20.0))
    with pytest.raises(Violation, match=r"message 5 of worker 0 leaves a residual of norm 20.0, the bound is 9.0"):
        judge_trace(Header(1), Guarantee(), events, END, more=(ResidualBound(Header(1), 0.19),))


def test_the_residual_bound_forgets_one_that_departs() -> None:
    back: list[Event] = [Departed(0.0, 0, "crashed"), Joined(0.0, 0, 0), Started(0.0, 0), Stepped(0.0, 0, 6)]
    sent = Sent(0.0, 0, 5, 0, 8, change_norm=0.25, corrected_norm=4.0, kept_norm=3.0)
    with pytest.raises(Violation, match=r"norm 3.0, the bound is 2.25\d* for changes of at most 0.25"):
        judge_trace(
            Header(1),
            Guarantee(),
            [*constant_direction(0.9, 5), *back, sent],
            END,
            more=(ResidualBound(Header(1), 0.19),),
        )


@pytest.mark.parametrize("contraction", [0.0, -1.0, 1.5, math.nan])
def test_a_contraction_outside_its_range_is_refused(contraction: float) -> None:
    with pytest.raises(ValueError, match=f"got {contraction}"):
        ResidualBound(Header(1), contraction)
