"""What evidence is there for regret under bounded staleness with decaying steps, besides the derivations?

Descent on the views that cost the most, in certified balls; all pairs of a window added up; a long run along a circle,
which comes near the bound; the worst case over all losses as a semidefinite programme; and the terms at the published
step size for all real values at once. Ours.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import numpy
import sympy
from flint import arb, ctx, fmpq
from hypothesis import strategies as st

from sparsync.theory.language.symbols import T, lipschitz, n, radius, staleness, step_scale
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import (
    Numbers,
    Update,
    assumed,
    assumed_unit,
    confined,
    decaying_steps,
    in_rounds,
    numbers_of,
    rational,
    regret_on_views,
    stated,
    worst_views,
)
from sparsync.verify.delay.stale_regret import oldest_views, worst_regret
from sparsync.verify.tools.balls import PRECISION_BITS
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

SUMMED_PAIRS = ((1, 0, 1), (1, 3, 50), (2, 0, 100), (2, 1, 4000), (3, 2, 40), (40, 0, 1), (6, 4, 10))
"""(workers, staleness, rounds) of the runs whose pairs are added up, for a diameter that hardly counts."""
SUMMED_RUNS = ((1, 0, 1), (1, 3, 200), (2, 0, 100), (4, 3, 1000), (64, 64, 8000))
"""(workers, staleness, rounds) of the runs whose terms are added up at the published step size."""
CIRCLING_RUNS = ((1, 0, 300_000), (2, 0, 200_000), (2, 1, 100_000))
"""(workers, staleness, rounds) of the runs along a circle."""
PROGRAMMES = ((1, 0, 6), (2, 0, 4), (3, 0, 3), (2, 1, 6), (3, 2, 4), (6, 1, 2))
"""(workers, staleness, rounds) of the worst cases that are solved for."""
SMALL_DIAMETER = Fraction(1, 1000)
"""F of a run whose pairs are to prevail."""
ROUNDING = 1e-9
"""More, relative to the regret, than a million sums of numbers near it are off by."""

Wishes = Sequence[Fraction]
"""Gradients over ℓ, by update and read cyclically; smaller ones are taken where the iterate would leave the ball."""


def run_cases(*, scaled: bool) -> Members:
    """(workers, staleness, rounds, start over √2 F, gradients over ℓ[, σ]).

    Args:
        scaled: σ is drawn.
    """
    sign = st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(0)])
    wishes = st.lists(sign, min_size=1, max_size=8) | st.just([Fraction(1)])
    start = st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(0)])
    sizes = (st.integers(1, 3), st.integers(0, 2), st.integers(1, 6))
    if not scaled:
        return st.tuples(*sizes, start, wishes)
    scale = st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2)])
    return st.tuples(*sizes, start, wishes, scale)


def run_margin(
    workers: int,
    slack: int,
    rounds: int,
    start: Fraction,
    wishes: Wishes,
    scale: Fraction | None = None,
    *,
    label: str,
) -> float:
    """The margin of a run on the views of the window that cost the most."""
    updates = in_rounds(workers, rounds)
    numbers = numbers_of(workers, slack, len(updates))
    if scale is not None:
        numbers[step_scale] = scale
    return published_margin(label, None, numbers, start, wishes)


def published_margin(
    label: str, views: Mapping[Update, Sequence[Update]] | None, numbers: Numbers, start: Fraction, wishes: Wishes
) -> float:
    """Upper end of 1 − regret/bound of a run for ℓ = F = 1: a negative margin is certain.

    Args:
        label: the statement.
        views: what each update's view holds; None for the views of a window that cost the most.
        numbers: of the bound; σ is the one assumed if it is not among them.
        start: x_1 over √2 F.
        wishes: see `Wishes`.
    """
    updates = (
        sorted(views) if views is not None else in_rounds(_whole(numbers[n]), _whole(numbers[T]) // _whole(numbers[n]))
    )
    with ctx.workprec(PRECISION_BITS):
        scale = numbers.get(step_scale)
        size = assumed(label, "step_scale", numbers) if scale is None else rational(Fraction(str(scale)))
        steps = decaying_steps(size, len(updates))
        # The half square of an iterate is at most what is assumed; no start is beyond that.
        square = 2 * assumed_unit(label, "half_square")
        begin = rational(start) * arb(square).sqrt().lower()
        longest = assumed_unit(label, "longest_gradient")
        wanted = [longest * rational(wishes[number % len(wishes)]) for number in range(len(updates))]
        taken = dict(zip(updates, confined(begin, wanted, steps, square), strict=True))
        seen = worst_views(taken, _whole(numbers[staleness])) if views is None else views
        regret = regret_on_views(begin, taken, dict(zip(updates, steps, strict=True)), seen)
        return float((1 - regret / stated(label, numbers)).upper())


def _whole(value: object) -> int:
    return int(str(value))


def pair_sum(workers: int, slack: int, rounds: int, scale: fmpq) -> arb:
    """Σ_t η_t(1/2 and the pairs that t is the first of), over all that the window permits."""
    total = arb(0)
    for number, (k, worker) in enumerate(in_rounds(workers, rounds), start=1):
        pairs = (workers - 1) * min(slack, rounds - k) + (workers - worker)
        total += scale / arb(number).sqrt() * (pairs + fmpq(1, 2))
    return total


def pairs_check(_profile: Profile) -> Outcome:
    """`ball`: F²/η_T and the cost of all pairs stay below the bound, certified, and come near it in long runs."""
    label = "ssp_regret_decaying"
    shares = []
    with ctx.workprec(PRECISION_BITS):
        for workers, slack, rounds in SUMMED_PAIRS:
            updates = workers * rounds
            numbers = {**numbers_of(workers, slack, updates), radius: SMALL_DIAMETER, step_scale: 1}
            square = assumed_unit(label, "half_square") * rational(SMALL_DIAMETER) ** 2
            cost = assumed_unit(label, "longest_gradient") ** 2 * pair_sum(workers, slack, rounds, fmpq(1))
            shares.append((arb(updates).sqrt() * square + cost) / stated(label, numbers))
        earned = all(share <= 1 for share in shares)
    return Outcome(earned=earned, detail={"shares_of_the_bound": [float(share) for share in shares]})


def circling_share(workers: int, slack: int, rounds: int) -> float:
    """Regret over bound of a run along a circle about x*, then straight to it, on the oldest views; F = ℓ = σ = 1."""
    label, updates = "ssp_regret_decaying", workers * rounds
    longest = float(str(STATEMENTS[label].given("longest_gradient").subs(lipschitz, 1).evalf()))
    distance = float(numpy.sqrt(2 * float(STATEMENTS[label].given("half_square").subs(radius, 1))))
    lengths = longest / numpy.sqrt(numpy.arange(1, updates + 1))
    left = numpy.cumsum(lengths[::-1])[::-1]
    is_straight = left <= distance
    # Chords as long as the steps, and the directions of their gradients.
    turned = numpy.where(is_straight, 0.0, 2 * numpy.arcsin(numpy.minimum(lengths / (2 * distance), 1.0)))
    before = numpy.concatenate([[0.0], numpy.cumsum(turned)[:-1]])
    heading = numpy.where(is_straight, before, before + turned / 2 - numpy.pi / 2)
    gradients = longest * numpy.stack([numpy.cos(heading), numpy.sin(heading)], axis=1)
    moved = (gradients / numpy.sqrt(numpy.arange(1, updates + 1))[:, None]).reshape(rounds, workers, 2)
    until = numpy.concatenate([numpy.zeros((1, workers, 2)), numpy.cumsum(moved, axis=0)])
    # The view of iteration k holds k − 1 iterations of its own worker and k − 1 − s of the others.
    k = numpy.arange(1, rounds + 1)
    oldest = until[numpy.maximum(k - 1 - slack, 0)]
    held = oldest.sum(axis=1, keepdims=True) - oldest + until[k - 1]
    views = numpy.array([distance, 0.0]) - held
    regret = float((gradients.reshape(rounds, workers, 2) * views).sum())
    bound = STATEMENTS[label].evaluate(n=workers, staleness=slack, T=updates, lipschitz=1, radius=1, step_scale=1)
    return float(regret / bound)


def circling_check(_profile: Profile) -> Outcome:
    """`simulated`: long runs along a circle come near the bound and stay below."""
    shares = [circling_share(*run) for run in CIRCLING_RUNS]
    return Outcome(earned=max(shares) <= 1 + ROUNDING, detail={"shares_of_the_bound": shares})


def summed_share(label: str, workers: int, slack: int, rounds: int, numbers: dict[str, object]) -> float:
    """What the proof adds up for finite runs at the published σ, over the bound; F = ℓ = 1.

    Args:
        label: the statement.
        workers: n.
        slack: the window.
        rounds: of all workers.
        numbers: what the bound is evaluated at, besides n, T, ℓ and F.
    """
    statement, updates = STATEMENTS[label], workers * rounds
    values = {
        symbol: sympy.Rational(str(numbers[symbol.name]))
        for symbol in _named(statement.given("step_scale"))
        if symbol.name in numbers
    }
    values |= {n: sympy.Integer(workers), radius: sympy.S.One, lipschitz: sympy.S.One}
    scale = float(statement.given("step_scale").xreplace(values))
    longest = float(statement.given("longest_gradient").subs(lipschitz, 1))
    square = float(statement.given("half_square").subs(radius, 1))
    steps = (scale / numpy.sqrt(numpy.arange(1, updates + 1))).reshape(rounds, workers)
    later = (workers - 1) * numpy.minimum(slack, rounds - numpy.arange(1, rounds + 1))
    pairs = later[:, None] + numpy.arange(workers)[::-1]
    total = square / steps[-1, -1] + longest**2 * float((steps * (pairs + 0.5)).sum())
    return float(total / statement.evaluate(n=workers, T=updates, lipschitz=1, radius=1, **numbers))


def _named(expression: sympy.Expr) -> list[sympy.Symbol]:
    return sorted(expression.free_symbols, key=lambda symbol: str(symbol.name))


def worst_share(workers: int, slack: int, rounds: int) -> tuple[float, float]:
    """The worst case over all losses on the oldest views, over the published bound, and its tolerance."""
    statement, updates = STATEMENTS["ssp_regret"], workers * rounds
    numbers = {"n": workers, "staleness": slack, "T": updates, "lipschitz": 1, "radius": 1}
    named = _named(statement.given("step_scale"))
    scale = float(statement.given("step_scale").subs({symbol: numbers[symbol.name] for symbol in named}))
    worst, tolerance = worst_regret(
        oldest_views(workers, slack, rounds),
        steps=[float(scale / numpy.sqrt(number)) for number in range(1, updates + 1)],
        square_radius=float(statement.given("half_square").subs(radius, 1)),
        bounded_iterates=updates,
    )
    bound = statement.evaluate(**numbers)
    return worst / bound, tolerance / bound


def summed_check(_profile: Profile) -> Outcome:
    """`numeric`: the terms of finite runs stay below the bound, and come near it for many stale workers.

    The worst cases of a few updates, over all losses, stay below it, too.
    """
    shares = [
        summed_share("ssp_regret", workers, slack, rounds, {"staleness": slack})
        for workers, slack, rounds in SUMMED_RUNS
    ]
    worst = [worst_share(*run) for run in PROGRAMMES]
    earned = max(shares) <= 1 and all(share <= 1 + tolerance for share, tolerance in worst)
    detail = {"shares_of_the_bound": shares, "worst_cases_over_the_bound": [share for share, _ in worst]}
    return Outcome(earned=earned, detail=detail)


def published_queries(label: str, pending: Callable[[sympy.Expr], dict[sympy.Symbol, sympy.Expr]]) -> tuple[Query, ...]:
    """For T = 1 and F = ℓ = 1: F²/σ + σℓ²(1 + 2(κ' − s − 1)) is at most the bound, κ' = (s + 1)n.

    Args:
        label: the statement.
        pending: by a name for s + 1, what the bound and σ are evaluated at.
    """
    window, workers, root = sympy.symbols("window workers root", real=True)
    statement = STATEMENTS[label]
    # Roots are drawn for positive numbers: κ' is w²/2, where w = √(2(s + 1)n).
    numbers = {T: sympy.S.One, lipschitz: sympy.S.One, radius: sympy.S.One, **pending(window)}
    scale = _in_root(statement.given("step_scale"), numbers, root)
    bound = _in_root(statement.bound, numbers, root)
    square = statement.given("half_square").subs(radius, 1)
    longest = statement.given("longest_gradient").subs(lipschitz, 1)
    terms = square / scale + scale * longest**2 * (1 + 2 * window * (workers - 1))
    left, right = (sympy.expand(sympy.simplify(side * root)) for side in (terms, bound))
    return (
        Query(
            claim="the three terms at the published step size",
            premises=(sympy.Ge(window, 1), sympy.Ge(workers, 1), root > 0, sympy.Eq(root**2, 2 * window * workers)),
            conclusion=sympy.Le(left, right),
            false_twin=sympy.Le(left, right * sympy.Rational(3, 4)),
        ),
    )


def _in_root(expression: sympy.Expr, numbers: dict[sympy.Symbol, sympy.Expr], root: sympy.Symbol) -> sympy.Expr:
    """The expression, of which √(2(s + 1)n) is a factor or divisor, in terms of that root."""
    positive = sympy.symbols("window_size workers_count", positive=True)
    named = {symbol: value.subs(sympy.Symbol("window", real=True), positive[0]) for symbol, value in numbers.items()}
    found = sympy.simplify(expression.xreplace(named).xreplace({n: positive[1]}))
    squared = sympy.simplify(found**2 / (2 * positive[0] * positive[1]))
    if squared.is_Rational:
        return sympy.sqrt(squared) * root
    inverse = sympy.simplify(found**2 * 2 * positive[0] * positive[1])
    return sympy.sqrt(inverse) / root


CHECKS: dict[str, dict[Grade, Check]] = {
    "ssp_regret_decaying": {
        "ball": pairs_check,
        "property": property_check(partial(run_cases, scaled=True), partial(run_margin, label="ssp_regret_decaying")),
        "simulated": circling_check,
    },
    "ssp_regret": {
        "smt": smt_check(lambda: published_queries("ssp_regret", lambda window: {staleness: window - 1})),
        "numeric": summed_check,
        "property": property_check(partial(run_cases, scaled=False), partial(run_margin, label="ssp_regret")),
    },
}
"""Every check of these statements, by label and grade."""
