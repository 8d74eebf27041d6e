import json
import sys
from ast import Import, ImportFrom, parse, walk
from collections.abc import Callable
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import pytest

from sparsync.verify.ledger import recorded_evidence
from sparsync.verify.ledger.recorded_evidence import LIBRARIES, SOURCE_PACKAGES, evidence_digest, recorded
from sparsync.verify.tools.outcome import PROFILES

DISPLAY_ONLY = frozenset({"rich"})
"""Third-party packages that compute nothing."""
DIGEST = "f" * 64


def ledger_data() -> dict[str, Any]:
    return {
        "evidence_sha256": DIGEST,
        "failures": [],
        "provenance": {"date_utc": "2020-01-01T00:00:00+00:00", "git_commit": "abc"},
        "statements": [
            {
                "label": "top_k",
                "grades": ["formal", "symbolic", "rational", "property"],
                "evidence": {
                    "formal": {},
                    "symbolic": {"steps_count": 3},
                    "rational": {},
                    "property": {"examples_count": 7},
                },
            }
        ],
        "mutants": {"mutants": [{"name": "top_k_count", "killed_by": ["property"]}]},
    }


def written(folder: Path, data: object) -> Path:
    path = folder / "verify.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_record_holds_every_grade_but_formal(tmp_path: Path) -> None:
    found = recorded(written(tmp_path, ledger_data()), DIGEST)
    assert found is not None
    assert set(found.outcomes["top_k"]) == {"symbolic", "rational", "property"}
    assert found.outcomes["top_k"]["property"].earned
    assert found.outcomes["top_k"]["property"].detail == {"examples_count": 7}
    assert found.kills == {"top_k_count": ("property",)}
    assert found.provenance["git_commit"] == "abc"


def of_other_sources(data: dict[str, Any]) -> None:
    data["evidence_sha256"] = "0" * 64


def with_failures(data: dict[str, Any]) -> None:
    data["failures"] = ["top_k: lost the grade property"]


@pytest.mark.parametrize("change", [of_other_sources, with_failures])
def test_a_file_of_other_sources_or_of_a_failed_run_is_no_record(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    data = ledger_data()
    change(data)
    assert recorded(written(tmp_path, data), DIGEST) is None


def test_a_file_without_a_digest_is_not_the_ledgers(tmp_path: Path) -> None:
    data = ledger_data()
    del data["evidence_sha256"]
    with pytest.raises(ValueError, match=r"verify\.json was not written by the ledger"):
        recorded(written(tmp_path, data), DIGEST)


def test_without_a_file_there_is_no_record(tmp_path: Path) -> None:
    assert recorded(tmp_path / "verify.json", DIGEST) is None


def test_the_digest_is_the_same_twice_and_differs_between_profiles() -> None:
    digests = [evidence_digest(PROFILES[name]) for name in ("smoke", "smoke", "quick", "full")]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    assert all(len(digest) == 64 for digest in digests)


def test_the_digest_changes_with_any_source(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = recorded_evidence._sources()
    assert {name.partition("/")[0] for name, _ in sources} == set(SOURCE_PACKAGES)
    names = {name for name, _ in sources}
    assert {
        "sparsync.theory/contraction/ladder.py",
        "sparsync.verify/ledger/recorded_evidence.py",
        "sparsync.kernels/reference.py",
    } <= names
    before = evidence_digest(PROFILES["smoke"])
    (name, content), rest = sources[0], sources[1:]
    for changed in ([(name, content + b"\n"), *rest], [(name + "x", content), *rest], rest):
        monkeypatch.setattr(recorded_evidence, "_sources", lambda changed=changed: changed)
        assert evidence_digest(PROFILES["smoke"]) != before


def test_the_digest_changes_with_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    before = evidence_digest(PROFILES["smoke"])

    def other_version(name: str) -> str:
        return version(name) + ("+other" if name == "z3-solver" else "")

    monkeypatch.setattr(recorded_evidence, "version", other_version)
    assert evidence_digest(PROFILES["smoke"]) != before


def test_every_library_that_the_evidence_imports_is_in_the_digest() -> None:
    distributions = packages_distributions()
    imported: set[str] = set()
    for name in SOURCE_PACKAGES:
        folder = Path(str(sys.modules[name].__file__)).parent
        for path in folder.rglob("*.py"):
            for node in walk(parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ImportFrom) and node.module:
                    imported.add(node.module.partition(".")[0])
    foreign = imported - set(sys.stdlib_module_names) - {"sparsync"} - DISPLAY_ONLY
    missing = {name for name in foreign if not set(distributions.get(name, [])) & set(LIBRARIES)}
    assert foreign
    assert not missing
