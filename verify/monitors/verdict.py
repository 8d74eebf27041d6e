"""What does a trace file deserve? A line says what its run kept, or which promise it broke."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from sparsync.verify.monitors.files import Recording, StoredTrace, stored_trace
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Judge, Report, Violation

KEPT, BROKEN, UNREADABLE = range(3)
"""Exit statuses."""


def told(paths: Iterable[Path], examine: Callable[[Path], tuple[int, str]]) -> int:
    """Write a line for each file, of those that fail to stderr; the largest of their statuses."""
    status = KEPT
    for path in paths:
        own, line = examine(path)
        (sys.stderr if own else sys.stdout).write(f"{line}\n")
        status = max(status, own)
    return status


def judge_file(path: Path) -> tuple[int, str]:
    """The status that a file deserves, and a line that says why."""
    try:
        with stored_trace(path) as trace:
            return KEPT, f"{path}: {verdict(trace, judged(trace))}"
    except Violation as violation:
        return BROKEN, f"{path}: broken promise: {violation}"
    except (ValueError, OSError) as error:
        return UNREADABLE, f"{path}: {error}"


def judged(trace: StoredTrace) -> Report:
    """What happened in a run that kept its promises.

    Raises:
        Violation: it broke one.
        ValueError: an event is none.
    """
    judge = Judge(trace.recording.header, trace.recording.guarantee, keeps=1)
    for event in trace.events:
        judge.observe(event)
    judge.finish(trace.until)
    return judge.report()


def verdict(trace: StoredTrace, report: Report) -> str:
    """One line for a run that kept its promises: which, and what it did."""
    sent = sum(worker.sent for worker in report.workers)
    sent_bytes = sum(worker.sent_bytes for worker in report.workers)
    pulled_bytes = sum(worker.pulled_bytes for worker in report.workers)
    return (
        f"{trace.recording.name} kept its promises: {promises(trace.recording.guarantee, report)}; "
        f"{books(trace.recording)}. {trace.event_count} events of {len(report.workers)} workers in {trace.until:g} s, "
        f"{sent} messages, {sent_bytes} bytes sent and {pulled_bytes} read, version {report.version}, "
        f"{report.waiting_share:.1%} waiting"
    )


def promises(guarantee: Guarantee, report: Report) -> str:
    """What was promised, beside what was seen."""
    bounds = (
        ("gap", report.largest_gap, guarantee.gap),
        ("staleness", report.largest_staleness, guarantee.staleness),
        ("deferral", report.largest_deferral, guarantee.deferral),
    )
    said = [f"{name} {seen} of at most {most:g}" for name, seen, most in bounds if most < math.inf]
    said += ["no message dropped"] if guarantee.lossless else []
    said += ["nothing forgotten"] if guarantee.remembers else []
    said += ["means preserved"] if guarantee.preserves_mean else []
    return ", ".join(said) or "none were made"


def books(recording: Recording) -> str:
    """How exactly sums were compared."""
    if not recording.initial.sums:
        return "no vectors, so no sums to compare"
    numbers, dimension = recording.arithmetic
    size = recording.guarantee.amplification
    grown = "" if size == 1 else f", messages of up to {size:g} times their size"
    if not recording.arithmetic.unit_roundoff:
        return f"all sums exact{grown}"
    return f"all sums within the rounding of {numbers} in {dimension} dimensions{grown}"
