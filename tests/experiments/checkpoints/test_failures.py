"""Where one rank cannot go on, all end within the time that was asked for, with a line, and write no result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.slow_cases import slow_except
from tests.support.workers import torchrun

FAULTS = {
    "is stopped": "os.kill(os.getpid(), signal.SIGSTOP) if index == 3 else None",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL) if index == 3 else None",
    "has no room": "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)) if index == 3 else None",
    "is stopped as it saves": "None",
    "has other settings": "None",
    "has other workers": "None",
    "finds the output taken": "None",
}
SAID = {
    "is stopped": r"error on rank 0: gather, step \d+: not all ranks came within 3 s; missing: ranks \[1\]",
    # torchrun, which names the rank, ends the other one before that has said anything.
    "is killed": r"exitcode +: -9 ",
    "has no room": r"error on rank \d: the checkpoint of step 4 was not written in \S+, where \d+ bytes are free",
    "has other settings": r"error on rank \d: ranks \[1\] were started with other settings .*: here seed is \d",
    "is stopped as it saves": r"error on rank 0: the checkpoint of step 2 was not written in .*[Tt]imed out",
    "has other workers": r"error on rank \d: ranks \[1\] were started with other settings .*: here workers is [26]",
    "finds the output taken": r"error on rank 0: .*result\.json is being written by process \d+ on",
}
PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
from sparsync.experiments import train
from sparsync.experiments.checkpoints import folder
from sparsync.experiments.training import loop
from sparsync.verify.tools.locks import held

step, is_odd = loop.step, os.environ["RANK"] == "1"

def faulty(index, *others):
    if is_odd:
        {fault}
    return step(index, *others)

loop.step = faulty
if {name!r} == "has other settings" and is_odd:
    sys.argv += ["--seed", "7"]
if {name!r} == "has other workers" and is_odd:
    sys.argv += ["--workers", "6"]
if {name!r} == "is stopped as it saves" and is_odd:
    folder.save = lambda *_, **__: os.kill(os.getpid(), signal.SIGSTOP)
if {name!r} == "finds the output taken" and is_odd:
    taken = held(Path({output!r}))
    taken.__enter__()
train.main()
"""


@pytest.mark.parametrize("name", slow_except({"has no room"}, FAULTS))
def test_all_ranks_end_with_a_line_and_no_result(name: str, tmp_path: Path) -> None:
    program, output = tmp_path / "program.py", tmp_path / "result.json"
    program.write_text(PROGRAM.format(fault=FAULTS[name], name=name, output=str(output)), encoding="utf-8")
    options = (
        "--run-name",
        "fnn3_top_k",
        "--steps",
        "40",
        "--test-limit",
        "16",
        "--timeout-seconds",
        "3",
        "--disk-seconds",
        "5",
    )
    kept = ("--checkpoint", str(tmp_path / "kept"), "--every", "2", "--output", str(output))
    finished = torchrun("--nproc-per-node", "2", str(program), *options, *kept)
    assert finished.returncode != 0
    assert re.search(SAID[name], finished.stderr), finished.stderr
    assert "[rank" not in finished.stderr, "a traceback of a rank"
    assert not output.exists()
    steps = sorted(path.name for path in (tmp_path / "kept").glob("step-*"))
    assert steps == (["step-00000002"] if name in ("is stopped", "is killed", "has no room") else [])
