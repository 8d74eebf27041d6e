"""The demonstration says what it computed, leaves two pictures, and fails where its theorem does."""

from __future__ import annotations

import math
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sparsync.experiments import demo
from sparsync.experiments.demo import CLAIM, CONTESTANTS, TRAINED, Check, check, main
from sparsync.experiments.simulate import simulate
from sparsync.experiments.training.drawings import accuracy_by_bytes
from sparsync.experiments.training.runs import RUNS
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, k
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.guarantee import Guarantee
from tests.support.paths import ROOT

PNG = b"\x89PNG\r\n\x1a\n"
TINY = ("--steps", "2", "--seconds", "5")


def status(folder: Path, *words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["--output-folder", str(folder), *(words or TINY)])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_it_trains_races_checks_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "demo"
    assert status(folder) == 0
    captured = capsys.readouterr()
    shown = captured.out
    assert all(re.search(rf"^   {title}: test accuracy .* after 2 updates", shown, re.MULTILINE) for title in TRAINED)
    assert all(re.search(rf"^   {name}: test accuracy .* after 5 sim", shown, re.MULTILINE) for name in CONTESTANTS)
    assert "largest of 8 measured errors" in shown
    assert shown.splitlines()[-4].endswith(": holds")
    assert shown.splitlines()[-3:] == ["Pictures:", *(f"   {folder / name}.png" for name in ("training", "gantt"))]
    assert {path.name for path in folder.iterdir()} == {"training.png", "gantt.png"}
    assert all(path.read_bytes().startswith(PNG) for path in folder.iterdir())
    assert len(shown.splitlines()) < 20
    assert captured.err == ""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run and one policy, for what concerns neither."""
    monkeypatch.setattr(demo, "TRAINED", {"Top-k": "fnn3_top_k"})
    monkeypatch.setattr(demo, "CONTESTANTS", ("bsp",))


@pytest.mark.usefixtures("small")
def test_a_false_step_of_the_derivation_is_named_and_gives_status_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = replace(STATEMENTS[CLAIM], derivation=(Step("k = d", lambda: k - d, concludes=1 - k / d),))
    monkeypatch.setitem(STATEMENTS, CLAIM, broken)
    assert status(tmp_path) == 1
    shown = capsys.readouterr().out
    assert "not proved: k = d" in shown
    assert "all hold" not in shown
    assert "does not hold" in shown


@pytest.mark.usefixtures("small")
def test_a_bound_that_is_measured_to_be_broken_gives_status_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(type(STATEMENTS[CLAIM]), "evaluate", lambda *_, **__: 0.25)
    assert status(tmp_path) == 1
    shown = capsys.readouterr().out
    assert "all hold" in shown
    assert re.search(r"bound 0\.2500, largest of 8 measured errors 0\.\d+: does not hold", shown)


def test_what_was_not_measured_does_not_hold() -> None:
    assert Check((), 0.5, 0.5, 1).holds
    assert not Check((), 0.5, math.nan, 0).holds
    assert not Check(("a claim",), 0.5, 0.4, 1).holds


def test_the_bound_is_that_of_the_run_and_errors_are_those_of_every_worker() -> None:
    result = simulate(replace(RUNS["fnn3_top_k"], steps=2, density=0.01))
    found = check(result)
    assert found.bound == 1 - result.steps[0].target_count / result.dimension
    assert found.count == 8
    assert found.measured == max(1 - delta for facts in result.steps for delta in facts.deltas)
    assert not check(replace(result, steps=[])).holds


@pytest.mark.usefixtures("small")
def test_a_divergence_is_said_and_what_was_measured_before_is_judged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(RUNS, "fnn3_top_k", replace(RUNS["fnn3_top_k"], step_size=1e30))
    assert status(tmp_path, "--steps", "5", "--seconds", "5") == 0
    shown = capsys.readouterr().out
    assert "diverged at step" in shown
    assert "it diverged: " in shown
    assert (tmp_path / "training.png").is_file()


@pytest.mark.usefixtures("small")
def test_a_broken_promise_of_a_policy_is_one_line_and_status_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "CONTESTANTS", ("asp",))
    monkeypatch.setattr("sparsync.experiments.policies.asp.Asp.guarantee", lambda _: Guarantee(gap=1))
    assert status(tmp_path, "--steps", "1", "--seconds", "9") == 1
    assert capsys.readouterr().err.startswith("broken promise: event ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small")
def test_without_matplotlib_a_line_says_that_there_are_no_pictures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert status(tmp_path) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "No pictures: matplotlib, of the extra 'paper', is not installed."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--steps", "0", "--seconds", "5"), "error: steps must be at least 1, got 0"),
        (("--steps", "1", "--seconds", "0"), "error: seconds must be positive and finite, got 0"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(tmp_path, *words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.err.count("\n") == 1


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "file"
    taken.write_text("mine")
    assert status(taken) == 2
    assert capsys.readouterr().err.startswith(f"error: --output-folder must name a folder, got {taken}")
    assert taken.read_text() == "mine"


def test_an_interrupt_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sparsync.experiments.demo", "--output-folder", str(tmp_path), "--steps", "100000"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell lets what it starts in the background ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("1. ")
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT
    assert errors == "interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_the_curve_begins_behind_the_first_bytes() -> None:
    result = simulate(replace(RUNS["fnn3_top_k"], steps=4, evaluate_every=2))
    sent = [facts.sent_bytes for facts in result.steps]
    places, percents = accuracy_by_bytes(result)
    assert places == [sum(sent[:2]) / 1e6, sum(sent) / 1e6]
    assert percents == [100 * item.test_accuracy for item in result.evaluations[1:]]
