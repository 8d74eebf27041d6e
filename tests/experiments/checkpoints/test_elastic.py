"""Under torchrun a run goes on from its last checkpoint where ranks or nodes are lost, and takes new ones in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch.distributed as dist

from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.runs import RUNS
from tests.support.paths import ROOT
from tests.support.workers import torchrun

RUN = replace(RUNS["fnn3_top_k"], steps=8, test_limit=64)
OPTIONS = ("--run-name", "fnn3_top_k", "--steps", "8", "--test-limit", "64")
DEADLINE_SECONDS = 120.0
SETTINGS = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}

KILLED = """
import os, signal
from sparsync.experiments import train
from sparsync.experiments.training import loop

step = loop.step

def once(index, *others):
    if (index, os.environ["RANK"], os.environ["TORCHELASTIC_RESTART_COUNT"]) == (5, "1", "0"):
        os.kill(os.getpid(), signal.SIGKILL)
    return step(index, *others)

loop.step = once
train.main()
"""


def test_restarted_ranks_go_on_from_the_checkpoint_as_if_none_had_been_lost(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(KILLED, encoding="utf-8")
    kept = ("--checkpoint", str(tmp_path / "kept"), "--every", "3", "--resume")
    launcher = ("--nproc-per-node", "2", "--max-restarts", "1", str(program))
    finished = torchrun(*launcher, *OPTIONS, *kept, "--output", str(tmp_path / "result.json"))
    assert finished.returncode == 0, finished.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    whole = simulate(replace(RUN, workers=2))
    assert result["parameters_sha256"] == whole.parameters_sha256
    assert result["loss"] == [facts.loss for facts in whole.steps]
    assert [attempt["first_step"] for attempt in result["attempts"]] == [0, 3]
    assert result["lost_steps"] == 2
    assert "2 attempts, 2 updates done again" in finished.stdout


SLOWED = """
import os, time
from sparsync.experiments import train
from sparsync.experiments.training import loop

step = loop.step

def slowly(index, *others):
    time.sleep(0.3)
    while index == 10 and os.environ["WORLD_SIZE"] == "1":
        # Until it is ended, because another node is there.
        time.sleep(0.1)
    return step(index, *others)

loop.step = slowly
train.main()
"""


class Agents:
    """torchrun's agents on one machine, as on nodes of their own: each with one rank, all with one meeting place."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        # Held by no agent, so that any of them may be lost.
        self._store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
        self._program = folder / "program.py"
        self._program.write_text(SLOWED, encoding="utf-8")

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Another node."""
        # A node is taken for lost after eight seconds.
        quick = "is_host=false,join_timeout=60,last_call_timeout=1,keep_alive_interval=2,keep_alive_max_attempt=4"
        launcher = (
            *("--nnodes", "1:3", "--nproc-per-node", "1", "--max-restarts", "5", "--rdzv-backend", "c10d"),
            *("--rdzv-endpoint", f"127.0.0.1:{self._store.port}", "--rdzv-conf", quick, "--rdzv-id", "elastic"),
            *("--local-addr", "127.0.0.1", "--monitor-interval", "0.2"),
        )
        kept = ("--checkpoint", str(self._folder / "kept"), "--every", "2", "--resume")
        told = (*OPTIONS, "--steps", "14", *kept, "--output", str(self._folder / "result.json"))
        said = self._stack.enter_context((self._folder / f"{name}.txt").open("wb"))
        agent = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *launcher, str(self._program), *told],
            cwd=ROOT,
            env={**os.environ, **SETTINGS},
            stdout=said,
            stderr=said,
        )
        self._stack.callback(_kill, agent)
        return agent

    def wait_for(self, step: int, worker_count: int) -> None:
        """Until an attempt with so many workers has done so many updates."""
        end = time.monotonic() + DEADLINE_SECONDS
        while True:
            attempts = self.attempts()
            reached = self._folder / "kept" / f"reached-{len(attempts) - 1}"
            done = int.from_bytes(reached.read_bytes(), "little") if reached.exists() else -1
            if attempts and attempts[-1]["worker_count"] == worker_count and done >= step:
                return
            said = {path.name: path.read_text() for path in self._folder.glob("*.txt")}
            assert time.monotonic() < end, (attempts, said)
            time.sleep(0.1)

    def attempts(self) -> list[dict[str, Any]]:
        """All that were begun."""
        place = self._folder / "kept" / "attempts.json"
        found: list[dict[str, Any]] = json.loads(place.read_text())["attempts"] if place.exists() else []
        return found


def _kill(agent: subprocess.Popen[bytes]) -> None:
    """It and its ranks, as when a machine is lost."""
    if agent.poll() is None:
        ranks = psutil.Process(agent.pid).children(recursive=True)
        agent.kill()
        for rank in ranks:
            rank.kill()
    agent.wait()


@pytest.mark.slow
def test_a_lost_node_is_done_without_and_a_new_one_is_taken_in(tmp_path: Path) -> None:
    with ExitStack() as stack:
        agents = Agents(tmp_path, stack)
        first, second = agents.start("first"), agents.start("second")
        agents.wait_for(4, worker_count=2)
        _kill(second)
        agents.wait_for(8, worker_count=1)
        third = agents.start("third")
        agents.wait_for(12, worker_count=2)
        assert [first.wait(DEADLINE_SECONDS), third.wait(DEADLINE_SECONDS)] == [0, 0]
    result = json.loads((tmp_path / "result.json").read_text())
    counts = [attempt["worker_count"] for attempt in result["attempts"]]
    assert counts[-3:] == [2, 1, 2]
    assert len(result["loss"]) == 14
    # At most those since the last checkpoint, in each of the changes.
    assert result["lost_steps"] <= 2 * (len(counts) - 1)


@pytest.mark.slow
def test_ranks_whose_launcher_is_killed_end_and_write_nothing(tmp_path: Path) -> None:
    with ExitStack() as stack:
        agents = Agents(tmp_path, stack)
        agent = agents.start("launcher")
        agents.wait_for(2, worker_count=1)
        ranks = psutil.Process(agent.pid).children(recursive=True)
        os.kill(agent.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(ranks, timeout=DEADLINE_SECONDS)
    assert alive == []
    assert not (tmp_path / "result.json").exists()
    assert (
        f"process {agent.pid}, which launched this rank, has ended; no result is written"
        in (tmp_path / "launcher.txt").read_text()
    )
