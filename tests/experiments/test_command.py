"""The command line chooses a run, an output file, and overrides fields; everything else is refused in words."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from sparsync.experiments.command import exit_on_bad_input, read_command, step_progress
from sparsync.experiments.studies.selection import selection
from sparsync.experiments.studies.synchronisation import engine_speed
from sparsync.experiments.training.runs import RUNS


@pytest.mark.parametrize("option", ["--run", "--run-name", "--run_name"])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_chosen_by_name(option: str, name: str, tmp_path: Path) -> None:
    command = read_command("", "", [option, name, "--output", str(tmp_path / "out.json")])
    assert (command.run, command.output, command.settings) == (name, tmp_path / "out.json", RUNS[name])


def test_fields_override_the_run(tmp_path: Path) -> None:
    words = [
        "--density",
        "0.5",
        "--seed",
        "7",
        "--data",
        "cifar10:here",
        "--rank-order",
        "--density-warmup",
        "1",
        "0.7",
    ]
    command = read_command("", "", ["--run", "fnn3_top_k", "--output", str(tmp_path / "out.json"), *words])
    settings = command.settings
    assert (settings.density, settings.seed, settings.data, settings.rank_order) == (0.5, 7, "cifar10:here", True)
    assert settings.density_warmup == (1.0, 0.7)
    assert settings.selector == "top_k"


def test_a_rank_waits_a_minute_for_the_others_or_as_long_as_it_is_told(tmp_path: Path) -> None:
    words = ["--run", "fnn3_top_k", "--output", str(tmp_path / "out.json")]
    assert read_command("", "", words).timeout_seconds == 60
    assert read_command("", "", [*words, "--timeout-seconds", "5"]).timeout_seconds == 5
    with pytest.raises(ValueError, match="timeout_seconds must be positive and at most 1e6, got 0"):
        read_command("", "", [*words, "--timeout-seconds", "0"])


def test_an_unknown_run_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown run 'fnn4'; known: fnn3_dense"):
        read_command("", "", ["--run", "fnn4", "--output", "out.json"])


@pytest.mark.parametrize(("words", "run"), [([], next(iter(RUNS))), (["--run", "fnn3_top_k"], "fnn3_top_k")])
def test_the_help_names_the_command_the_runs_and_whose_defaults_it_shows(
    words: list[str], run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        read_command("python -m start", "Trains.", [*words, "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(f"usage: python -m start [-h] [OPTIONS] Trains. Runs: {', '.join(RUNS)}.")
    assert f"The defaults below are those of {run}." in shown
    told = " ".join(shown.replace("│", " ").split())
    assert f"key of SELECTORS or ADAPTIVE_SELECTORS (default: {RUNS[run].selector})" in told


@pytest.mark.parametrize("words", [[], ["--run", "fnn3_top_k"], ["--output", "out.json"]])
def test_run_and_output_are_required(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        read_command("", "", words)
    assert caught.value.code == 2


def test_an_output_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must name a file"):
        read_command("", "", ["--run", "fnn3_top_k", "--output", str(tmp_path)])


@pytest.mark.parametrize(
    ("study", "words"),
    [
        (selection.main, ["--profile", "smoke"]),
        (engine_speed.main, ["--policies", "bsp", "--workers", "2", "--steps", "1", "--lookahead", "2"]),
    ],
)
def test_no_study_takes_the_place_of_a_pipe(
    study: Callable[[], None],
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(sys, "argv", ["study", "--output", str(pipe), *words])
    with pytest.raises(SystemExit, match="2"):
        study()
    assert capsys.readouterr().err == f"error: --output must name a file, got {pipe}\n"
    assert pipe.is_fifo()


def test_an_output_where_nothing_can_be_written_is_refused() -> None:
    """In /proc not even root can create a file."""
    with pytest.raises(ValueError, match="no file can be written in the output folder /proc"):
        read_command("", "", ["--run", "fnn3_top_k", "--output", "/proc/out.json"])


def test_asking_leaves_nothing_behind(tmp_path: Path) -> None:
    read_command("", "", ["--run", "fnn3_top_k", "--output", str(tmp_path / "out.json")])
    assert list(tmp_path.iterdir()) == []


def test_an_output_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        read_command("", "", ["--run", "fnn3_top_k", "--output", str(tmp_path / "absent" / "out.json")])


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("v"), 2), (FileNotFoundError("f"), 2), (FloatingPointError("n"), 1)]
)
def test_what_a_user_can_cause_becomes_one_line_and_a_status(
    error: Exception, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught, exit_on_bad_input():
        raise error
    assert caught.value.code == status
    assert capsys.readouterr().err == f"error: {error}\n"


def test_every_rank_says_who_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit), exit_on_bad_input():
        raise ValueError("what")
    assert capsys.readouterr().err == "error on rank 1: what\n"


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), exit_on_bad_input():
        raise ZeroDivisionError


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with step_progress(3, visible=True) as advance:
        advance()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize(
    ("visible", "is_terminal", "ci", "is_shown"),
    [
        (True, True, None, True),
        (True, True, "", True),
        (True, True, "true", False),
        (True, False, None, False),
        (False, True, None, False),
    ],
)
def test_progress_is_shown_on_a_terminal_outside_ci(
    visible: bool,
    is_terminal: bool,
    ci: str | None,
    is_shown: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Console, "is_terminal", is_terminal)
    if ci is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", ci)
    with step_progress(2, visible=visible, title="laps") as advance:
        advance()
    captured = capsys.readouterr()
    assert ("laps" in captured.err, captured.out) == (is_shown, "")
