"""Values, domains and derivations of the statements on supersteps, epochs of mixing, grids, coherence and tails."""

import math
from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import L, T, eta, lipschitz, look_ahead, misread_cap, n, tau
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import coherent_descent, grid_rates, mixing_epochs, regret_tails, superstep_regret

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
    ("workers", "weight", "expected"),
    [(2, Fraction(1, 2), 0), (4, Fraction(1, 2), Fraction(3, 4)), (10, Fraction(1, 3), 1 - Fraction(32, 900))],
)
def test_epochs_contract_as_computed_by_hand(workers: int, weight: Fraction, expected: Fraction) -> None:
    assert STATEMENTS["epoch_disagreement"].fraction(n=workers, least_weight=weight) == expected


def test_the_golden_ratio_is_between_one_gradient_and_two() -> None:
    factor = STATEMENTS["grid_mean_disagreement"].evaluate(step_size=1, mean_spread=1)
    assert factor == pytest.approx((3 + math.sqrt(5)) / 2)
    assert 1 < factor < STATEMENTS["grid_disagreement"].evaluate(step_size=1, gradient_spread=1)


def test_small_groups_cost_a_term_of_second_order() -> None:
    numbers = {"n": 4, "T": 10, "smoothness": 1, "gap": 0, "variance": 4, "dissimilarity": 0}
    rates = [STATEMENTS["ds_sync_rate"].evaluate(step_size=step, **numbers) - step for step in (1e-3, 1e-4)]
    assert rates[0] / rates[1] == pytest.approx(100, rel=0.01)


def test_one_update_on_a_parabola_attains_the_rate_of_coherent_gradients() -> None:
    # f = x²/2 at x = 3: ‖∇f‖² = 9.
    numbers = {"T": 1, "delay": 0, "coherence": 1, "variance": 0, "smoothness": 1}
    assert STATEMENTS["coherence_rate"].fraction(gap=Fraction(9, 2), **numbers) == 9


def test_the_probability_of_a_large_regret_by_hand() -> None:
    value = STATEMENTS["regret_tail"].exact(
        T=2, regret_excess=3, step_size=Fraction(1, 2), lipschitz=2, misread_cap=3, misread_mean=1
    )
    assert value == sympy.exp(-1)


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("elastic_lead", {"monitoring_count": 0, "look_ahead": 1, "shortest_duration": 2, "longest_duration": 1}),
        (
            "elastic_regret",
            {"monitoring_count": 0, "look_ahead": 1, **TIMES, "n": 1, "T": 1, "lipschitz": 1, "radius": 1},
        ),
        ("arrival_regret", {"n": 3, "T": 2, "lipschitz": 1, "radius": 1}),
        ("epoch_disagreement", {"n": 2, "least_weight": Fraction(2, 3)}),
        ("epoch_disagreement", {"n": 1, "least_weight": Fraction(1, 2)}),
        (
            "ds_sync_rate",
            {"n": 1, "T": 1, "step_size": 1, "smoothness": 0.62, "gap": 1, "variance": 0, "dissimilarity": 0},
        ),
        ("coherence_rate", {"T": 1, "delay": 0, "coherence": 2, "variance": 0, "smoothness": 1, "gap": 1}),
        (
            "regret_tail",
            {"T": 1, "regret_excess": 1, "step_size": 1, "lipschitz": 1, "misread_cap": 1, "misread_mean": 2},
        ),
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
        (mixing_epochs, "epoch_disagreement", "_pairs_across", lambda: n),
        (mixing_epochs, "epoch_disagreement", "_averaging", lambda workers, _link: sympy.eye(workers)),
        (mixing_epochs, "epoch_disagreement", "_taken_per_gap", lambda: sympy.Integer(1)),
        (grid_rates, "grid_mean_disagreement", "GOLDEN", sympy.Rational(8, 5)),
        (grid_rates, "grid_mean_disagreement", "_LATER", grid_rates._EARLIER),
        (grid_rates, "grid_mean_disagreement", "_projections", lambda: ({"W": 1}, {"V": 1}, {"I": 1}, {"J": 1})),
        (grid_rates, "ds_sync_rate", "_level", lambda: eta),
        (grid_rates, "ds_sync_rate", "L", 2 * L),
        (coherent_descent, "coherence_rate", "_weight", lambda number: 1 / sympy.sqrt(number)),
        (coherent_descent, "coherence_rate", "_uses", lambda: tau),
        (coherent_descent, "coherence_rate", "FOLLOWS_FROM", 6),
        (regret_tails, "regret_tail", "_best_slope", lambda: 1 / misread_cap),
        (regret_tails, "regret_tail", "_square", lambda: sympy.Integer(0)),
        (regret_tails, "regret_tail", "_threshold", lambda: T * lipschitz),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
