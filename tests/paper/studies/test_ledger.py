"""Counts are those of the ledger, and the worst vectors attain the ratios that they are drawn with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper.studies.ledger import MACROS, REFUTATIONS, counterexample, worst_cases
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.counterexamples import COUNTEREXAMPLES
from tests.support.drawing import drawn_line, plain
from tests.support.paper_data import rewrite, theorem_record, write_results
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("BelowLineRatio", "5/9"),
        ("TwoCoordinatesClaimed", "49/100"),
        ("CertificateCount", "18"),
        ("CertificateFileCount", "2"),
        ("TheoremCount", str(len(STATEMENTS) - 1)),
        ("DefinitionCount", "1"),
        ("ArguedCount", "1"),
        ("FormalTheoremCount", "3"),
        ("CoqVersion", "8.16.1"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(MACROS[name](data_folder)) == text


def test_the_certificates_that_the_record_counts_are_those_that_are_there() -> None:
    record = json.loads((ROOT / "paper" / "data" / "verify.json").read_text(encoding="utf-8"))["certificates"]
    files = {path.stem: path for path in (ROOT / "paper" / "data" / "certificates").iterdir()}
    counts = {name: len(json.loads(path.read_text(encoding="utf-8"))["certificates"]) for name, path in files.items()}
    assert {file["name"]: file["checked_count"] for file in record["files"]} == counts
    assert record["checked_count"] == sum(counts.values())


def test_the_worst_vectors_are_drawn_with_the_ratios_they_attain(data_folder: Path) -> None:
    left, right = worst_cases(data_folder).axes
    # Three of ten sent: 1 − 3/10, and (1 − 3/10)².
    assert drawn_line(left, "any vector: 0.700")[1] == [0.1] * 10
    assert drawn_line(left, "$v_i/(2(d-i)+1)$ falls: 0.490")[1] == [odd / 100 for odd in range(19, 0, -2)]
    assert drawn_line(right, "convex: 0.700 > 0.49, $k=3$")[1] == [1.0] * 10
    assert all(len(COUNTEREXAMPLES[name].squares) == 10 for name in REFUTATIONS)


def test_the_grade_formal_is_counted_by_statements(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    formal = {"top_k", "square_convex_discrete"}
    records = [{"label": label, "grades": ["formal"] if label in formal else []} for label in STATEMENTS]
    rewrite(folder / "verify.json", statements=records)
    assert plain(MACROS["FormalStatementCount"](folder)) == "2"


def test_the_text_counts_no_theorem_that_rests_on_an_axiom(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "formal.json", theorems=[theorem_record("tail.tail_cross", "nothing", axioms=("choice",))])
    with pytest.raises(ValueError, match=r"formal\.json: the text says .* closed, but tail\.tail_cross on choice"):
        MACROS["FormalTheoremCount"](folder)


def test_a_counterexample_that_refutes_nothing_is_an_error(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    record = {"name": "constant", "ratio": "1/4", "claimed": "1/4", "refutes": False}
    rewrite(folder / "verify.json", counterexamples=[record])
    with pytest.raises(ValueError, match="'constant' refutes nothing"):
        counterexample(folder, "constant")
