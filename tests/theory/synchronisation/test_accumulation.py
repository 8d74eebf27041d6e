"""The time of updates that wait for examples: by hand, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest

from sparsync.theory.language.symbols import T, target_batch, total_rate
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import accumulation


def test_a_slow_worker_costs_what_it_does_not_do() -> None:
    """Rates 1, 1, 1 and 1/10, batches of 1, a target of 100: equal shares take 250 for each update."""
    numbers = {"n": 4, "target_batch": 100, "largest_batch": 1, "total_rate": Fraction(31, 10)}
    assert STATEMENTS["accumulation_time"].fraction(**numbers, T=1) == Fraction(1040, 31)
    assert STATEMENTS["accumulation_time"].fraction(**numbers, T=10) == Fraction(10130, 31)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (accumulation, "accumulation_time", "_least_before", lambda time: time),
        (accumulation, "accumulation_time", "_most_examples", lambda: T * target_batch),
        (accumulation, "accumulation_time", "_of_all", lambda: total_rate * accumulation._TIME),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
