"""What a server orders of its workers, and what it knows of what they have not reported yet.

What a worker does shows in the trace where it was ordered; its sketches are filled in when it has told them, or, should
it be lost before, as far as the server knows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsync.experiments.engine.core import Engine, JudgeMaker
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import KEEP, Alarm, Mix, Pull
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.real import letters
from sparsync.experiments.engine.real.accounts import Accounts
from sparsync.experiments.engine.real.broadcasts import Broadcaster
from sparsync.experiments.engine.real.journal import Journal, Slot
from sparsync.experiments.engine.real.lines import DeadLine, Line
from sparsync.experiments.engine.shared_model import SharedModel
from sparsync.experiments.engine.view import Message
from sparsync.verify.monitors.trace import Departed, Event, Header, Joined, Lost, Mass, Mixed, Released, Sent


@dataclass
class Transit:
    """A message that is not there yet.

    Args:
        message: what policies see of it; its size is known once it has begun.
        slot: its place in the trace.
        spares_last_step: see `Send`.
        mass: its sketch, once it has begun.
    """

    message: Message
    slot: Slot
    spares_last_step: bool
    mass: Mass | None = None

    def sent(self, mass: Mass, kept: Mass, lost: Mass, norms: tuple[float, float, float]) -> Sent:
        """What shows of it in the trace."""
        it = self.message
        covered = (it.blocks, self.spares_last_step)
        first = (it.sent_time, it.worker, it.uid, it.read_version, it.sent_bytes)
        return Sent(*first, mass, kept, lost, it.tag, *norms, *covered)


class OrderingEngine(Engine):
    """An engine whose vectors lie elsewhere; a subclass takes what comes back.

    Args:
        policy: who sends and waits; belongs to this run from now on.
        shared: the model.
        descent: how workers make messages.
        horizon: when the run ends, in real seconds.
        worker_count: n.
        make_judge: see `Engine`.
        seed: of the policy's random numbers.
    """

    _broadcaster: Broadcaster | None = None
    """of the subclass, if it has one: sends all workers at once what all of them read"""

    def __init__(
        self,
        policy: Policy,
        shared: SharedModel,
        descent: Descent,
        horizon: Horizon,
        *,
        worker_count: int,
        make_judge: JudgeMaker | None,
        seed: int,
    ) -> None:
        layout = shared.layout
        header = Header(worker_count, shared.sketch, layout.arithmetic.unit_roundoff)
        super().__init__(
            policy,
            header,
            horizon,
            block_bytes=layout.block_bytes,
            remembers=descent.feedback == "memory",
            make_judge=make_judge,
            seed=seed,
            records=True,
        )
        self.shared, self.descent = shared, descent
        self._lines: dict[int, Line | DeadLine] = {}
        self._leaving: dict[int, Line | DeadLine] = {}
        """to those who have left; they report what they were ordered to do before"""
        self._departures: dict[int, Callable[[], None]] = {}
        """by worker that has left, what notes that once nothing of it is open"""
        self._journal = Journal(super()._note)
        self._accounts = Accounts(worker_count, shared.sketch)
        self._alarms: list[tuple[float, int, Alarm]] = []
        self._alarm_count = self._mix_count = self._asked_count = 0
        self._awaited: dict[int, Callable[[Mass], None]] = {}
        """by worker, what to note when it has the model that it goes on from"""
        self._corrections: dict[int, set[int]] = {}
        """by such a worker, which of its messages it adds to that model, but for those in its accounts"""
        self._masses: dict[int, Mass] = {}
        """sketches of the messages that are not settled"""
        self._transit: dict[int, Transit] = {}
        """messages that were ordered and are not there"""
        self._mixes: dict[int, tuple[Slot, Mix, float, dict[int, letters.Exchanged]]] = {}
        self._shown: dict[int, tuple[int, Tensor]] = {}
        """by number of a question, how many workers have shown their models, and the sum of them"""
        self._busy: set[int] = set()
        """workers that compute"""
        self._reads: list[tuple[int, letters.Read, Tensor]] = []
        """of this turn, by worker, with bodies: all of them may turn out to be the same"""
        self._body = torch.empty(0, dtype=torch.uint8), False
        """what was read out last of the shared model, and whether it is in the sparse code"""

    @property
    def is_clear(self) -> bool:
        """Is everything known that shows in the trace?"""
        return self._journal.is_clear

    @property
    def broadcast_count(self) -> int:
        """How often all workers were sent a model at once."""
        return 0 if self._broadcaster is None else self._broadcaster.count

    def lives(self) -> dict[int, int]:
        """Which of its lives each worker leads that is there."""
        return {worker: line.incarnation for worker, line in self._lines.items() if worker in self.view.alive}

    def ask_for_models(self, number: int) -> None:
        """Ask those who are there for their own models, between two steps."""
        self._shown[number] = 0, torch.zeros_like(self.shared.model)
        for worker in sorted(self.view.alive):
            self._asked_count += 1
            self._order(worker, letters.Show(number))

    def mean_model(self, number: int) -> Tensor:
        """The mean [d] of the models that were shown, the shared one if none was."""
        count, total = self._shown[number]
        return total / count if count else self.shared.model

    def _see(self, number: int, model: Tensor) -> None:
        count, total = self._shown[number]
        self._shown[number] = count + 1, total + model
        self._asked_count -= 1

    def _is_unclear(self) -> bool:
        return bool(
            self._awaited
            or self._mixes
            or self._asked_count
            or any(transit.mass is None for transit in self._transit.values())
        )

    def _begin_message(self, report: letters.Sending, size: int) -> None:
        transit = self._transit[report.message]
        transit.message = transit.message._replace(sent_bytes=size)
        self.sent_bytes += size
        self._accounts.sends(transit.message.worker, report.kept)
        self._masses[report.message] = transit.mass = report.mass
        norms = (report.change_norm, report.corrected_norm, report.kept_norm)
        self._journal.fill(transit.slot, transit.sent(report.mass, report.kept, report.lost, norms))
        self._end_departure(transit.message.worker)

    def _land(self, report: letters.Report, body: Tensor) -> None:
        layout = self.shared.layout
        if isinstance(report, letters.Shown):
            self._see(report.number, letters.as_vector(body, layout.dtype, layout.dimension))
            return
        assert isinstance(report, letters.Sending)
        message = self._transit.pop(report.message).message
        shipment = letters.read_shipment(body, is_sparse=report.is_sparse, blocks=message.blocks, layout=layout)
        self.shared.keep(message.uid, message.worker, shipment)
        self._arrive(message)

    def _close_accounts(self, worker: int) -> None:
        """It will report no more: what it was ordered to do shows as far as is known, a message as one of nothing."""
        nothing = self._accounts.nothing
        for uid in self._on_their_way(worker):
            transit = self._transit[uid]
            if transit.mass is None:
                self._masses[uid] = transit.mass = nothing
                kept = self._accounts.kept(worker)
                self._journal.fill(transit.slot, transit.sent(nothing, kept, nothing, (0.0, 0.0, 0.0)))
        if worker in self._awaited:
            corrections = [self._masses[uid] for uid in sorted(self._corrections[worker])]
            self._has_base(worker, self._accounts.base(worker, corrections))
        self._end_departure(worker)

    def _has_base(self, worker: int, base: Mass) -> None:
        """It has the model that it goes on from."""
        self._awaited.pop(worker)(base)
        del self._corrections[worker]
        self._accounts.reads(worker, base)

    def _note(self, event: Event) -> None:
        self._journal.note(event)

    # See `Engine`.

    def _let_in(self, worker: int, pull: Pull, size: int, *, is_late: bool) -> None:
        now, version = self.view.now, self.view.version
        slot = self._journal.reserve()
        self._awaited[worker] = lambda base: self._journal.fill(slot, Joined(now, worker, version, base, size))
        self._give(worker, pull if is_late else KEEP)

    def _hand_over(self, worker: int, pull: Pull, size: int) -> None:
        now, version = self.view.now, self.view.version if pull.shared else -1
        corrections = tuple(self._unapplied(worker)) if pull.local_correction else ()
        slot = self._journal.reserve()
        self._awaited[worker] = lambda base: self._journal.fill(
            slot, Released(now, worker, version, base, corrections, size)
        )
        self._give(worker, pull, corrections)

    def _give(self, worker: int, pull: Pull, corrections: tuple[int, ...] = ()) -> None:
        self._corrections[worker] = set(corrections)
        if pull.shared:
            self._accounts.reads(worker, self.shared.sketch)
            body, is_sparse = self._body
            letter = letters.Read(pull.blocks, corrections, tuple(self._unapplied(worker)), is_sparse)
            self._reads.append((worker, letter, body))
        else:
            self._order(worker, letters.Keep())

    def _order(self, worker: int, letter: letters.Letter, body: Tensor | None = None) -> None:
        """After all that was ordered before."""
        self._send_reads()
        self._lines[worker].order(letter, body)

    def _send_reads(self) -> None:
        """What is to be read goes to all workers at once, if there is a way and all go on from the same model."""
        reads, self._reads = self._reads, []
        broadcaster, versions = self._broadcaster, {self.view.read_version[worker] for worker, _, _ in reads}
        is_whole = len(reads) == len(self.view.clock) and all(letter.blocks is None for _, letter, _ in reads)
        if broadcaster is not None and is_whole and len(versions) == 1:
            broadcaster.give(reads[0][2])
            reads = [(worker, letter._replace(is_broadcast=True), body) for worker, letter, body in reads]
        for worker, letter, body in reads:
            self._lines[worker].order(letter, body)

    def _end_turn(self) -> None:
        """All that what has happened leads to is ordered."""
        self._send_reads()
        self._journal.end_turn()

    def _read_out(
        self, worker: int, blocks: tuple[int, ...] | None, since: Mapping[int, int], *, is_besides: bool
    ) -> int:
        del worker, is_besides
        places, model, news = self.shared.layout.places(blocks), self.shared.model, self.shared.news(since)
        whole = letters.as_bytes(model.clone() if places is None else model[places])
        coded = whole if news is None else letters.coded(news)
        self._body = (coded, True) if coded.numel() < whole.numel() else (whole, False)
        return self._body[0].numel()

    def _fetch(self, worker: int, blocks: tuple[int, ...], size: int) -> None:
        del size
        body, is_sparse = self._body
        self._order(worker, letters.Fetch(self.view.version, blocks, is_sparse), body)

    def _unapplied(self, worker: int) -> list[int]:
        return sorted([*self.shared.unapplied(worker), *self._on_their_way(worker)])

    def _on_their_way(self, worker: int) -> list[int]:
        return [uid for uid, transit in self._transit.items() if transit.message.worker == worker]

    def _compute(self, worker: int) -> None:
        self._busy.add(worker)
        plan = self._workers[worker].plan
        self._order(worker, letters.Compute(self.view.clock[worker], plan.batch, plan.step_scale))

    def _ship(self, message: Message, *, spares_last_step: bool) -> None:
        self._transit[message.uid] = Transit(message, self._journal.reserve(), spares_last_step)
        self._order(message.worker, letters.Ship(message.uid, message.blocks, spares_last_step))

    def _apply(self, messages: tuple[int, ...], weights: tuple[float, ...]) -> Mass:
        self._settled(messages)
        return self.shared.apply(messages, weights)

    def _forget(self, messages: tuple[int, ...]) -> None:
        self._settled(messages)
        self.shared.drop(messages)

    def _settled(self, messages: tuple[int, ...]) -> None:
        for uid in messages:
            mass = self._masses.pop(uid)
            for worker, corrections in self._corrections.items():
                if uid in corrections:
                    corrections.remove(uid)
                    self._accounts.reads(worker, self._accounts.base(worker, [mass]))

    def _exchange(self, effect: Mix) -> None:
        self._mixes[self._mix_count] = self._journal.reserve(), effect, self.view.now, {}
        lives = tuple(self._lines[member].incarnation for member in effect.members)
        for member, row in zip(effect.members, effect.weights, strict=True):
            self._order(member, letters.Exchange(self._mix_count, effect.members, lives, row))
        self._mix_count += 1

    def _end_mix(self, worker: int, report: letters.Exchanged) -> None:
        slot, effect, ordered, reports = self._mixes[report.number]
        reports[worker] = report
        self._accounts.mixes(worker, report.model)
        self._end_departure(worker)
        if len(reports) < len(effect.members):
            return
        del self._mixes[report.number]
        rows = [reports[member] for member in effect.members]
        sent_bytes = tuple(row.sent_bytes for row in rows)
        self._count_published(sent_bytes)
        parts = (tuple(row.copy for row in rows), tuple(row.model for row in rows), tuple(row.change for row in rows))
        step = self.descent.consensus_step
        self._journal.fill(slot, Mixed(ordered, effect.members, effect.weights, step, sent_bytes, *parts))

    def _set_alarm(self, alarm: Alarm) -> None:
        self._alarm_count += 1
        heapq.heappush(self._alarms, (alarm.time, self._alarm_count, alarm))

    def _note_departure(self, worker: int, reason: str) -> None:
        """What it abandons is known once it has reported all that it was ordered to do."""
        self._send_reads()
        now, slot, line = self.view.now, self._journal.reserve(), self._lines.pop(worker, None)
        self._departures[worker] = lambda: self._journal.fill(
            slot, Departed(now, worker, reason, self._accounts.abandons(worker))
        )
        if line is not None and reason == "left":
            self._leaving[worker] = line
        if line is not None:
            line.order(letters.Finish())
            line.close()
        self._end_departure(worker)

    def _end_departure(self, worker: int) -> None:
        if worker in self._departures and not (worker in self._leaving and self._is_open(worker)):
            self._departures.pop(worker)()

    def _is_open(self, worker: int) -> bool:
        """Is something of it not reported that shows in the trace?"""
        messages = (self._transit[uid] for uid in self._on_their_way(worker))
        mixes = ((effect.members, reports) for _, effect, _, reports in self._mixes.values())
        return any(transit.mass is None for transit in messages) or any(
            worker in members and worker not in reports for members, reports in mixes
        )

    def _end_leaving(self, worker: int) -> None:
        """It will report no more."""
        self._leaving.pop(worker)
        self._close_accounts(worker)
        self._lose_messages(worker)

    def _lose_messages(self, worker: int) -> None:
        for uid in self._on_their_way(worker):
            del self._transit[uid], self._masses[uid]
            self._note(Lost(self.view.now, uid))
