"""What LaTeX only warns of is found in its log, and the papers as they are have nothing of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paper import figures, numbers
from paper.documents import DOCUMENTS, FOLDER, Document
from paper.typeset import broken_references, complaints, overfull_boxes, page_of, typeset
from tests.support.paths import ROOT

LOG = r"""
Overfull \hbox (0.98pt too wide) in paragraph at lines 3--4
Overfull \hbox (12.5pt too wide) in paragraph at lines 12--15
[]\OT1/cmr/m/n/10 What sticks out
Underfull \hbox (badness 1430) in paragraph at lines 165--168
Overfull \vbox (3.0pt too high) has occurred while \output is active []
Overfull \hbox (7pt too wide) in alignment at lines 1--9
LaTeX Warning: Reference `figure:none' on page 1 undefined on input line 39.
Package natbib Warning: Citation `nobody1999' on page 2 undefined on input line 12.
LaTeX Warning: Label `table:twice' multiply defined.
LaTeX Font Warning: Font shape `OT1/cmtt/bx/n' undefined
"""
AUX = r"""\newlabel{section:end}{{10}{8}{Conclusion}{section.10}{}}
\newlabel{end:main-part}{{10}{9}{Conclusion}{section.10}{}}
"""


def test_boxes_that_stick_out_by_more_than_a_point_are_found() -> None:
    assert [line.split("(")[1].split("pt")[0] for line in overfull_boxes(LOG)] == ["12.5", "3.0", "7"]


def test_references_citations_and_labels_that_are_not_there_or_twice_are_found() -> None:
    names = [line.split("`")[1].split("'")[0] for line in broken_references(LOG)]
    assert names == ["figure:none", "nobody1999", "table:twice"]


def test_the_page_of_a_label_is_read_and_a_label_that_is_missing_is_named() -> None:
    assert page_of("section:end", AUX) == 8
    with pytest.raises(ValueError, match="no label 'section:none' with a page"):
        page_of("section:none", AUX)


@pytest.mark.parametrize(("limit", "count"), [(9, 0), (8, 1)])
def test_a_paper_that_is_longer_than_it_may_be_says_so(limit: int, count: int) -> None:
    found = complaints(Document("waiting", (), page_limit=limit), "", AUX)
    assert len(found) == count
    assert all(line == "waiting: the main part ends on page 9, and may have 8" for line in found)


def test_every_complaint_names_its_paper() -> None:
    found = complaints(Document("waiting", (), page_limit=99), LOG, AUX)
    assert len(found) == 6
    assert all(line.startswith("waiting: ") for line in found)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("latexmk") is None, reason="the papers are set with latexmk")
def test_the_papers_are_set_from_the_record_without_a_complaint(tmp_path: Path) -> None:
    source = tmp_path / "paper"
    shutil.copytree(FOLDER / "sections", source / "sections")
    for path in [*FOLDER.glob("*.tex"), *FOLDER.glob("*.bib")]:
        shutil.copy(path, source)
    folders = ["--data-folder", str(ROOT / "paper" / "data"), "--output-folder", str(source / "generated")]
    figures.main(folders)
    numbers.main(folders)
    assert [line for paper in DOCUMENTS.values() for line in typeset(paper, source, tmp_path / "build")] == []
    assert (tmp_path / "build" / "waiting.pdf").read_bytes().startswith(b"%PDF")


def test_without_latexmk_an_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"needs latexmk \(Debian: latexmk"):
        typeset(DOCUMENTS["waiting"], FOLDER, tmp_path)
