"""Under torchrun a run goes on from its last checkpoint where ranks or nodes are lost, and takes new ones in."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sparsync.experiments.simulate import simulate
from sparsync.experiments.studies.links.elastic import Nodes, kill_node
from sparsync.experiments.training.runs import RUNS
from tests.support.workers import torchrun

RUN = replace(RUNS["fnn3_top_k"], steps=8, test_limit=64)
OPTIONS = ("--run-name", "fnn3_top_k", "--steps", "8", "--test-limit", "64")
DEADLINE_SECONDS = 120.0

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


def nodes_in(folder: Path, stack: ExitStack) -> Nodes:
    """With steps that take 0.3 s."""
    program = folder / "program.py"
    program.write_text(SLOWED, encoding="utf-8")
    kept = ("--checkpoint", str(folder / "kept"), "--every", "2", "--resume")
    told = (*OPTIONS, "--steps", "14", *kept, "--output", str(folder / "result.json"))
    return Nodes(folder, stack, (str(program), *told))


@pytest.mark.slow
def test_a_lost_node_is_done_without_and_a_new_one_is_taken_in(tmp_path: Path) -> None:
    with ExitStack() as stack:
        nodes = nodes_in(tmp_path, stack)
        first, second = nodes.start("first"), nodes.start("second")
        nodes.wait_for(4, worker_count=2)
        kill_node(second)
        nodes.wait_for(8, worker_count=1)
        third = nodes.start("third")
        nodes.wait_for(12, worker_count=2)
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
        nodes = nodes_in(tmp_path, stack)
        agent = nodes.start("launcher")
        nodes.wait_for(2, worker_count=1)
        ranks = psutil.Process(agent.pid).children(recursive=True)
        os.kill(agent.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(ranks, timeout=DEADLINE_SECONDS)
    assert alive == []
    assert not (tmp_path / "result.json").exists()
    assert (
        f"process {agent.pid}, which launched this rank, has ended; no result is written"
        in (tmp_path / "launcher.txt").read_text()
    )
