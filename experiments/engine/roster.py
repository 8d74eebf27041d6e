"""Who is there, who has reported, and who is last? The counts behind the view's, kept up to date event by event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sparsync.experiments.engine.horizon import PolicyError
from sparsync.experiments.engine.view import Message, View


class Roster:
    """Keeps the members, the inbox and the progress of a view.

    Args:
        view: of which it writes `alive`, `inbox`, `settled`, `progress` and the counts of them.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._inbox_counts = [0] * view.worker_count
        """messages of this life in the inbox"""
        self._first_uids = [0] * view.worker_count
        """messages before these are of an earlier life: nobody waits for them, and they are no progress"""
        self._workers_at: Counter[int] = Counter()
        """workers alive, by progress"""

    def begin(self, present: Iterable[int]) -> None:
        """Who is there at the start."""
        self._view.alive.update(present)
        self._recount()

    def join(self, worker: int) -> None:
        """One more is there; its progress counts on from the least of the others."""
        view = self._view
        self._first_uids[worker], self._inbox_counts[worker] = sum(view.sent), 0
        view.settled[worker] = view.sent[worker]
        view.progress[worker] = min((view.progress[other] for other in view.alive), default=view.progress[worker])
        view.alive.add(worker)
        self._recount()

    def depart(self, worker: int) -> None:
        """One is gone; its messages are not."""
        view, progress = self._view, self._view.progress[worker]
        view.alive.remove(worker)
        view.waiting.discard(worker)
        view.alive_count -= 1
        view.reporting_count -= self._inbox_counts[worker] > 0
        self._workers_at[progress] -= 1
        if not self._workers_at[progress]:
            del self._workers_at[progress]
            self._find_extremes()

    def arrive(self, message: Message) -> None:
        """A message is in the inbox."""
        view, worker = self._view, message.worker
        view.inbox[message.uid] = message
        if message.uid < self._first_uids[worker]:
            return
        self._inbox_counts[worker] += 1
        view.reporting_count += self._inbox_counts[worker] == 1 and worker in view.alive

    def settle(self, uid: int) -> tuple[int, bool]:
        """A message leaves the inbox: of which worker, and is the least progress another now?

        Raises:
            PolicyError: it is not there.
        """
        view = self._view
        message = view.inbox.pop(uid, None)
        if message is None:
            raise PolicyError(f"message {uid} is not in the inbox")
        worker = message.worker
        if uid < self._first_uids[worker]:
            return worker, False
        view.settled[worker] += 1
        self._inbox_counts[worker] -= 1
        if worker not in view.alive:
            return worker, False
        view.reporting_count -= self._inbox_counts[worker] == 0
        return worker, self._advance(worker)

    def _advance(self, worker: int) -> bool:
        view, workers_at = self._view, self._workers_at
        before = view.progress[worker]
        view.progress[worker] = before + 1
        view.most_progress = max(view.most_progress, before + 1)
        workers_at[before + 1] += 1
        workers_at[before] -= 1
        if workers_at[before]:
            return False
        del workers_at[before]
        if before != view.least_progress:
            return False
        view.least_progress = before + 1
        return True

    def _recount(self) -> None:
        view = self._view
        self._workers_at = Counter(view.progress[worker] for worker in view.alive)
        view.alive_count = len(view.alive)
        view.reporting_count = sum(self._inbox_counts[worker] > 0 for worker in view.alive)
        self._find_extremes()

    def _find_extremes(self) -> None:
        self._view.least_progress = min(self._workers_at, default=0)
        self._view.most_progress = max(self._workers_at, default=0)
