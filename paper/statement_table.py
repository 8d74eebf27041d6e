"""The paper's table of statements: what is bounded, by what, under which hypotheses, on what evidence.

Rows come from `STATEMENTS`; the grades come from the ledger's file, so a grade is printed only if it was earned.
"""

from __future__ import annotations

import re
from pathlib import Path

import sympy

from paper.latex import escape
from paper.study_facts import grades
from sparsync.theory.statement import Statement
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.symbols import LATEX_NAMES

_COLUMNS = (
    r"@{}>{\raggedright}p{0.175\textwidth}l>{\raggedright}p{0.27\textwidth}"
    r">{\raggedright\arraybackslash}p{0.19\textwidth}@{}"
)
_HEAD = (r"statement", r"bound", r"hypotheses", r"source, \emph{evidence}")


def statement_table(data_folder: Path) -> str:
    """A `tabular` with one row per statement: title and label, bound, hypotheses, source and grades.

    Raises:
        FileNotFoundError: the ledger has not been written.
        ValueError: the ledger lacks a statement.
    """
    earned = grades(data_folder)
    missing = [label for label in STATEMENTS if label not in earned]
    if missing:
        raise ValueError(f"{data_folder / 'verify.json'}: no statement {', '.join(missing)}")
    rows = "\\addlinespace\n".join(_row(statement, earned[label]) for label, statement in STATEMENTS.items())
    head = f"\\begin{{tabular}}{{{_COLUMNS}}}\n\\toprule\n{' & '.join(_HEAD)} \\\\\n\\midrule\n"
    return f"{head}{rows}\\bottomrule\n\\end{{tabular}}\n"


def bound_cell(statement: Statement) -> str:
    """The relation's sign and right side: `$= 1 - \\dfrac{k}{d}$`."""
    sign = "=" if isinstance(statement.relation, sympy.Eq) else r"\le"
    bound = sympy.latex(statement.bound, order="none", symbol_names=LATEX_NAMES).replace(r"\frac", r"\dfrac")
    return f"${sign} {bound}$"


def _title_cell(title: str) -> str:
    """The title with its symbol k, in `Top-k` too, set as mathematics."""
    return re.sub(r"\bk\b", "$k$", escape(title))


def _row(statement: Statement, earned: list[str]) -> str:
    label = escape(statement.label).replace(r"\_", r"\_\allowbreak{}")
    name = f"{_title_cell(statement.title)}\\newline\\texttt{{{label}}}"
    evidence = f"{escape(statement.source)}\\newline\\emph{{{escape(', '.join(earned) or 'none')}}}"
    cells = (name, bound_cell(statement), "; ".join(statement.assumptions), evidence)
    return " &\n".join(cells) + " \\\\\n"
