"""The README's ledger and timings are what the tracked results say; every row leads to a proof and to checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper import readme
from paper.readme import BLOCKS, PROOFS, ledger_markdown, marks, updated
from paper.statements.proofs import checks_file, proof_file, proofs_markdown
from sparsync.theory.statements import FAMILIES, STATEMENTS
from tests.support.paper_data import rewrite, write_results
from tests.support.paths import ROOT


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_of_the_readme_is_that_of_the_tracked_results(name: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert updated(text, name, BLOCKS[name](ROOT / "paper" / "data")) == text, "run `make verify`"


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


def a_readme(words: str) -> str:
    """A text with the marks of every block, and words between them."""
    return "".join(
        f"before {name}\n{first}\n{words}\n{last}\nafter\n" for name in BLOCKS for first, last in [marks(name)]
    )


def test_only_the_text_between_the_marks_changes(tmp_path: Path) -> None:
    folder, path = write_results(tmp_path / "data"), tmp_path / "README.md"
    path.write_text(a_readme("stale words"), encoding="utf-8")
    readme.main(["--data-folder", str(folder), "--readme", str(path)])
    text = path.read_text(encoding="utf-8")
    assert "stale words" not in text
    for name, markdown in BLOCKS.items():
        first, last = marks(name)
        assert f"before {name}\n{first}\n{markdown(folder)}{last}\nafter\n" in text
    assert (tmp_path / PROOFS).read_text(encoding="utf-8") == proofs_markdown(folder)


START, END = marks("ledger")


@pytest.mark.parametrize("text", ["", START, f"{END} {START}", f"{START} {START} {END}", f"{START} {END} {END}"])
def test_a_readme_without_its_marks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="needs the marks"):
        updated(text, "ledger", "rows")


@pytest.mark.parametrize(
    ("missing", "message"),
    [("verify.json", r"verify\.json is missing"), ("kernels-test.json", r"kernels-\*\.json is missing")],
)
def test_the_command_ends_with_a_message_where_results_are_missing(missing: str, message: str, tmp_path: Path) -> None:
    folder, path = write_results(tmp_path / "data"), tmp_path / "README.md"
    (folder / missing).unlink()
    path.write_text(a_readme("as before"), encoding="utf-8")
    with pytest.raises(SystemExit, match=message):
        readme.main(["--data-folder", str(folder), "--readme", str(path)])
    assert path.read_text(encoding="utf-8") == a_readme("as before")
    assert not (tmp_path / PROOFS).exists()
