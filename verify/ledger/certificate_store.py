"""Where do the certificates lie, and do they hold what a run needs? One JSON file per class of vectors or method.

A stored certificate spares the solver, never the check: `verify/check_certificates.py` reads every file in each run. A
file that is missing, refuted or incomplete is derived afresh. Ours.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from sparsync.verify.check_certificates import check_file
from sparsync.verify.contraction.certificates import CERTIFIED_CLASSES, from_json, to_json
from sparsync.verify.contraction.ladder import certificates_outcome, certified_cases
from sparsync.verify.contraction.weights import CLASS_WEIGHTS
from sparsync.verify.tight_rates.certificates import rate_certificates
from sparsync.verify.tools.outcome import PROFILES, Outcome, Profile
from sparsync.verify.tools.provenance import provenance, write_json

STORED_DIMENSIONS = PROFILES["record"].dimensions
"""Certificates of larger or other dimensions are checked and forgotten: their digits would fill megabytes."""

Record = Mapping[str, Any]
"""A certificate as JSON."""


@dataclass(frozen=True)
class Family:
    """The certificates of one file.

    Args:
        label: the statement that they prove.
        derive: a profile to the certificates; solves their programmes.
        serves: true iff the certificates are of this family and include every case of a profile.
    """

    label: str
    derive: Callable[[Profile], Sequence[Record]]
    serves: Callable[[Sequence[Record], Profile], bool]


@dataclass(frozen=True)
class Stored:
    """A file of certificates, checked in this run.

    Args:
        name: key in `FAMILIES` and stem of the file.
        records: the certificates.
        derived: why they were derived in this run; empty if they were read.
        fault: why they prove nothing; empty if they hold.
        complete: they include every case of the profile.
    """

    name: str
    records: tuple[Record, ...]
    derived: str
    fault: str
    complete: bool


def stored_certificates(folder: Path, profile: Profile, *, fresh: bool) -> tuple[Stored, ...]:
    """Check the file of every family; where it does not serve, or all are wanted fresh, derive and write it first."""
    return tuple(_stored(folder, name, profile, fresh=fresh) for name in FAMILIES)


def rational_outcomes(stored: Sequence[Stored]) -> dict[str, Outcome]:
    """The grade `rational` of each statement about Top-k whose files hold every case of the profile, by label.

    The certificates of rates are made from formulas, without a solver, so that their own check does not read files.
    """
    by_label: dict[str, list[Stored]] = {}
    for file in stored:
        if file.name in CERTIFIED_CLASSES:
            by_label.setdefault(FAMILIES[file.name].label, []).append(file)
    return {
        label: certificates_outcome([from_json(record) for file in files for record in file.records], label=label)
        for label, files in by_label.items()
        if all(file.complete for file in files)
    }


def fault(folder: Path, name: str) -> str:
    """Why a family's file proves nothing; empty if all its certificates hold."""
    path = _path(folder, name)
    if not path.exists():
        return "it is missing"
    status, words = check_file(path)
    return words if status else ""


def _stored(folder: Path, name: str, profile: Profile, *, fresh: bool) -> Stored:
    reason = "it was asked for" if fresh else fault(folder, name)
    if not reason and not _complete(folder, name, profile):
        reason = "it lacks cases of the profile"
    if reason:
        _write(folder, name, profile)
    remaining = fault(folder, name)
    return Stored(
        name=name,
        records=() if remaining else _records(folder, name),
        derived=reason,
        fault=remaining,
        complete=not remaining and _complete(folder, name, profile),
    )


def _write(folder: Path, name: str, profile: Profile) -> None:
    records = [dict(record) for record in FAMILIES[name].derive(profile)]
    header = {"label": FAMILIES[name].label, "provenance": provenance(process_count=1)}
    write_json(_path(folder, name), {**header, "certificates": records})


def _complete(folder: Path, name: str, profile: Profile) -> bool:
    return FAMILIES[name].serves(_records(folder, name), profile)


def _records(folder: Path, name: str) -> tuple[Record, ...]:
    return tuple(json.loads(_path(folder, name).read_text(encoding="utf-8"))["certificates"])


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _contraction_records(profile: Profile, *, class_name: str) -> list[Record]:
    dimensions = tuple(dimension for dimension in profile.dimensions if dimension in STORED_DIMENSIONS)
    return [to_json(certificate) for _, certificate in certified_cases(class_name, dimensions)]


def _serves_contraction(records: Sequence[Record], profile: Profile, *, class_name: str) -> bool:
    smallest = 1 if class_name in CLASS_WEIGHTS else 2
    wanted = {(d, k) for d in profile.dimensions if d >= smallest for k in range(1, d + 1)}
    held = {(record.get("dimension"), record.get("count")) for record in records}
    return wanted <= held and {record.get("class") for record in records} == {class_name}


@cache
def _rates() -> tuple[Record, ...]:
    return tuple(rate_certificates())


def _rate_records(_profile: Profile, *, kind: str) -> list[Record]:
    return [record for record in _rates() if record["kind"] == kind]


def _serves_rates(records: Sequence[Record], profile: Profile, *, kind: str) -> bool:
    wanted = {_setting(record) for record in _rate_records(profile, kind=kind)}
    return wanted == {_setting(record) for record in records} and {record["kind"] for record in records} == {kind}


def _setting(record: Record) -> tuple[object, ...]:
    return tuple(record.get(name) for name in ("kind", "mu", "smoothness", "root_epsilon", "step_size"))


def _contraction_family(class_name: str) -> Family:
    return Family(
        label=class_name.removesuffix("_end_point"),
        derive=partial(_contraction_records, class_name=class_name),
        serves=partial(_serves_contraction, class_name=class_name),
    )


def _rate_family(kind: str, label: str) -> Family:
    return Family(label, partial(_rate_records, kind=kind), partial(_serves_rates, kind=kind))


RATE_LABELS = {
    "error_feedback": "ef_tight_rate",
    "error_feedback_21": "ef21_tight_rate",
    "compressed_descent": "compressed_descent_rate",
}
"""The statement that each kind of certificate about rates proves."""

FAMILIES: dict[str, Family] = {
    **{class_name: _contraction_family(class_name) for class_name in CERTIFIED_CLASSES},
    **{kind: _rate_family(kind, label) for kind, label in RATE_LABELS.items()},
}
"""Every file of certificates, by its stem."""
