"""What is stated, why does it hold, and on what evidence? Every statement with its proof, as a paper's appendix.

The words of a proof are the claims of its steps, the formulas are the statements' own, the numbers and the names of
formal theorems are the ledger's. `paper/statements/proof_page.py` writes the same for the repository.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sympy

from paper.latex import escape
from paper.results import Result, result
from paper.statements.claims import claim_latex
from paper.statements.formulas import formula
from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.ledger.checks import checking_module

ROOT = Path(__file__).resolve().parents[2]

RANGES: tuple[tuple[str, Callable[[sympy.Symbol], bool]], ...] = (
    (r"\in\mathbb{N}", lambda symbol: symbol.is_integer and symbol.is_positive),
    (r"\in\mathbb{N}_0", lambda symbol: symbol.is_integer and symbol.is_nonnegative),
    ("> 0", lambda symbol: symbol.is_positive),
    (r"\geq 0", lambda symbol: symbol.is_nonnegative),
    (r"\in\mathbb{R}", lambda symbol: symbol.is_real),
)
"""What a symbol's own assumptions say; of several that hold, the first says most."""
WIDE_CHARACTERS = 300
"""A formula within a sentence whose source is longer may have a fraction wider than a line, and shrinks to one."""
SHORTEST_SHARED = 3
"""From so many steps on that an earlier proof has too, word for word, the paper refers to it."""


def proofs_latex(data_folder: Path, families: Mapping[str, Mapping[str, Statement]] = FAMILIES) -> str:
    """The appendix: family by family, each statement with assumptions, relation, proof, evidence and source.

    Args:
        data_folder: holds the ledger.
        families: those of one paper, by title; steps are shared with earlier proofs of the same paper only.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement, or a claim holds a character that LaTeX does not know.
    """
    records = ledger_records(data_folder)
    earlier: dict[str, Sequence[str]] = {}
    parts: list[str] = []
    for title, family in families.items():
        parts.append(f"\\subsection*{{{escape(title)}}}\n\n")
        for label, statement in family.items():
            parts.append(_latex_block(statement, evidence(records[label], theorem_link), earlier))
            earlier[label] = [step.claim for step in statement.derivation]
    return "".join(parts)


def ledger_records(data_folder: Path) -> dict[str, Result]:
    """The ledger's record of every statement, by label.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement.
    """
    ledger = result(data_folder, "verify")
    by_label = {record["label"]: record for record in ledger.records("statements")}
    missing = [label for label in STATEMENTS if label not in by_label]
    if missing:
        raise ValueError(f"{ledger.path}: no statement {', '.join(missing)}")
    return by_label


def proof_file(label: str) -> str:
    """The file of `theory/` that states and derives a statement.

    Raises:
        ValueError: there is no such statement.
    """
    return _source(_statement(label).module)


def checks_file(label: str) -> str:
    """The file of `verify/` that holds a statement's checks.

    Raises:
        ValueError: there is no such statement.
    """
    return _source(checking_module(_statement(label)))


def title_latex(title: str) -> str:
    """A statement's title in LaTeX, with a capital letter in front unless it begins with a formula.

    Raises:
        ValueError: it holds a character that LaTeX does not know.
    """
    printed = claim_latex(title, label_link)
    return printed[0].upper() + printed[1:]


def label_link(label: str) -> str:
    """A label that leads to its block, in this paper or the other (see `preamble.tex`); another word is set as code."""
    if label in STATEMENTS:
        return f"\\statement{{{label}}}"
    return f"\\texttt{{{escape(label)}}}".replace(r"\_", r"\_\allowbreak{}")


def theorem_link(name: str) -> str:
    """The name of a theorem in Coq, `file.theorem`, that leads to its row of the table of formal proofs."""
    return f"\\formal{{{name}}}"


def theorem_latex(name: str) -> str:
    """A name in Coq, set as code, that may break at its points and underscores."""
    return f"\\code{{{name}}}"


def _statement(label: str) -> Statement:
    if label not in STATEMENTS:
        raise ValueError(f"no statement is called {label!r}")
    return STATEMENTS[label]


def _source(module: str) -> str:
    return f"{module.removeprefix('sparsync.').replace('.', '/')}.py"


def evidence(record: Result, printed: Callable[[str], str]) -> str:
    """The grades with theorems and counts: `formal (tail.tail_cross), symbolic (3 steps), property (500 examples)`.

    Args:
        record: of a statement, from the ledger.
        printed: how the name of a formal theorem is printed; no other word needs care in LaTeX or Markdown.
    """
    details = record["evidence"]
    return ", ".join(_graded(grade, details.get(grade, {}), printed) for grade in record["grades"]) or "none"


def _graded(grade: str, detail: Mapping[str, Any], printed: Callable[[str], str]) -> str:
    """A grade with what is behind it, and what a theorem leaves of a statement.

    What was counted to be none, such as failures, is not said.
    """
    counts = [
        (name.removesuffix("_count"), count) for name, count in detail.items() if name.endswith("_count") and count
    ]
    counted = [_counted(name.replace("_", " "), int(count)) for name, count in counts]
    theorems = [printed(name) for name in detail.get("theorems", ())]
    left = detail.get("leaves", [""] * len(theorems))
    named = [f"{name}{f', not {what}' if what else ''}" for name, what in zip(theorems, left, strict=True)]
    words = ("; " if any(left) else ", ").join([*named, *counted])
    return f"{grade} ({words})" if words else grade


def _counted(things: str, count: int) -> str:
    """`3 steps`, `1 query`."""
    if count != 1:
        return f"{count} {things}"
    singular = re.sub(r"ies$", "y", re.sub(r"(x|ch|sh|ss)es$", r"\1", things))
    return f"{count} {singular if singular != things else things.removesuffix('s')}"


def _latex_block(statement: Statement, found: str, earlier: Mapping[str, Sequence[str]]) -> str:
    proof = "; ".join(_latex_steps(statement, earlier))
    return (
        f"\\statementhead{{{title_latex(statement.title)}}}{{{statement.label}}}\n"
        f"{_conditions(statement)}\n"
        f"\\[\\adjustbox{{max width=0.98\\linewidth}}{{$\\displaystyle {formula(statement.relation)}$}}\\]\n"
        f"\\emph{{Proof:}} {proof}.\n\n"
        f"\\emph{{Evidence:}} {found}. \\emph{{Source:}} {escape(statement.source)}.\n\n"
    )


def _latex_steps(statement: Statement, earlier: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The numbered steps; a run of them that an earlier proof has too is replaced by a reference to it."""
    claims = [step.claim for step in statement.derivation]
    place = 0
    while place < len(claims):
        label, first, count = _longest_shared(claims[place:], earlier)
        if count >= SHORTEST_SHARED:
            yield f"{_numbers(place, count)} as {_numbers(first, count)} of {label_link(label)}"
            place += count
        else:
            argued = statement.derivation[place].argued
            mark = f" [\\emph{{argued:}} {claim_latex(argued, label_link)}]" if argued else ""
            yield f"({place + 1})~{claim_latex(claims[place], label_link)}{mark}"
            place += 1


def _longest_shared(claims: Sequence[str], earlier: Mapping[str, Sequence[str]]) -> tuple[str, int, int]:
    """The earlier proof that has most of the leading claims in a row, where they begin in it, and how many they are."""
    best = ("", 0, 0)
    for label, known in earlier.items():
        if claims[0] not in known:
            continue
        for first in range(len(known)):
            pairs = zip(claims, known[first:], strict=False)
            count = next((place for place, (ours, theirs) in enumerate(pairs) if ours != theirs), None)
            count = min(len(claims), len(known) - first) if count is None else count
            if count > best[2]:
                best = (label, first, count)
    return best


def _numbers(first: int, count: int) -> str:
    return f"\\mbox{{({first + 1})--({first + count})}}"


def _conditions(statement: Statement) -> str:
    assumptions = f"Assumptions: {'; '.join(statement.assumption_texts)}." if statement.assumptions else ""
    conditions = (formula(condition) for condition in statement.domain)
    domain = ", ".join(f"${condition}$" for condition in (*ranges(statement), *conditions))
    where = f"Domain: {domain}." if domain else ""
    return "".join(f"{_within_lines(part)}\n" for part in (assumptions, where) if part)


def _within_lines(sentence: str) -> str:
    """The sentence; a very long formula in it is put into a box at most as wide as a line, and may fill one."""
    boxed = re.sub(rf"\$[^$]{{{WIDE_CHARACTERS},}}\$", r"\\adjustbox{max width=\\linewidth}{\g<0>}", sentence)
    return sentence if boxed == sentence else f"{{\\emergencystretch=\\linewidth\n{boxed}\n\\par}}"


def ranges(statement: Statement) -> Iterator[str]:
    r"""What each parameter is by itself, those of one kind together: `d, k \in\mathbb{N}`, `\kappa > 0`."""
    kinds: dict[str, list[str]] = {range_: [] for range_, _ in RANGES}
    for symbol in statement.parameters:
        kinds[next(range_ for range_, holds in RANGES if holds(symbol))].append(formula(symbol))
    return (f"{', '.join(sorted(names, key=_letters))} {range_}" for range_, names in kinds.items() if names)


def _letters(name: str) -> str:
    return re.sub(r"[^A-Za-z]", "", name).lower()
