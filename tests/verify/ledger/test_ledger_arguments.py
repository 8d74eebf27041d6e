"""What the ledger refuses before it checks anything, and the folder that `make verify` makes for it."""

import subprocess
from pathlib import Path

import pytest

from sparsync.verify.ledger.command import main
from sparsync.verify.tools.outcome import PROFILES
from tests.support.paths import ROOT


def test_an_unknown_profile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(["--profile", "nothing", "--output", str(tmp_path / "verify.json")])
    assert refusal.value.code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "--output must name a file, got {}"),
        ("absent/verify.json", "the output folder {.parent} does not exist"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_made(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / name
    assert main(["--profile", "smoke", "--output", str(output)]) == 2
    assert capsys.readouterr().err == f"error: {message.format(output)}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--certificates", "--formal"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/dev/null", "{option} must name a folder, got /dev/null: File exists"),
        ("/dev/null/new", "{option} must name a folder, got /dev/null/new: Not a directory"),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_checked(
    option: str, name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--profile", "smoke", "--output", str(tmp_path / "verify.json"), option, name]) == 2
    assert capsys.readouterr() == ("", f"error: {message.format(option=option)}\n")


def test_a_folder_of_certificates_that_can_only_be_read_is_refused_if_they_are_to_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--profile", "smoke", "--output", str(tmp_path / "verify.json"), "--certificates", "/proc", "--fresh"]
    assert main(command) == 2
    assert capsys.readouterr().err.startswith("error: no file can be written in the output folder /proc")


@pytest.mark.parametrize("content", ["", "my notes", "[]", '{"profile": "smoke"}', "\x00"])
def test_a_file_of_somebody_elses_is_never_replaced(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "verify.json"
    output.write_text(content)
    for fresh in ([], ["--fresh"]):
        assert main(["--profile", "smoke", "--output", str(output), *fresh]) == 2
        assert capsys.readouterr().err.startswith(f"error: {output} was not written by the ledger")
    assert output.read_text() == content


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_make_verify_creates_the_folder_that_the_ledger_needs(profile: str) -> None:
    command = ["make", "-n", "verify", f"PROFILE={profile}"]
    root = ROOT
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout
    lines = printed.splitlines()
    place = next(place for place, line in enumerate(lines) if "sparsync.verify.ledger.command" in line)
    folder = Path(lines[place].partition("--output ")[2].split()[0]).parent
    assert f"mkdir -p {folder}" in lines[:place]
