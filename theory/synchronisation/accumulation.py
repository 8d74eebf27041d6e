"""When is an update due that waits for a number of examples, and not for workers? After B/R, and a step of each more.

DeDLOC (Diskin et al. 2021, recalled and not read) makes an update when all together have seen so many examples. That it
is the update of one batch is `batch_weighted_error`; the rule in these terms, bound and proof are ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import T, largest_batch, n, target_batch, total_rate, update_time

WORKERS = (
    Given(
        "largest_report",
        "b_i",
        "≤",
        largest_batch,
        words=r"worker $i$ reports on $b_i$ examples every $b_i/r_i$, from time $0$ on and without pause; {}, "
        r"$R=\sum_i r_i$",
    ),
    Given(
        "due",
        "D",
        "=",
        target_batch,
        words="an update adds all reports since the last one, as soon as they have $D$ examples or more, {}",
    ),
)

_PLACE = sympy.Symbol("i", integer=True, positive=True)
_RATE = sympy.IndexedBase("r", positive=True)
_COUNT = sympy.Symbol("m", integer=True, nonnegative=True)
"""Reports of a worker strictly before a time."""
_BATCH, _RATE_OF_ONE, _TIME = sympy.symbols("b_i r_i t", positive=True)


def accumulation_time() -> Statement:
    """t_T ≤ (TB + (T − 1)b + nb)/R: no update T is sooner than TB/R, and none later than that by more than the rest.

    nb is for the step that each worker has not finished, (T − 1)b for what the last reports of earlier updates had too
    many. Where everybody has an equal share of each update and all wait, T updates take T·B/(n·min r_i): never less
    than TB/R, and more without limit where one worker is slow. Equal workers come as near to the bound as one likes.

    Source: ours; form: Diskin et al. 2021, recalled.
    """
    bound = (T * target_batch + (T - 1) * largest_batch + n * largest_batch) / total_rate
    return Statement(
        label="accumulation_time",
        title="Time of updates that wait for examples",
        assumptions=WORKERS,
        relation=sympy.Le(update_time, bound, evaluate=False),
        domain=(),
        source="ours; form: Diskin et al. 2021, recalled",
        derivation=(
            Step(
                "where m reports of worker i are strictly before t, the next is not: they have b_i m ≥ r_i t − b_i",
                _before,
            ),
            Step(
                "so all have reported on Rt − nb examples or more before t",
                lambda: _of_all() - (total_rate * _TIME - n * largest_batch),
            ),
            Step(
                "an update has fewer than B examples before its last report, of b at most: all have fewer than "
                "TB + (T − 1)b before the last report of update T",
                _too_many,
            ),
            Step(
                "hence Rt_T − nb < TB + (T − 1)b",
                lambda: sympy.solve(_of_all() - _most_examples(), _TIME)[0] - bound,
                concludes=bound,
            ),
            Step("no worker has reported on more than r_i t examples at t: t_T ≥ TB/R", _not_sooner),
            Step("n·min r_i ≤ R: an update of equal shares takes B/R or longer", _equal_shares),
            Step(
                "n equal workers, b = r_i = 1, B = m + ε, T(m + 1) = n(k − 1) + 1: t_T = k, and the bound is k + Tε/n",
                lambda: _attained(bound),
            ),
        ),
    )


def _before() -> sympy.Basic:
    # r_i t/b_i = m + s with 0 < s ≤ 1, s = some/(some + rest).
    some, rest = sympy.Symbol("some", positive=True), sympy.Symbol("rest", nonnegative=True)
    time = (_COUNT + some / (some + rest)) * _BATCH / _RATE_OF_ONE
    return decided(sympy.factor(_BATCH * _COUNT - _least_before(time)).is_nonnegative)


def _least_before(time: sympy.Expr) -> sympy.Expr:
    """Examples on which a worker has reported before a time, at least."""
    return _RATE_OF_ONE * time - _BATCH


def _of_all() -> sympy.Expr:
    """The same, of all workers, with b for each b_i."""
    least = _least_before(_TIME).subs({_RATE_OF_ONE: _RATE[_PLACE], _BATCH: largest_batch})
    total = sympy.Sum(least, (_PLACE, 1, n)).expand().doit().factor(deep=True).expand()
    return total.xreplace({sympy.Sum(_RATE[_PLACE], (_PLACE, 1, n)): total_rate})


def _most_examples() -> sympy.Expr:
    """Examples before the last report of the last update, fewer than these."""
    return (T - 1) * (target_batch + largest_batch) + target_batch


def _too_many() -> sympy.Expr:
    update = sympy.Symbol("u", integer=True, positive=True)
    earlier = sympy.summation(target_batch + largest_batch, (update, 1, T - 1))
    return sympy.expand(earlier + target_batch - (T * target_batch + (T - 1) * largest_batch))


def _not_sooner() -> sympy.Basic:
    later = sympy.Symbol("later", nonnegative=True)
    # At t = (m + later)·b_i/r_i worker i has made m reports.
    time = (_COUNT + later) * _BATCH / _RATE_OF_ONE
    return decided(sympy.expand(_RATE_OF_ONE * time - _BATCH * _COUNT).is_nonnegative)


def _equal_shares() -> sympy.Basic:
    slowest, more = sympy.Symbol("slowest", positive=True), sympy.Symbol("more", nonnegative=True)
    return decided(sympy.factor(target_batch / (n * slowest) - target_batch / (n * slowest + more)).is_nonnegative)


def _attained(bound: sympy.Expr) -> sympy.Expr:
    rounds, excess = sympy.Symbol("k", integer=True, positive=True), sympy.Symbol("epsilon", positive=True)
    reports = (n * (rounds - 1) + 1) / T
    put = bound.subs({target_batch: reports - 1 + excess, largest_batch: 1, total_rate: n})
    return sympy.simplify(put - rounds - T * excess / n)


STATEMENTS = by_label(__name__, accumulation_time)
"""The statements of this file."""
