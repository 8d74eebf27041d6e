import math
from collections.abc import Callable
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.delay import decaying_regret
from sparsync.theory.language.symbols import T, lipschitz, n, radius, step_scale
from sparsync.theory.statements import STATEMENTS

UNIT = {"lipschitz": 1, "radius": 1}


def test_decaying_steps_of_one_worker_by_hand() -> None:
    assert STATEMENTS["ssp_regret"].evaluate(n=1, staleness=0, T=2, lipschitz=3, radius=5) == 60


def test_of_any_scale_one_worker_has_the_classical_regret() -> None:
    numbers = {"n": 1, "staleness": 4, "T": 9, "lipschitz": 2, "radius": 5, "step_scale": Fraction(1, 2)}
    assert STATEMENTS["ssp_regret_decaying"].fraction(**numbers) == 25 * 3 * 2 + Fraction(1, 2) * 4 * 3


@pytest.mark.parametrize(("workers", "expected"), [(1, 0), (2, Fraction(1, 2)), (3, 1), (4, 2), (5, 3)])
def test_the_order_in_a_round_costs_a_constant(workers: int, expected: Fraction) -> None:
    constant = STATEMENTS["ssp_regret_decaying"].bound.subs({T: 0, radius: 0, step_scale: 1, lipschitz: 1})
    assert constant.subs(n, workers) == expected


@pytest.mark.parametrize(("workers", "allowed"), [(1, 0), (4, 3), (64, 64), (10**6, 10**6)])
def test_in_long_runs_the_published_scale_has_less_than_the_published_form(workers: int, allowed: int) -> None:
    pending, updates = (allowed + 1) * workers, 10**40
    numbers = {"n": workers, "staleness": allowed, "T": updates, **UNIT}
    scale = 1 / math.sqrt(2 * pending)
    ratio = STATEMENTS["ssp_regret_decaying"].evaluate(step_scale=scale, **numbers) / math.sqrt(2 * pending * updates)
    assert ratio == pytest.approx(2 - (workers + 2 * allowed) / (2 * pending), rel=1e-9)
    assert ratio < STATEMENTS["ssp_regret"].evaluate(**numbers) / math.sqrt(2 * pending * updates)


@pytest.mark.parametrize(
    ("workers", "allowed", "square"),
    [(1, 0, Fraction(1, 4)), (7, 0, Fraction(1, 4)), (2, 1, Fraction(1, 4)), (10**9, 10**6, Fraction(1, 2))],
)
def test_a_fixed_step_has_a_known_share_of_the_regret_of_decaying_steps(
    workers: int, allowed: int, square: Fraction
) -> None:
    numbers = {"n": workers, "staleness": allowed, "T": 100, **UNIT}
    ratio = STATEMENTS["ssp_regret_optimised"].evaluate(**numbers) / STATEMENTS["ssp_regret"].evaluate(**numbers)
    assert ratio == pytest.approx(math.sqrt(square), rel=1e-6)


@pytest.mark.parametrize("label", ["ssp_regret", "ssp_regret_decaying"])
def test_numbers_outside_the_domain_are_refused(label: str) -> None:
    numbers = {"n": 1, "staleness": 0, "T": 1, **UNIT}
    numbers |= {"step_scale": 1} if label == "ssp_regret_decaying" else {}
    assert STATEMENTS[label].evaluate(**numbers) > 0
    for name, value in {"n": 0, "staleness": -1, "T": 0, "lipschitz": 0, "radius": math.inf}.items():
        with pytest.raises(ValueError, match=label):
            STATEMENTS[label].evaluate(**{**numbers, name: value})


@pytest.mark.parametrize(
    ("label", "name", "replacement"),
    [
        ("ssp_regret", "_terms_ratio", lambda: sympy.Integer(4)),
        ("ssp_regret", "_largest_share", lambda: sympy.Integer(3)),
        ("ssp_regret", "_long_runs", lambda: sympy.Integer(2)),
        ("ssp_regret_decaying", "_place", lambda workers: workers),
        ("ssp_regret_decaying", "_in_all", lambda: sympy.sqrt(T)),
        ("ssp_regret_decaying", "delay_factor", lambda: sympy.Integer(1)),
    ],
)
def test_a_broken_formula_leaves_a_claim_unproved(
    label: str, name: str, replacement: Callable[..., sympy.Expr], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = STATEMENTS[label]
    monkeypatch.setattr(decaying_regret, name, replacement)
    assert not all(step.holds() for step in right.derivation)
