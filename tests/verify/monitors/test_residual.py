"""The bound on residuals of a compressor that contracts."""

from __future__ import annotations

import math

import pytest

from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Violation, judge_trace
from sparsync.verify.monitors.residual import ResidualBound
from sparsync.verify.monitors.trace import (
    Departed,
    Event,
    Header,
    Joined,
    Released,
    Sent,
    Started,
    Stepped,
)
from tests.support.written_traces import (
    END,
    steps_on,
)


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
    events = [*constant_direction(0.9, 5)[:-2], *steps_on(0, 6, time=0.0)]
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
