r"""How does a paragraph of the paper read on a page? Macros are filled in, formulas are MathML, names lead on.

Only what the abstract and the title need is known. Another command is an error that names it, so that nothing of a text
is lost silently.
"""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup

from paper.documents import DOCUMENTS
from paper.documents import FOLDER as PAPER_FOLDER
from paper.numbers import MACROS
from paper.site.mathematics import Link, reference, text_html

LEADING_SENTENCES = 3
"""Of the abstract, what stands first on the site."""
_NAMED = re.compile(r"\\(statement|formal|claim|command|code|texttt)\{([^}]*)\}")
"""What the paper sets as code: names, some of which have a place on the site."""
_NUMBER = re.compile(r"[-+]?[\d.]+")
_TEXT = {r"\,": "\u202f", r"\ ": " ", r"\@": "", r"\textbf": "", r"\emph": "", r"\\": " ", r"\par": " "}


def title(folder: Path = PAPER_FOLDER) -> str:
    """The paper's title, without its line break.

    Raises:
        ValueError: it has none.
    """
    return " ".join(_argument(_text(folder), r"\title").replace(r"\\", " ").split())


def abstract(data_folder: Path, folder: Path = PAPER_FOLDER) -> list[str]:
    """The sentences of the abstract, in LaTeX, its numbers filled in.

    Raises:
        ValueError: there is none, or it uses a macro that nothing defines.
    """
    text = _text(folder)
    match = re.search(r"\\begin\{abstract\}(.*?)\\end\{abstract\}", text, re.DOTALL)
    if match is None:
        raise ValueError(f"the paper in {folder} has no abstract")
    filled = _filled(_expanded(" ".join(match[1].split()), text), data_folder)
    return re.split(r"(?<=[.?!])\s+(?=[A-Z])", filled)


def prose_html(latex: str, link: Link) -> Markup:
    """Sentences as HTML.

    Raises:
        ValueError: a command that is not known.
    """
    pieces = re.split(r"(?<!\\)\$", _plain_numbers(latex))
    for place, piece in enumerate(pieces):
        pieces[place] = piece if place % 2 else _plain(piece)
    return text_html("$".join(pieces), link)


def _text(folder: Path) -> str:
    """The source of the first paper without comments."""
    return re.sub(r"(?<!\\)%.*", "", DOCUMENTS["main"].text(folder))


def _expanded(latex: str, source: str) -> str:
    """The text with the paper's own words in it, such as the name of the other paper, written out."""
    for name in re.findall(r"\\newcommand\{(\\[A-Za-z]+)\}\{", source):
        words = _argument(source, rf"\newcommand{{{name}}}")
        latex = words.join(re.split(rf"{re.escape(name)}(?![A-Za-z])(?:\{{\}})?", latex))
    return latex


def _filled(latex: str, data_folder: Path) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in MACROS:
            raise ValueError(f"the abstract uses \\sp{match[1]}, which nothing defines")
        return MACROS[match[1]](data_folder)

    return re.sub(r"\\sp([A-Z][A-Za-z]*)(?:\{\}|\s+|(?=\W|$))", value, latex)


def _plain_numbers(latex: str) -> str:
    r"""`\ensuremath{…}` as a formula, or as words where it is a number; within a formula it is dropped."""
    while (start := latex.find(r"\ensuremath{")) >= 0:
        end = _closing(latex, start + len(r"\ensuremath"))
        inner = latex[start + len(r"\ensuremath{") : end]
        inside = latex[:start].replace(r"\$", "").count("$") % 2
        shown = inner if inside else inner.replace("-", "−") if _NUMBER.fullmatch(inner) else f"${inner}$"
        latex = latex[:start] + shown + latex[end + 1 :]
    return latex


def _plain(latex: str) -> str:
    """Text without the commands that have no meaning here."""
    latex = _NAMED.sub(lambda match: reference(f"make {match[2]}" if match[1] == "command" else match[2]), latex)
    latex = re.sub(r"\\(?:citep?|citet|label|ref)\*?(?:\[[^]]*\])?\{[^}]*\}", "", latex)
    for command, sign in _TEXT.items():
        latex = (
            re.sub(rf"{re.escape(command)}(?![A-Za-z])", sign, latex)
            if command[1:].isalpha()
            else latex.replace(command, sign)
        )
    return re.sub(r"(?<!\\)[{}]", "", latex)


def _argument(latex: str, command: str) -> str:
    start = latex.find(f"{command}{{")
    if start < 0:
        raise ValueError(f"the paper has no {command}")
    opening = start + len(command)
    return latex[opening + 1 : _closing(latex, opening)]


def _closing(latex: str, opening: int) -> int:
    """Where the brace that opens there is closed."""
    depth = 0
    for place in range(opening, len(latex)):
        depth += {"{": 1, "}": -1}.get(latex[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"a brace is not closed in {latex[opening : opening + 40]!r}")
