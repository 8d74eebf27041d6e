"""What does waiting a little less buy? Workers under bounded staleness, and workers that wait at a barrier.

Stale synchronous parallel (SSP, Ho et al. 2013) lets a worker start an iteration if no other is more than s iterations
behind; s = 0 is a barrier (BSP). With C_i(k) the time of worker i's k-th push and durations d_i(k), all workers obey
C_i(k) = d_i(k) + max(C_i(k − 1), max_j C_j(k − 1 − s)). The statements on this recursion are ours. Regret under the
same rule is in `theory/delay/stale_regret.py`.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    gap_bound,
    horizon,
    iteration_rate,
    lead,
    longest_duration,
    n,
    speed_up,
    staleness,
    throughput,
)

RULE = r"a worker starts its $k$-th iteration once every worker has completed $k-1-s$"
"""The rule of SSP as an assumption."""
AT_ONCE = f"{RULE}, and then at once"
LARGEST_ENUMERATED = 4
"""Number of workers, and staleness, up to which the recursion is also run."""
COUNT = sympy.Symbol("k", integer=True, positive=True)
"""Number of an iteration."""
DURATION = sympy.IndexedBase("duration", nonnegative=True)
"""Durations of one iteration, by worker."""
WORKER = sympy.Symbol("j", integer=True, positive=True)
"""A worker."""


def ssp_gap() -> Statement:
    """c_i − min_j c_j ≤ s + 1 just after a push of worker i, and a fast worker reaches it.

    Source: the condition is that of Ho et al. 2013, counted here in completed iterations.
    """
    bound = staleness + 1
    return Statement(
        label="ssp_gap",
        title="Lead of a worker over the slowest, bounded staleness",
        assumptions=(RULE,),
        relation=sympy.Le(lead, bound, evaluate=False),
        domain=(),
        source="condition: Ho et al. 2013; counting: ours",
        derivation=(
            Step(
                "push k comes when min_j c_j ≥ k − 1 − s: the lead is at most s + 1", _lead_is_bounded, concludes=bound
            ),
            Step("while one has completed nothing, another may start s + 1, not s + 2", _lead_is_reached),
        ),
    )


def ssp_recursion() -> Statement:
    """max_i C^BSP_i(K) ≤ min(n, s + 1) · max_i C_i(K) for all durations: the most that bounded staleness can save.

    Completion times never increase with s and never decrease with a duration, so the ratio is also at least 1. It is
    attained where min(n, s + 1) workers are slow in turn.

    Source: ours.
    """
    bound = sympy.Min(n, staleness + 1)
    return Statement(
        label="ssp_recursion",
        title="Most that bounded staleness saves over a barrier",
        assumptions=(
            r"$C_i(k)=d_i(k)+\max(C_i(k-1),\max_j C_j(k-1-s))$ and $C_i(k)=0$ for $k\le 0$",
            r"the durations $d_i(k)\ge 0$, not all $0$, are the same with a barrier, which is $s=0$",
        ),
        relation=sympy.Le(speed_up, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "s = 0: M(k) = max_i C_i(k) obeys M(k) = max_i d_i(k) + M(k − 1)",
                _barrier_sums,
                argued="for more than two workers",
            ),
            Step(
                "C_i(k) increases with d_i(k), C_i(k−1), C_j(k−1−s): by induction with all d and −s",
                _is_monotone,
                argued="the induction over k",
            ),
            Step(
                "V(k) = Σ_{r≤s} M(k−r): V(k) − V(k−1) = M(k) − M(k−1−s) ≥ max_i d_i(k)",
                _window_grows,
            ),
            Step("so with a barrier Σ_k max_i d_i(k) ≤ V(K) ≤ (s + 1) M(K)", _window_is_small),
            Step(
                "n M(K) ≥ Σ_i C_i(K) ≥ Σ_k Σ_i d_i(k) ≥ Σ_k max_i d_i(k)",
                _work_exceeds_longest,
                argued="that C_i(K) is no less than the sum of the d_i(k)",
            ),
            Step("both bounds hold: the smaller does", _smaller_of_two, concludes=bound),
            Step("workers slow in turn: C_j(k−1−s) never exceeds C_i(k−1), so none waits", _taking_turns),
            Step(f"their ratio is min(n, s + 1), computed for n, s ≤ {LARGEST_ENUMERATED}", _bound_is_attained),
        ),
    )


def persistent_straggler() -> Statement:
    """c_i(t)/t ≤ 1/d_max + G/t for every policy that keeps leads at most G: no bounded staleness outruns a straggler.

    Iterations of the slowest worker may take d_max or longer.

    SSP never makes the slowest worker wait if durations are constant, so its long-run rate is exactly 1/d_max for
    every s: what a larger s buys is a head start of at most G iterations.

    Source: ours.
    """
    bound = 1 / longest_duration + gap_bound / horizon
    return Statement(
        label="persistent_straggler",
        title="Rate of every worker, bounded lead, one persistent straggler",
        assumptions=(
            Given("slowest", "d", "≥", longest_duration, words="each iteration of the slowest worker takes a time {}"),
            Given("largest_lead", r"c_i-\min_j c_j", "≤", gap_bound, words="{} at time $t$"),
        ),
        relation=sympy.Le(iteration_rate, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("c_slow ≤ t/d_max and c_i ≤ c_slow + G", _straggler_bounds, concludes=bound),
            Step("as t → ∞ the bound is 1/d_max", lambda: sympy.limit(bound, horizon, sympy.oo) - 1 / longest_duration),
            Step("SSP: if C_j(l) ≤ l d_max for l < k, the straggler starts iteration k at (k − 1) d_max", _never_held),
        ),
    )


def ssp_throughput() -> Statement:
    """Two workers with exponential durations of mean 1 complete 2(2s + 2)/(2s + 3) iterations per unit of time.

    The lead is a random walk on the 2s + 3 states −s−1, …, s+1, uniform in the long run; in each end state one worker
    waits. s = 0 gives 4/3 and s → ∞ gives 2.

    Source: ours.
    """
    bound = 2 * (2 * staleness + 2) / (2 * staleness + 3)
    return Statement(
        label="ssp_throughput",
        title="Throughput of two workers, exponential durations, bounded staleness",
        assumptions=(
            f"{AT_ONCE}; it makes one at a time",
            Given(
                "mean",
                r"\mathbb{E}\,d",
                "=",
                sympy.Integer(1),
                words="two workers with independent exponential durations $d$, {}",
            ),
        ),
        relation=sympy.Eq(throughput, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("inside, a uniform law balances: both neighbours send what the state sends", _inside_balances),
            Step("at either end too: one neighbour sends what the one working worker sends", _ends_balance),
            Step("no other law does: what passes each cut upwards passes it downwards", _cuts_balance),
            Step(f"the generator's kernel has dimension 1 for s ≤ {LARGEST_ENUMERATED}", _is_unique),
            Step("the working workers' mean number is the bound", lambda: _mean_rate() - bound, concludes=bound),
            Step("s → ∞: 2, no waiting", lambda: sympy.limit(bound, staleness, sympy.oo) - 2),
        ),
    )


def _lead_is_bounded() -> sympy.Basic:
    # Counts only grow between the start of an iteration and its push.
    growth = sympy.Symbol("growth", integer=True, nonnegative=True)
    slowest = _needed_count(COUNT) + growth
    return decided(sympy.expand(staleness + 1 - (COUNT - slowest)).is_nonnegative)


def _needed_count(iteration: sympy.Expr) -> sympy.Expr:
    """What every worker must have completed before this iteration may start."""
    return iteration - 1 - staleness


def _lead_is_reached() -> sympy.Basic:
    return decided(
        sympy.expand(_needed_count(staleness + 1)).is_nonpositive
        and sympy.expand(_needed_count(staleness + 2)).is_positive
    )


def _barrier_sums() -> sympy.Basic:
    own, other, first, second = sympy.symbols("own other d_1 d_2", nonnegative=True)
    latest = sympy.Max(own, other)
    start_differs = sympy.Max(own, latest) - latest
    # The maximum of two numbers by their absolute difference; of more, by repetition.
    shifted = sympy.Max(first + latest, second + latest).rewrite(sympy.Abs)
    end_differs = shifted - (sympy.Max(first, second).rewrite(sympy.Abs) + latest.rewrite(sympy.Abs))
    return decided(start_differs == 0 and sympy.simplify(sympy.expand(end_differs)) == 0)


def _is_monotone() -> sympy.Basic:
    own, gate = sympy.symbols("own gate", nonnegative=True)
    own_excess, gate_excess = sympy.symbols("own_excess gate_excess", nonnegative=True)
    smaller, larger = sympy.Max(own, gate), sympy.Max(own + own_excess, gate + gate_excess)
    # x ≤ y iff max(x, y) = y.
    return decided(sympy.Max(smaller, larger) == larger)


def _window_grows() -> sympy.Basic:
    prefix = sympy.Function("S")

    def latest(iteration: sympy.Expr) -> sympy.Expr:
        return prefix(iteration) - prefix(iteration - 1)

    def window(iteration: sympy.Expr) -> sympy.Expr:
        return prefix(iteration) - prefix(iteration - staleness - 1)

    return sympy.expand(window(COUNT) - window(COUNT - 1) - (latest(COUNT) - latest(COUNT - 1 - staleness)))


def _window_is_small() -> sympy.Basic:
    latest = sympy.Symbol("M", nonnegative=True)
    back = sympy.Symbol("r", integer=True, nonnegative=True)
    earlier = sympy.Sum(latest - DURATION[back], (back, 0, staleness))
    shortfall = sympy.Sum(DURATION[back], (back, 0, staleness))
    differs = sympy.simplify((staleness + 1) * latest - (earlier.expand().doit() + shortfall))
    return decided(differs == 0 and shortfall.is_nonnegative)


def _work_exceeds_longest() -> sympy.Basic:
    # The largest of non-negative numbers is at most their sum, and n times the latest at least the sum of all.
    before, largest, after = sympy.symbols("before largest after", nonnegative=True)
    latest = sympy.Symbol("M", nonnegative=True)
    shortfalls = sympy.Sum(DURATION[WORKER], (WORKER, 1, n))
    sum_of_all = sympy.Sum(latest - DURATION[WORKER], (WORKER, 1, n)).expand().doit()
    differs = sympy.simplify(n * latest - sum_of_all - shortfalls)
    at_most = sympy.expand(before + largest + after - largest).is_nonnegative
    return decided(at_most and differs == 0 and shortfalls.is_nonnegative)


def _smaller_of_two() -> sympy.Basic:
    ratio = sympy.Symbol("ratio", nonnegative=True)
    first, second = sympy.symbols("first second", nonnegative=True)
    return decided(sympy.Min(ratio, ratio + first, ratio + second) == ratio)


def _taking_turns() -> sympy.Basic:
    # Worker i = m − later of m has duration 1 in the iterations i, i + m, …; then C_i(k) = ⌊(k − i)/m⌋ + 1.
    turns = sympy.Symbol("m", integer=True, positive=True)
    later, beyond = sympy.symbols("later beyond", integer=True, nonnegative=True)

    def unrounded(worker: sympy.Expr, iteration: sympy.Expr) -> sympy.Expr:
        return (iteration - worker) / turns + 1

    # Worker 1 is the first to finish any number; s + 1 = m + beyond.
    gate = unrounded(sympy.Integer(1), COUNT - (turns + beyond))
    return decided(sympy.factor(unrounded(turns - later, COUNT - 1) - gate).is_nonnegative)


def _bound_is_attained() -> sympy.Basic:
    sizes = range(1, LARGEST_ENUMERATED + 1)
    return decided(all(_ratio_in_turns(count, slack) == min(count, slack + 1) for count in sizes for slack in sizes))


def _ratio_in_turns(count: int, slack: int) -> sympy.Expr:
    """BSP over SSP after three rounds in which min(n, s + 1) workers take one unit of time in turn."""
    turns = min(count, slack + 1)
    trace = [
        [int((k - worker) % turns == 0) if worker < turns else 0 for worker in range(count)] for k in range(3 * turns)
    ]
    return sympy.Integer(_makespan(trace, slack=0)) / _makespan(trace, slack=slack)


def _makespan(trace: list[list[int]], *, slack: int) -> int:
    completed = [[0] * len(trace[0])]
    for durations in trace:
        gate = max(completed[len(completed) - 1 - slack]) if len(completed) > slack else 0
        completed.append([d + max(own, gate) for d, own in zip(durations, completed[-1], strict=True)])
    return max(completed[-1])


def _straggler_bounds() -> sympy.Basic:
    idle, short = sympy.symbols("idle short", nonnegative=True)
    slowest = horizon / longest_duration - idle
    rate = (slowest + gap_bound - short) / horizon
    bound = 1 / longest_duration + gap_bound / horizon
    return decided(sympy.expand(bound - rate).is_nonnegative)


def _never_held() -> sympy.Basic:
    early = sympy.Symbol("early", nonnegative=True)
    own = (COUNT - 1) * longest_duration
    gate = (COUNT - 1 - staleness) * longest_duration - early
    return decided(
        sympy.expand(own - gate).is_nonnegative and sympy.expand(own + longest_duration - COUNT * longest_duration) == 0
    )


def _rates(position: sympy.Expr, slack: sympy.Expr) -> tuple[sympy.Basic, sympy.Basic]:
    """Rates at which the lead of the first worker over the second grows and falls: 1 unless that worker waits."""
    grows, falls = sympy.Le(position, slack), sympy.Ge(position, -slack)
    return sympy.Piecewise((1, grows), (0, True)), sympy.Piecewise((1, falls), (0, True))


def _net_inflow(position: sympy.Expr, slack: sympy.Expr) -> sympy.Expr:
    """Rate into a state minus rate out of it under equal probabilities."""
    inflow = _rates(position - 1, slack)[0] + _rates(position + 1, slack)[1]
    return inflow - sympy.Add(*_rates(position, slack))


def _inside_balances() -> sympy.Basic:
    # Every |lead| ≤ s: the lead is ahead or −ahead, and s = ahead + room.
    ahead, room = sympy.symbols("ahead room", integer=True, nonnegative=True)
    return decided(all(_net_inflow(sign * ahead, ahead + room) == 0 for sign in (1, -1)))


def _ends_balance() -> sympy.Basic:
    end = staleness + 1
    # Beyond the ends there is no state to flow in from, and the worker that would lead there waits.
    top = _rates(end - 1, staleness)[0] - sympy.Add(*_rates(end, staleness))
    bottom = _rates(1 - end, staleness)[1] - sympy.Add(*_rates(-end, staleness))
    return decided(top == 0 and bottom == 0 and _rates(end, staleness)[0] == 0 and _rates(-end, staleness)[1] == 0)


def _is_unique() -> sympy.Basic:
    return decided(all(len(_generator(slack).T.nullspace()) == 1 for slack in range(LARGEST_ENUMERATED + 1)))


def _generator(slack: int) -> sympy.Matrix:
    positions = range(-slack - 1, slack + 2)

    def rate(origin: int, target: int) -> sympy.Basic:
        grows, falls = _rates(sympy.Integer(origin), sympy.Integer(slack))
        return {origin + 1: grows, origin - 1: falls, origin: -grows - falls}.get(target, sympy.Integer(0))

    return sympy.Matrix([[rate(origin, target) for target in positions] for origin in positions])


def _cuts_balance() -> sympy.Basic:
    # Between the leads ahead and ahead + 1, or −ahead − 1 and −ahead, for 0 ≤ ahead ≤ s.
    ahead, room = sympy.symbols("ahead room", integer=True, nonnegative=True)
    upwards = [_rates(lower, ahead + room)[0] for lower in (ahead, -ahead - 1)]
    downwards = [_rates(lower + 1, ahead + room)[1] for lower in (ahead, -ahead - 1)]
    lower_share, upper_share = sympy.symbols("p_lower p_upper", nonnegative=True)
    shares = {
        sympy.solve(sympy.Eq(lower_share * up, upper_share * down), upper_share)[0]
        for up, down in zip(upwards, downwards, strict=True)
    }
    return decided(shares == {lower_share})


def _mean_rate() -> sympy.Expr:
    position = sympy.Symbol("position", integer=True)
    probability = sympy.Symbol("probability", positive=True)
    total = sympy.summation(probability, (position, -staleness - 1, staleness + 1))
    uniform = sympy.solve(sympy.Eq(total, 1), probability)[0]
    growing = sympy.summation(uniform, (position, -staleness - 1, staleness))
    falling = sympy.summation(uniform, (position, -staleness, staleness + 1))
    return sympy.simplify(growing + falling)


STATEMENTS = by_label(__name__, ssp_gap, ssp_recursion, persistent_straggler, ssp_throughput)
"""The statements of this file."""
