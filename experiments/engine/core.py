"""What does a policy's order do? The part of every engine that is the same in a simulation, for real and in a replay.

A driver says what has happened: somebody joined, left or crashed, a message arrived, an alarm rang, a model was
delivered, a step is finished. After each, the policy is asked, its effects are carried out, and the gates of waiting
workers are looked at, in worker order. What an effect needs of the outside, a vector or the passing of time, the driver
gives: the methods that raise `NotImplementedError` here.

A step's gradient is taken at the model that its worker held at the start, its own unsent changes included. A released
worker reads the shared model as of its release; that model then travels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from sparsync.experiments.engine.clusters import Change, on_clock
from sparsync.experiments.engine.copies import Copies
from sparsync.experiments.engine.effect_checks import (
    check_add,
    check_alarm,
    check_blocks,
    check_fetch,
    check_mix,
    check_plan,
    check_send,
)
from sparsync.experiments.engine.effects import KEEP, PULL, Add, Alarm, Drop, Effect, Fetch, Look, Mix, Pull, Send
from sparsync.experiments.engine.gates import Gates
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.roster import Roster
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.engine.worker_state import WorkerState
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Judge, Report
from sparsync.verify.monitors.trace import (
    AlarmSet,
    Applied,
    Arrived,
    Departed,
    Dropped,
    Event,
    Fetched,
    Header,
    Mass,
    Rang,
    Started,
    Stepped,
    StepStatistics,
)

JudgeMaker = Callable[[Header, Guarantee], Judge]


class Engine:
    """One run of a policy; a subclass drives it.

    Args:
        policy: who sends and waits; belongs to this run from now on.
        header: what monitors must know of the run.
        horizon: when it ends; the driver sees to its seconds and versions.
        block_bytes: dense size of each block of the model.
        remembers: what a selector leaves out is sent later.
        make_judge: monitors of what happens, made from the header and the policy's guarantee; None trusts.
        seed: of the policy's random numbers.
        records: keep the trace in `trace`.

    Raises:
        ValueError: the run would never end: it is to end by its versions, and no model is shared.
    """

    def __init__(
        self,
        policy: Policy,
        header: Header,
        horizon: Horizon,
        *,
        block_bytes: tuple[int, ...],
        remembers: bool,
        make_judge: JudgeMaker | None,
        seed: int,
        records: bool,
    ) -> None:
        if policy.is_decentralised and min(horizon.seconds, horizon.steps) == math.inf:
            raise ValueError(f"a run without a shared model needs seconds or steps as its end, got {horizon}")
        self.policy, self.header, self.horizon = policy, header, horizon
        self.view = View(header.worker_count, block_bytes=block_bytes, seed=seed)
        self.trace: list[Event] = []
        self.event_count = 0
        self.sent_bytes = self.pulled_bytes = 0
        self.judge: Judge | None = None
        """whoever looks, once the run has begun; it knows what was promised"""
        self.seed = seed
        self._make_judge, self._remembers, self._records = make_judge, remembers, records
        self._model_bytes = sum(block_bytes)
        self._message_count = 0
        self._workers = [WorkerState() for _ in range(header.worker_count)]
        self._roster = Roster(self.view)
        self._gates = Gates(policy, self.view)
        self._copies = Copies(self.view)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised of this run."""
        return replace(self.policy.guarantee(), remembers=self._remembers)

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

    # What has happened.

    def _call_judge(self) -> None:
        if self._make_judge is not None:
            self.judge = self._make_judge(self.header, self.guarantee)

    def _take_over(self, other: Engine) -> None:
        """Be where another engine of the same policy is; that one must not go on."""
        self.view, self._workers, self._copies = other.view, other._workers, other._copies
        self._roster, self._gates = other._roster, other._gates
        self._message_count, self.event_count = other._message_count, other.event_count
        self.sent_bytes, self.pulled_bytes = other.sent_bytes, other.pulled_bytes

    def _begin(self, present: Sequence[int]) -> None:
        self._call_judge()
        self._roster.begin(present)
        for worker in present:
            self._welcome(worker, is_late=False)
        self._carry_out(self.policy.attach(self.view))

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
        pull = KEEP if is_late and self.policy.is_decentralised else PULL
        size = 0
        if pull.shared:
            self.view.read_version[worker] = self.view.version
            size = self._pulls(worker, pull) if is_late else 0
        self.pulled_bytes += size
        self._let_in(worker, pull, size, is_late=is_late)

    def _arrive(self, message: Message) -> None:
        self._roster.arrive(message)
        self._note(Arrived(self.view.now, message.uid))
        self._carry_out(self.policy.on_arrive(message))

    def _ring(self, key: Hashable) -> None:
        self._gates.rang()
        self._note(Rang(self.view.now, repr(key)))
        self._carry_out(self.policy.on_alarm(key))

    def _deliver(self, worker: int) -> None:
        """The model that it was given is there."""
        state, view = self._workers[worker], self.view
        if state.sent_at >= 0:
            view.round_trip[worker] = view.now - state.sent_at
            state.sent_at = -1.0
        state.plan = self.policy.plan(worker)
        check_plan(state.plan, worker)
        state.started_at = view.now
        self._note(Started(view.now, worker, *state.plan))
        self._compute(worker)

    def _fetched(self, worker: int, blocks: tuple[int, ...], version: int) -> None:
        """It has read these blocks, as of that version, besides what it does."""
        size, is_last = self._copies.fetched(worker, blocks, version)
        self.pulled_bytes += size
        if is_last:
            self._gates.look_at((worker,))
        self._note(Fetched(self.view.now, worker, version, blocks, size))

    def _step(self, worker: int, statistics: StepStatistics, created: Mass) -> None:
        """It has finished its step."""
        state, view = self._workers[worker], self.view
        view.statistics[worker] = statistics
        view.clock[worker] += 1
        view.interval[worker] = view.now - (view.last_done[worker] if state.has_stepped else state.started_at)
        state.has_stepped = True
        view.last_done[worker] = view.now
        view.compute_seconds[worker] = view.now - state.started_at
        state.earlier_batch = state.spared_batch if state.has_sent else state.batch
        state.batch, state.has_sent = state.earlier_batch + state.plan.batch, False
        view.waiting.add(worker)
        self._gates.look_at((worker,))
        self._note(Stepped(view.now, worker, view.clock[worker], created, statistics))
        self._carry_out(self.policy.on_step(worker))

    def _note(self, event: Event) -> None:
        if self._records:
            self.trace.append(event)
        if self.judge is not None:
            self.judge.observe(event)

    # What policies order.

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect)
            elif isinstance(effect, Add):
                self._add(effect)
            elif isinstance(effect, Drop):
                self._settle(effect.messages)
                self._forget(effect.messages)
                self._note(Dropped(self.view.now, effect.messages))
            elif isinstance(effect, Mix):
                check_mix(effect, self.view)
                self._gates.look_at(effect.members)
                self._exchange(effect)
            elif isinstance(effect, Fetch):
                check_fetch(effect, self.view)
                self._begin_fetch(effect)
            elif isinstance(effect, Look):
                if effect.workers is None:
                    self._gates.look_at_all()
                else:
                    self._gates.look_at(effect.workers)
            else:
                check_alarm(effect, self.view)
                alarm = effect._replace(time=on_clock(effect.time))
                self._note(AlarmSet(self.view.now, alarm.time, repr(alarm.key)))
                self._set_alarm(alarm)

    def _begin_fetch(self, effect: Fetch) -> None:
        worker, blocks = effect
        size = self._read_out(worker, blocks, self._copies.gives(worker, blocks), is_besides=True)
        self._copies.fetches(worker, size)
        self._fetch(worker, blocks, size)

    def _send(self, effect: Send) -> None:
        worker, view = effect.worker, self.view
        check_send(effect, view)
        uid, state = self._message_count, self._workers[worker]
        self._message_count += 1
        batch = state.earlier_batch if effect.spares_last_step else state.batch
        state.spared_batch = state.plan.batch if effect.spares_last_step else 0.0
        version = view.read_version[worker]
        view.sent[worker] += 1
        state.has_sent, state.sent_at = True, view.now
        message = Message(uid, worker, view.clock[worker], version, effect.blocks, effect.tag, 0, batch, view.now)
        self._ship(message, spares_last_step=effect.spares_last_step)

    def _add(self, effect: Add) -> None:
        check_add(effect)
        view = self.view
        added = [view.inbox[uid] for uid in effect.messages if uid in view.inbox]
        self._settle(effect.messages)
        view.version += 1
        for message in added:
            self._copies.added(message, view.version)
        model = self._apply(effect.messages, effect.weights)
        self._note(Applied(view.now, effect.messages, effect.weights, view.version, model))

    def _settle(self, messages: tuple[int, ...]) -> None:
        for uid in messages:
            worker, is_least_another = self._roster.settle(uid)
            self._gates.settled(worker, is_least_another)

    def _count_published(self, sizes: Sequence[int]) -> None:
        """Members mix: what each publishes it sends, and all others read it."""
        published = sum(sizes)
        self.sent_bytes += published
        self.pulled_bytes += (len(sizes) - 1) * published

    # Who goes on.

    def _release(self, worker: int) -> None:
        view = self.view
        view.waiting.remove(worker)
        if self._leaves(worker):
            self._depart(worker, "left")
            return
        pull, size = self.policy.refresh(worker), 0
        if pull.shared:
            view.read_version[worker] = view.version
            check_blocks(pull.blocks or (), view, f"worker {worker} cannot go on from")
            size = self._pulls(worker, pull)
        self.pulled_bytes += size
        self._hand_over(worker, pull, size)

    def _pulls(self, worker: int, pull: Pull) -> int:
        """The bytes that it reads to go on."""
        self._copies.pulls(worker, pull)
        return self._read_out(worker, pull.blocks, self._copies.gives(worker, pull.blocks), is_besides=False)

    def _leaves(self, worker: int) -> bool:
        """Does it leave at its gate?"""
        return self._workers[worker].is_leaving or self.view.clock[worker] >= self.horizon.steps

    def _depart(self, worker: int, reason: str) -> None:
        self._roster.depart(worker)
        self._copies.departs(worker)
        self._workers[worker].end_life()
        self._gates.look_at_all()
        self._note_departure(worker, reason)
        self._carry_out(self.policy.on_membership(worker))

    def _note_departure(self, worker: int, reason: str) -> None:
        self._note(Departed(self.view.now, worker, reason, self._abandon(worker)))

    # What a driver gives.

    def _read_out(
        self, worker: int, blocks: tuple[int, ...] | None, since: Mapping[int, int], *, is_besides: bool
    ) -> int:
        """Make these blocks (None: all) ready as they are now, for one who has each `since` a version: their bytes.

        It goes on from them, or reads them besides what it does.
        """
        raise NotImplementedError

    def _let_in(self, worker: int, pull: Pull, size: int, *, is_late: bool) -> None:
        """Note that it joined with what it reads, of so many bytes, or keeps; call `_deliver` when that is there."""
        raise NotImplementedError

    def _compute(self, worker: int) -> None:
        """It begins a step, as its plan says; call `_step` when it is finished."""
        raise NotImplementedError

    def _ship(self, message: Message, *, spares_last_step: bool) -> None:
        """Note what it sends, whose size is not known yet, and call `_arrive` when that is there."""
        raise NotImplementedError

    def _apply(self, messages: tuple[int, ...], weights: tuple[float, ...]) -> Mass:
        """Add messages to the shared model; the sketch of it afterwards."""
        raise NotImplementedError

    def _forget(self, messages: tuple[int, ...]) -> None:
        """Messages that will never be applied."""
        raise NotImplementedError

    def _exchange(self, effect: Mix) -> None:
        """Note that members mix their models; those of them that are released then, start when that is done."""
        raise NotImplementedError

    def _set_alarm(self, alarm: Alarm) -> None:
        """Call `_ring` at its time."""
        raise NotImplementedError

    def _hand_over(self, worker: int, pull: Pull, size: int) -> None:
        """Note that it goes on with what it reads, of so many bytes, or keeps; call `_deliver` when that is there."""
        raise NotImplementedError

    def _fetch(self, worker: int, blocks: tuple[int, ...], size: int) -> None:
        """It begins to read these blocks as they are now, so many bytes; call `_fetched` when they are there."""
        raise NotImplementedError

    def _abandon(self, worker: int) -> Mass:
        """Forget what it has not sent; the sketch of that."""
        raise NotImplementedError
