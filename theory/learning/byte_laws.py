"""Who sends more, split learning, federated averaging or synchronous SGD, and what does selection change?

The setting is that of Singh, Vepakomma, Gupta and Raskar (2019), arXiv 1909.09145, which was not read; the laws here
count every value, label and position of an epoch, and are ours. n clients, a server, N = d parameters, p examples, q
values at the cut.
"""

import itertools

import sympy

from sparsync.theory.language.statement import Statement, Step, by_label
from sparsync.theory.language.symbols import (
    batch_crossover,
    cut_values,
    d,
    example_count,
    federated_bytes,
    index_bytes,
    k,
    kappa,
    label_bytes,
    large_batch_bytes,
    mean_union,
    n,
    passed_count,
    ring_bytes,
    round_count,
    safe_density,
    selected_bytes,
    split_bytes,
    split_crossover,
    total_batch,
    union_size,
    value_bytes,
)

SPLIT = (
    r"of each of $p$ examples $q$ values of $s$ bytes go up with a label of $\ell$ bytes, and $q$ come down",
    r"each of $n$ clients hands $h$ of its parameters to the next",
)
AVERAGED = (r"in each of $R$ exchanges all $d$ values of $s$ bytes go to each of $n$ clients and come back",)
SELECTED = (
    r"$S_i$ are the $k$ positions that client $i$ of $n$ selects",
    r"in each of $R$ exchanges every client sends them with their values, and is sent their union with the mean's",
)

_CLIENT = sympy.Symbol("c", integer=True, positive=True)
_SHARD = sympy.IndexedBase("p", positive=True)
_MORE = sympy.Symbol("more", positive=True)
"""Examples or clients beyond a crossover."""


def split_epoch_bytes() -> Statement:
    """p(2qs + ℓ) + nhs: what examples cost does not depend on how many clients share them.

    Source: ours; without labels and element sizes it is 2pq + ηNK, which is said to be Singh et al. (2019)'s.
    """
    bound = example_count * (2 * cut_values * value_bytes + label_bytes) + n * passed_count * value_bytes
    return Statement(
        label="split_epoch_bytes",
        title="Bytes of split learning",
        assumptions=SPLIT,
        relation=sympy.Eq(split_bytes, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("an example's activations and its label go up, the gradient comes down", _example_traffic),
            Step(
                "over the clients' shards, which have p examples in all, and their hand-overs",
                lambda: _split_total() - bound,
                concludes=bound,
            ),
        ),
    )


def federated_epoch_bytes() -> Statement:
    """2nRds: nothing depends on the examples.

    Source: ours; for R = 1 it is 2KN, which is said to be Singh et al. (2019)'s.
    """
    bound = 2 * n * round_count * d * value_bytes
    return Statement(
        label="federated_epoch_bytes",
        title="Bytes of federated averaging",
        assumptions=AVERAGED,
        relation=sympy.Eq(federated_bytes, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "d values down and d up, for each client in each exchange",
                lambda: round_count * sympy.summation(_both_ways(), (_CLIENT, 1, n)) - bound,
                concludes=bound,
            ),
        ),
    )


def large_batch_epoch_bytes() -> Statement:
    """2nds·p/B: an exchange for each batch of B examples of all clients.

    It is that of federated averaging with R = p/B, so that averaging once an epoch sends B/p of it.

    Source: ours.
    """
    bound = 2 * n * d * value_bytes * example_count / total_batch
    return Statement(
        label="large_batch_epoch_bytes",
        title="Bytes of synchronous SGD through a server",
        assumptions=("after each batch of $B$ of the $p$ examples all $d$ values go to each of $n$ clients and back",),
        relation=sympy.Eq(large_batch_bytes, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "p/B exchanges",
                lambda: federated_epoch_bytes().bound.subs(round_count, example_count / total_batch) - bound,
                concludes=bound,
            ),
        ),
    )


def ring_epoch_bytes() -> Statement:
    """2(n − 1)ds·p/B: a ring sends (n − 1)/n of what a server does, and no server.

    Source: classical (ring all-reduce); in these terms ours.
    """
    bound = 2 * (n - 1) * d * value_bytes * example_count / total_batch
    return Statement(
        label="ring_epoch_bytes",
        title="Bytes of synchronous SGD on a ring",
        assumptions=(
            "after each batch of $B$ of the $p$ examples $n$ clients add $d$ values up by a ring all-reduce",
            "$n$ divides $d$",
        ),
        relation=sympy.Eq(ring_bytes, bound),
        domain=(),
        source="classical; in these terms ours",
        derivation=(
            Step("n − 1 passes that add and n − 1 that share, each of d/n values of every client", _ring_passes),
            Step(
                "in each of p/B exchanges",
                lambda: _ring_traffic() * example_count / total_batch - bound,
                concludes=bound,
            ),
        ),
    )


def split_federated_crossover() -> Statement:
    """Split learning sends less iff p < ns(2Rd − h)/(2qs + ℓ): many clients and large models favour it, data do not.

    With h = ηN, R = 1, no labels: p < KN(2 − η)/(2q). It never does where h ≥ 2Rd, which takes
    R ≤ 1/2: an average every other epoch.

    Source: ours; the direction is that of Singh et al. (2019).
    """
    bound = n * value_bytes * (2 * round_count * d - passed_count) / (2 * cut_values * value_bytes + label_bytes)
    return Statement(
        label="split_federated_crossover",
        title="Examples at which split learning sends as much as federated averaging",
        assumptions=(*SPLIT, *AVERAGED),
        relation=sympy.Eq(split_crossover, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("with p* examples both send equally much", lambda: _excess(bound), concludes=bound),
            Step("with more, split learning sends more; so with fewer less", lambda: _excess(bound + _MORE) > 0),
        ),
    )


def split_batch_crossover() -> Statement:
    """Split learning sends less than synchronous SGD iff B < 2ndsp/(p(2qs + ℓ) + nhs).

    Source: ours.
    """
    bound = 2 * n * d * value_bytes * example_count / split_epoch_bytes().bound
    return Statement(
        label="split_batch_crossover",
        title="Batch at which split learning sends as much as synchronous SGD",
        assumptions=(*SPLIT, "synchronous SGD exchanges all $d$ values with a server after each batch of $B$"),
        relation=sympy.Eq(batch_crossover, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "with batches of B* both send equally much",
                lambda: large_batch_epoch_bytes().bound.subs(total_batch, bound) - split_epoch_bytes().bound,
                concludes=bound,
            ),
            Step(
                "larger batches send less",
                lambda: sympy.diff(large_batch_epoch_bytes().bound, total_batch) < 0,
            ),
        ),
    )


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
            Step("a set misses a position with probability C(d − 1, k)/C(d, k) = 1 − k/d: d ≤ 6", _missed_share),
            Step(
                "all n miss it with (1 − κ)^n, and there are d positions",
                lambda: sympy.summation(1 - (1 - kappa) ** n, (_CLIENT, 1, d)) - bound,
                concludes=bound,
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
            Step("|A ∪ B| = |A| + |B| − |A ∩ B|: all pairs of subsets of four", _inclusion_exclusion),
            Step(
                "so n sets of k have nk at most, and no set more than d",
                lambda: sympy.Min(sympy.summation(k, (_CLIENT, 1, n)), d) - bound,
                concludes=bound,
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
        derivation=(Step("|A ∪ B| ≥ |A|, which is k: all pairs of subsets of four", _contains, concludes=k),),
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

    Disjoint selections attain it. Positions count: with j = s it is 1/(1 + n).

    Source: ours.
    """
    bound = 2 * value_bytes / ((1 + n) * (value_bytes + index_bytes))
    return Statement(
        label="safe_selection",
        title="Density up to which selecting never sends more",
        assumptions=(*SELECTED, r"$k=\kappa d$; dense exchanges send $d$ values both ways"),
        relation=sympy.Eq(safe_density, bound),
        domain=(sympy.Ge(index_bytes, value_bytes),),
        source="ours",
        derivation=(
            Step("nκ* ≤ 1, as j ≥ s: the union of κ*d each is n κ*d at most", _union_is_linear),
            Step(
                "at κ* disjoint selections cost what all entries do",
                lambda: _selected_of(bound) - n * _both_ways(),
                concludes=bound,
            ),
            Step("and more at more", lambda: sympy.diff(_selected_of(kappa), kappa) > 0),
        ),
    )


def _example_traffic() -> sympy.Expr:
    up, down = cut_values * value_bytes + label_bytes, cut_values * value_bytes
    return up + down - split_epoch_bytes().bound.coeff(example_count)


def _split_total() -> sympy.Expr:
    each = 2 * cut_values * value_bytes + label_bytes
    examples = sympy.summation(_SHARD[_CLIENT], (_CLIENT, 1, n)) * each
    passed = sympy.summation(passed_count * value_bytes, (_CLIENT, 1, n))
    return examples.subs(sympy.Sum(_SHARD[_CLIENT], (_CLIENT, 1, n)), example_count) + passed


def _both_ways() -> sympy.Expr:
    return (d + d) * value_bytes


def _ring_passes() -> sympy.Expr:
    """Of three clients with three parts each: every part ends at every client with all three added."""
    parts = [[sympy.Symbol(f"x{client}{part}") for part in range(3)] for client in range(3)]
    held = [list(own) for own in parts]
    for turn in range(2):
        moved = [(client, (client - turn) % 3, held[client][(client - turn) % 3]) for client in range(3)]
        for client, part, value in moved:
            held[(client + 1) % 3][part] += value
    for turn in range(2):
        moved = [(client, (client + 1 - turn) % 3, held[client][(client + 1 - turn) % 3]) for client in range(3)]
        for client, part, value in moved:
            held[(client + 1) % 3][part] = value
    totals = [sympy.Add(*(own[part] for own in parts)) for part in range(3)]
    return sympy.Add(*(sympy.Abs(row[part] - totals[part]) for row in held for part in range(3)))


def _ring_traffic() -> sympy.Expr:
    return 2 * (n - 1) * n * (d / n) * value_bytes


def _excess(examples: sympy.Expr) -> sympy.Expr:
    split = split_epoch_bytes().bound.subs(example_count, examples)
    return sympy.simplify(split - federated_epoch_bytes().bound)


def _missed_share() -> sympy.Basic:
    pairs = [(size, count) for size in range(1, 7) for count in range(size + 1)]
    return sympy.And(
        *(
            sympy.Eq(sympy.binomial(size - 1, count) / sympy.binomial(size, count), 1 - sympy.Rational(count, size))
            for size, count in pairs
        )
    )


def _subsets() -> list[set[int]]:
    return [set(some) for size in range(5) for some in itertools.combinations(range(4), size)]


def _inclusion_exclusion() -> sympy.Basic:
    return sympy.sympify(all(len(a | b) == len(a) + len(b) - len(a & b) for a in _subsets() for b in _subsets()))


def _contains() -> sympy.Basic:
    return sympy.sympify(all(len(a | b) >= len(a) for a in _subsets() for b in _subsets()))


def _selected_exchange(union: sympy.Expr) -> sympy.Expr:
    return sympy.summation((value_bytes + index_bytes) * (k + union), (_CLIENT, 1, n))


def _selected_of(density: sympy.Expr) -> sympy.Expr:
    """Of disjoint selections."""
    return n * (value_bytes + index_bytes) * (density * d + n * density * d)


def _union_is_linear() -> sympy.Basic:
    """1 − nκ* in n = 1 + x and j = s + y has no negative coefficient above or below."""
    more_clients, more_bytes = sympy.symbols("x y", nonnegative=True)
    room = (1 - n * safe_selection().bound).subs(index_bytes, value_bytes + more_bytes).subs(n, 1 + more_clients)
    parts = sympy.fraction(sympy.cancel(room))
    return sympy.sympify(all(sympy.expand(part).is_nonnegative is True for part in parts))


STATEMENTS = by_label(
    __name__,
    split_epoch_bytes(),
    federated_epoch_bytes(),
    large_batch_epoch_bytes(),
    ring_epoch_bytes(),
    split_federated_crossover(),
    split_batch_crossover(),
    random_union(),
    largest_union(),
    least_union(),
    selected_epoch_bytes(),
    safe_selection(),
)
"""The statements of this file."""
