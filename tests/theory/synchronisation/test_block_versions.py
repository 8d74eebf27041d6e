"""Blocks with versions in place of a barrier: by hand, and with a broken model."""

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest

from sparsync.theory.language.symbols import access_distance
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import block_versions
from sparsync.theory.synchronisation.block_versions import Database


def test_a_version_and_a_lead_by_hand() -> None:
    assert STATEMENTS["database_versions"].fraction(block_value=1, step_size=Fraction(1, 2), gradient=4) == -1
    assert STATEMENTS["database_lead"].fraction(access_distance=3) == 4


def _begins_at_once(state: Database, worker: int) -> bool:
    return state.finished[worker] == state.begun[worker] < state.steps


def _makes_before_it_is_read(state: Database, block: int) -> bool:
    writers = [worker for worker, own in enumerate(state.writes) if block in own]
    return all(state.finished[worker] > state.versions[block] for worker in writers)


@pytest.mark.parametrize(("name", "relaxed"), [("can_begin", _begins_at_once), ("can_make", _makes_before_it_is_read)])
def test_without_a_rule_some_execution_differs(
    name: str, relaxed: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who does not wait for a version reads an old one; if nobody waits for readers, some read a new one."""
    monkeypatch.setattr(Database, name, relaxed)
    assert not all(step.holds() for step in STATEMENTS["database_versions"].derivation)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (block_versions, "database_versions", "_added", lambda state, block, _step: state.values[block]),
        (block_versions, "database_lead", "_over_links", lambda: access_distance),
        (block_versions, "database_lead", "_MORE", block_versions._MORE - 1),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
