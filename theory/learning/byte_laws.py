"""Who sends more, split learning, federated averaging or synchronous SGD?

The setting is that of Singh, Vepakomma, Gupta and Raskar 2019, arXiv 1909.09145, which was not read; the laws here
count every value, label and position of an epoch, and are ours. n clients, a server, N = d parameters, p examples, q
values at the cut.
"""

import sympy

from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    batch_crossover,
    cut_values,
    d,
    example_count,
    federated_bytes,
    label_bytes,
    large_batch_bytes,
    n,
    passed_count,
    ring_bytes,
    round_count,
    split_bytes,
    split_crossover,
    total_batch,
    value_bytes,
)

SPLIT = (
    r"of each of $p$ examples $q$ values of $s$ bytes go up with a label of $\ell$ bytes, and $q$ come down",
    r"each of $n$ clients hands $h$ of its parameters to the next",
)
AVERAGED = (r"in each of $R$ exchanges all $d$ values of $s$ bytes go to each of $n$ clients and come back",)
_CLIENT = sympy.Symbol("c", integer=True, positive=True)
_SHARD = sympy.IndexedBase("p", positive=True)
_MORE = sympy.Symbol("more", positive=True)
"""Examples or clients beyond a crossover."""


def split_epoch_bytes() -> Statement:
    """p(2qs + ℓ) + nhs: what examples cost does not depend on how many clients share them.

    Source: ours; without labels and element sizes it is 2pq + ηNK, which is said to be Singh et al. 2019's.
    """
    bound = example_count * (2 * cut_values * value_bytes + label_bytes) + n * passed_count * value_bytes
    return Statement(
        label="split_epoch_bytes",
        title="Bytes of split learning",
        assumptions=SPLIT,
        relation=sympy.Eq(split_bytes, bound),
        domain=(),
        source="ours",
        kind="definition",
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

    Source: ours; for R = 1 it is 2KN, which is said to be Singh et al. 2019's.
    """
    bound = 2 * n * round_count * d * value_bytes
    return Statement(
        label="federated_epoch_bytes",
        title="Bytes of federated averaging",
        assumptions=AVERAGED,
        relation=sympy.Eq(federated_bytes, bound),
        domain=(),
        source="ours",
        kind="definition",
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
        assumptions=(
            "after each batch of $B$ of the $p$ examples all $d$ values go to each of $n$ clients and back",
            "$B$ divides $p$",
        ),
        relation=sympy.Eq(large_batch_bytes, bound),
        domain=(),
        source="ours",
        kind="definition",
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
            "$n$ divides $d$, and $B$ divides $p$",
        ),
        relation=sympy.Eq(ring_bytes, bound),
        domain=(),
        source="classical; in these terms ours",
        kind="definition",
        derivation=(
            Step(
                "n − 1 passes that add and n − 1 that share, of d/n values of each client, leave all with the sum",
                _ring_passes,
                argued="for other numbers of clients than three",
            ),
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
    R ≤ 1/2, an average every other epoch: at h = 2Rd p* is 0, beyond it there is none.

    Source: ours; the direction is that of Singh et al. 2019.
    """
    bound = n * value_bytes * (2 * round_count * d - passed_count) / (2 * cut_values * value_bytes + label_bytes)
    return Statement(
        label="split_federated_crossover",
        title="Examples at which split learning sends as much as federated averaging",
        assumptions=(*SPLIT, *AVERAGED),
        relation=sympy.Eq(split_crossover, bound),
        domain=(sympy.Le(passed_count, 2 * round_count * d),),
        source="ours; the setting is that of Singh et al. 2019",
        kind="definition",
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
        kind="definition",
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


STATEMENTS = by_label(
    __name__,
    split_epoch_bytes,
    federated_epoch_bytes,
    large_batch_epoch_bytes,
    ring_epoch_bytes,
    split_federated_crossover,
    split_batch_crossover,
)
"""The statements of this file."""
