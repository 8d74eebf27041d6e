"""What the ranks of a real race print and write when the run is over."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args

import psutil
import pytest

from sparsync.experiments.command import exit_on_bad_input
from sparsync.experiments.engine.real.broadcasts import Downlink
from sparsync.experiments.engine.real.server import WorkerLostError
from sparsync.experiments.race_real import RealRaceCommand, leaving_together, read_arguments, serve
from sparsync.experiments.racing.crew import real_crew
from sparsync.experiments.racing.real import WORKER_VARIABLE
from sparsync.experiments.studies.links.elastic import kill_node
from tests.support.launch.real_runs import usual_conditions, usual_race

MARKED = """
from pathlib import Path
from sparsync.experiments.policies.bsp import Bsp

class Marked(Bsp):
    def on_arrive(self, message):
        if self.view.version == 3:
            Path(__file__).with_name("begun").touch()
        return super().on_arrive(message)
"""
PATIENCE_SECONDS = 240.0


@pytest.mark.slow
def test_a_remark_of_the_policy_is_printed_below_the_result_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    race, conditions = usual_race(workers=2, seconds=0.6, points=1), usual_conditions()
    command = RealRaceCommand("sync_switch", tmp_path / "out.json", race, conditions)
    with real_crew(race, conditions) as (announcements, _):
        serve(command, ("sync_switch", {"total_steps": 10_000}), announcements)
    captured = capsys.readouterr()
    result, remark = captured.out.splitlines()
    written = json.loads(command.output.read_text())
    assert result.startswith("sync_switch:total_steps=10000: f − min f ")
    assert written["measure"] == "f − min f"
    assert remark == f"sync_switch:total_steps=10000: {written['outcomes'][0]['remark']}"
    assert "the run ended in its synchronous part" in remark
    assert captured.err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "dybw", "--checkpoint", "kept"], "dybw has no shared model that a server could keep"),
        (["--policy", "asp", "--bandwidth", "1e6"], "--bandwidth is of simulated links; real ones are what they are"),
        (["--policy", "asp", "--downlink", "broadcast"], "Asp goes on without a lost worker, broadcast does not"),
        (["--policy", "asp", "--device", "cuda", "--data", "quadratic"], "--device cuda is of networks; quadratic has"),
        (["--policy", "asp", "--resume"], "--resume goes on from the folder that --checkpoint names"),
        (["--policy", "asp", "--lost-after", "0"], "lost_after must be positive and finite, got 0"),
        (["--policy", "ssp:stale=1"], "policy 'ssp' has no parameter 'stale'"),
    ],
)
def test_what_has_no_meaning_is_refused_before_anything_begins(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        read_arguments([*words, "--output", str(tmp_path / "out.json")])
    except ValueError as error:
        assert message in str(error)  # noqa: PT017
    except SystemExit:
        assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
    else:
        pytest.fail("was accepted")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (WorkerLostError("worker 1 was lost"), 2, "error on rank 0: worker 1 was lost\n"),
        (RuntimeError("a policy's own"), 1, "RuntimeError: a policy's own\n"),
    ],
)
def test_a_server_that_fails_says_why_before_it_waits_for_the_others(
    error: Exception, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "0")
    done: list[tuple[str, Any]] = []
    announcements: Any = SimpleNamespace(
        hear=lambda: done.append(("said", capsys.readouterr().err)),
        wait_for_hearing=lambda count, _: done.append(("waited for", count)),
    )
    with pytest.raises(SystemExit) as ended, leaving_together(announcements, 5), exit_on_bad_input():
        raise error
    assert ended.value.code == code
    assert done[0][1].endswith(said)
    assert done[1:] == [("waited for", 5)]


def test_a_server_that_succeeds_waits_for_nobody() -> None:
    with leaving_together(cast("Any", None), 5):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("downlink", get_args(Downlink))
def test_every_rank_says_which_worker_was_killed_and_ends(downlink: Downlink, tmp_path: Path) -> None:
    policy, said = tmp_path / "marked.py", tmp_path / "said.txt"
    policy.write_text(MARKED, encoding="utf-8")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"]
    race = ["--policy", f"{policy}:Marked", "--data", "quadratic", "--unit-seconds", "0.01", "--seconds", "600"]
    words = ["-m", "sparsync.experiments.race_real", *race, "--downlink", downlink]
    command = [*launcher, *words, "--output", str(tmp_path / "out.json")]
    with said.open("w") as stream, subprocess.Popen(command, stderr=stream, start_new_session=True) as process:
        try:
            wait_for(tmp_path / "begun")
            life_of(process.pid, 1).kill()
            began = time.monotonic()
            assert process.wait(PATIENCE_SECONDS) != 0
            # Told apart from the 600 s of the run; torchrun itself takes some seconds to end its ranks.
            assert time.monotonic() - began < 60.0
        finally:
            kill_node(process)
    text, lost = said.read_text(), r"worker 1 was lost: .*; Marked does not go on without it"
    assert re.search(f"error on rank 0: {lost}", text), text
    for rank in (1, 2, 3):
        assert re.search(f"error on rank {rank}: the run has ended: {lost}", text), text


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.05)


def life_of(launcher: int, worker: int) -> psutil.Process:
    """The process of a worker."""
    for process in psutil.Process(launcher).children(recursive=True):
        with suppress(psutil.Error):
            if process.environ().get(WORKER_VARIABLE) == str(worker):
                return process
    pytest.fail(f"worker {worker} has no process")
