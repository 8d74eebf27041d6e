"""Reports and time until a growing group holds all workers: by hand, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import growth
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import growing_groups


@pytest.mark.parametrize(
    ("workers", "versions", "reports", "time"),
    # ⌊4/K⌋ is 4, 2 and 1.
    [(1, 7, 0, 0), (2, 5, 5, 3), (4, 4, 24, 1 + 2 + 4), (4, 5, 30, 2 + 3 + 5)],
)
def test_groups_grow_as_computed_by_hand(workers: int, versions: int, reports: int, time: int) -> None:
    assert STATEMENTS["switch_reports"].fraction(n=workers, growth=versions) == reports
    stated = STATEMENTS["switch_time"].fraction(n=workers, growth=versions, longest_duration=Fraction(1, 2))
    assert stated == Fraction(time, 2)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (growing_groups, "switch_reports", "growth", 2 * growth),
        (growing_groups, "switch_time", "_windows", lambda updates, in_one: sympy.floor(updates / in_one) + 1),
        (growing_groups, "switch_time", "_all_sizes", lambda: growth),
        (growing_groups, "switch_time", "_rounds_of_equal", lambda _workers, versions: versions),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
