"""The abstract reads on the site as in the paper, its numbers filled in; nothing of it is lost silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import numbers
from paper.site.prose import abstract, prose_html, title
from paper.site.statements import code

PAPER = r"""\newcommand{\other}{\emph{Waiting}}
\title{Little:\\ how much Top-$k$ keeps} % a remark
\begin{abstract}
First at \spRate\,\% of $d$. % nothing
Then $x=\spRate{}$ \emph{and more} in \other. Last: \statement{top_k}, \command{show}.
\end{abstract}"""


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(numbers.MACROS, "Rate", lambda _folder: r"\ensuremath{-6.7}")
    path = tmp_path / "main.tex"
    path.write_text(PAPER, encoding="utf-8")
    return path


def test_numbers_are_filled_in_within_formulas_and_without(paper: Path) -> None:
    first, then, last = (prose_html(sentence, code) for sentence in abstract(paper.parent, paper.parent))
    assert first == "First at −6.7\u202f% of <math><mi>d</mi></math>."
    assert "<mn>6.7</mn>" in then
    assert then.endswith("and more in Waiting.")
    assert last == "Last: <code>top_k</code>, <code>make show</code>."


def test_the_title_is_one_line(paper: Path) -> None:
    assert title(paper.parent) == "Little: how much Top-$k$ keeps"


def test_a_macro_that_nothing_defines_and_an_unknown_command_are_refused(paper: Path) -> None:
    paper.write_text(PAPER.replace("spRate{}", "spRatio{}"), encoding="utf-8")
    with pytest.raises(ValueError, match="spRatio, which nothing defines"):
        abstract(paper.parent, paper.parent)
    with pytest.raises(ValueError, match="unknown command"):
        prose_html(r"a \foo b", code)


def test_a_paper_without_title_or_abstract_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "main.tex"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="no abstract"):
        abstract(tmp_path, tmp_path)
    with pytest.raises(ValueError, match="title"):
        title(tmp_path)
