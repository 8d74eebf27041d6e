"""What evidence is there for the statements on bounded staleness, besides their derivations?

Leads, makespans and rates against a discrete-event simulation in exact fractions, the throughput of two workers
against the exact stationary law and against exponential traces. Regret is in `verify/delay/stale_regret.py`. Ours.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from random import Random

import numpy
import sympy
from flint import fmpq_mat
from hypothesis import strategies as st

from sparsync.theory.language.symbols import gap_bound, longest_duration
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.synchronisation.event_simulation import Durations, bounded_lead, bounded_staleness, run
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

SEED = 20130605
"""Of the traces that are drawn without hypothesis."""
TRACES_COUNT = 40
"""Random traces on which the recursion is compared with the events."""
EXACT_STALENESS = range(13)
"""Where the stationary law is solved for."""
SIMULATED_STALENESS = (0, 1, 2, 4, 8)
"""Where exponential durations are simulated."""
REPLICATIONS_COUNT = 400
"""Independent traces per staleness."""
ITERATIONS_COUNT = 2000
"""Iterations per trace; the first half is left to settle, many times the walk's relaxation time ((2s + 3)/π)² ≤ 37."""
LARGEST_DEVIATION = 4.5
"""Standard errors allowed: a correct statement fails one of five comparisons with probability below 4·10⁻⁵."""

ORDERED_SIZES = tuple((workers, slack) for workers in (1, 2, 3, 4) for slack in (0, 1, 2, 3))
"""(workers, staleness) of the groups whose orders of events are all gone through."""
STRAGGLER_PUSHES = 150
"""Iterations of the straggler in a run: many, as a rate is a whole number of pushes."""
STRAGGLER_SIZES = ((2, 1, Fraction(1)), (3, 4, Fraction(3, 2)), (8, 16, Fraction(1, 3)))
"""(workers, largest lead, time of the straggler's iteration)."""

FRACTIONS = st.fractions(min_value=0, max_value=4, max_denominator=4)
DURATIONS = st.one_of(st.just(Fraction(0)), st.just(Fraction(1)), FRACTIONS)


def traces(*, smallest_slack: int) -> Members:
    """(staleness, durations) of two to four workers."""

    def of_size(size: tuple[int, int]) -> Members:
        workers, iterations = size
        own = st.lists(DURATIONS, min_size=iterations, max_size=iterations)
        return st.tuples(st.integers(smallest_slack, 4), st.lists(own, min_size=workers, max_size=workers))

    return st.tuples(st.integers(2, 4), st.integers(1, 7)).flatmap(of_size)


def saving_traces() -> Members:
    """(staleness, durations), those that attain the speed-up among them."""
    sizes = st.tuples(st.integers(2, 4), st.integers(1, 3))
    return traces(smallest_slack=1) | sizes.map(lambda size: (size[1], in_turns(*size)))


def lead_margin(slack: int, durations: Durations) -> Fraction:
    """The bound on leads minus the largest lead in a run."""
    return STATEMENTS["ssp_gap"].fraction(staleness=slack) - max(run(durations, bounded_staleness(slack)).leads)


State = tuple[tuple[int, ...], frozenset[int]]
"""Completed iterations of every worker, beyond those of the slowest, and who is in an iteration."""


def leads_in_any_order(workers: int, slack: int) -> set[int]:
    """Every lead just after a push, over all orders of events that the rule of SSP permits: so for all durations."""
    policy = bounded_staleness(slack)
    start: State = ((0,) * workers, frozenset())
    seen, open_states, leads = {start}, [start], set()
    while open_states:
        completed, busy = open_states.pop()
        following: list[State] = [
            (completed, busy | {worker})
            for worker in range(workers)
            if worker not in busy and policy(worker, completed)
        ]
        for worker in busy:
            pushed = [count + (other == worker) for other, count in enumerate(completed)]
            leads.add(pushed[worker] - min(pushed))
            # Workers are alike in the rule, and only differences count in it.
            following.append((tuple(count - min(pushed) for count in pushed), busy - {worker}))
        new = [state for state in following if state not in seen]
        seen.update(new)
        open_states += new
    return leads


def orders_check(_profile: Profile) -> Outcome:
    """`rational`: all orders of events of small groups; no lead is above the bound."""
    largest = {size: max(leads_in_any_order(*size)) for size in ORDERED_SIZES}
    wrong = [size for size, lead in largest.items() if lead > STATEMENTS["ssp_gap"].fraction(staleness=size[1])]
    return Outcome(earned=not wrong, detail={"groups_count": len(largest), "largest_lead": max(largest.values())})


def speed_up_margin(slack: int, durations: Durations) -> Fraction:
    """The bound on the speed-up minus the speed-up over a barrier, whose time is a sum of maxima."""
    bound = STATEMENTS["ssp_recursion"].fraction(n=len(durations), staleness=slack)
    makespan = run(durations, bounded_staleness(slack)).makespan
    barrier = sum(map(max, zip(*durations, strict=True)), Fraction(0))
    if makespan == 0:
        return bound if barrier == 0 else Fraction(-1)
    return bound - barrier / makespan


def recursion(durations: Durations, slack: int) -> tuple[tuple[Fraction, ...], ...]:
    """Push times by the max-plus form, by worker."""
    times: list[list[Fraction]] = [[] for _ in durations]
    for k in range(len(durations[0])):
        gate = max((own[k - 1 - slack] for own in times), default=Fraction(0)) if k > slack else Fraction(0)
        for own, trace in zip(times, durations, strict=True):
            own.append(trace[k] + max(own[-1] if own else Fraction(0), gate))
    return tuple(map(tuple, times))


def recursion_check(_profile: Profile) -> Outcome:
    """`rational`: events and max-plus form agree; push times never grow with s nor shrink with a duration."""
    generator = Random(SEED)
    agree = ordered = attained = 0
    for _ in range(TRACES_COUNT):
        durations = _random_trace(generator)
        slack = generator.randrange(4)
        times = run(durations, bounded_staleness(slack)).push_times
        agree += times == recursion(durations, slack)
        longer = [list(own) for own in durations]
        worker, k = generator.randrange(len(durations)), generator.randrange(len(durations[0]))
        longer[worker][k] += 1
        looser = run(durations, bounded_staleness(slack + 1)).push_times
        slower = run(longer, bounded_staleness(slack)).push_times
        ordered += _at_most(looser, times) and _at_most(times, slower)
        attained += speed_up_margin(slack, in_turns(len(durations), slack)) == 0
    earned = agree == ordered == attained == TRACES_COUNT
    detail = {
        "traces_count": TRACES_COUNT,
        "agreeing_count": agree,
        "ordered_count": ordered,
        "attained_count": attained,
    }
    return Outcome(earned=earned, detail=detail)


def in_turns(workers: int, slack: int) -> list[list[Fraction]]:
    """Durations that attain the speed-up: min(n, s + 1) workers take one unit of time in turn, thrice."""
    turns = min(workers, slack + 1)
    return [[Fraction(int(k % turns == worker)) for k in range(3 * turns)] for worker in range(workers)]


def _random_trace(generator: Random) -> list[list[Fraction]]:
    workers, iterations = generator.randint(1, 5), generator.randint(1, 12)
    return [[Fraction(generator.randint(0, 12), 4) for _ in range(iterations)] for _ in range(workers)]


def _at_most(first: Sequence[Sequence[Fraction]], second: Sequence[Sequence[Fraction]]) -> bool:
    return all(a <= b for one, two in zip(first, second, strict=True) for a, b in zip(one, two, strict=True))


def straggler_cases() -> Members:
    """(largest lead, holds, durations by worker with the longest last, iterations of the straggler)."""
    far = st.sampled_from([16, 17, 32])
    shorter = st.lists(st.fractions(min_value=0, max_value=1, max_denominator=6), min_size=1, max_size=3)
    longest = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(4)])
    holds = st.lists(st.booleans(), max_size=5)
    return st.tuples(st.integers(1, 5) | far, holds, shorter, longest, st.integers(1, 12))


def rate_margin(
    limit: int, holds: Sequence[bool], shorter: Sequence[Fraction], longest: Fraction, iterations: int
) -> Fraction:
    """The bound on rates minus the largest rate, when the straggler could just have completed its iterations."""
    statement = STATEMENTS["persistent_straggler"]
    numbers = {gap_bound: limit, longest_duration: sympy.Rational(longest)}
    most = int(statement.given("largest_lead").xreplace(numbers))
    straggling = Fraction(str(statement.given("slowest").xreplace(numbers)))
    horizon = straggling * iterations
    durations = [[duration] * (iterations + most + 1) for duration in (*shorter, straggling)]
    pushes = run(durations, bounded_lead(most, holds)).push_times
    rate = Fraction(max(sum(time <= horizon for time in times) for times in pushes)) / horizon
    return statement.fraction(longest_duration=longest, gap_bound=limit, horizon=horizon) - rate


def straggling_share(workers: int, limit: int, seconds: Fraction, generator: Random) -> Fraction:
    """The largest rate over the bound, at pushes of a straggler that SSP with s = G − 1 never holds.

    Others take between nothing and an eighth of the straggler's time, at random.
    """
    statement = STATEMENTS["persistent_straggler"]
    numbers = {gap_bound: limit, longest_duration: sympy.Rational(str(seconds))}
    most = int(statement.given("largest_lead").xreplace(numbers))
    straggling = Fraction(str(statement.given("slowest").xreplace(numbers)))
    count = STRAGGLER_PUSHES + most
    durations = [[straggling * Fraction(generator.randrange(9), 64) for _ in range(count)] for _ in range(workers - 1)]
    pushes = run([*durations, [straggling] * count], bounded_staleness(most - 1)).push_times
    shares = []
    for iterations in range(1, STRAGGLER_PUSHES + 1):
        horizon = iterations * straggling
        rate = max(bisect_right(times, horizon) for times in pushes) / horizon
        shares.append(rate / statement.fraction(longest_duration=seconds, gap_bound=limit, horizon=horizon))
    return max(shares)


def straggler_check(_profile: Profile) -> Outcome:
    """`simulated`: seeded runs of SSP with a straggler, whose others come within an iteration of the bound."""
    generator = Random(SEED)
    shares = [straggling_share(*size, generator) for size in STRAGGLER_SIZES]
    return Outcome(
        earned=max(shares) <= 1, detail={"runs_count": len(shares), "largest_share_of_bound": float(max(shares))}
    )


def stationary_throughput(slack: int) -> Fraction:
    """Long-run pushes per unit of time of two exponential workers, by solving for the stationary law of their counts.

    The state is the lead of the first worker; the policy of the event simulation says who works.
    """
    policy = bounded_staleness(slack)
    states = range(-slack - 1, slack + 2)
    working = {lead: [policy(worker, (max(lead, 0), max(-lead, 0))) for worker in (0, 1)] for lead in states}
    size = len(states)
    balance = fmpq_mat(size, size)
    for column, lead in enumerate(states):
        for worker, shift in ((0, 1), (1, -1)):
            if working[lead][worker]:
                balance[column, column] -= 1
                balance[states.index(lead + shift), column] += 1
    # The balance equations have rank one less than their number: the last becomes "the probabilities sum to one".
    right = fmpq_mat(size, 1)
    right[size - 1, 0] = 1
    for column in range(size):
        balance[size - 1, column] = 1
    law = balance.solve(right)
    return sum((Fraction(str(law[row, 0])) * sum(working[lead]) for row, lead in enumerate(states)), Fraction(0))


def stationary_check(_profile: Profile) -> Outcome:
    """`rational`: the throughput of the stationary law, solved for exactly, is the statement's."""
    wrong = [
        slack
        for slack in EXACT_STALENESS
        if stationary_throughput(slack) != STATEMENTS["ssp_throughput"].fraction(staleness=slack)
    ]
    return Outcome(earned=not wrong, detail={"chains_count": len(EXACT_STALENESS), "wrong_staleness": wrong})


def throughput_deviation(slack: int, *, stated: float) -> float:
    """(mean time per push − 1/stated)/standard error, over independent exponential traces."""
    generator = numpy.random.default_rng([SEED, slack])
    mean = float(STATEMENTS["ssp_throughput"].given("mean"))
    durations = generator.exponential(mean, size=(ITERATIONS_COUNT, REPLICATIONS_COUNT, 2))
    times = numpy.zeros((ITERATIONS_COUNT + 1, REPLICATIONS_COUNT, 2))
    for k in range(1, ITERATIONS_COUNT + 1):
        gate = times[max(k - 1 - slack, 0)].max(axis=1, keepdims=True)
        times[k] = durations[k - 1] + numpy.maximum(times[k - 1], gate)
    settled = ITERATIONS_COUNT // 2
    per_push = (times[-1] - times[settled]).mean(axis=1) / (2 * (ITERATIONS_COUNT - settled))
    standard_error = per_push.std(ddof=1) / numpy.sqrt(REPLICATIONS_COUNT)
    return float((per_push.mean() - 1 / stated) / standard_error)


def throughput_check(_profile: Profile) -> Outcome:
    """`simulated`: the mean time per push is the reciprocal throughput, within its standard error."""
    deviations = {
        str(slack): throughput_deviation(slack, stated=STATEMENTS["ssp_throughput"].evaluate(staleness=slack))
        for slack in SIMULATED_STALENESS
    }
    earned = all(abs(deviation) <= LARGEST_DEVIATION for deviation in deviations.values())
    return Outcome(earned=earned, detail={"deviations_in_standard_errors": deviations})


def _monotone_queries() -> tuple[Query, ...]:
    own, gate, smaller, own_later, gate_later, larger = sympy.symbols("own gate smaller own_later gate_later larger")
    maxima = (
        *(sympy.Ge(smaller, own), sympy.Ge(smaller, gate), sympy.Eq((smaller - own) * (smaller - gate), 0)),
        *(sympy.Ge(larger, own_later), sympy.Ge(larger, gate_later)),
    )
    return (
        Query(
            claim="a maximum grows with its arguments",
            premises=(*maxima, sympy.Ge(own_later, own), sympy.Ge(gate_later, gate)),
            conclusion=sympy.Ge(larger, smaller),
            false_twin=sympy.Gt(larger, smaller),
        ),
    )


QUERIED_RUNS = ((1, 1, 2), (2, 0, 2), (2, 1, 2), (2, 1, 3), (3, 1, 2), (3, 2, 3))
"""(workers, staleness, iterations) of the runs about which the solvers are asked."""


def saving_queries() -> tuple[Query, ...]:
    """All durations of some small runs: whichever workers are the slowest, a barrier costs at most the bound.

    The time with a barrier is a sum over the iterations of one worker's duration each, so every choice of workers is
    asked about; workers are alike, so choices that differ in their names are asked about once.
    """
    return tuple(
        _saving_query(workers, slack, slowest)
        for workers, slack, iterations in QUERIED_RUNS
        for slowest in product(range(workers), repeat=iterations)
        if all(worker <= len(set(slowest[:k])) for k, worker in enumerate(slowest))
    )


def _saving_query(workers: int, slack: int, slowest: Sequence[int]) -> Query:
    durations = [sympy.symbols(f"d_{k}_:{workers}", real=True) for k in range(len(slowest))]
    times = [sympy.symbols(f"c_{k}_:{workers}", real=True) for k in range(len(slowest))]
    latest = sympy.Symbol("latest", real=True)
    premises = [sympy.Ge(latest, time) for time in times[-1]]
    for k, (own_durations, own_times) in enumerate(zip(durations, times, strict=True)):
        for worker, (duration, time) in enumerate(zip(own_durations, own_times, strict=True)):
            waited_for = [times[k - 1][worker]] if k else [sympy.S.Zero]
            waited_for += times[k - 1 - slack] if k > slack else []
            premises += [sympy.Ge(duration, 0), *(sympy.Ge(time, earlier + duration) for earlier in waited_for)]
    barrier = sympy.Add(*(own[worker] for own, worker in zip(durations, slowest, strict=True)))
    bound = STATEMENTS["ssp_recursion"].exact(n=workers, staleness=slack)
    # In the first s + 1 iterations nobody waits: the workers chosen take one unit of time each, all at once.
    together = len(set(slowest[: slack + 1]))
    return Query(
        claim=f"{workers} workers, staleness {slack}, slowest {slowest}",
        premises=tuple(premises),
        conclusion=sympy.Le(barrier, bound * latest),
        false_twin=sympy.Le(barrier, (together - sympy.Rational(1, 16)) * latest),
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    "ssp_gap": {
        "rational": orders_check,
        "property": property_check(lambda: traces(smallest_slack=0), lead_margin),
    },
    "ssp_recursion": {
        "smt": smt_check(*_monotone_queries(), saving_queries),
        "rational": recursion_check,
        "property": property_check(saving_traces, speed_up_margin),
    },
    "persistent_straggler": {
        "property": property_check(straggler_cases, rate_margin),
        "simulated": straggler_check,
    },
    "ssp_throughput": {"rational": stationary_check, "simulated": throughput_check},
}
"""Every check of the statements on staleness, by label and grade."""
