"""What does a page say of a statement? The formula, its hypotheses, its proof, and all evidence with its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from paper.results import Result, result
from paper.site.figures import Figure
from paper.site.mathematics import capital, claim_html, formula_html, reference, text_html, with_references
from paper.site.sources import Place, Sources, twin_tests
from paper.statements.claims import LABEL
from paper.statements.formulas import formula
from paper.statements.proof_page import line_of, theorem_place
from paper.statements.proofs import checks_file, evidence, ledger_records, proof_file, ranges
from paper.statements.sources import named, references, with_links
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.ledger.remarks import remarks
from sparsync.verify.tools.edges import Unneeded

UP = "../"
"""From the page of a statement to the site's root."""
ORIGINS = {"ours": "ours", "published": "names a publication", "classical": "classical"}
"""Whose a statement is, and how the filter calls it."""
_WIDTHS = ((300, "widest"), (170, "wide-formula"))
_TESTS_OF_ALL = "tests/theory/test_statements.py"
_PUBLICATION = re.compile(r'\[(\d{4})\]\(#(\w+) "[^"]*"\)')


@dataclass(frozen=True)
class Certificate:
    """A file of certificates that the ledger has checked.

    Args:
        file: its name in the folder of certificates.
        count: how many certificates it holds.
    """

    file: str
    count: int

    @property
    def page(self) -> str:
        """Where the site has it."""
        return f"certificates/{self.file}"


@dataclass(frozen=True)
class Theorem:
    """A theorem in Coq that proves a statement, with what Coq and its file say of it."""

    name: str
    states: Markup
    assumes: Markup
    leaves: Markup
    axioms: tuple[str, ...]
    place: Place


@dataclass(frozen=True)
class Entry:
    """A statement as the site shows it.

    Args:
        statement: what it is.
        family: title of its family.
        record: its row of the ledger.
        title: as HTML.
        latex: the relation.
        certificates: files that certify it.
        theorems: in Coq.
        mutants: wrong wordings of it on which the checks were tried.
        cited_by: labels of statements whose proofs or assumptions name it.
        figures: that use it.
    """

    statement: Statement
    family: str
    record: Result
    title: Markup
    latex: str
    certificates: tuple[Certificate, ...]
    theorems: tuple[Theorem, ...]
    mutants: tuple[Result, ...]
    cited_by: tuple[str, ...]
    figures: tuple[Figure, ...]

    @property
    def label(self) -> str:
        """By which it is named everywhere."""
        return self.statement.label

    @property
    def page(self) -> str:
        """Where the site has it."""
        return f"statements/{self.label}.html"

    @property
    def evidence_file(self) -> str:
        """Where the site has its row of the ledger."""
        return f"evidence/{self.label}.json"

    @property
    def grades(self) -> list[str]:
        """Those that it earned, the strongest first."""
        return list(self.record["grades"])

    @property
    def noticed_count(self) -> int:
        """How many mutants some check noticed."""
        return sum(bool(mutant["killed_by"]) for mutant in self.mutants)

    @property
    def argued_count(self) -> int:
        """How many steps of its proof are argued."""
        return sum(bool(step.argued) for step in self.statement.derivation)

    @property
    def origin(self) -> str:
        """A key of `ORIGINS`."""
        source = self.statement.source
        return "published" if any(named(source)) else "ours" if "ours" in source else "classical"

    @property
    def formula(self) -> Markup:
        """The relation, set on lines of its own."""
        return formula_html(self.latex, display=True)

    @property
    def width(self) -> str:
        """How wide the relation is, by the length of its LaTeX: `wide-formula` and `widest` ones are set smaller."""
        return next((name for least, name in _WIDTHS if len(self.latex) >= least), "")

    @property
    def searched(self) -> str:
        """What a search for words looks into."""
        statement = self.statement
        return " ".join((statement.label, statement.title, statement.source, self.family, self.latex)).lower()


def entries(data_folder: Path, sources: Sources, figures: list[Figure]) -> dict[str, Entry]:
    """Every statement by label, in the order of the paper.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement, or a text holds a character that LaTeX does not know.
    """
    records, ledger = ledger_records(data_folder), result(data_folder, "verify")
    mutants = ledger.record("mutants").records("mutants")
    files = ledger.record("certificates").records("files")
    theorems = result(data_folder, "formal").records("theorems")
    cited = _citations()
    return {
        label: Entry(
            statement=statement,
            family=family,
            record=records[label],
            title=capital(claim_html(statement.title, code)),
            latex=formula(statement.relation),
            certificates=tuple(
                Certificate(f"{file['name']}.json", int(file["checked_count"]))
                for file in files
                if file["label"] == label
            ),
            theorems=tuple(_theorem(found, sources) for found in theorems if found["label"] == label),
            mutants=tuple(mutant for mutant in mutants if mutant["label"] == label),
            cited_by=cited.get(label, ()),
            figures=tuple(figure for figure in figures if label in figure.statements),
        )
        for family, members in FAMILIES.items()
        for label, statement in members.items()
    }


def details(entry: Entry, sources: Sources) -> dict[str, Any]:
    """What the page of a statement shows beside its entry, as HTML, places and plain words."""
    statement, label = entry.statement, entry.label
    stated, checked = proof_file(label), checks_file(label)
    conditions = [*ranges(statement), *(formula(condition) for condition in statement.domain)]
    tests = (*twin_tests(stated), *twin_tests(checked), _TESTS_OF_ALL)
    return {
        "assumptions": [text_html(text, label_link) for text in statement.assumption_texts],
        "domain": [formula_html(condition) for condition in conditions],
        "beyond": list(_beyond(statement)),
        "steps": [_step(step) for step in statement.derivation],
        "evidence": [(grade, _evidence(entry, grade, sources)) for grade in entry.grades],
        "source": source_html(statement.source),
        "stated": sources.place(stated, line_of(stated, label)),
        "checked": sources.place(checked, line_of(checked, label)),
        "tests": [sources.first(file, label) for file in tests],
    }


def evidence_record(entry: Entry, ledger: Result) -> dict[str, Any]:
    """The statement's row of the ledger, with the mutants of it and the ledger's provenance."""
    return {
        **entry.record.fields,
        "mutants": [dict(mutant.fields) for mutant in entry.mutants],
        "provenance": ledger["provenance"],
    }


def label_link(word: str) -> Markup:
    """A label that leads to its page, from a page beside it; another word is code."""
    if word not in STATEMENTS:
        return code(word)
    return Markup('<a href="{0}.html"><code>{0}</code></a>').format(word)


def code(word: str) -> Markup:
    """A word as code, which leads nowhere."""
    return Markup("<code>{}</code>").format(word)


def source_html(source: str) -> Markup:
    """A source, the year of each publication leading to where it can be read.

    Raises:
        ValueError: a publication is not in the references.
    """
    publications = {found.key: found for found in references()}
    pieces = _PUBLICATION.split(with_links(source))
    shown = [Markup("{}").format(pieces[0])]
    for year, key, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        found = publications[key]
        link = '<a href="{}" title="{}" rel="external">{}</a>' if found.address else '<cite class="quiet">{2}</cite>'
        shown += [Markup(link).format(found.address, found.title, year), Markup("{}").format(text)]
    return Markup("").join(shown)


def _theorem(found: Result, sources: Sources) -> Theorem:
    states, assumes, leaves = (
        claim_html(str(found[part]).removesuffix("."), label_link) for part in ("states", "assumes", "leaves")
    )
    return Theorem(
        name=str(found["name"]),
        states=states,
        assumes=assumes,
        leaves=leaves,
        axioms=tuple(map(str, found["axioms"])),
        place=sources.place(*theorem_place(str(found["name"]))),
    )


def _beyond(statement: Statement) -> Iterator[tuple[Markup, str]]:
    """Conditions that are not needed, with what is true beyond them."""
    by_text = {str(condition): condition for condition in statement.domain}
    for remark in remarks(statement.label):
        if isinstance(remark, Unneeded):
            yield formula_html(formula(by_text[remark.condition])), remark.reason


def _step(step: Step) -> tuple[Markup, Markup]:
    """The claim, and what of it is argued; empty where nothing is."""
    return claim_html(step.claim, label_link), claim_html(step.argued, label_link) if step.argued else Markup()


def _evidence(entry: Entry, grade: str, sources: Sources) -> Markup:
    """What is behind one grade, without the grade's name: counts, and theorems that lead to their lines."""
    alone = Result(entry.record.path, {**entry.record.fields, "grades": [grade]})
    words = evidence(alone, reference).removeprefix(grade).strip()
    words = words.removeprefix("(").removesuffix(")") if words.startswith("(") else words

    def theorem(name: str) -> Markup:
        place = sources.place(*theorem_place(name))
        return Markup('<a href="{}{}"><code>{}</code></a>').format(UP, place.page, name)

    return with_references(words, theorem)


@cache
def _citations() -> Mapping[str, tuple[str, ...]]:
    """By label, the statements that name it in a step of their proof or in an assumption."""
    found: dict[str, list[str]] = {}
    for label, statement in STATEMENTS.items():
        claims = (f"{step.claim} {step.argued}" for step in statement.derivation)
        text = " ".join((*claims, *statement.assumption_texts))
        quoted = re.findall(r"`(\w+)`", text)
        for other in dict.fromkeys([*LABEL.findall(text), *quoted]):
            if other in STATEMENTS and other != label:
                found.setdefault(other, []).append(label)
    return {label: tuple(labels) for label, labels in found.items()}
