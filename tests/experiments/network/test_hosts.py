"""Hosts have links of the rate that was asked for, count what passes, and are gone afterwards, however that comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from sparsync.experiments import hosts
from sparsync.experiments.hosts import Host, absence, remove_leftovers, slow_hosts
from tests.support.paths import ROOT

NEEDS_LINKS = pytest.mark.skipif(bool(absence()), reason=absence())
# All processes of a machine read one monotonic clock, in whatever namespace they are.
SENDER = """
import socket, sys, time
with socket.create_connection((sys.argv[1], 5000)) as server:
    print(time.monotonic(), flush=True)
    server.sendall(bytes(int(sys.argv[2])))
"""
RECEIVER = """
import socket, sys, time
with socket.create_server(("", 5000)) as server:
    print("ready", flush=True)
    peer, _ = server.accept()
    left = int(sys.argv[1])
    while left:
        left -= len(peer.recv(65536))
    print(time.monotonic())
"""
KILLED = """
import subprocess, time
from sparsync.experiments.hosts import slow_hosts
with slow_hosts(2, 100) as (first, _):
    left = subprocess.Popen([*first.prefix, "sleep", "600"], start_new_session=True)
    print(left.pid, flush=True)
    time.sleep(600)
"""


def own_namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.startswith(f"sparsync-{os.getpid()}-")]


def bucket(space: str, interface: str) -> str:
    """What limits the rate of an interface."""
    words = ["tc", "-n", space, "qdisc", "show", "dev", interface]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("host_count", "rates", "message"),
    [
        (0, (100,), "from 1 to 250, got 0"),
        (251, (100,), "got 251"),
        (2, (0,), "positive, got 0"),
        (2, (100, float("inf")), "got inf"),
        (3, (100, 10), "one rate, or one for each of 3 hosts, got 2"),
        (2, (), "got 0"),
    ],
)
def test_links_that_cannot_be_are_refused(host_count: int, rates: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message), slow_hosts(host_count, *rates):
        pass


def test_a_process_on_no_host_is_told_no_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(hosts.RATES_VARIABLE, raising=False)
    assert hosts.told_rates() == ()
    monkeypatch.setenv(hosts.RATES_VARIABLE, "100 2.5")
    assert hosts.told_rates() == (100.0, 2.5)


def test_hosts_are_in_the_order_in_which_torchrun_numbers_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_run", lambda *_: "")
    with slow_hosts(12, 100) as found:
        addresses = [host.address for host in found]
    assert addresses == sorted(addresses)
    assert len(set(addresses)) == 12
    assert addresses[0] == "192.0.2.1"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda tool: f"/usr/sbin/{tool}")
    assert absence() == "slow links need root"
    monkeypatch.setattr("shutil.which", lambda tool: None if tool == "tc" else f"/usr/sbin/{tool}")
    assert absence() == "slow links need tc (Debian: iproute2)"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert absence() == "slow links need Linux"


def test_a_process_runs_until_it_has_ended_though_nobody_has_asked_how() -> None:
    sleeps = subprocess.Popen(["sleep", "600"])
    begun = hosts._start_time(sleeps.pid)
    assert begun == hosts._start_time(sleeps.pid) != ""
    sleeps.kill()
    # Ended, but not waited for: a zombie.
    os.waitid(os.P_PID, sleeps.pid, os.WEXITED | os.WNOWAIT)
    assert hosts._start_time(sleeps.pid) == ""
    sleeps.wait()
    assert hosts._start_time(sleeps.pid) == ""


def test_only_what_dead_processes_left_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    own, begun = os.getpid(), hosts._start_time(os.getpid())
    # A process that ran before had the number of this one.
    dead = [f"sparsync-{own}-{int(begun) + 1}-abc-0", f"sparsync-{own}-{int(begun) + 1}-abc-hub"]
    alive = [f"sparsync-{own}-{begun}-abc-hub", "sparsync", "cni-1234", "sparsync-1-2-abc-0-mine"]
    monkeypatch.setattr(hosts, "_spaces", lambda: [*alive, *dead])
    removed: list[str] = []
    monkeypatch.setattr(hosts, "_remove", removed.extend)
    assert remove_leftovers() == removed == dead


@pytest.mark.parametrize("verb", ["pids", "del"])
def test_a_namespace_that_cannot_be_removed_is_named_and_the_others_are(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ["first", "second", "third"]

    def answer(words: tuple[str, ...], **options: Any) -> subprocess.CompletedProcess[str]:
        if words[2:] == (verb, "second"):
            raise subprocess.TimeoutExpired(words, options["timeout"])
        if words[2] == "del":
            left.remove(words[3])
        return subprocess.CompletedProcess(words, 0, "\n".join(left) if words[2] == "list" else "", "")

    monkeypatch.setattr(subprocess, "run", answer)
    with pytest.raises(RuntimeError, match=f"^ip netns {verb} second: it has not ended within 30 s$"):
        hosts._remove([*left, "gone"])
    assert left == ["second"]


def test_short_messages_take_the_time_of_the_link() -> None:
    assert hosts._bucket(1000) == ("rate", "1000000000bit", "burst", "125000", "latency", "200ms")
    # Two whole packets, or none could pass.
    assert hosts._bucket(1)[3] == "3028"


def interrupted(buckets: list[str]) -> None:
    with slow_hosts(2, 100) as found:
        assert len(own_namespaces()) == 3
        buckets += [bucket(host.space, hosts.LINK) for host in found]
        buckets += [bucket(found[0].space[:-1] + "hub", f"port{place}") for place in (0, 1)]
        raise KeyboardInterrupt


@NEEDS_LINKS
def test_links_are_limited_at_both_ends_and_leave_nothing_behind_when_interrupted() -> None:
    buckets: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(buckets)
    assert ["tbf" in bucket and "rate 100Mbit" in bucket for bucket in buckets] == [True] * 4
    assert own_namespaces() == []


@NEEDS_LINKS
def test_each_host_has_a_link_of_its_own_rate() -> None:
    with slow_hosts(2, 100, 4) as found:
        buckets = [bucket(host.space, hosts.LINK) for host in found]
        buckets += [bucket(found[0].space[:-1] + "hub", f"port{place}") for place in (0, 1)]
    rates = ["rate 100Mbit", "rate 4Mbit"] * 2
    assert [rate in bucket for rate, bucket in zip(rates, buckets, strict=True)] == [True] * 4
    assert [host.mbit_per_second for host in found] == [100, 4]


@NEEDS_LINKS
def test_links_that_the_system_refuses_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_QUEUE_MILLISECONDS", "none ")
    with pytest.raises(RuntimeError, match="tc -n sparsync-"), slow_hosts(2, 100):
        pass
    assert own_namespaces() == []


@NEEDS_LINKS
def test_a_link_takes_the_time_of_its_rate_and_counts_what_passes() -> None:
    size, rate = 500_000, 40.0
    with slow_hosts(3, rate) as (sender, receiver, idle):
        seconds = sent_seconds(sender, receiver, size)
        sent, received, other = (host.traffic() for host in (sender, receiver, idle))
    # Less what two buckets let through at once; and if other work holds it up, not longer than half a minute.
    assert 8 * (size - 2 * 5000) / (1e6 * rate) < seconds < 30
    # What one host sends the other receives; each packet has 66 bytes beside what it carries, or 74 to begin with, and
    # nobody else is told more than who is where.
    assert size + 66 * size / 65536 < sent.sent_bytes < 1.1 * size
    assert received.received_bytes == pytest.approx(sent.sent_bytes, rel=0.01)
    assert other.received_bytes < 1000


def sent_seconds(sender: Host, receiver: Host, size: int) -> float:
    """How long some bytes take from one host to another, from before the first is sent until the last is there."""
    words = [*receiver.prefix, sys.executable, "-c", RECEIVER, str(size)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        words = [*sender.prefix, sys.executable, "-c", SENDER, receiver.address, str(size)]
        began = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
        return float(process.stdout.readline()) - float(began)


@NEEDS_LINKS
def test_what_a_killed_process_left_is_found_and_removed() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        left = int(process.stdout.readline())
        assert psutil.pid_exists(left)
        process.send_signal(signal.SIGKILL)
    spaces = [name for name in remove_leftovers() if name.startswith(f"sparsync-{process.pid}-")]
    assert len(spaces) == 3
    assert not any(Path("/run/netns", name).exists() for name in spaces)
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE
