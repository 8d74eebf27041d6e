"""What evidence is there for the statements on the cost of barriers, besides their derivations?

A link that serves messages one by one, steps counted one by one, and a worker that is timed, all in exact fractions;
the order statistic by inclusion and exclusion and by simulation; and all values of some of these at once. Ours.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import cycle
from math import comb

import numpy
import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import (
    bandwidth,
    commit_count,
    commit_time,
    compute_time,
    deferred_size,
    exchange_time,
    flag_time,
    least_speed_up,
    mean_duration,
    message_size,
    n,
    period,
    synchronised_share,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

SEED = 19530101
"""Of the durations that are drawn."""
LARGEST_WORKERS = 12
"""Number of workers up to which the order statistic is computed exactly."""
SIMULATED_SIZES = ((2, 1), (8, 7), (16, 12), (32, 32))
"""(workers, awaited workers) of the simulation."""
DRAWS_COUNT = 40_000
"""Barriers simulated per size: the standard error is below 0.6 % of the mean."""
LARGEST_DEVIATION = 4.5
"""Standard errors allowed: a correct statement fails one of four comparisons with probability below 3·10⁻⁵."""
ITERATIONS_COUNT = 4
"""Iterations of an exchange in two stages that are run; the first has nothing deferred to it."""
SOME_STEPS = 3
"""Steps, or commits, about which the solvers are asked."""

POSITIVE = st.integers(1, 96).map(lambda twelfths: Fraction(twelfths, 12))
UNIT = st.integers(0, 12).map(lambda twelfths: Fraction(twelfths, 12))

_COMPUTE, _SIZE, _DEFERRED, _BYTE = sympy.symbols("compute size deferred byte_time", real=True)
_EXCHANGE, _FLAG, _SHARE, _FACTOR = sympy.symbols("exchange flag share factor", real=True)
_COMMIT, _COUNT, _PERIOD = sympy.symbols("commit count period", real=True)
_REAL = {
    compute_time: _COMPUTE,
    message_size: _SIZE,
    deferred_size: _DEFERRED,
    bandwidth: n / _BYTE,
    exchange_time: _EXCHANGE,
    flag_time: _FLAG,
    synchronised_share: _SHARE,
    least_speed_up: _FACTOR,
    commit_time: _COMMIT,
    commit_count: _COUNT,
    period: _PERIOD,
}
"""Symbols without assumptions, so that the solvers get every premise; the time of a byte is that of all workers'."""
_SIZES = (_COMPUTE > 0, _SIZE > 0, _BYTE > 0, _DEFERRED >= 0, _DEFERRED <= _SIZE)
_TIMES = (_COMPUTE > 0, _EXCHANGE > 0, _FLAG >= 0)


def iteration_times(
    compute: Fraction, workers: int, size: Fraction, deferred: Fraction, rate: Fraction
) -> list[Fraction]:
    """Times of the iterations of an exchange in two stages, over a link that serves messages as they come.

    Args:
        compute: time of a gradient.
        workers: each sends one message of the first stage and one of the second.
        size: bytes of both.
        deferred: bytes of the second.
        rate: bytes per unit of time.
    """
    started, link_free = Fraction(0), Fraction(0)
    times = []
    for iteration in range(ITERATIONS_COUNT):
        messages = [(started, deferred)] * workers if iteration else []
        messages += [(started + compute, size - deferred)] * workers
        for ready, length in messages:
            link_free = max(ready, link_free) + length / rate
        ended = max(link_free, started + compute)
        times.append(ended - started)
        started = ended
    return times


def two_stage_cases() -> Members:
    """(compute time, workers, bytes, share of them deferred or None for the best, bandwidth)."""
    return st.tuples(POSITIVE, st.integers(1, 4), POSITIVE, UNIT | st.none(), POSITIVE)


def deferred_bytes(compute: Fraction, workers: int, size: Fraction, share: Fraction | None, rate: Fraction) -> Fraction:
    """A share of the bytes, or as many as pass the link in the time of a gradient."""
    return min(size, rate * compute / workers) if share is None else size * share


def time_margin(compute: Fraction, workers: int, size: Fraction, share: Fraction | None, rate: Fraction) -> Fraction:
    """Minus the largest difference of an iteration's time from the statement's, from the second iteration on."""
    deferred = deferred_bytes(compute, workers, size, share, rate)
    stated = STATEMENTS["osp_time"].fraction(
        compute_time=compute, n=workers, message_size=size, deferred_size=deferred, bandwidth=rate
    )
    return -max(abs(time - stated) for time in iteration_times(compute, workers, size, deferred, rate)[1:])


def two_stage_margin(
    compute: Fraction, workers: int, size: Fraction, share: Fraction | None, rate: Fraction
) -> Fraction:
    """The bound on the speed-up minus that of the run."""
    deferred = deferred_bytes(compute, workers, size, share, rate)
    times = [iteration_times(compute, workers, size, bytes_later, rate)[-1] for bytes_later in (Fraction(0), deferred)]
    bound = STATEMENTS["osp_speed_up"].fraction(compute_time=compute, n=workers, message_size=size, bandwidth=rate)
    return bound - times[0] / times[1]


def two_stage_queries() -> Iterator[Query]:
    """For all times: when the link is free and the gradient computed, the first stage ends as stated."""
    start = sympy.Symbol("start", real=True)
    premises = (
        *_SIZES,
        sympy.Ge(start, _COMPUTE),
        sympy.Ge(start, _DEFERRED * _BYTE),
        sympy.Eq((start - _COMPUTE) * (start - _DEFERRED * _BYTE), 0),
    )
    end = start + (_SIZE - _DEFERRED) * _BYTE
    for conditions, stated in _cases(STATEMENTS["osp_time"].bound.xreplace(_REAL)):
        yield Query(
            claim=f"the time is {stated}",
            premises=(*premises, *conditions),
            conclusion=sympy.Eq(end, stated),
            false_twin=sympy.Eq(end, stated + _DEFERRED * _BYTE),
        )


def two_stage_speed_up_queries() -> Iterator[Query]:
    """For all times and all S: an iteration takes at least what the bound on the speed-up says."""
    time = sympy.Symbol("time", real=True)
    premises = (
        *_SIZES,
        sympy.Ge(time, _COMPUTE + (_SIZE - _DEFERRED) * _BYTE),
        sympy.Ge(time, _SIZE * _BYTE),
    )
    barrier = _COMPUTE + _SIZE * _BYTE
    for conditions, stated in _cases(STATEMENTS["osp_speed_up"].bound.xreplace(_REAL)):
        numerator, denominator = sympy.fraction(sympy.together(stated))
        yield Query(
            claim=f"the speed-up is at most {stated}",
            premises=(*premises, *conditions),
            conclusion=sympy.Le(barrier * denominator, numerator * time),
            false_twin=sympy.Le(8 * barrier * denominator, 7 * numerator * time),
        )


def _cases(expression: sympy.Expr) -> Iterator[tuple[tuple[sympy.Basic, ...], sympy.Expr]]:
    """The expression without its maximum: for each argument, the conditions under which it is the largest."""
    (maximum,) = expression.atoms(sympy.Max)
    for largest in maximum.args:
        others = (other for other in maximum.args if other != largest)
        yield tuple(sympy.Ge(largest, other) for other in others), expression.xreplace({maximum: largest})


def step_cases() -> Members:
    """(compute time, time to agree, time of an exchange, after which steps there is one)."""
    return st.tuples(POSITIVE, UNIT, POSITIVE, st.lists(st.booleans(), min_size=1, max_size=8))


def measured_speed_up(compute: Fraction, flag: Fraction, exchange: Fraction, exchanged: Sequence[bool]) -> Fraction:
    """Time with an exchange after each step over the time with those selected, step by step."""
    always = sum((compute + exchange for _ in exchanged), Fraction(0))
    selected = sum((compute + flag + (exchange if chosen else 0) for chosen in exchanged), Fraction(0))
    return always / selected


def speed_up_margin(compute: Fraction, flag: Fraction, exchange: Fraction, exchanged: Sequence[bool]) -> Fraction:
    """Minus the difference of the measured speed-up from the statement's."""
    stated = STATEMENTS["selsync_speed_up"].fraction(
        compute_time=compute,
        flag_time=flag,
        exchange_time=exchange,
        synchronised_share=Fraction(sum(exchanged), len(exchanged)),
    )
    return -abs(measured_speed_up(compute, flag, exchange, exchanged) - stated)


def demanded_cases() -> Members:
    """Steps whose speed-up is at least 1, and which part of the rest is demanded."""
    faster = step_cases().filter(lambda case: measured_speed_up(*case) >= 1)
    return st.tuples(faster, UNIT)


def share_margin(steps: tuple[Fraction, Fraction, Fraction, Sequence[bool]], part: Fraction) -> Fraction:
    """The bound on the share of exchanges, at a speed-up that the steps have, minus their share."""
    compute, flag, exchange, exchanged = steps
    demanded = 1 + part * (measured_speed_up(*steps) - 1)
    bound = STATEMENTS["selsync_share"].fraction(
        compute_time=compute, flag_time=flag, exchange_time=exchange, least_speed_up=demanded
    )
    return bound - Fraction(sum(exchanged), len(exchanged))


def selective_queries() -> tuple[Query, ...]:
    """A few steps, each with an exchange or not: the quotient of the times is as stated."""
    chosen = sympy.symbols(f"chosen_:{SOME_STEPS}", real=True)
    selected = SOME_STEPS * (_COMPUTE + _FLAG) + _EXCHANGE * sympy.Add(*chosen)
    always = SOME_STEPS * (_COMPUTE + _EXCHANGE)
    numerator, denominator = sympy.fraction(sympy.together(STATEMENTS["selsync_speed_up"].bound.xreplace(_REAL)))
    return (
        Query(
            claim=f"{SOME_STEPS} steps",
            premises=(
                *_TIMES,
                *(sympy.Eq(value * (value - 1), 0) for value in chosen),
                sympy.Eq(SOME_STEPS * _SHARE, sympy.Add(*chosen)),
            ),
            conclusion=sympy.Eq(numerator * selected, denominator * always),
            false_twin=sympy.Eq(numerator * (selected - SOME_STEPS * _FLAG), denominator * always),
        ),
    )


def share_queries() -> tuple[Query, ...]:
    """All times and shares: a speed-up of φ or more leaves no share that is larger than either number."""
    return tuple(_share_query(bound) for bound in _without_minimum(STATEMENTS["selsync_share"].bound))


def _without_minimum(bound: sympy.Expr) -> list[sympy.Expr]:
    """With each part of its minimum for the whole; itself where there is none."""
    smallest = bound.atoms(sympy.Min)
    return [bound.xreplace({found: part}) for found in smallest for part in found.args] or [bound]


def _share_query(bound: sympy.Expr) -> Query:
    numerator, denominator = sympy.fraction(sympy.together(bound.xreplace(_REAL)))
    return Query(
        claim=f"the share of exchanges is no more than {bound}",
        premises=(
            *_TIMES,
            *(_SHARE >= 0, _SHARE <= 1, _FACTOR > 0),
            sympy.Le(_FACTOR * (_COMPUTE + _FLAG + _SHARE * _EXCHANGE), _COMPUTE + _EXCHANGE),
        ),
        conclusion=sympy.Le(_SHARE * denominator, numerator),
        false_twin=sympy.Le(2 * _SHARE * denominator, numerator),
    )


def expected_order_statistic(workers: int, awaited: int) -> Fraction:
    """∫ P(fewer than b of n durations are below t) dt for mean 1, by inclusion and exclusion in powers of exp(−t)."""
    total = Fraction(0)
    for below in range(awaited):
        for excluded in range(below + 1):
            sign = -1 if excluded % 2 else 1
            total += Fraction(sign * comb(workers, below) * comb(below, excluded), workers - below + excluded)
    return total


def order_statistic_check(_profile: Profile) -> Outcome:
    """`rational`: the wait for b of n workers, integrated exactly, is the statement's."""
    sizes = [(workers, awaited) for workers in range(1, LARGEST_WORKERS + 1) for awaited in range(1, workers + 1)]
    wrong = [
        list(size)
        for size in sizes
        if expected_order_statistic(*size)
        != STATEMENTS["backup_waiting"].fraction(n=size[0], awaited_count=size[1], mean_duration=1)
    ]
    return Outcome(earned=not wrong, detail={"sizes_count": len(sizes), "wrong_sizes": wrong})


def wait_deviation(workers: int, awaited: int) -> float:
    """(simulated mean wait − stated)/standard error, for durations of mean 2."""
    generator = numpy.random.default_rng([SEED, workers, awaited])
    mean = float(2 * assumed_share("backup_waiting", "mean", mean_duration))
    durations = generator.exponential(mean, size=(DRAWS_COUNT, workers))
    waits = numpy.partition(durations, awaited - 1, axis=1)[:, awaited - 1]
    stated = STATEMENTS["backup_waiting"].evaluate(n=workers, awaited_count=awaited, mean_duration=2)
    return float((waits.mean() - stated) / (waits.std(ddof=1) / numpy.sqrt(DRAWS_COUNT)))


def wait_check(_profile: Profile) -> Outcome:
    """`simulated`: the mean wait of independent barriers is the statement's, within its standard error."""
    deviations = {f"{awaited} of {workers}": wait_deviation(workers, awaited) for workers, awaited in SIMULATED_SIZES}
    earned = all(abs(deviation) <= LARGEST_DEVIATION for deviation in deviations.values())
    return Outcome(earned=earned, detail={"deviations_in_standard_errors": deviations})


def waiting_share_of(interval: Fraction, commit: Fraction, durations: Sequence[Fraction], end: Fraction) -> Fraction:
    """Share of the time up to `end` in which a worker waits for commits, each after the first step that is due.

    Args:
        interval: least time of computing before a commit.
        commit: time of a commit.
        durations: of its steps, read cyclically.
        end: where its time is cut.
    """
    steps = cycle(durations)
    now, waited = Fraction(0), Fraction(0)
    while now < end:
        computed = Fraction(0)
        while computed < interval:
            computed += next(steps)
        now += computed
        waited += max(min(commit, end - now), Fraction(0))
        now += commit
    return waited / end


def commit_cases() -> Members:
    """(period, commits in it, share of a commit's part that it takes, relative step durations, cut in intervals)."""
    steps = st.lists(st.integers(1, 12).map(lambda sixths: Fraction(sixths, 6)), min_size=1, max_size=3)
    cut = st.integers(1, 32).map(lambda eighths: Fraction(eighths, 8))
    return st.tuples(POSITIVE, st.integers(1, 5), UNIT.filter(bool), steps | st.just([Fraction(1)]), cut)


def waiting_margin(
    length: Fraction, commits: int, share: Fraction, steps: Sequence[Fraction], cut: Fraction
) -> Fraction:
    """The bound on the share of waiting minus that of a worker."""
    part = length / commits
    statement = STATEMENTS["adsp_waiting_share"]
    numbers = {symbol: sympy.Rational(value) for symbol, value in ((period, length), (commit_count, commits))}
    numbers[commit_time] = sympy.Rational(part * share)
    interval, commit = (
        Fraction(str(statement.given(name).xreplace(numbers).doit())) for name in ("computing", "waiting")
    )
    durations = [step * (interval or part) for step in steps]
    waited = waiting_share_of(interval, commit, durations, cut * part)
    bound = STATEMENTS["adsp_waiting_share"].fraction(commit_time=part * share, commit_count=commits, period=length)
    return bound - waited


def waiting_queries() -> tuple[Query, ...]:
    """A few commits, cut within the last: all times of computing that are long enough."""
    computed = sympy.symbols(f"computed_:{SOME_STEPS}", real=True)
    early = sympy.Symbol("early", real=True)
    waited = SOME_STEPS * _COMMIT - early
    elapsed = sympy.Add(*computed) + waited
    numerator, denominator = sympy.fraction(sympy.together(STATEMENTS["adsp_waiting_share"].bound.xreplace(_REAL)))
    return (
        Query(
            claim=f"{SOME_STEPS} commits",
            premises=(
                *(_COMMIT > 0, _COUNT > 0, _PERIOD > 0, _COMMIT * _COUNT <= _PERIOD),
                *(sympy.Ge(_COUNT * (time + _COMMIT), _PERIOD) for time in computed),
                *(time >= 0 for time in computed),
                *(early >= 0, early <= _COMMIT),
            ),
            conclusion=sympy.Le(waited * denominator, numerator * elapsed),
            false_twin=sympy.Le(8 * waited * denominator, 7 * numerator * elapsed),
        ),
    )


EDGES: dict[str, tuple[Remark, ...]] = {
    "osp_time": (Unneeded("deferred_size <= message_size", "no more bytes can be deferred than a message has"),),
    "selsync_speed_up": (Unneeded("synchronised_share <= 1", "no more than all steps are followed by an exchange"),),
    "selsync_share": (
        Edge(
            str(STATEMENTS["selsync_share"].domain[0]),
            {"compute_time": 1, "flag_time": 0, "exchange_time": 12, "least_speed_up": Fraction(27, 2)},
        ),
    ),
    "backup_waiting": (Edge("awaited_count <= n", {"awaited_count": 4, "mean_duration": Fraction(5, 4), "n": 3}),),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "osp_time": {
        "smt": smt_check(lambda: tuple(two_stage_queries())),
        "property": property_check(two_stage_cases, time_margin),
    },
    "osp_speed_up": {
        "smt": smt_check(lambda: tuple(two_stage_speed_up_queries())),
        "property": property_check(two_stage_cases, two_stage_margin),
    },
    "selsync_speed_up": {"smt": smt_check(selective_queries), "property": property_check(step_cases, speed_up_margin)},
    "selsync_share": {"smt": smt_check(share_queries), "property": property_check(demanded_cases, share_margin)},
    "backup_waiting": {"rational": order_statistic_check, "simulated": wait_check},
    "adsp_waiting_share": {
        "smt": smt_check(waiting_queries),
        "property": property_check(commit_cases, waiting_margin),
    },
}
"""Every check of these statements, by label and grade."""
