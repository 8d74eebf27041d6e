"""A slow link on one machine: two network namespaces, a pair of virtual interfaces, a token bucket at either end.

Needs root and Linux. All addresses are of the namespaces made here (those that RFC 5737 keeps for examples), which
have no way out; the namespaces are gone at the end, however it comes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sparsync.experiments.studies.hooks.ranks import Place
from sparsync.verify.tools.interrupts import interrupts_held_back

_BURST_BYTES = 64 * 1024
"""What passes at once; a packet as the virtual interface hands it on has up to 64 KiB."""
_QUEUE_MILLISECONDS = 200
_COMMAND_SECONDS = 30


def absence() -> str:
    """Why there can be no slow link here; empty if there can."""
    if missing := [tool for tool in ("ip", "tc") if shutil.which(tool) is None]:
        return f"the slow link needs {' and '.join(missing)} (Debian: iproute2)"
    return "" if os.geteuid() == 0 else "the slow link needs root"


@contextmanager
def slow_link(mbit_per_second: float) -> Iterator[list[Place]]:
    """Two places for ranks with a link between them that carries so much in each direction.

    Raises:
        ValueError: a rate that is not positive.
        RuntimeError: the system refuses, with its words.
    """
    if not 0 < mbit_per_second < float("inf"):
        raise ValueError(f"the rate of the link must be positive, got {mbit_per_second}")
    spaces = [f"sparsync-{os.getpid()}-{end}" for end in (0, 1)]
    interfaces = [f"sps{os.getpid()}{end}" for end in "ab"]
    try:
        for space in spaces:
            _run("ip", "netns", "add", space)
        peer = ("peer", "name", interfaces[1], "netns", spaces[1])
        _run("ip", "-n", spaces[0], "link", "add", interfaces[0], "type", "veth", *peer)
        for end, (space, interface) in enumerate(zip(spaces, interfaces, strict=True)):
            _set_up(space, interface, f"192.0.2.{1 + end}/30", mbit_per_second)
        yield [
            Place(("ip", "netns", "exec", space), {"GLOO_SOCKET_IFNAME": interface})
            for space, interface in zip(spaces, interfaces, strict=True)
        ]
    finally:
        with interrupts_held_back():
            _remove(spaces)


def _set_up(space: str, interface: str, address: str, mbit_per_second: float) -> None:
    _run("ip", "-n", space, "link", "set", "lo", "up")
    # No address of IPv6, which gloo might take.
    _run("ip", "-n", space, "link", "set", interface, "addrgenmode", "none")
    _run("ip", "-n", space, "addr", "add", address, "dev", interface)
    _run("ip", "-n", space, "link", "set", interface, "up")
    bucket = ("rate", f"{1e6 * mbit_per_second:.0f}bit", "burst", str(_BURST_BYTES))
    bound = ("latency", f"{_QUEUE_MILLISECONDS}ms")
    _run("tc", "-n", space, "qdisc", "add", "dev", interface, "root", "tbf", *bucket, *bound)


def _remove(spaces: Sequence[str]) -> None:
    """Delete those that exist, with their interfaces."""
    there = {line.split()[0] for line in _run("ip", "netns", "list").splitlines() if line}
    for space in spaces:
        if space in there:
            _run("ip", "netns", "del", space)


def _run(*words: str) -> str:
    # A session of its own: a terminal's interrupt must not end it halfway.
    finished = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=_COMMAND_SECONDS, start_new_session=True
    )
    if finished.returncode:
        raise RuntimeError(f"{' '.join(words)}: {finished.stderr.strip()}")
    return finished.stdout
