"""The event loop: who computes, sends, waits and reads when, exactly and reproducibly.

Events are changes of membership, arrivals, alarms, blocks that were read besides, deliveries of models, finished steps
and alarms that are to be the last. Of simultaneous ones they come in this order, and then in the order in which they
were scheduled, so that a worker that finishes a step sees all that arrived by then.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from typing import Any

from sparsync.experiments.engine.clusters import Change, Cluster, Line, on_clock, ring_share
from sparsync.experiments.engine.core import Engine, JudgeMaker
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import Alarm, Mix, Pull
from sparsync.experiments.engine.horizon import ALARM_PATIENCE, ALARMS, Deadlock, Horizon, Kind
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.vectors import Mixture, Vectors
from sparsync.experiments.engine.view import Message
from sparsync.experiments.engine.worker_vectors import Dispatch, sent_event
from sparsync.verify.monitors.judge import Judge
from sparsync.verify.monitors.trace import NOTHING, NOTHING_MEASURED, Header, Joined, Mass, Mixed, Released


class Simulation(Engine):
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
        if vectors is not None and len(vectors.workers) != cluster.worker_count:
            raise ValueError(f"vectors of {len(vectors.workers)} workers for a cluster of {cluster.worker_count}")
        require_count("message_bytes", message_bytes, least=0)
        header = Header(cluster.worker_count)
        if vectors is not None:
            initial, roundoff = vectors.sketch(vectors.shared), vectors.arithmetic.unit_roundoff
            header = Header(cluster.worker_count, initial, roundoff)
        super().__init__(
            policy,
            header,
            horizon,
            block_bytes=vectors.block_bytes if vectors else (message_bytes,),
            remembers=vectors is None or vectors.descent.feedback == "memory",
            make_judge=make_judge,
            seed=seed,
            records=records,
        )
        self.cluster, self.vectors = cluster, vectors
        self._queue: list[tuple[float, int, int, Any]] = []
        self._scheduled_count = 0
        self.step_count = 0
        """finished by all workers together"""
        self._due_count = 0
        """of what is due, all but alarms"""
        self._idle_alarm_count = 0
        """in a row, with nothing else due afterwards"""
        self._is_begun = False
        self._upload = Line(cluster.upload, cluster.worker_count)
        self._download = Line(cluster.download, cluster.worker_count)
        self._between = Line(cluster.between, cluster.rack_count)
        self.rack_bytes = 0
        """that models which are mixed took out of a rack"""
        self._exchange_end = [0.0] * cluster.worker_count
        """by worker, when the models of its last mix have travelled"""

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

    def advance(self, until: float, *, step_count: float = math.inf) -> None:
        """Simulate until a time, or the horizon if that is earlier; to be continued.

        Args:
            until: the time.
            step_count: of all workers together; nothing happens after so many, should that come before the time.

        Raises:
            ValueError: the time is over, or see `run`.
            Violation, PolicyError, FloatingPointError: see `run`.
        """
        until = on_clock(min(until, self.horizon.seconds))
        if not until >= self.view.now:
            raise ValueError(f"it is {self.view.now}, too late to simulate until {until}")
        if not self._is_begun:
            self._is_begun = True
            for change in self.cluster.changes:
                self._schedule(change.time, Kind.CHANGE, change)
            self._begin([worker for worker in range(self.view.worker_count) if worker not in self.cluster.absent])
        handlers = (
            self._change,
            self._arrive,
            self._ring,
            self._end_fetch,
            self._be_delivered,
            self._finish_step,
            self._ring,
        )
        view, queue, last_version = self.view, self._queue, self.horizon.versions
        while queue and queue[0][0] <= until and view.version < last_version and self.step_count < step_count:
            if not view.alive_count and until == math.inf and not self._due_count:
                break
            time, kind, _, subject = heapq.heappop(queue)
            view.now = time
            self.event_count += 1
            self._due_count -= kind not in ALARMS
            handlers[kind](subject)
            self._gates.open(self._release)
            self._idle_alarm_count = 0 if self._due_count or kind not in ALARMS else self._idle_alarm_count + 1
            if self._idle_alarm_count > ALARM_PATIENCE and until == math.inf and view.waiting:
                waited = f"{ALARM_PATIENCE} alarms in a row changed nothing"
                raise Deadlock(f"workers {sorted(view.waiting)} wait, and {waited}", self.trace)
        if not queue and view.waiting:
            raise Deadlock(f"workers {sorted(view.waiting)} wait, and nothing is due", self.trace)
        if until < math.inf and view.version < last_version and self.step_count < step_count:
            view.now = until

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

    def _schedule(self, time: float, kind: Kind, subject: object) -> None:
        self._scheduled_count += 1
        self._due_count += kind not in ALARMS
        heapq.heappush(self._queue, (on_clock(time), kind, self._scheduled_count, subject))

    # What is due for a worker, unless it has died meanwhile.

    def _be_delivered(self, subject: tuple[int, int]) -> None:
        worker, life = subject
        if self._workers[worker].life == life:
            self._deliver(worker)

    def _finish_step(self, subject: tuple[int, int]) -> None:
        worker, life = subject
        state = self._workers[worker]
        if state.life != life:
            return
        statistics, created = NOTHING_MEASURED, NOTHING
        if self.vectors is not None:
            statistics, created = self.vectors.step(worker, self.view.clock[worker], state.plan)
        self._step(worker, statistics, created)
        self.step_count += 1

    # See `Engine`.

    def _let_in(self, worker: int, pull: Pull, size: int, *, is_late: bool) -> None:
        view = self.view
        model = self.vectors.read(worker, pull)[0] if self.vectors else NOTHING
        there = self._download.arrival(worker, view.now, size) if is_late and pull.shared else self._ordered(view.now)
        self._note(Joined(view.now, worker, view.version if pull.shared else -1, model, size))
        self._schedule(there, Kind.DELIVERY, (worker, self._workers[worker].life))

    def _compute(self, worker: int) -> None:
        view, state = self.view, self._workers[worker]
        seconds = self.cluster.step_seconds(worker, view.clock[worker], state.plan.batch)
        there = on_clock(view.now + seconds)
        # A step too short for the clock would let the run stand still.
        if not view.now < there < math.inf:
            raise ValueError(f"step {view.clock[worker]} of worker {worker} would take {seconds} seconds")
        self._schedule(there, Kind.STEP, (worker, state.life))

    def _ship(self, message: Message, *, spares_last_step: bool) -> None:
        uid, worker, now = message.uid, message.worker, self.view.now
        if self.vectors is not None:
            dispatch = self.vectors.send(worker, uid, message.blocks, spares_last_step=spares_last_step)
        else:
            dispatch = Dispatch(self._model_bytes)
        size = dispatch.sent_bytes
        self.sent_bytes += size
        self._note(sent_event(message, dispatch, spares_last_step=spares_last_step))
        there = self._upload.arrival(worker, now, size)
        self._schedule(there, Kind.ARRIVAL, message._replace(sent_bytes=size))

    def _apply(self, messages: tuple[int, ...], weights: tuple[float, ...]) -> Mass:
        return self.vectors.apply(messages, weights) if self.vectors else NOTHING

    def _forget(self, messages: tuple[int, ...]) -> None:
        if self.vectors is not None:
            self.vectors.drop(messages)

    def _exchange(self, effect: Mix) -> None:
        members, now = effect.members, self.view.now
        mixture, step = Mixture((self._model_bytes if len(members) > 1 else 0,) * len(members)), 1.0
        if self.vectors is not None:
            mixture, step = self.vectors.mix(members, effect.weights), self.vectors.descent.consensus_step
        self._count_published(mixture.sent_bytes)
        self._note(Mixed(now, members, effect.weights, step, *mixture))
        if len(members) == 1:
            return
        end = self._upload.ring_end(members, now, sum(mixture.sent_bytes))
        share = ring_share(members, sum(mixture.sent_bytes))
        for rack in self.cluster.racks_left(members):
            end = max(end, self._between.arrival(rack, now, share))
            self.rack_bytes += share
        for member in members:
            self._exchange_end[member] = end

    def _set_alarm(self, alarm: Alarm) -> None:
        self._schedule(alarm.time, Kind.LAST_ALARM if alarm.is_last else Kind.ALARM, alarm.key)

    def _hand_over(self, worker: int, pull: Pull, size: int) -> None:
        view = self.view
        base, corrections = self.vectors.read(worker, pull) if self.vectors else (NOTHING, ())
        if pull.shared:
            there = self._download.arrival(worker, view.now, size)
        else:
            there = self._ordered(max(view.now, self._exchange_end[worker]))
        self._note(Released(view.now, worker, view.version if pull.shared else -1, base, corrections, size))
        self._schedule(there, Kind.DELIVERY, (worker, self._workers[worker].life))

    def _ordered(self, time: float) -> float:
        """When a step begins that is ordered then, and nothing travels."""
        return time + self.cluster.order_seconds

    def _read_out(
        self, worker: int, blocks: tuple[int, ...] | None, since: Mapping[int, int], *, is_besides: bool
    ) -> int:
        del worker, blocks, is_besides
        dense = sum(self.view.block_bytes[block] for block in since)
        news = self.vectors.server.news(since) if self.vectors else None
        return dense if news is None else min(dense, news.size_bytes)

    def _fetch(self, worker: int, blocks: tuple[int, ...], size: int) -> None:
        view = self.view
        there = self._download.arrival(worker, view.now, size)
        self._schedule(there, Kind.FETCH, (worker, self._workers[worker].life, blocks, view.version))

    def _end_fetch(self, subject: tuple[int, int, tuple[int, ...], int]) -> None:
        worker, life, blocks, version = subject
        if self._workers[worker].life == life:
            self._fetched(worker, blocks, version)

    def _abandon(self, worker: int) -> Mass:
        self._exchange_end[worker] = 0.0
        return self.vectors.depart(worker) if self.vectors else NOTHING
