"""What evidence is there for selections in consensus ADMM? Single steps and runs with Top-1 of two entries, exactly.

The damping stated is the largest for which a weight b of the errors exists: two inequalities, which are asked at it
and a little beyond it. Runs with estimates in exact fractions show L + bE fall. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import batch_curvature, delta, n, penalty
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.learning.consensus import (
    ZERO,
    BatchOf,
    State,
    Vector,
    admitted_curvature,
    best_consensus,
    consistent,
    dot,
    lagrangian,
    mean_proposal_of,
    plus,
    scaled,
    twins,
    with_consensus,
)
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

ROOTS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10))
"""q: what a selection keeps back of the length."""
TOP_ONE_ROOT = Fraction(3, 4)
"""Above √(1/2), what the larger of two entries leaves at most."""
BEYOND = Fraction(65, 64)


def share(count: int, rho: Fraction) -> Fraction:
    """θ."""
    return rho * count / (2 + rho * count)


def damped(state: State, error: Vector, rho: Fraction, gamma: Fraction) -> Vector:
    """z + γ(θ(ū − ē) − z)."""
    aim = scaled(plus(mean_proposal_of(state, rho), error, -1), share(len(state.models), rho))
    return plus(state.consensus, plus(aim, state.consensus, -1), gamma)


def worst_consensus(state: State, error: Vector, rho: Fraction, gamma: Fraction) -> Vector:
    """The z for which the bound is attained."""
    away = scaled(error, -(1 - gamma) / (2 - gamma) * share(len(state.models), rho))
    return plus(best_consensus(state, rho), away)


def step_margin(batches: Sequence[BatchOf], state: State, error: Vector, rho: Fraction, gamma: Fraction) -> Fraction:
    """The bound minus the change of L by a step of z; minus how far from it the worst z is."""
    stated = STATEMENTS["admm_compressed_step"].fraction(
        penalty=rho, n=len(batches), damping=gamma, error_energy=dot(error, error)
    )
    rises = []
    for consensus in (state.consensus, worst_consensus(state, error, rho, gamma)):
        before = State(state.models, consensus, state.multipliers)
        after = State(state.models, damped(before, error, rho, gamma), state.multipliers)
        rises.append(lagrangian(batches, after, rho) - lagrangian(batches, before, rho))
    return min(stated - rises[0], -abs(stated - rises[1]))


def has_weight(gamma: Fraction, root: Fraction, theta: Fraction) -> bool:
    """Whether a weight b/ρ is large enough for the errors, and small enough for the models."""
    least = gamma / (2 - gamma) * theta / (2 * (1 - root))
    most = Fraction(str(STATEMENTS["admm_compressed_damping"].given("largest_step")))
    return 0 < gamma <= most and least <= (1 - root) / (2 * root**2)


def stated_damping(root: Fraction, count: int, rho: Fraction) -> Fraction:
    """At the δ for which the statement assumes that q² is kept back: at 1 − q²."""
    statement = STATEMENTS["admm_compressed_damping"]
    (found,) = sympy.solve(statement.given("kept_back") - sympy.Rational(str(root**2)), delta)
    return statement.fraction(delta=Fraction(str(found)), n=count, penalty=rho)


def least_penalty(batches: Sequence[BatchOf]) -> Fraction:
    """The least ρ that the statement assumes, for the φ with which it just admits the batches."""
    assumed = STATEMENTS["admm_compressed_damping"].given("penalty")
    curvature = admitted_curvature("admm_compressed_damping", batches)
    return Fraction(str(assumed.subs(batch_curvature, sympy.Rational(str(curvature)))))


def run_falls(batches: Sequence[BatchOf], state: State, rho: Fraction, step_count: int) -> bool:
    """Whether L + bE falls at every step of a run with Top-1 and the damping stated."""
    count, root = len(batches), TOP_ONE_ROOT
    gamma = min(Fraction(1), stated_damping(root, count, rho))
    weight = rho * gamma * share(count, rho) / (2 * (2 - gamma) * (1 - root))
    estimates = [ZERO] * count
    values = []
    for _ in range(step_count):
        estimates, errors = _sent(state, estimates, rho)
        energy = sum((dot(error, error) for error in errors), Fraction(0))
        values.append(lagrangian(batches, state, rho) + weight * energy)
        mean = scaled(_total(errors), Fraction(1, count))
        state = with_consensus(batches, state, damped(state, mean, rho, gamma), rho)
    return all(later <= earlier for earlier, later in pairwise(values))


def _sent(state: State, estimates: Sequence[Vector], rho: Fraction) -> tuple[list[Vector], list[Vector]]:
    """What all know after the larger entry of each difference was sent, and what they lack."""
    known, errors = [], []
    for model, multiplier, estimate in zip(state.models, state.multipliers, estimates, strict=True):
        lack = plus(plus(model, multiplier, 1 / rho), estimate, -1)
        rest = (Fraction(0), lack[1]) if abs(lack[0]) >= abs(lack[1]) else (lack[0], Fraction(0))
        known.append(plus(estimate, plus(lack, rest, -1)))
        errors.append(rest)
    return known, errors


def _total(vectors: Sequence[Vector]) -> Vector:
    total = ZERO
    for vector in vectors:
        total = plus(total, vector)
    return total


def listed_batches() -> list[BatchOf]:
    """Two, whose eigenvectors differ."""
    return [
        [((Fraction(1), Fraction(1, 2)), Fraction(2))],
        [((Fraction(-1), Fraction(1)), Fraction(1)), ((Fraction(0), Fraction(1)), Fraction(-1))],
    ]


def step_check(_profile: Profile) -> Outcome:
    """`rational`: of listed states no step of z lets L rise further, and the worst one does so."""
    batches = listed_batches()
    state = consistent(batches, [ZERO, (Fraction(1), Fraction(-2))], (Fraction(1), Fraction(1)))
    errors = [(Fraction(1), Fraction(0)), (Fraction(-2), Fraction(1, 3))]
    gammas = [Fraction(part, 4) for part in range(1, 8)]
    margins = [
        step_margin(batches, state, error, rho, gamma)
        for error, rho, gamma in product(errors, (Fraction(1), Fraction(9)), gammas)
    ]
    return Outcome(earned=min(margins) >= 0, detail={"cases_count": len(margins)})


def damping_check(_profile: Profile) -> Outcome:
    """`rational`: a weight exists at the damping stated and none beyond it; and a run with it falls at every step."""
    wrong = []
    for root, count, rho in product(ROOTS, (1, 2, 10), (Fraction(1, 2), Fraction(3), Fraction(50))):
        theta, found = share(count, rho), stated_damping(root, count, rho)
        if not has_weight(found, root, theta) or has_weight(found * BEYOND, root, theta):
            wrong.append(str((root, count, rho)))
    batches = listed_batches()
    state = consistent(batches, [ZERO, (Fraction(1), Fraction(-2))], (Fraction(1), Fraction(1)))
    # Of opposite batches one entry is everything, so that nothing but too small a penalty lets L rise.
    opposite, start = twins(Fraction(1), Fraction(1), Fraction(3))
    falls = run_falls(batches, state, least_penalty(batches), 5)
    falls = falls and run_falls(opposite, start, least_penalty(opposite), 5)
    return Outcome(earned=not wrong and falls, detail={"wrong_cases": wrong[:3], "run_falls": falls})


def damping_queries() -> list[Query]:
    """That a weight exists iff γ is at most what is stated, for any q and ρn, where that is below 1."""
    positive = sympy.symbols("q reach", positive=True)
    stated = STATEMENTS["admm_compressed_damping"].bound.replace(sympy.Min, lambda *parts: _below_one(parts))
    stated = stated.subs(delta, 1 - positive[0] ** 2).subs({n: 1, penalty: positive[1]})
    # Of symbols that are known to be positive, sympy would decide the premises, and the solvers never hear of them.
    root, reach, gamma = sympy.symbols("q reach gamma", real=True)
    plain = dict(zip(positive, (root, reach), strict=True))
    top, bottom = (part.subs(plain) for part in sympy.fraction(sympy.together(sympy.simplify(stated))))
    # γ/(2 − γ)·θ/(2(1 − q)) ≤ (1 − q)/(2q²), times what is positive.
    need, room = gamma * reach * root**2, (2 - gamma) * (1 - root) ** 2 * (2 + reach)
    within = (sympy.Gt(root, 0), sympy.Lt(root, 1), sympy.Gt(reach, 0), sympy.Gt(gamma, 0), sympy.Le(gamma, 1))
    positive_bottom = sympy.Gt(bottom, 0)
    below, above = sympy.Le(gamma * bottom, top), sympy.Gt(gamma * bottom, top)
    return [
        Query("a weight", (*within, positive_bottom, below), sympy.Le(need, room), sympy.Le(2 * need, room)),
        Query("none beyond", (*within, positive_bottom, above), sympy.Gt(need, room), sympy.Gt(need, 2 * room)),
    ]


def _below_one(parts: tuple[sympy.Expr, ...]) -> sympy.Expr:
    (found,) = (part for part in parts if part.free_symbols)
    return found


def step_cases() -> Members:
    """(batches, state, error, penalty, damping)."""
    numbers = st.integers(-4, 4).map(lambda halves: Fraction(halves, 2))
    vectors = st.tuples(numbers, numbers)
    rho = st.integers(1, 40).map(lambda quarters: Fraction(quarters, 4))
    gamma = st.integers(1, 15).map(lambda eighths: Fraction(eighths, 8))
    batches = listed_batches()
    drawn = st.tuples(vectors, vectors, vectors, vectors, rho, gamma)
    return drawn.map(lambda parts: (batches, consistent(batches, parts[:2], parts[2]), parts[3], parts[4], parts[5]))


CHECKS: dict[str, dict[Grade, Check]] = {
    "admm_compressed_step": {"rational": step_check, "property": property_check(step_cases, step_margin)},
    "admm_compressed_damping": {"smt": smt_check(damping_queries), "rational": damping_check},
}
"""Every check of these statements, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "admm_compressed_step": (Edge("damping < 2", {"damping": 2, "error_energy": 1, "n": 1, "penalty": 1}),),
    "admm_compressed_damping": (Edge("delta < 1", {"delta": Fraction(33, 32), "n": 12, "penalty": Fraction(33, 16)}),),
}
"""Beyond the conditions."""
