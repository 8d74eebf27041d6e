"""The page of proofs holds every statement whole, and every link on it leads where it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper.statements.formulas import formula
from paper.statements.proof_page import line_of, proofs_markdown
from paper.statements.proofs import checks_file, proof_file
from sparsync.theory.statements import STATEMENTS
from tests.support.paper_data import rewrite, write_results
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return proofs_markdown(write_results(tmp_path_factory.mktemp("paper") / "data"))


@pytest.mark.parametrize("label", STATEMENTS)
def test_the_page_holds_every_statement_under_its_own_anchor(label: str, page: str) -> None:
    statement = STATEMENTS[label]
    section = page.partition(f"\n### {label}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    assert f"```math\n{formula(statement.relation)}\n```" in section
    assert len(re.findall(r"^\d+\. ", section, flags=re.MULTILINE)) == len(statement.derivation)
    assert section.count("(*argued:* ") == sum(bool(step.argued) for step in statement.derivation)
    assert len(re.findall("^- ", section, flags=re.MULTILINE)) == len(statement.assumptions)
    assert re.search(r"^Evidence: symbolic( \(1 argued\))?, rational; checked in", section, flags=re.MULTILINE)
    assert "Source: " in section


def test_no_two_anchors_of_the_page_are_equal(page: str) -> None:
    headings = [heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)]
    assert len(headings) == len(set(headings))


def test_every_link_of_the_page_leads_somewhere(page: str) -> None:
    targets = set(re.findall(r"(?<!\\)\]\(([^)\s]*)[^)]*\)", page))
    inside = {target.removeprefix("#") for target in targets if target.startswith("#")}
    files = {target for target in targets if not target.startswith(("#", "https://"))}
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)}
    assert inside <= headings | set(re.findall(r'<a id="(\w+)">', page))
    for target in files:
        name, _, line = target.partition("#L")
        path = ROOT / "paper" / "docs" / name
        assert path.exists()
        assert not line or int(line) <= len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("label", STATEMENTS)
def test_a_link_leads_to_the_lines_that_state_and_check(label: str) -> None:
    stated, checked = proof_file(label), checks_file(label)
    lines = (ROOT / stated).read_text(encoding="utf-8").splitlines()
    assert f'"{label}"' in "\n".join(lines[line_of(stated, label) - 1 :])
    text = (ROOT / checked).read_text(encoding="utf-8").splitlines()[line_of(checked, label) - 1]
    assert f'"{label}"' in text or text.startswith(("CHECKS: dict", "def "))


def test_a_file_without_the_label_is_named() -> None:
    with pytest.raises(ValueError, match=r"paper/latex\.py names neither 'top_k'"):
        line_of("paper/latex.py", "top_k")


def test_every_statement_is_in_the_contents(page: str) -> None:
    contents = page.partition("## Contents")[2].partition("\n## ")[0]
    assert re.findall(r"\[`(\w+)`\]\(#\1\)", contents) == list(STATEMENTS)


def test_a_formula_of_the_page_is_in_the_form_that_markdown_leaves_alone(page: str) -> None:
    assert not re.search(r"(?<!\$)\$(?![`\s])", re.sub(r"\$`[^`]*`\$|```math\n.*?\n```", "", page, flags=re.DOTALL))


def test_several_conditions_are_several_formulas(page: str) -> None:
    section = page.partition("\n### student_t_law\n")[2]
    line = "\nDomain: $`\\kappa, \\nu > 0`$, $`\\kappa \\leq 1`$, $`\\nu > 2`$.\n"
    assert section.count(line, 0, section.index("\n### ")) == 1


def test_the_grade_formal_leads_to_the_line_of_its_theorem(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    detail = {"theorems": ["tail.square_best"]}
    records = [{"label": label, "grades": ["formal"], "evidence": {"formal": detail}} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=records)
    (line,) = set(
        re.findall(r"\[`tail\.square_best`\]\(\.\./\.\./verify/formal/tail\.v#L(\d+)\)", proofs_markdown(folder))
    )
    source = (ROOT / "verify" / "formal" / "tail.v").read_text(encoding="utf-8").splitlines()
    assert "square_best" in source[int(line) - 1]
