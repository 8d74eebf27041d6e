"""Both papers say only what results, statements, claims and commands stand behind, and nothing in them leads nowhere.

Each rule is a function from a text to what breaks it, and is tried on a fault before the papers are judged.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from paper.claims import CLAIMS
from paper.commands import commands
from paper.documents import DOCUMENTS, MAIN_PART_END, Document
from paper.figures import FIGURES
from paper.numbers import FILES
from paper.studies.headlines.study import HEADLINES, WAITING
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.studies.registry import CASE_STUDIES, SINGLE_STUDIES
from sparsync.theory.statements import STATEMENTS
from tests.support.paths import ROOT

NUMBERS = {
    "0.001": "a density that was set",
    "0.01": "a density that was set",
    "0.02": "a density that was set",
    "0.05": "a density that was set",
    "0.9": "a momentum, or the mean of Adam, that was set",
    "0.95": "a decay that was set",
    "0.999": "a mean of Adam that was set",
    "0.5": "a decay that was set",
    "2.5": "the exponent of Pareto durations",
    "95": "the confidence of every interval",
    "10": "per cent within which predictions are counted",
    "25": "seconds between departures in churn",
    "12": "bytes an entry of an addition",
    "16": "bytes an entry, or that one access moves",
    "200": "units of a layer",
    "2048": "a hidden size that was set",
    "1536": "a hidden size that was set",
    "192": "thousand tokens, a limit that was published",
    "512": "updates in a released program",
    "100": "Mbit/s that were set, or kB from which on headers are told apart",
    "1000": "Mbit/s that were set, or a fraction",
    "0.8": "a factor of a released rule",
    "0.107": "its tenth power",
    "1.3": "a factor of a released rule",
    "1.5": "a factor of a released rule",
    "0.7": "a factor of a released rule",
    "1023": "numerator of a proved bound",
    "17407": "denominator of a proved bound",
    "1024": "values of a block",
}
"""Numbers that a text may hold as figures, since nobody measured them, with what they are."""

PUBLICATION = re.compile(r"([^\W\d_]+)(?:(?:, [^\W\d_]+)* and [^\W\d_]+| et al\.)? (\d{4}(?:, \d{4})*)")
"""First author and years of what a source names: `Efron and Stein 1981`, `Chen et al. 2016`."""
_NO_PROSE = re.compile(
    r"(?<!\\)%.*"
    r"|\\begin\{(?:tabular|longtable)\}.*|\\(?:set\w*|renewcommand|addto\w+)\b.*|[<>]?[pm@]\{[^}]*\}|\\adjustbox\{[^}]*\}"
    r"|\\(?:cite\w*|nocite|ref|pageref|label|input|includegraphics|usepackage|documentclass)(?:\[[^\]]*\])?\{[^}]*\}"
    r"|\\(?:statement|formal|claim|command|made|reproduce|code)\{[^}]*\}|\\sp[A-Z]\w*"
)
"""Comments, layout, names and macros."""
_NUMBER = re.compile(r"(?<![\w.\\])\d+(?:\.\d+)?(?![\d.]*\d)")
_UNIT = re.compile(
    r"\$?(?:\\,\\%|(?:\\,|~|\s)(?:times|points?|seconds?|minutes?|hours?|ms|s|kB|MB|GB|bytes?|per cent)\b|-fold)"
)


def typed_numbers(text: str) -> set[str]:
    """Numbers that may have been measured: with a point, of three digits or more, or with a unit behind them."""
    prose = _NO_PROSE.sub(" ", text)
    return {
        match[0]
        for match in _NUMBER.finditer(prose)
        if "." in match[0] or len(match[0]) > 2 or _UNIT.match(prose[match.end() :])
    }


def labels(text: str) -> set[str]:
    return set(re.findall(r"\\label\{([^}]+)\}", text))


def references(text: str) -> set[str]:
    return set(re.findall(r"\\(?:page)?ref\{([^}]+)\}", text))


def named(macro: str, text: str) -> set[str]:
    return set(re.findall(rf"\\{macro}\{{([^}}]+)\}}", text))


def floats(text: str) -> set[str]:
    """Labels of figures and tables."""
    return {label for label in labels(text) if label.startswith(("figure:", "table:"))}


@pytest.fixture(params=DOCUMENTS)
def document(request: pytest.FixtureRequest) -> Document:
    return DOCUMENTS[request.param]


def test_the_rule_for_numbers_sees_what_was_typed_and_nothing_else() -> None:
    typed = r"from $80.5$ to 72.1, 7\,\% more, 3 times as fast, 1968 steps, twelve-fold and 4-fold"
    assert typed_numbers(typed) == {"80.5", "72.1", "7", "3", "1968", "4"}
    free = r"\spThing{} of $x_1$ in $2^{31}$ bits, \citet{shi2019}, Table~\ref{table:a3.14}, 2 workers % 99.9" + "\n"
    assert typed_numbers(free + r"\includegraphics[width=0.49\textwidth]{a} \made{real 123}") == set()


def test_no_text_holds_a_measured_number(document: Document) -> None:
    found = {path.name: typed_numbers(path.read_text(encoding="utf-8")) for path in document.files()}
    found.pop("preamble.tex")
    assert {name: numbers - set(NUMBERS) for name, numbers in found.items() if numbers - set(NUMBERS)} == {}


def test_every_number_that_may_be_typed_is() -> None:
    assert set().union(*(typed_numbers(document.text()) for document in DOCUMENTS.values())) >= set(NUMBERS)


def test_every_reference_leads_to_a_label_of_the_same_paper(document: Document) -> None:
    """Tables that are written bring few labels: that of formal theorems, and what a headline refers to."""
    text = document.text()
    written = {"table:formal"} if r"\input{generated/formal.tex}" in text else set()
    spoken = WAITING if r"\input{generated/headlines.tex}" in text else ()
    wanted = references(text) | {label for headline in spoken for label in references(headline.reason)}
    assert wanted
    assert wanted - labels(text) - written == set()


def test_every_figure_and_table_is_spoken_of(document: Document) -> None:
    assert floats(document.text()) - references(document.text()) == set()


def test_every_figure_is_in_one_paper_and_readme_has_its_own() -> None:
    shown = [
        Path(name).stem
        for document in DOCUMENTS.values()
        for name in re.findall(r"\\includegraphics\[[^]]*\]\{([^}]+)\}", document.text())
    ]
    assert sorted(shown) == sorted(set(FIGURES) - {"overview"})


def test_what_is_written_is_read_and_nothing_else() -> None:
    read = [re.findall(r"\\input\{generated/([^}]+)\}", document.text()) for document in DOCUMENTS.values()]
    assert {name for names in read for name in names} == set(FILES)


def test_a_paper_ends_its_main_part_once(document: Document) -> None:
    assert document.text().count(rf"\label{{{MAIN_PART_END}}}") == 1


def test_every_statement_is_proved_in_one_paper() -> None:
    proved = [label for document in DOCUMENTS.values() for label in sorted(document.labels)]
    assert sorted(proved) == sorted(STATEMENTS)


def test_a_paper_mostly_speaks_of_what_it_proves(document: Document) -> None:
    spoken = named("statement", document.text())
    assert spoken
    assert spoken <= set(STATEMENTS)
    assert len(spoken & document.labels) > len(spoken - document.labels)


def surname(name: str) -> str:
    """The last word of a surname in plain letters: `thomsen` for `Berg Thomsen`, `sos` for `Sós`."""
    return re.sub(r"[^a-z]", "", unicodedata.normalize("NFD", name.split()[-1]).lower())


def test_a_paper_cites_every_publication_that_a_source_of_its_statements_names(document: Document) -> None:
    entries = (ROOT / "paper" / "references.bib").read_text(encoding="utf-8").split("@")
    field = re.compile(r"\w+\{(\w+),.*author\s*=\s*\{([^,]+),.*year\s*=\s*\{(\d+)\}", flags=re.DOTALL)
    keys = {match[1]: (surname(match[2]), match[3]) for entry in entries if (match := field.match(entry))}
    sources = [STATEMENTS[label].source for label in document.labels]
    found = [(author, years) for source in sources for author, years in PUBLICATION.findall(source)]
    wanted = {(surname(author), year) for author, years in found for year in years.split(", ")}
    assert wanted
    assert wanted - {keys[key] for key in cited(document)} == set()


def cited(document: Document) -> set[str]:
    keys = re.findall(r"\\(?:cite[pt]|nocite)(?:\[[^]]*\])?\{([^}]*)\}", document.text())
    found = {key for listed in keys for key in listed.split(",")}
    return found | {headline.source for headline in HEADLINES if headline.document == document.stem}


def test_claims_and_commands_that_a_paper_names_are_there(document: Document) -> None:
    text = document.text()
    assert named("claim", text) <= {claim.name for claim in CLAIMS}
    shown = (named("made", text) | named("reproduce", text)) - {"#1"}
    assert shown
    assert shown <= set(commands())
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for command in named("command", text) - {"#1"}:
        target, *options = command.split(" ", 1)
        assert target in targets
        studies = re.findall(r'ONLY="?([\w ]+?)"?(?: PROFILE=\w+)?$', " ".join(options))
        assert set(" ".join(studies).split()) <= {*SINGLE_STUDIES, *CASE_STUDIES}
        assert bool(studies) == bool(options)


def unmade(text: str) -> list[str]:
    """Figures and tables of results whose caption does not end with the command that makes them."""
    found = []
    for kind in ("figure", "table"):
        for body in re.findall(rf"\\begin\{{{kind}\}}.*?\\end\{{{kind}\}}", text, flags=re.DOTALL):
            drawn = re.findall(r"\\includegraphics\[[^]]*\]\{([^}]+)\}|\\input\{generated/([^}.]+)\.tex\}", body)
            names = {name for pair in drawn for name in pair if name}
            if names and not names & named("made", body):
                found.extend(sorted(names))
    return found


def test_every_caption_has_the_command_that_makes_its_figure_or_table(document: Document) -> None:
    without = r"\begin{figure}\includegraphics[width=1cm]{ladder}\caption{A \made{phases}}\end{figure}"
    assert unmade(without) == ["ladder"]
    assert unmade(document.text()) == []


def test_the_table_of_policies_has_every_policy() -> None:
    rows = DOCUMENTS["waiting"].text().partition(r"\label{table:policies}")[2].partition(r"\end{tabular}")[0]
    assert named("code", rows) == set(POLICIES)


def test_what_is_known_by_its_abstract_alone_is_said_to_be() -> None:
    said = DOCUMENTS["waiting"].text().partition("we know the abstract alone")[0].rpartition("programs. Of")[2]
    assert named("citet", said) == {headline.source for headline in HEADLINES if headline.is_described}
