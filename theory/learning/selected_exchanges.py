"""What do selected entries send, when n clients select each for itself and all are told the union?

N = d parameters, k of them selected by each client, values of s and positions of j bytes. Ours, but for the union of
random sets, which is classical.
"""

import sympy

from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    d,
    index_bytes,
    k,
    kappa,
    mean_union,
    n,
    round_count,
    safe_density,
    selected_bytes,
    union_size,
    value_bytes,
)

SELECTED = (
    r"$S_i$ are the $k$ positions that client $i$ of $n$ selects",
    r"in each of $R$ exchanges every client sends them with their values, and is sent their union with the mean's",
)

_CLIENT = sympy.Symbol("c", integer=True, positive=True)
_MORE = sympy.Symbol("more", positive=True)
"""A number of entries of a union."""


def random_union() -> Statement:
    """E|∪ S_i| = d(1 − (1 − κ)^n): n independent sets of κd random positions.

    Source: classical.
    """
    bound = d * (1 - (1 - kappa) ** n)
    return Statement(
        label="random_union",
        title="Union of random selections",
        assumptions=(r"$S_i$, $i\leq n$, are independent sets of $\kappa d$ of $d$ positions, all equally likely",),
        relation=sympy.Eq(mean_union, bound),
        domain=(sympy.Le(kappa, 1),),
        source="classical",
        derivation=(
            Step("of C(d, k) sets C(d − 1, k) miss a position, which is the share 1 − k/d", _missed_share),
            Step(
                "all n miss it with (1 − κ)^n, and there are d positions",
                lambda: sympy.summation(1 - (1 - kappa) ** n, (_CLIENT, 1, d)) - bound,
                concludes=bound,
                argued="that chances of independent sets multiply, and that means add up",
            ),
        ),
    )


def largest_union() -> Statement:
    """|∪ S_i| ≤ min(nk, d), attained by disjoint selections, or by those that cover everything.

    Source: classical.
    """
    bound = sympy.Min(n * k, d)
    return Statement(
        label="largest_union",
        title="Largest union of selections",
        assumptions=SELECTED[:1],
        relation=sympy.Le(union_size, bound),
        domain=(sympy.Le(k, d),),
        source="classical",
        derivation=(
            Step(
                "|A ∪ B| = |A| + |B| − |A ∩ B|: a position that is in a and b of them, 0 or 1, counts a + b − ab times",
                _inclusion_exclusion,
            ),
            Step(
                "so n sets of k have nk at most, and no set more than d",
                lambda: sympy.Min(sympy.summation(k, (_CLIENT, 1, n)), d) - bound,
                concludes=bound,
                argued="that sets are added one by one",
            ),
        ),
    )


def least_union() -> Statement:
    """|∪ S_i| ≥ k, attained where all select alike.

    Source: classical.
    """
    return Statement(
        label="least_union",
        title="Least union of selections",
        assumptions=SELECTED[:1],
        relation=sympy.Ge(union_size, k, evaluate=False),
        domain=(sympy.Le(k, d),),
        source="classical",
        derivation=(
            Step("|A ∪ B| ≥ |A|, which is k: at each position of a and b a + b − ab ≥ a", _contains, concludes=k),
        ),
    )


def selected_epoch_bytes() -> Statement:
    """Rn(s + j)(k + min(nk, d)) at most: pairs up, and the union's down.

    Source: ours.
    """
    bound = round_count * n * (value_bytes + index_bytes) * (k + sympy.Min(n * k, d))
    return Statement(
        label="selected_epoch_bytes",
        title="Bytes of federated averaging with selected entries",
        assumptions=SELECTED,
        relation=sympy.Le(selected_bytes, bound, evaluate=False),
        domain=(sympy.Le(k, d),),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "k pairs up and the union's down, for each client in each exchange",
                lambda: round_count * _selected_exchange(largest_union().bound) - bound,
                concludes=bound,
            ),
            Step(
                "which grows with the union",
                lambda: sympy.diff(_selected_exchange(_MORE), _MORE) > 0,
            ),
        ),
    )


def safe_selection() -> Statement:
    """κ ≤ 2s/((1 + n)(s + j)): then selected entries never cost more than all of them, however the selections lie.

    Disjoint selections attain it. Positions count: with j = s it is 1/(1 + n). With j < s(n − 1)/(n + 1) disjoint
    selections of that density would not fit in d positions, and it is (s − j)/(s + j).

    Source: ours.
    """
    bound = 2 * value_bytes / ((1 + n) * (value_bytes + index_bytes))
    return Statement(
        label="safe_selection",
        title="Density up to which selecting never sends more",
        assumptions=(*SELECTED, r"$k=\kappa d$; dense exchanges send $d$ values both ways"),
        relation=sympy.Eq(safe_density, bound),
        domain=(sympy.Ge(index_bytes, value_bytes * (n - 1) / (n + 1)),),
        source="ours",
        derivation=(
            Step("nκ* ≤ 1, as j ≥ s(n − 1)/(n + 1): the union of κ*d each is n κ*d at most", _union_is_linear),
            Step(
                "at κ* disjoint selections cost what all entries do",
                lambda: _selected_of(bound) - n * (d + d) * value_bytes,
                concludes=bound,
            ),
            Step("and more at more", lambda: sympy.diff(_selected_of(kappa), kappa) > 0),
        ),
    )


def _missed_share() -> sympy.Expr:
    return sympy.combsimp(sympy.binomial(d - 1, k) / sympy.binomial(d, k)) - (1 - k / d)


def _places() -> list[tuple[int, int]]:
    """How often a position is in either of two sets."""
    return [(a, b) for a in (0, 1) for b in (0, 1)]


def _inclusion_exclusion() -> sympy.Basic:
    return sympy.sympify(all(int(bool(a or b)) == a + b - a * b for a, b in _places()))


def _contains() -> sympy.Basic:
    return sympy.sympify(all(a + b - a * b >= a for a, b in _places()))


def _selected_exchange(union: sympy.Expr) -> sympy.Expr:
    return sympy.summation((value_bytes + index_bytes) * (k + union), (_CLIENT, 1, n))


def _selected_of(density: sympy.Expr) -> sympy.Expr:
    """Of disjoint selections."""
    return n * (value_bytes + index_bytes) * (density * d + n * density * d)


def _union_is_linear() -> sympy.Basic:
    """1 − nκ* in n = 1 + x and j = s(n − 1)/(n + 1) + y has no negative coefficient above or below."""
    more_clients, more_bytes = sympy.symbols("x y", nonnegative=True)
    positions = value_bytes * (n - 1) / (n + 1) + more_bytes
    room = (1 - n * safe_selection().bound).subs(index_bytes, positions).subs(n, 1 + more_clients)
    parts = sympy.fraction(sympy.cancel(room))
    return sympy.sympify(all(sympy.expand(part).is_nonnegative is True for part in parts))


STATEMENTS = by_label(__name__, random_union, largest_union, least_union, selected_epoch_bytes, safe_selection)
"""The statements of this file."""
