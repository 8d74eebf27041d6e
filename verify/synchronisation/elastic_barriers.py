"""What evidence is there for the statements on planned and elastic barriers, besides their derivations?

The sweep and every choice of times, on all small instances and on drawn ones; every schedule of a few workers under a
capped rule, and drawn ones event by event; and the terms of the regret, summed and for all real values. Ours.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, count, product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import extra_count, staleness
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.decaying_regret import published_margin, published_queries, summed_share
from sparsync.verify.delay.late_runs import numbers_of
from sparsync.verify.synchronisation.event_simulation import Durations, Policy, run
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

LISTED_INSTANCES = ((2, 1, 4), (2, 3, 7), (3, 2, 6))
"""(workers, times of each, number of different times) of the instances that are listed."""
LARGEST_LOOK_AHEAD = 8
"""Iterations ahead for which two workers are compared at every ratio of their durations."""
LARGEST_DENOMINATOR = 9
"""Of these ratios."""
SCHEDULED_SIZES = ((2, 0, 0), (2, 1, 2), (2, 3, 3), (3, 1, 1), (3, 0, 2))
"""(workers, staleness, extra) for which every schedule is followed."""
SUMMED_RUNS = ((1, 0, 0, 4), (2, 1, 1, 200), (8, 2, 2, 500), (4, 3, 0, 1000), (64, 32, 32, 8000))
"""(workers, staleness, extra, rounds) of the runs whose terms are summed."""
Times = Sequence[Sequence[int]]
"""By worker, the times at which it ends iterations, ascending."""


def swept_range(times: Times) -> int:
    """The range that the sweep finds: it holds a position in each worker's times and moves the earliest worker's.

    The others then move to their latest time that is no later than the earliest worker's new one, or than the first
    moment at which all have ended an iteration.
    """
    moment = max(own[0] for own in times)
    positions = [_latest(own, moment) for own in times]
    best = None
    while True:
        values = [own[position] for own, position in zip(times, positions, strict=True)]
        width = max(values) - min(values)
        best = width if best is None else min(best, width)
        earliest = values.index(min(values))
        if positions[earliest] + 1 == len(times[earliest]):
            return best
        moment = max(moment, times[earliest][positions[earliest] + 1])
        positions = [_latest(own, moment) for own in times]


def _latest(own: Sequence[int], moment: int) -> int:
    return max(position for position, time in enumerate(own) if time <= moment)


def sweep_margin(times: Times) -> Fraction:
    """Minus the difference of the sweep's range from the statement's, whose smallest range is that of all choices."""
    smallest = min(max(chosen) - min(chosen) for chosen in product(*times))
    return -abs(swept_range(times) - STATEMENTS["zipline_sweep"].fraction(shortest_range=smallest))


def listed_check(_profile: Profile) -> Outcome:
    """`rational`: on every small instance the sweep's range is the smallest."""
    instances = [
        times
        for workers, length, different in LISTED_INSTANCES
        for times in product(combinations(range(different), length), repeat=workers)
    ]
    wrong = [list(map(list, times)) for times in instances if sweep_margin(times)]
    return Outcome(earned=not wrong, detail={"instances_count": len(instances), "wrong_instances": wrong[:3]})


def planned_times() -> Members:
    """Times of two to four workers."""
    own = st.lists(st.integers(1, 60), min_size=1, max_size=5, unique=True).map(sorted)
    return st.lists(own, min_size=2, max_size=4).map(lambda times: (times,))


def closest(fast: Fraction, slow: Fraction, ahead: int) -> Fraction:
    """The smallest difference of two multiples of the durations, by all pairs."""
    iterations = range(1, ahead + 1)
    return min(abs(own * slow - other * fast) for own in iterations for other in iterations)


def wait_margin(fast: Fraction, slow: Fraction, ahead: int) -> Fraction:
    """The bound on the wait of two workers minus the wait."""
    bound = STATEMENTS["zipline_two_workers"].fraction(shortest_duration=fast, longest_duration=slow, look_ahead=ahead)
    return bound - closest(fast, slow, ahead)


def ratios_check(_profile: Profile) -> Outcome:
    """`rational`: no ratio of small numbers breaks the bound, and for every R ≥ 2 the ratio 1 + 1/R attains it."""
    cases = [
        (Fraction(ratio, denominator), ahead)
        for ahead in range(1, LARGEST_LOOK_AHEAD + 1)
        for denominator in range(1, LARGEST_DENOMINATOR + 1)
        for ratio in range(denominator, ahead * denominator + 1)
    ]
    wrong = [[str(slow), ahead] for slow, ahead in cases if wait_margin(Fraction(1), slow, ahead) < 0]
    for ahead in range(2, LARGEST_LOOK_AHEAD + 1):
        attaining = 1 + Fraction(1, ahead)
        wrong += [[str(attaining), ahead]] if wait_margin(Fraction(1), attaining, ahead) != 0 else []
    return Outcome(earned=not wrong, detail={"ratios_count": len(cases), "wrong_ratios": wrong[:3]})


def two_worker_cases() -> Members:
    """(shorter duration, longer duration, iterations ahead), those that attain the bound among them."""

    def with_ahead(ahead: int) -> Members:
        ratio = st.integers(0, 60).map(lambda part: 1 + Fraction(part * (ahead - 1), 60))
        attaining = st.just(1 + Fraction(1, ahead)) if ahead > 1 else st.just(Fraction(1))
        fast = st.integers(1, 12).map(lambda thirds: Fraction(thirds, 3))
        return st.tuples(fast, ratio | attaining).map(lambda pair: (pair[0], pair[0] * pair[1], ahead))

    return st.integers(1, 24).flatmap(with_ahead)


State = tuple[tuple[int, bool], ...]
"""Of each worker the iterations completed beyond the slowest, and whether it is in an iteration."""


def largest_lead(workers: int, slack: int, extra: int) -> int:
    """The largest lead after a push, over every order of pushes and every use of the permission to start."""
    start: State = ((0, False),) * workers
    seen, pending, largest = {start}, [start], 0
    while pending:
        for state, lead in _next_states(pending.pop(), slack + extra):
            largest = max(largest, lead)
            if state not in seen:
                seen.add(state)
                pending.append(state)
    return largest


def _next_states(state: State, most: int) -> Iterator[tuple[State, int]]:
    for worker, (ahead, working) in enumerate(state):
        if working:
            pushed = [
                (other + (place == worker), busy and place != worker) for place, (other, busy) in enumerate(state)
            ]
            slowest = min(other for other, _ in pushed)
            yield tuple(sorted((other - slowest, busy) for other, busy in pushed)), ahead + 1 - slowest
        elif ahead <= most:
            yield tuple(sorted((other, busy or place == worker) for place, (other, busy) in enumerate(state))), ahead


def schedules_check(_profile: Profile) -> Outcome:
    """`rational`: over every schedule no lead exceeds the bound."""
    wrong = [
        list(size)
        for size in SCHEDULED_SIZES
        if largest_lead(*size) > STATEMENTS["dssp_lead"].fraction(staleness=size[1], extra_count=size[2])
    ]
    return Outcome(earned=not wrong, detail={"sizes_count": len(SCHEDULED_SIZES), "wrong_sizes": wrong})


def capped(slack: int, extra: int, permits: Sequence[bool]) -> Policy:
    """A worker may start at a lead of at most s, or if the next permission says so, of at most s + r."""
    questions = count()

    def policy(worker: int, completed: Sequence[int]) -> bool:
        ahead = completed[worker] - min(completed)
        return ahead <= slack or (permits[next(questions) % len(permits)] and ahead <= slack + extra)

    return policy


def capped_runs() -> Members:
    """(staleness, extra, permissions, durations by worker)."""
    durations = st.lists(st.sampled_from([Fraction(1), Fraction(2), Fraction(40)]), min_size=10, max_size=10)
    permits = st.lists(st.booleans(), min_size=1, max_size=5)
    return st.tuples(st.integers(0, 4), st.integers(0, 4), permits, st.lists(durations, min_size=2, max_size=3))


def lead_margin(slack: int, extra: int, permits: Sequence[bool], durations: Durations) -> Fraction:
    """The bound on leads minus the largest lead in a run."""
    leads = run(durations, capped(slack, extra, permits)).leads
    return STATEMENTS["dssp_lead"].fraction(staleness=slack, extra_count=extra) - max(leads)


def regret_queries() -> tuple[Query, ...]:
    """The three terms at the step size that goes with s + r: for r = 0, and for s = 0."""
    return (
        *published_queries("dssp_regret", lambda window: {staleness: window - 1, extra_count: sympy.S.Zero}),
        *published_queries("dssp_regret", lambda window: {staleness: sympy.S.Zero, extra_count: window - 1}),
    )


def summed_check(_profile: Profile) -> Outcome:
    """`numeric`: the terms of finite runs with the views of a cap stay below the bound, and come near it."""
    shares = [
        summed_share("dssp_regret", workers, slack + extra, rounds, {"staleness": slack, "extra_count": extra})
        for workers, slack, extra, rounds in SUMMED_RUNS
    ]
    return Outcome(earned=max(shares) <= 1, detail={"shares_of_the_bound": shares})


def regret_cases() -> Members:
    """(staleness, extra, permissions, durations by worker, start over √2 F, gradients over ℓ)."""
    durations = st.lists(st.sampled_from([Fraction(1), Fraction(2), Fraction(9)]), min_size=6, max_size=6)
    permits = st.lists(st.booleans(), min_size=1, max_size=5)
    wishes = st.lists(st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 2)]), min_size=1, max_size=6)
    start = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(0)])
    sizes = (st.integers(0, 2), st.integers(0, 2))
    return st.tuples(
        *sizes, permits, st.lists(durations, min_size=1, max_size=3), start, wishes | st.just([Fraction(1)])
    )


def regret_margin(
    slack: int, extra: int, permits: Sequence[bool], durations: Durations, start: Fraction, wishes: Sequence[Fraction]
) -> float:
    """The bound minus the regret of workers under the capped rule who read what is completed, over the bound."""
    views = {}
    for worker, completed in run(durations, capped(slack, extra, permits)).starts:
        held = [(k, other + 1) for other, count in enumerate(completed) for k in range(1, count + 1)]
        views[completed[worker] + 1, worker + 1] = held
    numbers = numbers_of(len(durations), slack, len(views), extra)
    return published_margin("dssp_regret", views, numbers, start, wishes)


EDGES: dict[str, tuple[Remark, ...]] = {
    "zipline_two_workers": (
        Unneeded("shortest_duration <= longest_duration", "no iteration is shorter than the shortest"),
        Edge(
            "longest_duration <= look_ahead*shortest_duration",
            {"shortest_duration": 1, "longest_duration": Fraction(289, 16), "look_ahead": 17},
            left=lambda: closest(Fraction(1), Fraction(289, 16), 17),
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "zipline_sweep": {"rational": listed_check, "property": property_check(planned_times, sweep_margin)},
    "zipline_two_workers": {"rational": ratios_check, "property": property_check(two_worker_cases, wait_margin)},
    "dssp_lead": {"rational": schedules_check, "property": property_check(capped_runs, lead_margin)},
    "dssp_regret": {
        "smt": smt_check(regret_queries),
        "numeric": summed_check,
        "property": property_check(regret_cases, regret_margin),
    },
}
"""Every check of these statements, by label and grade."""
