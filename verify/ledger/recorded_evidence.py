"""Which evidence of an earlier run still stands? What the same code found with the same libraries, and nothing else.

All evidence is deterministic: repeated on the same sources it says the same again. Outcomes are read from the ledger's
own file where its digest is that of the sources at hand. Formal proofs are not, since their sources are not in the
digest; and the stored certificates, which lie in files of their own, are checked in every run. Ours.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from sparsync.verify.tools.outcome import Grade, Outcome, Profile

SOURCE_PACKAGES = ("sparsync.theory", "sparsync.verify", "sparsync.kernels")
"""Evidence depends on no other code of ours."""
LIBRARIES = (
    "sympy",
    "mpmath",
    "gmpy2",
    "numpy",
    "scipy",
    "torch",
    "hypothesis",
    "z3-solver",
    "cvc5",
    "python-flint",
    "cvxpy",
    "clarabel",
    "highspy",
    "scs",
)
"""Distributions whose version can change an outcome."""

Kills = Mapping[str, tuple[Grade, ...]]
"""The grades that each mutant lost, by its name."""


@dataclass(frozen=True)
class Record:
    """What a run without failures found and need not find again.

    Args:
        outcomes: by label, for every grade but `formal`.
        kills: of every mutant.
        provenance: of that run.
    """

    outcomes: Mapping[str, Mapping[Grade, Outcome]]
    kills: Kills
    provenance: Mapping[str, Any]


def evidence_digest(profile: Profile) -> str:
    """SHA-256, in hexadecimal, of everything that an outcome depends on: sources, versions, size of the run."""
    digest = hashlib.sha256()
    for name, content in (*_sources(), *_environment(profile)):
        digest.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(content).digest())
    return digest.hexdigest()


def recorded(path: Path, digest: str) -> Record | None:
    """The record in a ledger's file; None if there is no file, it lists failures, or other sources wrote it.

    Raises:
        ValueError: the file is not one that a ledger wrote.
    """
    if not path.exists():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = data["evidence_sha256"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} was not written by the ledger, and would be replaced: name another file") from error
    if found != digest or data["failures"]:
        return None
    return Record(
        outcomes={row["label"]: _outcomes(row) for row in data["statements"]},
        kills={mutant["name"]: tuple(mutant["killed_by"]) for mutant in data["mutants"]["mutants"]},
        provenance=data["provenance"],
    )


def _outcomes(row: Mapping[str, Any]) -> dict[Grade, Outcome]:
    evidence = cast("Mapping[Grade, Mapping[str, object]]", row["evidence"])
    return {
        grade: Outcome(earned=grade in row["grades"], detail=detail)
        for grade, detail in evidence.items()
        if grade != "formal"
    }


def _sources() -> list[tuple[str, bytes]]:
    folders = [(name, Path(str(import_module(name).__file__)).parent) for name in SOURCE_PACKAGES]
    return [
        (f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        for name, folder in folders
        for path in sorted(folder.rglob("*.py"))
    ]


def _environment(profile: Profile) -> list[tuple[str, bytes]]:
    versions = {name: version(name) for name in LIBRARIES}
    facts = {"python": sys.version_info[:2], "libraries": versions, "profile": asdict(profile)}
    return [("environment", json.dumps(facts, sort_keys=True).encode())]
