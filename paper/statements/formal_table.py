"""Which theorems does Coq accept, under which hypotheses and on which axioms? The paper's table of formal proofs.

Rows come from `formal.json`, which `verify/formal/coq.py` writes; a theorem is called proved only if Coq names no
axiom.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from paper.results import Result, result
from paper.statements.claims import claim_latex
from paper.statements.proofs import label_link, theorem_latex, theorem_link, title_latex

_COLUMNS = (
    r"@{}>{\raggedright}p{0.4\textwidth}>{\raggedright}p{0.265\textwidth}"
    r">{\raggedright\arraybackslash}p{0.285\textwidth}@{}"
)
_HEAD = r"\toprule" + "\n" + r"theorem & name, \emph{verdict} & hypotheses \\" + "\n" + r"\midrule" + "\n"


def formal_table(data_folder: Path) -> str:
    r"""A `longtable` with a row per theorem: what it states, its name, Coq's verdict, its hypotheses and their witness.

    Its caption is the macro `\formalcaption`; a theorem that proves a statement of the ledger names it, and says what
    of it the theorem leaves.

    Raises:
        FileNotFoundError: Coq has not been asked.
        ValueError: a field is missing, or a sentence holds a character that LaTeX does not know.
    """
    theorems = result(data_folder, "formal").records("theorems")
    names = {str(theorem["name"]) for theorem in theorems}
    files = groupby(theorems, key=lambda theorem: _file(str(theorem["name"])))
    parts = ("\\addlinespace[2pt]\n".join(_row(theorem, names) for theorem in group) for _, group in files)
    rows = "\\addlinespace\\addlinespace\n".join(parts)
    caption = "\\caption{\\formalcaption}\\label{table:formal}\\\\\n"
    first, later = f"{caption}{_HEAD}\\endfirsthead\n", f"{_HEAD}\\endhead\n"
    return f"\\begin{{longtable}}{{{_COLUMNS}}}\n{first}{later}\\bottomrule\n\\endfoot\n{rows}\\end{{longtable}}\n"


def closed_theorems(data_folder: Path) -> list[str]:
    """The names of all theorems, if none rests on an axiom.

    Raises:
        FileNotFoundError: Coq has not been asked.
        ValueError: one does.
    """
    record = result(data_folder, "formal")
    theorems = record.records("theorems")
    resting = [f"{theorem['name']} on {', '.join(theorem['axioms'])}" for theorem in theorems if theorem["axioms"]]
    if resting:
        raise ValueError(f"{record.path}: the text says that all theorems are closed, but {'; '.join(resting)}")
    return [str(theorem["name"]) for theorem in theorems]


def _row(theorem: Result, names: set[str]) -> str:
    name, axioms = str(theorem["name"]), [str(axiom) for axiom in theorem["axioms"]]
    verdict = f"\\emph{{rests on}} {', '.join(map(theorem_latex, axioms))}" if axioms else "\\emph{proved}"
    cells = (
        f"{title_latex(str(theorem['states']).removesuffix('.'))}{_proves(theorem)}",
        f"\\phantomsection\\label{{formal:{name}}}{theorem_latex(name)}\\newline{verdict}",
        _hypotheses(theorem, names),
    )
    return f"{' & '.join(cells)} \\\\\n"


def _proves(theorem: Result) -> str:
    if not theorem["label"]:
        return ""
    left = claim_latex(str(theorem["leaves"]), label_link)
    return f" ({label_link(theorem['label'])}{f'; not {left}' if left else ''})"


def _hypotheses(theorem: Result, names: set[str]) -> str:
    assumed, witness = claim_latex(theorem["assumes"], label_link), str(theorem["witness"])
    if not witness:
        return assumed or "none"
    shown = theorem_link(witness) if witness in names else theorem_latex(witness)
    return f"{assumed}\\newline\\emph{{met by}} {shown}"


def _file(name: str) -> str:
    return name.partition(".")[0]
