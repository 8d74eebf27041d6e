"""Documents are whole, and their sizes are those of the notes beside them."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest

from sparsync.experiments.studies.planning.documents import (
    DOCUMENTS,
    LIBRARY_FILE,
    book_bytes,
    chapter_bytes,
    library_bytes,
    measured_library,
)
from sparsync.experiments.training.text import read_text

VERSION = (3, 11, 7)


def test_books_and_chapters_are_all_of_the_text() -> None:
    content = read_text(None)
    assert (len(book_bytes()), len(chapter_bytes())) == (66, 1189)
    assert sum(book_bytes()) == sum(chapter_bytes()) == len(content)


def test_the_first_chapter_ends_where_the_second_begins() -> None:
    content = read_text(None)
    assert chapter_bytes()[0] == content.index(b"Ge2:1 ")
    assert book_bytes()[0] == content.index(b"Exo1:1 ")


def test_the_table_is_what_its_note_says() -> None:
    note = LIBRARY_FILE.with_suffix(".md").read_text(encoding="utf-8")
    sizes = library_bytes()
    facts = [int(number) for number in re.findall(r"\| (\d+) \|", note)]
    assert facts == [len(sizes), sum(sizes), max(sizes)]
    assert sizes == sorted(sizes)
    assert ".".join(map(str, VERSION)) in note


def test_empty_files_tests_and_other_packages_are_left_out(tmp_path: Path) -> None:
    for name, text in (("b.py", "1\n22"), ("a.py", "1"), ("empty.py", ""), ("c.txt", "1")):
        (tmp_path / name).write_text(text, encoding="ascii")
    for folder in ("test", "json", "json/tests", "site-packages"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text("12345", encoding="ascii")
    assert measured_library(tmp_path) == [1, 4, 5]


@pytest.mark.skipif(sys.version_info[:3] != VERSION, reason="the table is that of another version of Python")
def test_the_table_is_that_of_its_version_of_python() -> None:
    """Files that an installation writes itself may differ."""
    found = Counter(measured_library(Path(sysconfig.get_path("stdlib"))))
    table = Counter(library_bytes())
    assert (found & table).total() >= 0.98 * table.total()


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_no_document_is_empty(kind: str) -> None:
    assert min(DOCUMENTS[kind]()) >= 1
