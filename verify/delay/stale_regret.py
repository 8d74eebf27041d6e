"""What evidence is there for the statements on views and regret under bounded staleness, besides their derivations?

Views are read off the discrete-event simulation and compared, as sets of updates, with the sequential order; descent
is run on them in exact fractions. The worst case over all losses, for given views, is a semidefinite programme. Ours.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import cycle, product
from typing import Any

import cvxpy
import numpy
import sympy
from flint import fmpq
from hypothesis import strategies as st

from sparsync.theory.language.symbols import T, eta, lipschitz, n, radius, staleness
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import (
    ALONE,
    Update,
    alone_margin,
    assumed_unit,
    bound_square,
    in_rounds,
    numbers_of,
    rational,
    regret_on_views,
    root_below,
    square_radius,
    worst_views,
)
from sparsync.verify.synchronisation.event_simulation import Durations, bounded_staleness, run
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

View = tuple[Update, tuple[int, ...]]
"""An update, and the iterations of every worker that its view holds."""

ENUMERATED_SIZES = tuple(product((1, 2, 3, 4), (0, 1, 2, 3)))
"""(workers, staleness) of the rounds whose views are enumerated."""
PROGRAMMES = ((1, 0, 5), (2, 0, 3), (3, 0, 2), (2, 1, 4), (3, 1, 3), (2, 2, 5))
"""(workers, staleness, rounds) of the worst cases that are solved for."""
SOLVER_TOLERANCE = 1e-9
"""Gap and feasibility that the solver is asked for."""


def oldest_views(workers: int, slack: int, rounds: int) -> list[View]:
    """Every view holds of the other workers no more than it must."""
    return [
        ((k, worker), tuple(k - 1 if other == worker else max(0, k - 1 - slack) for other in range(1, workers + 1)))
        for k in range(1, rounds + 1)
        for worker in range(1, workers + 1)
    ]


def run_views(slack: int, durations: Durations, ages: Sequence[int]) -> list[View]:
    """The views of a simulated run, in order of their reading.

    Args:
        slack: s.
        durations: by worker, then by iteration.
        ages: read cyclically: by how many iterations a view is older than it could be, as far as the rule permits.
    """
    age = cycle(ages)
    views: list[View] = []
    for worker, completed in run(durations, bounded_staleness(slack)).starts:
        k = completed[worker] + 1
        held = tuple(
            count if other == worker else max(count - next(age), min(count, k - 1 - slack), 0)
            for other, count in enumerate(completed)
        )
        views.append(((k, worker + 1), held))
    return views


def misread_count(view: View) -> int:
    """Number of updates that the view lacks or has too many, compared with all that come before its own."""
    (k, worker), held = view
    has = {(iteration, other) for other, count in enumerate(held, start=1) for iteration in range(1, count + 1)}
    should = {(iteration, other) for iteration in range(1, k + 1) for other in range(1, len(held) + 1)}
    return len(has ^ {update for update in should if update < (k, worker)})


def round_counts(views: Sequence[View]) -> list[int]:
    """Updates misread in each round."""
    rounds = max(k for (k, _worker), _held in views)
    return [sum(misread_count(view) for view in views if view[0][0] == k) for k in range(1, rounds + 1)]


def views_margin(slack: int, durations: Durations, ages: Sequence[int]) -> Fraction:
    """The bound on the updates misread in a round minus the largest number in a run."""
    bound = STATEMENTS["ssp_views"].fraction(n=len(durations), staleness=slack)
    return bound - max(round_counts(run_views(slack, durations, ages)))


def enumerated_views_check(_profile: Profile) -> Outcome:
    """`rational`: over all views that the rule permits in one round, the largest number misread is the bound."""
    wrong = [
        [workers, slack]
        for workers, slack in ENUMERATED_SIZES
        if largest_round(workers, slack) != STATEMENTS["ssp_views"].fraction(n=workers, staleness=slack)
    ]
    return Outcome(earned=not wrong, detail={"rounds_count": len(ENUMERATED_SIZES), "wrong_sizes": wrong})


def largest_round(workers: int, slack: int) -> int:
    """The most that the views of a late round misread, by trying every number of iterations held."""
    k = slack + 2
    counts = range(k - 1 - slack, k + slack)
    return sum(
        max(
            misread_count(((k, worker), (*held[: worker - 1], k - 1, *held[worker - 1 :])))
            for held in product(counts, repeat=workers - 1)
        )
        for worker in range(1, workers + 1)
    )


def descend(
    views: Sequence[View], *, start: Fraction, step: Fraction, slopes: Sequence[Fraction], rounds_each: int
) -> tuple[Fraction, Fraction]:
    """Regret of descent against 0 on the losses |slope · x_c|, and half the squared distance of the start from 0.

    Args:
        views: in an order in which every update that a view holds comes before it.
        start: every coordinate of x_1.
        step: η.
        slopes: read cyclically, one per update.
        rounds_each: the coordinate c changes after so many rounds.
    """
    gradients: dict[Update, Fraction] = {}
    regret, slope_of_next = Fraction(0), cycle(slopes)
    for (k, worker), held in views:
        coordinate = (k - 1) // rounds_each
        iterations = range(coordinate * rounds_each + 1, (coordinate + 1) * rounds_each + 1)
        taken = (
            gradients[iteration, other]
            for other, count in enumerate(held, start=1)
            for iteration in iterations
            if iteration <= count
        )
        position = start - step * sum(taken, Fraction(0))
        slope = next(slope_of_next)
        gradients[k, worker] = slope if position >= 0 else -slope
        regret += slope * abs(position)
    coordinates_count = (max(k for k, _worker in gradients) - 1) // rounds_each + 1
    return regret, coordinates_count * start**2 / 2


def delay_factor(workers: int, slack: int) -> int:
    """1 + (2s + 1)(n − 1), by which the best step is defined."""
    return 1 + (2 * slack + 1) * (workers - 1)


def descent_cases(*, largest_reach: Callable[[int, int], int]) -> Members:
    """(staleness, durations, ages, relative start, slopes, rounds on each coordinate).

    A relative start of 1 is that from which undisturbed descent ends at 0.

    Args:
        largest_reach: (workers, staleness) to the largest number of rounds on one coordinate.
    """
    duration = st.sampled_from([Fraction(0), Fraction(1), Fraction(3)])
    share = st.fractions(min_value=0, max_value=1, max_denominator=4)
    slopes = st.just([Fraction(1)]) | st.lists(share, min_size=1, max_size=3)
    starts = st.just(Fraction(1)) | share.filter(bool)

    def of_size(size: tuple[int, int, int]) -> Members:
        workers, slack, coordinates = size
        patterns = st.lists(st.lists(duration, min_size=1, max_size=3), min_size=workers, max_size=workers)

        def of_length(rounds_each: int) -> Members:
            rounds = rounds_each * coordinates
            durations = patterns.map(lambda rows: [[row[k % len(row)] for k in range(rounds)] for row in rows])
            ages = st.just([rounds]) | st.lists(st.integers(0, 3), min_size=1, max_size=3)
            return st.tuples(st.just(slack), durations, ages, starts, slopes, st.just(rounds_each))

        return st.integers(1, largest_reach(workers, slack)).flatmap(of_length)

    return st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(1, 2)).flatmap(of_size)


def descent_margin(
    slack: int,
    durations: Durations,
    ages: Sequence[int],
    relative: Fraction,
    slopes: Sequence[Fraction],
    rounds_each: int,
    *,
    best_step: bool,
) -> Fraction:
    """bound² − regret² of a run with η = 1, which is no restriction: iterates may be measured in steps.

    Args:
        slack: s.
        durations: by worker, then by iteration.
        ages: see `run_views`.
        relative: start of every coordinate over nη times the rounds on it.
        slopes: see `descend`; of the longest gradient assumed.
        rounds_each: see `descend`.
        best_step: the radius is that for which 1 is the step assumed, not the distance of the start.
    """
    label = "ssp_regret_optimised" if best_step else "ssp_regret_fixed_step"
    workers, updates = len(durations), len(durations) * len(durations[0])
    longest, half = (Fraction(str(assumed_unit(label, name))) for name in ("longest_gradient", "half_square"))
    numbers = numbers_of(workers, slack, updates)
    views = run_views(slack, durations, ages)
    start = relative * rounds_each * workers * (1 if best_step else longest)
    if best_step:
        # As far as the radius permits, and for longer runs no farther than is useful.
        farthest = root_below(half * 2 * square_radius(label, numbers) / -(-len(durations[0]) // rounds_each))
        start = farthest if relative == rounds_each == 1 else min(farthest, start)
    scaled = [longest * slope for slope in slopes]
    regret, half_square = descend(views, start=start, step=Fraction(1), slopes=scaled, rounds_each=rounds_each)
    if best_step:
        return bound_square(label, square_radius(label, numbers), numbers) - regret**2
    return bound_square(label, half_square / half, {**numbers, eta: 1}) - regret**2


def window_margin(workers: int, slack: int, rounds: int, start: Fraction, wishes: Sequence[Fraction]) -> Fraction:
    """The bound minus the regret on linear losses with η = 1, on the views of the window that cost the most."""
    label, updates = "ssp_regret_fixed_step", in_rounds(workers, rounds)
    longest, half = (assumed_unit(label, name) for name in ("longest_gradient", "half_square"))
    taken = {update: longest * rational(wishes[number % len(wishes)]) for number, update in enumerate(updates)}
    begin = rational(start)
    regret = regret_on_views(begin, taken, dict.fromkeys(updates, fmpq(1)), worst_views(taken, slack))
    values = {symbol: sympy.Rational(value) for symbol, value in numbers_of(workers, slack, len(updates)).items()}
    values |= {eta: sympy.S.One, lipschitz: sympy.S.One, radius: sympy.sqrt(sympy.Rational(str(begin**2 / 2 / half)))}
    bound = sympy.expand(STATEMENTS[label].bound.xreplace(values))
    return Fraction(str(bound)) - Fraction(str(regret))


def alone_check(_profile: Profile, *, label: str) -> Outcome:
    """`rational`: one worker at the step size assumed, of which others would leave a larger regret in these runs."""
    margins = [alone_margin(label, *case) for case in ALONE]
    return Outcome(earned=min(margins) >= 0, detail={"squares_margins": [str(margin) for margin in margins]})


def fixed_step_cases() -> Members:
    """Runs of `descent_cases`, and (workers, staleness, rounds, start, gradients) on the views of a window."""
    wish = st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 2)])
    sizes = (st.integers(1, 3), st.integers(0, 2), st.integers(1, 5))
    start = st.integers(-12, 12).map(lambda halves: Fraction(halves, 2))
    on_window = st.tuples(*sizes, start, st.lists(wish, min_size=1, max_size=6))
    return on_window | descent_cases(largest_reach=lambda *_size: 3)


def fixed_step_margin(*case: Any) -> Fraction:
    """The margin of a case of either kind."""
    return window_margin(*case) if isinstance(case[1], int) else descent_margin(*case, best_step=False)


def worst_regret(
    views: Sequence[View], *, steps: Sequence[float], square_radius: float, bounded_iterates: int = 1
) -> tuple[float, float]:
    """The largest regret for ℓ = 1 and given views, over all losses and starts in any dimension, and its tolerance.

    Only subgradients matter, and linear losses have them: the Gram matrix of x_1 − x* and the g_t is all there is.

    Args:
        views: see `View`.
        steps: η_t in order.
        square_radius: F².
        bounded_iterates: how many of the first x_t are that near to x*.
    """
    order = sorted(update for update, _held in views)
    position = {update: number + 1 for number, update in enumerate(order)}
    regret = numpy.zeros((len(order) + 1, len(order) + 1))
    for update, held in views:
        regret[0, position[update]] += 1
        for other, count in enumerate(held, start=1):
            for iteration in range(1, count + 1):
                regret[position[iteration, other], position[update]] -= steps[position[iteration, other] - 1]
    gram = cvxpy.Variable(regret.shape, PSD=True)
    iterates = numpy.tril(numpy.ones((bounded_iterates, 1 + len(order)))) * [1.0, *(-step for step in steps)]
    within = [row @ gram @ row <= 2 * square_radius for row in iterates]
    within += [gram[number, number] <= 1 for number in range(1, len(order) + 1)]
    programme = cvxpy.Problem(cvxpy.Maximize((gram @ (regret + regret.T)).trace() / 2), within)
    options = {"tol_gap_abs": SOLVER_TOLERANCE, "tol_gap_rel": SOLVER_TOLERANCE, "tol_feas": SOLVER_TOLERANCE}
    programme.solve(solver=cvxpy.CLARABEL, **options)  # type: ignore[no-untyped-call]  # not annotated by cvxpy
    if programme.status != cvxpy.OPTIMAL:
        raise RuntimeError(f"the status is {programme.status!r}, not {cvxpy.OPTIMAL!r}")
    # A limit may be exceeded by tol·(limits + entries), which moves the optimum by that times the multipliers.
    multipliers = numpy.array([limit.dual_value for limit in within], dtype=numpy.float64)
    optimum = float(numpy.asarray(programme.value, dtype=numpy.float64))
    exceeded = 3 * SOLVER_TOLERANCE * float(max(1.0, 2 * square_radius) * multipliers.sum())
    return optimum, exceeded + SOLVER_TOLERANCE * (1 + abs(optimum))


def worst_case_check(_profile: Profile) -> Outcome:
    """`numeric`: the worst case for the oldest views stays below the bound, which it attains with a barrier."""
    shares, tolerances = [], []
    for workers, slack, rounds in PROGRAMMES:
        updates = workers * rounds
        numbers = {n: workers, staleness: slack, T: updates, lipschitz: 1, radius: 1}
        step = float(STATEMENTS["ssp_regret_optimised"].given("step_size").subs(numbers))
        bound = STATEMENTS["ssp_regret_optimised"].evaluate(
            n=workers, staleness=slack, T=updates, lipschitz=1, radius=1
        )
        worst, tolerance = worst_regret(oldest_views(workers, slack, rounds), steps=[step] * updates, square_radius=1.0)
        shares.append(worst / bound)
        tolerances.append(tolerance / bound)
    earned = all(share <= 1 + tolerance for share, tolerance in zip(shares, tolerances, strict=True))
    return Outcome(earned=earned, detail={"shares_attained": shares, "largest_tolerance": max(tolerances)})


def barrier_queries(label: str) -> tuple[Query, ...]:
    """Descent on a line with a barrier, ℓ = η = 1: every start and every subgradient, for sizes that attain the bound.

    At the best step two rounds need a plane to attain it, which is more than the solvers decide.
    """
    sizes = ((1, 1), (2, 1)) if label == "ssp_regret_optimised" else ((1, 1), (2, 1), (1, 2))
    return tuple(_barrier_query(label, workers, rounds) for workers, rounds in sizes)


def _barrier_query(label: str, workers: int, rounds: int) -> Query:
    start = sympy.Symbol("start", real=True)
    iterate, regret, premises = start, sympy.S.Zero, []
    for k in range(rounds):
        taken = sympy.symbols(f"g_{k}_:{workers}", real=True)
        premises += [sympy.Le(gradient**2, 1) for gradient in taken]
        regret += sympy.Add(*taken) * iterate
        iterate -= sympy.Add(*taken)
    square, bound = sympy.symbols("square_radius bound", real=True)
    numbers = {T: sympy.Integer(workers * rounds), n: sympy.Integer(workers), staleness: sympy.S.Zero}
    stated = STATEMENTS[label].bound.xreplace({**numbers, lipschitz: sympy.S.One, eta: sympy.S.One})
    if label == "ssp_regret_optimised":
        # The best step is 1 iff F² = nT/2, and then the bound is a number, given by its square.
        fixed = sympy.Rational(workers**2 * rounds, 2)
        value = sympy.expand(stated.subs(radius, sympy.sqrt(fixed)) ** 2)
        premises += [sympy.Eq(square, fixed), sympy.Ge(bound, 0), sympy.Eq(bound**2, value)]
    else:
        premises += [sympy.Eq(bound, sympy.expand(stated.subs(radius, sympy.sqrt(square))))]
    premises += [sympy.Gt(square, 0), sympy.Le(start**2, 2 * square)]
    return Query(
        claim=f"{label}, {workers} workers, {rounds} rounds",
        premises=tuple(premises),
        conclusion=sympy.Le(regret, bound),
        false_twin=sympy.Le(regret, bound * sympy.Rational(7, 8)),
    )


def view_cases() -> Members:
    """(staleness, durations, ages)."""
    duration = st.sampled_from([Fraction(0), Fraction(1), Fraction(2), Fraction(9)])

    def of_size(size: tuple[int, int]) -> Members:
        workers, rounds = size
        own = st.lists(duration, min_size=rounds, max_size=rounds)
        ages = st.just([rounds]) | st.lists(st.integers(0, 4), min_size=1, max_size=6)
        return st.tuples(st.integers(0, 3), st.lists(own, min_size=workers, max_size=workers), ages)

    return st.tuples(st.integers(1, 4), st.integers(1, 7)).flatmap(of_size)


CHECKS: dict[str, dict[Grade, Check]] = {
    "ssp_views": {"rational": enumerated_views_check, "property": property_check(view_cases, views_margin)},
    "ssp_regret_fixed_step": {
        "smt": smt_check(lambda: barrier_queries("ssp_regret_fixed_step")),
        "property": property_check(fixed_step_cases, fixed_step_margin),
    },
    "ssp_regret_optimised": {
        "smt": smt_check(lambda: barrier_queries("ssp_regret_optimised")),
        "rational": partial(alone_check, label="ssp_regret_optimised"),
        "numeric": worst_case_check,
        "property": property_check(
            lambda: descent_cases(largest_reach=lambda workers, slack: delay_factor(workers, slack) // workers),
            partial(descent_margin, best_step=True),
        ),
    },
}
"""Every check of these statements, by label and grade."""
