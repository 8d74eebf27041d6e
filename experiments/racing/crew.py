"""A real race within one program: the server here, each life of a worker in a process that a fork server begins.

For studies and tests, which make many short runs: beginning all processes with torchrun takes longer than such a run.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from torch._C._distributed_c10d import TCPStore
from torch.distributed.distributed_c10d import PrefixStore

from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.real.keeping import Kept
from sparsync.experiments.engine.real.roads import Announcements
from sparsync.experiments.engine.real.server import Server
from sparsync.experiments.engine.real.wire import LostPeerError
from sparsync.experiments.racing.contest import Outcome, Race, outcome_of
from sparsync.experiments.racing.curve import Curve
from sparsync.experiments.racing.entries import Contestant, make_policy
from sparsync.experiments.racing.real import GRACE_SECONDS, Conditions, live, open_server
from sparsync.experiments.training.data import Dataset

_PATIENCE_SECONDS = 60.0
_PROCESSES = multiprocessing.get_context("forkserver")


class Deed(NamedTuple):
    """Something that is done to a worker.

    Args:
        seconds: after the run's begin.
        worker: its number.
        what: SIGKILL or SIGSTOP to its process; None begins another life of it.
    """

    seconds: float
    worker: int
    what: signal.Signals | None


class Crew:
    """The processes of all workers.

    Args:
        port: of the store, on this machine.
        race: the conditions.
        conditions: more of them.
    """

    def __init__(self, port: int, race: Race, conditions: Conditions) -> None:
        self._port, self._race, self._conditions = port, race, conditions
        self._lives: dict[int, BaseProcess] = {}
        self._stopped: list[BaseProcess] = []
        for worker in range(race.workers):
            self.begin(worker)

    def begin(self, worker: int) -> None:
        """A life of a worker."""
        process = _PROCESSES.Process(target=_life, args=(self._port, self._race, self._conditions, worker))
        process.start()
        self._lives[worker] = process

    def signal(self, worker: int, number: signal.Signals) -> None:
        """Kill or stop its newest life."""
        pid = self._lives[worker].pid
        assert pid is not None
        os.kill(pid, number)
        if number is signal.SIGSTOP:
            self._stopped.append(self._lives[worker])

    def disturb(self, deeds: Sequence[Deed]) -> None:
        """Do all this at its time, from now on."""
        began = time.monotonic()

        def run() -> None:
            for deed in sorted(deeds, key=lambda deed: deed.seconds):
                time.sleep(max(0.0, deed.seconds - (time.monotonic() - began)))
                if deed.what is None:
                    self.begin(deed.worker)
                else:
                    self.signal(deed.worker, deed.what)

        threading.Thread(target=run, name="deeds", daemon=True).start()

    def end(self) -> None:
        """The run is over: wait for the processes, as long as whoever looks after a worker does."""
        began = time.monotonic()
        for process in self._stopped:
            process.kill()
        for process in [*self._lives.values(), *self._stopped]:
            process.join(max(0.0, began + GRACE_SECONDS - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def real_crew(race: Race, conditions: Conditions) -> Iterator[tuple[Announcements, Crew]]:
    """The processes of all workers, and where they announce themselves; they end with the block."""
    _PROCESSES.set_forkserver_preload([__name__])
    # Left to itself the store listens for version 6. Where the name server did not answer, it then stood still for five
    # seconds at a time: 24 connections took as long in 240 runs, and none in 240 with version 4.
    listener = socket.create_server(("127.0.0.1", 0))
    port = int(listener.getsockname()[1])
    store = TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach())
    announcements = Announcements(PrefixStore("engine", store))
    crew = Crew(store.port, race, conditions)
    try:
        yield announcements, crew
    finally:
        announcements.end("done")
        crew.end()
        # A thread that still receives when Python ends would take the process down.
        for thread in threading.enumerate():
            if thread.name.startswith(("receive ", "send ")):
                thread.join(GRACE_SECONDS)


@contextmanager
def real_server(
    policy: Policy,
    race: Race,
    conditions: Conditions,
    kept: Kept | None = None,
    *,
    data: Dataset | None = None,
    steps: float = math.inf,
) -> Iterator[tuple[Server, Crew]]:
    """A server whose workers have come, and their processes.

    Args:
        policy: who sends and waits; belongs to this run from now on.
        race: the conditions.
        conditions: more of them.
        kept: what the server goes on from.
        data: the examples of `race.data`, if they are loaded already.
        steps: after which a worker leaves.

    Raises:
        ValueError: some workers have not come in time.
    """
    horizon = Horizon(seconds=race.seconds, steps=steps)
    with real_crew(race, conditions) as (announcements, crew):
        problem = race.make_problem(data)
        with open_server(race, conditions, policy, problem, horizon, announcements, kept) as server:
            yield server, crew


def race_for_real(
    race: Race, contestant: Contestant, conditions: Conditions, *, data: Dataset | None, deeds: Sequence[Deed] = ()
) -> Outcome:
    """What comes of a short real run.

    Args:
        race: the conditions.
        contestant: the policy and its parameters.
        conditions: more of them.
        data: the examples of `race.data`, see `Race.load_data`.
        deeds: that are done to workers meanwhile.

    Raises:
        ValueError: some workers have not come in time.
        Violation: the policy broke its guarantee.
        WorkerLostError: a worker was lost without which it does not go on.
        FloatingPointError: a gradient is not finite.
    """
    name, parameters = contestant
    with real_server(make_policy(name, parameters), race, conditions, data=data) as (server, crew):
        curve = Curve(server, seconds=race.seconds, points=race.points)
        crew.disturb(deeds)
        server.run(curve)
        server.finish()
        points = curve.measured(race.make_problem(data))
    return outcome_of(name, server, points, server.shared.layout)


def _life(port: int, race: Race, conditions: Conditions, worker: int) -> None:
    store = TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(seconds=_PATIENCE_SECONDS))
    announcements = Announcements(PrefixStore("engine", store))
    # What a lost server leads to is the server's affair, and no traceback of a worker's.
    with suppress(LostPeerError):
        try:
            live(race, conditions, worker, announcements, race.load_data())
        except ValueError as error:
            announcements.end(f"worker {worker} cannot begin: {error}")
    os._exit(0)
