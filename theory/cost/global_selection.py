"""What does it take to find the k largest of d entries over n ranks, by regular samples or by a tree of merges? Ours.

Entries are ordered from the largest magnitude down, equal ones by rank and index; samples are as in
`regular_sampling.py`. The k largest are among the k largest of each rank, nk in all, which alone are sampled. The tree
is that of gTop-k, Shi et al. 2019, which was not read.
"""

import sympy

from sparsync.theory.cost.regular_sampling import OPENING_BYTES, SAMPLED
from sparsync.theory.language.statement import Statement, by_label
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    candidate_count,
    exact_bytes,
    index_bytes,
    k,
    merged_bytes,
    n,
    round_count,
    segment_length,
    told_count,
    value_bytes,
)

DECIDED_BYTES = 16
"""Two numbers that each rank tells each other one between rounds: entries surely selected, and candidates."""
MOST_ROUNDS = 5
_RANK = sympy.Symbol("rank", integer=True, positive=True)
_LACK = sympy.Symbol("lack", integer=True, nonnegative=True)
_LENGTHS = sympy.symbols(f"l1:{MOST_ROUNDS}", positive=True)
"""Logarithms of the lengths of segments, of all rounds but the last."""


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
            Step("the two samples are n − ⌊n/L⌋ apart at most: n, L ≤ 6, k ≤ 60", _apart),
            Step(
                "since k = hL − x, x < L, leaves ⌈(x + (n − 1)(L − 1))/L⌉, which is most for x = L − 1",
                lambda: (
                    sympy.ceiling(sympy.expand(n * (segment_length - 1) / segment_length)).rewrite(sympy.floor)
                    - (n - sympy.floor(n / segment_length))
                ),
            ),
            Step(
                "each stands for L keys, and (n − 1)(L − 1) others at most are between two samples",
                lambda: (
                    segment_length * (n - sympy.floor(n / segment_length))
                    + sympy.summation(segment_length - 1, (_RANK, 1, n - 1))
                    - bound
                ),
                concludes=bound,
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
            "ranks tell each other 24 bytes first, and 16 bytes between the rounds",
        ),
        relation=sympy.Le(exact_bytes, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "no rank tells more than k/L samples",
                lambda: sympy.summation(k / segment_length, (_RANK, 1, n)) - _told(),
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
    bound = round_count * ((2 * n) ** (round_count - 1) * n * k) ** (1 / round_count)
    return Statement(
        label="samples_of_rounds",
        title="Fewest samples of exact Top-k in a number of rounds",
        assumptions=(
            "of $nk$ entries $nk/L_1$ samples are told, of the $2nL_1$ that are left $2nL_1/L_2$, and so on; $L_R=1$",
            "the lengths $L_i$ of segments are any positive numbers",
        ),
        relation=sympy.Eq(told_count, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "the product of the numbers told is (2n)^(R − 1)nk, whatever the lengths, R ≤ 5",
                _product_is_fixed,
            ),
            Step("their sum is convex in the logarithms of the lengths, R ≤ 5", _is_convex),
            Step(
                "so it is least where all are the R-th root of that product",
                lambda: round_count * _product() ** (1 / round_count) - bound,
                concludes=bound,
            ),
            Step("which lengths that fall in a geometric series attain, R ≤ 5", _is_attained),
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
            "ranks tell each other 24 bytes first",
        ),
        relation=sympy.Eq(merged_bytes, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("every rank but the first hands on once: n ≤ 33", _all_hand_on),
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


def _apart() -> sympy.Basic:
    cases = [(ranks, length) for ranks in range(1, 7) for length in range(1, 7)]
    return sympy.sympify(
        all(
            max(_samples_apart(ranks, length, wanted) for wanted in range(1, 61)) == ranks - ranks // length
            for ranks, length in cases
        )
    )


def _samples_apart(ranks: int, length: int, wanted: int) -> int:
    return -(-wanted // length) - max(0, wanted - (ranks - 1) * (length - 1)) // length


def _told() -> sympy.Expr:
    return n * k / segment_length


def _numbers_told(rounds: int) -> list[sympy.Expr]:
    """Samples of each round, the logarithms of whose lengths are symbols."""
    lengths = [sympy.exp(length) for length in _LENGTHS[: rounds - 1]] + [sympy.Integer(1)]
    left = [n * k, *(2 * n * length for length in lengths[:-1])]
    return [some / length for some, length in zip(left, lengths, strict=True)]


def _product() -> sympy.Expr:
    return (2 * n) ** (round_count - 1) * n * k


def _product_is_fixed() -> sympy.Basic:
    return sympy.Add(
        *(
            sympy.Abs(sympy.simplify(sympy.Mul(*_numbers_told(rounds)) - _product().subs(round_count, rounds)))
            for rounds in range(1, MOST_ROUNDS + 1)
        )
    )


def _is_convex() -> sympy.Basic:
    """Each number is a positive multiple of the exponential of a linear form."""
    forms = [sympy.expand_log(sympy.log(told), force=True) for told in _numbers_told(MOST_ROUNDS)]
    second = [sympy.simplify(sympy.diff(form, one, other)) for form in forms for one in _LENGTHS for other in _LENGTHS]
    return sympy.Add(*(sympy.Abs(value) for value in second))


def _is_attained() -> sympy.Basic:
    total = []
    for rounds in range(1, MOST_ROUNDS + 1):
        share = _product().subs(round_count, rounds) ** sympy.Rational(1, rounds)
        left, told = n * k, []
        for _ in range(rounds - 1):
            told.append(share)
            left = 2 * n * left / share
        total.append(sympy.simplify(sympy.Add(*told, left) - rounds * share))
    return sympy.Add(*(sympy.Abs(rest) for rest in total))


def _all_hand_on() -> sympy.Basic:
    return sympy.sympify(all(_handing_on(ranks) == list(range(1, ranks)) for ranks in range(1, 34)))


def _handing_on(ranks: int) -> list[int]:
    """The ranks that hand theirs on, as often as they do: in each turn the upper one of each pair."""
    strides = [2**turn for turn in range((ranks - 1).bit_length())]
    return sorted(rank for stride in strides for rank in range(ranks) if rank % (2 * stride) == stride)


STATEMENTS = by_label(__name__, sampled_candidates(), exact_selection_bytes(), samples_of_rounds(), tree_bytes())
"""The statements of this file."""
