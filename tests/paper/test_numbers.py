"""Every number in the text is the one that the result files give, and every macro in the text exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paper import numbers
from paper.documents import DOCUMENTS
from paper.studies.headlines.study import HEADLINES
from tests.support.drawing import plain
from tests.support.paper_data import PROVENANCE, rewrite, write_results
from tests.support.paths import ROOT

TEXT = "".join(document.text() for document in DOCUMENTS.values())
REFERENCES = ROOT / "paper" / "references.bib"


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(tmp_path_factory.mktemp("paper") / "data")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Profile", "quick"),
        ("Commits", "0123456789ab"),
        ("Processor", r"Test \& Sons 100\%"),
        ("Blas", r"Some\_BLAS"),
        ("BlasCodePath", "not named"),
        ("CpuCapability", "AVX2"),
    ],
)
def test_a_number_is_what_a_hand_computes(name: str, text: str, data_folder: Path) -> None:
    assert plain(numbers.MACROS[name](data_folder)) == text


def test_the_texts_use_every_macro_and_no_other() -> None:
    used = set(re.findall(r"\\sp([A-Z][A-Za-z]*)", TEXT))
    assert used == set(numbers.MACROS)


def test_macro_names_hold_letters_only() -> None:
    assert all(re.fullmatch(r"[A-Z][A-Za-z]*", name) for name in numbers.MACROS)


def test_the_text_cites_only_what_is_in_the_references_and_all_of_it() -> None:
    references = REFERENCES.read_text(encoding="utf-8")
    cited = re.findall(r"\\(?:cite[pt]|nocite)\{([^}]*)\}", TEXT)
    cited += [headline.source for headline in HEADLINES]
    assert {key for keys in cited for key in keys.split(",")} == set(re.findall(r"@\w+\{(\w+),", references))


def test_the_command_line_defines_every_macro_once(data_folder: Path, tmp_path: Path) -> None:
    numbers.main(["--data-folder", str(data_folder), "--output-folder", str(tmp_path)])
    defined = re.findall(r"^\\newcommand\{\\sp(\w+)\}", (tmp_path / "numbers.tex").read_text(), flags=re.MULTILINE)
    assert defined == list(numbers.MACROS)
    assert {path.name for path in tmp_path.iterdir()} == set(numbers.FILES)


@pytest.mark.parametrize(("name", "target"), [("verify", "reproduce"), ("formal", "formal")])
def test_a_result_that_is_missing_is_named_and_nothing_is_written(name: str, target: str, tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    (folder / f"{name}.json").unlink()
    with pytest.raises(SystemExit, match=rf"error: .*{name}\.json is missing; `make {target}` writes it"):
        numbers.main(["--data-folder", str(folder), "--output-folder", str(tmp_path / "output")])
    assert not (tmp_path / "output").exists()


def test_a_missing_field_is_named_with_its_file(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "convergence_fnn3.json", setup=None, seeds=None)
    with pytest.raises(ValueError, match=r"convergence_fnn3\.json: no field 'setup'"):
        numbers.macro_definitions(folder)


def test_every_profile_is_named_where_the_record_fills_in_for_a_study(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "races.json", profile="record")
    assert set(numbers.MACROS["Profile"](folder).split(", ")) == {"quick", "record"}


def test_every_commit_is_listed_and_local_changes_are_marked(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "verify.json", provenance={"git_commit": "f" * 40, "git_dirty": True})
    assert numbers.MACROS["Commits"](folder) == "0123456789ab, ffffffffffff with local changes"


def test_every_library_of_matrix_products_is_listed_and_one_that_names_no_code_path_says_so(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "convergence_gpt.json", provenance=PROVENANCE | {"blas": "Other", "blas_code_path": "Wide"})
    assert set(numbers.MACROS["Blas"](folder).split(", ")) == {r"Some\_BLAS", "Other"}
    assert set(numbers.MACROS["BlasCodePath"](folder).split(", ")) == {"Wide", "not named"}


def test_a_result_from_a_copy_without_history_says_so(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "data")
    rewrite(folder / "verify.json", provenance={"git_commit": None, "git_dirty": None})
    assert numbers.MACROS["Commits"](folder) == "0123456789ab, a copy without history"
