"""The wait at a planned barrier of any number of workers: how it falls, its domain, and a broken model."""

from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import (
    longest_duration,
    n,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import (
    look_ahead,
)


def test_more_workers_need_a_higher_power_of_the_look_ahead() -> None:
    numbers = {"n": 5, "shortest_duration": 1, "longest_duration": 1, "duration_product": 1}
    waits = [STATEMENTS["zipline_waiting"].exact(look_ahead=ahead, **numbers) for ahead in (79, 16 * 80 - 1)]
    assert waits[0] == 2 * waits[1]


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        (
            "zipline_waiting",
            {"n": 3, "shortest_duration": 1, "longest_duration": 1, "look_ahead": 1, "duration_product": 2},
        ),
        (
            "zipline_waiting",
            {"n": 9, "shortest_duration": 1, "longest_duration": 1, "look_ahead": 9, "duration_product": 1},
        ),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (look_ahead, "zipline_waiting", "_volume", lambda: n + 1),
        (look_ahead, "zipline_waiting", "SLOW_COUNT", sympy.Integer(7)),
        (look_ahead, "zipline_waiting", "shortest_duration", longest_duration),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
