"""What evidence is there for the statements on bounded staleness, besides their derivations?

Leads, makespans and rates against a discrete-event simulation in exact fractions, the throughput of two workers
against the exact stationary law and against exponential traces, the regret constants against two solvers and a
numerical minimum. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import mpmath
import numpy
import sympy
from flint import fmpq_mat
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.event_simulation import Durations, bounded_lead, bounded_staleness, run
from sparsync.verify.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.properties import Members, property_check
from sparsync.verify.smt import Query, smt_check

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

FRACTIONS = st.fractions(min_value=0, max_value=4, max_denominator=4)
DURATIONS = st.one_of(st.just(Fraction(0)), st.just(Fraction(1)), FRACTIONS)


def traces(*, smallest_slack: int) -> Members:
    """(staleness, durations) of two to four workers."""

    def of_size(size: tuple[int, int]) -> Members:
        workers, iterations = size
        own = st.lists(DURATIONS, min_size=iterations, max_size=iterations)
        return st.tuples(st.integers(smallest_slack, 4), st.lists(own, min_size=workers, max_size=workers))

    return st.tuples(st.integers(2, 4), st.integers(1, 9)).flatmap(of_size)


def lead_margin(slack: int, durations: Durations) -> Fraction:
    """The bound on leads minus the largest lead in a run."""
    return STATEMENTS["ssp_gap"].fraction(staleness=slack) - max(run(durations, bounded_staleness(slack)).leads)


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
    shorter = st.lists(st.fractions(min_value=0, max_value=1, max_denominator=6), min_size=1, max_size=3)
    longest = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(4)])
    holds = st.lists(st.booleans(), max_size=5)
    return st.tuples(st.integers(1, 5), holds, shorter, longest, st.integers(1, 12))


def rate_margin(
    limit: int, holds: Sequence[bool], shorter: Sequence[Fraction], longest: Fraction, iterations: int
) -> Fraction:
    """The bound on rates minus the largest rate, when the straggler could just have completed its iterations."""
    horizon = longest * iterations
    durations = [[duration] * (iterations + limit + 1) for duration in (*shorter, longest)]
    pushes = run(durations, bounded_lead(limit, holds)).push_times
    rate = Fraction(max(sum(time <= horizon for time in times) for times in pushes)) / horizon
    return (
        STATEMENTS["persistent_straggler"].fraction(longest_duration=longest, gap_bound=limit, horizon=horizon) - rate
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
    durations = generator.exponential(size=(ITERATIONS_COUNT, REPLICATIONS_COUNT, 2))
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


REGRET_CASES = [(1, 0, 1), (2, 0, 100), (4, 3, 10_000), (16, 8, 10**6)]
"""(workers, staleness, updates)."""
REGRET_DIGITS = 30
"""Precision of the numerical minimum."""
RELATIVE_ERROR = 2.0**-52
"""Of a number rounded to a float once."""


def three_terms(scale: mpmath.mpf, *, pending: int, updates: int) -> mpmath.mpf:
    """The assumed bound for F = 3/2 and ℓ = 2, in numbers."""
    radius, lipschitz = mpmath.mpf(3) / 2, mpmath.mpf(2)
    terms = scale * lipschitz**2 + radius**2 / scale + 4 * scale * lipschitz**2 * pending
    return terms * mpmath.sqrt(updates)


def smallest_terms(*, pending: int, updates: int) -> mpmath.mpf:
    """The minimum of the three terms over σ, by ternary search: they are convex in σ."""
    lower, upper = mpmath.mpf(10) ** -4, mpmath.mpf(10)
    for _ in range(300):
        third = (upper - lower) / 3
        left, right = lower + third, upper - third
        if three_terms(left, pending=pending, updates=updates) < three_terms(right, pending=pending, updates=updates):
            upper = right
        else:
            lower = left
    return three_terms(lower, pending=pending, updates=updates)


def _regret_comparisons(label: str) -> list[mpmath.mpf]:
    """The statement's bound over the three terms: at the published σ for the published bound, else at the best σ."""
    ratios = []
    for workers, slack, updates in REGRET_CASES:
        pending = workers * (slack + 1)
        bound = STATEMENTS[label].evaluate(n=workers, staleness=slack, T=updates, lipschitz=2, radius=Fraction(3, 2))
        published = three_terms(mpmath.mpf(3) / 4 / mpmath.sqrt(2 * pending), pending=pending, updates=updates)
        best = smallest_terms(pending=pending, updates=updates)
        ratios.append(bound / (published if label == "ssp_regret" else best))
    return ratios


def published_regret_check(_profile: Profile) -> Outcome:
    """`numeric`: the published bound lies above its own three terms, by a seventh at least and a third at most.

    It is 4/(3 + 1/(2κ_s)) times as large, κ_s = (s + 1)n ≥ 1.
    """
    with mpmath.workdps(REGRET_DIGITS):
        ratios = _regret_comparisons("ssp_regret")
        earned = mpmath.mpf(8) / 7 - RELATIVE_ERROR <= min(ratios) and max(ratios) < mpmath.mpf(4) / 3
        detail = {"cases_count": len(ratios), "smallest_ratio": float(min(ratios)), "largest_ratio": float(max(ratios))}
    return Outcome(earned=bool(earned), detail=detail)


def optimised_regret_check(_profile: Profile) -> Outcome:
    """`numeric`: the optimised bound is the minimum of the three terms over σ.

    The minimum is flat: a relative error of 10⁻¹⁵ in σ changes it by 10⁻³⁰, so the error is that of a float.
    """
    with mpmath.workdps(REGRET_DIGITS):
        errors = [float(abs(ratio - 1)) for ratio in _regret_comparisons("ssp_regret_optimised")]
    return Outcome(
        earned=max(errors) < RELATIVE_ERROR, detail={"cases_count": len(errors), "largest_error": max(errors)}
    )


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


def _regret_queries(*, optimised: bool) -> tuple[Query, ...]:
    """With x = σℓ/F: the three terms over Fℓ√T are x(1 + 4κ_s) + 1/x; q² = 1 + 4κ_s, y² = 2κ_s, κ_s ≥ 1."""
    x, q, y = sympy.symbols("x q y")
    if optimised:
        return (
            Query(
                claim="x q² + 1/x ≥ 2q",
                premises=(sympy.Gt(x, 0), sympy.Gt(q, 0)),
                conclusion=sympy.Ge(x**2 * q**2 + 1, 2 * q * x),
                false_twin=sympy.Gt(x**2 * q**2 + 1, 2 * q * x),
            ),
            Query(
                claim="2q < 4y",
                premises=(sympy.Gt(q, 0), sympy.Gt(y, 0), sympy.Eq(q**2, 1 + 2 * y**2), sympy.Ge(y**2, 2)),
                conclusion=sympy.Lt(2 * q, 4 * y),
                false_twin=sympy.Lt(2 * q, 3 * y),
            ),
        )
    return (
        Query(
            claim="x(1 + 4κ_s) + 1/x ≤ 4y at x = 1/y",
            premises=(sympy.Gt(y, 0), sympy.Eq(x * y, 1), sympy.Ge(y**2, 2)),
            conclusion=sympy.Le(x * (1 + 2 * y**2) + y, 4 * y),
            false_twin=sympy.Le(x * (1 + 2 * y**2) + y, 3 * y),
        ),
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    "ssp_gap": {"property": property_check(lambda: traces(smallest_slack=0), lead_margin)},
    "ssp_recursion": {
        "smt": smt_check(*_monotone_queries()),
        "rational": recursion_check,
        "property": property_check(lambda: traces(smallest_slack=1), speed_up_margin),
    },
    "persistent_straggler": {"property": property_check(straggler_cases, rate_margin)},
    "ssp_throughput": {"rational": stationary_check, "simulated": throughput_check},
    "ssp_regret": {"smt": smt_check(*_regret_queries(optimised=False)), "numeric": published_regret_check},
    "ssp_regret_optimised": {"smt": smt_check(*_regret_queries(optimised=True)), "numeric": optimised_regret_check},
}
"""Every check of the statements on staleness, by label and grade."""
