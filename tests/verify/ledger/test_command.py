import io
import json
import shutil
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sympy

from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.check_certificates import check_file
from sparsync.verify.contraction.counterexamples import COUNTEREXAMPLES, Counterexample, is_convex, on_the_line
from sparsync.verify.formal.coq import Compiled, CoqError
from sparsync.verify.formal.theorems import THEOREMS
from sparsync.verify.ledger import certificate_store
from sparsync.verify.ledger.certificate_store import Record
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.ledger.command import main
from sparsync.verify.ledger.mutants import MUTANTS
from sparsync.verify.ledger.mutation import wrong_bound
from sparsync.verify.tools.outcome import PROFILES, Outcome, Profile

LABELS = ("top_k", "square_convex")
"""Two statements: that every one earns its grades is the claim of `test_evidence.py`."""
CLASSES = {name: certificate_store.FAMILIES[name] for name in ("top_k", "square_convex", "square_convex_end_point")}
CERTIFICATES_COUNT = 3 * (2 + 3)
"""Every k of d = 2 and d = 3, for each class."""
WHOLE = {label: STATEMENTS[label] for label in LABELS}


def install(statements: dict[str, Statement], monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the ledger is about these."""
    for label, statement in statements.items():
        monkeypatch.setitem(STATEMENTS, label, statement)
    monkeypatch.setattr("sparsync.verify.ledger.command.STATEMENTS", statements)


def with_conclusion_only(statement: Statement) -> Statement:
    """That the whole derivation holds is the claim of `test_evidence.py`."""
    return replace(statement, derivation=tuple(step for step in statement.derivation if step.concludes is not None))


@pytest.fixture(autouse=True)
def small_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Profile(dimensions=(2, 3), examples_count=5)
    monkeypatch.setitem(PROFILES, "smoke", small)
    # That mutants are killed in the profile meant for them is the claim of `test_mutants.py`.
    monkeypatch.setattr("sparsync.verify.ledger.mutation.MUTATION_PROFILE", small)
    install({label: with_conclusion_only(STATEMENTS[label]) for label in LABELS}, monkeypatch)
    monkeypatch.setattr("sparsync.verify.ledger.command.MUTANTS", {"top_k_count": MUTANTS["top_k_count"]})
    monkeypatch.setattr(certificate_store, "FAMILIES", CLASSES)
    # That Coq compiles the theorems is the claim of `test_coq.py`.
    monkeypatch.setattr("sparsync.verify.ledger.command.coq_is_there", lambda: False)


def run(folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    output = folder / "new" / "verify.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    status = main(["--profile", "smoke", "--output", str(output), *options])
    data = json.loads(output.read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return status, data


@dataclass(frozen=True)
class Plain:
    """A run in an empty folder, without options.

    Args:
        folder: where it ran.
        status: its exit status.
        data: the ledger that it wrote.
        printed: what it printed.
    """

    folder: Path
    status: int
    data: dict[str, Any]
    printed: str

    def copied_to(self, folder: Path) -> dict[str, Any]:
        """As if it had run there."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return self.data


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Plain:
    folder = tmp_path_factory.mktemp("plain")
    with pytest.MonkeyPatch.context() as monkeypatch, redirect_stdout(io.StringIO()) as printed:
        shrink(monkeypatch)
        status, data = run(folder)
    return Plain(folder, status, data, printed.getvalue())


def test_the_ledger_passes_and_records_every_statement(plain: Plain) -> None:
    data, printed = plain.data, plain.printed
    assert plain.status == 0
    assert data["failures"] == []
    assert data["profile"] == "smoke"
    statements = data["statements"]
    assert isinstance(statements, list)
    assert [row["label"] for row in statements] == list(LABELS)
    assert all("symbolic" in row["grades"] for row in statements)
    assert all(label in printed for label in LABELS)
    assert "\x1b" not in printed


def test_certificates_are_written_beside_the_ledger_and_counted(plain: Plain) -> None:
    data = plain.data
    assert data["certificates"]["checked_count"] == CERTIFICATES_COUNT
    assert {file["name"] for file in data["certificates"]["files"]} == set(CLASSES)
    paths = list((plain.folder / "new" / "certificates").iterdir())
    assert {path.stem for path in paths} == set(CLASSES)
    assert all(check_file(path)[0] == 0 for path in paths)


def test_stored_certificates_are_used_until_fresh_ones_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, ledgers = [], []
    for options in ((), (), ("--fresh",)):
        _, ledger = run(tmp_path, *options)
        ledgers.append({name: part for name, part in ledger.items() if name != "provenance"})
        printed = capsys.readouterr().out
        lines.append(printed.count("derived afresh"))
        assert f"{CERTIFICATES_COUNT} certificates of" in printed
    assert lines == [3, 0, 3]
    assert ledgers[0] == ledgers[1] == ledgers[2]


def compiled_with(axioms: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on Coq is there, and every theorem rests on these axioms."""
    found = Compiled(axioms=dict.fromkeys(THEOREMS, axioms), others=(), version="8.16", seconds=1.0)
    monkeypatch.setattr("sparsync.verify.ledger.command.coq_is_there", lambda: True)
    monkeypatch.setattr("sparsync.verify.ledger.command.compile_theorems", lambda **_options: found)


def test_without_coq_the_grade_formal_is_not_earned_and_nothing_fails(plain: Plain) -> None:
    assert plain.status == 0
    assert not any("formal" in row["grades"] + row["lost_grades"] for row in plain.data["statements"])
    assert "formal is not earned in this run: no coqc" in " ".join(plain.printed.split())


def test_a_closed_theorem_earns_its_statement_the_strongest_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_with((), monkeypatch)
    status, data = run(tmp_path)
    assert status == 0
    assert {row["label"]: row["grades"][0] for row in data["statements"]} == {
        "top_k": "formal",
        "square_convex": "symbolic",
    }
    assert data["statements"][0]["evidence"]["formal"]["theorems"] == ["top_k.top_k_contracts"]


def test_a_theorem_that_rests_on_an_axiom_loses_the_grade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_with(("excluded_middle",), monkeypatch)
    status, data = run(tmp_path)
    assert status == 1
    assert data["failures"] == ["top_k: lost the grade formal"]


def test_a_file_that_does_not_compile_loses_the_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(**_options: object) -> Compiled:
        raise CoqError("tail.v: Error")

    monkeypatch.setattr("sparsync.verify.ledger.command.coq_is_there", lambda: True)
    monkeypatch.setattr("sparsync.verify.ledger.command.compile_theorems", broken)
    status, data = run(tmp_path)
    assert status == 1
    assert data["failures"] == ["top_k: lost the grade formal"]
    assert "FAILED tail.v: Error" in capsys.readouterr().out


def counting_property_check(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on the property check of `top_k` notes that it ran."""
    runs: list[str] = []
    check = CHECKS["top_k"]["property"]

    def counted(profile: Profile) -> Outcome:
        runs.append("property")
        return check(profile)

    monkeypatch.setitem(CHECKS["top_k"], "property", counted)
    return runs


def test_derivations_are_kept_too_but_formal_proofs_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ("--store", str(tmp_path / "store"))
    compiled_with((), monkeypatch)
    run(tmp_path, *store)
    monkeypatch.setattr(
        "sparsync.verify.ledger.evidence.derivation_outcome", lambda _label: pytest.fail("derived again")
    )
    assert run(tmp_path, *store)[0] == 0


def test_a_formal_proof_that_is_lost_outweighs_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_with((), monkeypatch)
    run(tmp_path)
    compiled_with(("excluded_middle",), monkeypatch)
    status, data = run(tmp_path)
    assert (status, data["failures"]) == (1, ["top_k: lost the grade formal"])


def test_bounds_are_scaled_where_the_profile_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harmless = wrong_bound("top_k", "nothing", lambda bound: bound, "rational")
    chosen = {"top_k_count": MUTANTS["top_k_count"]}
    for module in ("command", "collection", "report"):
        monkeypatch.setattr(f"sparsync.verify.ledger.{module}.MUTANTS", {"harmless": harmless, **chosen})
    monkeypatch.setattr("sparsync.verify.ledger.command.CHOSEN", chosen)
    monkeypatch.setitem(PROFILES, "smoke", replace(PROFILES["smoke"], scales_bounds=False))
    status, data = run(tmp_path)
    assert (status, data["mutants"]["mutants_count"]) == (0, 1)


def test_evidence_that_is_kept_is_not_found_again_unless_fresh_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ("--store", str(tmp_path / "store"))
    _, first = run(tmp_path, *store)
    runs = counting_property_check(monkeypatch)
    status, again = run(tmp_path, *store)
    assert (status, runs) == (0, [])
    assert {**again, "provenance": None, "certificates": None} == {**first, "provenance": None, "certificates": None}
    run(tmp_path, *store, "--fresh")
    # Once for the statement, once for the mutant.
    assert runs == ["property", "property"]


def test_evidence_is_found_again_where_the_sources_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ("--store", str(tmp_path / "store"))
    run(tmp_path, *store)
    runs = counting_property_check(monkeypatch)
    monkeypatch.setattr("sparsync.verify.tools.store.sources_digest", lambda _module, _packages: "0" * 64)
    run(tmp_path, *store)
    assert runs == ["property", "property"]


def test_evidence_that_cannot_be_computed_is_named_and_all_other_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_profile: Profile) -> Outcome:
        raise ArithmeticError("no solver")

    store = tmp_path / "store"
    with monkeypatch.context() as broken:
        broken.setitem(CHECKS["top_k"], "property", fails)
        (tmp_path / "new").mkdir()
        assert main(["--profile", "smoke", "--output", str(tmp_path / "new/verify.json"), "--store", str(store)]) == 1
    assert "FAILED ('top_k'" in capsys.readouterr().out
    assert not (tmp_path / "new" / "verify.json").exists()
    assert len(list(store.rglob("*.result"))) == len(LABELS) - 1
    assert run(tmp_path, "--store", str(store))[0] == 0


@pytest.mark.slow
def test_several_processes_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Other processes know the statements as they are.
    install(WHOLE, monkeypatch)
    _, alone = run(tmp_path / "alone")
    status, together = run(tmp_path / "together", "--jobs", "2")
    assert status == 0
    assert together["provenance"]["process_count"] == 2
    for part in ("statements", "mutants", "failures"):
        assert together[part] == alone[part]


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_number_of_processes_below_one_is_refused(tmp_path: Path, count: str) -> None:
    with pytest.raises(SystemExit) as refusal:
        run(tmp_path, "--jobs", count)
    assert refusal.value.code == 2


def test_another_folder_of_certificates_can_be_named(tmp_path: Path) -> None:
    run(tmp_path, "--certificates", str(tmp_path / "elsewhere"))
    assert not (tmp_path / "new" / "certificates").exists()
    assert {path.stem for path in (tmp_path / "elsewhere").iterdir()} == set(CLASSES)


def test_certificates_that_do_not_hold_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(profile: Profile) -> list[Record]:
        return [{**record, "bound": "1/7"} for record in CLASSES["top_k"].derive(profile)]

    wrong_family = replace(CLASSES["top_k"], derive=wrong)
    monkeypatch.setattr(certificate_store, "FAMILIES", {**CLASSES, "top_k": wrong_family})
    status, data = run(tmp_path)
    assert status == 1
    (failure,) = data["failures"]
    assert "certificate 1 (contraction): it is false that" in failure
    assert "FAILED certificates top_k" in capsys.readouterr().out


def test_stored_certificates_of_another_bound_lose_the_rational_grade(
    plain: Plain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.copied_to(tmp_path)
    wrong = replace(STATEMENTS["top_k"], relation=STATEMENTS["square_convex"].relation)
    monkeypatch.setitem(STATEMENTS, "top_k", wrong)
    status, data = run(tmp_path)
    assert status == 1
    assert "top_k: lost the grade rational" in data["failures"]


def test_mutants_are_counted_with_the_grades_that_killed_them(plain: Plain) -> None:
    data = plain.data
    assert (data["mutants"]["killed_count"], data["mutants"]["mutants_count"]) == (1, 1)
    (mutant,) = data["mutants"]["mutants"]
    assert mutant == {
        "name": "top_k_count",
        "label": "top_k",
        "change": MUTANTS["top_k_count"].change,
        "killed_by": ["rational", "property"],
    }
    assert "1 of 1 mutants killed" in plain.printed


def test_a_mutant_that_survives_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harmless = wrong_bound("top_k", "nothing", lambda bound: bound, "rational")
    for module in ("command", "collection", "report"):
        monkeypatch.setattr(f"sparsync.verify.ledger.{module}.MUTANTS", {"harmless": harmless})
    status, data = run(tmp_path)
    assert status == 1
    assert data["failures"] == ["mutant harmless of top_k: survives rational"]
    assert data["mutants"]["killed_count"] == 0


def test_written_counterexamples_exceed_their_bound(plain: Plain) -> None:
    records = plain.data["counterexamples"]
    assert isinstance(records, list)
    assert [record["name"] for record in records] == list(COUNTEREXAMPLES)
    assert all(Fraction(record["ratio"]) > Fraction(record["claimed"]) for record in records)


def test_the_insufficient_wordings_have_worst_cases_above_the_bound(plain: Plain) -> None:
    wordings = plain.data["wordings"]
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
