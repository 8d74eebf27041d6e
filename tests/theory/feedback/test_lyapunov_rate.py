"""The rate of one worker with the best Lyapunov function: by hand, what it improves, which errors it shows."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy

from sparsync.theory.feedback import lyapunov_rate
from sparsync.theory.language.symbols import (
    L,
    T,
    delta,
    dissimilarity,
    eta,
    gap,
    n,
    residual_weight,
    sigma_squared,
    variance,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback import lyapunov_rate as lyapunov_checks
from sparsync.verify.feedback.runs import simulations
from sparsync.verify.feedback.runs.adversarial_runs import SaturatedRun
from sparsync.verify.ledger.mutation import killing_grades, wrong_bound
from sparsync.verify.tools.outcome import Grade
from sparsync.verify.tools.smt import z3_status
from tests.support.slow_cases import slow_except

LABEL, OLDER = "nonconvex_rate_lyapunov", "nonconvex_rate_minkowski"
RATE = STATEMENTS[LABEL]
# 1 − a² for a = 1/2.
HALF = 0.75
ONE = Fraction(1)
RUN = {"smoothness": 1, "second_moment": 1, "T": 100}
COST = eta * L * (1 - delta) / delta


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        # h = 1/5, F = 1/10, N = 1/5, c = 1/15.
        (
            {"delta": HALF, "step_size": 0.1, "smoothness": 2, "gap": 1, "T": 100, "second_moment": 1},
            (2.9 + math.sqrt(0.61)) / 13,
        ),
        ({"delta": 1, "step_size": 0.1, "smoothness": 2, "gap": 1, "T": 100, "second_moment": 1}, 0.2),
        # c = 1/8: N/(2(1 − 1/2)) = N = 3/8.
        ({"delta": HALF, "step_size": 0.375, "gap": 0, **RUN}, 0.375),
        # Without noise F/(1 − 2c) = 3/8 / (3/4).
        ({"delta": HALF, "step_size": 0.375, "gap": 9 / 64, **RUN, "second_moment": 0, "T": 1}, 0.5),
    ],
)
def test_the_bound_equals_values_computed_by_hand(numbers: dict[str, float], expected: float) -> None:
    assert RATE.evaluate(**numbers) == pytest.approx(expected, rel=1e-14, abs=0)


def test_the_step_at_which_the_rate_ends_is_outside_the_domain() -> None:
    # δ = 1/2: 2ηL(1 − δ) < δ is ηL < 1/2.
    assert RATE.evaluate(delta=0.5, step_size=0.499, gap=0, **RUN) > 1
    with pytest.raises(ValueError, match="violated"):
        RATE.evaluate(delta=0.5, step_size=0.5, gap=0, **RUN)


@pytest.mark.parametrize("root", [0.0625, 0.5, 0.9375, 0.9990234375])
@pytest.mark.parametrize("share", [0.001, 0.25, 0.75])
@pytest.mark.parametrize("start", [0.0, 0.01])
def test_it_is_below_the_older_bound_where_that_says_anything(root: float, share: float, start: float) -> None:
    step = share * 2 * (1 - root) / (1 + root)
    numbers = {"delta": 1 - root**2, "step_size": step, "gap": start * 100 * step, **RUN}
    older = STATEMENTS[OLDER].evaluate(**numbers)
    assert older < 1
    assert RATE.evaluate(**numbers) < older


def test_they_are_equal_where_the_older_bound_is_the_second_moment_and_not_beyond() -> None:
    # a = 1/2, L = 1: the largest step is 2/3, and σ² = 1.
    at_largest, beyond = ({"delta": HALF, "step_size": step, "gap": 0, **RUN} for step in (Fraction(2, 3), 0.7))
    assert RATE.fraction(**at_largest) == STATEMENTS[OLDER].fraction(**at_largest) == 1
    assert RATE.evaluate(**beyond) > STATEMENTS[OLDER].evaluate(**beyond) > 1


def test_a_thousandfold_compression_gains_a_factor_of_five_hundred() -> None:
    root = math.sqrt(0.999)
    numbers = {"delta": 0.001, "step_size": 0.25 * 2 * (1 - root) / (1 + root), "gap": 0, **RUN}
    assert 500 < STATEMENTS[OLDER].evaluate(**numbers) / RATE.evaluate(**numbers) < 501


@pytest.mark.parametrize("root", [Fraction(0), Fraction(1, 2), Fraction(7, 8)])
def test_it_is_attained_for_weak_and_strong_compression(root: Fraction) -> None:
    run = SaturatedRun(root=root, step=ONE, slope=ONE, cycle_count=10**8)
    # The residual, rounded down to a grid of 1/256, is short by 1/(256(1 − a)): to first order 1/(128δ) of the bound.
    assert 0 <= lyapunov_checks.lyapunov_margin(run) < 1 / (100 * (1 - root**2))


@pytest.mark.parametrize("weight", [0.25, 1.0, 4.0])
def test_every_weight_gives_less_than_the_rate_of_workers_and_no_less_than_the_bound(weight: float) -> None:
    values = {delta: HALF, eta: 0.05, L: 1, T: 100, gap: 1, sigma_squared: 1, residual_weight: weight}
    weighted = lyapunov_rate.WEIGHTED_RATE.subs(values)
    workers = STATEMENTS["descent_of_workers"].bound.subs({**values, n: 1, dissimilarity: 0, variance: 1})
    least = RATE.evaluate(delta=HALF, step_size=0.05, gap=1, **RUN)
    assert least <= weighted < workers


def _other_sign(bound: sympy.Expr) -> sympy.Expr:
    return bound * (1 - 2 * COST) / (1 + 2 * COST)


ERRORS: dict[str, Callable[[sympy.Expr], sympy.Expr]] = {
    "half of (1 − δ)/δ": lambda bound: bound.subs(delta, 2 * delta / (1 + delta)),
    "half of σ²": lambda bound: bound.subs(sigma_squared, sigma_squared / 2),
    "half of the start": lambda bound: bound.subs(gap, gap / 2),
    "1 + 2c for 1 − 2c": _other_sign,
}


@pytest.mark.parametrize("change", slow_except({"half of the start"}, ERRORS))
def test_an_error_in_the_bound_costs_every_grade(change: str) -> None:
    grades: tuple[Grade, ...] = ("symbolic", "smt", "numeric", "property")
    assert killing_grades(wrong_bound(LABEL, change, ERRORS[change], *grades)) == grades


@pytest.mark.parametrize("left_out", ["M <= A + N/2 + R", "P*t <= (1 - t)*(N*h + 2*R*h)", "R**2 <= M*P"])
def test_the_solvers_proof_needs_each_of_its_inequalities(left_out: str) -> None:
    (query,) = lyapunov_checks.lyapunov_queries()
    fewer = tuple(premise for premise in query.premises if str(premise) != left_out)
    assert len(fewer) == len(query.premises) - 1
    assert z3_status(query.premises, query.conclusion) == "unsat"
    assert z3_status(fewer, query.conclusion) == "sat"


def test_a_bound_with_two_roots_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = sympy.Le(RATE.relation.lhs, RATE.bound + sympy.sqrt(L), evaluate=False)
    monkeypatch.setitem(STATEMENTS, LABEL, replace(RATE, relation=wrong))
    with pytest.raises(ValueError, match="expected one square root"):
        lyapunov_checks.lyapunov_queries()


def test_the_resting_run_comes_within_a_fifteenth_of_the_bound_and_top_k_does_not() -> None:
    assert Fraction(14, 15) < lyapunov_checks.resting_share() <= 1
    assert max(simulations.top_k_shares(lyapunov_checks.LABEL, worker_count=1)) < 0.1
