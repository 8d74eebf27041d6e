"""What do workers under bounded staleness do, event by event? A discrete-event simulation in exact arithmetic.

A worker asks its policy before every iteration; a push wakes those that wait. Nothing here knows the max-plus form of
the process or any bound: it is the second account that the statements of `theory/delay/staleness.py` are compared with.
Ours.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

Policy = Callable[[int, Sequence[int]], bool]
"""(worker, completed iterations of every worker) to "the worker may start its next iteration"."""
Durations = Sequence[Sequence[Fraction]]
"""By worker, then by iteration."""


@dataclass(frozen=True)
class Run:
    """What happened.

    Args:
        push_times: by worker, the time of each push.
        leads: after each push, the completed iterations of its worker minus the smallest count.
        starts: in order, which worker starts an iteration, and the completed iterations of every worker then.
    """

    push_times: tuple[tuple[Fraction, ...], ...]
    leads: tuple[int, ...]
    starts: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def makespan(self) -> Fraction:
        """Time of the last push."""
        return max(times[-1] for times in self.push_times)


def bounded_staleness(slack: int) -> Policy:
    """A worker may start if no other is more than `slack` iterations behind."""
    return lambda worker, completed: completed[worker] - min(completed) <= slack


def bounded_lead(limit: int, holds: Sequence[bool]) -> Policy:
    """A capricious policy that keeps leads at most `limit`: it holds workers as the list says, never the slowest.

    Args:
        limit: largest lead allowed after a push, at least 1.
        holds: read cyclically, one entry per question.
    """
    questions = count()

    def policy(worker: int, completed: Sequence[int]) -> bool:
        held = bool(holds) and holds[next(questions) % len(holds)]
        lead = completed[worker] - min(completed)
        return lead == 0 or (lead < limit and not held)

    return policy


def run(durations: Durations, policy: Policy) -> Run:
    """Simulate every iteration of every worker; all start at time 0.

    Raises:
        RuntimeError: the policy lets nobody start although iterations remain.
    """
    workers = range(len(durations))
    completed, waiting = [0] * len(durations), set(workers)
    push_times: list[list[Fraction]] = [[] for _ in workers]
    leads: list[int] = []
    starts: list[tuple[int, tuple[int, ...]]] = []
    events: list[tuple[Fraction, int, int]] = []
    order, now = count(), Fraction(0)
    while True:
        for worker in sorted(waiting):
            if completed[worker] < len(durations[worker]) and policy(worker, completed):
                waiting.remove(worker)
                starts.append((worker, tuple(completed)))
                heapq.heappush(events, (now + durations[worker][completed[worker]], next(order), worker))
        if not events:
            break
        now, _, worker = heapq.heappop(events)
        completed[worker] += 1
        waiting.add(worker)
        push_times[worker].append(now)
        leads.append(completed[worker] - min(completed))
    if completed != [len(own) for own in durations]:
        raise RuntimeError(f"the policy stopped all workers after {completed} iterations")
    return Run(push_times=tuple(map(tuple, push_times)), leads=tuple(leads), starts=tuple(starts))
