"""Does ZipLine find the best barrier, what does it cost, and how much does a longer look-ahead save?

Small instances against all Rⁿ choices; seconds of the sweep, of the sweep as printed and of a plain scan, up to 1,000
workers; and the spread found at constant speeds against its bounds. No gradients. Rule: Zhao, Papagelis, An, Chen, Liu
and Hu 2019, as `experiments/planners/zipline.py` reads it; scan, speeds and bounds are ours.
"""

from __future__ import annotations

import math
import random
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sparsync.experiments.planners.zipline import COSTS, Times, exhaustive, printed_zipline, zipline
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

SMALL_WORKERS = (2, 3, 4)
SMALL_LOOK_AHEADS = (1, 2, 3, 4, 5)
SPAN_WORKERS = (2, 3, 4)
SLOWEST_INTERVAL = 1.5
"""Drawn intervals lie between one second and this."""
GRAIN = 2.0**-20
"""Times are multiples of this, so that their sums and differences are exact, and equal costs are equal."""
TIMER_SECONDS = 0.01
"""A timed repetition calls as often as fills this."""


@dataclass(frozen=True)
class Sizes:
    """How much is run.

    Args:
        instances: small ones of each family.
        workers: n of the timed plans.
        look_aheads: R of the timed plans.
        most_scanned_workers: n up to which the slower contenders are timed.
        repetitions: of each timing.
        span_look_aheads: R of the spreads.
        draws: random speeds for each number of workers.
    """

    instances: int
    workers: tuple[int, ...]
    look_aheads: tuple[int, ...]
    most_scanned_workers: int
    repetitions: int
    span_look_aheads: tuple[int, ...]
    draws: int


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(100, (10, 30), (15, 50), 30, 2, (4, 16, 64), 2),
    "quick": Sizes(1000, (10, 30, 100, 300, 1000), (15, 50, 150), 100, 3, tuple(2**k for k in range(2, 12)), 20),
    "full": Sizes(
        20_000, (10, 30, 100, 300, 1000, 3000), (15, 50, 150, 500), 300, 9, tuple(2**k for k in range(2, 16)), 200
    ),
}
"""By profile."""


def uniform_times(generator: random.Random, look_ahead: int) -> list[float]:
    """Times of a worker: uniform on the multiples of `GRAIN` below one."""
    return sorted(GRAIN * generator.randrange(round(1 / GRAIN)) for _ in range(look_ahead))


def tied_times(generator: random.Random, look_ahead: int) -> list[float]:
    """Times of a worker: whole numbers up to 8, so that many meet."""
    return sorted(float(generator.randint(1, 8)) for _ in range(look_ahead))


def periodic_times(generator: random.Random, look_ahead: int) -> list[float]:
    """Times of a worker as ElasticBSP predicts them: multiples of one interval."""
    interval = 1.0 + GRAIN * generator.randrange(round((SLOWEST_INTERVAL - 1.0) / GRAIN))
    return [step * interval for step in range(1, look_ahead + 1)]


FAMILIES: dict[str, Callable[[random.Random, int], list[float]]] = {
    "uniform": uniform_times,
    "tied": tied_times,
    "periodic": periodic_times,
}
"""How the times of small instances are drawn."""


def scan(times: Times) -> float:
    """The least spread, O(Rn²): for every time as the barrier, everybody's latest time up to it."""
    first_barrier = max(row[0] for row in times)
    places, best = [0] * len(times), math.inf
    for barrier in sorted(time for row in times for time in row):
        for worker, row in enumerate(times):
            while places[worker] + 1 < len(row) and row[places[worker] + 1] <= barrier:
                places[worker] += 1
        if barrier >= first_barrier:
            best = min(best, barrier - min(row[place] for row, place in zip(times, places, strict=True)))
    return best


PLANNERS: dict[str, Callable[[Times], float]] = {
    "sweep": lambda times: zipline(times).cost,
    "printed sweep": lambda times: printed_zipline(times).cost,
    "scan": scan,
}
"""What finds the least spread, by name; all but the first are timed up to `most_scanned_workers` only."""


Part = tuple[Callable[[Any], Any], Any]
"""A function and what it is called with."""


def run_planned_barriers(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Run all parts; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases; plans are timed one after another in this process.
        seed: names the random streams.

    Returns:
        `small`: see `compare_small`. `timings`: planner, `workers`, `look_ahead`, `wall_seconds` of the best
        repetition and the `spread` found. `wall_exponents`: see `fitted_exponents`. `spans`: see `find_spans`.
    """
    sizes = sized(SIZES, profile_name)
    small = [(family, sizes.instances, seed) for family in FAMILIES]
    spans = [(workers, sizes.span_look_aheads, sizes.draws, seed) for workers in SPAN_WORKERS]
    timings = replace(pool, job_count=1).run(time_plan, timed_cases(sizes, seed))
    parts: list[Part] = [(compare_small, case) for case in small] + [(find_spans, case) for case in spans]
    found = pool.run(_run_part, parts)
    return {
        "profile": profile_name,
        "seed": seed,
        "small": found[: len(small)],
        "timings": timings,
        "wall_exponents": {planner: fitted_exponents(timings, planner) for planner in PLANNERS},
        "spans": [row for rows in found[len(small) :] for row in rows],
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How many cases a profile has."""
    return len(FAMILIES) + len(timed_cases(sized(SIZES, profile_name), seed=0)) + len(SPAN_WORKERS)


def compare_small(case: tuple[str, int, int]) -> dict[str, Any]:
    """How often do the sweeps agree with all Rⁿ choices?

    Args:
        case: family, number of instances, seed; workers and look-ahead of each instance are drawn.

    Returns:
        The number of `instances`; for each objective, how many the sweep solves as the listing does, cost and barrier
        (`equal`); how many the printed sweep does with its guard at the end of the line (`printed_equal`), and how
        many without it end at a spread that no choice has (`unguarded_wrong`).
    """
    family, count, seed = case
    generator = random.Random(f"barriers {family} {seed}")
    equal = dict.fromkeys(COSTS, 0)
    printed_equal = unguarded_wrong = 0
    for _ in range(count):
        worker_count, look_ahead = generator.choice(SMALL_WORKERS), generator.choice(SMALL_LOOK_AHEADS)
        times = [FAMILIES[family](generator, look_ahead) for _ in range(worker_count)]
        best = {objective: exhaustive(times, objective, begin=-1.0) for objective in COSTS}
        for objective in COSTS:
            equal[objective] += zipline(times, objective, begin=-1.0)[:2] == best[objective][:2]
        printed_equal += printed_zipline(times)[:2] == best["spread"][:2]
        unguarded_wrong += printed_zipline(times, is_guarded=False).cost < best["spread"].cost
    return {
        "family": family,
        "instances": count,
        "equal": equal,
        "printed_equal": printed_equal,
        "unguarded_wrong": unguarded_wrong,
    }


TimedCase = tuple[str, int, int, int, int]
"""Planner, workers, look-ahead, repetitions, seed."""


def timed_cases(sizes: Sizes, seed: int) -> list[TimedCase]:
    """Every planner at every size that it is timed at."""
    return [
        (planner, workers, look_ahead, sizes.repetitions, seed)
        for planner in PLANNERS
        for workers in sizes.workers
        for look_ahead in sizes.look_aheads
        if planner == "sweep" or workers <= sizes.most_scanned_workers
    ]


def time_plan(case: TimedCase) -> dict[str, Any]:
    """Wall seconds of one plan with periodic times, the best of some repetitions."""
    planner, worker_count, look_ahead, repetitions, seed = case
    generator = random.Random(f"barriers timing {seed}")
    times = [periodic_times(generator, look_ahead) for _ in range(worker_count)]
    plan = PLANNERS[planner]
    calls = max(1, round(TIMER_SECONDS / timeit.timeit(lambda: plan(times), number=1)))
    seconds = min(timeit.repeat(lambda: plan(times), repeat=repetitions, number=calls)) / calls
    return {
        "planner": planner,
        "workers": worker_count,
        "look_ahead": look_ahead,
        "wall_seconds": seconds,
        "spread": plan(times),
    }


def fitted_exponents(timings: Sequence[dict[str, Any]], planner: str) -> dict[str, float]:
    """The p and q of seconds ∝ n^p R^q, by least squares of logarithms over all sizes of a planner."""
    rows = [row for row in timings if row["planner"] == planner]
    columns = [[1.0, math.log(row["workers"]), math.log(row["look_ahead"])] for row in rows]
    seconds = [math.log(row["wall_seconds"]) for row in rows]
    _, workers, look_ahead = np.linalg.lstsq(np.array(columns), np.array(seconds), rcond=None)[0]
    return {"workers": float(workers), "look_ahead": float(look_ahead)}


def find_spans(case: tuple[int, Sequence[int], int, int]) -> list[dict[str, Any]]:
    """The least spread of n workers of constant speeds against the look-ahead.

    Args:
        case: workers, look-aheads, random draws, seed.

    Returns:
        For each kind of intervals and each look-ahead: the `spread` in units of the shortest interval (of several
        draws the geometric mean), the `bound` of the statement, likewise, and the largest quotient of the two,
        `share_of_bound`; null where the statement says nothing of some draw.
    """
    worker_count, look_aheads, draws, seed = case
    generator = random.Random(f"barriers spans {worker_count} {seed}")
    drawn = [[generator.uniform(1.0, SLOWEST_INTERVAL) for _ in range(worker_count)] for _ in range(draws)]
    return [
        {"workers": worker_count, "intervals": kind, "look_ahead": look_ahead, **_span(rows, look_ahead)}
        for kind, rows in (("algebraic", [algebraic_intervals(worker_count)]), ("drawn", drawn))
        for look_ahead in look_aheads
    ]


def algebraic_intervals(worker_count: int) -> list[float]:
    """2^{i/n}, i = 0, …, n − 1: their quotients are as hard to approximate together as any, up to a constant.

    Source: classical, since the quotients are a basis of a real number field.
    """
    return [2 ** (place / worker_count) for place in range(worker_count)]


def span_bound(intervals: Sequence[float], look_ahead: int) -> float | None:
    """What the statements say of the least spread; None outside their domain.

    Args:
        intervals: by worker.
        look_ahead: R.
    """
    exact = sorted(map(Fraction, intervals))
    shortest, longest, count = exact[0], exact[-1], len(exact)
    if longest > look_ahead * shortest:
        return None
    given = {"look_ahead": look_ahead, "shortest_duration": shortest, "longest_duration": longest}
    if count == 2:
        return STATEMENTS["zipline_two_workers"].evaluate(**given)
    product = math.prod(exact[:-1])
    slow_count = look_ahead * shortest // longest
    if 2 ** (count - 1) * product >= count * (1 + slow_count) * shortest ** (count - 1):
        return None
    return STATEMENTS["zipline_waiting"].evaluate(n=count, duration_product=product, **given)


def _span(rows: Sequence[Sequence[float]], look_ahead: int) -> dict[str, float | None]:
    ahead = range(1, look_ahead + 1)
    spreads = [zipline([[step * interval for step in ahead] for interval in row]).cost for row in rows]
    found = [spread / min(row) for spread, row in zip(spreads, rows, strict=True)]
    bounds = [span_bound(row, look_ahead) for row in rows]
    known = [bound / min(row) for bound, row in zip(bounds, rows, strict=True) if bound is not None]
    if len(known) < len(rows):
        return {"spread": _geometric_mean(found), "bound": None, "share_of_bound": None}
    shares = [spread / bound for spread, bound in zip(found, known, strict=True)]
    return {"spread": _geometric_mean(found), "bound": _geometric_mean(known), "share_of_bound": max(shares)}


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _run_part(part: Part) -> Any:
    function, case = part
    return function(case)
