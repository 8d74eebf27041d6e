import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.delay import stale_regret
from sparsync.theory.delay.staleness import COUNT
from sparsync.theory.language.symbols import eta, n, staleness
from sparsync.theory.statements import STATEMENTS

REGRETS = ["ssp_regret_fixed_step", "ssp_regret_optimised"]
UNIT = {"lipschitz": 1, "radius": 1}


@pytest.mark.parametrize(
    ("workers", "allowed", "expected"), [(1, 0, 0), (1, 5, 0), (2, 0, 1), (2, 1, 3), (3, 0, 3), (3, 1, 9), (4, 2, 30)]
)
def test_updates_misread_in_a_round_equal_hand_computed_values(workers: int, allowed: int, expected: int) -> None:
    assert STATEMENTS["ssp_views"].evaluate(n=workers, staleness=allowed) == expected


def test_one_worker_has_the_classical_regret_whatever_the_staleness() -> None:
    numbers = {"n": 1, "T": 8, "step_size": Fraction(1, 2), "lipschitz": 3, "radius": 5}
    values = [STATEMENTS["ssp_regret_fixed_step"].evaluate(staleness=allowed, **numbers) for allowed in (0, 7)]
    assert values == [50 + 18, 50 + 18]


def test_a_barrier_is_one_worker_whose_losses_are_sums() -> None:
    # Three workers and four rounds: four losses with the constant 3ℓ.
    with_barrier = STATEMENTS["ssp_regret_optimised"].evaluate(n=3, staleness=0, T=12, lipschitz=2, radius=5)
    one_worker = STATEMENTS["ssp_regret_optimised"].evaluate(n=1, staleness=0, T=4, lipschitz=6, radius=5)
    assert with_barrier == pytest.approx(one_worker, rel=1e-15)


@pytest.mark.parametrize(("workers", "allowed", "updates"), [(1, 0, 1), (2, 3, 10), (8, 2, 640)])
def test_no_step_size_has_a_smaller_regret_than_the_best(workers: int, allowed: int, updates: int) -> None:
    numbers = {"n": workers, "staleness": allowed, "T": updates, "lipschitz": 2, "radius": 3}
    best = math.sqrt(2 / ((1 + (2 * allowed + 1) * (workers - 1)) * updates)) * 3 / 2
    values = [
        STATEMENTS["ssp_regret_fixed_step"].evaluate(step_size=best * factor, **numbers) for factor in (0.9, 1, 1.1)
    ]
    assert STATEMENTS["ssp_regret_optimised"].evaluate(**numbers) == pytest.approx(values[1], rel=1e-14)
    assert values[1] < min(values[0], values[2])


@pytest.mark.parametrize("label", REGRETS)
def test_numbers_outside_the_domain_are_refused(label: str) -> None:
    numbers = {"n": 1, "staleness": 0, "T": 1, **UNIT}
    numbers |= {"step_size": 1} if label == "ssp_regret_fixed_step" else {}
    assert STATEMENTS[label].evaluate(**numbers) > 0
    for name, value in {"n": 0, "staleness": -1, "T": 0, "lipschitz": 0, "radius": math.inf}.items():
        with pytest.raises(ValueError, match=label):
            STATEMENTS[label].evaluate(**{**numbers, name: value})


def test_views_need_a_worker() -> None:
    with pytest.raises(ValueError, match=r"ssp_views: n must be .*, got 0"):
        STATEMENTS["ssp_views"].evaluate(n=0, staleness=1)


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("ssp_views", "_oldest", lambda: COUNT - staleness),
        ("ssp_views", "_in_round", lambda _last: n * (n - 1) * staleness),
        ("ssp_regret_fixed_step", "_in_round", lambda last: last),
        ("ssp_regret_fixed_step", "_on_own_coordinates", lambda expression: expression),
        ("ssp_regret_optimised", "_best_step", lambda: sympy.Integer(1)),
        ("ssp_regret_optimised", "_fixed_step_bound", lambda: eta),
        ("ssp_regret_optimised", "_in_round", lambda _last: sympy.S.Zero),
        ("ssp_regret_fixed_step", "_pairs_in_round", lambda: sympy.Integer(1)),
    ],
)
def test_a_broken_formula_leaves_a_claim_unproved(
    label: str, name: str, replacement: Callable[..., sympy.Expr], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = STATEMENTS[label]
    monkeypatch.setattr(stale_regret, name, replacement)
    assert not all(step.holds() for step in right.derivation)
