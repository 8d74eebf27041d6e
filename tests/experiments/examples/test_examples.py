"""Every example runs as it is printed, and learns; those that send little send less than the plain one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper.write_docs import CHANGED_EXAMPLES, EXAMPLES
from tests.support.workers import run_program, torchrun

NAMES = ["plain.py", *CHANGED_EXAMPLES]


def rank_count(name: str) -> int:
    """Two replicas of two shards, or two ranks."""
    return 4 if "hsdp" in name else 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_torchrun_runs_an_example_as_printed(name: str) -> None:
    finished = torchrun("--nproc-per-node", str(rank_count(name)), str(EXAMPLES / name))
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("test accuracy") == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_and_learns(name: str, tmp_path: Path) -> None:
    """In half of the steps that are printed."""
    text, program = (EXAMPLES / name).read_text(encoding="utf-8"), tmp_path / name
    assert text.count("STEPS, BATCH_SIZE = 200") == 1
    program.write_text(text.replace("STEPS, BATCH_SIZE = 200", "STEPS, BATCH_SIZE = 100"), encoding="utf-8")
    finished = run_program(program, rank_count(name))
    assert finished.returncode == 0, finished.stderr
    said = finished.stdout
    accuracy = re.search(r"test accuracy (\d+\.\d)%", said)
    assert accuracy is not None
    # By chance one of ten classes is right.
    assert float(accuracy[1]) > 50
    sent = re.search(r"(\d+\.\d\d) MB sent", said)
    # 159,010 parameters in four bytes, at each of 100 steps.
    assert sent is None or float(sent[1]) < 159_010 * 4 * 100 / 1e6 / 10


def test_every_example_is_shown() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"__init__.py", "plain.py", *CHANGED_EXAMPLES}
