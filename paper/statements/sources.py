"""Which publications do the statements rest on? The sources that they name, found among the paper's references.

A source is words such as "argument of Karimireddy, Rebjock, Stich and Jaggi 2019; constants: ours". Each publication in
it is an entry of `references.bib`, from which its title and address come.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REFERENCES = Path(__file__).resolve().parents[1] / "references.bib"
_NAME = r"(?:(?:de|van|von) )?[A-ZÀ-Ý][\w’-]+"
_PUBLICATION = re.compile(rf"({_NAME}(?:, {_NAME})*(?: and {_NAME})?)( et al\.)? (\d{{4}}(?:, \d{{4}})*)")
_ADDRESSES = {"arXiv:": "https://arxiv.org/abs/", "doi:": "https://doi.org/"}


@dataclass(frozen=True)
class Publication:
    """An entry of the references.

    Args:
        key: by which the paper cites it.
        authors: in full, in order.
        title: as printed.
        year: of publication.
        address: where it can be read; empty if the references have none.
    """

    key: str
    authors: tuple[str, ...]
    title: str
    year: str
    address: str

    @property
    def surnames(self) -> tuple[str, ...]:
        """The last word of each surname, in plain small letters."""
        return tuple(_plain(author.partition(",")[0]) for author in self.authors)


def with_links(source: str) -> str:
    """A source in Markdown, in which every publication leads to its line in the list of sources.

    Raises:
        ValueError: a publication is not in the references, or two are meant.
    """
    return _PUBLICATION.sub(_linked, source)


def named(source: str) -> Iterator[Publication]:
    """The publications that a source names.

    Raises:
        ValueError: one is not in the references, or two are meant.
    """
    for match in _PUBLICATION.finditer(source):
        yield from _meant(match)


def source_list(publications: set[Publication]) -> str:
    """A list in Markdown, by author and year; each line is where `with_links` leads."""
    ordered = sorted(publications, key=lambda found: (found.surnames, found.year, found.key))
    return "".join(_line(found) for found in ordered)


def _linked(match: re.Match[str]) -> str:
    authors, others, years = match.groups()
    pairs = zip(years.split(", "), _meant(match), strict=True)
    links = [f'[{year}](#{found.key} "{found.title}")' for year, found in pairs]
    return f"{authors}{others or ''} {', '.join(links)}"


def _meant(match: re.Match[str]) -> list[Publication]:
    """The publications of one group of authors, by year."""
    names = tuple(_plain(name) for name in re.split(r", | and ", match[1]))
    found = []
    for year in match[3].split(", "):
        (*fitting,) = (
            entry
            for entry in references()
            if entry.year == year
            and entry.surnames[: len(names)] == names
            and (match[2] or len(entry.surnames) == len(names))
        )
        if len(fitting) != 1:
            raise ValueError(
                f"{match[0]!r} means {[entry.key for entry in fitting]} of {REFERENCES.name}, not one entry"
            )
        found += fitting
    return found


@cache
def references() -> tuple[Publication, ...]:
    """Every entry of the paper's references."""
    text = REFERENCES.read_text(encoding="utf-8")
    return tuple(_entry(match[1], match[2]) for match in re.finditer(r"@\w+\{(\w+),\n(.*?)\n\}\n", text, re.DOTALL))


def _entry(key: str, body: str) -> Publication:
    fields = {
        name: " ".join(value.split()) for name, value in re.findall(r"(\w+)\s*=\s*\{(.*?)\}(?:,\n|$)", body, re.DOTALL)
    }
    place = f"doi:{fields['doi']}" if "doi" in fields else fields.get("note", "")
    address = next(
        (f"{site}{place.partition(kind)[2].split()[0]}" for kind, site in _ADDRESSES.items() if kind in place), ""
    )
    return Publication(
        key=key,
        authors=tuple(re.split(r"\s+and\s+", fields["author"])),
        title=_readable(fields["title"]),
        year=fields["year"],
        address=address,
    )


def _readable(title: str) -> str:
    """A title without LaTeX: no braces, and Greek letters as such."""
    return re.sub(r"[{}$]", "", title).replace(r"\alpha", "α")


def _line(found: Publication) -> str:
    authors = "; ".join(found.authors)
    title = f"[{found.title}]({found.address})" if found.address else found.title
    return f'- <a id="{found.key}"></a>{authors} ({found.year}): *{title}*\n'


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", unicodedata.normalize("NFD", name.split()[-1]).lower())
