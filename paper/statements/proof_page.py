"""What is stated, why does it hold, and on what evidence? Every statement with its proof, as `paper/docs/proofs.md`.

A step is a computation, unless it says what of it is argued. Links lead to the lines of the files that state and check,
to the theorems in Coq, and to the sources, which the page lists at its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from paper.statements.claims import LABEL
from paper.statements.formulas import formula
from paper.statements.proofs import ROOT, checks_file, evidence, ledger_records, proof_file, ranges
from paper.statements.sources import named, source_list, with_links
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.ledger.remarks import remarks
from sparsync.verify.tools.edges import Unneeded

_HEAD = r"""# Every statement with its proof

Written by [`paper/write_docs.py`](../write_docs.py) from [`theory/`](../../theory) and the ledger
[`verify.json`](../data/verify.json). A step of a proof is *computed*: it must come out as zero or true, and
`make verify FRESH=1` executes them all. Where something of a step is prose, it says so: *argued*. That the steps
together make the proof is for the reader to see. Where the evidence is `formal`, the theorems that it names are proved
in Coq, from the sources in [`verify/formal/`](../../verify/formal); `make formal` compiles them. The symbols are those
of [`theory/language/`](../../theory/language), which says what each stands for; $`\mathbb{N}`$ begins with 1, and
$`\mathbb{N}_0`$ with 0. Every condition of a domain is needed, unless a remark says what is true beyond it: for each,
the ledger knows a point just beyond it at which the statement is false. A *definition* is a formula that others use, or
one put into another.

## Contents

"""


def proofs_markdown(data_folder: Path) -> str:
    """The page: contents, the statements family by family, the sources.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement, a statement has no line that states it or no checks, or names a source
            that is not among the references.
    """
    records = ledger_records(data_folder)
    contents = "".join(_contents(title, family) for title, family in FAMILIES.items())
    families = (
        "".join((f"\n## {title}\n", *(_block(family[label], evidence(records[label], _theorem)) for label in family)))
        for title, family in FAMILIES.items()
    )
    used = {found for statement in STATEMENTS.values() for found in named(statement.source)}
    return f"{_HEAD}{contents}- [Sources](#sources)\n{''.join(families)}\n## Sources\n\n{source_list(used)}"


def line_of(file: str, label: str) -> int:
    """The line of a file at which a label is written first, in quotes; of a function that holds it, the first.

    Where labels are made by a rule, it is the line of the dict of checks.

    Raises:
        ValueError: the file has neither.
    """
    lines = _lines(file)
    named_at = (place for place, line in enumerate(lines) if f'"{label}"' in line)
    checks_at = (place for place, line in enumerate(lines) if line.startswith("CHECKS: dict"))
    place = next(named_at, next(checks_at, None))
    if place is None:
        raise ValueError(f"{file} names neither {label!r} nor a dict of checks")
    opened = (above for above in range(place, -1, -1) if lines[above] and not lines[above][0].isspace())
    start = next((above for above in opened if not lines[above].startswith((")", "]", "}"))), place)
    return start + 1 if lines[start].startswith("def ") else place + 1


@cache
def _lines(file: str) -> list[str]:
    return (ROOT / file).read_text(encoding="utf-8").splitlines()


def _contents(title: str, family: Mapping[str, Statement]) -> str:
    links = ", ".join(f"[`{label}`](#{label})" for label in family)
    return f"- [{title}](#{title.lower().replace(' ', '-')}): {links}\n"


def _block(statement: Statement, found: str) -> str:
    label = statement.label
    stated, checked = proof_file(label), checks_file(label)
    kind = "Definition: " if statement.kind == "definition" else ""
    steps = "".join(f"{place}. {_step(step)}\n" for place, step in enumerate(statement.derivation, start=1))
    return (
        f"\n### {label}\n\n**{kind}{_text(statement.title)}**\n\n{_hypotheses(statement)}"
        f"```math\n{formula(statement.relation)}\n```\n\n"
        f"Proof, executed in {_file_link(stated, label)}:\n\n{steps}\n"
        f"Evidence: {found}; checked in {_file_link(checked, label)}. Source: {with_links(_text(statement.source))}.\n"
    )


def _hypotheses(statement: Statement) -> str:
    """Assumptions and domain as lists, and what is true beyond the domain."""
    assumptions = "".join(f"- {_mathematics(text)}\n" for text in statement.assumption_texts)
    conditions = (formula(condition) for condition in statement.domain)
    domain = ", ".join(f"$`{condition}`$" for condition in (*ranges(statement), *conditions))
    parts = (
        f"Assumptions:\n\n{assumptions}" if assumptions else "",
        f"Domain: {domain}.\n" if domain else "",
        *(f"Beyond {said}\n" for said in _beyond(statement)),
    )
    return "".join(f"{part}\n" for part in parts if part)


def _beyond(statement: Statement) -> Iterator[str]:
    by_text = {str(condition): condition for condition in statement.domain}
    for remark in remarks(statement.label):
        if isinstance(remark, Unneeded):
            yield f"$`{formula(by_text[remark.condition])}`$: {_text(remark.reason)}."


def _step(step: Step) -> str:
    return f"{_claim(step.claim)} (*argued:* {_claim(step.argued)})" if step.argued else _claim(step.claim)


def _file_link(file: str, label: str) -> str:
    return f"[`{file}`](../../{file}#L{line_of(file, label)})"


def theorem_place(name: str) -> tuple[str, int | None]:
    """The file of a theorem in Coq, `file.theorem`, and the line that states it, if one does in these words."""
    file, _, theorem = name.partition(".")
    path = f"verify/formal/{file}.v"
    pattern = re.compile(rf"^\s*(?:Theorem|Lemma|Corollary|Fact|Proposition)\s+{re.escape(theorem)}\b")
    return path, next((place for place, line in enumerate(_lines(path), start=1) if pattern.match(line)), None)


def _theorem(name: str) -> str:
    path, place = theorem_place(name)
    return f"[`{name}`](../../{path}{f'#L{place}' if place else ''})"


def _mathematics(text: str) -> str:
    """`$…$` as GitHub's form that Markdown leaves alone; one letter after a hyphen, as in Top-k, needs none."""
    return re.sub(r"\$([^$`]+)\$", r"$`\1`$", re.sub(r"(?<=-)\$(\w)\$", r"\1", text))


def _claim(claim: str) -> str:
    """A claim in its own Unicode, its labels linked."""
    pieces = re.split(rf"(`[^`]*`|{LABEL.pattern})", claim)
    return "".join(_label(piece.strip("`")) if place % 2 else _text(piece) for place, piece in enumerate(pieces))


def _label(label: str) -> str:
    return f"[`{label}`](#{label})" if label in STATEMENTS else f"`{label}`"


def _text(text: str) -> str:
    return re.sub(r"([\\`*<\[\]~$]|(?<!\w)_)", r"\\\1", text)
