"""The main command runs every stage, whatever becomes of another, and ends with all that it began."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from paper import figures, reproduce
from paper.reproduce import Stage, measuring_stages, overlay, showing_stages
from sparsync.verify.tools.durations import read_durations
from tests.support.paths import ROOT


def stage(name: str, program: str, folder: Path) -> Stage:
    path = folder / f"{name}.py"
    path.write_text(program, encoding="utf-8")
    return Stage(name, str(path), ())


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty checkout with a record, in which the stages are to be run."""
    (tmp_path / "paper" / "data").mkdir(parents=True)
    (tmp_path / "paper" / "data" / "races.json").write_text("recorded", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "showing_stages", lambda _profile, _shown, **_options: [])
    return tmp_path


@pytest.mark.parametrize("status", [0, 3])
def test_a_stage_that_fails_is_named_and_the_others_run(
    status: int, checkout: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stages = [
        stage("first", f"raise SystemExit({status})", checkout),
        stage("second", "from pathlib import Path; Path('ran').touch()", checkout),
    ]
    monkeypatch.setattr(reproduce, "measuring_stages", lambda _profile, **_options: stages)
    assert reproduce.main(["--profile", "smoke"]) == (1 if status else 0)
    assert (checkout / "ran").exists()
    assert ("FAILED: first; a rerun does only what is missing" in capfd.readouterr().out) == bool(status)
    whole = json.loads((checkout / "build" / "smoke" / "run.json").read_text(encoding="utf-8"))
    assert whole["failed"] == (["first"] if status else [])


def test_a_part_of_the_studies_alone_is_no_whole_run(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "measuring_stages", lambda _profile, **_options: [])
    assert reproduce.main(["--profile", "smoke", "--only", "races"]) == 0
    assert not (checkout / "build" / "smoke" / "run.json").exists()


def test_to_show_is_to_measure_nothing(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "measuring_stages", lambda _profile, **_options: pytest.fail("measured"))
    drawn = stage("drawn", "from pathlib import Path; Path('drawn').touch()", checkout)
    monkeypatch.setattr(reproduce, "showing_stages", lambda _profile, _shown, **_options: [drawn])
    (checkout / "build" / "smoke" / "data").mkdir(parents=True)
    assert reproduce.main(["--profile", "smoke", "--show"]) == 0
    assert (checkout / "drawn").exists()
    assert (checkout / "build" / "smoke" / "shown" / "races.json").read_text(encoding="utf-8") == "recorded"


@pytest.mark.parametrize("is_kept", [True, False])
def test_stages_that_may_have_gone_on_from_kept_results_are_not_timed(
    is_kept: bool, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_kept:
        (checkout / "build" / "store").mkdir(parents=True)
    stages = [stage(name, "", checkout) for name in ("statements", "certificates")]
    monkeypatch.setattr(reproduce, "measuring_stages", lambda _profile, **_options: stages)
    assert reproduce.main(["--profile", "smoke"]) == 0
    assert set(read_durations(checkout / "build" / "smoke" / "durations.json")) == (set() if is_kept else {"verify"})


def test_what_a_run_lacks_is_shown_from_the_record_and_named(tmp_path: Path) -> None:
    data, record, shown = (tmp_path / name for name in ("data", "record", "shown"))
    for folder, text in ((data, "yours"), (record, "recorded")):
        (folder / "certificates").mkdir(parents=True)
        (folder / "races.json").write_text(text, encoding="utf-8")
        (folder / "certificates" / f"{text}.json").write_text(text, encoding="utf-8")
    (record / "formal.json").write_text("recorded", encoding="utf-8")
    assert overlay(data, record, shown) == ["formal.json"]
    assert (shown / "races.json").read_text(encoding="utf-8") == "yours"
    assert (shown / "formal.json").read_text(encoding="utf-8") == "recorded"
    assert [path.name for path in (shown / "certificates").iterdir()] == ["yours.json"]
    assert (record / "races.json").read_text(encoding="utf-8") == "recorded"


@pytest.mark.parametrize("profile", reproduce.PROFILES)
def test_no_stage_is_told_to_write_into_the_record(profile: str) -> None:
    stages = measuring_stages(profile, jobs=2, only=(), fresh=False) + showing_stages(
        profile, Path("build/shown"), jobs=2
    )
    words = [word for each in stages for word in each.arguments]
    assert not any(word.startswith("paper/data") for word in words)
    assert {"statements", "certificates", "studies", "figures", "numbers", "report"} <= {each.name for each in stages}


def test_figures_are_drawn_as_many_at_a_time_as_the_command_was_told() -> None:
    """What knows the option gets as far as the name of the figure."""
    [stage] = [each for each in showing_stages("smoke", Path("build/shown"), jobs=3) if each.name == "figures"]
    assert stage.arguments[-2:] == ("--jobs", "3")
    with pytest.raises(SystemExit, match="unknown figure 'none'"):
        figures.main([*stage.arguments, "--only", "none"])


@pytest.mark.parametrize("profile", ["smoke", "quick", "record"])
def test_the_kernel_is_timed_for_the_claims_that_rest_on_it(profile: str) -> None:
    [stage] = [each for each in measuring_stages(profile, jobs=1, only=(), fresh=False) if each.name == "kernel"]
    assert stage.arguments == ("--profile", profile, "--output-folder", f"build/{profile}/data")


def test_fresh_takes_nothing_over() -> None:
    kept, fresh = (measuring_stages("quick", jobs=1, only=(), fresh=asked) for asked in (False, True))
    assert [("--store" in each.arguments) for each in kept if each.name in ("statements", "studies")] == [True, True]
    assert not any("--store" in each.arguments for each in fresh)


INTERRUPTED = """
import os, signal, subprocess, sys
from pathlib import Path
from paper import reproduce
from paper.reproduce import Stage

signal.signal(signal.SIGINT, signal.default_int_handler)  # what shells start in the background ignores it
Path("stage.py").write_text('''
import subprocess, sys, time
from pathlib import Path
from sparsync.verify.tools.interrupts import interrupt_as_line
with interrupt_as_line():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    try:
        Path("begun").write_text(str(child.pid))
        time.sleep(300)
    except BaseException:
        child.kill()
        child.wait()
        raise
''')
reproduce.measuring_stages = lambda _profile, **_options: [Stage("long", "stage.py", ()), Stage("next", "next.py", ())]
raise SystemExit(reproduce.main(["--profile", "smoke"]))
"""


@pytest.mark.parametrize(
    ("number", "to_group"),
    [
        (signal.SIGINT, True),
        pytest.param(signal.SIGTERM, True, marks=pytest.mark.slow),
        (signal.SIGTERM, False),
        pytest.param(signal.SIGKILL, False, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_the_stage_under_way_and_all_that_it_began(
    number: signal.Signals, to_group: bool, tmp_path: Path
) -> None:
    (tmp_path / "interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "interrupted.py"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        child = _begun(tmp_path / "begun", command)
        (os.killpg if to_group else os.kill)(command.pid, number)
        # Read to its end: until every process that could write there is gone.
        _, errors = command.communicate(timeout=120)
    assert command.returncode == -number
    assert errors.count("interrupted\n") == (1 if number is signal.SIGKILL else 2)
    assert not psutil.pid_exists(child)
    assert not (tmp_path / "build" / "smoke" / "run.json").exists()


def _begun(path: Path, command: subprocess.Popen[str]) -> int:
    """The number in a file, as soon as the command has written it."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return int(path.read_text())
        if command.poll() is not None:
            pytest.fail(f"ended with status {command.returncode}: {command.communicate()[1]}")
        time.sleep(0.05)
    command.kill()
    raise TimeoutError(f"{path} was not written")


def test_make_ends_what_it_began_on_sigterm() -> None:
    """make hands SIGTERM to the shell of the recipe, which is the command itself."""
    printed = subprocess.run(
        ["make", "-n", "reproduce"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert any(line.startswith("exec .venv/bin/python -m paper.reproduce") for line in printed.stdout.splitlines())
