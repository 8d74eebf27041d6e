"""The ledgers of a run, each alone or with the others, and the rounding that they tolerate."""

from __future__ import annotations

from typing import Any

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
        Mixed(2.0, (0,), ((1.0,),), 1.0, (0,), (mass(12.0),), (mass(12.0),), (mass(change),)),
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
        Sent(2.0, 0, 0, 0, 8, half, Mass((0.5 + excess,), 0.5 + excess)),
    ]


def test_rounding_is_tolerated_up_to_its_bound() -> None:
    # Three terms and what is recorded, of sizes 4 · 0.5.
    tolerance = 4 * 2.0 * 2.0**-23
    judged(after_one_step(tolerance), header=ROUNDED)
    with pytest.raises(Violation, match=r"rounding explains 9.54e-07"):
        judged(after_one_step(1.01 * tolerance), header=ROUNDED)
    with pytest.raises(Violation, match="rounding explains 0"):
        judged(after_one_step(2.0**-52), header=ROUNDED._replace(unit_roundoff=0.0))


@pytest.mark.parametrize("count", [3, 7, 49])
def test_weights_may_be_rounded_but_not_more(count: int) -> None:
    members = tuple(range(count))
    start = [event for w in members for event in (Joined(0.0, w, 0), Started(0.0, w), Stepped(1.0, w, 1))]
    row = (1 / count,) * count
    ordered = sorted(start, key=lambda event: event.time)
    judged([*ordered, Mixed(1.0, members, (row,) * count, 1.0, (0,) * count)], header=Header(count))
    off = (row[0] + 2 * count * 2.0**-52, *row[1:])
    with pytest.raises(Violation, match="the weights with which worker 0 mixes"):
        judged([*ordered, Mixed(1.0, members, (off, *(row,) * (count - 1)), 1.0, (0,) * count)], header=Header(count))


SIZES = [
    pytest.param(
        changed(5, kept=Mass((-1.0,), 7.5)),
        r"worker 0 keeps after message 0 has a size of 7.5, all that it is the sum of only 7.0",
        id="kept",
    ),
    pytest.param(
        changed(5, kept=Mass((-1.0,), 1.5)),
        r"message 0 of worker 0, what it keeps and what it forgets have a size of 4.5, what was to be sent has 4.0",
        id="kept, a little",
    ),
    pytest.param(
        changed(8, mass=Mass((-2.0,), 2.5)),
        r"worker 1 keeps after message 1 has a size of 0.0, 2.0 with the other parts; one part alone has 2.5",
        id="message",
    ),
    pytest.param(
        changed(4, created=Mass((-4.0,), 9.0)), "worker 0 keeps after .* one part alone has 9.0", id="what was made"
    ),
    pytest.param(
        changed(14, abandoned=Mass((-1.0,), 1.5)), "worker 0 abandons has a size of 1.5, .* only 1.0", id="abandoned"
    ),
    pytest.param(changed(10, model=Mass((7.5,), 13.0)), "version 1, has a size of 13.0, .* only 12.5", id="model"),
    pytest.param(changed(12, base=Mass((7.5,), 8.0)), "worker 1 reads has a size of 8.0, .* only 7.5", id="read"),
    pytest.param(changed(1, model=Mass((10.0,), 1e9)), "worker 1 joins with has a size of 1000000000.0", id="start"),
    pytest.param(changed(5, sent_bytes=0), "message 0 of worker 0 has a size of 3.0 and 0 bytes", id="bytes"),
    pytest.param(changed(5, change_norm=4.5), r"message 0 of worker 0 has norms and sizes \(\(4.5, 4.0\)", id="norm"),
    pytest.param(changed(5, kept_norm=1.5), "message 0 of worker 0 has norms and sizes .* exceeds", id="norm kept"),
]


@pytest.mark.parametrize(("edit", "message"), SIZES)
def test_a_size_is_no_larger_than_its_parts_and_no_part_larger_than_the_rest(edit: Edit, message: str) -> None:
    with pytest.raises(Violation, match=message):
        judged(edit(SHARED))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        # Before, the copy and the model with its change had sizes of 10 and 14.
        ({"copies": (Mass((7.0,), 25.0), mass(11.0))}, "copy of the model of worker 0 has a size of 25.0, .* had 24.0"),
        ({"models": (Mass((7.0,), 30.0), mass(11.0))}, "worker 0 has mixed has a size of 30.0, all that it is the sum"),
        ({"changes": (Mass((-4.0,), 29.0), mass(2.0))}, "worker 0 has mixed has a size of 7.0, .* alone has 29.0"),
    ],
)
def test_sizes_of_a_mixing_are_no_larger_than_their_parts(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Violation, match=message):
        judged(changed(6, **fields)(MIXED))


def test_a_change_that_is_mixed_in_beside_a_residual_is_no_larger_than_what_was_made() -> None:
    events = sent_then_mixed(kept=-1.0, change=2.0, abandoned=-1.0)
    large = Mass((2.0,), 3.5)
    with pytest.raises(BrokenPromiseError, match=r"worker 0 mixes in has a size of 3.5, .* only 3.0"):
        tell(WorkerLedger(HEADER, NO_BOUND), changed(3, changes=(large,))(events))


def test_what_a_compressor_may_add_is_promised() -> None:
    # It sends 6 where 4 was to be sent, and keeps −2.
    swollen = [*changed(5, mass=mass(-6.0), kept=mass(2.0))(SHARED)[:7]]
    judged(swollen, Guarantee(amplification=2.0))
    with pytest.raises(
        Violation, match=r"have a size of 8.0, what was to be sent has 4.0, promised are at most 1.0 times"
    ):
        judged(swollen)
    # A copy may have the mean of what bounds it: the old one, 10, and the message, 2 · 24; the model, 14, and the rest.
    copied = changed(6, copies=(Mass((7.0,), 36.0), mass(11.0)))(MIXED)[:7]
    judged(copied, Guarantee(amplification=2.0))
    with pytest.raises(Violation, match=r"copy of the model of worker 0 has a size of 36.0"):
        judged(copied, Guarantee(amplification=1.9))


def test_sizes_that_cannot_be_added_are_refused() -> None:
    huge = Mass((10.0,), 1.5e308)
    with pytest.raises(Violation, match="sketches of a size of inf together cannot be judged"):
        judged([Joined(0.0, 0, 0, huge)], header=Header(2, huge))
