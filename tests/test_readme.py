"""The README's ledger is what the tracked results say, and every row leads to a proof and to checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper import readme
from paper.proofs import checks_file, proof_file, proofs_markdown
from paper.readme import END, PROOFS, START, ledger_markdown, updated
from sparsync.theory.statements import FAMILIES, STATEMENTS
from tests.paper_data import rewrite, write_results

ROOT = Path(__file__).resolve().parents[1]


def test_the_ledger_in_the_readme_is_that_of_the_tracked_results() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert updated(text, ledger_markdown(ROOT / "paper" / "data")) == text, "run `make verify`"


def test_the_page_of_proofs_is_that_of_the_tracked_results() -> None:
    assert (ROOT / PROOFS).read_text(encoding="utf-8") == proofs_markdown(ROOT / "paper" / "data"), "run `make verify`"


@pytest.mark.parametrize("label", STATEMENTS)
def test_every_statement_is_one_click_from_its_proof_and_two_from_its_code(label: str) -> None:
    page = (ROOT / PROOFS).read_text(encoding="utf-8")
    assert f"({PROOFS.as_posix()}#{label})" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"\n### {label}\n" in page
    assert f"(../{proof_file(label)})" in page
    assert f"(../{checks_file(label)})" in page
    assert label in (ROOT / proof_file(label)).read_text(encoding="utf-8")
    assert (ROOT / checks_file(label)).is_file()


def test_every_statement_has_a_row_with_its_grades(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    text = ledger_markdown(folder)
    assert re.findall(r"^\| \[`(\w+)`\]", text, flags=re.MULTILINE) == list(STATEMENTS)
    assert text.count("symbolic, rational |") == len(STATEMENTS)
    assert text.count("<details>") == text.count("</details>") == len(FAMILIES)


def test_a_statement_without_results_is_named(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "verify.json", statements=[{"label": "top_k", "grades": []}])
    with pytest.raises(ValueError, match="no statement random_k"):
        ledger_markdown(folder)


@pytest.mark.parametrize("find", [proof_file, checks_file])
def test_an_unknown_label_leads_nowhere(find: object) -> None:
    assert callable(find)
    with pytest.raises(ValueError, match="'nothing'"):
        find("nothing")


def test_only_the_text_between_the_marks_changes(tmp_path: Path) -> None:
    folder, path = write_results(tmp_path / "data"), tmp_path / "README.md"
    path.write_text(f"before\n{START}\nstale words\n{END}\nafter\n", encoding="utf-8")
    readme.main(["--data-folder", str(folder), "--readme", str(path)])
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{START}\n<details>")
    assert text.endswith(f"{END}\nafter\n")
    assert "stale words" not in text
    assert (tmp_path / PROOFS).read_text(encoding="utf-8") == proofs_markdown(folder)


@pytest.mark.parametrize("text", ["", START, f"{END} {START}", f"{START} {START} {END}", f"{START} {END} {END}"])
def test_a_readme_without_its_marks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="needs the marks"):
        updated(text, "ledger")


def test_the_command_ends_with_a_message_where_the_ledger_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"{START}{END}", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"verify\.json is missing"):
        readme.main(["--data-folder", str(tmp_path), "--readme", str(path)])
    assert path.read_text(encoding="utf-8") == f"{START}{END}"
    assert not (tmp_path / PROOFS).exists()
