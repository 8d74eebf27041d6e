"""Which changes of a trace may pass? Each kind is a function whose docstring says why it hides nothing.

Either the verdict tells it, or the changed trace is that of another run that keeps the same promises. Asked only of
changes that passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sparsync.verify.monitors.trace import EVENTS
from tests.support.traces.documents import Document
from tests.support.traces.mutations import Mutation

NORMS = {"change_norm", "corrected_norm", "kept_norm"}
SKETCHES = {"model", "created", "mass", "kept", "lost", "base", "abandoned", "copies", "models", "changes"}
ROUNDING = 1e-12
"""Relative to the largest size: above (m + 1)(2⁻⁵² + 8 · 2⁻⁵²) for the m < 100 terms of a book of eight entries."""


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e308 < value < 1e308


def touched(row: Any) -> set[tuple[str, Any]]:
    """What an event rests on and changes: workers, messages, the shared model, the count of messages."""
    event = EVENTS[row[0]](*row[1:])._asdict()
    keys: set[tuple[str, Any]] = {("worker", event["worker"])} if "worker" in event else set()
    keys |= {("worker", member) for member in event.get("members", ())}
    keys |= {("message", event["message"])} if "message" in event else set()
    keys |= {("message", message) for name in ("messages", "corrections") for message in event.get(name, ())}
    if row[0] == "Applied" or event.get("version", -1) >= 0:
        keys.add(("model", None))
    if row[0] == "Sent":
        keys.add(("sending", None))
    return keys


def sizes(whole: Document) -> Iterator[float]:
    """Of all sketches of a trace."""
    yield whole.header["initial"][1]
    for row in whole.rows:
        for name, value in zip(EVENTS[row[0]]._fields, row[1:], strict=True):
            if name in SKETCHES:
                yield from (mass[1] for mass in (value if name in ("copies", "models", "changes") else [value]))


@dataclass(frozen=True)
class Case:
    """A change, with the trace before and after it."""

    mutation: Mutation
    before: Document
    after: Document

    def field(self) -> str:
        """The field of a row that was changed, or in which something was."""
        mutation = self.mutation
        if mutation.deed != "value" or not mutation.path or mutation.path[0] == 0:
            return ""
        return EVENTS[self.before.rows[mutation.row][0]]._fields[mutation.path[0] - 1]

    def kind(self) -> str:
        """Of the event that was changed."""
        return self.before.rows[self.mutation.row][0] if self.mutation.row >= 0 else ""


def same_number(case: Case) -> bool:
    """JSON has one kind of number."""
    before, after = case.mutation.before, case.mutation.after
    return number(before) and number(after) and before == after


def text_for_readers(case: Case) -> bool:
    """Nobody judges what a run, a message or an alarm is called."""
    is_told = case.mutation.deed == "header" and case.mutation.path[:1] in (("run",), ("cluster",))
    return is_told or case.field() in ("tag", "key")


def other_promise(case: Case) -> bool:
    """The verdict names what was promised; the run kept this, too."""
    return case.mutation.deed == "header" and case.mutation.path[:1] == ("guarantee",)


def other_arithmetic(case: Case) -> bool:
    """The verdict names the arithmetic within whose rounding sums were compared."""
    return case.mutation.deed == "header" and case.mutation.path[:1] == ("arithmetic",)


def idle_workers(case: Case) -> bool:
    """A worker that never joins does nothing."""
    mutation = case.mutation
    return mutation.path == ("worker_count",) and bool(mutation.after > mutation.before)


def other_time(case: Case) -> bool:
    """A run in which something took longer or shorter, in the same order."""
    if not (case.mutation.deed == "until" or case.field() == "time"):
        return False
    times = [0, *(row[1] for row in case.after.rows), case.after.until]
    return all(map(number, times)) and times == sorted(times)


def same_time(case: Case) -> bool:
    """Of two events at the same time that leave each other alone either may come first."""
    rows, row = case.before.rows, case.mutation.row
    if case.mutation.deed not in ("swapped", "moved"):
        return False
    passed = rows[row + 1 : row + 2] if case.mutation.deed == "swapped" else rows[row + 1 :]
    return all(other[1] == rows[row][1] for other in passed)


def alarm(case: Case) -> bool:
    """An alarm changes nothing: it may be set more often or for another time, and need not ring."""
    is_rung_less = case.kind() == "Rang" and case.mutation.deed == "left out"
    return is_rung_less or (case.kind() == "AlarmSet" and (case.mutation.deed == "repeated" or case.field() == "due"))


def open_end(case: Case) -> bool:
    """A run that did something else, or less, at its end: that was judged, and nothing later rests on it."""
    mutation, rows = case.mutation, case.before.rows
    if mutation.deed == "cut off":
        return True
    if mutation.deed not in ("left out", "value", "moved", "repeated"):
        return False
    keys = touched(rows[mutation.row])
    if mutation.deed == "value":
        keys |= touched(case.after.rows[mutation.row])
    return all(keys.isdisjoint(touched(row)) for row in rows[mutation.row + 1 :])


def unsent(case: Case) -> bool:
    """What a worker made and never sent, mixed in or left behind is whatever it says."""
    if case.field() != "created":
        return False
    row = case.before.rows[case.mutation.row]
    worker = ("worker", row[2])
    later = case.before.rows[case.mutation.row + 1 :]
    return not any(other[0] in ("Sent", "Mixed", "Departed") and worker in touched(other) for other in later)


def unbegun(case: Case) -> bool:
    """One that crashes may have begun its step, or not yet."""
    mutation, rows = case.mutation, case.before.rows
    if mutation.deed != "left out" or case.kind() != "Started":
        return False
    worker = ("worker", rows[mutation.row][2])
    later = (row for row in rows[mutation.row + 1 :] if worker in touched(row))
    return next(later, [])[::3] == ["Departed", "crashed"]


def plan(case: Case) -> bool:
    """How many examples a step took, and how large a step, shows in nothing but what it made."""
    return case.field() in ("batch", "step_scale") and number(case.mutation.after) and case.mutation.after > 0


def decision(case: Case) -> bool:
    """What a policy was told and decided by, or which blocks it sent, is for a replay of the policy to judge."""
    is_told = case.mutation.deed == "header" and case.mutation.path[:1] in (("block_bytes",), ("policy_seed",))
    return is_told or case.field() in ("statistics", "blocks", "spares_last_step")


def read_besides(case: Case) -> bool:
    """Blocks that a worker reads while it computes: the model that it goes on from is judged when it goes on."""
    return case.kind() == "Fetched" and (case.mutation.deed != "value" or case.field() in ("worker", "version"))


def bytes_sent(case: Case) -> bool:
    """Another code for the same message; something takes at least a byte."""
    after = case.mutation.after
    return (
        case.field() in ("sent_bytes", "pulled_bytes")
        and isinstance(after, int)
        and not isinstance(after, bool)
        and after >= 0
    )


def norm(case: Case) -> bool:
    """Norms serve a monitor that is asked for, and are never above the size of their vector."""
    return (
        case.field() in NORMS
        and number(case.mutation.after)
        and 0 <= case.mutation.after <= 3 * max(sizes(case.before))
    )


def crash(case: Case) -> bool:
    """One that leaves between steps might as well have crashed there."""
    return case.field() == "reason" and case.mutation.after == "crashed"


def weight_of_nothing(case: Case) -> bool:
    """Where nobody computes vectors, weights multiply nothing."""
    return case.field() == "weights" and case.kind() == "Applied" and not case.before.header["initial"][0]


def same_model(case: Case) -> bool:
    """Its own model is the shared one of that version: nobody changed either."""
    return case.field() == "version" and case.kind() in ("Joined", "Released")


def nothing_lost(case: Case) -> bool:
    """Nothing lost needs no sketch."""
    row = case.before.rows[case.mutation.row]
    return case.field() == "lost" and not any(row[8][0]) and not row[8][1]


def other_order(case: Case) -> bool:
    """A sum of the same messages with the same weights."""
    if case.field() != "messages":
        return False
    before, after = (whole.rows[case.mutation.row] for whole in (case.before, case.after))
    return sorted(zip(*before[2:4], strict=True)) == sorted(zip(*after[2:4], strict=True))


def rounding(case: Case) -> bool:
    """So little that the arithmetic of the run may have done it."""
    before, after = case.mutation.before, case.mutation.after
    return number(before) and number(after) and abs(after - before) <= ROUNDING * max(sizes(case.before))


def fitting_size(case: Case) -> bool:
    """A size that the triangle inequality allows: rounding explains at most a few times what it did."""
    mutation = case.mutation
    is_size = (
        mutation.path[-1:] == (1,) and number(mutation.after) and case.field() in SKETCHES and len(mutation.path) > 1
    )
    return is_size and 0 <= case.mutation.after <= 2 * max(sizes(case.before))


KINDS: tuple[Callable[[Case], bool], ...] = (
    same_number,
    text_for_readers,
    other_promise,
    other_arithmetic,
    idle_workers,
    other_time,
    same_time,
    alarm,
    unsent,
    unbegun,
    plan,
    decision,
    read_besides,
    bytes_sent,
    norm,
    crash,
    weight_of_nothing,
    same_model,
    nothing_lost,
    other_order,
    rounding,
    fitting_size,
    open_end,
)
"""What may pass; the docstring of each says why."""


def kind_of(case: Case) -> str | None:
    """The first kind that a change is of."""
    return next((kind.__name__ for kind in KINDS if kind(case)), None)
