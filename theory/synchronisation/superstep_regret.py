"""What do elastic barriers cost in regret? Leads within a superstep, and regret in two orders of the same updates.

ElasticBSP (Zhao, Papagelis, An et al. 2020) lets every worker end M iterations after a barrier, predicts the next R of
each, and stops everybody after one of these. Between barriers nobody waits. Numbered by superstep, iteration and
worker, its updates are those of bounded staleness; numbered as they arrive, neither R nor any speed matters. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import sympy

from sparsync.theory.delay.decaying_regret import DIAMETER, published_bound, published_scale, ssp_regret
from sparsync.theory.delay.stability import decided
from sparsync.theory.delay.stale_regret import CONVEX, MOVES, START, ssp_regret_fixed_step
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    T,
    eta,
    lead,
    lipschitz,
    longest_duration,
    look_ahead,
    monitoring_count,
    n,
    radius,
    regret,
    shortest_duration,
    staleness,
)

SUPERSTEP = (
    Given("shortest", "d", "≥", shortest_duration, words="all workers start together; an iteration takes a time {}"),
    Given("longest", "d", "≤", longest_duration, words="and {}"),
    r"once all have ended $M$ iterations, everybody may end $1$ to $R$ more before the next barrier; between barriers "
    r"a worker starts its next iteration at once",
)
FRESH = (
    r"$x_{t+1}=x_t-\eta g_t$ when update $t$ arrives; a worker computes one update at a time, at the $\tilde{x}_t=x_l$ "
    r"that it finds when it starts: $x_1$ before its own first update, then one no older than its own last update"
)
DURATIONS = (sympy.Le(shortest_duration, longest_duration),)
SMALL_SUPERSTEPS = tuple(product(range(4), range(1, 5)))
"""(M, R) for which the case of equality is followed."""
SMALL_ORDERS = ((1, 3), (2, 6), (3, 5))
"""(workers, updates) of which every order of arrival is followed."""

_ORDER = "the proof of `ssp_regret` uses of the order only that pairs are counted and t goes up by one"
_REST = sympy.Symbol("rest", nonnegative=True)
_ROOM = sympy.Symbol("room", positive=True)
_PART = _REST / (_REST + _ROOM)
"""Any number in [0, 1)."""
_WHOLE = sympy.Symbol("whole", integer=True, nonnegative=True)
_MORE = sympy.Symbol("more", integer=True, nonnegative=True)
_OTHERS = sympy.Symbol("others", integer=True, nonnegative=True)
_LATER = sympy.Symbol("later", integer=True, nonnegative=True)


def elastic_lead() -> Statement:
    """A worker leads by at most ⌊M d_max/d_min⌋ − M + R iterations within a superstep: by R without monitoring.

    The slowest worker's M iterations leave time for ⌊M d_max/d_min⌋ of the fastest before anything is planned. It is
    attained for all M and R. Over many supersteps leads add up, and no number bounds them.

    Source: rule: Zhao, Papagelis, An et al. 2020; bound ours.
    """
    bound = _superstep_lead()
    return Statement(
        label="elastic_lead",
        title="Lead of a worker between planned barriers",
        assumptions=(*SUPERSTEP, r"iterations are counted from the last barrier"),
        relation=sympy.Le(lead, bound, evaluate=False),
        domain=DURATIONS,
        source="rule: Zhao et al. 2020 (ElasticBSP); bound ours",
        derivation=(
            Step(
                "the plan is made at M d_max at the latest, when a worker has ended ⌊M d_max/d_min⌋ at most",
                _ended_at_most,
            ),
            Step(
                "before, while somebody has ended c < M only, less than (c + 1)d_max has passed: others lead by "
                "⌊(c + 1)d_max/d_min⌋ − c or less, which grows with c",
                _grows_while_monitored,
            ),
            Step("at c = M − 1 this is the bound less R − 1", lambda: _room_while_monitored(bound)),
            Step("then one may end R more, and all have ended M", lambda: _after_plan() - bound, concludes=bound),
            Step(
                "durations 1 and R + 1/(M + 2) attain it for M < 4, R < 5, if the closest times are planned",
                _is_attained,
            ),
        ),
    )


def elastic_regret() -> Statement:
    """R ≤ 2Fℓ√(2GnT) for R ≥ 2, G = ⌊M d_max/d_min⌋ − M + R the lead of `elastic_lead`: `ssp_regret` at s = G − 1.

    As described to us, Zhao, Papagelis, An et al. 2020 take the difference of iterations in a superstep to be at most
    R, and conclude as for SSP. With monitoring G depends on the ratio of speeds as well, and R alone is too small. It
    is a bound for the whole run, though leads add up over supersteps: views hold everything before the last barrier.

    Source: form: Zhao, Papagelis, An et al. 2020, not read; condition and constant: ours.
    """
    bound = published_bound(_superstep_lead())
    return Statement(
        label="elastic_regret",
        title="Regret between planned barriers",
        assumptions=(
            *(*SUPERSTEP, CONVEX, DIAMETER),
            r"updates $t$ are numbered by superstep, then by iteration, then by worker",
            MOVES,
            "a view holds what is completed when its worker starts",
            published_scale(_superstep_lead()),
        ),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(*DURATIONS, sympy.Ge(look_ahead, 2)),
        source="form: Zhao et al. 2020 (ElasticBSP), not read; condition and constant: ours",
        derivation=(
            Step(
                "iteration k of a superstep starts at a lead of s = G − 1 or less: ⌊M d_max/d_min⌋ − M + 1 before the "
                "plan, ⌊M d_max/d_min⌋ + R − 1 − M after it",
                _lead_at_start,
            ),
            Step(
                "others have ended k − 1 + s or fewer: ⌊(k − 1)d_max/d_min⌋ for k − 1 ≤ M, and later "
                "⌊M d_max/d_min⌋ + R",
                _ahead_at_start,
            ),
            Step(
                "updates in the order of superstep, iteration, worker: the window of `ssp_regret` at s = G − 1, with "
                "its steps",
                lambda: _at_lead(bound),
                concludes=bound,
            ),
            Step("iterations that some workers do not make leave no more pairs to an update", None, argued=_ORDER),
            *ssp_regret().derivation,
        ),
    )


def arrival_regret() -> Statement:
    """R ≤ Fℓ√(2((2n − 1)T − n(n − 1))) ≤ Fℓ√(2(2n − 1)T) for the best fixed step, whoever waits for whom.

    An update is lacking in the views of those alone who compute while it arrives. So neither staleness nor look-ahead
    nor the ratio of speeds matters, where every worker reads the newest model: from one iteration of staleness on, and
    this is below `ssp_regret_optimised` for n ≥ 2, and equal to it for one worker. It is attained for every n by one
    iteration of each, T = n, and of all but one, and for one worker by every T.

    Source: ours; that delays are below n on the average: Koloskova, Stich and Jaggi 2022, as we understand them.
    """
    bound = radius * lipschitz * sympy.sqrt(2 * _arrival_factor())
    return Statement(
        label="arrival_regret",
        title="Regret of workers that read the newest model",
        assumptions=(*(FRESH, CONVEX, START), Given("step_size", r"\eta", "=", _best_step(_arrival_factor()))),
        relation=sympy.Le(regret, bound, evaluate=False),
        domain=(sympy.Ge(T, n - 1),),
        source="ours; delays below n on the average: Koloskova et al. 2022",
        derivation=(
            *ssp_regret_fixed_step().derivation[:3],
            Step(
                "a view lacks t − 1 − p(t) updates or fewer, p(t) the arrival of its worker before t, or 0: for one "
                "update more of a worker, from p to t, the sum of t − p grows by as much as the last arrivals",
                _arrivals_telescope,
            ),
            Step(
                "so it is that of the last arrivals less T, counted in all orders of a few updates, too",
                _arrivals_counted,
            ),
            Step(
                "these are T, T − 1, …, T − n + 1 at most, of which the last is 0 for T = n − 1",
                lambda: _lacking_in_all() - _lacking_closed(),
            ),
            Step("F²/η + ηℓ²T/2 and their cost are F²/η + ηℓ²q/2, q = (2n − 1)T − n(n − 1)", _costs_in_all),
            Step("this exceeds Fℓ√(2q) by a square over η, which vanishes at the best step", _excess_is_a_square),
            Step("there it is the bound", lambda: _at_best_step(bound), concludes=bound),
            Step("n views of x_1 with losses ℓ|x − x*| attain it", lambda: _one_round_attains(bound)),
            Step(
                "`ssp_regret_optimised` has no smaller a number under the root for s ≥ 1, and a larger one for n ≥ 2",
                _below_bounded_staleness,
            ),
        ),
    )


def _superstep_lead() -> sympy.Expr:
    """G."""
    return _monitored() - monitoring_count + look_ahead


def _monitored() -> sympy.Expr:
    """⌊M d_max/d_min⌋."""
    return sympy.floor(monitoring_count * longest_duration / shortest_duration)


def _ended_at_most() -> sympy.Basic:
    # M d_max = (whole + part) d_min: one iteration more does not fit.
    one_more = (_WHOLE + 1) * shortest_duration
    return decided(sympy.factor(one_more - (_WHOLE + _PART) * shortest_duration).is_positive)


def _grows_while_monitored() -> sympy.Basic:
    # (c + 1)ρ = whole + part and ρ = 1 + slower.
    slower, ended = sympy.Symbol("slower", nonnegative=True), sympy.Symbol("c", integer=True, nonnegative=True)
    now = sympy.floor(_WHOLE + _PART).subs(sympy.floor(_PART), 0) - ended
    later = sympy.floor(_WHOLE + _PART + 1 + slower) - (ended + 1)
    return decided(sympy.expand(later - now).is_nonnegative)


def _room_while_monitored(bound: sympy.Expr) -> sympy.Basic:
    last = _monitored() - (monitoring_count - 1)
    return decided(sympy.expand(bound - last - (look_ahead - 1)) == 0 and (look_ahead - 1).is_nonnegative)


def _after_plan() -> sympy.Expr:
    return (_monitored() + look_ahead) - monitoring_count


def _is_attained() -> sympy.Basic:
    return decided(all(_meets(monitored, ahead) for monitored, ahead in SMALL_SUPERSTEPS))


def _meets(monitored: int, ahead: int) -> bool:
    slow = ahead + Fraction(1, monitored + 2)
    fast_ended = int(monitored * slow)
    fast_more = _closest(
        [fast_ended + number for number in range(1, ahead + 1)],
        [slow * (monitored + number) for number in range(1, ahead + 1)],
    )
    largest = max(ended - int(ended / slow) for ended in range(fast_ended + fast_more + 1))
    numbers = {monitoring_count: monitored, look_ahead: ahead, shortest_duration: 1, longest_duration: slow}
    stated = _superstep_lead().subs({symbol: sympy.Rational(value) for symbol, value in numbers.items()})
    return bool(stated == largest)


def _closest(fast: Sequence[int], slow: Sequence[Fraction]) -> int:
    """How many iterations more the fast one makes, if both are to end as close to each other as possible."""
    chosen = min(product(fast, slow), key=lambda times: abs(times[0] - times[1]))
    return fast.index(chosen[0]) + 1


def _lead_at_start() -> sympy.Basic:
    slack = (_superstep_lead() - 1).subs(look_ahead, 2 + _MORE)
    before = _monitored() - monitoring_count + 1
    after = _monitored() + (2 + _MORE) - 1 - monitoring_count
    return decided(all(sympy.expand(slack - start).is_nonnegative for start in (before, after)))


def _at_lead(bound: sympy.Expr) -> sympy.Basic:
    slack = _superstep_lead() - 1
    scale = ssp_regret().given("step_scale").subs(staleness, slack)
    return decided(
        ssp_regret().bound.subs(staleness, slack) == bound and scale == published_scale(_superstep_lead()).right
    )


def _ahead_at_start() -> sympy.Basic:
    # ⌊(k − 1)ρ⌋ − (k − 1) grows with k by `_grows_while_monitored`; it is largest at k − 1 = M.
    slack = (_superstep_lead() - 1).subs(look_ahead, 2 + _MORE)
    before = _monitored() - monitoring_count
    after = _monitored() + (2 + _MORE) - (monitoring_count + 1 + _LATER)
    return decided(all(sympy.expand(slack - ahead).is_nonnegative for ahead in (before, after)))


def _arrival_factor() -> sympy.Expr:
    """q: T, and twice the number of updates that all views lack together."""
    return (2 * n - 1) * T - n * (n - 1)


def _lacking_closed() -> sympy.Expr:
    return (n - 1) * T - n * (n - 1) / 2


def _lacking_in_all() -> sympy.Expr:
    before_last = sympy.Symbol("r", integer=True, nonnegative=True)
    return sympy.expand(sympy.summation(T - before_last, (before_last, 0, n - 1)) - T)


def _arrivals_telescope() -> sympy.Expr:
    # What the views lack is Σ (t − 1 − p(t)); the last arrivals less the number of updates.
    before, own, others = sympy.symbols("p t others", integer=True, nonnegative=True)
    count = sympy.Symbol("count", integer=True, nonnegative=True)
    lacking = own - 1 - before
    return sympy.expand(lacking - ((others + own - (count + 1)) - (others + before - count)))


def _arrivals_counted() -> sympy.Basic:
    orders = (order for size in SMALL_ORDERS for order in product(range(size[0]), repeat=size[1]))
    return decided(all(_lacking(order) == sum(_last_arrivals(order)) - len(order) for order in orders))


def _lacking(order: Sequence[int]) -> int:
    """Updates that the views lack in all, by the workers whose updates arrive, when each reads as its own arrives."""
    held = dict.fromkeys(order, 0)
    total = 0
    for arrived, worker in enumerate(order):
        total += arrived - held[worker]
        held[worker] = arrived + 1
    return total


def _last_arrivals(order: Sequence[int]) -> list[int]:
    return [max(place for place, other in enumerate(order, start=1) if other == worker) for worker in set(order)]


def _with_positive_factor(expression: sympy.Expr) -> sympy.Expr:
    """The expression with n = 1 + others and T = n − 1 + later, which shows the sign of the factor."""
    return expression.subs(T, n - 1 + _LATER).subs(n, 1 + _OTHERS)


def _costs(factor: sympy.Expr) -> sympy.Expr:
    return radius**2 / eta + eta * lipschitz**2 * factor / 2


def _costs_in_all() -> sympy.Expr:
    return sympy.expand(radius**2 / eta + eta * lipschitz**2 * (T / 2 + _lacking_in_all()) - _costs(_arrival_factor()))


def _best_step(factor: sympy.Expr) -> sympy.Expr:
    return radius / lipschitz * sympy.sqrt(2 / factor)


def _excess_is_a_square() -> sympy.Expr:
    factor = sympy.Symbol("q", positive=True)
    square = lipschitz**2 * factor * (eta - _best_step(factor)) ** 2 / (2 * eta)
    return sympy.expand(_costs(factor) - radius * lipschitz * sympy.sqrt(2 * factor) - square)


def _at_best_step(bound: sympy.Expr) -> sympy.Expr:
    factor = _arrival_factor()
    return sympy.simplify(_with_positive_factor(_costs(factor).subs(eta, _best_step(factor)) - bound))


def _one_round_attains(bound: sympy.Expr) -> sympy.Expr:
    offset = sympy.sqrt(2) * radius
    return sympy.simplify(bound.subs(T, n) - n * lipschitz * offset)


def _below_bounded_staleness() -> sympy.Basic:
    stale = (1 + (2 * (1 + _MORE) + 1) * (n - 1)) * T
    excess = sympy.expand(_with_positive_factor(stale - _arrival_factor()))
    for_more_workers = sympy.expand(excess.subs(_OTHERS, 1 + _OTHERS))
    return decided(excess.is_nonnegative and for_more_workers.is_positive)


STATEMENTS = by_label(__name__, elastic_lead, elastic_regret, arrival_regret)
"""The statements of this file."""
