"""How long does it take until all workers have the sum of n vectors of d values, dense or of k entries each?

A message of b bytes takes α + bβ seconds (Hockney 1994); every worker sends one message at a time and receives one
meanwhile; what arrives is added in γ seconds a byte, before the worker goes on. A value has s bytes, an entry s + j.
The algorithms are textbook ones, without headers, and a part that is not whole counts as the fraction it is; the
statements are equalities, because in each of them some chain of messages and additions, each of which waits for the one
before, is as long as all rounds together. Ours.
"""

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    byte_seconds,
    collective_seconds,
    d,
    doubling_count,
    index_bytes,
    inner_byte_seconds,
    inner_message_seconds,
    k,
    merge_seconds,
    message_seconds,
    n,
    union_size,
    value_bytes,
)

MODEL = (
    r"a message of $b$ bytes takes $\alpha+b\beta$, and a worker sends one and receives one at a time",
    r"what arrives and is to be added takes $\gamma$ a byte",
)
VALUES = (r"each of $n$ workers has $d$ values of $s$ bytes",)
PARTS = (Given("part", "p", "=", d / n, words="a vector is cut into $n$ parts, of {} values each"),)
ENTRIES = (r"each of $n$ workers has $k$ entries: a value of $s$ bytes and its position, of $j$ bytes",)
DOUBLINGS = (sympy.Lt(2 ** (doubling_count - 1), n), sympy.Le(n, 2**doubling_count))
"""D = ⌈log₂ n⌉."""
ENTRY_BYTES = value_bytes + index_bytes
VECTOR_BYTES = d * value_bytes

TOGETHER = "that all workers send and receive as much, and begin and end each round together"
AT_ROOT = "that whom the root hears or tells is never later than it"
_ROUND = sympy.Symbol("t", integer=True, nonnegative=True)
_WORKER = sympy.Symbol("i", integer=True)


def difference(bound: sympy.Expr, *parts: sympy.Expr) -> sympy.Expr:
    """The parts of a time together, less what is stated."""
    return sympy.expand(sympy.Add(*parts) - bound)


def rounds(count: sympy.Expr, size: sympy.Expr, *, added: bool = False, inner: bool = False) -> sympy.Expr:
    """Seconds of so many rounds, one after the other, of messages of one size, which is added where it arrives or not.

    Args:
        count: of rounds.
        size: bytes of a message.
        added: γ counts too.
        inner: inside a node.
    """
    message, byte = (inner_message_seconds, inner_byte_seconds) if inner else (message_seconds, byte_seconds)
    return count * (message + size * byte + (size * merge_seconds if added else 0))


def ring_all_reduce() -> Statement:
    """2(n − 1)α + 2((n − 1)/n)dsβ + ((n − 1)/n)dsγ: n − 1 rounds that add parts of d/n values, n − 1 that share them.

    Where n does not divide d, it is the time for n⌈d/n⌉ values: the longest part goes round the ring as the others do.

    Source: classical (ring all-reduce).
    """
    bound = (n - 1) * (2 * message_seconds + VECTOR_BYTES / n * (2 * byte_seconds + merge_seconds))
    return Statement(
        label="ring_all_reduce",
        title="Seconds of a ring all-reduce",
        assumptions=(*MODEL, *VALUES, *PARTS),
        relation=sympy.Eq(collective_seconds, bound),
        domain=(),
        source="classical",
        derivation=(
            Step("worker i sends part i − 1 − t in round t: the one that it received in round t − 1", _passed_on),
            Step(
                "the last part that comes to worker i is part i, and all have added theirs to it",
                _own_part,
                argued="that it has been to all others, one after the other",
            ),
            Step(
                "n − 1 rounds that add, and n − 1 that share, with d/n values each",
                lambda: difference(bound, rounds(n - 1, VECTOR_BYTES / n, added=True), rounds(n - 1, VECTOR_BYTES / n)),
                concludes=bound,
                argued=TOGETHER,
            ),
        ),
    )


def doubling_all_reduce() -> Statement:
    """2Dα + 2((n − 1)/n)dsβ + ((n − 1)/n)dsγ, D = ⌈log₂ n⌉: the bytes of the ring in far fewer rounds.

    It is never slower than ring or tree in this model, which knows of no lines that messages share. For n = 2^D it
    costs what recursive halving and doubling do; for other n the rounds of `doubling_all_gather` are run backwards,
    adding, and then forwards.

    Source: classical (Thakur, Rabenseifner and Gropp 2005 for n = 2^D; Bruck et al. 1997 for the rounds of other n).
    """
    bound = 2 * doubling_count * message_seconds + (n - 1) * VECTOR_BYTES / n * (2 * byte_seconds + merge_seconds)
    return Statement(
        label="doubling_all_reduce",
        title="Seconds of an all-reduce by halving and doubling",
        assumptions=(*MODEL, *VALUES, *PARTS, r"$D=\lceil\log_2 n\rceil$"),
        relation=sympy.Eq(collective_seconds, bound),
        domain=DOUBLINGS,
        source="classical",
        derivation=(
            Step(
                "2^t parts in round t, and in the last one those that are missing, are n − 1: those of all others",
                _doubled,
                argued="that no part comes twice",
            ),
            Step(
                "D rounds that add the parts backwards, and D that share them, n − 1 parts each way",
                lambda: difference(bound, _doublings(VECTOR_BYTES / n, added=True), _doublings(VECTOR_BYTES / n)),
                concludes=bound,
                argued=TOGETHER,
            ),
        ),
    )


def tree_all_reduce() -> Statement:
    """D(2α + ds(2β + γ)), D = ⌈log₂ n⌉: whole vectors are added up a binomial tree and told down again.

    Source: classical (binomial tree).
    """
    bound = doubling_count * (2 * message_seconds + VECTOR_BYTES * (2 * byte_seconds + merge_seconds))
    return Statement(
        label="tree_all_reduce",
        title="Seconds of an all-reduce by a binomial tree",
        assumptions=(*MODEL, *VALUES, r"$D=\lceil\log_2 n\rceil$"),
        relation=sympy.Eq(collective_seconds, bound),
        domain=DOUBLINGS,
        source="classical",
        derivation=(
            Step("where round t joins 2^t workers to the root's, D rounds join 2^D", _joined),
            Step(
                "D rounds up, in each of which the root adds, and D down, in each of which it tells",
                lambda: difference(
                    bound, rounds(doubling_count, VECTOR_BYTES, added=True), rounds(doubling_count, VECTOR_BYTES)
                ),
                concludes=bound,
                argued=AT_ROOT,
            ),
        ),
    )


def ring_all_gather() -> Statement:
    """(n − 1)(α + k(s + j)(β + γ)): n − 1 payloads arrive, are passed on, and are added.

    Payloads of different lengths take as long as if all had that of the longest, which goes round the ring as well.

    Source: classical (ring all-gather); what is added is ours.
    """
    bound = (n - 1) * (message_seconds + k * ENTRY_BYTES * (byte_seconds + merge_seconds))
    return Statement(
        label="ring_all_gather",
        title="Seconds of a ring all-gather of payloads",
        assumptions=(*MODEL, *ENTRIES),
        relation=sympy.Eq(collective_seconds, bound),
        domain=(),
        source="classical; with additions ours",
        derivation=(
            Step("worker i sends the payload of worker i − t in round t: that which it received before", _sent_before),
            Step(
                "n − 1 rounds of k entries, each of which is added",
                lambda: difference(bound, rounds(n - 1, k * ENTRY_BYTES, added=True)),
                concludes=bound,
                argued=TOGETHER,
            ),
        ),
    )


def doubling_all_gather() -> Statement:
    """Dα + (n − 1)k(s + j)(β + γ), D = ⌈log₂ n⌉: the bytes of the ring in far fewer rounds.

    Source: classical (recursive doubling; Bruck et al. 1997 for every n); what is added is ours.
    """
    bound = doubling_count * message_seconds + (n - 1) * k * ENTRY_BYTES * (byte_seconds + merge_seconds)
    return Statement(
        label="doubling_all_gather",
        title="Seconds of an all-gather of payloads by doubling",
        assumptions=(*MODEL, *ENTRIES, r"$D=\lceil\log_2 n\rceil$"),
        relation=sympy.Eq(collective_seconds, bound),
        domain=DOUBLINGS,
        source="classical; with additions ours",
        derivation=(
            Step(
                "2^t payloads in round t, and in the last one those that are missing, are n − 1: those of all others",
                _doubled,
                argued="that none comes twice",
            ),
            Step(
                "D rounds, in which n − 1 payloads arrive and are added",
                lambda: difference(bound, _doublings(k * ENTRY_BYTES, added=True)),
                concludes=bound,
                argued=TOGETHER,
            ),
        ),
    )


def global_top_k() -> Statement:
    """D(2α + k(s + j)(2β + γ)), D = ⌈log₂ n⌉: two payloads are merged, the k largest sums kept, up a tree.

    What a merge drops is in no worker's result, and must go back to residuals if nothing is to be lost.

    Source: ours; the setting is that of Shi, Wang, Zhao, Tang, Wang, Huang and Chu 2019 (gTop-k), which was not read.
    """
    bound = doubling_count * (2 * message_seconds + k * ENTRY_BYTES * (2 * byte_seconds + merge_seconds))
    return Statement(
        label="global_top_k",
        title="Seconds of merging payloads up a tree, k entries kept",
        assumptions=(*MODEL, *ENTRIES, r"$D=\lceil\log_2 n\rceil$", "of each merge the $k$ largest sums are kept"),
        relation=sympy.Eq(collective_seconds, bound),
        domain=DOUBLINGS,
        source="ours; the setting is that of Shi, Wang, Zhao, Tang, Wang, Huang and Chu 2019 (gTop-k)",
        derivation=(
            Step("where round t joins 2^t workers to the root's, D rounds join 2^D", _joined),
            Step(
                "D rounds up with k entries that are merged, and D down",
                lambda: difference(
                    bound,
                    rounds(doubling_count, k * ENTRY_BYTES, added=True),
                    rounds(doubling_count, k * ENTRY_BYTES),
                ),
                concludes=bound,
                argued=AT_ROOT,
            ),
        ),
    )


def balanced_all_reduce() -> Statement:
    """2(n − 1)α + ((n − 1)/n)(s + j)((k + U)β + kγ), U = |∪S_i|: each worker adds what lies in its n-th of all.

    Where owners keep their k/n largest sums, U is k.

    Source: ours; the setting is that of Ok-Topk (Li and Hoefler 2022), which was not read.
    """
    entries = (k + union_size) * byte_seconds + k * merge_seconds
    bound = 2 * (n - 1) * message_seconds + (n - 1) * ENTRY_BYTES * entries / n
    return Statement(
        label="balanced_all_reduce",
        title="Seconds of a sparse all-reduce by owners of regions",
        assumptions=(
            *MODEL,
            *ENTRIES,
            Given("entries", "e", "=", k / n, words="each of $n$ regions has an owner, and {} entries of every worker"),
            Given("sums", "u", "=", union_size / n, words="each region has {} coordinates that some worker selected"),
        ),
        relation=sympy.Eq(collective_seconds, bound),
        domain=(sympy.Le(k, union_size), sympy.Le(union_size, n * k)),
        source="ours; the setting is that of Li and Hoefler 2022",
        derivation=(
            Step("what a worker sends to n − 1 owners and what it owns itself are its k entries", _handed_over),
            Step(
                "n − 1 rounds of k/n entries that are added, and n − 1 of U/n sums that are shared on a ring",
                lambda: difference(
                    bound,
                    rounds(n - 1, k * ENTRY_BYTES / n, added=True),
                    rounds(n - 1, union_size * ENTRY_BYTES / n),
                ),
                concludes=bound,
                argued=TOGETHER,
            ),
        ),
    )


def _doublings(size: sympy.Expr, *, added: bool = False) -> sympy.Expr:
    """Seconds of D rounds, all but the last of 2^t parts of a size, that one of what is missing of n − 1."""
    whole = sympy.summation(2**_ROUND, (_ROUND, 0, doubling_count - 2))
    parts = whole + n - 2 ** (doubling_count - 1)
    return doubling_count * message_seconds + parts * size * (byte_seconds + (merge_seconds if added else 0))


def _doubled() -> sympy.Expr:
    return sympy.summation(2**_ROUND, (_ROUND, 0, doubling_count - 2)) + n - 2 ** (doubling_count - 1) - (n - 1)


def _joined() -> sympy.Expr:
    return 1 + sympy.summation(2**_ROUND, (_ROUND, 0, doubling_count - 1)) - 2**doubling_count


def _part(worker: sympy.Expr, turn: sympy.Expr) -> sympy.Expr:
    """The part that a worker of a ring sends in a round that adds."""
    return worker - 1 - turn


def _passed_on() -> sympy.Expr:
    return _part(_WORKER, _ROUND) - _part(_WORKER - 1, _ROUND - 1)


def _own_part() -> sympy.Expr:
    """What arrives last is, modulo n, the worker's own part."""
    return sympy.Mod(_part(_WORKER - 1, n - 2) - _WORKER, n)


def _sent_before() -> sympy.Expr:
    return (_WORKER - _ROUND) - ((_WORKER - 1) - (_ROUND - 1))


def _handed_over() -> sympy.Expr:
    return difference(k, (n - 1) * (k / n), k / n)


STATEMENTS = by_label(
    __name__,
    ring_all_reduce,
    doubling_all_reduce,
    tree_all_reduce,
    ring_all_gather,
    doubling_all_gather,
    global_top_k,
    balanced_all_reduce,
)
"""The statements of this file."""
