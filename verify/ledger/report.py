"""The ledger as JSON: statements with grades and numbers, counterexamples, wordings, certificates, mutants.

Written by `verify/ledger/command.py`; the paper and its docs read it. Ours.
"""

from collections.abc import Mapping, Sequence

import sympy

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.counterexamples import COUNTEREXAMPLES
from sparsync.verify.contraction.worst_case import below_line_rows, convex_rows, worst_cases
from sparsync.verify.ledger.certificate_store import FAMILIES, Stored
from sparsync.verify.ledger.evidence import Row
from sparsync.verify.ledger.mutants import MUTANTS
from sparsync.verify.tools.outcome import GRADES, Grade
from sparsync.verify.tools.provenance import provenance

Kills = Mapping[str, tuple[Grade, ...]]
"""The grades that each mutant lost, by its name."""

WORDING_DIMENSION, WORDING_COUNT = 10, 3
"""Where the programmes for the insufficient wordings are solved."""


def report(
    rows: Sequence[Row],
    stored: Sequence[Stored],
    kills: Kills,
    *,
    profile_name: str,
    failures: Sequence[str],
    process_count: int,
) -> dict[str, object]:
    """What the run found, with where it was made."""
    return {
        "profile": profile_name,
        "provenance": provenance(process_count=process_count),
        "grades": list(GRADES),
        "failures": list(failures),
        "statements": [_statement_record(row) for row in rows],
        "wordings": _wording_records(),
        "counterexamples": [_counterexample_record(name) for name in COUNTEREXAMPLES],
        "certificates": _certificates_record(stored),
        "mutants": _mutants_record(kills),
    }


def bound_text(label: str) -> str:
    """The right side of a statement in plain text."""
    return str(sympy.sstr(STATEMENTS[label].bound, order="none"))


def _statement_record(row: Row) -> dict[str, object]:
    statement = STATEMENTS[row.label]
    return {
        "label": row.label,
        "title": statement.title,
        "kind": statement.kind,
        "bound": bound_text(row.label),
        "latex": statement.latex(),
        "source": statement.source,
        "grades": list(row.earned),
        "lost_grades": list(row.lost),
        "evidence": {grade: dict(outcome.detail) for grade, outcome in row.outcomes.items()},
    }


def _counterexample_record(name: str) -> dict[str, object]:
    case = COUNTEREXAMPLES[name]
    return {
        "name": name,
        "wording": case.wording,
        "squares": [str(v) for v in case.squares],
        "count": case.count,
        "ratio": str(case.ratio),
        "claimed": str(case.claimed),
        "refutes": case.refutes(),
    }


def _wording_records() -> list[dict[str, object]]:
    """The worst case under the wordings that do not suffice, as the solver finds it."""
    claimed = STATEMENTS["square_convex"].evaluate(d=WORDING_DIMENSION, k=WORDING_COUNT)
    wordings = {"below the zero-based line": below_line_rows, "convex in rank": convex_rows}
    return [
        {
            "wording": wording,
            "dimension": WORDING_DIMENSION,
            "count": WORDING_COUNT,
            "worst_ratio": worst_cases(rows(WORDING_DIMENSION), [WORDING_COUNT])[0].optimum,
            "claimed": claimed,
        }
        for wording, rows in wordings.items()
    ]


def _certificates_record(stored: Sequence[Stored]) -> dict[str, object]:
    return {
        "checked_count": sum(len(file.records) for file in stored),
        "files": [
            {
                "name": file.name,
                "label": FAMILIES[file.name].label,
                "checked_count": len(file.records),
                "fault": file.fault,
            }
            for file in stored
        ],
    }


def _mutants_record(kills: Kills) -> dict[str, object]:
    return {
        "mutants_count": len(kills),
        "killed_count": sum(bool(grades) for grades in kills.values()),
        "mutants": [
            {"name": name, "label": MUTANTS[name].label, "change": MUTANTS[name].change, "killed_by": list(grades)}
            for name, grades in kills.items()
        ],
    }
