import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import sympy

from sparsync.theory.statement import Step
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.certificates import CERTIFIED_CLASSES, check, from_json
from sparsync.verify.counterexamples import COUNTEREXAMPLES, Counterexample, is_convex, on_the_line
from sparsync.verify.ledger import main
from sparsync.verify.outcome import PROFILES, Profile


@pytest.fixture(autouse=True)
def small_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROFILES, "smoke", Profile(dimensions=(2, 3), examples_count=20))


def run(folder: Path) -> tuple[int, dict[str, object]]:
    output = folder / "new" / "verify.json"
    status = main(["--profile", "smoke", "--output", str(output)])
    data = json.loads(output.read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return status, data


def test_the_ledger_passes_and_records_every_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, data = run(tmp_path)
    assert status == 0
    assert data["failures"] == []
    assert data["profile"] == "smoke"
    statements = data["statements"]
    assert isinstance(statements, list)
    assert [row["label"] for row in statements] == list(STATEMENTS)
    assert all("symbolic" in row["grades"] for row in statements)
    printed = capsys.readouterr().out
    assert all(label in printed for label in STATEMENTS)
    assert "\x1b" not in printed


def test_written_certificates_can_be_checked_again(tmp_path: Path) -> None:
    _, data = run(tmp_path)
    records = data["certificates"]
    assert isinstance(records, list)
    certificates = [from_json(record) for record in records]
    assert {certificate.class_name for certificate in certificates} == set(CERTIFIED_CLASSES)
    assert all(check(certificate) for certificate in certificates)


def test_written_counterexamples_exceed_their_bound(tmp_path: Path) -> None:
    _, data = run(tmp_path)
    records = data["counterexamples"]
    assert isinstance(records, list)
    assert [record["name"] for record in records] == list(COUNTEREXAMPLES)
    assert all(Fraction(record["ratio"]) > Fraction(record["claimed"]) for record in records)


def test_the_insufficient_wordings_have_worst_cases_above_the_bound(tmp_path: Path) -> None:
    _, data = run(tmp_path)
    wordings = data["wordings"]
    assert isinstance(wordings, list)
    assert len(wordings) == 2
    assert all(wording["worst_ratio"] > wording["claimed"] for wording in wordings)


def test_a_lost_grade_is_listed_and_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = replace(STATEMENTS["top_k"], derivation=(Step("one is two", lambda: sympy.Integer(1)),))
    monkeypatch.setitem(STATEMENTS, "top_k", broken)
    status, data = run(tmp_path)
    assert status == 1
    assert data["failures"] == ["top_k: lost the grade symbolic"]
    assert "FAILED top_k: lost the grade symbolic" in capsys.readouterr().out


def test_a_counterexample_that_refutes_nothing_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = Counterexample("squares convex in rank", is_convex, lambda: on_the_line(4), 4)
    monkeypatch.setitem(COUNTEREXAMPLES, "idle", idle)
    status, data = run(tmp_path)
    assert status == 1
    assert data["failures"] == ["counterexample idle: refutes nothing"]


def test_an_unknown_profile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(["--profile", "nothing", "--output", str(tmp_path / "verify.json")])
    assert refusal.value.code == 2
    assert list(tmp_path.iterdir()) == []
