"""How do processes find each other, again and again? A store where each life of a worker is announced, and groups.

A worker that begins a life announces it under its number; the server, which looks there, makes a group of two with it.
Members that mix make a group with each other, named after their lives. Where one process of a group dies, the group is
gone, and no other. A worker also counts up a pulse, so that one that is stopped, which keeps its connections, is known
from one that computes.

Headers, messages and whatever members tell each other lie in the host's memory, which gloo carries, also where models
are broadcast between GPUs by NCCL. NCCL alone would carry neither, and a group of it notices no process that dies.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import cast

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import TCPStore
from torch.distributed.distributed_c10d import PrefixStore, Store

from sparsync.experiments.engine.real.broadcasts import BroadcastGroup, Collective
from sparsync.experiments.engine.real.wire import SILENCE, Channel, LostPeerError

PULSE_SECONDS = 0.5
_LOOK_SECONDS = PULSE_SECONDS / 2
_HOST = torch.device("cpu")


def find_store(timeout_seconds: float) -> Store:
    """The store of the job that torchrun has started.

    Raises:
        ValueError: there is no such job.
    """
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE") if name not in os.environ]
    if missing:
        raise ValueError(f"start this command with torchrun; {', '.join(missing)} is not set")
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    is_master = os.environ["RANK"] == "0" and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    store = TCPStore(
        host, port, is_master=is_master, wait_for_workers=False, timeout=timedelta(seconds=timeout_seconds)
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"engine/{attempt}", store)


class Announcements:
    """Who is there, as the store says.

    Args:
        store: of this attempt of the job.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def announce(self, worker: int) -> int:
        """A worker begins another life; which, from 0."""
        return self._store.add(f"lives/{worker}", 1) - 1

    def lives(self, worker: int) -> int:
        """How many lives the worker has begun."""
        return self._store.add(f"lives/{worker}", 0)

    def beat(self, worker: int, incarnation: int) -> None:
        """One more pulse of this life of the worker."""
        self._store.add(f"pulse/{worker}/{incarnation}", 1)

    def pulse(self, worker: int, incarnation: int) -> int:
        """How many there have been."""
        return self._store.add(f"pulse/{worker}/{incarnation}", 0)

    def end(self, verdict: str) -> None:
        """The run is over: "done", or why not."""
        self._store.set("end", verdict)

    def hear(self) -> None:
        """This process knows the verdict, and has said it where it is an error."""
        self._store.add("heard", 1)

    def wait_for_hearing(self, process_count: int, seconds: float) -> None:
        """Until so many processes have heard, or for as long."""
        deadline = time.monotonic() + seconds
        while self._store.add("heard", 0) < process_count and time.monotonic() < deadline:
            time.sleep(PULSE_SECONDS / 10)

    def verdict(self) -> str | None:
        """See `end`; None while it goes on."""
        if not self._store.check(["end"]):
            return None
        return bytes(self._store.get("end")).decode()

    def is_over_within(self, seconds: float) -> bool:
        """Is there a verdict, or will there be one?"""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.verdict() is not None:
                return True
            time.sleep(PULSE_SECONDS / 10)
        return False

    def channel(self, worker: int, incarnation: int, *, is_server: bool, timeout_seconds: float) -> Channel:
        """This end of the way between the server and a life of a worker; the other must ask for it, too.

        Raises:
            RuntimeError: it did not, in time.
        """
        group = _group(self._store, f"pair/{worker}/{incarnation}", int(not is_server), 2, timeout_seconds)
        return Channel(group, is_server=is_server, worker=worker, incarnation=incarnation)

    def circle(
        self, members: Sequence[int], incarnations: Sequence[int], worker: int, timeout_seconds: float
    ) -> dist.ProcessGroup:
        """A group of lives of workers, in the order in which they are named; all of them must ask for it.

        Raises:
            RuntimeError: one did not, in time.
        """
        name = "-".join(f"{member}.{life}" for member, life in zip(members, incarnations, strict=True))
        return _group(self._store, f"circle/{name}", members.index(worker), len(members), timeout_seconds)

    def broadcasts(
        self, collective: Collective, *, rank: int, worker_count: int, timeout_seconds: float, device: torch.device
    ) -> BroadcastGroup:
        """An end of the group of the server, rank 0, and the first lives of all workers; all of them must ask for it.

        Where each has a GPU of its own, the device, it is NCCL's; on processors gloo's.

        Raises:
            LostPeerError: one did not, in time.
        """
        try:
            group = _group(self._store, "broadcasts", rank, worker_count + 1, timeout_seconds, device)
        except RuntimeError as error:
            raise LostPeerError(f"not all have met for broadcasts: {error}") from None
        return BroadcastGroup(group, collective, lambda body: body.to(device))


class Pulse:
    """A thread that shows that this process is not stopped, until it ends.

    Args:
        announcements: where.
        worker: whose.
        incarnation: of which of its lives.
    """

    def __init__(self, announcements: Announcements, worker: int, incarnation: int) -> None:
        self._over = threading.Event()
        self._announcements, self._worker, self._incarnation = announcements, worker, incarnation
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No more."""
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.is_set():
            try:
                self._announcements.beat(self._worker, self._incarnation)
            except RuntimeError:
                # The store went with the job.
                return
            self._over.wait(PULSE_SECONDS)


class Signs:
    """A thread that looks which lives of workers show that they are not stopped.

    A look that takes long, since the store does not answer or this process was stopped itself, tells nothing about
    workers, and counts for no longer than two usual ones.

    Args:
        announcements: where pulses are.
        patience_seconds: silence that is no cause for concern.
    """

    def __init__(self, announcements: Announcements, patience_seconds: float) -> None:
        self._announcements, self._patience_seconds = announcements, patience_seconds
        self._lock = threading.Lock()
        self._silent_seconds: dict[tuple[int, int], float] = {}
        self._pulses: dict[tuple[int, int], int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="signs", daemon=True)
        self._thread.start()

    def silent(self, lives: Mapping[int, int]) -> dict[int, float]:
        """The workers whose lives, numbered by worker, were silent for longer, and how long; never waits."""
        with self._lock:
            before = self._silent_seconds
            self._silent_seconds = {life: before.get(life, 0.0) for life in lives.items()}
            found = {worker: self._silent_seconds[worker, life] for worker, life in lives.items()}
        return {worker: seconds for worker, seconds in found.items() if seconds > self._patience_seconds}

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join(_LOOK_SECONDS)

    def _watch(self) -> None:
        looked = time.monotonic()
        while not self._over.wait(_LOOK_SECONDS):
            lives = list(self._silent_seconds)
            try:
                pulses = {life: self._announcements.pulse(*life) for life in lives}
            except RuntimeError:
                # The store went with the job.
                return
            now = time.monotonic()
            passed, looked = min(now - looked, 2 * _LOOK_SECONDS), now
            with self._lock:
                silent = self._silent_seconds
                for life in silent.keys() & pulses.keys():
                    silent[life] = silent[life] + passed if pulses[life] == self._pulses.get(life) else 0.0
            self._pulses = pulses


def _clone(store: Store) -> Store:
    """Another connection to it; PyTorch's stubs do not know that there can be one."""
    made: Store = getattr(store, "clone")()  # noqa: B009
    return made


def _group(
    store: Store, name: str, rank: int, size: int, timeout_seconds: float, device: torch.device = _HOST
) -> dist.ProcessGroup:
    # Who waits for others here must not keep this process's pulse, or its server, from the store.
    made = PrefixStore(name, _clone(store))
    made.set_timeout(timedelta(seconds=timeout_seconds))
    if device.type == "cuda":
        options = dist.ProcessGroupNCCL.Options()
        # Its watchdog would end a process that has waited for long.
        options._timeout = SILENCE
        return cast("dist.ProcessGroup", dist.ProcessGroupNCCL(made, rank, size, options))
    # How long members may take to come; whoever waits in the group says for how long itself.
    made_group = dist.ProcessGroupGloo(made, rank, size, timedelta(seconds=timeout_seconds))
    # PyTorch's stubs know the calls of a group, but not that this is one.
    return cast("dist.ProcessGroup", made_group)
