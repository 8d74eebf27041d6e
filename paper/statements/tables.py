"""The tables of statements: the bounds of main.tex in full, and for each paper an index of all that it proves.

Rows come from `FAMILIES`; the grades come from the ledger's file, so a grade is printed only if it was earned. Every
label is a link to the statement's block in the appendix, which `proofs.py` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import sympy

from paper.latex import escape
from paper.statements.formulas import formula
from paper.statements.proofs import label_link, ledger_records, title_latex
from sparsync.theory.contraction import ladder
from sparsync.theory.language.statement import Statement
from sparsync.theory.statements import FAMILIES

MAIN_STATEMENTS = ladder.STATEMENTS
"""What the main text prints in full."""

_MAIN_COLUMNS = (
    r"@{}>{\raggedright}p{0.175\textwidth}l>{\raggedright}p{0.27\textwidth}"
    r">{\raggedright\arraybackslash}p{0.19\textwidth}@{}"
)
_MAIN_HEAD = (r"statement", r"bound", r"hypotheses", r"source, \emph{evidence}")
_INDEX_COLUMNS = (
    r"@{}>{\raggedright}p{0.28\textwidth}>{\raggedright}p{0.38\textwidth}r"
    r">{\raggedright\arraybackslash}p{0.24\textwidth}@{}"
)
_INDEX_HEAD = (r"label", r"what it is about", r"page", r"\emph{evidence}")


def statement_table(data_folder: Path) -> str:
    """A `tabular` with one row per bound of the main text: title and label, bound, hypotheses, source and grades.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement.
    """
    earned = all_grades(data_folder)
    rows = "\\addlinespace\n".join(
        _row(
            (_name_cell(statement), bound_cell(statement), "; ".join(statement.assumption_texts)),
            statement,
            earned[label],
        )
        for label, statement in MAIN_STATEMENTS.items()
    )
    return f"\\begin{{tabular}}{{{_MAIN_COLUMNS}}}\n{_head(_MAIN_HEAD)}{rows}\\bottomrule\n\\end{{tabular}}\n"


def ledger_table(data_folder: Path, families: Mapping[str, Mapping[str, Statement]] = FAMILIES) -> str:
    """A `longtable` of all statements, family by family: label linked to its proof, title, page and grades.

    Args:
        data_folder: holds the ledger.
        families: those of one paper, by title.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement.
    """
    earned = all_grades(data_folder)
    rows = (_family(title, family, earned) for title, family in families.items() if family)
    return (
        f"\\begin{{longtable}}{{{_INDEX_COLUMNS}}}\n{_head(_INDEX_HEAD)}\\endhead\n\\bottomrule\n\\endfoot\n"
        f"{''.join(rows)}\\end{{longtable}}\n"
    )


def bound_cell(statement: Statement) -> str:
    """The relation's sign and right side: `$= 1 - \\dfrac{k}{d}$`."""
    sign = "=" if isinstance(statement.relation, sympy.Eq) else r"\le"
    return f"${sign} {formula(statement.bound)}$".replace(r"\frac", r"\dfrac")


def all_grades(data_folder: Path) -> dict[str, list[str]]:
    """The grades that every statement earned, by label.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement.
    """
    return {label: list(record["grades"]) for label, record in ledger_records(data_folder).items()}


def _family(title: str, family: Mapping[str, Statement], earned: Mapping[str, list[str]]) -> str:
    heading = f"\\multicolumn{{{len(_INDEX_HEAD)}}}{{@{{}}l}}{{\\textbf{{{escape(title)}}}}} \\\\*\n"
    rows = (
        f"{label_link(label)} & {title_latex(statement.title)} & \\pageref{{statement:{label}}} & "
        f"{_evidence(earned[label])} \\\\\n"
        for label, statement in family.items()
    )
    return f"{heading}{''.join(rows)}\\addlinespace\n"


def _head(titles: tuple[str, ...]) -> str:
    return f"\\toprule\n{' & '.join(titles)} \\\\\n\\midrule\n"


def _name_cell(statement: Statement) -> str:
    return f"{title_latex(statement.title)}\\newline{label_link(statement.label)}"


def _row(cells: tuple[str, ...], statement: Statement, earned: list[str]) -> str:
    evidence = f"{escape(statement.source)}\\newline{_evidence(earned)}"
    return " &\n".join((*cells, evidence)) + " \\\\\n"


def _evidence(earned: list[str]) -> str:
    return f"\\emph{{{escape(', '.join(earned) or 'none')}}}"
