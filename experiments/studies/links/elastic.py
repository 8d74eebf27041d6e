"""What happens to a run that loses a rank, then a node, and gets two nodes more? The steps it has done, by the clock.

`python -m sparsync.experiments.studies.links.elastic --output FILE` starts torchrun's agents on this machine, each as a
node with one rank; ranks and nodes are lost by SIGKILL. A run of ResNet-20 keeps a checkpoint now and then, and every
attempt goes on from the last. Read by `paper/studies/elastic.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil
import torch.distributed as dist
import tyro

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.verify.tools.provenance import provenance, require_output, write_json

DEADLINE_SECONDS = 300.0
_POLL_SECONDS = 0.1
_SHOWN_CHARACTERS = 2000
_SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    # Ranks have a store of their own: in that of the agents restarted ones would find addresses of lost ones.
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
}
_MEETING = "is_host=false,join_timeout=60,last_call_timeout=1,keep_alive_interval=2,keep_alive_max_attempt=4"
"""A node is taken for lost after eight seconds."""


class Nodes:
    """torchrun's agents on one machine, as on nodes of their own: each with one rank, all with one meeting place.

    Args:
        folder: where they write what they say; the run's checkpoints are in its folder `kept`.
        stack: ends with the last of them.
        command: what torchrun starts: a script, or `-m module`, with its arguments.
        most: how many nodes at once.
    """

    def __init__(self, folder: Path, stack: ExitStack, command: Sequence[str], *, most: int = 3) -> None:
        self._folder, self._stack, self._command, self._most = folder, stack, command, most
        # Held by no agent, so that any of them may be lost.
        self._store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]

    @property
    def checkpoints(self) -> Path:
        """The folder of the run's checkpoints."""
        return self._folder / "kept"

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Another node."""
        launcher = (
            *("--nnodes", f"1:{self._most}", "--nproc-per-node", "1", "--max-restarts", "5"),
            *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{self._store.port}"),
            *("--rdzv-conf", _MEETING, "--rdzv-id", "elastic"),
            *("--local-addr", "127.0.0.1", "--monitor-interval", "0.2"),
        )
        said = self._stack.enter_context((self._folder / f"{name}.txt").open("wb"))
        agent = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *launcher, *self._command],
            env={**os.environ, **_SETTINGS},
            stdout=said,
            stderr=said,
        )
        self._stack.callback(kill_node, agent)
        return agent

    def said_by(self, name: str) -> str:
        """A node's last words."""
        return (self._folder / f"{name}.txt").read_text(encoding="utf-8")[-_SHOWN_CHARACTERS:]

    def attempts(self) -> list[dict[str, Any]]:
        """All that were begun, see `Attempt`."""
        place = self.checkpoints / "attempts.json"
        found: list[dict[str, Any]] = (
            json.loads(place.read_text(encoding="utf-8"))["attempts"] if place.exists() else []
        )
        return found

    def reached(self) -> tuple[int, int] | None:
        """How many workers the last attempt has, and how many updates are done; None where none has begun."""
        attempts = self.attempts()
        place = self.checkpoints / f"reached-{len(attempts) - 1}"
        if not attempts or not place.exists():
            return None
        return attempts[-1]["worker_count"], int.from_bytes(place.read_bytes(), "little")

    def wait_for(self, step: int, worker_count: int, *, watch: Callable[[], object] = lambda: None) -> None:
        """Until an attempt with so many workers has done so many updates.

        Raises:
            TimeoutError: it has not within `DEADLINE_SECONDS`; what the nodes said last is quoted.
        """
        end = time.monotonic() + DEADLINE_SECONDS
        while True:
            watch()
            found = self.reached()
            if found is not None and found[0] == worker_count and found[1] >= step:
                return
            if time.monotonic() > end:
                said = [self.said_by(path.stem) for path in self._folder.glob("*.txt")]
                raise TimeoutError(f"no {worker_count} workers have come to step {step}: {self.attempts()}, {said}")
            time.sleep(_POLL_SECONDS)


def kill_node(agent: subprocess.Popen[bytes]) -> None:
    """An agent and its rank, as when a machine is lost."""
    if agent.poll() is None:
        ranks = psutil.Process(agent.pid).children(recursive=True)
        agent.kill()
        for rank in ranks:
            rank.kill()
    agent.wait()


def kill_rank(agent: subprocess.Popen[bytes]) -> None:
    """The rank of an agent alone."""
    for rank in psutil.Process(agent.pid).children(recursive=True):
        rank.kill()


SIZES: dict[ProfileName, tuple[int, int]] = {"smoke": (1200, 60), "quick": (2400, 250), "record": (2400, 250)}
"""Steps of the run, and from one checkpoint to the next. After each quarter of the steps something happens, and in the
last one there is time for nodes to come."""


@dataclass(frozen=True)
class ElasticCommand:
    """A parsed command line."""

    output: Path
    """where the JSON result goes; its folder must exist"""
    profile: Literal["smoke", "quick", "record"] = "quick"
    """how long the run is"""


class Diary:
    """What was seen of a run, in seconds from its start.

    Args:
        nodes: that it runs on.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes, self._began = nodes, time.monotonic()
        self._last: tuple[int, int] | None = None
        self.progress: list[tuple[float, int, int]] = []
        """when, how many updates were done, and by how many workers; where one of these changed"""
        self.events: list[tuple[float, str]] = []

    def watch(self) -> None:
        """Look how far the run is."""
        found = self._nodes.reached()
        if found is not None and found != self._last:
            worker_count, step = self._last = found
            self.progress.append((time.monotonic() - self._began, step, worker_count))

    def note(self, what: str) -> None:
        """Something happens now."""
        self.events.append((time.monotonic() - self._began, what))


def run_elastic(profile_name: ProfileName) -> dict[str, Any]:
    """Lose a rank after a quarter of the steps, a node after another, get two nodes after the next; the study's JSON.

    Args:
        profile_name: key of `SIZES`.

    Returns:
        `progress`: seconds, updates done and workers, where these changed; `events`: seconds and what happened;
        `attempts`, see `Attempt`; `lost_steps`; `steps` and `every`.

    Raises:
        RuntimeError: a node that was not killed failed; what it said last is quoted.
        TimeoutError: see `Nodes.wait_for`.
    """
    steps, every = SIZES[profile_name]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        output, kept = folder / "result.json", ("--checkpoint", str(folder / "kept"), "--every", str(every), "--resume")
        run = ("--run-name", "fnn3_top_k", "--model", "resnet20", "--batch-size", "8", "--density", "0.01")
        size = ("--steps", str(steps), "--evaluate-every", str(steps), "--test-limit", "64")
        nodes = Nodes(folder, stack, ("-m", "sparsync.experiments.train", *run, *size, *kept, "--output", str(output)))
        diary = Diary(nodes)
        _live(nodes, diary, steps // 4)
        result = json.loads(output.read_text(encoding="utf-8"))
    return {
        "profile": profile_name,
        "steps": steps,
        "every": every,
        "progress": diary.progress,
        "events": diary.events,
        "attempts": result["attempts"],
        "lost_steps": result["lost_steps"],
        "provenance": provenance(process_count=3),
    }


def _live(nodes: Nodes, diary: Diary, quarter: int) -> None:
    """From the start of two nodes to the end of those that are left."""
    first, second = nodes.start("first"), nodes.start("second")
    nodes.wait_for(quarter, 2, watch=diary.watch)
    diary.note("a rank is killed")
    kill_rank(second)
    nodes.wait_for(2 * quarter, 2, watch=diary.watch)
    diary.note("a node is killed")
    kill_node(second)
    nodes.wait_for(3 * quarter, 1, watch=diary.watch)
    diary.note("two nodes join")
    agents = {"first": first, "third": nodes.start("third"), "fourth": nodes.start("fourth")}
    nodes.wait_for(3 * quarter, 3, watch=diary.watch)
    while any(agent.poll() is None for agent in agents.values()):
        diary.watch()
        time.sleep(_POLL_SECONDS)
    for name, agent in agents.items():
        if agent.returncode:
            raise RuntimeError(f"the {name} node ended with status {agent.returncode}:\n{nodes.said_by(name)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own)."""
    with exit_on_bad_input():
        command = tyro.cli(
            ElasticCommand,
            prog="python -m sparsync.experiments.studies.links.elastic",
            description="Follow a run that loses ranks and nodes, and gets new ones.",
            args=arguments,
        )
        require_output(command.output)
        found = run_elastic(command.profile)
        write_json(command.output, found)
    last = found["progress"][-1]
    print(  # noqa: T201
        f"{found['steps']} updates in {last[0]:.0f} s and {len(found['attempts'])} attempts, "
        f"{found['lost_steps']} done again"
    )


if __name__ == "__main__":
    main()
