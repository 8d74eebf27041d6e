"""What is proved, on what evidence, and which wordings fail? Tables and counts of the ledger, and the worst vectors.

Reads `verify.json` and `formal.json`. The figure draws extremal squares of each class and named counterexamples; it is
computed from the exact vectors in `verify/`, and the file says only with which profile they were checked.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from paper import latex
from paper.documents import DOCUMENTS
from paper.results import Result, result
from paper.statements.formal_table import closed_theorems, formal_table
from paper.statements.proofs import ledger_records, proofs_latex
from paper.statements.tables import all_grades, ledger_table, statement_table
from paper.studies.study import Macro, Study
from paper.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, Look, new_figure
from sparsync.verify.contraction.counterexamples import COUNTEREXAMPLES
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, tail_ratio

COUNTEREXAMPLE_WORDS = {
    "TwoCoordinates": "two_coordinates",
    "Constant": "constant",
    "CappedLine": "capped_line_profile",
    "BelowLine": "below_line_extremal",
}
"""Words of macro names to names in `verify/contraction/counterexamples.py`."""
DIMENSION, COUNT = 10, 3
"""d of the vectors of the left panel, and k."""
CLASSES: dict[str, Look] = {
    "top_k": Look("any vector", BLACK),
    "square_convex_discrete": Look("$v_i/(d+1-i)$ falls", SKY, (0, (4, 1.5))),
    "square_convex": Look("$v_i/(2(d-i)+1)$ falls", BLUE),
    "bell_shaped_discrete": Look("$v_i/(d+1-i)^2$ falls", ORANGE, (0, (4, 1.5))),
    "bell_shaped": Look(r"$v_i/((d-i+1)^3-(d-i)^3)$ falls", VERMILION),
}
"""The classes drawn, from the weakest hypothesis to the strongest, by statement."""
REFUTATIONS: dict[str, Look] = {
    "one_then_flat": Look("convex, below the line", GREEN),
    "below_line_extremal": Look("below the line", PURPLE, (0, (3, 2))),
    "constant": Look("convex", GREY, (0, (1, 1))),
}
"""The counterexamples to exponent two that are drawn; all have the dimension of the left panel."""


def counterexample(data_folder: Path, name: str) -> Result:
    """A counterexample's record in the ledger.

    Raises:
        ValueError: the ledger holds no such counterexample, or it refutes nothing.
    """
    ledger = result(data_folder, "verify")
    by_name = {record["name"]: record for record in ledger.records("counterexamples")}
    if name not in by_name:
        raise ValueError(f"{ledger.path}: no counterexample {name!r}, only {', '.join(by_name)}")
    if not by_name[name]["refutes"]:
        raise ValueError(f"{ledger.path}: the counterexample {name!r} refutes nothing")
    return by_name[name]


def worst_cases(data_folder: Path) -> Figure:
    """Sorted squares by rank: of the vectors that attain the bounds, and of vectors that break a weaker wording."""
    figure = new_figure(2.7, profile=result(data_folder, "verify")["profile"])
    left, right = figure.subplots(1, 2, sharex=True)
    ranks = range(1, DIMENSION + 1)
    for label, look in CLASSES.items():
        squares = [Fraction(weight) for weight in CLASS_WEIGHTS[label](DIMENSION)]
        total = sum(squares, Fraction(0))
        title = f"{look.title}: {float(tail_ratio(squares, COUNT)):.3f}"
        left.step(ranks, [float(square / total) for square in squares], where="mid", **{**look.line, "label": title})
    right.plot(ranks, [1 - (rank - 1) / DIMENSION for rank in ranks], color=BLACK, linewidth=0.6, label="the line")
    for name, look in REFUTATIONS.items():
        case = COUNTEREXAMPLES[name]
        title = f"{look.title}: {float(case.ratio):.3f} > {float(case.claimed):.2f}, $k={case.count}$"
        squares = [square / case.squares[0] for square in case.squares]
        right.step(ranks, [float(square) for square in squares], where="mid", **{**look.line, "label": title})
    for axes, share, label in ((left, "total", "attain the bounds"), (right, "largest", "break exponent two")):
        axes.set(xlabel="rank $i$", ylabel=f"$v_i$, as a share of the {share}", title=label)
        axes.set_ylim(0, 1.45 * axes.get_ylim()[1])
        axes.legend(fontsize=6.5, loc="upper right")
    left.axvline(COUNT + 0.5, color=GREY, linewidth=0.6)
    return figure


def _share(data_folder: Path, *, name: str, part: str) -> str:
    """What the vector of a counterexample leaves (ratio), or what the wording claims at most (claimed)."""
    return latex.fraction(counterexample(data_folder, name)[part])


def _kind_count(data_folder: Path, *, kind: str) -> str:
    """How many statements of the ledger are theorems, or definitions."""
    return latex.integer(sum(record["kind"] == kind for record in ledger_records(data_folder).values()))


def _argued_count(data_folder: Path) -> str:
    """How many statements have a derivation in which something of a step is argued."""
    evidence = (record["evidence"] for record in ledger_records(data_folder).values())
    return latex.integer(sum(bool(found["symbolic"]["argued_count"]) for found in evidence))


def _formal_statement_count(data_folder: Path) -> str:
    """How many statements of the ledger have the grade formal."""
    return latex.integer(sum("formal" in earned for earned in all_grades(data_folder).values()))


MACROS: dict[str, Macro] = {
    "LedgerProfile": lambda folder: latex.escape(str(result(folder, "verify")["profile"])),
    **{
        f"{word}{part}": partial(_share, name=name, part=part.lower())
        for word, name in COUNTEREXAMPLE_WORDS.items()
        for part in ("Ratio", "Claimed")
    },
    "CertificateCount": lambda folder: latex.integer(result(folder, "verify")["certificates"]["checked_count"]),
    "CertificateFileCount": lambda folder: latex.integer(len(result(folder, "verify")["certificates"]["files"])),
    "TheoremCount": partial(_kind_count, kind="theorem"),
    "DefinitionCount": partial(_kind_count, kind="definition"),
    "ArguedCount": _argued_count,
    "FormalStatementCount": _formal_statement_count,
    "FormalTheoremCount": lambda folder: latex.integer(len(closed_theorems(folder))),
    "CoqVersion": lambda folder: latex.escape(str(result(folder, "formal")["coq_version"])),
}

STUDY = Study(
    macros=MACROS,
    figures={"worst_cases": worst_cases},
    tables={
        "statements.tex": statement_table,
        "formal.tex": formal_table,
        **{f"ledger_{stem}.tex": partial(ledger_table, families=paper.families) for stem, paper in DOCUMENTS.items()},
        **{f"proofs_{stem}.tex": partial(proofs_latex, families=paper.families) for stem, paper in DOCUMENTS.items()},
    },
    results=("verify", "formal"),
)
