"""How much does a longer look-ahead save at a planned barrier? The law for n workers of constant speed.

After a barrier all workers start together, so their times are multiples of their durations, and the question is how
closely n multiples can meet: simultaneous approximation (Dirichlet, Minkowski, Blichfeldt). With the body of all sets
of small range, in place of a cube, the law for two workers is the case n = 2. Ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    duration_product,
    longest_duration,
    look_ahead,
    n,
    shortest_duration,
    shortest_range,
)
from sparsync.theory.synchronisation.elastic_barriers import LOOK_AHEAD, zipline_two_workers

SLOW_COUNT = sympy.floor(look_ahead * shortest_duration / longest_duration)
"""N: so many iterations of the slowest worker lie within R of the fastest."""
WIDTH = sympy.Symbol("varepsilon", positive=True)
"""A range ε."""


def zipline_waiting() -> Statement:
    """Some times of n workers are within 2(P/(n(1 + N)))^{1/(n − 1)} of each other, N = ⌊R d_min/d_max⌋.

    P is the product of all durations but the longest. Looking further ahead shortens the wait like R^{−1/(n − 1)} only:
    for five workers a wait of half the length needs 16 times the look-ahead. For n = 2 it is `zipline_two_workers`,
    which is attained for R ≥ 2. The law is stated where it is below d_min, the shortest duration.

    Source: ours, by Blichfeldt's argument.
    """
    bound = 2 * (duration_product / (n * (1 + SLOW_COUNT))) ** (1 / (n - 1))
    return Statement(
        label="zipline_waiting",
        title="Wait at a planned barrier, any number of workers",
        assumptions=(
            r"all workers start together and make no pause, and the iterations of each take the same time",
            r"the shortest takes $d_{\min}$, the longest $d_{\max}$; $P$ is the product of all durations but that",
            LOOK_AHEAD,
        ),
        relation=sympy.Le(shortest_range, bound, evaluate=False),
        domain=(
            sympy.Ge(n, 2),
            sympy.Le(shortest_duration, longest_duration),
            sympy.Ge(duration_product, shortest_duration ** (n - 1)),
            sympy.Le(duration_product, shortest_duration * longest_duration ** (n - 2)),
            sympy.Lt(2 ** (n - 1) * duration_product, n * (1 + SLOW_COUNT) * shortest_duration ** (n - 1)),
        ),
        source="ours, by Blichfeldt's argument",
        derivation=(
            Step(
                "the y with a range of 0, y_1, …, y_{n−1} of at most 1 have the volume 1 + (n − 1)∫_0^1 ds = n: 0 is "
                "the least, or one y_i = −s",
                lambda: _volume() - n,
            ),
            Step(
                "at the bound ε, the N + 1 bodies of range ε/2 about q d_max, q = 0, …, N, modulo the d_i, have the "
                "volume P in all: for larger ε two overlap, so for one of the finitely many ranges ε is enough",
                lambda: _fills_torus(bound),
                concludes=bound,
            ),
            Step(
                "N ≥ 1, for P ≥ d_min^{n−1} and N = 0 would leave 2^{n−1} < n: not at n = 2, and twice k ≥ 2 is k + 1 "
                "or more",
                _slow_one_ends,
            ),
            Step("points of two such bodies differ by a y of range ε/2 + ε/2 or less", _ranges_add),
            Step("ε < d_min: multiples of the d_i alone have a larger range, so 1 ≤ q ≤ N", _moves_are_larger),
            Step("1 ≤ r_i ≤ R where r_i d_i is within ε of q d_max", _within_look_ahead),
            Step("ε < d_min is the last condition of the domain", lambda: _below_shortest(bound)),
            Step(
                "n = 2, where P = d_min: `zipline_two_workers`",
                lambda: (
                    bound.subs({n: 2, duration_product: shortest_duration}).subs(n, 2) - zipline_two_workers().bound
                ),
            ),
        ),
    )


def _volume() -> sympy.Expr:
    """Volume of the y whose range together with 0 is at most 1."""
    below = sympy.Symbol("s", nonnegative=True)
    others = (1 - below) - -below
    least_is_zero = sympy.Integer(1) ** (n - 1)
    return least_is_zero + (n - 1) * sympy.integrate(others ** (n - 2), (below, 0, 1))


def _fills_torus(bound: sympy.Expr) -> sympy.Expr:
    """N + 1 bodies whose range is half the bound, less the volume P of the torus."""
    body = _volume() * sympy.powdenest((bound / 2) ** (n - 1), force=True)
    return sympy.simplify((1 + SLOW_COUNT) * body - duration_product)


def _slow_one_ends() -> sympy.Basic:
    # The last condition at N = 0 over d_min^{n−1}; 2^{n−1} ≥ n at n = 2, and from n to n + 1.
    more, workers = sympy.symbols("more workers", integer=True, nonnegative=True)
    at_least = sympy.expand(2 * (workers + 2 + more) - (workers + 3))
    return decided(2 ** (2 - 1) >= 2 and at_least.is_nonnegative)


def _ranges_add() -> sympy.Basic:
    # y_i − y_j for any two coordinates, 0 among them.
    less, fewer = sympy.symbols("less fewer", nonnegative=True)
    first, second = WIDTH / 2 - less, WIDTH / 2 - fewer
    return decided(sympy.expand(WIDTH - (first + second)).is_nonnegative)


def _moves_are_larger() -> sympy.Basic:
    longer, further = sympy.symbols("longer further", nonnegative=True)
    room = sympy.Symbol("room", positive=True)
    duration, width = shortest_duration + longer, shortest_duration - room
    return decided(sympy.expand((1 + further) * duration - width).is_positive)


def _within_look_ahead() -> sympy.Basic:
    longer, unused, further, rest = sympy.symbols("longer unused further rest", nonnegative=True)
    room = sympy.Symbol("room", positive=True)
    duration, width = shortest_duration + longer, shortest_duration - room
    # r_i d_i > q d_max − ε with q ≥ 1 and d_max ≥ d_min.
    lowest = (1 + further) * (shortest_duration + rest) - width
    # r_i d_i ≤ N d_max + ε with N d_max ≤ R d_min.
    largest = look_ahead * shortest_duration - unused + width
    return decided(sympy.expand(lowest).is_positive and sympy.expand((look_ahead + 1) * duration - largest).is_positive)


def _below_shortest(bound: sympy.Expr) -> sympy.Basic:
    power = sympy.powdenest((bound / shortest_duration) ** (n - 1), force=True)
    stated = 2 ** (n - 1) * duration_product / (n * (1 + SLOW_COUNT) * shortest_duration ** (n - 1))
    ratio = sympy.simplify(
        sympy.expand_log(sympy.log(power), force=True) - sympy.expand_log(sympy.log(stated), force=True)
    )
    return decided(ratio == 0)


STATEMENTS = by_label(__name__, zipline_waiting)
"""The statements of this file."""
