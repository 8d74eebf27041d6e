"""torchrun across hosts with slow links, all on this machine: a cluster for who has none.

    python -m sparsync.experiments.network --hosts 4 --mbit 100 -- -m sparsync.experiments.train --run-name fnn3_top_k …

Needs root and Linux; see `hosts.py`. Every host has an agent of torchrun with one rank, and they meet by its c10d
rendezvous: rank r is on host r. With `--mbit 100 100 100 10` the last link is slower than the others. What each
interface has carried is printed at the end.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.hosts import (
    RATES_VARIABLE,
    Host,
    Traffic,
    absence,
    end_processes,
    require_links,
    slow_hosts,
)
from sparsync.experiments.training.record import readable_size
from sparsync.verify.tools.interrupts import interrupts_held_back

AFTER_FAILURE_SECONDS = 60.0
"""How long other hosts may go on once one has failed."""
_POLL_SECONDS = 0.05
_SHOWN_CHARACTERS = 2000
_RENDEZVOUS_PORT = 29400
_STREAMS = ("output", "errors")


@dataclass(frozen=True)
class HostResult:
    """How a command ended on a host.

    Args:
        host: where.
        status: 0, or what it failed with; negative is a signal.
        output: all that it printed; empty where it was shown instead.
        errors: likewise, to standard error.
    """

    host: Host
    status: int
    output: str
    errors: str


def run_across(
    hosts: Sequence[Host],
    command: Sequence[str],
    timeout_seconds: float,
    *,
    environment: Mapping[str, str] | None = None,
    shown: bool = False,
    after_failure_seconds: float = AFTER_FAILURE_SECONDS,
) -> list[HostResult]:
    """Run torchrun on every host, one agent and one rank each, meeting at the first; how each ended, in order.

    Args:
        hosts: of `slow_hosts`; whatever runs there at the end is killed.
        command: the script or `-m module` with its arguments; options of torchrun may stand before it.
        timeout_seconds: for all of it.
        environment: variables added to this process's own and to the host's.
        shown: output goes where this process's does, instead of into the results.
        after_failure_seconds: then the other hosts' processes are killed, should they go on.

    Raises:
        RuntimeError: not all hosts have ended in time; their last words are quoted.
    """
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, started = Path(name), list[subprocess.Popen[bytes]]()
        # Registered first: an interrupt may come between two starts.
        stack.callback(_end, hosts, started)
        rates = {RATES_VARIABLE: " ".join(f"{host.mbit_per_second:g}" for host in hosts)}
        for place, host in enumerate(hosts):
            output, errors = (
                None if shown else stack.enter_context((folder / f"{stream}-{place}").open("wb")) for stream in _STREAMS
            )
            variables = {**os.environ, **host.environment, **rates, **_APART, **(environment or {})}
            words = [*host.prefix, *_launcher(hosts, place), *command]
            started.append(subprocess.Popen(words, env=variables, start_new_session=True, stdout=output, stderr=errors))
        late = _wait(started, timeout_seconds, after_failure_seconds)
        _end(hosts, started)
        texts = [[_text(folder / f"{stream}-{place}") for stream in _STREAMS] for place in range(len(hosts))]
    if late:
        said = "\n".join(texts[place][1][-_SHOWN_CHARACTERS:] for place in late)
        raise RuntimeError(f"hosts {late} have not ended within {timeout_seconds:g} s:\n{said}")
    return [
        HostResult(host, process.returncode, *text) for host, process, text in zip(hosts, started, texts, strict=True)
    ]


_APART = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
"""Ranks have a store of their own: in that of torch 2.13 agents restarted ones would find addresses of lost ones."""


def _launcher(hosts: Sequence[Host], place: int) -> list[str]:
    """torchrun on one of the hosts. No host has a name, so each is told its address, and the first that it is that."""
    options = {
        "--nnodes": str(len(hosts)),
        "--nproc-per-node": "1",
        "--rdzv-backend": "c10d",
        "--rdzv-endpoint": f"{hosts[0].address}:{_RENDEZVOUS_PORT}",
        "--rdzv-id": hosts[0].space,
        "--rdzv-conf": f"is_host={int(place == 0)}",
        "--local-addr": hosts[place].address,
    }
    return [sys.executable, "-m", "torch.distributed.run", *(word for option in options.items() for word in option)]


def _wait(
    started: Sequence[subprocess.Popen[bytes]], timeout_seconds: float, after_failure_seconds: float
) -> list[int]:
    """Until all have ended, or had time enough after a failure; those that outlived the timeout."""
    deadline, failed = time.monotonic() + timeout_seconds, math.inf
    while None in (statuses := [process.poll() for process in started]):
        now = time.monotonic()
        if any(statuses):
            failed = min(failed, now)
        if now > failed + after_failure_seconds:
            return []
        if now > deadline:
            return [place for place, status in enumerate(statuses) if status is None]
        time.sleep(_POLL_SECONDS)
    return []


def _end(hosts: Sequence[Host], started: Sequence[subprocess.Popen[bytes]]) -> None:
    with interrupts_held_back():
        # One that was just started has not entered its namespace yet.
        for process in started:
            process.kill()
        end_processes([host.space for host in hosts])
        for process in started:
            process.wait()


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


@dataclass(frozen=True)
class NetworkCommand:
    """A parsed command line.

    Raises:
        ValueError: a number out of range.
    """

    hosts: int = 4
    """how many, with one rank each"""
    mbit: tuple[float, ...] = (100.0,)
    """rate of each link in either direction, Mbit/s: one for all, or one for each host"""
    timeout: float = 86400.0
    """seconds after which everything is ended"""

    def __post_init__(self) -> None:
        require_links(self.hosts, *self.mbit)
        if not 0 < self.timeout < math.inf:
            raise ValueError(f"timeout must be positive, got {self.timeout}")


def read(arguments: Sequence[str] | None = None) -> tuple[NetworkCommand, list[str]]:
    """Parse the command line (None: the process's own): what is ours, and what torchrun is given.

    Raises:
        ValueError: nothing follows `--`, or a number is out of range.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    cut = words.index("--") if "--" in words else len(words)
    command = tyro.cli(
        NetworkCommand,
        prog="python -m sparsync.experiments.network",
        description="Run torchrun across hosts with slow links; its arguments follow `--`.",
        args=words[:cut],
    )
    if not words[cut + 1 :]:
        raise ValueError("what torchrun is to run follows `--`, as in: --mbit 100 -- script.py --epochs 3")
    return command, words[cut + 1 :]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; its status is that of the first host that failed."""
    with exit_on_bad_input():
        command, words = read(arguments)
        if reason := absence():
            raise ValueError(reason)
        try:
            with slow_hosts(command.hosts, *command.mbit) as hosts:
                began = time.monotonic()
                results = run_across(hosts, words, command.timeout, shown=True)
                seconds, carried = time.monotonic() - began, [host.traffic() for host in hosts]
        except RuntimeError as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(1)
        Console().print(table(command, results, carried, seconds))
        if failed := [result.status for result in results if result.status]:
            sys.exit(failed[0] if failed[0] > 0 else 1)


def table(command: NetworkCommand, results: Sequence[HostResult], carried: Sequence[Traffic], seconds: float) -> Table:
    """A row for each host: how it ended, and what its interface carried, those of meeting and of torchrun included."""
    rates = " ".join(f"{rate:g}" for rate in command.mbit)
    shown = Table(title=f"{command.hosts} hosts, {rates} Mbit/s, {seconds:.1f} s")
    for heading in ("host", "status", "sent", "received"):
        shown.add_column(heading, justify="left" if heading == "host" else "right")
    for result, traffic in zip(results, carried, strict=True):
        sizes = (readable_size(traffic.sent_bytes), readable_size(traffic.received_bytes))
        shown.add_row(result.host.address, str(result.status), *sizes)
    return shown


if __name__ == "__main__":
    main()
