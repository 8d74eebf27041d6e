"""Who computes, waits, reads and sends when, as a drawing of a race shows it."""

from __future__ import annotations

import math

import pytest

from sparsync.experiments.racing.contest import QUADRATIC, Race, run_contestant
from sparsync.experiments.racing.drawings import phases
from sparsync.verify.monitors.trace import Arrived, Departed, Event, Joined, Released, Sent, Started, Stepped


def test_phases_divide_the_time_of_a_worker_by_hand() -> None:
    trace: list[Event] = [
        Joined(0.0, 0, 0),
        Started(0.5, 0),
        Stepped(2.0, 0, 1),
        Sent(2.0, 0, 0, 0, 8),
        Arrived(3.0, 0),
        Released(3.5, 0, 1),
        Started(4.0, 0),
        Stepped(6.0, 0, 2),
        Sent(6.0, 0, 1, 1, 8),
        Departed(7.0, 0, "crashed"),
    ]
    assert phases(trace, 100.0) == {
        (0, "reads"): [(0.0, 0.5), (3.5, 4.0)],
        (0, "computes"): [(0.5, 2.0), (4.0, 6.0)],
        (0, "waits"): [(2.0, 3.5), (6.0, 7.0)],
        (0, "sends"): [(2.0, 3.0), (6.0, 100.0)],
    }
    assert phases(trace, 2.5) == {
        (0, "reads"): [(0.0, 0.5)],
        (0, "computes"): [(0.5, 2.0)],
        (0, "waits"): [(2.0, 2.5)],
        (0, "sends"): [(2.0, 2.5)],
    }


def test_phases_of_a_run_fill_the_time_of_every_worker() -> None:
    outcome = run_contestant(
        Race(data=QUADRATIC, seconds=12.0, workers=4, cluster="exponential"), "ssp", {"staleness": 1}
    )
    spans = phases(outcome.trace, 12.0)
    for worker in range(4):
        own = [span for (who, phase), found in spans.items() if who == worker and phase != "sends" for span in found]
        assert math.fsum(end - begin for begin, end in own) == pytest.approx(12.0)
        assert all(before[1] <= after[0] for before, after in zip(sorted(own), sorted(own)[1:], strict=False))
