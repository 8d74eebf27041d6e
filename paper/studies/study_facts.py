"""Which numbers do the study `contraction` and the ledger give? Gains, shapes, counterexamples and evidence.

Read from `contraction.json` and `verify.json` of the data folder; formatted in `numbers.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from paper.results import (
    Result,
    contraction_result,
    ledger_result,
    quadratics_result,
    steady_state_result,
)

_OBSERVED = re.compile(r"(?P<kind>[a-z ]+), step (?P<step>\d+)")


def measured_densities(vector: Result) -> list[float]:
    """k/d of a vector, at the whole counts k that were measured."""
    return [count / vector["dimension"] for count in vector["target_count"]]


def bound_densities(study: Result) -> list[float]:
    """k/d at the whole counts k at which the statements were evaluated."""
    return [count / study["bounds_dimension"] for count in study["bounds_target_count"]]


def law_gain(data_folder: Path, law: str) -> float:
    """δ/κ of a sample of the law at the study's smallest density.

    Raises:
        ValueError: the study holds no such law.
    """
    study = contraction_result(data_folder)
    by_name = {vector["name"]: vector for vector in study.records("vectors")}
    if law not in by_name:
        raise ValueError(f"{study.path}: no vector {law!r}, only {', '.join(by_name)}")
    return _gain(by_name[law])


def bound_gain(data_folder: Path, label: str) -> float:
    """δ/κ that a statement promises at the study's smallest density."""
    study = contraction_result(data_folder)
    return float((1 - study.record("bounds")[label][0]) / bound_densities(study)[0])


def observed_vectors(study: Result, kind: str) -> dict[int, Result]:
    """The observed vectors of a kind, by the number of the update, ascending.

    Args:
        study: the content of `contraction.json`.
        kind: "gradient" or "corrected gradient".

    Raises:
        ValueError: the study holds none.
    """
    matches = ((_OBSERVED.fullmatch(vector["name"]), vector) for vector in study.records("vectors"))
    found = {int(match["step"]): vector for match, vector in matches if match and match["kind"] == kind}
    if not found:
        raise ValueError(f"{study.path}: no vector named '{kind}, step …'")
    return dict(sorted(found.items()))


def observed_gains(data_folder: Path, kind: str) -> list[float]:
    """δ/κ at the study's smallest density of every observed vector of a kind.

    The first corrected gradient is left out: nothing has been kept back yet, so it is the first gradient.
    """
    study = contraction_result(data_folder)
    vectors = observed_vectors(study, kind)
    return [_gain(vector) for step, vector in vectors.items() if (kind, step) != ("corrected gradient", 1)]


def rise_count(vector: Result) -> int:
    """How often π(t)/(1 − t) rises from one recorded rank to the next; 0 if the vector is bell-shaped there."""
    pairs = zip(vector["position"], vector["magnitude"], strict=True)
    quotients = [magnitude / (1 - position) for position, magnitude in pairs]
    return sum(later > earlier for earlier, later in pairwise(quotients))


def observed_rise_count(data_folder: Path) -> int:
    """`rise_count` summed over all observed gradients and corrected gradients."""
    study = contraction_result(data_folder)
    kinds = ("gradient", "corrected gradient")
    return sum(rise_count(vector) for kind in kinds for vector in observed_vectors(study, kind).values())


def settled_gain(data_folder: Path, stream: str) -> float:
    """δ/κ of a stream of gradients over the last window of the study, at its smallest density.

    Raises:
        ValueError: the study holds no such stream at that density.
    """
    study = steady_state_result(data_folder)
    density = min(study["density"])
    found = [run for run in study.records("runs") if (run["stream"], run["density"]) == (stream, density)]
    if not found:
        raise ValueError(f"{study.path}: no stream {stream!r} at density {density}")
    return float(found[0]["gain"][-1])


def predicted_gain(data_folder: Path, label: str) -> float:
    """δ/κ that a law of the steady state gives at the study's smallest density."""
    study = steady_state_result(data_folder)
    return float(study.record("predicted_gain")[label][study["density"].index(min(study["density"]))])


def smallest_slack(data_folder: Path, selector: str) -> float:
    """Smallest (1 − factor)/(1 − ρ) − 1 over the cases of the study `quadratics`: how near a step came to the rate."""
    cases = [case for case in quadratics_result(data_folder).records("cases") if case["selector"] == selector]
    return float(min((1 - case["largest_factor"]) / (1 - case["tight_rate"]) for case in cases) - 1)


def counterexample(data_folder: Path, name: str) -> Result:
    """A counterexample's record in the ledger.

    Raises:
        ValueError: the ledger holds no such counterexample, or it refutes nothing.
    """
    ledger = ledger_result(data_folder)
    by_name = {record["name"]: record for record in ledger.records("counterexamples")}
    if name not in by_name:
        raise ValueError(f"{ledger.path}: no counterexample {name!r}, only {', '.join(by_name)}")
    if not by_name[name]["refutes"]:
        raise ValueError(f"{ledger.path}: the counterexample {name!r} refutes nothing")
    return by_name[name]


def grades(data_folder: Path) -> dict[str, list[str]]:
    """The grades of evidence that each statement earned, by label."""
    return {record["label"]: list(record["grades"]) for record in ledger_result(data_folder).records("statements")}


def evidence_total(data_folder: Path, grade: str, suffix: str) -> int:
    """A count in the evidence of a grade, summed over the statements that have this grade.

    Args:
        data_folder: holds `verify.json`.
        grade: such as `rational`.
        suffix: the fields whose names end so are added.

    Raises:
        ValueError: no statement has such evidence.
    """
    ledger = ledger_result(data_folder)
    evidence: list[Mapping[str, Any]] = [record["evidence"] for record in ledger.records("statements")]
    graded = [entry[grade] for entry in evidence if grade in entry]
    counts = [int(count) for entry in graded for name, count in entry.items() if name.endswith(suffix)]
    if not counts:
        raise ValueError(f"{ledger.path}: no statement has evidence of the grade {grade!r} with a {suffix!r}")
    return sum(counts)


def _gain(vector: Result) -> float:
    return float((1 - vector["ratio"][0]) / measured_densities(vector)[0])
