"""Hosts with real, slow links on one machine: network namespaces at a bridge, a token bucket at either end of a link.

Needs root and Linux. A host has one interface, a virtual one whose other end is at a bridge in a namespace of its own;
buckets limit what leaves the host and what reaches it. Addresses are those that RFC 5737 keeps for examples, and
nothing leads out. Latency is what the machine takes; none is added. A namespace bears the name of the process that made
it: what a killed one left is removed by the next that asks for hosts. Commands in a host are told the rates of all.
"""

from __future__ import annotations

import math
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sparsync.verify.tools.interrupts import interrupts_held_back

LINK = "slow0"
"""The interface of every host."""
RATES_VARIABLE = "SPARSYNC_LINKS_MBIT"
"""Of the environment on hosts: the rate of each one's link, in their order."""
MOST_HOSTS = 250
PACKET_BYTES = 1514
"""An Ethernet frame with 1500 bytes inside."""
_BURST_SECONDS = 0.001
_BURST_PACKETS = 2
_QUEUE_MILLISECONDS = 200
_COMMAND_SECONDS = 30
_ENDING_SECONDS = 30
_POLL_SECONDS = 0.02
_NAME = re.compile(r"sparsync-(\d+)-(\d+)-[0-9a-f]+-(?:\d+|hub)")


class Traffic(NamedTuple):
    """What an interface has carried, in Ethernet frames; one that is cut up only behind it counts as a long one."""

    sent_bytes: int
    sent_packets: int
    received_bytes: int
    received_packets: int


@dataclass(frozen=True)
class Host:
    """A network namespace.

    Args:
        space: its name.
        address: of its interface.
        mbit_per_second: rate of its link, in either direction.
    """

    space: str
    address: str
    mbit_per_second: float = math.inf

    @property
    def prefix(self) -> tuple[str, ...]:
        """Of a command that is to run there."""
        return ("ip", "netns", "exec", self.space)

    @property
    def environment(self) -> dict[str, str]:
        """What a process there is told: gloo's interface; no GPU, unless the caller's environment names some."""
        told = {"GLOO_SOCKET_IFNAME": LINK}
        defaults = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        return told | {name: os.environ.get(name, value) for name, value in defaults.items()}

    def traffic(self) -> Traffic:
        """What its interface has carried so far."""
        return Traffic(*map(int, _run(*self.prefix, "cat", *map(str, _counters())).split()))


def absence() -> str:
    """Why there can be no slow links here; empty if there can."""
    if not sys.platform.startswith("linux"):
        return "slow links need Linux"
    if missing := [tool for tool in ("ip", "tc") if shutil.which(tool) is None]:
        return f"slow links need {' and '.join(missing)} (Debian: iproute2)"
    return "" if os.geteuid() == 0 else "slow links need root"


def own_traffic() -> Traffic:
    """What the interface of the host has carried on which this process runs.

    Raises:
        FileNotFoundError: it runs on none.
    """
    return Traffic(*(int(counter.read_text(encoding="ascii")) for counter in _counters()))


def _counters() -> list[Path]:
    names = ("tx_bytes", "tx_packets", "rx_bytes", "rx_packets")
    return [Path("/sys/class/net", LINK, "statistics", name) for name in names]


def told_rates() -> tuple[float, ...]:
    """Mbit/s of every host's link, as this process was told; none where it runs on no host."""
    return tuple(map(float, os.environ.get(RATES_VARIABLE, "").split()))


@contextmanager
def slow_hosts(host_count: int, *mbit_per_second: float) -> Iterator[list[Host]]:
    """Hosts each of which sends so much at most, and receives so much, whoever it is from.

    Args:
        host_count: how many.
        mbit_per_second: one rate for all links, or one for each host.

    Raises:
        ValueError: no host or too many, another number of rates, or a rate that is not positive.
        RuntimeError: the system refuses, with its words, or does not answer.
    """
    require_links(host_count, *mbit_per_second)
    remove_leftovers()
    own = f"sparsync-{os.getpid()}-{_start_time(os.getpid())}-{secrets.token_hex(3)}"
    hub = f"{own}-hub"
    rates = mbit_per_second if len(mbit_per_second) > 1 else mbit_per_second * host_count
    # torchrun numbers nodes in the order of their addresses as text: rank r is to be on host r.
    addresses = sorted(f"192.0.2.{1 + place}" for place in range(host_count))
    hosts = [Host(f"{own}-{place}", *link) for place, link in enumerate(zip(addresses, rates, strict=True))]
    try:
        for space in (hub, *(host.space for host in hosts)):
            _run("ip", "netns", "add", space)
        _run("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        _bring_up(hub, "bridge")
        for place, host in enumerate(hosts):
            _connect(hub, f"port{place}", host)
        yield hosts
    finally:
        with interrupts_held_back():
            _remove([hub, *(host.space for host in hosts)])


def require_links(host_count: int, *mbit_per_second: float) -> None:
    """Refuse hosts that cannot be, see `slow_hosts`.

    Raises:
        ValueError: no host or too many, another number of rates, or a rate that is not positive.
    """
    if not 1 <= host_count <= MOST_HOSTS:
        raise ValueError(f"hosts must be from 1 to {MOST_HOSTS}, got {host_count}")
    if len(mbit_per_second) not in (1, host_count):
        raise ValueError(f"links need one rate, or one for each of {host_count} hosts, got {len(mbit_per_second)}")
    for rate in mbit_per_second:
        if not 0 < rate < math.inf:
            raise ValueError(f"the rate of a link must be positive, got {rate}")


def _connect(hub: str, port: str, host: Host) -> None:
    """Lay a link between a host and the bridge."""
    peer = ("peer", "name", LINK, "netns", host.space)
    _run("ip", "-n", hub, "link", "add", port, "type", "veth", *peer)
    for space, interface in ((hub, port), (host.space, LINK)):
        limit = ("root", "tbf", *_bucket(host.mbit_per_second))
        _run("tc", "-n", space, "qdisc", "add", "dev", interface, *limit)
        _bring_up(space, interface)
    _run("ip", "-n", hub, "link", "set", "dev", port, "master", "bridge")
    _run("ip", "-n", host.space, "addr", "add", f"{host.address}/24", "dev", LINK)
    _run("ip", "-n", host.space, "link", "set", "dev", "lo", "up")


def _bring_up(space: str, interface: str) -> None:
    # No address of IPv6, which gloo might take.
    _run("ip", "-n", space, "link", "set", "dev", interface, "addrgenmode", "none")
    _run("ip", "-n", space, "link", "set", "dev", interface, "up")


def _bucket(mbit_per_second: float) -> tuple[str, ...]:
    """The words of a rate; at once passes what the link carries in a millisecond, so that short messages take time."""
    bits = 1e6 * mbit_per_second
    burst = max(_BURST_PACKETS * PACKET_BYTES, math.ceil(_BURST_SECONDS * bits / 8))
    return ("rate", f"{bits:.0f}bit", "burst", str(burst), "latency", f"{_QUEUE_MILLISECONDS}ms")


def remove_leftovers() -> list[str]:
    """Remove the namespaces of processes that are gone, end what still runs there, and return their names.

    Raises:
        RuntimeError: some cannot be removed; all others are.
    """
    left = [space for space in _spaces() if (found := _NAME.fullmatch(space)) and not _is_owned(found)]
    _remove(left)
    return left


def _is_owned(name: re.Match[str]) -> bool:
    """The process still runs, and is not another of the same number."""
    return _start_time(int(name[1])) == name[2]


def _start_time(process: int) -> str:
    """When a process began, in ticks since the system did; empty if it is gone, or a zombie."""
    try:
        facts = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    # The name before them may hold anything, parentheses too.
    state, *others = facts.rpartition(")")[2].split()
    return "" if state in "ZX" else others[18]


def _spaces() -> list[str]:
    return [line.split()[0] for line in _run("ip", "netns", "list").splitlines() if line]


def _remove(spaces: Sequence[str]) -> None:
    """Delete those that exist, with their interfaces and whatever runs there.

    Raises:
        RuntimeError: some cannot be deleted; all others are.
    """
    there, failures = set(_spaces()), list[str]()
    for space in spaces:
        if space in there:
            try:
                _delete(space)
            except RuntimeError as error:
                failures.append(str(error))
    if failures:
        raise RuntimeError("; ".join(failures))


def _delete(space: str) -> None:
    end_processes([space])
    try:
        _run("ip", "netns", "del", space)
    except RuntimeError:
        # Another process may have looked for leftovers meanwhile.
        if space in _spaces():
            raise


def end_processes(spaces: Sequence[str]) -> None:
    """Kill all that runs there; what was just started may start others, so it is looked for until there is nothing.

    Raises:
        RuntimeError: some are still there after half a minute.
    """
    deadline = time.monotonic() + _ENDING_SECONDS
    while running := [process for space in spaces for process in _processes(space)]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes {running} do not end")
        for process in running:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _processes(space: str) -> list[int]:
    """Those that run in a namespace; none if it has just gone, or never became whole."""
    return [int(word) for word in _finished("ip", "netns", "pids", space).stdout.split()]


def _run(*words: str) -> str:
    finished = _finished(*words)
    if finished.returncode:
        raise RuntimeError(f"{' '.join(words)}: {finished.stderr.strip()}")
    return finished.stdout


def _finished(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        # A session of its own: a terminal's interrupt must not end it halfway.
        return subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=_COMMAND_SECONDS, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{' '.join(words)}: it has not ended within {_COMMAND_SECONDS} s") from None
