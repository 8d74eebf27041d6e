"""The appendix holds every statement whole: what is stated, why, and on what evidence."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import sympy

from paper.documents import DOCUMENTS
from paper.statements import proofs
from paper.statements.formulas import formula
from paper.statements.proof_page import proofs_markdown
from paper.statements.proofs import label_link, proofs_latex, theorem_link, title_latex
from sparsync.theory.statements import FAMILIES, STATEMENTS
from tests.support.paper_data import rewrite, write_results

MEMBERS = {
    r"\in\mathbb{N}": ("1",),
    r"\in\mathbb{N}_0": ("0", "1"),
    "> 0": ("1/2", "1"),
    r"\geq 0": ("0", "1/2", "1"),
    r"\in\mathbb{R}": ("-1", "0", "1/2", "1"),
}
"""Which of -1, 0, 1/2 and 1 a range holds."""


def allowed_by(symbol: sympy.Symbol) -> tuple[str, ...]:
    """Which of -1, 0, 1/2 and 1 a symbol may be by its own assumptions."""
    return tuple(
        number
        for number in ("-1", "0", "1/2", "1")
        if all(getattr(sympy.Rational(number), f"is_{fact}") is said for fact, said in symbol.assumptions0.items())
    )


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.fixture(scope="module")
def appendix(data_folder: Path) -> str:
    return proofs_latex(data_folder)


@cache
def blocks(appendix: str) -> dict[str, str]:
    """The text of each statement's block, by label."""
    pieces = re.split(r"^\\statementhead\{.*\}\{(\w+)\}$", appendix, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def test_the_appendix_has_a_block_for_every_statement_in_order(appendix: str) -> None:
    assert list(blocks(appendix)) == list(STATEMENTS)
    assert appendix.count(r"\subsection*{") == len(FAMILIES)


@pytest.mark.parametrize("label", STATEMENTS)
def test_a_block_holds_assumptions_domain_relation_and_source(label: str, appendix: str) -> None:
    statement = STATEMENTS[label]
    # A very long formula is in a box, so that it fits.
    block = re.sub(r"\\adjustbox\{max width=\\linewidth\}\{(\$[^$]+\$)\}", r"\1", blocks(appendix)[label])
    assert all(assumption in block for assumption in statement.assumption_texts)
    assert all(formula(condition) in block for condition in statement.domain)
    assert f"$\\displaystyle {formula(statement.relation)}$" in block
    assert f"\\emph{{Source:}} {statement.source}." in block or "&" in statement.source
    assert re.search(r"\\emph\{Evidence:\} symbolic( \(1 argued\))?, rational\.", block)


@pytest.mark.parametrize("label", STATEMENTS)
def test_every_step_is_printed_or_referred_to(label: str, appendix: str) -> None:
    proof = blocks(appendix)[label].partition(r"\emph{Proof:}")[2].partition(r"\emph{Evidence:}")[0]
    numbered = re.findall(r" \((\d+)\)~", proof)
    shared = re.findall(r"\\mbox\{\((\d+)\)--\((\d+)\)\} as", proof)
    covered = {int(number) for number in numbered} | {
        number for first, last in shared for number in range(int(first), int(last) + 1)
    }
    assert covered == set(range(1, len(STATEMENTS[label].derivation) + 1))


def test_a_shared_run_of_steps_is_the_same_word_for_word(appendix: str) -> None:
    references = re.compile(r"\((\d+)\)--\((\d+)\)\} as \\mbox\{\((\d+)\)--\((\d+)\)\} of \\statement\{(\w+)\}")
    found = [(label, *match) for label, block in blocks(appendix).items() for match in references.findall(block)]
    assert found
    for label, first, last, known_first, known_last, known in found:
        ours = [step.claim for step in STATEMENTS[label].derivation][int(first) - 1 : int(last)]
        theirs = [step.claim for step in STATEMENTS[known].derivation][int(known_first) - 1 : int(known_last)]
        assert ours == theirs
        assert list(STATEMENTS).index(known) < list(STATEMENTS).index(label)
        assert len(ours) >= proofs.SHORTEST_SHARED


def test_no_three_steps_in_a_row_are_printed_twice(appendix: str) -> None:
    runs: set[tuple[str, ...]] = set()
    for block in blocks(appendix).values():
        proof = block.partition(r"\emph{Proof:} ")[2].partition(".\n\n")[0]
        steps = [re.sub(r"^\(\d+\)~", "", step) for step in re.split(r"; (?=\(\d+\)~|\\mbox)", proof)]
        ours = {(first, second, third) for first, second, third in zip(steps, steps[1:], steps[2:], strict=False)}
        assert not [run for run in ours & runs if not any("\\mbox" in step for step in run)]
        runs |= ours


def test_a_label_is_a_link_and_other_words_are_none_and_break_at_underscores() -> None:
    assert label_link("top_k") == r"\statement{top_k}"
    assert label_link("no_label") == r"\texttt{no\_\allowbreak{}label}"


def test_the_name_of_a_theorem_leads_to_its_row() -> None:
    assert theorem_link("tail.square_best") == r"\formal{tail.square_best}"


@pytest.mark.parametrize("stem", DOCUMENTS)
def test_a_paper_proves_its_own_families_and_refers_to_no_steps_of_the_other(stem: str, data_folder: Path) -> None:
    document = DOCUMENTS[stem]
    text = proofs_latex(data_folder, document.families)
    assert set(blocks(text)) == document.labels
    assert set(re.findall(r"\)\} of \\statement\{(\w+)\}", text)) <= document.labels


def test_a_title_begins_with_a_capital_unless_with_a_formula() -> None:
    assert title_latex("hence κ ≤ 1") == r"Hence $\kappa \le 1$"
    assert title_latex("k of them") == "$k$ of them"


@pytest.mark.parametrize("label", [label for label, statement in STATEMENTS.items() if statement.parameters])
def test_the_domain_says_once_which_numbers_each_parameter_may_be(label: str, appendix: str) -> None:
    (domain,) = re.findall(r"^Domain: (.*)\.$", blocks(appendix)[label], flags=re.MULTILINE)
    ranges = re.findall(r"\$([^$]*) (\\in\\mathbb\{[NR]\}(?:_0)?|> 0|\\geq 0)\$", domain)
    conditions = {formula(condition) for condition in STATEMENTS[label].domain}
    said = [
        (name, MEMBERS[members])
        for names, members in ranges
        if f"{names} {members}" not in conditions
        for name in names.split(", ")
    ]
    parameters = STATEMENTS[label].parameters
    assert sorted(said) == sorted((formula(symbol), allowed_by(symbol)) for symbol in parameters)


def test_evidence_is_counted_and_a_count_of_none_is_not_said(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    detail = {"steps_count": 3, "queries_count": 1, "boxes_count": 1, "broken_count": 0, "failed_claims": []}
    records = [{"label": label, "grades": ["symbolic"], "evidence": {"symbolic": detail}} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=records)
    assert r"\emph{Evidence:} symbolic (3 steps, 1 query, 1 box). " in proofs_latex(folder)


def test_the_grade_formal_names_its_theorems_and_leads_to_them(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    detail = {"theorems": ["tail.square_best", "top_k.band_contracts"]}
    records = [{"label": label, "grades": ["formal"], "evidence": {"formal": detail}} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=records)
    links = ", ".join(theorem_link(name) for name in detail["theorems"])
    assert rf"\emph{{Evidence:}} formal ({links}). " in proofs_latex(folder)


def test_the_grade_formal_says_what_each_theorem_leaves(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    detail = {"theorems": ["tail.square_best", "top_k.band_contracts"], "leaves": ["large d", ""]}
    records = [{"label": label, "grades": ["formal"], "evidence": {"formal": detail}} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=records)
    first, second = (theorem_link(name) for name in detail["theorems"])
    assert rf"\emph{{Evidence:}} formal ({first}, not large d; {second}). " in proofs_latex(folder)


def test_a_statement_without_a_grade_says_so(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    records = [{"label": label, "grades": [], "evidence": {}} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=records)
    assert proofs_latex(folder).count(r"\emph{Evidence:} none.") == len(STATEMENTS)


@pytest.mark.parametrize("write", [proofs_latex, proofs_markdown])
def test_a_statement_that_the_ledger_lacks_is_named(write: object, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "verify.json", statements=[{"label": "top_k", "grades": [], "evidence": {}}])
    assert callable(write)
    with pytest.raises(ValueError, match=r"verify\.json: no statement random_k, square_convex"):
        write(folder)
