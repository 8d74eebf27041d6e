"""The paper's tables of statements: what is stated, under which hypotheses, from which source, on what evidence.

Rows come from `FAMILIES`; the grades come from the ledger's file, so a grade is printed only if it was earned. The six
bounds of the main text are one `tabular`; every other family is a part of one `longtable` in the appendix.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import sympy

from paper.latex import escape
from paper.study_facts import grades
from sparsync.theory.statement import Statement
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.theory.symbols import LATEX_NAMES

MAIN_FAMILY = "Contraction"
"""The family that the main text prints."""

_MAIN_COLUMNS = (
    r"@{}>{\raggedright}p{0.175\textwidth}l>{\raggedright}p{0.27\textwidth}"
    r">{\raggedright\arraybackslash}p{0.19\textwidth}@{}"
)
_MAIN_HEAD = (r"statement", r"bound", r"hypotheses", r"source, \emph{evidence}")
_LONG_COLUMNS = (
    r"@{}>{\raggedright}p{0.33\textwidth}>{\raggedright}p{0.42\textwidth}"
    r">{\raggedright\arraybackslash}p{0.2\textwidth}@{}"
)
_LONG_HEAD = (r"statement and hypotheses", r"what holds", r"source, \emph{evidence}")


def statement_table(data_folder: Path) -> str:
    """A `tabular` with one row per bound of the main text: title and label, bound, hypotheses, source and grades.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement.
    """
    earned = _all_grades(data_folder)
    rows = "\\addlinespace\n".join(
        _row((_name_cell(statement), bound_cell(statement), "; ".join(statement.assumptions)), statement, earned[label])
        for label, statement in FAMILIES[MAIN_FAMILY].items()
    )
    return f"\\begin{{tabular}}{{{_MAIN_COLUMNS}}}\n{_head(_MAIN_HEAD)}{rows}\\bottomrule\n\\end{{tabular}}\n"


def ledger_table(data_folder: Path) -> str:
    """A `longtable` of all other statements, family by family: title, label, hypotheses, relation, source and grades.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement.
    """
    earned = _all_grades(data_folder)
    families = (_family(title, family, earned) for title, family in FAMILIES.items() if title != MAIN_FAMILY and family)
    return (
        f"\\begin{{longtable}}{{{_LONG_COLUMNS}}}\n{_head(_LONG_HEAD)}\\endhead\n\\bottomrule\n\\endfoot\n"
        f"{''.join(families)}\\end{{longtable}}\n"
    )


def bound_cell(statement: Statement) -> str:
    """The relation's sign and right side: `$= 1 - \\dfrac{k}{d}$`."""
    sign = "=" if isinstance(statement.relation, sympy.Eq) else r"\le"
    bound = sympy.latex(statement.bound, order="none", symbol_names=LATEX_NAMES).replace(r"\frac", r"\dfrac")
    return f"${sign} {bound}$"


def relation_cell(statement: Statement) -> str:
    """Both sides of the relation, shrunk to the width of its column where it is wider."""
    formula = sympy.latex(statement.relation, order="none", symbol_names=LATEX_NAMES)
    return f"\\adjustbox{{max width=\\linewidth}}{{$\\displaystyle {formula}$}}"


def _all_grades(data_folder: Path) -> dict[str, list[str]]:
    earned = grades(data_folder)
    missing = [label for label in STATEMENTS if label not in earned]
    if missing:
        raise ValueError(f"{data_folder / 'verify.json'}: no statement {', '.join(missing)}")
    return earned


def _family(title: str, family: Mapping[str, Statement], earned: Mapping[str, list[str]]) -> str:
    heading = f"\\multicolumn{{{len(_LONG_HEAD)}}}{{@{{}}l}}{{\\textbf{{{escape(title)}}}}} \\\\*\n\\addlinespace\n"
    rows = (
        _row((_described_cell(statement), relation_cell(statement)), statement, earned[label])
        for label, statement in family.items()
    )
    return heading + "".join(f"{row}\\addlinespace\n" for row in rows)


def _head(titles: tuple[str, ...]) -> str:
    return f"\\toprule\n{' & '.join(titles)} \\\\\n\\midrule\n"


def _title_cell(title: str) -> str:
    """The title with its symbol k, in `Top-k` too, set as mathematics."""
    return re.sub(r"\bk\b", "$k$", escape(title))


def _name_cell(statement: Statement) -> str:
    label = escape(statement.label).replace(r"\_", r"\_\allowbreak{}")
    return f"{_title_cell(statement.title)}\\newline\\texttt{{{label}}}"


def _described_cell(statement: Statement) -> str:
    return f"{_name_cell(statement)}\\newline {'; '.join(statement.assumptions)}".removesuffix("\\newline ")


def _row(cells: tuple[str, ...], statement: Statement, earned: list[str]) -> str:
    evidence = f"{escape(statement.source)}\\newline\\emph{{{escape(', '.join(earned) or 'none')}}}"
    return " &\n".join((*cells, evidence)) + " \\\\\n"
