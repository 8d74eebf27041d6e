"""Which papers are there? Their texts, whose statements each proves, and how long each may be.

`main` is about sending little, `waiting` about waiting little. A statement is proved in the appendix of one of them;
the other may cite it by name, which the macro for statements in `preamble.tex` then marks with a star.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sparsync.theory.language.stated import Stated
from sparsync.theory.statements import FAMILIES

FOLDER = Path(__file__).resolve().parent
MAIN_PART_END = "end:main-part"
"""The label at the end of what `page_limit` limits; references and appendices follow."""
_INPUT = re.compile(r"^[^%\n]*\\input\{([^}]+)\}", flags=re.MULTILINE)
_GENERATED = "generated/"
_WAITING_FAMILIES = ("Delay", "Synchronisation")


@dataclass(frozen=True)
class Document:
    """A paper that is set by itself.

    Args:
        stem: of its file in this folder, and of the PDF.
        family_titles: keys of `FAMILIES` whose statements its appendix proves.
        page_limit: pages up to the label `end:main-part`.
    """

    stem: str
    family_titles: tuple[str, ...]
    page_limit: int

    @property
    def families(self) -> dict[str, Stated]:
        """The families that its appendix proves, by title."""
        return {title: FAMILIES[title] for title in self.family_titles}

    @property
    def labels(self) -> frozenset[str]:
        """The statements that its appendix proves."""
        return frozenset(label for family in self.families.values() for label in family)

    def files(self, folder: Path = FOLDER) -> list[Path]:
        """Its own text and all that this inputs, in the order of the text; what is generated is left out.

        Args:
            folder: holds the texts.
        """
        return list(_with_inputs(folder, f"{self.stem}.tex"))

    def text(self, folder: Path = FOLDER) -> str:
        """The texts of `files`, one after the other."""
        return "".join(path.read_text(encoding="utf-8") for path in self.files(folder))


def _with_inputs(folder: Path, name: str) -> Iterator[Path]:
    """LaTeX looks for every file from the folder of the paper, whichever file names it."""
    path = folder / name
    yield path
    for inner in _INPUT.findall(path.read_text(encoding="utf-8")):
        if not inner.startswith(_GENERATED):
            yield from _with_inputs(folder, inner)


DOCUMENTS: dict[str, Document] = {
    document.stem: document
    for document in (
        Document("main", tuple(title for title in FAMILIES if title not in _WAITING_FAMILIES), page_limit=12),
        Document("waiting", _WAITING_FAMILIES, page_limit=8),
    )
}
"""By stem."""
