"""SelSync: synchronise only the steps in which somebody's gradient changes much."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.engine.effects import KEEP, PULL, Add, Alarm, Effect, Look, Pull, Send
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.planners.significance import Significance
from sparsync.verify.monitors.guarantee import Guarantee


@dataclass(eq=False)
class SelSync(Policy):
    """After each step everybody shows a flag: is the change at least the threshold? If any is up, all synchronise.

    To synchronise is to add the changes since the last time, with weight 1/(reports): as all of them began at the same
    model, that averages the parameters. After the local step, replicas are equal then. Before it, as in the released
    programs, reports leave out that step, which its worker keeps, so that replicas differ by their steps. Else nothing
    is sent, and everybody goes on from its own model. A worker whose flag is up knows the outcome, and sends at once.
    What somebody sent who is gone waits for the next synchronisation. Data injection, which is theirs too, is of races:
    see `Injection`.

    Args:
        threshold: δ; 0 always synchronises.
        window: first steps of a worker that always synchronise, and steps that are smoothed over.
        decay: α of the smoothing.
        flag_seconds: that showing a flag takes; it holds no bytes.
        order: of averaging: "after" the local step or "before" it.

    Source: Tyagi, Swany 2023; smoothing as in their programs.
    """

    threshold: float = 0.1
    window: int = 5
    decay: float = 0.01
    flag_seconds: float = 0.0
    order: Literal["after", "before"] = "after"

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.threshold >= 0:
            raise ValueError(f"threshold must be at least 0, got {self.threshold}")
        require_count("window", self.window, least=1)
        if not 0 <= self.decay < 1:
            raise ValueError(f"decay must lie in [0, 1), got {self.decay}")
        if not 0 <= self.flag_seconds < math.inf:
            raise ValueError(f"flag_seconds must be at least 0 and finite, got {self.flag_seconds}")
        if self.order not in ("after", "before"):
            raise ValueError(f"order must be 'after' or 'before', got {self.order!r}")

    def attach(self, view: View) -> Iterable[Effect]:
        """No flag has been shown."""
        self._significance = [Significance(self.window, self.decay) for _ in range(view.worker_count)]
        self._is_up = [True] * view.worker_count
        self._flags: dict[int, bool] = {}
        self._unshown = set(view.alive)
        """workers alive that have shown none in this step"""
        self._synchronises = False
        self._goes_on: set[int] = set()
        self._pull = PULL
        return super().attach(view)

    def on_step(self, worker: int) -> Iterable[Effect]:
        """Its flag is known; showing it takes a while."""
        view, significance = self.view, self._significance[worker]
        self._goes_on.discard(worker)
        change = significance.after(sum_in_order(view.statistics[worker].block_norms))
        self._is_up[worker] = significance.step_count <= self.window or change >= self.threshold
        if self.flag_seconds:
            return (Alarm(view.now + self.flag_seconds, (worker, view.clock[worker])),)
        return self._shown(worker)

    def on_alarm(self, key: Hashable) -> Iterable[Effect]:
        """A flag is shown, unless its worker is gone."""
        worker, clock = cast("tuple[int, int]", key)
        if worker not in self.view.waiting or self.view.clock[worker] != clock or worker in self._goes_on:
            return ()
        return self._shown(worker)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """The last report ends the synchronisation."""
        del message
        return self._synchronised()

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """Others may have waited for one that is gone; one that comes has no history."""
        self._unshown.discard(worker)
        if worker in self.view.alive:
            self._flags.pop(worker, None)
            self._unshown.add(worker)
            self._significance[worker] = Significance(self.window, self.decay)
        return (*self._decided(), *self._synchronised())

    def gate(self, worker: int) -> bool:
        """The step is decided, and synchronised if need be."""
        return worker in self._goes_on

    def refresh(self, worker: int) -> Pull:
        """The mean, or its own model."""
        del worker
        return self._pull

    def _shown(self, worker: int) -> Iterable[Effect]:
        self._flags[worker] = self._is_up[worker]
        self._unshown.discard(worker)
        sends = self._is_up[worker] or self._synchronises
        return (*((self._report(worker),) if sends else ()), *self._decided())

    def _report(self, worker: int) -> Send:
        return Send(worker, spares_last_step=self.order == "before")

    def _decided(self) -> Iterable[Effect]:
        """Once all flags are shown: everybody sends who has not, or everybody goes on."""
        alive = self.view.alive
        if self._synchronises or not alive or self._unshown:
            return ()
        if any(self._flags.values()):
            self._synchronises = True
            return tuple(self._report(worker) for worker in sorted(alive) if not self._flags[worker])
        return (self._end_step(KEEP),)

    def _synchronised(self) -> Iterable[Effect]:
        if not self.view.has_every_report():
            return ()
        messages = tuple(message.uid for message in self.view.inbox_by_worker())
        return (Add(messages, (1 / len(messages),) * len(messages)), self._end_step(PULL))

    def _end_step(self, pull: Pull) -> Look:
        self._goes_on |= self.view.waiting
        self._flags.clear()
        self._unshown = set(self.view.alive)
        self._synchronises, self._pull = False, pull
        return Look()

    def guarantee(self) -> Guarantee:
        """Nobody is ahead, and what is applied was read in the version before."""
        return Guarantee(gap=1, staleness=0, deferral=0)
