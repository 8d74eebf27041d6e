import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sympy

from sparsync.theory.language.symbols import d, k, ratio
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.certificates import CERTIFIED_CLASSES
from sparsync.verify.contraction.ladder import certified_cases
from sparsync.verify.ledger import certificate_store
from sparsync.verify.ledger.certificate_store import (
    FAMILIES,
    RATE_LABELS,
    STORED_DIMENSIONS,
    Record,
    Stored,
    rational_outcomes,
    stored_certificates,
)
from sparsync.verify.tools.outcome import PROFILES, Profile
from tests.support.paths import ROOT

TRACKED = ROOT / "paper" / "data" / "certificates"
TINY = Profile(dimensions=(2, 3), examples_count=20)


CLASSES = {name: FAMILIES[name] for name in ("top_k", "square_convex", "square_convex_end_point", "bell_shaped")}
"""A few families of certificates, so that a test takes no longer than it must."""


@pytest.fixture(autouse=True)
def _few_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate_store, "FAMILIES", CLASSES)


def by_name(stored: tuple[Stored, ...]) -> dict[str, Stored]:
    return {file.name: file for file in stored}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stored_certificates(tmp_path, TINY, fresh=False)
    return tmp_path


@pytest.fixture
def _unsolvable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("a programme was solved")

    certified_cases.cache_clear()
    monkeypatch.setattr("sparsync.verify.contraction.ladder.worst_cases", refuse)


def edit(folder: Path, name: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    path = folder / f"{name}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data["certificates"])
    path.write_text(json.dumps(data), encoding="utf-8")


def test_missing_files_are_derived_and_written(tmp_path: Path) -> None:
    stored = stored_certificates(tmp_path / "new", TINY, fresh=False)
    assert {file.name for file in stored} == {path.stem for path in (tmp_path / "new").iterdir()} == set(CLASSES)
    assert {(file.derived, file.fault, file.complete) for file in stored} == {("it is missing", "", True)}


@pytest.mark.usefixtures("_unsolvable")
def test_stored_certificates_are_checked_without_solving() -> None:
    stored = stored_certificates(TRACKED, TINY, fresh=False)
    assert {(file.derived, file.fault, file.complete) for file in stored} == {("", "", True)}


def test_fresh_certificates_are_derived_although_the_stored_ones_hold(folder: Path) -> None:
    assert {file.derived for file in stored_certificates(folder, TINY, fresh=True)} == {"it was asked for"}


def test_a_refuted_file_is_derived_again_and_named_with_its_fault(folder: Path) -> None:
    edit(folder, "top_k", lambda records: records[1].update(bound="1/7"))
    stored = by_name(stored_certificates(folder, TINY, fresh=False))
    assert "top_k.json: certificate 2 (contraction): it is false that" in stored["top_k"].derived
    assert [name for name, file in stored.items() if file.derived] == ["top_k"]
    assert not stored["top_k"].fault
    assert not by_name(stored_certificates(folder, TINY, fresh=False))["top_k"].derived


def test_an_unreadable_file_is_derived_again(folder: Path) -> None:
    (folder / "bell_shaped.json").write_text("{", encoding="utf-8")
    file = by_name(stored_certificates(folder, TINY, fresh=False))["bell_shaped"]
    assert (bool(file.derived), file.fault) == (True, "")


@pytest.mark.parametrize("number", [0, -1])
def test_an_incomplete_file_is_derived_again(folder: Path, number: int) -> None:
    edit(folder, "square_convex", lambda records: records.pop(number))
    file = by_name(stored_certificates(folder, TINY, fresh=False))["square_convex"]
    assert file.derived == "it lacks cases of the profile"
    assert len(file.records) == 5


def test_a_file_with_the_certificates_of_another_class_is_derived_again(folder: Path) -> None:
    other = (folder / "square_convex.json").read_text(encoding="utf-8")
    (folder / "bell_shaped.json").write_text(other, encoding="utf-8")
    file = by_name(stored_certificates(folder, TINY, fresh=False))["bell_shaped"]
    assert file.derived == "it lacks cases of the profile"
    assert {record["class"] for record in file.records} == {"bell_shaped"}


def test_a_derivation_that_is_wrong_is_a_fault(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(profile: Profile) -> list[Record]:
        return [{**record, "bound": "1/7"} for record in FAMILIES["top_k"].derive(profile)]

    wrong_family = replace(FAMILIES["top_k"], derive=wrong)
    monkeypatch.setattr(certificate_store, "FAMILIES", {**CLASSES, "top_k": wrong_family})
    file = by_name(stored_certificates(folder, TINY, fresh=True))["top_k"]
    assert "top_k.json: certificate 1 (contraction): it is false that" in file.fault
    assert (file.records, file.complete) == ((), False)


def test_large_dimensions_are_not_stored(folder: Path) -> None:
    stored = stored_certificates(folder, Profile(dimensions=(2, 39), examples_count=20), fresh=False)
    assert {record["dimension"] for file in stored for record in file.records} == {2}
    assert not any(file.complete for file in stored)
    assert rational_outcomes(stored) == {}


def test_complete_files_earn_the_rational_grade(folder: Path) -> None:
    outcomes = rational_outcomes(stored_certificates(folder, TINY, fresh=False))
    assert all(outcome.earned for outcome in outcomes.values())
    assert outcomes["square_convex"].detail == {"sharp_certificates_count": 5, "end_point_certificates_count": 5}


def test_stored_certificates_do_not_prove_another_bound(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = sympy.Le(ratio, 1 - k / (d + 1), evaluate=False)
    monkeypatch.setitem(STATEMENTS, "top_k", replace(STATEMENTS["top_k"], relation=wrong))
    outcomes = rational_outcomes(stored_certificates(folder, TINY, fresh=False))
    assert [label for label, outcome in outcomes.items() if not outcome.earned] == ["top_k"]


def test_every_family_proves_a_statement() -> None:
    assert {family.label for family in FAMILIES.values()} <= set(STATEMENTS)


@pytest.mark.parametrize("class_name", CERTIFIED_CLASSES)
def test_over_two_hundred_certificates_of_each_class_are_tracked(class_name: str) -> None:
    records = json.loads((TRACKED / f"{class_name}.json").read_text(encoding="utf-8"))["certificates"]
    assert len({(record["dimension"], record["count"]) for record in records}) > 200
    assert {record["dimension"] for record in records} <= set(STORED_DIMENSIONS)


def test_the_tracked_files_serve_the_quick_profile_and_are_small() -> None:
    paths = {path.stem: path for path in TRACKED.iterdir()}
    records = {name: json.loads(path.read_text(encoding="utf-8"))["certificates"] for name, path in paths.items()}
    assert set(records) == set(FAMILIES)
    assert all(FAMILIES[name].serves(records[name], PROFILES["quick"]) for name in records)
    assert sum(path.stat().st_size for path in paths.values()) < 1_000_000


@pytest.mark.parametrize("kind", RATE_LABELS)
def test_rates_are_stored_for_the_same_settings_as_they_are_derived(kind: str) -> None:
    records = FAMILIES[kind].derive(TINY)
    assert FAMILIES[kind].serves(records, TINY)
    assert not FAMILIES[kind].serves(records[1:], TINY)
    assert not FAMILIES[kind].serves([*records[1:], {**records[0], "mu": "1/7"}], TINY)
