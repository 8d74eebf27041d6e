"""The ledgers of a run, each alone or with the others, and the rounding that they tolerate."""

from __future__ import annotations

import pytest

from sparsync.verify.monitors.books import BrokenPromiseError
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.monitors.ledgers import Conservation, WorkerLedger
from sparsync.verify.monitors.mixing import OwnModels
from sparsync.verify.monitors.trace import (
    Applied,
    Departed,
    Dropped,
    Event,
    Header,
    Joined,
    Mass,
    Mixed,
    Released,
    Sent,
    Started,
    Stepped,
)
from tests.support.written_traces import (
    HEADER,
    MIXED,
    NO_BOUND,
    SHARED,
    Edit,
    changed,
    judged,
    mass,
    tell,
)


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
