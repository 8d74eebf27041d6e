"""The tables of statements have a row for each, with the grades that it earned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper import latex
from paper.documents import DOCUMENTS
from paper.statements.tables import bound_cell, ledger_table, statement_table
from sparsync.theory.contraction import ladder
from sparsync.theory.statements import FAMILIES, STATEMENTS
from tests.support.paper_data import rewrite, write_results


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


def test_the_main_table_has_a_row_with_bound_and_source_for_every_statement(data_folder: Path) -> None:
    table = statement_table(data_folder)
    family = ladder.STATEMENTS
    assert table.count(r"\newline\statement{") == len(family)
    assert all(bound_cell(statement) in table for statement in family.values())
    assert all(latex.escape(statement.source) in table for statement in family.values())
    assert r"\statement{bell_shaped}" in table


def test_the_index_has_a_row_with_link_and_page_for_every_statement(data_folder: Path) -> None:
    table = ledger_table(data_folder)
    assert re.findall(r"^\\statement\{(\w+)\}", table, flags=re.MULTILINE) == list(STATEMENTS)
    assert re.findall(r"\\pageref\{statement:(\w+)\}", table) == list(STATEMENTS)
    assert table.count(r"\multicolumn") == sum(bool(family) for family in FAMILIES.values())


def test_the_indices_of_the_papers_hold_every_statement_once(data_folder: Path) -> None:
    tables = [ledger_table(data_folder, document.families) for document in DOCUMENTS.values()]
    listed = re.findall(r"^\\statement\{(\w+)\}", "\n".join(tables), flags=re.MULTILINE)
    assert len(listed) == len(STATEMENTS)
    assert set(listed) == set(STATEMENTS)


@pytest.mark.parametrize("label", STATEMENTS)
def test_the_source_and_the_assumptions_of_a_statement_can_be_typeset(label: str) -> None:
    """pdflatex reads Latin-1 letters of the words outside formulas."""
    statement = STATEMENTS[label]
    assert max(latex.escape(statement.source)) <= "\u00ff"
    assert "".join(statement.assumption_texts).isascii()


def test_an_equality_is_printed_as_one_and_a_bound_as_a_bound() -> None:
    assert bound_cell(STATEMENTS["random_k"]) == r"$= 1 - \dfrac{k}{d}$"
    assert bound_cell(STATEMENTS["top_k"]) == r"$\le 1 - \dfrac{k}{d}$"


def test_a_grade_is_printed_only_where_the_ledger_earned_it(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    records = [{"label": label, "grades": []} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=[{"label": "top_k", "grades": ["ball"]}, *records[:1], *records[2:]])
    table = statement_table(folder)
    assert table.count(r"\emph{ball}") == 1
    assert table.count(r"\emph{none}") == len(ladder.STATEMENTS) - 1
    assert ledger_table(folder).count(r"\emph{none}") == len(STATEMENTS) - 1


def test_a_statement_that_the_ledger_lacks_is_named(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "verify.json", statements=[{"label": "top_k", "grades": []}])
    with pytest.raises(ValueError, match=r"verify\.json: no statement random_k, square_convex"):
        statement_table(folder)
