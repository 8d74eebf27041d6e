"""What does a barrier gain that is planned, or whose staleness may be exceeded? Waits, leads and regret.

ElasticBSP (Zhao, Papagelis, An et al. 2020) predicts the next R times at which each worker ends an iteration, and puts
the barrier where one time of each worker are closest together; ZipLine finds them. DSSP (Zhao, An, Liu and Chen 2019)
lets a worker exceed a lower staleness by some iterations. Proofs, the law of two workers and the counterexample: ours.
"""

from collections.abc import Sequence
from itertools import combinations, product

import sympy

from sparsync.theory.delay.decaying_regret import DIAMETER, published_bound, published_scale, ssp_regret
from sparsync.theory.delay.stability import decided
from sparsync.theory.delay.stale_regret import CONVEX, MOVES, NUMBERED
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    extra_count,
    lead,
    longest_duration,
    look_ahead,
    regret,
    shortest_duration,
    shortest_range,
    staleness,
    swept_range,
)

Times = Sequence[Sequence[int]]
"""By worker, the times at which it ends iterations, ascending."""
SMALL_INSTANCES = ((2, 3, 6), (3, 2, 5))
"""(workers, times of each, number of different times) of the instances that are listed."""
LARGEST_LOOK_AHEAD = 12
"""Up to which the case of equality is also searched."""
LOOK_AHEAD = r"$Z$ holds for each worker one of the first $R$ times at which it ends an iteration"
ELASTIC = r"a worker starts an iteration at a lead of at most $s$, or if allowed to, of at most $s+r$, over the slowest"


def zipline_sweep() -> Statement:
    """A sweep through all times in order finds the set Z, one time of each worker, of smallest max Z − min Z.

    It compares only when the worker with the earliest time in hand has moved. It must stop when that worker has no time
    left: what is in hand then lacks a worker, and its range can be too small.

    Source: Zhao, Papagelis, An et al. 2020 and 2021; proof ours.
    """
    return Statement(
        label="zipline_sweep",
        title="Planned barrier, found by one sweep",
        assumptions=(
            r"$Z$ holds one time of each worker",
            r"all times are taken in ascending order, the latest of each worker is in hand",
            r"when all workers are in hand, and whenever the one with the earliest time moves, ranges are compared",
        ),
        relation=sympy.Eq(swept_range, shortest_range),
        domain=(),
        source="Zhao et al. 2020 (ElasticBSP); Zhao et al. 2021 (ZipLine); proof ours",
        derivation=(
            Step("a later time of a worker that is at most max Z raises min Z or keeps it", _later_is_closer),
            Step("so for each max Z the latest times up to it are best: those in hand", _latest_are_best),
            Step("while the earliest time in hand stays, the largest grows, and so does the range", _range_grows),
            Step("the sweep finds the smallest range in all small instances", _sweeps_agree, concludes=shortest_range),
            Step("in some of them a sweep that goes on without the earliest worker finds less", _must_stop),
        ),
    )


def zipline_two_workers() -> Statement:
    """Two workers, R iterations ahead: some times are within d_min/(1 + ⌊R d_min/d_max⌋) of each other.

    So the wait at the barrier falls like 1/R. It is attained by d_max = (1 + 1/R)d_min for every R ≥ 2.

    Source: ours, by Dirichlet's argument.
    """
    bound = shortest_duration / (1 + sympy.floor(look_ahead * shortest_duration / longest_duration))
    return Statement(
        label="zipline_two_workers",
        title="Wait at a planned barrier, two workers",
        assumptions=(
            r"two workers start together and make no pause; an iteration takes one always $d_{\min}$, the other "
            r"$d_{\max}$",
            LOOK_AHEAD,
        ),
        relation=sympy.Le(shortest_range, bound, evaluate=False),
        domain=(
            sympy.Le(shortest_duration, longest_duration),
            sympy.Le(longest_duration, look_ahead * shortest_duration),
        ),
        source="ours, by Dirichlet's argument",
        derivation=(
            Step(
                "α = d_max/d_min, N = ⌊R/α⌋ ≥ 1: the fractions of 0, α, …, Nα, and 1, leave N + 1 gaps, one at most "
                "1/(N + 1)",
                _some_gap_is_small,
            ),
            Step("a gap between the fractions of qα and q'α is |(q' − q)α − r|, r an integer", _gap_is_a_distance),
            Step("1 ≤ q ≤ N and |qα − r| ≤ 1/(N + 1) give 1 ≤ r ≤ R", _within_look_ahead),
            Step(
                "q d_max and r d_min are d_min|qα − r| ≤ d_min/(N + 1) apart", lambda: _scaled(bound), concludes=bound
            ),
            Step("α = 1 + 1/R, R ≥ 2: N = R − 1, and |Rq + q − Rr| ≥ 1 for q ≤ R, r ≤ R", lambda: _attained(bound)),
        ),
    )


def dssp_lead() -> Statement:
    """A worker leads by at most s + r + 1 after a push, if no permission reaches beyond a lead of s + r.

    As we understand Zhao, An, Liu and Chen 2019, Algorithm 1 grants further iterations anew whenever those granted are
    used up, and compares the lead with s only: two workers of constant speed then drift apart without bound.

    Source: rule: Zhao, An, Liu and Chen 2019; cap, counting and counterexample: ours.
    """
    bound = staleness + extra_count + 1
    return Statement(
        label="dssp_lead",
        title="Lead of a worker, dynamic staleness with a cap",
        assumptions=(ELASTIC,),
        relation=sympy.Le(lead, bound, evaluate=False),
        domain=(),
        source="rule: Zhao et al. 2019 (DSSP); cap and counterexample: ours",
        derivation=(
            Step("the lead at the start, at most s or s + r, grows by one at the push", _lead_grows, concludes=bound),
            Step("s ≤ 2, r ≤ 3: a worker that is always allowed to attains it", _lead_is_attained),
            Step(
                "granted anew: durations 2 and 3, s = 3, r = 12: a lead of 134 after 400 iterations, of 267 after 800",
                _grants_anew_drift,
            ),
        ),
    )


def dssp_regret() -> Statement:
    """R ≤ 2Fℓ√(2(s + r + 1)nT) under a cap: `ssp_regret` with the staleness s + r.

    As we understand Zhao, An, Liu and Chen 2019, Theorem 2, they state this with 4 for 2. Without a cap no staleness
    bounds the views, and it does not apply: see `dssp_lead`.

    Source: form: Zhao, An, Liu and Chen 2019; constant and condition: ours.
    """
    pending = staleness + extra_count + 1
    bound = published_bound(pending)
    return Statement(
        label="dssp_regret",
        title="Regret, dynamic staleness with a cap",
        assumptions=(
            *(ELASTIC, CONVEX, DIAMETER, NUMBERED, MOVES),
            r"a view of iteration $k$ holds all earlier updates of its own worker, and of every other those of "
            r"iterations up to $k-1-s-r$ and any of $k-s-r,\dots,k-1+s+r$",
            published_scale(pending),
        ),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(),
        source="form: Zhao et al. 2019 (DSSP); constant and condition: ours",
        kind="definition",
        derivation=(
            Step("a lead of at most s + r at every start is the rule of SSP with s + r for s", _is_stale_synchronous),
            Step(
                "`ssp_regret` at the staleness s + r, with its steps",
                lambda: decided(
                    ssp_regret().bound.subs(staleness, staleness + extra_count) == bound
                    and ssp_regret().given("step_scale").subs(staleness, staleness + extra_count)
                    == published_scale(pending).right
                ),
                concludes=bound,
            ),
            *ssp_regret().derivation,
        ),
    )


def _later_is_closer() -> sympy.Basic:
    others, member, later = sympy.symbols("others member later", nonnegative=True)
    before, after = sympy.Min(others, member), sympy.Min(others, member + later)
    # x ≤ y iff min(x, y) = x.
    return decided(sympy.Min(before, after) == before)


def _instances() -> list[Times]:
    return [
        times
        for workers, length, different in SMALL_INSTANCES
        for times in product(combinations(range(different), length), repeat=workers)
    ]


def _latest_are_best() -> sympy.Basic:
    agree = (
        _range(_latest_up_to(times, last)) == min(map(_range, _sets_up_to(times, last)))
        for times in _instances()
        for last in range(max(own[0] for own in times), max(map(max, times)) + 1)
    )
    return decided(all(agree))


def _sets_up_to(times: Times, last: int) -> list[tuple[int, ...]]:
    """Every set of one time of each worker whose largest is that of the set in hand at that time."""
    latest = max(_latest_up_to(times, last))
    return [chosen for chosen in product(*times) if max(chosen) == latest]


def _latest_up_to(times: Times, last: int) -> list[int]:
    return [max(time for time in own if time <= last) for own in times]


def _range(chosen: Sequence[int]) -> int:
    return max(chosen) - min(chosen)


def _range_grows() -> sympy.Basic:
    earliest, width, later = sympy.symbols("earliest width later", nonnegative=True)
    latest = earliest + width
    return decided(sympy.expand((latest + later - earliest) - (latest - earliest)).is_nonnegative)


def _swept(times: Times, *, stops: bool = True) -> int:
    """The smallest range that the sweep compares.

    Args:
        times: by worker.
        stops: the sweep ends when the worker with the earliest time has no other left; else it goes on without it.
    """
    order = sorted((time, worker) for worker, own in enumerate(times) for time in own)
    in_hand: dict[int, int] = {}
    ranges: list[int] = []
    awaited: int | None = None
    for time, worker in order:
        in_hand[worker] = time
        if worker == awaited:
            awaited = None
        if awaited is None and len(in_hand) == len(times):
            ranges.append(_range(list(in_hand.values())))
            awaited = min(in_hand, key=lambda colour: (in_hand[colour], colour))
            if not stops and in_hand[awaited] == times[awaited][-1]:
                return min(ranges[-1], _range([value for colour, value in in_hand.items() if colour != awaited]))
    return min(ranges)


def _smallest(times: Times) -> int:
    return min(map(_range, product(*times)))


def _sweeps_agree() -> sympy.Basic:
    return decided(all(_swept(times) == _smallest(times) for times in _instances()))


def _must_stop() -> sympy.Basic:
    return decided(any(_swept(times, stops=False) < _smallest(times) for times in _instances()))


def _some_gap_is_small() -> sympy.Basic:
    count, gap = sympy.Symbol("N", integer=True, positive=True), sympy.Symbol("l", integer=True)
    excess = sympy.IndexedBase("excess", positive=True)
    # If all N + 1 gaps between N + 2 points of [0, 1] were larger, they would sum to more than 1.
    total = sympy.Sum(1 / (count + 1) + excess[gap], (gap, 0, count)).expand()
    beyond = sympy.Sum(excess[gap], (gap, 0, count))
    return decided(sympy.simplify(total.doit() - 1 - beyond.doit()) == 0)


def _gap_is_a_distance() -> sympy.Expr:
    slope = sympy.Symbol("alpha", positive=True)
    first, second = sympy.symbols("q q_later", integer=True, nonnegative=True)
    whole, whole_later = sympy.symbols("r r_later", integer=True)
    fractions = [count * slope - floor for count, floor in ((first, whole), (second, whole_later))]
    return sympy.expand(fractions[1] - fractions[0] - ((second - first) * slope - (whole_later - whole)))


def _within_look_ahead() -> sympy.Basic:
    longer, further, unused, remainder = sympy.symbols("longer further unused remainder", nonnegative=True)
    slope, count = 1 + longer, 1 + further
    # q = N − unused ≤ N; R = αN + remainder.
    lowest = (1 + unused) * slope - 1 / (count + 1)
    largest = count * slope - unused * slope + 1 / (count + 1)
    room = (count * slope + remainder + 1) - largest
    parts = (part for sign in (lowest, room) for part in sympy.fraction(sympy.cancel(sign)))
    return decided(all(sympy.expand(part).is_positive for part in parts))


def _scaled(bound: sympy.Expr) -> sympy.Expr:
    count = sympy.Symbol("N", integer=True, positive=True)
    floored = sympy.floor(look_ahead * shortest_duration / longest_duration)
    return bound.subs(floored, count) - shortest_duration / (count + 1)


def _attained(bound: sympy.Expr) -> sympy.Basic:
    return decided(all(_meets(bound, ahead) for ahead in range(2, LARGEST_LOOK_AHEAD + 1)))


def _meets(bound: sympy.Expr, ahead: int) -> bool:
    slow = 1 + sympy.Rational(1, ahead)
    iterations = range(1, ahead + 1)
    closest = min(abs(slow * own - other) for own in iterations for other in iterations)
    return bool(bound.subs({look_ahead: ahead, shortest_duration: 1, longest_duration: slow}) == closest)


def _lead_grows() -> sympy.Basic:
    below, others = sympy.symbols("below others", integer=True, nonnegative=True)
    leads = (staleness - below, staleness + extra_count - below)
    # The slowest may complete iterations until the push.
    return decided(
        all(sympy.expand(staleness + extra_count + 1 - (start + 1 - others)).is_nonnegative for start in leads)
    )


def _lead_is_attained() -> sympy.Basic:
    sizes = product(range(3), range(4))
    return decided(all(_lead_of_allowed(slack, extra) == slack + extra + 1 for slack, extra in sizes))


def _lead_of_allowed(slack: int, extra: int) -> int:
    """Completed iterations of a worker that is always allowed to exceed s, while another completes none."""
    completed = 0
    while _may_start(completed, slack, extra):
        completed += 1
    return completed


def _may_start(ahead: int, slack: int, extra: int) -> bool:
    """The rule for a worker that is allowed to exceed s."""
    return ahead <= slack or ahead <= slack + extra


def _grants_anew_drift() -> sympy.Basic:
    leads = [_largest_lead_when_granted_anew(iterations) for iterations in (400, 800)]
    return decided(leads == [134, 267])


def _largest_lead_when_granted_anew(iterations: int, *, slack: int = 3, extra: int = 12) -> int:
    """Largest lead of a worker that takes 2 over one that takes 3, when each grant follows the last at once.

    The grant is the number of further iterations whose predicted end comes closest to some predicted end of the other.
    """
    duration, other_duration = 2, 3
    now, granted, largest = 0, 0, 0
    for completed in range(1, iterations + 1):
        now += duration
        slower = now // other_duration
        largest = max(largest, completed - slower)
        if granted > 0:
            granted -= 1
        elif completed - slower > slack:
            granted = _closest(now, slower * other_duration, (duration, other_duration), extra)
            if granted == 0:
                now = (completed - slack) * other_duration
    return largest


def _closest(now: int, other: int, durations: tuple[int, int], extra: int) -> int:
    ends = (
        (abs(now + own * durations[0] - other - (1 + later) * durations[1]), own)
        for own in range(extra + 1)
        for later in range(extra + 1)
    )
    return min(ends)[1]


def _is_stale_synchronous() -> sympy.Basic:
    below = sympy.Symbol("below", integer=True, nonnegative=True)
    leads = (staleness - below, staleness + extra_count - below)
    return decided(all(sympy.expand(staleness + extra_count - start).is_nonnegative for start in leads))


STATEMENTS = by_label(__name__, zipline_sweep, zipline_two_workers, dssp_lead, dssp_regret)
"""The statements of this file."""
