"""The table of formal proofs holds every theorem with Coq's verdict, and what the text names is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper.documents import DOCUMENTS
from paper.statements.claims import claim_latex
from paper.statements.formal_table import closed_theorems, formal_table
from paper.statements.proofs import label_link, title_latex
from sparsync.verify.formal.theorems import THEOREMS
from tests.support.paper_data import formal_record, rewrite, theorem_record, write_results

NAMES = [theorem["name"] for theorem in formal_record()["theorems"]]


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.fixture(scope="module")
def table(data_folder: Path) -> str:
    return formal_table(data_folder)


def rows(table: str) -> dict[str, list[str]]:
    """The three cells of each theorem, by its name."""
    body = table.partition("\\endfoot\n")[2].removeprefix("\\bottomrule\n")
    cells = [row.split(" & ") for row in re.findall(r"^(.*) \\\\$", body, flags=re.MULTILINE)]
    return {re.findall(r"\\label\{formal:([\w.]+)\}", cell[1])[0]: cell for cell in cells}


def with_theorems(folder: Path, *theorems: dict[str, object]) -> Path:
    """The data folder, where Coq was asked about these theorems only."""
    rewrite(write_results(folder) / "formal.json", theorems=list(theorems))
    return folder


def test_every_theorem_has_a_row_of_three_cells_in_order(table: str) -> None:
    assert list(rows(table)) == NAMES
    assert all(len(cells) == 3 for cells in rows(table).values())


def test_a_sentence_is_typeset_as_a_claim_and_names_the_statement_that_it_proves(table: str) -> None:
    assert rows(table)["powers.power_best"][0] == r"$\lVert u\rVert^{2} \le \kappa$"
    assert rows(table)["tail.square_best"][0] == f"The share is the best constant ({label_link('top_k')})"


def test_a_row_says_what_it_leaves_of_the_statement_that_it_proves(tmp_path: Path) -> None:
    theorem = theorem_record("tail.tail_cross", "nothing", label="top_k", leaves="large δ")
    cell = rows(formal_table(with_theorems(tmp_path / "data", theorem)))["tail.tail_cross"][0]
    assert cell == rf"Nothing ({label_link('top_k')}; not large $\delta$)"


def test_a_row_says_its_hypotheses_and_what_meets_them(table: str) -> None:
    assert rows(table)["tail.tail_cross"][2] == "none"
    assert rows(table)["tail.square_best"][2] == r"$0 < k \le d$"
    assert rows(table)["powers.power_best"][2].endswith(r"\newline\emph{met by} \formal{tail.square_best}")


def test_a_witness_that_has_no_row_is_named_without_a_link(tmp_path: Path) -> None:
    theorem = theorem_record("tail.tail_cross", "nothing", assumes="k ≤ d", witness="witnesses.some_lemma")
    cell = rows(formal_table(with_theorems(tmp_path / "data", theorem)))["tail.tail_cross"][2]
    assert cell.endswith(r"\emph{met by} \code{witnesses.some_lemma}")


def test_a_theorem_that_rests_on_an_axiom_is_not_called_proved(tmp_path: Path) -> None:
    folder = with_theorems(
        tmp_path / "data",
        theorem_record("tail.tail_cross", "nothing", axioms=("Classical_Prop.classic", "funext")),
        theorem_record("tail.square_best", "something"),
    )
    found = rows(formal_table(folder))
    assert r"\emph{rests on} \code{Classical_Prop.classic}, \code{funext}" in found["tail.tail_cross"][1]
    assert "proved" not in found["tail.tail_cross"][1]
    assert found["tail.square_best"][1].endswith(r"\newline\emph{proved}")
    with pytest.raises(ValueError, match=r"tail\.tail_cross on Classical_Prop\.classic, funext"):
        closed_theorems(folder)


def test_the_closed_theorems_are_listed(data_folder: Path) -> None:
    assert closed_theorems(data_folder) == NAMES


def test_files_are_set_apart(table: str) -> None:
    tail, powers = table.split("\\addlinespace\\addlinespace\n")
    assert r"\label{formal:tail.square_best}" in tail
    assert r"\label{formal:powers.power_best}" in powers


def test_an_unknown_character_is_an_error(tmp_path: Path) -> None:
    folder = with_theorems(tmp_path / "data", theorem_record("tail.tail_cross", "s ☃ w"))
    with pytest.raises(ValueError, match="☃"):
        formal_table(folder)


@pytest.mark.parametrize("field", ["axioms", "witness", "label", "leaves"])
def test_a_missing_field_is_named(field: str, tmp_path: Path) -> None:
    theorem = theorem_record("tail.tail_cross", "nothing", label="top_k")
    del theorem[field]
    with pytest.raises(ValueError, match=rf"formal\.json: no field '{field}'"):
        formal_table(with_theorems(tmp_path / "data", theorem))


def test_the_text_has_the_caption_and_refers_to_the_table() -> None:
    text = DOCUMENTS["main"].text()
    assert r"\newcommand{\formalcaption}" in text.partition(r"\input{generated/formal.tex}")[0]
    assert r"Table~\ref{table:formal}" in text


def test_the_text_names_only_theorems_that_there_are() -> None:
    texts = (document.text() for document in DOCUMENTS.values())
    named = {name for text in texts for name in re.findall(r"\\formal\{([\w.]+)\}", text)}
    assert named
    assert named <= set(THEOREMS)


@pytest.mark.parametrize("name", THEOREMS)
def test_every_theorem_of_the_list_can_be_typeset(name: str) -> None:
    theorem = THEOREMS[name]
    assert title_latex(theorem.states).isascii()
    assert claim_latex(theorem.assumes, label_link).isascii()
