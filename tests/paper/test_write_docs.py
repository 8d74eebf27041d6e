"""The pages are what the tracked results say; every row of the ledger leads to a proof and to checks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper import write_docs
from paper.statements.proof_page import proofs_markdown
from paper.statements.proofs import checks_file, proof_file
from paper.write_docs import BLOCKS, PROOFS, all_pages, ledger_markdown, marks, updated
from sparsync.theory.statements import FAMILIES, STATEMENTS
from tests.support.paper_data import rewrite, write_results
from tests.support.paths import ROOT

DOCS = ROOT / "paper" / "docs"


def test_the_pages_are_those_of_the_tracked_results() -> None:
    pages = all_pages(ROOT / "paper" / "data", DOCS)
    assert set(pages) <= {path.name for path in DOCS.iterdir()}
    for name, text in pages.items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, "run `make docs`"


@pytest.mark.parametrize("label", STATEMENTS)
def test_every_statement_is_one_click_from_its_proof_and_two_from_its_code(label: str) -> None:
    page = (DOCS / PROOFS).read_text(encoding="utf-8")
    assert f"({PROOFS}#{label})" in (DOCS / "ledger.md").read_text(encoding="utf-8")
    assert f"\n### {label}\n" in page
    assert f"(../../{proof_file(label)}#L" in page
    assert f"(../../{checks_file(label)}#L" in page
    assert label in (ROOT / proof_file(label)).read_text(encoding="utf-8")
    assert (ROOT / checks_file(label)).is_file()


def test_every_statement_has_a_row_with_its_grades(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    text = ledger_markdown(folder)
    assert re.findall(r"^\| \[`(\w+)`\]", text, flags=re.MULTILINE) == list(STATEMENTS)
    grades = re.findall(r"\| symbolic(?: \(\d+ of \d+ steps argued\))?, rational \|$", text, flags=re.MULTILINE)
    assert len(grades) == len(STATEMENTS)
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


def write_pages(folder: Path, words: str) -> dict[str, str]:
    """Pages with their marks, and words between them."""
    folder.mkdir()
    pages = {}
    for page in {page for page, _ in BLOCKS.values()}:
        pages[page] = page_of(page, dict.fromkeys(BLOCKS, f"{words}\n"))
        (folder / page).write_text(pages[page], encoding="utf-8")
    return pages


def page_of(page: str, blocks: dict[str, str]) -> str:
    """A page with its blocks; some pages have several."""
    names = [name for name, (its_page, _) in BLOCKS.items() if its_page == page]
    return "".join(f"before {name}\n{marks(name)[0]}\n{blocks[name]}{marks(name)[1]}\nafter\n" for name in names)


def run(data_folder: Path, docs_folder: Path) -> None:
    write_docs.main(["--data-folder", str(data_folder), "--docs-folder", str(docs_folder)])


def test_only_the_text_between_the_marks_changes(tmp_path: Path) -> None:
    folder, docs = write_results(tmp_path / "data"), tmp_path / "docs"
    write_pages(docs, "stale words")
    run(folder, docs)
    blocks = {name: markdown(folder) for name, (_, markdown) in BLOCKS.items()}
    for page, _ in BLOCKS.values():
        assert (docs / page).read_text(encoding="utf-8") == page_of(page, blocks)
    assert (docs / PROOFS).read_text(encoding="utf-8") == proofs_markdown(folder)


START, END = marks("ledger")


@pytest.mark.parametrize("text", ["", START, f"{END} {START}", f"{START} {START} {END}", f"{START} {END} {END}"])
def test_a_page_without_its_marks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the page of ledger needs the marks"):
        updated(text, "ledger", "rows")


@pytest.mark.parametrize(
    ("missing", "message"),
    [("verify.json", r"verify\.json is missing"), ("kernels-test.json", r"kernels-\*\.json is missing")],
)
def test_the_command_ends_with_a_message_where_results_are_missing(missing: str, message: str, tmp_path: Path) -> None:
    folder, docs = write_results(tmp_path / "data"), tmp_path / "docs"
    (folder / missing).unlink()
    pages = write_pages(docs, "as before")
    with pytest.raises(SystemExit, match=message):
        run(folder, docs)
    assert {path.name: path.read_text(encoding="utf-8") for path in docs.iterdir()} == pages


def test_a_page_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder, docs = write_results(tmp_path / "data"), tmp_path / "docs"
    write_pages(docs, "as before")
    (docs / "ledger.md").unlink()
    with pytest.raises(SystemExit, match=r"ledger\.md"):
        run(folder, docs)
