"""Planned barriers of two workers and staleness with a cap: by hand, outside their domains, with a broken model."""

import math
from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import (
    shortest_duration,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import (
    elastic_barriers,
)


@pytest.mark.parametrize(("slow", "ahead", "expected"), [(1, 1, Fraction(1, 2)), (Fraction(3, 2), 2, Fraction(1, 2))])
def test_two_workers_wait_as_computed_by_hand(slow: Fraction, ahead: int, expected: Fraction) -> None:
    numbers = {"shortest_duration": 1, "longest_duration": slow, "look_ahead": ahead}
    assert STATEMENTS["zipline_two_workers"].fraction(**numbers) == expected


def test_the_wait_of_two_workers_falls_like_one_over_the_look_ahead() -> None:
    statement = STATEMENTS["zipline_two_workers"]
    waits = [
        statement.fraction(shortest_duration=1, longest_duration=1, look_ahead=ahead) * (ahead + 1)
        for ahead in (1, 10, 1000)
    ]
    assert waits == [1, 1, 1]


def test_a_cap_bounds_the_regret_by_that_of_its_staleness() -> None:
    numbers = {"n": 3, "T": 12, "lipschitz": 1, "radius": 2}
    value = STATEMENTS["dssp_regret"].evaluate(staleness=1, extra_count=2, **numbers)
    assert value == pytest.approx(2 * 2 * math.sqrt(2 * 4 * 3 * 12))


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("zipline_two_workers", {"shortest_duration": 1, "longest_duration": 3, "look_ahead": 2}),
        ("zipline_two_workers", {"shortest_duration": 2, "longest_duration": 1, "look_ahead": 2}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (elastic_barriers, "zipline_sweep", "_smallest", lambda times: min(map(max, times))),
        (elastic_barriers, "zipline_sweep", "_latest_up_to", lambda times, _last: [own[0] for own in times]),
        (elastic_barriers, "zipline_two_workers", "_meets", lambda _bound, ahead: ahead < 3),
        (elastic_barriers, "zipline_two_workers", "shortest_duration", 2 * shortest_duration),
        (elastic_barriers, "dssp_lead", "_may_start", lambda ahead, slack, _extra: ahead <= slack),
        (elastic_barriers, "dssp_lead", "_closest", lambda *_prediction: 0),
        (elastic_barriers, "dssp_lead", "extra_count", sympy.Integer(-1)),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
