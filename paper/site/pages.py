"""How do the site's pages read? Templates of `templates/`, filled with what the other files of this folder found.

Addresses are seen from the site's root; a page below it puts `root` in front, so that the site works from any folder.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from paper.results import result
from paper.site import statements
from paper.site.claims import Shown
from paper.site.figures import Figure
from paper.site.mathematics import capital, formula_html, quoted_html
from paper.site.prose import LEADING_SENTENCES, abstract, prose_html, title
from paper.site.races import race_data
from paper.site.sources import Sources, lines_of, page_of
from paper.site.statements import ORIGINS, UP, Entry, code, details
from paper.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from sparsync.theory.statements import FAMILIES

TEMPLATES = Path(__file__).with_name("templates")
COLOURS = {
    "blue": BLUE,
    "green": GREEN,
    "grey": GREY,
    "orange": ORANGE,
    "purple": PURPLE,
    "sky": SKY,
    "vermilion": VERMILION,
}
"""Those of the paper's figures, by their names in `assets/style.css`."""
TOP_PAGES = {
    "index.html": "Overview",
    "claims.html": "Claims",
    "statements.html": "Statements",
    "figures.html": "Figures",
    "races.html": "Races",
    "report.html": "Reproduction",
}
"""By address, the words of the navigation."""


@dataclass(frozen=True)
class Content:
    """All that the pages show.

    Args:
        data_folder: the record.
        run: the words for the results that claims are judged on; empty: the record itself.
        entries: statements by label.
        figures: in the order of the paper.
        claims: in the order of the text.
        sources: files that pages link to; grows while pages are made.
    """

    data_folder: Path
    run: str
    entries: dict[str, Entry]
    figures: list[Figure]
    claims: list[Shown]
    sources: Sources


def pages(content: Content) -> Iterator[tuple[str, str]]:
    """Every page with its address; those of sources last, once it is known which are linked.

    Raises:
        FileNotFoundError: a result is missing.
        ValueError: a result lacks a field, or a text cannot be read.
    """
    environment = _environment()
    shared = {"content": content, **_facts(content)}
    for page, name in TOP_PAGES.items():
        filled = {**shared, **_OWN.get(page, _nothing)(content)}
        yield page, _render(environment, page, page=page, title=name, root="", **filled)
    labels = list(content.entries)
    for place, label in enumerate(labels):
        entry, around = (
            content.entries[label],
            {"before": labels[place - 1], "after": labels[(place + 1) % len(labels)]},
        )
        found = {**details(entry, content.sources), **around}
        yield (
            entry.page,
            _render(environment, "statement.html", page="statements.html", title=label, root=UP, entry=entry, **found),
        )
    for file in sorted(content.sources.files):
        root = UP * (file.count("/") + 1)
        text = lines_of(file)
        yield page_of(file), _render(environment, "source.html", page="", title=file, root=root, lines=text)


def colours_css() -> str:
    """The paper's colours as variables."""
    return ":root {\n" + "".join(f"  --{name}: {value};\n" for name, value in COLOURS.items()) + "}\n"


def json_html(data: object) -> Markup:
    """JSON that may stand in a `script` element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "top_pages": TOP_PAGES,
        "origins": ORIGINS,
        "formula": formula_html,
        "statements": statements,
    }
    environment.filters |= {
        "json": json_html,
        "capital": capital,
        "quoted": quoted_html,
        "slug": _slug,
        "breakable": _breakable,
    }
    return environment


def _render(environment: Environment, template: str, **names: Any) -> str:
    return environment.get_template(template).render(**names)


def _facts(content: Content) -> dict[str, Any]:
    """Counts that several pages show."""
    kinds = Counter(entry.statement.kind for entry in content.entries.values())
    ledger, formal = result(content.data_folder, "verify"), result(content.data_folder, "formal")
    return {
        "kinds": kinds,
        "verdicts": Counter(shown.verdict for shown in content.claims),
        "grades": {
            grade: sum(grade in entry.grades for entry in content.entries.values()) for grade in ledger["grades"]
        },
        "certificates_count": ledger.record("certificates")["checked_count"],
        "mutants": ledger.record("mutants"),
        "theorems_count": len(formal["theorems"]),
        "ledger_origin": ledger.record("provenance"),
        "ledger_profile": ledger["profile"],
    }


def _index(content: Content) -> dict[str, Any]:
    addresses = {label: entry.page for label, entry in content.entries.items()}
    addresses |= {shown.claim.name: f"claims.html#{shown.claim.name}" for shown in content.claims}

    def link(word: str) -> Markup:
        return Markup('<a href="{}">{}</a>').format(addresses[word], code(word)) if word in addresses else code(word)

    sentences = abstract(content.data_folder)
    return {
        "paper_title": prose_html(title(), link),
        "leading": [prose_html(sentence, link) for sentence in sentences[:LEADING_SENTENCES]],
        "following": prose_html(" ".join(sentences[LEADING_SENTENCES:]), link),
    }


def _statements(content: Content) -> dict[str, Any]:
    return {
        "families": {
            title: [content.entries[label] for label in members] for title, members in FAMILIES.items() if members
        }
    }


def _races(content: Content) -> dict[str, Any]:
    return {"races": race_data(content.data_folder)}


def _nothing(_content: Content) -> Mapping[str, Any]:
    return {}


_OWN: dict[str, Any] = {"index.html": _index, "statements.html": _statements, "races.html": _races}
"""What a page shows beside what all do."""


def _breakable(path: str) -> Markup:
    """A path that may break behind its slashes."""
    return Markup("/<wbr/>").join(path.split("/"))


def _slug(text: str) -> str:
    return "-".join(text.lower().split())
