"""A race for real: what each process of it does. Rank 0 is the server, and rank r > 0 looks after worker r − 1.

Who looks after a worker starts it as a process of its own, so that its death is not that of the job, and begins another
life of it if that is asked for. It ends when the run does, with the run's own verdict.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, NoReturn, get_args

import torch

from sparsync.experiments import launcher
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Plan
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.layout import Layout
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Problem
from sparsync.experiments.engine.real.broadcasts import Broadcaster, Downlink
from sparsync.experiments.engine.real.keeping import Kept
from sparsync.experiments.engine.real.letters import read_shipment, shipment_bytes
from sparsync.experiments.engine.real.lines import Begun, Happening, Line
from sparsync.experiments.engine.real.roads import Announcements, Pulse, Signs
from sparsync.experiments.engine.real.server import Server
from sparsync.experiments.engine.real.wire import Channel, LostPeerError
from sparsync.experiments.engine.real.worker import Worker
from sparsync.experiments.engine.shared_model import SharedModel
from sparsync.experiments.engine.worker_vectors import WorkerVectors, layout_of
from sparsync.experiments.racing.contest import Race
from sparsync.experiments.training.data import Dataset

Slowness = Literal["sleep", "compute", "none"]
_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux."""
POLL_SECONDS = 0.1
VERDICT_SECONDS = 5.0
"""Within which a server that ends has said why, and all have heard it."""
GRACE_SECONDS = 2.0
"""For a worker to end by itself when the run is over."""
DONE = "done"
WORKER_VARIABLE = "SPARSYNC_WORKER"
"""Of the environment: which worker this process is a life of."""


@dataclass(frozen=True)
class Conditions:
    """What a real race has besides the conditions of a simulated one.

    Raises:
        ValueError: a field out of its range, named with its value.
    """

    slowness: Slowness = "sleep"
    """how a step comes to take as long as the cluster says: by sleeping, or by computing its gradient again"""
    unit_seconds: float = 0.1
    """real seconds of a usual worker's step, one second of the cluster"""
    lost_after: float = 10.0
    """seconds without a sign of life, after which a worker is given up"""
    rejoin_after: float | None = None
    """seconds after a worker's death until it begins another life; None: never"""
    device: Literal["cpu", "cuda"] = "cpu"
    """where workers compute the gradients of a network; with "cuda" rank r of a machine on its GPU r. Selection,
    messages and the shared model are the processors' all the same"""
    downlink: Downlink = "unicast"
    """how a shared model from which all workers go on at once is sent: to each of them ("unicast"), in a tree
    ("broadcast"), or in pieces that they pass round ("scatter_allgather")"""
    join_seconds: float = 300.0
    """how long all have time to come; the kernels are built meanwhile, if they have not been"""

    def __post_init__(self) -> None:
        for name in ("unit_seconds", "lost_after", "join_seconds"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be positive and finite, got {getattr(self, name)}")
        if self.rejoin_after is not None and not 0 <= self.rejoin_after < float("inf"):
            raise ValueError(f"rejoin_after must be at least 0 and finite, got {self.rejoin_after}")
        if self.downlink not in get_args(Downlink):
            raise ValueError(f"downlink must be one of {', '.join(get_args(Downlink))}, got {self.downlink!r}")


class Gate:
    """Where workers come in: a line is made to each life that is announced, and none waits for another's.

    Args:
        announcements: where they are.
        layout: of the model.
        worker_count: n.
        timeout_seconds: for one that has announced itself to come.
    """

    def __init__(
        self, announcements: Announcements, layout: Layout, *, worker_count: int, timeout_seconds: float
    ) -> None:
        self.happenings: queue.SimpleQueue[Happening] = queue.SimpleQueue()
        self._announcements, self._worker_count = announcements, worker_count
        self._most_bytes = 64 + 16 * layout.dimension * layout.dtype.itemsize
        self._timeout_seconds = timeout_seconds
        self._known = [0] * worker_count
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="gate", daemon=True)
        self._opening: list[threading.Thread] = []
        self._thread.start()

    def close(self) -> None:
        """Nobody else comes in."""
        self._is_closed.set()
        for thread in [self._thread, *self._opening]:
            thread.join(self._timeout_seconds)

    def first_lines(self, timeout_seconds: float) -> list[Line]:
        """To all workers, in their first lives.

        Raises:
            ValueError: some have not come in time.
        """
        lines: dict[int, Line] = {}
        deadline = time.monotonic() + timeout_seconds
        while len(lines) < self._worker_count:
            left = deadline - time.monotonic()
            if left <= 0:
                missing = sorted(set(range(self._worker_count)) - set(lines))
                raise ValueError(f"workers {missing} have not come within {timeout_seconds:g} s")
            try:
                happening = self.happenings.get(timeout=min(left, POLL_SECONDS))
            except queue.Empty:
                verdict = self._announcements.verdict()
                if verdict is not None:
                    raise ValueError(verdict) from None
                continue
            if not isinstance(happening.what, Begun):
                raise ValueError(f"worker {happening.worker} was lost before the run began")
            lines[happening.worker] = happening.what.line
        return [lines[worker] for worker in range(self._worker_count)]

    def _watch(self) -> None:
        while not self._is_closed.wait(POLL_SECONDS):
            for worker in range(self._worker_count):
                try:
                    lives = self._announcements.lives(worker)
                except RuntimeError:
                    return
                if lives > self._known[worker]:
                    # Of several lives only the last is there still.
                    self._known[worker] = lives
                    name, both = f"open {worker}.{lives - 1}", (worker, lives - 1)
                    self._opening.append(threading.Thread(target=self._open, name=name, args=both, daemon=True))
                    self._opening[-1].start()

    def _open(self, worker: int, life: int) -> None:
        # A worker that is not met in time begins another life.
        with suppress(RuntimeError):
            channel = self._announcements.channel(worker, life, is_server=True, timeout_seconds=self._timeout_seconds)
            if self._known[worker] == life + 1 and not self._is_closed.is_set():
                line = Line(channel, self.happenings.put, most_bytes=self._most_bytes)
                self.happenings.put(Happening(worker, life, Begun(line)))


@contextmanager
def open_server(
    race: Race,
    conditions: Conditions,
    policy: Policy,
    problem: Problem,
    horizon: Horizon,
    announcements: Announcements,
    kept: Kept | None = None,
) -> Iterator[Server]:
    """The server of a real race, once all workers have come. While it is open, others may come.

    Raises:
        ValueError: some have not come in time, or see `require_downlink`.
    """
    require_downlink(conditions.downlink, race, policy)
    descent = race.descent()
    layout = layout_of(problem, descent)
    rehearse(problem, descent, layout)
    gate = Gate(announcements, layout, worker_count=race.workers, timeout_seconds=conditions.lost_after)
    signs = Signs(announcements, conditions.lost_after)
    broadcaster = None
    try:
        lines = gate.first_lines(conditions.join_seconds)
        if conditions.downlink != "unicast":
            meet = partial(announcements.broadcasts, conditions.downlink, timeout_seconds=conditions.join_seconds)
            device = own_device(conditions.device)
            broadcaster = Broadcaster(partial(meet, rank=0, worker_count=race.workers, device=device))
        server: Server = Server(
            policy,
            SharedModel(problem.initial, layout, download=race.download),
            descent,
            horizon,
            lines=lines,
            happenings=gate.happenings,
            look_about=lambda: signs.silent(server.lives()),
            seed=race.seed,
            kept=kept,
            broadcaster=broadcaster,
        )
        yield server
    finally:
        gate.close()
        signs.stop()
        if broadcaster is not None:
            broadcaster.close()


def own_device(kind: Literal["cpu", "cuda"]) -> torch.device:
    """Where this process computes, see `Conditions`.

    Raises:
        ValueError: there is no GPU for it.
    """
    if kind == "cpu":
        return torch.device("cpu")
    local_rank, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if local_rank >= count:
        raise ValueError(f"local rank {local_rank} has no GPU, {count} present; --device cpu computes on processors")
    torch.cuda.set_device(local_rank)
    return torch.device(kind, local_rank)


def require_downlink(downlink: Downlink, race: Race, policy: Policy) -> None:
    """Refuse to send all workers the same where they do not go on from the same, or not all of them.

    Raises:
        ValueError: the policy has no barrier, or goes on without a lost worker; or each is sent what it lacks.
    """
    if downlink == "unicast":
        return
    name = type(policy).__name__
    if policy.tolerates_loss:
        raise ValueError(f"{name} goes on without a lost worker, {downlink} does not; leave --downlink out")
    if policy.is_decentralised or policy.guarantee().staleness:
        raise ValueError(f"{name} has no barrier at which all workers go on from one model; leave --downlink out")
    if race.download != "dense":
        raise ValueError(f"{downlink} sends all workers the same, a {race.download} download each what it lacks")


def rehearse(problem: Problem, descent: Descent, layout: Layout) -> None:
    """Make a message and read it, for nothing: so that nothing is built or loaded while others wait."""
    vectors = WorkerVectors(problem, descent, layout, worker=0, seed=0)
    vectors.step(0, Plan())
    shipment, _ = vectors.pack(None)
    body, is_sparse = shipment_bytes(shipment)
    read_shipment(body, is_sparse=is_sparse, blocks=None, layout=layout)


def live(
    race: Race, conditions: Conditions, worker: int, announcements: Announcements, data: Dataset | None = None
) -> None:
    """One life of a worker, in a process of its own.

    Raises:
        ValueError: see `own_device`.
        LostPeerError: the server is gone, or has given this life up.
        ParcelError: the server sent what none sends.
    """
    torch.set_num_threads(1)
    device = own_device(conditions.device)
    problem, descent = race.make_problem(data, device), race.descent()
    layout = layout_of(problem, descent)
    rehearse(problem, descent, layout)
    vectors = WorkerVectors(problem, descent, layout, worker=worker, seed=race.seed)
    channel = meet_server(announcements, worker, conditions)
    pulse = Pulse(announcements, worker, channel.incarnation)
    cluster = race.make_cluster()

    def delay(index: int, batch: float, seconds: float) -> None:
        asked = cluster.step_seconds(worker, index, batch) * conditions.unit_seconds
        if conditions.slowness == "sleep":
            time.sleep(max(0.0, asked - seconds))
        elif conditions.slowness == "compute":
            began = time.monotonic()
            while time.monotonic() - began < asked - seconds:
                problem.loss_and_gradient(worker, index, vectors.model, batch)

    try:
        broadcasts = None
        if conditions.downlink != "unicast":
            meet = partial(announcements.broadcasts, conditions.downlink, timeout_seconds=conditions.join_seconds)
            broadcasts = meet(rank=worker + 1, worker_count=race.workers, device=device)
        Worker(
            vectors,
            channel,
            announcements,
            delay=delay,
            timeout_seconds=conditions.lost_after,
            broadcasts=broadcasts,
        ).live()
    except LostPeerError:
        # The server ends when the run does, and waits for nobody who computes.
        if not announcements.is_over_within(VERDICT_SECONDS):
            raise
    pulse.stop()


def meet_server(announcements: Announcements, worker: int, conditions: Conditions) -> Channel:
    """The way to the server, from a life of the worker that the server has met; one that it did not meet is over.

    They may miss each other: looking up a name can take as long as a worker may be silent, and PyTorch looks one up for
    each connection.

    Raises:
        RuntimeError: it did not come in time, or the run is over.
    """
    deadline = time.monotonic() + conditions.join_seconds
    while True:
        life, left = announcements.announce(worker), deadline - time.monotonic()
        try:
            seconds = min(2 * conditions.lost_after, max(left, POLL_SECONDS))
            return announcements.channel(worker, life, is_server=False, timeout_seconds=seconds)
        except RuntimeError:
            if time.monotonic() >= deadline or announcements.verdict() is not None:
                raise


def look_after(worker: int, conditions: Conditions, announcements: Announcements, command: Sequence[str]) -> str:
    """Keep a worker alive as long as it is asked for; the run's verdict.

    Args:
        worker: its number.
        conditions: of the race.
        announcements: where the verdict will be.
        command: what starts a life of the worker.

    Raises:
        ProcessLookupError: torchrun has ended.
    """
    environment = {**os.environ, WORKER_VARIABLE: str(worker)}
    signal.signal(signal.SIGTERM, _leave)
    child: subprocess.Popen[bytes] | None = _begin(command, environment)
    died_at = 0.0
    try:
        while (verdict := announcements.verdict()) is None:
            time.sleep(POLL_SECONDS)
            if os.getppid() != launcher():
                raise ProcessLookupError("torchrun has ended, and so does this worker")
            if child is not None and (status := child.poll()) is not None:
                if not announcements.lives(worker):
                    announcements.end(f"worker {worker} ended with status {status} before it had come")
                child, died_at = None, time.monotonic()
            may_rejoin = child is None and conditions.rejoin_after is not None
            if may_rejoin and time.monotonic() - died_at >= (conditions.rejoin_after or 0.0):
                child = _begin(command, environment)
        return verdict
    finally:
        _end(child)


def _leave(number: int, frame: object) -> NoReturn:
    """torchrun ends its processes by a signal that says nothing to those whom they have started."""
    del number, frame
    sys.exit(128 + signal.SIGTERM)


def _begin(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=environment, preexec_fn=_die_with_parent)


def _die_with_parent() -> None:
    """Where that can be had, which is on Linux: also if whoever looks after this process is killed."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def _end(child: subprocess.Popen[bytes] | None) -> None:
    if child is None:
        return
    with suppress(subprocess.TimeoutExpired):
        child.wait(timeout=GRACE_SECONDS)
    if child.poll() is None:
        # Not SIGTERM: a stopped process does not hear it.
        child.send_signal(signal.SIGKILL)
        child.wait()


def worker_command(arguments: Sequence[str]) -> list[str]:
    """What starts a life of a worker: this very command, which finds its number in the environment."""
    return [sys.executable, "-m", "sparsync.experiments.race_real", *arguments]
