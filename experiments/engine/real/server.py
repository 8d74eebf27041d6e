"""The engine on real processes: the same policy, the same effects, but time passes and vectors lie elsewhere.

The server owns the policy, its view and the shared model. It reacts to what comes from the workers, one thing after the
other, at the time at which it takes it from its queue; it never waits for one of them. What a worker does shows in the
trace where it was ordered; its sketches are filled in when the worker has told them.
"""

from __future__ import annotations

import heapq
import queue
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from sparsync.experiments.engine.clusters import Change, on_clock
from sparsync.experiments.engine.core import JudgeMaker
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Deadlock, Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.real import letters
from sparsync.experiments.engine.real.broadcasts import Broadcaster
from sparsync.experiments.engine.real.keeping import Kept
from sparsync.experiments.engine.real.lines import Begun, Broken, DeadLine, Happening, Landed, Line
from sparsync.experiments.engine.real.orders import OrderingEngine
from sparsync.experiments.engine.replay import Replay
from sparsync.experiments.engine.shared_model import SharedModel
from sparsync.verify.monitors.judge import Judge
from sparsync.verify.monitors.trace import Lost, Sent

HEAR_OUT_SECONDS = 5.0
"""How long workers have time, at the end, to say what they did before it."""
BROKEN_SECONDS = 3.0
"""Between a broadcast or a mix that fails and the run's end, so that the worker that was lost is known first."""
IDLE_SECONDS = 0.25
"""How often the server looks about when nothing comes."""


class WorkerLostError(ConnectionError):
    """A worker is gone, and the policy does not go on without it; or none is left."""


class Watcher(Protocol):
    """Who sees how the run goes."""

    def look(self) -> None:
        """Something may have happened."""
        ...

    def keep(self) -> None:
        """The run is over."""
        ...


class Server(OrderingEngine):
    """One run of a policy on real workers.

    Args:
        policy: who sends and waits; belongs to this run from now on.
        shared: the model.
        descent: how workers make messages.
        horizon: when the run ends, in real seconds.
        lines: by worker, to those who are there at the beginning.
        happenings: what comes from them, and new lives.
        look_about: called every now and then: workers that are silent for too long, with how long.
        make_judge: see `Engine`.
        seed: of the policy's random numbers.
        kept: what it goes on from; None begins anew.
        broadcaster: sends all workers at once what all of them read; without one, each is sent its own.
    """

    def __init__(
        self,
        policy: Policy,
        shared: SharedModel,
        descent: Descent,
        horizon: Horizon,
        *,
        lines: Sequence[Line],
        happenings: queue.SimpleQueue[Happening],
        look_about: Callable[[], dict[int, float]] = dict,
        make_judge: JudgeMaker | None = Judge,
        seed: int = 0,
        kept: Kept | None = None,
        broadcaster: Broadcaster | None = None,
    ) -> None:
        super().__init__(policy, shared, descent, horizon, worker_count=len(lines), make_judge=make_judge, seed=seed)
        self._lines.update({line.worker: line for line in lines})
        self._happenings, self._look_about = happenings, look_about
        self._kept, self._broadcaster = kept, broadcaster
        self._began = 0.0
        self._looked = 0.0
        self._missed: tuple[float, str] | None = None
        """when it was said, and of whom, that one cannot be met with whom others were to mix"""

    def run(self, watcher: Watcher | None = None) -> None:
        """Until the horizon.

        Args:
            watcher: who looks after everything that happens, and now and then.

        Raises:
            WorkerLostError: see there.
            Violation: a monitor found a broken promise; `Deadlock` if workers wait for ever.
            ValueError: a parameter of the policy does not fit the number of workers or blocks.
            PolicyError: an effect cannot be carried out.
            FloatingPointError: a gradient is not finite.
            ParcelError: a worker sent what no worker sends.
        """
        try:
            self._run(watcher)
        finally:
            for line in self._lines.values():
                line.order(letters.Finish())
                line.close()

    def _run(self, watcher: Watcher | None) -> None:
        if self._kept is None:
            self._began = time.monotonic()
            self._begin(sorted(self._lines))
            self._gates.open(self._release)
            self._end_turn()
        else:
            self._go_on_from(self._kept)
        too_late: list[Happening] = []
        while not self._is_over():
            happening = self._wait()
            self.view.now = self._clock()
            if self.view.now >= self.horizon.seconds:
                too_late = [] if happening is None else [happening]
                break
            self._ring_alarms()
            if happening is not None:
                self.event_count += 1
                self._happen(happening)
            self._gates.open(self._release)
            self._end_turn()
            self._look()
            self._end_turn()
            if watcher is not None:
                watcher.look()
        self.view.now = min(self._clock(), self.horizon.seconds)
        if watcher is not None:
            watcher.keep()
        self._hear_out(too_late)

    def _hear_out(self, first: list[Happening]) -> None:
        """What was ordered before the end shows in the trace as it was done, or as far as is known.

        Args:
            first: what has come, and was not looked at, before what comes now.
        """
        deadline = time.monotonic() + HEAR_OUT_SECONDS
        while self._is_unclear() and (left := deadline - time.monotonic()) > 0:
            with suppress(queue.Empty):
                worker, life, what, size = first.pop() if first else self._happenings.get(timeout=left)
                if not self._is_heard(worker, life):
                    continue
                if isinstance(what, letters.Ready):
                    self._has_base(worker, what.base)
                elif isinstance(what, letters.Sending):
                    self._begin_message(what, size)
                elif isinstance(what, letters.Exchanged):
                    self._end_mix(worker, what)
                elif isinstance(what, Landed) and isinstance(what.report, letters.Shown):
                    self._land(what.report, what.body)
                elif isinstance(what, Broken):
                    self._close_accounts(worker)
        self._leaving, leaving = {}, self._leaving
        for worker in [*self._lines, *leaving]:
            self._close_accounts(worker)
        self._end_turn()

    def _go_on_from(self, kept: Kept) -> None:
        """All who were at work then have crashed, and come back."""
        replay = Replay(
            self.policy,
            self.header,
            kept.events,
            block_bytes=self.view.block_bytes,
            seed=self.seed,
            download=self.shared.download,
        )
        replay.run()
        self._take_over(replay)
        self._call_judge()
        sketches = {event.message: event.mass for event in kept.events if isinstance(event, Sent)}
        for event in kept.events:
            self._note(event)
            self._accounts.learn(event)
        self._end_turn()
        self.shared.go_on_from(kept.model, self.view.version)
        for uid, shipment in kept.arrived.items():
            self.shared.keep(uid, self.view.inbox[uid].worker, shipment)
            self._masses[uid] = sketches[uid]
        for alarm in replay.waiting_alarms:
            self._set_alarm(alarm)
        self._began, self.view.now = time.monotonic() - kept.until, kept.until
        new = self._lines
        self._lines = {worker: DeadLine(worker) for worker in self.view.alive}
        for worker in sorted(self.view.alive):
            self._crash(worker)
        for uid in replay.on_their_way:
            self._note(Lost(kept.until, uid))
        self._end_turn()
        for worker, line in sorted(new.items()):
            self.view.now = self._clock()
            self._lines[worker] = line
            self._change(Change(self.view.now, worker, "join"))
            self._gates.open(self._release)
            self._end_turn()

    def _clock(self) -> float:
        return on_clock(time.monotonic() - self._began)

    def _is_over(self) -> bool:
        view, horizon = self.view, self.horizon
        has_ended = self._clock() >= horizon.seconds or view.version >= horizon.versions
        return has_ended or (not view.alive_count and min(view.clock) >= horizon.steps)

    def _wait(self) -> Happening | None:
        ends = [self._clock() + IDLE_SECONDS, self.horizon.seconds, *(alarm[0] for alarm in self._alarms[:1])]
        try:
            return self._happenings.get(timeout=max(0.0, min(ends) - self._clock()))
        except queue.Empty:
            return None

    def _ring_alarms(self) -> None:
        while self._alarms and self._alarms[0][0] <= self.view.now:
            if self._alarms[0][2].is_last and not self._happenings.empty():
                return
            self._ring(heapq.heappop(self._alarms)[2].key)
            self._gates.open(self._release)

    def _look(self) -> None:
        view = self.view
        if view.now - self._looked >= IDLE_SECONDS:
            self._looked = view.now
            for worker, seconds in self._look_about().items():
                if worker in view.alive:
                    self._lose(worker, f"worker {worker} has shown no sign of life for {seconds:.1f} s")
                    self._gates.open(self._release)
        broken = self._missed or (self._broadcaster and self._broadcaster.broken)
        if broken and time.monotonic() - broken[0] > BROKEN_SECONDS:
            raise WorkerLostError(f"{broken[1]}; which worker was lost is not known")
        due = (self._busy, view.fetching, self._awaited, self._transit, self._mixes, self._alarms)
        if view.waiting and not any(due) and self._happenings.empty():
            raise Deadlock(f"workers {sorted(view.waiting)} wait, and nothing is due", self.trace)

    # What has come.

    def _happen(self, happening: Happening) -> None:
        worker, life, what = happening.worker, happening.incarnation, happening.what
        if isinstance(what, Begun):
            if worker in self._lines:
                self._lose(worker, f"worker {worker} has begun life {life} before its life {life - 1} was known to end")
            self._lines[worker] = what.line
            self._change(Change(self.view.now, worker, "join"))
            return
        if not self._is_heard(worker, life):
            return
        if isinstance(what, Broken) and worker not in self._lines:
            self._end_leaving(worker)
        elif isinstance(what, Broken):
            self._lose(worker, f"worker {worker} was lost: {what.reason}")
        elif isinstance(what, letters.Failed) and what.misses_another:
            self._missed = self._missed or (time.monotonic(), what.reason)
        elif isinstance(what, letters.Failed):
            raise FloatingPointError(what.reason)
        elif isinstance(what, letters.Ready):
            self._has_base(worker, what.base)
            self._deliver(worker)
        elif isinstance(what, letters.Fetched):
            self._fetched(worker, what.blocks, what.version)
        elif isinstance(what, letters.Finished):
            self._busy.discard(worker)
            self._accounts.makes(worker, what.created)
            self._step(worker, what.statistics, what.created)
        elif isinstance(what, letters.Sending):
            self._begin_message(what, happening.body_bytes)
        elif isinstance(what, letters.Exchanged):
            self._end_mix(worker, what)
        elif isinstance(what, Landed):
            self._land(what.report, what.body)

    def _is_heard(self, worker: int, life: int) -> bool:
        line = self._lines.get(worker) or self._leaving.get(worker)
        return line is not None and line.incarnation == life

    def _lose(self, worker: int, reason: str) -> None:
        """It crashed, as far as the run is concerned."""
        self._send_reads()
        self._lines.pop(worker).close()
        if not self.policy.tolerates_loss:
            raise WorkerLostError(f"{reason}; {type(self.policy).__name__} does not go on without it")
        if worker in self.view.alive:
            self._crash(worker)

    def _crash(self, worker: int) -> None:
        """It will do nothing more of what it was ordered to."""
        self._busy.discard(worker)
        self._close_accounts(worker)
        self._change(Change(self.view.now, worker, "crash"))
        self._gates.open(self._release)
        self._lose_messages(worker)
