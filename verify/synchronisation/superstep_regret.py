"""What evidence is there for the statements on supersteps and arrivals, besides their derivations?

Supersteps of a few workers, iteration by iteration in exact times, for every plan and for drawn ones; descent in exact
fractions on every order of arrival; and the terms of the regret, summed and for all real values. Ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import (
    T,
    lipschitz,
    longest_duration,
    look_ahead,
    monitoring_count,
    n,
    radius,
    shortest_duration,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.decaying_regret import published_margin, published_queries, summed_share
from sparsync.verify.delay.late_runs import Update, assumed_share, assumed_unit, bound_square, root_below, square_radius
from sparsync.verify.delay.stale_regret import alone_check
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

MONITORED_COUNTS = (0, 1, 2)
"""M of the supersteps of two workers that are listed."""
PLANNED_COUNTS = (1, 2, 3)
"""Their R."""
RATIOS = tuple(Fraction(parts, 4) for parts in range(4, 21))
"""Their ratio of durations."""
SUMMED_SUPERSTEPS = ((2, 0, 2, 1, 300), (8, 2, 5, 3, 1000), (64, 2, 15, 24, 8000))
"""(workers, M, R, ratio of durations, rounds) of the runs whose terms are summed."""

Durations = Sequence[Sequence[Fraction]]
"""By worker, read cyclically, of its iterations after a barrier."""


@dataclass(frozen=True)
class Superstep:
    """What happened between two barriers.

    Args:
        ends: by worker, the times at which it ends iterations, ascending.
    """

    ends: tuple[tuple[Fraction, ...], ...]

    def ended(self, worker: int, *, before: Fraction) -> int:
        """Iterations that the worker has ended earlier."""
        return sum(end < before for end in self.ends[worker])

    def largest_lead(self) -> int:
        """Over all workers and iterations; of simultaneous ends the leader's comes first."""
        return max(
            count - min(self.ended(other, before=end) for other in range(len(self.ends)) if other != worker)
            for worker, own in enumerate(self.ends)
            for count, end in enumerate(own, start=1)
        )

    def widest_window(self) -> int:
        """The largest difference, of either sign, from its own count of what a worker finds when it starts."""
        widest = 0
        for worker, own in enumerate(self.ends):
            for count, start in enumerate((Fraction(0), *own[:-1])):
                for other in range(len(self.ends)):
                    if other != worker:
                        found = (self.ended(other, before=start), sum(end <= start for end in self.ends[other]))
                        widest = max(widest, *(abs(count - held) for held in found))
        return widest


def superstep(durations: Durations, monitored: int, planned: Sequence[int]) -> Superstep:
    """All start at 0; once all have ended so many iterations, each ends as many more as planned.

    Args:
        durations: see `Durations`.
        monitored: M.
        planned: by worker, from 1 to R.
    """
    longest = sum(map(sum, durations), Fraction(0)) * (monitored + max(planned) + 1)
    ends: list[list[Fraction]] = []
    for own in durations:
        times = [Fraction(0)]
        while times[-1] <= longest:
            times.append(times[-1] + own[(len(times) - 1) % len(own)])
        ends.append(times[1:])
    plan = max((own[monitored - 1] for own in ends), default=Fraction(0)) if monitored else Fraction(0)
    counts = [sum(end <= plan for end in own) + more for own, more in zip(ends, planned, strict=True)]
    return Superstep(tuple(tuple(own[:count]) for own, count in zip(ends, counts, strict=True)))


def _stated_lead(durations: Durations, monitored: int, ahead: int) -> Fraction:
    every = [duration for own in durations for duration in own]
    label = "elastic_lead"
    shortest = min(every) / assumed_share(label, "shortest", shortest_duration)
    longest = max(every) / assumed_share(label, "longest", longest_duration)
    return STATEMENTS[label].fraction(
        monitoring_count=monitored, look_ahead=ahead, shortest_duration=shortest, longest_duration=longest
    )


def lead_margin(durations: Durations, monitored: int, ahead: int, planned: Sequence[int]) -> Fraction:
    """The bound on leads minus the largest lead in a superstep."""
    return _stated_lead(durations, monitored, ahead) - superstep(durations, monitored, planned).largest_lead()


def plans_check(_profile: Profile) -> Outcome:
    """`rational`: two workers of constant durations, every plan."""
    cases = [
        ([[Fraction(1)], [ratio]], monitored, ahead, planned)
        for ratio, monitored, ahead in product(RATIOS, MONITORED_COUNTS, PLANNED_COUNTS)
        for planned in product(range(1, ahead + 1), repeat=2)
    ]
    margins = [lead_margin(*case) for case in cases]
    return Outcome(
        earned=min(margins) >= 0,
        detail={"plans_count": len(cases), "attained_count": margins.count(Fraction(0))},
    )


def superstep_cases(*, least_ahead: int) -> Members:
    """(durations, M, R, plan), those that attain the bound among them.

    Args:
        least_ahead: smallest R.
    """
    duration = st.integers(4, 20).map(lambda quarters: Fraction(quarters, 4))

    def of_size(size: tuple[int, int, int]) -> Members:
        workers, monitored, ahead = size
        own = st.lists(duration, min_size=1, max_size=3)
        plan = st.lists(st.integers(1, ahead), min_size=workers, max_size=workers)
        drawn = st.tuples(st.lists(own, min_size=workers, max_size=workers), plan)
        slow = [ahead + Fraction(1, monitored + 2)]
        attaining = ([[Fraction(1)]] * (workers - 1) + [slow], [ahead] * (workers - 1) + [1])
        chosen = drawn | st.just(attaining)
        return chosen.map(lambda pair: (pair[0], monitored, ahead, pair[1]))

    return st.tuples(st.integers(2, 4), st.integers(0, 3), st.integers(least_ahead, 5)).flatmap(of_size)


def superstep_views(steps: Sequence[Superstep]) -> dict[Update, list[Update]]:
    """What the views of supersteps hold, one after the other; iterations are counted on from those of the last.

    Every update before the last barrier is held, and of each worker what it has ended when a view is read.
    """
    views: dict[Update, list[Update]] = {}
    before = 0
    for step in steps:
        earlier = list(views)
        for worker, own in enumerate(step.ends):
            for count, start in enumerate((Fraction(0), *own[:-1])):
                ended = [sum(end <= start for end in others) for others in step.ends]
                ended[worker] = count
                held = [(before + k, other + 1) for other, most in enumerate(ended) for k in range(1, most + 1)]
                views[before + count + 1, worker + 1] = [*earlier, *held]
        before += max(len(own) for own in step.ends)
    return views


def regret_cases() -> Members:
    """(durations, M, R, plans of one or two supersteps, start over √2 F, gradients over ℓ)."""
    duration = st.integers(2, 8).map(lambda halves: Fraction(halves, 2))

    def of_size(size: tuple[int, int, int]) -> Members:
        workers, monitored, ahead = size
        durations = st.lists(st.lists(duration, min_size=1, max_size=2), min_size=workers, max_size=workers)
        plan = st.lists(st.integers(1, ahead), min_size=workers, max_size=workers)
        start = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(0)])
        wishes = st.lists(st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 2)]), min_size=1, max_size=6)
        plans = st.lists(plan, min_size=1, max_size=2)
        return st.tuples(durations, st.just(monitored), st.just(ahead), plans, start, wishes | st.just([Fraction(1)]))

    return st.tuples(st.integers(1, 3), st.integers(0, 1), st.integers(2, 3)).flatmap(of_size)


def regret_margin(
    durations: Durations,
    monitored: int,
    ahead: int,
    plans: Sequence[Sequence[int]],
    start: Fraction,
    wishes: Sequence[Fraction],
) -> float:
    """The bound minus the regret of supersteps in which views hold what is completed, over the bound."""
    every = [duration for own in durations for duration in own]
    views = superstep_views([superstep(durations, monitored, plan) for plan in plans])
    numbers: dict[sympy.Symbol, object] = {n: len(durations), T: len(views), monitoring_count: monitored}
    numbers |= {look_ahead: ahead, shortest_duration: min(every), longest_duration: max(every)}
    return published_margin("elastic_regret", views, numbers, start, wishes)


def window_check(_profile: Profile) -> Outcome:
    """`rational`: the widest window of listed supersteps is s = G − 1 at most, G the number under the bound's root."""
    margins = [
        window_margin([[Fraction(1)], [ratio]], monitored, ahead, planned)
        for ratio, monitored, ahead in product(RATIOS, MONITORED_COUNTS, PLANNED_COUNTS[1:])
        for planned in product(range(1, ahead + 1), repeat=2)
    ]
    return Outcome(
        earned=min(margins) >= 0,
        detail={"supersteps_count": len(margins), "attained_count": margins.count(Fraction(0))},
    )


def window_margin(durations: Durations, monitored: int, ahead: int, planned: Sequence[int]) -> Fraction:
    """G − 1 minus the widest window in a superstep, where the bound is 2√(2G) for n = T = ℓ = F = 1."""
    every = [duration for own in durations for duration in own]
    label = "elastic_regret"
    numbers: dict[sympy.Symbol, Fraction | int] = {monitoring_count: monitored, look_ahead: ahead, n: 1, T: 1}
    numbers[shortest_duration] = min(every) / assumed_share(label, "shortest", shortest_duration)
    numbers[longest_duration] = max(every) / assumed_share(label, "longest", longest_duration)
    square = bound_square(label, Fraction(1), numbers)
    return square / 8 - 1 - superstep(durations, monitored, planned).widest_window()


def window_queries() -> tuple[Query, ...]:
    """The three terms at the step size of a superstep without monitoring, R = G."""
    ones = {shortest_duration: sympy.S.One, longest_duration: sympy.S.One, monitoring_count: sympy.S.Zero}
    return published_queries("elastic_regret", lambda window: {**ones, look_ahead: window})


def summed_check(_profile: Profile) -> Outcome:
    """`numeric`: the terms of finite runs with the views of a superstep stay below the bound, and come near it."""
    shares = [
        summed_share(
            "elastic_regret",
            workers,
            monitored * ratio - monitored + ahead - 1,
            rounds,
            {"monitoring_count": monitored, "look_ahead": ahead, "shortest_duration": 1, "longest_duration": ratio},
        )
        for workers, monitored, ahead, ratio, rounds in SUMMED_SUPERSTEPS
    ]
    return Outcome(earned=max(shares) <= 1, detail={"shares_of_the_bound": shares})


def descend_on_arrivals(
    arrivals: Sequence[tuple[int, int]], *, start: Fraction, slopes: Sequence[Fraction], updates_each: int
) -> Fraction:
    """Regret against 0 of descent with η = 1 on the losses |slope · x_c|.

    Args:
        arrivals: in order, the worker, and how many updates after its own last one it starts, as far as there are any.
        start: every coordinate of x_1.
        slopes: read cyclically, one per update.
        updates_each: the coordinate c changes after so many updates.
    """
    held: dict[int, int] = {}
    gradients: list[Fraction] = []
    regret = Fraction(0)
    for number, (worker, later) in enumerate(arrivals):
        seen = min(held.get(worker, 0) + later, number)
        first = number // updates_each * updates_each
        position = start - sum(gradients[first:seen], Fraction(0))
        slope = slopes[number % len(slopes)]
        gradients.append(slope if position >= 0 else -slope)
        regret += slope * abs(position)
        held[worker] = number + 1
    return regret


def arrival_cases() -> Members:
    """(workers, arrivals, relative start, slopes, updates on each coordinate), equality among them."""

    def of_size(size: tuple[int, int]) -> Members:
        workers, further = size
        updates = workers + further
        drawn = st.lists(st.tuples(st.integers(0, workers - 1), st.integers(0, 2)), min_size=updates, max_size=updates)
        in_turn = st.just([(number % workers, 0) for number in range(updates)])
        share = st.fractions(min_value=0, max_value=1, max_denominator=4)
        slopes = st.just([Fraction(1)]) | st.lists(share, min_size=1, max_size=3)
        starts = st.just(Fraction(1)) | share
        each = st.sampled_from([workers, updates])
        return st.tuples(st.just(workers), drawn | in_turn, starts, slopes, each)

    return st.tuples(st.integers(1, 4), st.sampled_from([0, 0, 1, 2, 5])).flatmap(of_size)


def arrival_margin(
    workers: int,
    arrivals: Sequence[tuple[int, int]],
    relative: Fraction,
    slopes: Sequence[Fraction],
    updates_each: int,
) -> Fraction:
    """bound² − regret² of a run with the assumed step η = 1; a relative start of 1 is as far as F permits or useful."""
    label, numbers = "arrival_regret", {n: workers, T: len(arrivals)}
    longest, half = (Fraction(str(assumed_unit(label, name))) for name in ("longest_gradient", "half_square"))
    square = square_radius(label, numbers)
    coordinates_count = -(-len(arrivals) // updates_each)
    farthest = root_below(2 * half * square / coordinates_count)
    useful = farthest if len(arrivals) == workers else Fraction(updates_each)
    start = relative * min(farthest, useful)
    scaled = [longest * slope for slope in slopes]
    regret = descend_on_arrivals(arrivals, start=start, slopes=scaled, updates_each=updates_each)
    return bound_square(label, square, numbers) - regret**2


def arrival_queries() -> tuple[Query, ...]:
    """Descent on a line, ℓ = η = 1, for every start and every subgradient: one round."""
    return tuple(_arrival_query(workers, held) for workers, held in ((1, (0,)), (2, (0, 0))))


def _arrival_query(workers: int, held: Sequence[int]) -> Query:
    start = sympy.Symbol("start", real=True)
    taken = sympy.symbols(f"g_:{len(held)}", real=True)
    regret = sympy.expand(
        sympy.Add(*(own * (start - sympy.Add(*taken[:seen])) for own, seen in zip(taken, held, strict=True)))
    )
    square = square_radius("arrival_regret", {n: workers, T: len(held)})
    numbers = {n: sympy.Integer(workers), T: sympy.Integer(len(held)), lipschitz: sympy.S.One}
    stated = STATEMENTS["arrival_regret"].bound.xreplace({**numbers, radius: sympy.sqrt(sympy.Rational(square))})
    bound = sympy.sqrt(sympy.expand(stated**2))
    return Query(
        claim=f"{workers} workers, {len(held)} updates",
        premises=(sympy.Le(start**2, 2 * sympy.Rational(square)), *(sympy.Le(own**2, 1) for own in taken)),
        conclusion=sympy.Le(regret, bound),
        false_twin=sympy.Le(regret, bound * sympy.Rational(7, 8)),
    )


_NAMES = Unneeded("shortest_duration <= longest_duration", "no iteration is shorter than the shortest")

EDGES: dict[str, tuple[Remark, ...]] = {
    "elastic_lead": (_NAMES,),
    "elastic_regret": (
        _NAMES,
        Unneeded(
            "look_ahead >= 2",
            "R = 1 needs a longer formula: views before a plan may then miss one iteration more, and G is as for R = 2",
        ),
    ),
    "arrival_regret": (
        # All of T = n − 2 workers start at x_1, at the distance √2 F with the slope ℓ.
        Edge("T >= n - 1", {"T": 2, "lipschitz": 1, "n": 4, "radius": 1}, left=lambda: 2 * sympy.sqrt(2)),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "elastic_lead": {
        "rational": plans_check,
        "property": property_check(lambda: superstep_cases(least_ahead=1), lead_margin),
    },
    "elastic_regret": {
        "smt": smt_check(window_queries),
        "rational": window_check,
        "numeric": summed_check,
        "property": property_check(regret_cases, regret_margin),
    },
    "arrival_regret": {
        "smt": smt_check(arrival_queries),
        "rational": partial(alone_check, label="arrival_regret"),
        "property": property_check(arrival_cases, arrival_margin),
    },
}
"""Every check of these statements, by label and grade."""
