"""Leads and regret between planned barriers: by hand, outside their domains, and with a broken model."""

import math
from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import T, look_ahead, n
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import superstep_regret

TIMES = {"shortest_duration": 1, "longest_duration": Fraction(5, 2)}


@pytest.mark.parametrize(("monitored", "ahead", "expected"), [(0, 4, 4), (1, 4, 5), (2, 4, 7), (2, 1, 4)])
def test_leads_in_a_superstep_by_hand(monitored: int, ahead: int, expected: int) -> None:
    lead = STATEMENTS["elastic_lead"].fraction(monitoring_count=monitored, look_ahead=ahead, **TIMES)
    assert lead == expected


def test_a_superstep_costs_what_bounded_staleness_of_its_lead_costs() -> None:
    numbers = {"n": 3, "T": 12, "lipschitz": 1, "radius": 2}
    elastic = STATEMENTS["elastic_regret"].evaluate(monitoring_count=2, look_ahead=4, **TIMES, **numbers)
    assert elastic == STATEMENTS["ssp_regret"].evaluate(staleness=6, **numbers)


def test_one_update_of_each_costs_as_much_as_with_a_barrier() -> None:
    numbers = {"n": 5, "T": 5, "lipschitz": 1, "radius": 1}
    barrier = STATEMENTS["ssp_regret_optimised"].evaluate(staleness=0, **numbers)
    assert STATEMENTS["arrival_regret"].evaluate(**numbers) == barrier == pytest.approx(5 * math.sqrt(2))


def test_neither_staleness_nor_look_ahead_enters_in_the_order_of_arrival() -> None:
    numbers = {"n": 4, "T": 100, "lipschitz": 1, "radius": 1}
    arrival = STATEMENTS["arrival_regret"].evaluate(**numbers)
    assert arrival == pytest.approx(math.sqrt(2 * (7 * 100 - 12)))
    assert arrival < STATEMENTS["ssp_regret_optimised"].evaluate(staleness=1, **numbers)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("elastic_lead", {"monitoring_count": 0, "look_ahead": 1, "shortest_duration": 2, "longest_duration": 1}),
        (
            "elastic_regret",
            {"monitoring_count": 0, "look_ahead": 1, **TIMES, "n": 1, "T": 1, "lipschitz": 1, "radius": 1},
        ),
        ("arrival_regret", {"n": 4, "T": 2, "lipschitz": 1, "radius": 1}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (superstep_regret, "elastic_lead", "_monitored", lambda: sympy.Integer(3)),
        (superstep_regret, "elastic_lead", "_closest", lambda _fast, _slow: 1),
        (superstep_regret, "elastic_lead", "_PART", sympy.Integer(2)),
        (superstep_regret, "elastic_regret", "_superstep_lead", lambda: look_ahead),
        (superstep_regret, "arrival_regret", "_last_arrivals", lambda order: [len(order)]),
        (superstep_regret, "arrival_regret", "_lacking_in_all", lambda: n * (n - 1) / 2),
        (superstep_regret, "arrival_regret", "_best_step", lambda factor: 1 / sympy.sqrt(factor)),
        (superstep_regret, "arrival_regret", "_arrival_factor", lambda: n * T),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
