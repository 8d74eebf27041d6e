"""What does it take to find the k largest of d entries over n ranks, by regular samples or by a tree of merges? Ours.

Entries are ordered from the largest magnitude down, equal ones by rank and index; samples are as in
`regular_sampling.py`. The k largest are among the k largest of each rank, nk in all, which alone are sampled. The tree
is that of gTop-k, Shi et al. 2019, which was not read.
"""

from dataclasses import replace

import sympy

from sparsync.theory.cost.regular_sampling import OPENING_BYTES, SAMPLED, sample_rank
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    candidate_count,
    exact_bytes,
    index_bytes,
    k,
    merged_bytes,
    n,
    segment_length,
    telling_rounds,
    told_count,
    value_bytes,
)

DECIDED_BYTES = 16
"""Two numbers that each rank tells each other one between rounds: entries surely selected, and candidates."""
OPENED = Given("opening", "b_0", "≤", sympy.Integer(OPENING_BYTES), words="ranks tell each other {} bytes first")
_RANK, _SEGMENT = sympy.symbols("rank segment", integer=True, positive=True)
_REST, _MORE, _LESS = sympy.symbols("rest more less", integer=True, nonnegative=True)
_TURN = sympy.Symbol("i", integer=True, positive=True)
_LENGTH, _OTHER, _RATIO = sympy.symbols("length other t", positive=True)


def sampled_candidates() -> Statement:
    """L(n − ⌊n/L⌋) + (n − 1)(L − 1) < 2nL entries are left in doubt at most, whatever k and the entries are. Attained.

    Source: ours.
    """
    bound = segment_length * (n - sympy.floor(n / segment_length)) + (n - 1) * (segment_length - 1)
    return Statement(
        label="sampled_candidates",
        title="Entries that regular samples leave in doubt",
        assumptions=(
            *SAMPLED,
            r"the first $k$ keys are sought; those up to the last $S_m$ with $mL+(n-1)(L-1)\leq k$ are among them, "
            r"those behind $S_{\lceil k/L\rceil}$ are not",
        ),
        relation=sympy.Le(candidate_count, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "of k = hL − x ≥ (n − 1)(L − 1), 0 ≤ x < L, the two samples are ⌈(x + (n − 1)(L − 1))/L⌉ apart",
                _samples_apart,
            ),
            Step("which is most for x = L − 1: n − ⌊n/L⌋", _most_apart),
            Step("for a smaller k the earlier one is none, m = 0, and ⌈k/L⌉ is no more than that", _few_apart),
            Step(
                "up to the later one there are (n − 1)(L − 1) keys more than it stands for, or fewer, and up to the "
                "earlier one as many as that stands for, or more",
                lambda: segment_length * _apart() + sample_rank().bound - bound,
                concludes=bound,
            ),
            Step(
                "with fewer samples than h, M, there are ML + n(L − 1) keys at most: fewer are in doubt",
                _no_later_sample,
            ),
        ),
    )


def exact_selection_bytes() -> Statement:
    """(n − 1)(40n + s(nk/L + L(n − ⌊n/L⌋) + (n − 1)(L − 1))) bytes at most, in four supersteps, for every distribution.

    With L = √(k/2) about 2(n − 1)n√(2k)·s: it grows with the root of k.

    Source: ours.
    """
    bound = (n - 1) * (
        (OPENING_BYTES + DECIDED_BYTES) * n + value_bytes * (n * k / segment_length + sampled_candidates().bound)
    )
    return Statement(
        label="exact_selection_bytes",
        title="Bytes of exact Top-k over ranks, in two rounds",
        assumptions=(
            *SAMPLED,
            "keys have $s$ bytes; the first $k$ of each rank are sampled, and then every candidate is told",
            OPENED,
            Given("deciding", "b_1", "≤", sympy.Integer(DECIDED_BYTES), words="and {} bytes between the rounds"),
        ),
        relation=sympy.Le(exact_bytes, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "no rank tells more than k/L samples",
                lambda: sympy.summation(k / segment_length, (_RANK, 1, n)) - _told(),
                argued="that of k keys every L-th is a sample",
            ),
            Step(
                "what is told goes to n − 1 others, and the numbers of each rank too",
                lambda: (
                    (n - 1) * value_bytes * (_told() + sampled_candidates().bound)
                    + sympy.summation((OPENING_BYTES + DECIDED_BYTES) * (n - 1), (_RANK, 1, n))
                    - bound
                ),
                concludes=bound,
            ),
        ),
    )


def samples_of_rounds() -> Statement:
    """R((2n)^(R − 1)nk)^(1/R): the more rounds, the fewer samples; two take 2n√(2k), of nk that can be selected.

    Source: ours; that a mean is at least the geometric one is classical.
    """
    bound = telling_rounds * _product() ** (1 / telling_rounds)
    return Statement(
        label="samples_of_rounds",
        title="Fewest samples of exact Top-k in a number of rounds",
        assumptions=(
            "of $nk$ entries $nk/L_1$ samples are told in the first of $R$ rounds",
            Given(
                "left",
                "c_i",
                "=",
                2 * n * segment_length,
                words="segments of the length $L=L_i$ leave {} entries in doubt, and $c_i/L_{i+1}$ are told next",
            ),
            "the lengths $L_i$ of segments are any positive numbers, but for $L_R=1$",
        ),
        relation=sympy.Eq(told_count, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "the product of the numbers told in i rounds is (2n)^(i − 1)nk/L_i, whatever the lengths: nk/L_1 for "
                "i = 1, and 2nL_i/L_(i + 1) are told next",
                _product_is_fixed,
                argued="the induction over i",
            ),
            Step("t ≥ 1 + ln t, with equality at t = 1", _above_logarithm),
            Step(
                "with p the R-th root of that of R rounds, the logarithms of all numbers told over p are 0 in sum, and "
                "the numbers Rp or more",
                lambda: sympy.log(_product() / _share() ** telling_rounds) + telling_rounds * _share() - bound,
                concludes=bound,
                argued="the sum over the rounds",
            ),
            Step("lengths L_i = (2n)^(i − 1)nk/p^i, with L_R = 1, tell p in each round", _is_attained),
        ),
    )


def tree_bytes() -> Statement:
    """(n − 1)(24n + 2k(s + j)): each rank but one hands k pairs on, and is handed k back.

    Source: ours; the tree is that of gTop-k, Shi et al. 2019, which was not read.
    """
    bound = (n - 1) * (OPENING_BYTES * n + 2 * k * (value_bytes + index_bytes))
    return Statement(
        label="tree_bytes",
        title="Bytes of a tree of merges",
        assumptions=(
            "$n$ ranks have $k$ values of $s$ bytes with indices of $j$; in each turn pairs merge theirs, the upper "
            "rank of a pair is done, and the last one's $k$ go back the same way",
            replace(OPENED, sign="="),
        ),
        relation=sympy.Eq(merged_bytes, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "every rank but the first hands on once",
                _all_hand_on,
                argued="for n > 33: a rank that hands on is done, and one is left",
            ),
            Step(
                "k pairs up and k down for each, and 24 bytes from each to each",
                lambda: (
                    sympy.summation(2 * k * (value_bytes + index_bytes), (_RANK, 1, n - 1))
                    + sympy.summation(OPENING_BYTES * (n - 1), (_RANK, 1, n))
                    - bound
                ),
                concludes=bound,
            ),
        ),
    )


def _apart() -> sympy.Expr:
    """How many samples lie from the earlier to the later one, at most."""
    return n - sympy.floor(n / segment_length)


def _lost(rest: sympy.Expr) -> sympy.Expr:
    """(x + (n − 1)(L − 1))/L, without whole parts."""
    return sympy.expand((rest + (n - 1) * (segment_length - 1)) / segment_length)


def _samples_apart() -> sympy.Expr:
    earlier = sympy.floor(sympy.expand(_SEGMENT - _lost(_REST)))
    return sympy.expand(_SEGMENT - earlier - sympy.ceiling(_lost(_REST)).rewrite(sympy.floor))


def _most_apart() -> sympy.Basic:
    largest = segment_length - 1
    grows = sympy.simplify(_lost(largest) - _lost(largest - _LESS) - _LESS / segment_length) == 0
    return decided(grows and sympy.expand(sympy.ceiling(_lost(largest)).rewrite(sympy.floor) - _apart()) == 0)


def _few_apart() -> sympy.Basic:
    """k/L for k = (n − 1)(L − 1) − less, and L = 1 + more."""
    wanted = (n - 1) * (segment_length - 1) - _LESS
    room = sympy.factor((_lost(segment_length - 1) - wanted / segment_length).subs(segment_length, 1 + _MORE))
    return decided(room.is_nonnegative)


def _no_later_sample() -> sympy.Basic:
    """h = M + 1 + more, and the earlier sample is the h − (n − ⌊n/L⌋)-th or a later one."""
    samples = _SEGMENT - 1 - _MORE
    keys = samples * segment_length + sympy.summation(segment_length - 1, (_RANK, 1, n))
    left = keys - (_SEGMENT - _apart()) * segment_length
    bound = segment_length * _apart() + sample_rank().bound
    return decided(sympy.expand(bound - left).is_positive)


def _told() -> sympy.Expr:
    return n * k / segment_length


def _product(rounds: sympy.Expr = telling_rounds) -> sympy.Expr:
    """Of the numbers told in so many rounds, the last of which is of single keys."""
    return (2 * n) ** (rounds - 1) * n * k


def _share() -> sympy.Expr:
    return _product() ** (1 / telling_rounds)


def _told_next(before: sympy.Expr, after: sympy.Expr) -> sympy.Expr:
    """Samples of a round, of the lengths of segments in the round before and in this one."""
    return 2 * n * before / after


def _product_is_fixed() -> sympy.Basic:
    """Of one round, and of one more than i."""
    first = n * k / _LENGTH - _product(sympy.Integer(1)) / _LENGTH
    told = _product(_TURN) / _LENGTH * _told_next(_LENGTH, _OTHER)
    return decided(first == 0 and sympy.simplify(told - _product(_TURN + 1) / _OTHER) == 0)


def _above_logarithm() -> sympy.Basic:
    gap = _RATIO - 1 - sympy.log(_RATIO)
    slope = sympy.diff(gap, _RATIO)
    return decided(gap.subs(_RATIO, 1) == slope.subs(_RATIO, 1) == 0 and bool(sympy.diff(slope, _RATIO).is_positive))


def _is_attained() -> sympy.Basic:
    def length(turn: sympy.Expr) -> sympy.Expr:
        return _product(turn) / _share() ** turn

    first = n * k / length(sympy.Integer(1)) - _share()
    later = _told_next(length(_TURN), length(_TURN + 1)) - _share()
    return decided(all(sympy.simplify(gap) == 0 for gap in (first, later, length(telling_rounds) - 1)))


def _all_hand_on() -> sympy.Basic:
    return sympy.sympify(all(_handing_on(ranks) == list(range(1, ranks)) for ranks in range(1, 34)))


def _handing_on(ranks: int) -> list[int]:
    """The ranks that hand theirs on, as often as they do: in each turn the upper one of each pair."""
    strides = [2**turn for turn in range((ranks - 1).bit_length())]
    return sorted(rank for stride in strides for rank in range(ranks) if rank % (2 * stride) == stride)


STATEMENTS = by_label(__name__, sampled_candidates, exact_selection_bytes, samples_of_rounds, tree_bytes)
"""The statements of this file."""
