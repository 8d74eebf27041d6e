"""The process starter notices a rank that fails, so a distributed test cannot pass by silence."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
import torch.distributed as dist

from tests.support.stand_ins.forked import run_forked
from tests.support.workers import run_module, run_workers


def fail_on_rank_one() -> int:
    if dist.get_rank() == 1:
        raise ArithmeticError("rank one gives up")
    return dist.get_rank()


def test_a_failing_rank_fails_the_run() -> None:
    with pytest.raises(RuntimeError, match="rank one gives up"):
        run_workers(fail_on_rank_one, 2)


def test_a_rank_that_cannot_connect_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "no_such_interface")
    with pytest.raises(RuntimeError, match="no_such_interface"):
        run_workers(dist.get_rank, 2)


def test_ranks_answer_in_order() -> None:
    assert run_workers(dist.get_rank, 2) == [0, 1]


def test_a_failing_command_reports_its_status() -> None:
    assert run_module("sparsync.no_such_module").returncode != 0


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("import sys; print(sys.argv)", 0),
        ("raise SystemExit(3)", 3),
        ("raise SystemExit('in words')", 1),
        ("raise ValueError('raised')", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_a_forked_program_ends_as_one_that_is_started(code: str, status: int) -> None:
    forked = run_forked("-c", code, "word")
    started = subprocess.run([sys.executable, "-S", "-c", code, "word"], capture_output=True, text=True, check=False)
    assert forked.returncode == started.returncode == status
    assert forked.stdout == started.stdout
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]
