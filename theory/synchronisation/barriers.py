"""What does a barrier cost, and what is saved by deferring, skipping or not awaiting a part of it?

Times of one iteration with an exchange in two stages (OSP, Chen et al. 2023), of steps of which only some are followed
by an exchange (SelSync, Tyagi and Swany 2023), of a barrier that leaves out the slowest workers (backup workers, Chen
et al. 2016), and of workers that commit at regular times (ADSP, Hu et al. 2020). The models and proofs are ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    awaited_count,
    bandwidth,
    commit_count,
    commit_time,
    compute_time,
    deferred_size,
    exchange_time,
    expected_wait,
    flag_time,
    iteration_time,
    largest_share,
    least_speed_up,
    mean_duration,
    message_size,
    n,
    period,
    selective_speed_up,
    synchronised_share,
    two_stage_speed_up,
    waiting_share,
)

TWO_STAGES = (
    r"all $n$ workers start together; each computes for $T_c$, then $M-S$ bytes of each are exchanged; when those of "
    r"all have passed, all compute anew while the other $S$ are exchanged",
    r"one link carries the bytes of all $n$ workers, $B$ per unit of time, in the order in which they are ready",
    "the first iteration, which exchanges nothing deferred, does not count",
)
SELECTIVE = (
    r"every step takes $T_c$ to compute and $t_f$ to agree whether to exchange; an exchange takes $t_s$",
    r"the comparison exchanges after each of as many steps, and agrees on nothing",
)
CONDITION = r"the share $p$ of the steps is followed by an exchange"
MORE = sympy.Symbol("more", nonnegative=True)
"""By how much one quantity exceeds another."""
COUNT = sympy.Symbol("k", integer=True, positive=True)
"""Number of steps, cycles or workers."""
TIME = sympy.Symbol("t", positive=True)
"""A time."""


def osp_time() -> Statement:
    """An iteration takes max(T_c + (M − S)n/B, Mn/B): what is deferred is hidden until it fills the link.

    S = 0 is a barrier, T_c + Mn/B; no S beyond BT_c/n saves anything more.

    Source: ours; exchange in two stages: Chen, Shi, Liu et al. 2023.
    """
    bound = _two_stage_time(message_size, deferred_size)
    return Statement(
        label="osp_time",
        title="Time of an iteration, exchange in two stages",
        assumptions=TWO_STAGES,
        relation=sympy.Eq(iteration_time, bound),
        domain=(sympy.Le(deferred_size, message_size),),
        source="two stages: Chen et al. 2023; formula ours",
        kind="definition",
        derivation=(
            Step(
                "M − S bytes of n workers pass after max(T_c, Sn/B), when computed and when S bytes have passed",
                lambda: _link_is_free(bound),
                concludes=bound,
            ),
            Step("S = 0: T_c + Mn/B", lambda: _two_stage_time(message_size, sympy.S.Zero) - _barrier_time()),
            Step("for S < BT_c/n the time is T_c + (M − S)n/B, and falls by n/B per byte", _below_the_knee),
            Step("for S ≥ BT_c/n it is Mn/B for every S", _beyond_the_knee),
        ),
    )


def osp_speed_up() -> Statement:
    """Deferring speeds an iteration up by at most (T_c + Mn/B)/max(T_c, Mn/B) ≤ 2, with 2 iff T_c = Mn/B.

    S = min(M, BT_c/n) attains it.

    Source: ours.
    """
    bound = _barrier_time() / sympy.Max(compute_time, _link_time(message_size))
    return Statement(
        label="osp_speed_up",
        title="Most that an exchange in two stages saves",
        assumptions=(*TWO_STAGES, r"$0\le S\le M$ is arbitrary"),
        relation=sympy.Le(two_stage_speed_up, bound, evaluate=False),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step("an iteration takes at least T_c and at least Mn/B, for every S ≤ M", _both_are_needed),
            Step(
                "with S = 0 it takes T_c + Mn/B",
                lambda: (
                    _two_stage_time(message_size, sympy.Integer(0)) / sympy.Max(compute_time, _link_time(message_size))
                    - bound
                ),
                concludes=bound,
            ),
            Step("S = M for T_c ≥ Mn/B, and else S = BT_c/n, attain it", _best_deferring),
            Step("it is 2 − |T_c − Mn/B|/max(T_c, Mn/B)", lambda: _two_less_the_gap(bound)),
        ),
    )


def selsync_speed_up() -> Statement:
    """Exchanging after the share p of the steps is (T_c + t_s)/(T_c + t_f + pt_s) times as fast as after each.

    It is at most (T_c + t_s)/(T_c + t_f), and more than 1 iff p < 1 − t_f/t_s. It compares equal numbers of steps: how
    many are needed is another matter.

    Source: ours; rule: Tyagi and Swany 2023.
    """
    bound = _selective_speed_up()
    return Statement(
        label="selsync_speed_up",
        title="Speed-up of selected exchanges",
        assumptions=(*SELECTIVE, CONDITION),
        relation=sympy.Eq(selective_speed_up, bound),
        domain=(sympy.Le(synchronised_share, 1),),
        source="rule: Tyagi and Swany 2023; formula ours",
        kind="definition",
        derivation=(
            Step("Σ_k T_c + t_f + t_s[exchange after k] = K(T_c + t_f + pt_s) for K steps", _sum_of_steps),
            Step("Σ_k T_c + t_s over this is the bound", lambda: _ratio_of_sums() - bound, concludes=bound),
            Step("it decreases in p and is (T_c + t_s)/(T_c + t_f) at p = 0", _decreases_in_share),
            Step(
                "it is 1 at p = 1 − t_f/t_s", lambda: bound.subs(synchronised_share, 1 - flag_time / exchange_time) - 1
            ),
        ),
    )


def selsync_share() -> Statement:
    """A speed-up of at least φ needs p ≤ 1/φ − (1 − 1/φ)T_c/t_s − t_f/t_s, where that is less than 1.

    So it needs p ≤ 1/φ whatever the times are, and φ(T_c + t_f) ≤ T_c + t_s whatever p is: a factor of 14 for equally
    many steps needs an exchange that takes 13 times as long as a gradient, and one step in 14 or fewer.

    Source: ours.
    """
    demanded = 1 / least_speed_up - (1 - 1 / least_speed_up) * compute_time / exchange_time - flag_time / exchange_time
    bound = sympy.Min(1, demanded)
    return Statement(
        label="selsync_share",
        title="Steps that may be followed by an exchange, for a given speed-up",
        assumptions=(*SELECTIVE, r"the speed-up is at least $\phi$"),
        relation=sympy.Le(largest_share, bound, evaluate=False),
        domain=(sympy.Le(least_speed_up * (compute_time + flag_time), compute_time + exchange_time),),
        source="ours",
        kind="definition",
        derivation=(
            Step("`selsync_speed_up` equals φ at this p", lambda: _share_for(least_speed_up) - demanded),
            Step("a larger speed-up needs a smaller p, and no share exceeds 1", lambda: _at_most(bound), bound),
            Step("for φ ≥ 1 it is 1/φ less a number that is ≥ 0", lambda: _room_below(demanded)),
            Step("it is ≥ 0 iff φ(T_c + t_f) ≤ T_c + t_s", lambda: _threshold_exchange(demanded)),
        ),
    )


def backup_waiting() -> Statement:
    """The b-th of n exponential durations of mean d̄ comes after d̄(1/(n − b + 1) + … + 1/n) on the average.

    A barrier waits for all n; with one backup worker it waits d̄ less, for every n. Durations that are independent and
    alike are essential: a worker that is always the slowest is never awaited, and its data never counts.

    Source: classical, Rényi 1953; use for backup workers: Chen et al. 2016.
    """
    bound = _expected_wait(n, awaited_count)
    return Statement(
        label="backup_waiting",
        title="Wait for the fastest workers, exponential durations",
        assumptions=(
            "$d_{(b)}$ is the $b$-th shortest of $n$ independent exponential durations $d_i$",
            Given("mean", r"\mathbb{E}\,d_i", "=", mean_duration),
        ),
        relation=sympy.Eq(expected_wait, bound),
        domain=(sympy.Le(awaited_count, n),),
        source="classical, Rényi 1953; backup workers: Chen et al. 2016",
        derivation=(
            Step("the first of j durations comes after d̄/j: ∫ exp(−jt/d̄) dt", _first_of_many),
            Step("what remains of a duration after any time is distributed as a new one", _forgets),
            Step("so the next of n − b comes d̄/(n − b) later: the sum gains a term", _next_adds, concludes=bound),
            Step("none of n has come at time 0: no term", lambda: bound.subs(awaited_count, 0).doit()),
            Step("one backup worker saves d̄/1, the last term", _last_term),
        ),
    )


def adsp_waiting_share() -> Statement:
    """A worker that computes for at least Γ/C − O between commits of length O waits at most the share OC/Γ of its time.

    It is attained after every commit by a worker that commits as soon as it may. A slow worker waits no longer than a
    fast one, which no barrier achieves.

    Source: ours; rule: Hu, Wang and Wu 2020.
    """
    bound = commit_time * commit_count / period
    return Statement(
        label="adsp_waiting_share",
        title="Waiting of workers that commit at regular times",
        assumptions=(
            Given(
                "computing", "c", "≥", period / commit_count - commit_time, "a worker computes for {} before commits"
            ),
            Given("waiting", "o", "≤", commit_time, words="and waits for a time {} while it commits"),
            "it starts with computing, and its time is cut anywhere",
        ),
        relation=sympy.Le(waiting_share, bound, evaluate=False),
        domain=(),
        source="rule: Hu et al. 2020; bound ours",
        derivation=(
            Step(
                "cut within commit k, o before its end: kO − o ≤ OC/Γ · (kΓ/C − o) for OC ≤ Γ",
                lambda: _cut_in_commit(bound),
                concludes=bound,
            ),
            Step(
                "cut elsewhere, or with longer computing, the same wait is a smaller share",
                lambda: decided(sympy.factor(COUNT / TIME - COUNT / (TIME + MORE)).is_nonnegative),
            ),
            Step("for OC > Γ the bound exceeds 1, and no share does", lambda: _more_than_all(bound)),
            Step(
                "o = 0 and computing for Γ/C − O: kO of kΓ/C is the bound",
                lambda: COUNT * commit_time / (COUNT * period / commit_count) - bound,
            ),
        ),
    )


def _link_time(size: sympy.Expr) -> sympy.Expr:
    """Time in which that many bytes of every worker pass the link."""
    return size * n / bandwidth


def _two_stage_time(size: sympy.Expr, deferred: sympy.Expr) -> sympy.Expr:
    return sympy.Max(compute_time + _link_time(size - deferred), _link_time(size))


def _barrier_time() -> sympy.Expr:
    return compute_time + _link_time(message_size)


def _link_is_free(bound: sympy.Expr) -> sympy.Expr:
    start = sympy.Max(compute_time, _link_time(deferred_size))
    end = start.rewrite(sympy.Abs) + _link_time(message_size - deferred_size)
    return sympy.simplify(sympy.expand(end - bound.rewrite(sympy.Abs)))


def _knee() -> sympy.Expr:
    """The S whose bytes pass the link in T_c."""
    return sympy.solve(sympy.Eq(_link_time(deferred_size), compute_time), deferred_size)[0]


def _below_the_knee() -> sympy.Basic:
    saved = compute_time + _link_time(message_size - deferred_size)
    falls = sympy.diff(saved, deferred_size) + n / bandwidth
    fewer = sympy.Symbol("fewer", positive=True)
    differs = sympy.expand((saved - _link_time(message_size)).subs(deferred_size, _knee() - fewer))
    return decided(sympy.simplify(falls) == 0 and differs.is_positive)


def _beyond_the_knee() -> sympy.Basic:
    saved = compute_time + _link_time(message_size - deferred_size)
    return decided(sympy.expand((_link_time(message_size) - saved).subs(deferred_size, _knee() + MORE)).is_nonnegative)


def _both_are_needed() -> sympy.Basic:
    size = deferred_size + MORE
    time = _two_stage_time(size, deferred_size)
    return decided(sympy.Max(time, compute_time, _link_time(size)) == time)


def _best_deferring() -> sympy.Basic:
    long_computing = _link_time(message_size) + MORE
    all_deferred = _two_stage_time(message_size, message_size).subs(compute_time, long_computing)
    long_exchange = _knee() + MORE
    some_deferred = sympy.Max(*(sympy.expand(part) for part in _two_stage_time(long_exchange, _knee()).args))
    return decided(
        all_deferred == long_computing
        and sympy.expand(some_deferred - _link_time(long_exchange)) == 0
        and sympy.expand(_link_time(long_exchange) - compute_time).is_nonnegative
    )


def _two_less_the_gap(bound: sympy.Expr) -> sympy.Basic:
    link = sympy.Symbol("link", positive=True)
    in_times = bound.subs(message_size, link * bandwidth / n)
    cases = (in_times.subs(compute_time, link + MORE), in_times.subs({link: compute_time + MORE}))
    smaller = (link, compute_time)
    return decided(
        all(sympy.simplify(case - (2 - MORE / (less + MORE))) == 0 for case, less in zip(cases, smaller, strict=True))
    )


def _sum_of_steps() -> sympy.Expr:
    step = sympy.Symbol("step", integer=True)
    exchanged = sympy.IndexedBase("exchanged")
    time = sympy.Sum(compute_time + flag_time + exchange_time * exchanged[step], (step, 1, COUNT)).expand()
    exchanges = sympy.Sum(exchange_time * exchanged[step], (step, 1, COUNT))
    known = time.xreplace({exchanges: exchange_time * synchronised_share * COUNT}).doit()
    return sympy.expand(known - COUNT * (compute_time + flag_time + synchronised_share * exchange_time))


def _ratio_of_sums() -> sympy.Expr:
    step = sympy.Symbol("step", integer=True)
    always = sympy.Sum(compute_time + exchange_time, (step, 1, COUNT)).doit()
    return sympy.simplify(always / (COUNT * (compute_time + flag_time + synchronised_share * exchange_time)))


def _selective_speed_up() -> sympy.Expr:
    return (compute_time + exchange_time) / (compute_time + flag_time + synchronised_share * exchange_time)


def _decreases_in_share() -> sympy.Basic:
    speed_up = _selective_speed_up()
    cap = (compute_time + exchange_time) / (compute_time + flag_time)
    falls = sympy.factor(sympy.diff(speed_up, synchronised_share)).is_negative
    return decided(falls and sympy.simplify(speed_up.subs(synchronised_share, 0) - cap) == 0)


def _share_for(factor: sympy.Expr) -> sympy.Expr:
    return sympy.solve(sympy.Eq(_selective_speed_up(), factor), synchronised_share)[0]


def _at_most(bound: sympy.Expr) -> sympy.Basic:
    demanded = _share_for(least_speed_up)
    falls = sympy.factor(sympy.diff(demanded, least_speed_up)).is_negative
    return decided(falls and sympy.simplify(bound - sympy.Min(1, sympy.expand(demanded))) == 0)


def _room_below(bound: sympy.Expr) -> sympy.Basic:
    room = sympy.expand((1 / least_speed_up - bound) * exchange_time * least_speed_up)
    return decided(sympy.expand(room.subs(least_speed_up, 1 + MORE)).is_nonnegative)


def _threshold_exchange(bound: sympy.Expr) -> sympy.Expr:
    spare = exchange_time - (least_speed_up - 1) * compute_time - least_speed_up * flag_time
    return sympy.simplify(bound * exchange_time * least_speed_up - spare)


def _survival(time: sympy.Expr) -> sympy.Expr:
    return sympy.exp(-time / mean_duration)


def _first_of_many() -> sympy.Expr:
    return sympy.integrate(_survival(TIME) ** COUNT, (TIME, 0, sympy.oo)) - mean_duration / COUNT


def _forgets() -> sympy.Expr:
    elapsed = sympy.Symbol("elapsed", positive=True)
    return _survival(elapsed + TIME) / _survival(elapsed) - _survival(TIME)


def _expected_wait(workers: sympy.Expr, awaited: sympy.Expr) -> sympy.Expr:
    working = sympy.Symbol("j", integer=True, positive=True)
    return mean_duration * sympy.Sum(1 / working, (working, workers - awaited + 1, workers))


def _next_adds() -> sympy.Basic:
    (before,) = _expected_wait(n, awaited_count).atoms(sympy.Sum)
    (after,) = _expected_wait(n, awaited_count + 1).atoms(sympy.Sum)
    (working, lowest, _), same_end = after.limits[0], after.limits[0][2] == before.limits[0][2]
    gained = mean_duration * after.function.subs(working, lowest) - mean_duration / (n - awaited_count)
    return decided(same_end and before.limits[0][1] - lowest == 1 and sympy.simplify(gained) == 0)


def _last_term() -> sympy.Expr:
    saved = _expected_wait(n + 1, n + 1) - _expected_wait(n + 1, n)
    return sympy.expand(sympy.expand_func(saved.doit()) - mean_duration)


def _cut_in_commit(bound: sympy.Expr) -> sympy.Basic:
    early, spare = sympy.symbols("o spare", nonnegative=True)
    waited, elapsed = COUNT * commit_time - early, COUNT * period / commit_count - early
    room = ((bound * elapsed - waited) * period).subs(period, commit_time * commit_count + spare)
    return decided(sympy.expand(sympy.simplify(room)).is_nonnegative)


def _more_than_all(bound: sympy.Expr) -> sympy.Basic:
    spare = sympy.Symbol("spare", positive=True)
    return decided(sympy.factor((bound - 1).subs(commit_time, (period + spare) / commit_count)).is_positive)


STATEMENTS = by_label(
    __name__, osp_time, osp_speed_up, selsync_speed_up, selsync_share, backup_waiting, adsp_waiting_share
)
"""The statements of this file."""
