"""Real runs of policies: the server here, each life of a worker in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from torch._C._distributed_c10d import TCPStore
from torch.distributed.distributed_c10d import PrefixStore

from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.real.keeping import Kept
from sparsync.experiments.engine.real.roads import Announcements
from sparsync.experiments.engine.real.server import Server
from sparsync.experiments.racing.contest import QUADRATIC, Race
from sparsync.experiments.racing.real import GRACE_SECONDS, Conditions, live, open_server

PATIENCE_SECONDS = 60.0
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["sparsync.experiments.racing.real"])


def usual_race(**options: Any) -> Race:
    return Race(**{"workers": 4, "data": QUADRATIC, "seconds": 1.5, "cluster": "one_slow", **options})


def usual_conditions(**options: Any) -> Conditions:
    return Conditions(**{"unit_seconds": 0.02, "lost_after": 2.0, **options})


def _life(port: int, race: Race, conditions: Conditions, worker: int) -> None:
    # What a lost server leads to is the test's affair, and no traceback of a worker's.
    with suppress(Exception):
        store = TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(seconds=PATIENCE_SECONDS))
        live(race, conditions, worker, Announcements(PrefixStore("engine", store)))
    os._exit(0)


class Crew:
    """The processes of all workers."""

    def __init__(self, port: int, race: Race, conditions: Conditions) -> None:
        self._port, self._race, self._conditions = port, race, conditions
        self.lives: dict[int, BaseProcess] = {}
        self._stopped: list[BaseProcess] = []
        for worker in range(race.workers):
            self.begin(worker)

    def begin(self, worker: int) -> None:
        process = _PROCESSES.Process(target=_life, args=(self._port, self._race, self._conditions, worker))
        process.start()
        self.lives[worker] = process

    def signal(self, worker: int, number: signal.Signals) -> None:
        pid = self.lives[worker].pid
        assert pid is not None
        os.kill(pid, number)
        if number is signal.SIGSTOP:
            self._stopped.append(self.lives[worker])

    def end(self) -> None:
        began = time.monotonic()
        for process in self._stopped:
            process.kill()
        for process in [*self.lives.values(), *self._stopped]:
            # As long as whoever looks after a worker waits for it.
            process.join(max(0.0, began + GRACE_SECONDS - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()


@contextmanager
def real_server(
    policy: Policy, race: Race | None = None, conditions: Conditions | None = None, kept: Kept | None = None
) -> Iterator[tuple[Server, Crew]]:
    """A server whose workers have come, and their processes."""
    race, conditions = race or usual_race(), conditions or usual_conditions()
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    announcements = Announcements(PrefixStore("engine", store))
    crew = Crew(store.port, race, conditions)
    try:
        server = open_server(
            race, conditions, policy, race.make_problem(), Horizon(seconds=race.seconds), announcements, kept
        )
        yield server, crew
    finally:
        announcements.end("done")
        crew.end()
        # A thread that still receives when Python ends would take the process down.
        for thread in threading.enumerate():
            if thread.name.startswith(("receive ", "send ")):
                thread.join(GRACE_SECONDS)


def disturb(crew: Crew, deeds: list[tuple[float, Callable[[Crew], None]]]) -> threading.Thread:
    """Do something to the crew at some times, in seconds from now."""
    began = time.monotonic()

    def run() -> None:
        for at, deed in sorted(deeds, key=lambda item: item[0]):
            time.sleep(max(0.0, at - (time.monotonic() - began)))
            deed(crew)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def require_within(began: float, seconds: float) -> None:
    took = time.monotonic() - began
    if took > seconds:
        pytest.fail(f"took {took:.1f} s, promised were {seconds:g}")
