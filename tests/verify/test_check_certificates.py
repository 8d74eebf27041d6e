import ast
import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparsync.verify.check_certificates import CLASSES, KINDS, METHODS, main
from sparsync.verify.contraction.certificates import CERTIFIED_CLASSES
from tests.support.paths import ROOT

CHECKER = ROOT / "verify" / "check_certificates.py"
STORE = ROOT / "paper" / "data" / "certificates"

HOLDS, REFUTED, UNREADABLE = 0, 1, 2

Record = dict[str, Any]

BY_HAND: Record = {
    # v_1 ≥ v_2 ≥ v_3: v_2 + v_3 − (2/3)(v_1 + v_2 + v_3) = −(2/3)(v_1 − v_2) − (1/3)(v_2 − v_3).
    "kind": "contraction",
    "class": "top_k",
    "dimension": 3,
    "count": 1,
    "multipliers": ["2/3", "1/3"],
    "bound": "2/3",
}


def write(folder: Path, *records: object) -> Path:
    path = folder / "some.json"
    path.write_text(json.dumps({"certificates": list(records)}), encoding="utf-8")
    return path


def changed(**fields: object) -> Record:
    return BY_HAND | fields


def without(name: str) -> Record:
    return {field: value for field, value in BY_HAND.items() if field != name}


CORRUPTED: dict[str, tuple[object, int]] = {
    "a multiplier a little larger": (changed(multipliers=["2/3", "333333333334/1000000000000"]), REFUTED),
    "a multiplier a little smaller": (changed(multipliers=["666666666666/1000000000000", "1/3"]), REFUTED),
    "a negative multiplier": (changed(multipliers=["-2/3", "1/3"]), REFUTED),
    "multipliers in another order": (changed(multipliers=["1/3", "2/3"]), REFUTED),
    "a missing multiplier": (changed(multipliers=["2/3"]), REFUTED),
    "an extra multiplier": (changed(multipliers=["2/3", "1/3", "0/1"]), REFUTED),
    "no multipliers": (changed(multipliers=[]), REFUTED),
    "a smaller bound": (changed(bound="666666666666/1000000000000"), REFUTED),
    "a larger bound": (changed(bound="3/4"), REFUTED),
    "a trivial bound": (changed(multipliers=["0/1", "0/1"], bound="1/1"), REFUTED),
    "a negative bound": (changed(bound="-2/3"), REFUTED),
    "count + 1": (changed(count=2), REFUTED),
    "count − 1": (changed(count=0), REFUTED),
    "count above dimension": (changed(count=4), REFUTED),
    "dimension + 1": (changed(dimension=4), REFUTED),
    "dimension − 1": (changed(dimension=2), REFUTED),
    "dimension 0": (changed(dimension=0, multipliers=[]), REFUTED),
    "another class": ({**BY_HAND, "class": "square_convex"}, REFUTED),
    "a smaller class": ({**BY_HAND, "class": "square_convex_end_point"}, REFUTED),
    "an unknown class": ({**BY_HAND, "class": "nothing"}, UNREADABLE),
    "an unknown kind": (changed(kind="nothing"), UNREADABLE),
    "a kind that is a list": (changed(kind=["contraction"]), UNREADABLE),
    "a zero denominator": (changed(bound="1/0"), UNREADABLE),
    "a negative denominator": (changed(bound="-2/-3"), UNREADABLE),
    "a decimal": (changed(multipliers=["0.5", "1/3"]), UNREADABLE),
    "a float": (changed(bound=2 / 3), UNREADABLE),
    "an integer for a rational": (changed(multipliers=[1, "1/3"]), UNREADABLE),
    "a whole number without denominator": (changed(bound="1"), UNREADABLE),
    "blanks": (changed(bound=" 2/3"), UNREADABLE),
    "digits that are not ASCII": (changed(bound="٢/٣"), UNREADABLE),
    "an underscore": (changed(bound="2/3_0"), UNREADABLE),
    "not a number": (changed(bound=float("nan")), UNREADABLE),
    "a number of too many digits": (changed(bound=f"2/{'3' * 5000}"), UNREADABLE),
    "a truth value for a count": (changed(count=True), UNREADABLE),
    "a float for a dimension": (changed(dimension=3.0), UNREADABLE),
    "multipliers that are no list": (changed(multipliers="2/3"), UNREADABLE),
    "a missing field": (without("count"), UNREADABLE),
    "a renamed field": ({**without("bound"), "lambda": "2/3"}, UNREADABLE),
    "a missing kind": (without("kind"), UNREADABLE),
    "a list for a certificate": (["contraction"], UNREADABLE),
    "null for a certificate": (None, UNREADABLE),
}
"""A certificate with one error, and the status it deserves."""

BROKEN_TEXTS: dict[str, str] = {
    "truncated": json.dumps({"certificates": [BY_HAND]})[:-3],
    "empty": "",
    "an empty list of certificates": '{"certificates": []}',
    "certificates under another name": json.dumps({"proofs": [BY_HAND]}),
    "certificates that are no list": json.dumps({"certificates": BY_HAND}),
    "a list": json.dumps([BY_HAND]),
    "nested too deeply": "[" * 100_000,
}
"""What may be wrong with a file before its certificates are looked at."""


def changed_text(name: str, text: str) -> Callable[[Record], None]:
    return lambda record: record.update({name: text})


def changed_example(name: str, text: str) -> Callable[[Record], None]:
    return lambda record: record["attained_by"].update({name: text})


WRONG_RATES: dict[str, tuple[Callable[[Record], object], int]] = {
    "a smaller bound": (changed_text("bound", "1/1000"), REFUTED),
    "a larger bound": (changed_text("bound", "999/1000"), REFUTED),
    "a bound of one": (changed_text("bound", "1/1"), REFUTED),
    "another step size": (changed_text("step_size", "1/2"), REFUTED),
    "a negative step size": (changed_text("step_size", "-1/2"), REFUTED),
    "another compressor": (changed_text("root_epsilon", "1/3"), REFUTED),
    "no compressor": (changed_text("root_epsilon", "0/1"), REFUTED),
    "another curvature": (changed_text("mu", "1/3"), REFUTED),
    "no curvature": (changed_text("mu", "0/1"), REFUTED),
    "another smoothness": (changed_text("smoothness", "4/1"), REFUTED),
    "another multiplier of the compressor": (lambda r: r["multipliers"].update(compressor="1/3"), REFUTED),
    "the other sign of the compressor's multiplier": (
        lambda r: r["multipliers"].update(compressor=f"-{r['multipliers']['compressor']}"),
        REFUTED,
    ),
    "another multiplier of an inequality": (
        lambda r: r["multipliers"].update({next(iter(r["multipliers"])): "1/3"}),
        REFUTED,
    ),
    "an entry of the slack": (lambda r: r["slack"][0].__setitem__(0, "1/3"), REFUTED),
    "a row of the slack less": (lambda r: r["slack"].pop(), REFUTED),
    "another basis": (lambda r: r["basis"].reverse(), REFUTED),
    "an example outside the class": (changed_example("curvature", "5/1"), REFUTED),
    "an example that is no compressor": (changed_example("response", "3/1"), REFUTED),
    "an example of another rate": (changed_example("factor", "1/3"), REFUTED),
    "an example that is zero": (
        lambda r: r["attained_by"].update(state=["0/1" for _ in r["attained_by"]["state"]]),
        REFUTED,
    ),
    "an unknown inequality": (lambda r: r["multipliers"].update({"2,3": "1/3"}), UNREADABLE),
    "an inequality without a second point": (lambda r: r["multipliers"].update({"0": "1/3"}), UNREADABLE),
    "no multiplier of the compressor": (lambda r: r["multipliers"].pop("compressor"), UNREADABLE),
    "multipliers in a list": (lambda r: r.update(multipliers=list(r["multipliers"].values())), UNREADABLE),
    "a float": (lambda r: r.update(bound=0.5), UNREADABLE),
    "a zero denominator": (changed_text("mu", "1/0"), UNREADABLE),
    "a missing slack": (lambda r: r.pop("slack"), UNREADABLE),
    "a missing example": (lambda r: r.pop("attained_by"), UNREADABLE),
    "an example of too many coordinates": (lambda r: r["attained_by"]["state"].extend(["0/1", "0/1"]), UNREADABLE),
}
"""An error in a certificate of a rate, and the status it deserves."""

INDEFINITE: Record = {
    # V_0/2 − V_1 for V = (x − e)² + 4 e², x1 − e1 = x − e − g, e1 = e + g − c: it is −1/2 at x = 1.
    "kind": "error_feedback",
    "mu": "1/1",
    "smoothness": "2/1",
    "root_epsilon": "1/4",
    "step_size": "1/1",
    "bound": "1/2",
    "basis": ["x0", "e0", "c0", "g0"],
    "multipliers": {"compressor": "0/1"},
    "slack": [
        ["-1/2", "1/2", "0/1", "1/1"],
        ["1/2", "-5/2", "4/1", "-5/1"],
        ["0/1", "4/1", "-4/1", "4/1"],
        ["1/1", "-5/1", "4/1", "-5/1"],
    ],
    "attained_by": {},
}


def stored(kind: str) -> Record:
    record: Record = json.loads((STORE / f"{kind}.json").read_text(encoding="utf-8"))["certificates"][7]
    return record


def status_and_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = main([str(folder)])
    captured = capsys.readouterr()
    return status, captured.err if status else captured.out


def test_a_certificate_done_by_hand_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, BY_HAND)
    status, words = status_and_words(tmp_path, capsys)
    assert status == HOLDS
    assert words == "all certificates hold: 1 some\n"


@pytest.mark.parametrize("error", CORRUPTED)
def test_a_corrupted_certificate_is_rejected_by_name(
    error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, deserved = CORRUPTED[error]
    path = write(tmp_path, BY_HAND, wrong, BY_HAND)
    status, words = status_and_words(tmp_path, capsys)
    assert status == deserved
    assert f"{path}: certificate 2" in words


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("error", WRONG_RATES)
def test_a_corrupted_rate_is_rejected_by_name(
    kind: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, (corrupt, deserved) = copy.deepcopy(stored(kind)), WRONG_RATES[error]
    corrupt(wrong)
    path = write(tmp_path, stored(kind), wrong)
    status, words = status_and_words(tmp_path, capsys)
    assert status == deserved
    assert f"{path}: certificate 2" in words


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("other", METHODS)
def test_a_rate_proves_nothing_about_another_method(kind: str, other: str, tmp_path: Path) -> None:
    write(tmp_path, stored(kind) | {"kind": other})
    assert (main([str(tmp_path)]) == HOLDS) == (kind == other)


@pytest.mark.parametrize("kind", ["error_feedback", "error_feedback_21"])
def test_the_slack_of_the_deviations_is_checked_too(kind: str, tmp_path: Path) -> None:
    wrong = copy.deepcopy(stored(kind))
    wrong["deviation_slack"][0][0] = "1/3"
    write(tmp_path, wrong)
    assert main([str(tmp_path)]) == REFUTED


def test_a_slack_done_by_hand_is_the_sum_but_is_indefinite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, INDEFINITE)
    status, words = status_and_words(tmp_path, capsys)
    assert status == REFUTED
    assert words.endswith("it is false that slack is positive semidefinite\n")


@pytest.mark.parametrize("error", BROKEN_TEXTS)
def test_a_file_that_holds_no_certificates_is_rejected_by_name(
    error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "some.json"
    path.write_text(BROKEN_TEXTS[error], encoding="utf-8")
    status, words = status_and_words(tmp_path, capsys)
    assert status == UNREADABLE
    assert str(path) in words


def test_a_file_that_is_not_text_is_rejected_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "some.json").write_bytes(b"\xff\xfe")
    status, words = status_and_words(tmp_path, capsys)
    assert (status, "some.json" in words) == (UNREADABLE, True)


@pytest.mark.parametrize("arguments", [[], ["one", "two"], ["missing"], [str(CHECKER)]])
def test_nothing_to_check_is_no_success(arguments: list[str]) -> None:
    assert main(arguments) == UNREADABLE


def test_an_empty_folder_is_no_success(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == UNREADABLE


def test_folders_below_are_searched_too(tmp_path: Path) -> None:
    write(tmp_path, BY_HAND)
    (tmp_path / "below").mkdir()
    write(tmp_path / "below", changed(count=2))
    assert main([str(tmp_path)]) == REFUTED


def test_the_stored_certificates_hold_without_any_installed_package() -> None:
    command = [sys.executable, "-I", "-S", str(CHECKER), str(STORE)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (HOLDS, "")
    assert len(finished.stdout.splitlines()) == 1


def test_the_checker_is_short() -> None:
    assert len(CHECKER.read_text(encoding="utf-8").splitlines()) <= 300


def test_the_checker_imports_only_the_standard_library() -> None:
    tree = ast.parse(CHECKER.read_text(encoding="utf-8"))
    whole = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    parts = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert whole | parts <= {"json", "sys", "fractions", "pathlib", "typing"}


@pytest.mark.parametrize("class_name", CERTIFIED_CLASSES)
@pytest.mark.parametrize("dimension", [2, 3, 7])
def test_both_lists_of_weights_agree(class_name: str, dimension: int) -> None:
    weight, _ = CLASSES[class_name]
    restated = tuple(weight(dimension - rank) for rank in range(1, dimension + 1))
    assert restated == CERTIFIED_CLASSES[class_name](dimension)


def test_every_kind_and_class_has_stored_certificates() -> None:
    records = [
        record
        for path in STORE.glob("*.json")
        for record in json.loads(path.read_text(encoding="utf-8"))["certificates"]
    ]
    # Users pose the methods of that kind; its certificates are theirs.
    assert {record["kind"] for record in records} == set(KINDS) - {"worst_case_rate"}
    assert {record["class"] for record in records if record["kind"] == "contraction"} == set(CLASSES)
