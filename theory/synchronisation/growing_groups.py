"""When does a group that grows hold everybody? From asynchronous to synchronous, by updates of more and more reports.

Smooth Switch (Vora, Joshi and Patel 2024, whose threshold function has not been read) lets an update wait for K
reports, and K grow to all n workers. Here it grows by one after every g updates, as recalled; statements and proofs are
ours.
"""

from collections import deque

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import growth, longest_duration, n, switch_count, time_to_whole

GROUPS = (
    r"an update adds $K=\min(1+\lfloor v/g\rfloor,n)$ reports, $v$ the number of updates before",
    "a worker that has reported starts anew as soon as its report is added",
)
LARGEST_FOLLOWED = 5
"""Workers up to which equal ones are followed."""

_SIZE = sympy.Symbol("K", integer=True, positive=True)
_WHOLE = sympy.Symbol("q", integer=True, positive=True)
"""⌊n/K⌋."""
_REST, _MORE = sympy.symbols("rest more", integer=True, nonnegative=True)


def switch_reports() -> Statement:
    """Updates wait for all n workers from update (n − 1)g on, after gn(n − 1)/2 reports: n/2 of each update until then.

    So whoever wants a share of the examples before the switch chooses g; the time that it takes is in `switch_time`.

    Source: ours.
    """
    bound = growth * n * (n - 1) / 2
    return Statement(
        label="switch_reports",
        title="Reports until a growing group holds all workers",
        assumptions=(GROUPS[0],),
        relation=sympy.Eq(switch_count, bound),
        domain=(),
        source="ours; that groups grow: Vora, Joshi and Patel 2024",
        kind="definition",
        derivation=(
            Step("v = (K − 1)g + o with 0 ≤ o < g has 1 + ⌊v/g⌋ = K", _size_of_version),
            Step("so K = n − 1 at v = (n − 1)g − 1, and n from v = (n − 1)g on", _last_before),
            Step(
                "g updates each of 1, 2, …, n − 1 reports",
                lambda: sympy.expand(growth * sympy.summation(_SIZE, (_SIZE, 1, n - 1)) - bound),
                concludes=bound,
            ),
            Step("over the (n − 1)g updates: n/2", lambda: sympy.simplify(bound / ((n - 1) * growth)) - n / 2),
        ),
    )


def switch_time() -> Statement:
    """Updates wait for all n workers after d_max·Σ_{K<n} ⌈g/⌊n/K⌋⌉ or sooner, d_max the longest duration of a step.

    Equal workers that start together attain it where every ⌊n/K⌋ divides g. No less than d_min·g(n − 1)/2 passes, d_min
    the shortest duration of a step: the bound is at most 2d_max/d_min times this.

    Source: ours.
    """
    bound = longest_duration * sympy.Sum(_windows(growth, sympy.floor(n / _SIZE)), (_SIZE, 1, n - 1))
    return Statement(
        label="switch_time",
        title="Time until a growing group holds all workers",
        assumptions=(
            *GROUPS,
            Given(
                "longest", "d", "≤", longest_duration, words="a report is there a time {} after its worker has started"
            ),
        ),
        relation=sympy.Le(time_to_whole, bound, evaluate=False),
        domain=(),
        source="ours; that groups grow: Vora, Joshi and Patel 2024",
        derivation=(
            Step(
                "of m reports that wait and all of the n − m workers that compute, which report within d_max, fewer "
                "than K are left: more than n − K are added",
                _added_in_a_window,
            ),
            Step(
                "with n = qK + s, s ≥ 0, that is more than (q − 1)K: q = ⌊n/K⌋ updates at least", _updates_in_a_window
            ),
            Step("⌈g/q⌉ times q updates are g or more", _enough_windows),
            Step(
                "so d_max⌈g/⌊n/K⌋⌉ or less passes with each K < n",
                lambda: _all_sizes() - bound,
                concludes=bound,
            ),
            Step(
                f"equal workers up to {LARGEST_FOLLOWED}, followed with g divided by every ⌊n/K⌋, attain it",
                lambda: _equal_attain(bound),
            ),
            Step(
                "a worker makes t/d_min reports by t or fewer, and n of them gn(n − 1)/2 not before d_min·g(n − 1)/2",
                _not_sooner,
            ),
            Step("⌈g/q⌉ ≤ g for q ≥ 1: the bound is d_max·g(n − 1) or less, 2d_max/d_min times that", _within_two),
        ),
    )


def _size_of_version() -> sympy.Basic:
    # g = o + 1 + more: 0 ≤ o/g < 1.
    offset = sympy.Symbol("o", integer=True, nonnegative=True)
    length = offset + 1 + _MORE
    version = (_SIZE - 1) * length + offset
    share = sympy.simplify(version / length - (_SIZE - 1))
    return decided(share.is_nonnegative and sympy.factor(1 - share).is_positive)


def _last_before() -> sympy.Expr:
    # Of (n − 1)g − 1 = (K − 1)g + g − 1, K is n − 1; of (n − 1)g + o it is n.
    return sympy.expand((n - 1) * growth - 1 - ((_SIZE - 1) * growth + growth - 1).subs(_SIZE, n - 1))


def _windows(updates: sympy.Expr, in_one: sympy.Expr) -> sympy.Expr:
    """Windows of length d_max until so many updates are made."""
    return sympy.ceiling(updates / in_one)


def _added_in_a_window() -> sympy.Basic:
    waiting, sooner = sympy.symbols("m sooner", integer=True, nonnegative=True)
    left = _SIZE - 1 - _REST
    # Some may report twice.
    added = waiting + (n - waiting + sooner) - left
    return decided(sympy.expand(added - (n - _SIZE)).is_positive)


def _updates_in_a_window() -> sympy.Basic:
    workers = _WHOLE * _SIZE + _REST
    return decided(sympy.expand((workers - _SIZE) - (_WHOLE - 1) * _SIZE).is_nonnegative)


def _enough_windows() -> sympy.Basic:
    # g = aq + b with 1 ≤ b ≤ q, so that ⌈g/q⌉ = a + 1.
    before, last = sympy.Symbol("a", integer=True, nonnegative=True), sympy.Symbol("b", integer=True, positive=True)
    in_one = last + _MORE
    updates = before * in_one + last
    excess = sympy.factor(before + 1 - updates / in_one)
    return decided(excess.is_nonnegative and sympy.factor(1 - excess).is_positive)


def _all_sizes() -> sympy.Expr:
    in_one = sympy.floor(n / _SIZE)
    return longest_duration * sympy.Sum(_windows(growth, in_one), (_SIZE, 1, n - 1))


def _equal_attain(bound: sympy.Expr) -> sympy.Basic:
    agree = []
    for workers in range(1, LARGEST_FOLLOWED + 1):
        rounds = sympy.ilcm(1, 1, *(workers // size for size in range(1, workers)))
        stated = bound.subs({n: workers, growth: rounds, longest_duration: 1}).doit()
        agree.append(stated == _rounds_of_equal(workers, int(rounds)))
    return decided(all(agree))


def _rounds_of_equal(workers: int, versions: int) -> int:
    """Rounds of equal workers that start together, until an update waits for all of them."""
    updates, rounds, waiting = 0, 0, 0
    computing = workers
    while updates < (workers - 1) * versions:
        rounds += 1
        arriving, computing = deque(range(computing)), 0
        while arriving and updates < (workers - 1) * versions:
            arriving.popleft()
            waiting += 1
            if waiting == 1 + updates // versions:
                updates, computing, waiting = updates + 1, computing + waiting, 0
    return rounds


def _not_sooner() -> sympy.Basic:
    shortest, time = sympy.symbols("d t", positive=True)
    made, later = sympy.symbols("made later", nonnegative=True)
    # Report number m is at m·d_min or later.
    few = (sympy.expand((made + later) * shortest) / shortest - made).expand().is_nonnegative
    (reached,) = sympy.solve(n * time / shortest - growth * n * (n - 1) / 2, time)
    return decided(few and sympy.expand(reached - shortest * growth * (n - 1) / 2) == 0)


def _within_two() -> sympy.Basic:
    # g = aq + b with 1 ≤ b ≤ q, so that ⌈g/q⌉ = a + 1.
    before, last = sympy.Symbol("a", integer=True, nonnegative=True), 1 + _REST
    room = sympy.expand(before * (last + _MORE) + last - (before + 1))
    summed = sympy.summation(growth, (_SIZE, 1, n - 1)) - 2 * (growth * (n - 1) / 2)
    return decided(room.is_nonnegative and sympy.expand(summed) == 0)


STATEMENTS = by_label(__name__, switch_reports, switch_time)
"""The statements of this file."""
