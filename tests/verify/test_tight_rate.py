"""The command: what it prints and writes, and that bad input ends in one line and leaves nothing behind."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sparsync.verify import tight_rate
from sparsync.verify.check_certificates import main as check
from sparsync.verify.tight_rate import main
from sparsync.verify.worst_case_rates import autolyap, pepit
from sparsync.verify.worst_case_rates.examples import EXAMPLES, FOLDER
from tests.support.paths import ROOT
from tests.support.posed_methods import DESCENT, STRONGLY, write_method

CONVEX = str(FOLDER / "convex_descent.py")
DESCENT_FILE = str(FOLDER / "gradient_descent.py")


def test_a_rate_is_printed_and_its_certificate_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "rate.json"
    assert main(["--method", CONVEX, "--steps", "4", "--output", str(output)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ConvexDescent: smoothness = 1"
    assert lines[2].startswith("value after 4 steps over distance at the start: 0.055555")
    assert lines[3] == "certified: the rate is 1/18, exactly"
    record = json.loads(output.read_text(encoding="utf-8"))
    assert record["upper"] == record["lower"] == {"bound": "1/18"}
    assert record["provenance"]["process_count"] == 1
    assert len(record["worst_case_points"]) == 6
    assert check([str(tmp_path)]) == 0


def test_a_number_is_set_and_a_measure_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--set",
        "step_size=1/2",
        "--set",
        "mu=0.2",
        "--steps",
        "1",
        "--initial",
        "value",
        "--performance",
        "gradient",
    ]
    assert main(["--method", DESCENT_FILE, *words]) == 0
    said = capsys.readouterr().out
    assert "mu = 1/5, smoothness = 1, step_size = 1/2" in said
    assert "gradient after 1 step over value at the start" in said


def test_the_best_step_size_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """2/(L + μ), which balances the two factors of the distance."""
    assert main(["--method", DESCENT_FILE, "--steps", "1", "--optimise", "step_size"]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("least for step_size = ")
    assert float(first.rpartition(" ")[2]) == pytest.approx(20 / 11, abs=1e-4)


@pytest.mark.parametrize("name", ["PEPit", "autolyap"])
def test_the_comparison_has_a_row_with_the_closed_form_and(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(name)
    for own, module in (("PEPit", pepit), ("autolyap", autolyap)):
        monkeypatch.setattr(module, "is_there", lambda own=own: own == name)
    assert main(["--method", CONVEX, "--steps", "1", "--compare"]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│ ConvexDescent")]
    assert row.count("0.1666667") == 3
    assert row.count("not installed") == 1
    assert "1/6" in row


def test_without_others_the_comparison_says_that_they_are_not_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (pepit, autolyap):
        monkeypatch.setattr(module, "is_there", lambda: False)
    output = tmp_path / "rate.json"
    assert main(["--method", CONVEX, "--steps", "1", "--compare", "--output", str(output)]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│ ConvexDescent")]
    assert row.count("not installed") == 2
    assert [cell.strip() for cell in row.split("│")][-3] == "none"
    others = json.loads(output.read_text(encoding="utf-8"))["others"]
    assert others == {"pepit": "not installed", "autolyap": "not installed", "closed_form": pytest.approx(1 / 6)}


def test_every_file_of_methods_is_an_example() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    assert {example.stem for example in EXAMPLES} == files


BAD: dict[str, tuple[list[str], str]] = {
    "no such file": (["--method", "nowhere.py"], "there is no file nowhere.py"),
    "no NAME=NUMBER": (["--method", DESCENT_FILE, "--set", "step_size"], "NAME=NUMBER, got 'step_size'"),
    "no number": (["--method", DESCENT_FILE, "--set", "mu=small"], "--set mu must be a finite number, got 'small'"),
    "a number twice": (["--method", DESCENT_FILE, "--set", "mu=1", "--set", "mu=2"], "gives mu twice, 1 and 2"),
    "an unknown number": (["--method", DESCENT_FILE, "--set", "speed=1"], "has no number speed"),
    "an unknown measure": (["--method", DESCENT_FILE, "--steps", "1", "--performance", "speed"], "'speed'"),
    "too many steps": (["--method", DESCENT_FILE, "--steps", "101"], "got 101"),
    "a start without steps": (["--method", DESCENT_FILE, "--initial", "value"], "--initial is for --steps"),
    "both questions": (["--method", DESCENT_FILE, "--steps", "1", "--search"], "--search is of one step"),
    "an unknown best": (["--method", DESCENT_FILE, "--optimise", "speed"], "no number speed to optimise"),
    "a bracket upside down": (
        ["--method", DESCENT_FILE, "--optimise", "step_size", "--between", "2", "1"],
        "LOW < HIGH, got 2 and 1",
    ),
    "a folder for a file": (["--method", DESCENT_FILE, "--output", "."], "--output must name a file, got ."),
    "a folder that is not there": (["--method", DESCENT_FILE, "--output", "none/rate.json"], "does not exist"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_status_two(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words, said = BAD[name]
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert said in captured.err


@pytest.mark.parametrize("words", [[], ["--method"], ["--method", DESCENT_FILE, "--between", "1", "2"]])
def test_an_incomplete_command_line_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_a_method_without_a_rate_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = 'def start(self, problem):\n    return {"x": problem.vector("a") + problem.vector("b")}\n'
    measured = 'def initial(self, state, problem):\n    return problem.vector("a") ** 2\n'
    path, output = write_method(tmp_path, STRONGLY, DESCENT, start, measured), tmp_path / "rate.json"
    assert main(["--method", str(path), "--steps", "1", "--output", str(output)]) == 2
    assert "the worst case is unbounded" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.slow
def test_the_command_runs_from_any_folder(tmp_path: Path) -> None:
    write_method(tmp_path, STRONGLY, DESCENT)
    command = [sys.executable, "-m", "sparsync.verify.tight_rate", "--method", "posed.py", "--steps", "1"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert "81/100" in finished.stdout


@pytest.mark.slow
def test_all_examples_are_compared_and_the_page_has_what_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PEPit")
    pytest.importorskip("autolyap")
    monkeypatch.setattr(tight_rate, "_PLAIN_WIDTH", 240)
    assert main(["--compare"]) == 0
    printed = [_cells(line, "│") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    page = (ROOT / "paper/docs/tight_rates.md").read_text(encoding="utf-8").partition("| difference |")[2].splitlines()
    told = [_cells(line, "|") for line in page if line.startswith("| ")]
    assert len(printed) == len(told) == len(EXAMPLES)
    for (method, _, ours, _, *others), (same, _, own, *theirs, _) in zip(printed, told, strict=True):
        assert method == same
        for found, said in zip((ours, *others[:2]), (own, *theirs), strict=True):
            # Clarabel's last digits differ between processors.
            assert found == said if said[-1].isalpha() else float(found) == pytest.approx(float(said), abs=1e-5)


def _cells(line: str, mark: str) -> list[str]:
    return [cell.strip() for cell in line.strip(mark).split(mark)]
