"""Certificates are checked by a file that imports nothing of ours, and it notices what is wrong with one."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparsync.verify.check_certificates import main as check
from sparsync.verify.worst_case_rates.answers import Answer, Asked, answer
from sparsync.verify.worst_case_rates.examples import FOLDER
from sparsync.verify.worst_case_rates.method_file import read_method

HOLDS, REFUTED, UNREADABLE = 0, 1, 2


def example(stem: str) -> Any:
    return read_method(str(FOLDER / f"{stem}.py"), {})


def stored(folder: Path, found: Answer) -> Path:
    path = folder / "rate.json"
    path.write_text(json.dumps({"certificates": [found.record]}), encoding="utf-8")
    return path


QUOTIENT = Asked(steps=2)
CERTIFIED = {
    "one step of a Lyapunov function": ("error_feedback", Asked()),
    "a Lyapunov function that was searched": ("heavy_ball", Asked()),
    "several ends": ("non_convex_descent", QUOTIENT),
    "several workers": ("two_workers", Asked()),
    "a run": ("nesterov", QUOTIENT),
}


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_checker_that_knows_nothing_of_ours_agrees(name: str, tmp_path: Path) -> None:
    stem, asked = CERTIFIED[name]
    stored(tmp_path, answer(example(stem), asked))
    assert check([str(tmp_path)]) == HOLDS


@pytest.fixture(scope="module")
def run_and_search() -> tuple[Answer, Answer]:
    return answer(example("error_feedback"), Asked(steps=1)), answer(example("gradient_descent"), Asked())


def set_in(*path: Any) -> Callable[[Any], None]:
    *way, last, value = path

    def change(record: Any) -> None:
        for name in way:
            record = record[name]
        record[last] = value

    return change


CORRUPTED: dict[str, tuple[int, Callable[[Any], None], int]] = {
    "a smaller bound": (0, set_in("upper", "bound", "4/5"), REFUTED),
    "a larger worst case": (0, set_in("lower", "bound", "99/10"), REFUTED),
    "weights that are no mean": (0, set_in("upper", "weights", ["2/1"]), REFUTED),
    "a negative multiplier": (0, set_in("upper", "multipliers", "compression 0", "-1/1"), REFUTED),
    "no multiplier of the compressor": (0, lambda r: r["upper"]["multipliers"].pop("compression 0"), REFUTED),
    "a wider compressor": (0, set_in("compressions", 0, 2, "1/1"), REFUTED),
    "another curvature": (0, set_in("mu", "1/20"), REFUTED),
    "an impossible curvature": (0, set_in("mu", "2/1"), REFUTED),
    "a Gram matrix that is none": (0, set_in("lower", "gram", 0, 0, "-1/1"), REFUTED),
    "a Gram matrix of another size": (0, lambda r: r["lower"]["gram"].pop(), REFUTED),
    "a minimiser elsewhere": (0, set_in("points", 0, 0, 2, 0), REFUTED),
    "one value for two points": (0, set_in("points", 0, 1, 2, 1), REFUTED),
    "a gradient at the minimiser": (0, lambda r: r["points"][0][0][1].__setitem__(0, "1/1"), REFUTED),
    "an unknown inequality": (0, set_in("upper", "multipliers", "pair 0:8,9", "1/1"), UNREADABLE),
    "a float": (0, set_in("upper", "bound", 0.9), UNREADABLE),
    "nothing claimed": (0, lambda r: r.update(upper=None, lower=None), REFUTED),
    "another claim": (0, set_in("claim", "nothing"), REFUTED),
    "a smaller factor": (1, set_in("upper", "bound", "4/5"), REFUTED),
    "another function": (1, set_in("upper", "quadratic", 0, 0, "0/1"), REFUTED),
    "another value": (1, set_in("upper", "linear", 0, "-9/1"), REFUTED),
    "no multipliers of the state": (1, lambda r: r["upper"]["multipliers"].pop("state"), UNREADABLE),
    "a larger measured form": (1, lambda r: scale_form(r["measured"], 10**9), REFUTED),
}


def scale_form(form: Any, factor: int) -> None:
    def scaled(entry: str) -> str:
        numerator, _, denominator = entry.partition("/")
        return f"{int(numerator) * factor}/{denominator}"

    form["gram"] = [[scaled(entry) for entry in row] for row in form["gram"]]


@pytest.mark.parametrize("error", CORRUPTED)
def test_a_corrupted_certificate_is_rejected(
    error: str, run_and_search: tuple[Answer, Answer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, corrupt, status = CORRUPTED[error]
    path = stored(tmp_path, run_and_search[place])
    assert check([str(tmp_path)]) == HOLDS
    record = copy.deepcopy(run_and_search[place].record)
    corrupt(record)
    path.write_text(json.dumps({"certificates": [record]}), encoding="utf-8")
    assert check([str(tmp_path)]) == status
    assert "certificate 1" in capsys.readouterr().err
