"""What evidence is there for the descent of consensus ADMM? Its steps in exact fractions, of listed and drawn batches.

Examples have two features, so that eigenvectors of batches differ; a batch of one example has the curvature φ along it
and none across. Two batches with opposite targets attain what is stated. Ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import batch_curvature
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import substituted
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

Vector = tuple[Fraction, Fraction]
Example = tuple[Vector, Fraction]
"""Features and target; its weight is 1."""
BatchOf = Sequence[Example]
ZERO: Vector = (Fraction(0), Fraction(0))
STEPS = 3
"""Of each run; the digits of a fraction double at each."""
NEAR = (*(Fraction(part, 32) for part in range(25, 41)), Fraction(127, 128), Fraction(129, 128))
"""Penalties over φ: both sides of 1, as near as a 128th."""


@dataclass(frozen=True)
class State:
    """w_i and α_i by batch, and z."""

    models: tuple[Vector, ...]
    consensus: Vector
    multipliers: tuple[Vector, ...]


def dot(first: Vector, second: Vector) -> Fraction:
    """The product of two vectors."""
    return first[0] * second[0] + first[1] * second[1]


def plus(first: Vector, second: Vector, factor: Fraction | int = 1) -> Vector:
    """first + factor · second."""
    return first[0] + factor * second[0], first[1] + factor * second[1]


def scaled(vector: Vector, factor: Fraction | int) -> Vector:
    """factor · vector."""
    return plus(ZERO, vector, factor)


def gradient(batch: BatchOf, model: Vector) -> Vector:
    """∇f_i(w) = 2 Σ_j (x_j·w − y_j)x_j."""
    total = ZERO
    for features, target in batch:
        total = plus(total, features, 2 * (dot(features, model) - target))
    return total


def trace(batch: BatchOf) -> Fraction:
    """Of ∇²f_i: no eigenvalue is larger, and of one example that one is as large."""
    return 2 * sum((dot(features, features) for features, _ in batch), Fraction(0))


def admitted_curvature(label: str, batches: Sequence[BatchOf]) -> Fraction:
    """The φ with which the statement just admits batches whose largest curvature is the largest trace."""
    share = STATEMENTS[label].given("curvature") / batch_curvature
    return max(trace(batch) for batch in batches) / Fraction(str(share))


def lagrangian(batches: Sequence[BatchOf], state: State, rho: Fraction) -> Fraction:
    """L."""
    value = dot(state.consensus, state.consensus)
    for batch, model, multiplier in zip(batches, state.models, state.multipliers, strict=True):
        apart = plus(model, state.consensus, -1)
        value += sum(((dot(features, model) - target) ** 2 for features, target in batch), Fraction(0))
        value += dot(multiplier, apart) + rho / 2 * dot(apart, apart)
    return value


def mean_proposal_of(state: State, rho: Fraction) -> Vector:
    """The mean of w_i + α_i/ρ."""
    total = ZERO
    for model, multiplier in zip(state.models, state.multipliers, strict=True):
        total = plus(plus(total, model), multiplier, 1 / rho)
    return scaled(total, Fraction(1, len(state.models)))


def best_consensus(state: State, rho: Fraction) -> Vector:
    """Where 2z − Σ_i (α_i + ρ(w_i − z)) vanishes: found without the mean."""
    total = ZERO
    for model, multiplier in zip(state.models, state.multipliers, strict=True):
        total = plus(plus(total, multiplier), model, rho)
    return scaled(total, 1 / (2 + rho * len(state.models)))


def best_model(batch: BatchOf, consensus: Vector, multiplier: Vector, rho: Fraction) -> Vector:
    """(∇²f + ρI)w = −∇f(0) − α + ρz, by Cramer's rule."""
    one, two, mixed = rho, rho, Fraction(0)
    right = plus(plus(scaled(gradient(batch, ZERO), -1), multiplier, -1), consensus, rho)
    for (x, y), _ in batch:
        one, two, mixed = one + 2 * x * x, two + 2 * y * y, mixed + 2 * x * y
    determinant = one * two - mixed**2
    return (two * right[0] - mixed * right[1]) / determinant, (one * right[1] - mixed * right[0]) / determinant


def with_consensus(batches: Sequence[BatchOf], state: State, consensus: Vector, rho: Fraction) -> State:
    """The state after all w_i and α_i have followed a new z."""
    models = tuple(
        best_model(batch, consensus, multiplier, rho)
        for batch, multiplier in zip(batches, state.multipliers, strict=True)
    )
    return State(models, consensus, _turned(state.multipliers, models, consensus, rho))


def step(batches: Sequence[BatchOf], state: State, rho: Fraction) -> State:
    """z first, then all w_i, then all α_i."""
    return with_consensus(batches, state, best_consensus(state, rho), rho)


def models_first(batches: Sequence[BatchOf], state: State, rho: Fraction) -> State:
    """All w_i first, then z, then all α_i."""
    models = with_consensus(batches, state, state.consensus, rho).models
    consensus = best_consensus(State(models, state.consensus, state.multipliers), rho)
    return State(models, consensus, _turned(state.multipliers, models, consensus, rho))


def _turned(multipliers: Sequence[Vector], models: Sequence[Vector], z: Vector, rho: Fraction) -> tuple[Vector, ...]:
    pairs = zip(multipliers, models, strict=True)
    return tuple(plus(multiplier, plus(model, z, -1), rho) for multiplier, model in pairs)


def consistent(batches: Sequence[BatchOf], models: Sequence[Vector], consensus: Vector) -> State:
    """α_i = −∇f_i(w_i)."""
    pairs = zip(batches, models, strict=True)
    return State(tuple(models), consensus, tuple(scaled(gradient(batch, model), -1) for batch, model in pairs))


def twins(size: Fraction, target: Fraction, model: Fraction) -> tuple[list[BatchOf], State]:
    """Two batches of one example with opposite targets, and opposite models: φ = 2·size², and z stays 0."""
    batches: list[BatchOf] = [[((size, Fraction(0)), sign * target)] for sign in (1, -1)]
    return batches, consistent(batches, [(model, Fraction(0)), (-model, Fraction(0))], ZERO)


def consensus_margin(batches: Sequence[BatchOf], state: State, rho: Fraction) -> Fraction:
    """Minus the slope of L in z where the statement puts it."""
    mean, count = mean_proposal_of(state, rho), len(batches)
    statement = STATEMENTS["admm_consensus_step"]
    z = tuple(statement.fraction(mean_proposal=coordinate, n=count, penalty=rho) for coordinate in mean)
    aim = best_consensus(state, rho)
    return -abs(z[0] - aim[0]) - abs(z[1] - aim[1])


def printed_margin(batches: Sequence[BatchOf], state: State, rho: Fraction) -> Fraction:
    """Minus the difference of the excess from the statement's."""
    mean = mean_proposal_of(state, rho)
    ends = (State(state.models, z, state.multipliers) for z in (mean, best_consensus(state, rho)))
    values = [lagrangian(batches, one, rho) for one in ends]
    stated = STATEMENTS["admm_printed_step"].fraction(proposal_energy=dot(mean, mean), n=len(batches), penalty=rho)
    return -abs(values[0] - values[1] - stated)


def moves(before: State, after: State) -> tuple[Fraction, Fraction]:
    """‖Δz‖² and Σ‖Δw_i‖²."""
    turned = plus(after.consensus, before.consensus, -1)
    pairs = zip(after.models, before.models, strict=True)
    moved = (plus(later, earlier, -1) for later, earlier in pairs)
    return dot(turned, turned), sum((dot(move, move) for move in moved), Fraction(0))


def descent_margin(batches: Sequence[BatchOf], state: State, rho: Fraction) -> Fraction:
    """The bound minus the change of L, the least of a few steps, each from the one before."""
    phi = admitted_curvature("admm_descent", batches)
    margins = []
    for _ in range(STEPS):
        after = step(batches, state, rho)
        consensus_move, model_move = moves(state, after)
        bound = STATEMENTS["admm_descent"].fraction(
            penalty=rho, n=len(batches), batch_curvature=phi, consensus_move=consensus_move, model_move=model_move
        )
        margins.append(bound - (lagrangian(batches, after, rho) - lagrangian(batches, state, rho)))
        state = after
    return min(margins)


def twins_margin(size: Fraction, target: Fraction, model: Fraction, part: Fraction) -> Fraction:
    """Minus how far two opposite batches are from attaining the bound, at a penalty of that part of φ, at most 2."""
    batches, state = twins(size, target, model)
    return -abs(descent_margin(batches, state, part * trace(batches[0])))


def together_margin(batches: Sequence[BatchOf], state: State, rho: Fraction) -> Fraction:
    """L less F(z) and the bound."""
    phi = admitted_curvature("admm_together", batches)
    apart = (plus(model, state.consensus, -1) for model in state.models)
    bound = STATEMENTS["admm_together"].fraction(
        penalty=rho, batch_curvature=phi, model_distance=sum((dot(one, one) for one in apart), Fraction(0))
    )
    met = State((state.consensus,) * len(batches), state.consensus, state.multipliers)
    return lagrangian(batches, state, rho) - lagrangian(batches, met, rho) - bound


def penalty_margin(batches: Sequence[BatchOf], state: State, part: Fraction, model: Fraction) -> Fraction:
    """Minus the largest rise, where ρ is at least the one stated; else the least of two that rise, or −1.

    ρ is the part of the largest trace. What rises is a pair of opposite batches, and one of them with its next z.
    """
    twin, start = twins(Fraction(1), Fraction(1), model)
    phi, rho = trace(twin[0]), part * trace(twin[0])
    alone = State(start.models[:1], ZERO, start.multipliers[:1])
    alone = replace(alone, consensus=best_consensus(alone, rho))
    rises = [_largest_rise(twin, start, rho), _largest_rise(twin[:1], alone, rho)]
    if rho < STATEMENTS["admm_least_penalty"].fraction(batch_curvature=admitted_curvature("admm_least_penalty", twin)):
        return min(rises) if min(rises) > 0 else Fraction(-1)
    own = max(max(trace(batch) for batch in batches), phi / 4)
    return -max(_largest_rise(batches, state, part * own), *rises)


def _largest_rise(batches: Sequence[BatchOf], state: State, rho: Fraction) -> Fraction:
    values = [lagrangian(batches, state, rho)]
    for _ in range(STEPS):
        state = step(batches, state, rho)
        values.append(lagrangian(batches, state, rho))
    return max(later - earlier for earlier, later in pairwise(values))


def order_margin(model: Fraction, z: Fraction, multiplier: Fraction, rho: Fraction) -> Fraction:
    """Minus the difference from the statement, of the third step of an empty batch in the wrong order."""
    state = State(((model, Fraction(0)),), (z, Fraction(0)), ((multiplier, Fraction(0)),))
    for _ in range(2):
        state = models_first([[]], state, rho)
    return _order_gap(state, rho)


def _order_gap(state: State, rho: Fraction) -> Fraction:
    change = lagrangian([[]], models_first([[]], state, rho), rho) - lagrangian([[]], state, rho)
    energy = dot(state.consensus, state.consensus)
    return -abs(change - STATEMENTS["admm_wrong_order"].fraction(penalty=rho, consensus_energy=energy))


def settled_margin(z: Fraction, rho: Fraction) -> Fraction:
    """The same of a step from where the statement assumes that two steps lead."""
    given, numbers = STATEMENTS["admm_wrong_order"].given, {"z": z, "penalty": rho}
    model, multiplier = (substituted(given(name), numbers) for name in ("settled_model", "settled_multiplier"))
    return _order_gap(State(((model, Fraction(0)),), (z, Fraction(0)), ((multiplier, Fraction(0)),)), rho)


def listed_runs() -> list[tuple[list[BatchOf], State, Fraction]]:
    """A few batches, one of them empty, from a few starts with a few penalties."""
    plain: list[BatchOf] = [
        [((Fraction(1), Fraction(0)), Fraction(2))],
        [((Fraction(1), Fraction(1)), Fraction(-1)), ((Fraction(0), Fraction(2)), Fraction(1, 2))],
        [],
    ]
    starts = [((Fraction(1), Fraction(0)), ZERO, (Fraction(-1), Fraction(2))), (ZERO,) * 3]
    return [
        (plain[:count], consistent(plain[:count], start[:count], (Fraction(1), Fraction(part))), rho)
        for count, start, part, rho in product((1, 2, 3), starts, (0, 3), (Fraction(1, 2), Fraction(6), Fraction(40)))
    ]


def listed_twins() -> list[tuple[Fraction, Fraction, Fraction, Fraction]]:
    """Opposite batches with penalties on both sides of φ."""
    parts = (Fraction(1, 2), Fraction(7, 8), Fraction(1), Fraction(9, 8), Fraction(2))
    return list(product((Fraction(1), Fraction(2, 3)), (Fraction(1),), (Fraction(0), Fraction(3)), parts))


def consensus_check(_profile: Profile) -> Outcome:
    """`rational`: of listed states z is where the slope of L vanishes."""
    return _outcome([consensus_margin(*run) for run in listed_runs()])


def printed_check(_profile: Profile) -> Outcome:
    """`rational`: of listed states the printed step costs what is stated, and at an optimum L rises from 2 to 4."""
    optimum: list[BatchOf] = [[((Fraction(1), Fraction(0)), Fraction(2))]]
    state = consistent(optimum, [(Fraction(1), Fraction(0))], (Fraction(1), Fraction(0)))
    after = with_consensus(optimum, state, mean_proposal_of(state, Fraction(2)), Fraction(2))
    values = [lagrangian(optimum, one, Fraction(2)) for one in (state, after)]
    stays = step(optimum, state, Fraction(2)) == state
    margins = [printed_margin(*run) for run in [*listed_runs(), (optimum, state, Fraction(2))]]
    return _outcome([*margins, Fraction(0) if values == [2, 4] and stays else Fraction(-1)])


def descent_check(_profile: Profile) -> Outcome:
    """`rational`: of listed runs no step falls short, and opposite batches attain the bound."""
    return _outcome([descent_margin(*run) for run in listed_runs()] + [twins_margin(*case) for case in listed_twins()])


def penalty_check(_profile: Profile) -> Outcome:
    """`rational`: listed runs rise for no penalty from the one stated on, and twins for every one below."""
    return _outcome([penalty_margin(*run[:2], part, Fraction(3)) for run in listed_runs() for part in NEAR])


def order_check(_profile: Profile) -> Outcome:
    """`rational`: of listed starts and penalties the third step changes L by what is stated."""
    values = [Fraction(0), Fraction(1), Fraction(-5, 3)]
    rhos = [Fraction(part, 8) for part in range(4, 24, 2)]
    settled = [settled_margin(z, rho) for z, rho in product(values, rhos)]
    return _outcome(
        [order_margin(w, z, a, rho) for w, z, a, rho in product(values, values[1:], values, rhos)] + settled
    )


def together_check(_profile: Profile) -> Outcome:
    """`rational`: of listed states coming together gives away no more, and opposite batches as much."""
    attained = [any_together_margin(case) for case in listed_twins()]
    return _outcome([together_margin(*run) for run in listed_runs()] + attained)


def _outcome(margins: Sequence[Fraction]) -> Outcome:
    return Outcome(earned=min(margins) >= 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def penalty_queries() -> list[Query]:
    """That nothing rises for any curvature up to φ, and that it does along φ for any smaller penalty."""
    rho, phi, curvature = sympy.symbols("rho phi curvature", real=True)
    stated = STATEMENTS["admm_least_penalty"].bound.subs(batch_curvature, phi)
    fall = rho**2 + rho * curvature - 2 * curvature**2
    along = fall.subs(curvature, phi)
    up_to = (sympy.Ge(rho, stated), sympy.Gt(rho, 0), sympy.Ge(curvature, 0), sympy.Le(curvature, phi))
    below = (sympy.Lt(rho, stated), sympy.Gt(rho, 0), sympy.Gt(phi, 0))
    return [
        Query("falls", up_to, sympy.Ge(fall, 0), sympy.Ge(fall, curvature)),
        Query("rises", below, sympy.Lt(along, 0), sympy.Lt(along, -1)),
    ]


def _numbers() -> st.SearchStrategy[Fraction]:
    return st.integers(-4, 4).map(lambda halves: Fraction(halves, 2))


def run_cases() -> Members:
    """(batches, consistent state, penalty)."""
    vectors = st.tuples(_numbers(), _numbers())
    batch = st.lists(st.tuples(vectors, _numbers()), max_size=2)
    rho = st.integers(1, 64).map(lambda eighths: Fraction(eighths, 8))

    def starts(batches: list[list[Example]]) -> Members:
        models = st.lists(vectors, min_size=len(batches), max_size=len(batches))
        return st.tuples(models, vectors, rho).map(
            lambda drawn: (batches, consistent(batches, drawn[0], drawn[1]), drawn[2])
        )

    return st.lists(batch, min_size=1, max_size=3).flatmap(starts)


def twin_cases() -> Members:
    """(size, target, model, penalty over φ), for which the bounds are attained."""
    size = st.integers(1, 6).map(lambda halves: Fraction(halves, 2))
    return st.tuples(size, _numbers(), _numbers(), st.integers(4, 32).map(lambda part: Fraction(part, 16)))


def descent_cases() -> Members:
    """Either of both, in a list of one."""
    return st.tuples(st.one_of(run_cases(), twin_cases()))


def any_descent_margin(case: tuple[object, ...]) -> Fraction:
    """Of a run the least margin, of twins minus how far they are from attaining it."""
    return twins_margin(*case) if len(case) == 4 else descent_margin(*case)  # type: ignore[arg-type]


def any_together_margin(case: tuple[object, ...]) -> Fraction:
    """Likewise."""
    if len(case) != 4:
        return together_margin(*case)  # type: ignore[arg-type]
    size, target, model, part = case
    batches, state = twins(size, target, model)  # type: ignore[arg-type]
    return -abs(together_margin(batches, state, part * trace(batches[0])))  # type: ignore[operator]


def penalty_cases() -> Members:
    """(batches, state, penalty over φ, model of the twins)."""
    drawn = st.tuples(run_cases(), st.sampled_from(NEAR + 8 * NEAR[-2:]), st.integers(2, 5).map(Fraction))
    return drawn.map(lambda parts: (parts[0][0], parts[0][1], parts[1], parts[2]))


def order_cases() -> Members:
    """(w, z, α, penalty) of an empty batch."""
    return st.tuples(_numbers(), _numbers(), _numbers(), st.integers(1, 32).map(lambda eighths: Fraction(eighths, 8)))


CHECKS: dict[str, dict[Grade, Check]] = {
    "admm_consensus_step": {"rational": consensus_check, "property": property_check(run_cases, consensus_margin)},
    "admm_printed_step": {"rational": printed_check, "property": property_check(run_cases, printed_margin)},
    "admm_descent": {"rational": descent_check, "property": property_check(descent_cases, any_descent_margin)},
    "admm_least_penalty": {
        "smt": smt_check(penalty_queries),
        "rational": penalty_check,
        "property": property_check(penalty_cases, penalty_margin),
    },
    "admm_wrong_order": {"rational": order_check, "property": property_check(order_cases, order_margin)},
    "admm_together": {"rational": together_check, "property": property_check(descent_cases, any_together_margin)},
}
"""Every check of these statements, by label and grade."""
