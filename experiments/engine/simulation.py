"""The event loop: who computes, sends, waits and reads when, exactly and reproducibly.

Events are changes of membership, arrivals, alarms, deliveries of models and finished steps. Of simultaneous ones they
come in this order, and then in the order in which they were scheduled, so that a worker that finishes a step sees all
that arrived by then. After each event the gates of waiting workers are looked at, in worker order. A step's gradient is
taken at the model that its worker held at the start, its own unsent changes included. A released worker reads the
shared model as of its release; that model then travels.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any

from sparsync.experiments.engine.clusters import Change, Cluster, Line
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effect_checks import check_add, check_alarm, check_mix, check_plan, check_send
from sparsync.experiments.engine.effects import KEEP, PULL, Add, Drop, Effect, Look, Mix, Send
from sparsync.experiments.engine.gates import Gates
from sparsync.experiments.engine.horizon import ALARM_PATIENCE, Deadlock, Horizon, Kind
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.roster import Roster
from sparsync.experiments.engine.vectors import Dispatch, Mixture, Vectors
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.engine.worker_state import WorkerState
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Judge, Report
from sparsync.verify.monitors.trace import (
    NOTHING,
    Applied,
    Arrived,
    Departed,
    Dropped,
    Event,
    Header,
    Joined,
    Mixed,
    Rang,
    Released,
    Sent,
    Started,
    Stepped,
)

JudgeMaker = Callable[[Header, Guarantee], Judge]


class Simulation:
    """One run of a policy on a cluster.

    Args:
        policy: who sends and waits; belongs to this run from now on.
        cluster: how long everything takes.
        horizon: when it ends.
        vectors: the model and its gradients; None simulates time and messages only.
        make_judge: monitors of what happens, made from the run's header and the policy's guarantee; None trusts.
        message_bytes: size of a message and of a model where there are no vectors.
        seed: of the policy's random numbers.
        records: keep the trace in `trace`.

    Raises:
        ValueError: the vectors are not for this many workers, a message has a negative size, or the run would never
            end: it is to end by its versions, and no model is shared.
    """

    def __init__(
        self,
        policy: Policy,
        cluster: Cluster,
        horizon: Horizon,
        *,
        vectors: Vectors | None = None,
        make_judge: JudgeMaker | None = Judge,
        message_bytes: int = 0,
        seed: int = 0,
        records: bool = True,
    ) -> None:
        if vectors is not None and len(vectors.base) != cluster.worker_count:
            raise ValueError(f"vectors of {len(vectors.base)} workers for a cluster of {cluster.worker_count}")
        require_count("message_bytes", message_bytes, least=0)
        if policy.is_decentralised and min(horizon.seconds, horizon.steps) == math.inf:
            raise ValueError(f"a run without a shared model needs seconds or steps as its end, got {horizon}")
        self.policy, self.cluster, self.horizon, self.vectors = policy, cluster, horizon, vectors
        block_bytes = vectors.block_bytes if vectors else (message_bytes,)
        self.view = View(cluster.worker_count, block_bytes=block_bytes, seed=seed)
        self.trace: list[Event] = []
        self.event_count = 0
        self.sent_bytes = self.pulled_bytes = 0
        self._make_judge, self._records = make_judge, records
        self.judge: Judge | None = None
        """whoever looks, once the run has begun; it knows what was promised"""
        self._model_bytes = sum(block_bytes)
        self._queue: list[tuple[float, int, int, Any]] = []
        self._scheduled_count = 0
        self._due_count = 0
        """of what is due, all but alarms"""
        self._idle_alarm_count = 0
        """in a row, with nothing else due afterwards"""
        self._is_begun = False
        self._message_count = 0
        self._upload = Line(cluster.upload, cluster.worker_count)
        self._download = Line(cluster.download, cluster.worker_count)
        self._workers = [WorkerState() for _ in range(cluster.worker_count)]
        self._roster = Roster(self.view)
        self._gates = Gates(policy, self.view)

    def run(self) -> None:
        """Simulate until the horizon.

        Raises:
            ValueError: a parameter of the policy does not fit the number of workers or blocks.
            Violation: a monitor found a broken promise; `Deadlock` if workers wait for ever.
            PolicyError: an effect cannot be carried out.
            FloatingPointError: a gradient is not finite.
        """
        self.advance(self.horizon.seconds)
        self.finish()

    def advance(self, until: float) -> None:
        """Simulate until a time, or the horizon if that is earlier; to be continued.

        Raises:
            ValueError: the time is over, or see `run`.
            Violation, PolicyError, FloatingPointError: see `run`.
        """
        until = min(until, self.horizon.seconds)
        if not until >= self.view.now:
            raise ValueError(f"it is {self.view.now}, too late to simulate until {until}")
        if not self._is_begun:
            self._is_begun = True
            self._begin()
        handlers = (self._change, self._arrive, self._ring, self._deliver, self._finish_step)
        view, queue, last_version = self.view, self._queue, self.horizon.versions
        while queue and queue[0][0] <= until and view.version < last_version:
            if not view.alive_count and until == math.inf and not self._due_count:
                break
            time, kind, _, subject = heapq.heappop(queue)
            view.now = time
            self.event_count += 1
            self._due_count -= kind != Kind.ALARM
            handlers[kind](subject)
            self._gates.open(self._release)
            self._idle_alarm_count = 0 if self._due_count or kind != Kind.ALARM else self._idle_alarm_count + 1
            if self._idle_alarm_count > ALARM_PATIENCE and until == math.inf and view.waiting:
                waited = f"{ALARM_PATIENCE} alarms in a row changed nothing"
                raise Deadlock(f"workers {sorted(view.waiting)} wait, and {waited}", self.trace)
        if not queue and view.waiting:
            raise Deadlock(f"workers {sorted(view.waiting)} wait, and nothing is due", self.trace)
        if until < math.inf and view.version < last_version:
            view.now = until

    def finish(self) -> None:
        """Let the monitors look at the whole.

        Raises:
            Violation: only now it shows that a promise was broken.
        """
        if self.judge is not None:
            self.judge.finish(self.view.now)

    def report(self) -> Report:
        """What the monitors saw until now.

        Raises:
            RuntimeError: nobody looked, or the run has not begun.
        """
        if self.judge is None:
            raise RuntimeError("a run without a judge, or not begun, has no report")
        return self.judge.report()

    def order(self, change: Change) -> None:
        """A worker joins, leaves or crashes at a time not before now, besides the cluster's own changes.

        Nothing happens where one would join that is there, or go that is gone; but who joins before it has left, stays.

        Raises:
            ValueError: an unknown worker, or too late.
        """
        if not 0 <= change.worker < self.view.worker_count:
            raise ValueError(f"there are workers 0 to {self.view.worker_count - 1}, got {change}")
        if change.time < self.view.now:
            raise ValueError(f"it is {self.view.now}, too late for {change}")
        self._schedule(change.time, Kind.CHANGE, change)

    def _begin(self) -> None:
        view = self.view
        if self._make_judge is not None:
            remembers = self.vectors is None or self.vectors.descent.feedback == "memory"
            self.judge = self._make_judge(self.header, replace(self.policy.guarantee(), remembers=remembers))
        present = [worker for worker in range(view.worker_count) if worker not in self.cluster.absent]
        self._roster.begin(present)
        for change in self.cluster.changes:
            self._schedule(change.time, Kind.CHANGE, change)
        for worker in present:
            self._welcome(worker, is_late=False)
        self._carry_out(self.policy.attach(view))

    @property
    def header(self) -> Header:
        """What monitors must know of this run before it starts."""
        vectors = self.vectors
        if vectors is None:
            return Header(self.cluster.worker_count)
        return Header(self.cluster.worker_count, vectors.sketch(vectors.shared), vectors.arithmetic.unit_roundoff)

    def _schedule(self, time: float, kind: Kind, subject: object) -> None:
        self._scheduled_count += 1
        self._due_count += kind != Kind.ALARM
        heapq.heappush(self._queue, (time, kind, self._scheduled_count, subject))

    def _note(self, event: Event) -> None:
        if self._records:
            self.trace.append(event)
        if self.judge is not None:
            self.judge.observe(event)

    # What is due.

    def _change(self, change: Change) -> None:
        worker, view = change.worker, self.view
        if worker in view.alive:
            if change.kind == "crash":
                self._depart(worker, "crashed")
            else:
                self._workers[worker].is_leaving = change.kind == "leave"
        elif change.kind == "join" and view.clock[worker] < self.horizon.steps:
            self._roster.join(worker)
            self._gates.look_at_all()
            self._welcome(worker, is_late=True)
            self._carry_out(self.policy.on_membership(worker))

    def _welcome(self, worker: int, *, is_late: bool) -> None:
        """Who comes late reads the shared model; where there is none, it has its own still."""
        view = self.view
        pull = KEEP if is_late and self.policy.is_decentralised else PULL
        model = self.vectors.read(worker, pull)[0] if self.vectors else NOTHING
        if pull.shared:
            view.read_version[worker] = view.version
        self._note(Joined(view.now, worker, view.version if pull.shared else -1, model))
        there = view.now
        if is_late and pull.shared:
            self.pulled_bytes += self._model_bytes
            there = self._download.arrival(worker, view.now, self._model_bytes)
        self._schedule(there, Kind.DELIVERY, (worker, self._workers[worker].life))

    def _arrive(self, message: Message) -> None:
        self._roster.arrive(message)
        self._note(Arrived(self.view.now, message.uid))
        self._carry_out(self.policy.on_arrive(message))

    def _ring(self, key: Hashable) -> None:
        self._gates.rang()
        self._note(Rang(self.view.now, repr(key)))
        self._carry_out(self.policy.on_alarm(key))

    def _deliver(self, subject: tuple[int, int]) -> None:
        worker, life = subject
        state, view = self._workers[worker], self.view
        if state.life != life:
            return
        if state.sent_at >= 0:
            view.round_trip[worker] = view.now - state.sent_at
            state.sent_at = -1.0
        state.plan = self.policy.plan(worker)
        check_plan(state.plan, worker)
        state.started_at = view.now
        self._note(Started(view.now, worker, state.plan.batch))
        seconds = self.cluster.durations(worker, view.clock[worker]) * state.plan.batch
        # A step too short for the clock would let the run stand still.
        if not view.now < view.now + seconds < math.inf:
            raise ValueError(f"step {view.clock[worker]} of worker {worker} would take {seconds} seconds")
        self._schedule(view.now + seconds, Kind.STEP, subject)

    def _finish_step(self, subject: tuple[int, int]) -> None:
        worker, life = subject
        state, view = self._workers[worker], self.view
        if state.life != life:
            return
        created = NOTHING
        if self.vectors is not None:
            view.statistics[worker], created = self.vectors.step(worker, view.clock[worker], state.plan)
        view.clock[worker] += 1
        view.interval[worker] = view.now - (view.last_done[worker] if state.has_stepped else state.started_at)
        state.has_stepped = True
        view.last_done[worker] = view.now
        view.compute_seconds[worker] = view.now - state.started_at
        state.earlier_batch = state.spared_batch if state.has_sent else state.batch
        state.batch, state.has_sent = state.earlier_batch + state.plan.batch, False
        view.waiting.add(worker)
        self._gates.look_at((worker,))
        self._note(Stepped(view.now, worker, view.clock[worker], created))
        self._carry_out(self.policy.on_step(worker))

    # What policies order.

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect)
            elif isinstance(effect, Add):
                self._add(effect)
            elif isinstance(effect, Drop):
                self._settle(effect.messages)
                if self.vectors is not None:
                    self.vectors.drop(effect.messages)
                self._note(Dropped(self.view.now, effect.messages))
            elif isinstance(effect, Mix):
                self._mix(effect)
            elif isinstance(effect, Look):
                if effect.workers is None:
                    self._gates.look_at_all()
                else:
                    self._gates.look_at(effect.workers)
            else:
                check_alarm(effect, self.view)
                self._schedule(effect.time, Kind.ALARM, effect.key)

    def _send(self, effect: Send) -> None:
        worker, view = effect.worker, self.view
        check_send(effect, view)
        uid, state = self._message_count, self._workers[worker]
        self._message_count += 1
        if self.vectors is not None:
            dispatch = self.vectors.send(worker, uid, effect.blocks, spares_last_step=effect.spares_last_step)
        else:
            dispatch = Dispatch(self._model_bytes)
        size, mass, kept, lost, *norms = dispatch
        version = view.read_version[worker]
        batch = state.earlier_batch if effect.spares_last_step else state.batch
        state.spared_batch = state.plan.batch if effect.spares_last_step else 0.0
        message = Message(uid, worker, view.clock[worker], version, effect.blocks, effect.tag, size, batch, view.now)
        self.sent_bytes += size
        view.sent[worker] += 1
        state.has_sent, state.sent_at = True, view.now
        self._note(Sent(view.now, worker, uid, version, size, mass, kept, lost, effect.tag, *norms))
        self._schedule(self._upload.arrival(worker, view.now, size), Kind.ARRIVAL, message)

    def _add(self, effect: Add) -> None:
        check_add(effect)
        self._settle(effect.messages)
        self.view.version += 1
        model = self.vectors.apply(effect.messages, effect.weights) if self.vectors else NOTHING
        self._note(Applied(self.view.now, effect.messages, effect.weights, self.view.version, model))

    def _settle(self, messages: tuple[int, ...]) -> None:
        for uid in messages:
            worker, is_least_another = self._roster.settle(uid)
            self._gates.settled(worker, is_least_another)

    def _mix(self, effect: Mix) -> None:
        members, view = effect.members, self.view
        check_mix(effect, view)
        mixture, step = Mixture(self._model_bytes * len(members) if len(members) > 1 else 0), 1.0
        if self.vectors is not None:
            mixture, step = self.vectors.mix(members, effect.weights), self.vectors.descent.consensus_step
        self.sent_bytes += mixture.sent_bytes
        self._gates.look_at(members)
        self._note(Mixed(view.now, members, effect.weights, step, *mixture))
        if len(members) == 1:
            return
        end = self._upload.ring_end(members, view.now, mixture.sent_bytes)
        for member in members:
            self._workers[member].exchange_end = end

    # Who goes on.

    def _release(self, worker: int) -> None:
        view, state = self.view, self._workers[worker]
        view.waiting.remove(worker)
        if state.is_leaving or view.clock[worker] >= self.horizon.steps:
            self._depart(worker, "left")
            return
        pull = self.policy.refresh(worker)
        base, corrections = self.vectors.read(worker, pull) if self.vectors else (NOTHING, ())
        if pull.shared:
            view.read_version[worker] = view.version
            self.pulled_bytes += self._model_bytes
            there = self._download.arrival(worker, view.now, self._model_bytes)
        else:
            there = max(view.now, state.exchange_end)
        version = view.version if pull.shared else -1
        self._note(Released(view.now, worker, version, base, corrections))
        self._schedule(there, Kind.DELIVERY, (worker, state.life))

    def _depart(self, worker: int, reason: str) -> None:
        view, state = self.view, self._workers[worker]
        self._roster.depart(worker)
        state.end_life()
        self._gates.look_at_all()
        abandoned = self.vectors.depart(worker) if self.vectors else NOTHING
        self._note(Departed(view.now, worker, reason, abandoned))
        self._carry_out(self.policy.on_membership(worker))
