"""What do regular samples of all ranks' keys say of the whole, and what does a sort by them cost?

The setting is that of Shi and Schaeffer 1992, which was not read, with more samples than ranks; the bounds here are
ours. n ranks hold d keys, aL each where shards are equal; equal keys are ordered by rank and index, so that no two are
the same. A rank's samples are its keys at the places L, 2L, …, and S_m is the m-th smallest sample of all.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    best_segment,
    bucket_size,
    d,
    index_bytes,
    n,
    oversampling,
    received_count,
    sample_excess,
    segment_count,
    segment_length,
    sort_bytes,
    threshold_error,
    value_bytes,
)

SAMPLED = (
    r"$n$ ranks hold $d$ keys, which are ordered by key, rank and index",
    r"a rank's samples are its keys at the places $L$, $2L$, $3L$ and so on in this order",
)
BUCKETS = (
    r"$S_m$ is the $m$-th smallest sample of all; bucket $B_j$ ends with a sample, or is the last",
    "in the number of samples buckets differ by 1 at most, and the first have more",
)
EQUAL = r"each rank has $aL=d/n$ keys, and in the end bucket $B_j$"
OURS = "ours; the setting is that of Shi and Schaeffer 1992"

OPENING_BYTES = 24
"""Three numbers that each rank tells each other one first."""
COUNT_BYTES = 8
_RANK = sympy.Symbol("rank", integer=True, positive=True)
_SHARE, _MORE, _REST, _ROOM = sympy.symbols("share more rest room", nonnegative=True)
"""⌊M/n⌋ and M mod n of M samples, keys behind all ranks' last samples, and what they lack of n(L − 1)."""
_OTHERS = sympy.Symbol("others", integer=True, nonnegative=True)
"""n − 1, or n − 2."""
_SAMPLES = sympy.IndexedBase("q", integer=True, nonnegative=True)
"""By rank, its samples up to S_m."""
_PLACE = sympy.Symbol("m", integer=True, positive=True)


def sample_rank() -> Statement:
    """mL ≤ |{x ≤ S_m}| ≤ mL + (n − 1)(L − 1): a sample says which key it is within (n − 1)(L − 1), whatever the keys.

    Source: ours.
    """
    bound = (n - 1) * (segment_length - 1)
    return Statement(
        label="sample_rank",
        title="Keys up to a regular sample",
        assumptions=(*SAMPLED, "$S_m$ is the $m$-th smallest sample of all"),
        relation=sympy.Le(sample_excess, bound),
        domain=(),
        source=OURS,
        derivation=(
            Step(
                "each of the m samples up to S_m ends L keys of its rank that are up to S_m, Σ_i q_i L in all",
                lambda: _all_segments() - _PLACE * segment_length,
            ),
            Step(
                "the sample after them lies behind S_m: the keys between are L − 1",
                lambda: (_SHARE + 1) * segment_length - 1 - _SHARE * segment_length - (segment_length - 1),
            ),
            Step(
                "so that a rank has L − 1 more at most, and that of S_m none",
                lambda: sympy.summation(segment_length - 1, (_RANK, 1, n - 1)) - bound,
                concludes=bound,
            ),
        ),
    )


def largest_bucket() -> Statement:
    """|B_j| ≤ d/n + (n − 1)(L − 1) + (n − 1)L/n, attained where d = (an + 1)L.

    Source: ours.
    """
    bound = d / n + (n - 1) * (segment_length - 1) + (n - 1) * segment_length / n
    return Statement(
        label="largest_bucket",
        title="Largest bucket of a sort by regular samples",
        assumptions=(*SAMPLED, *BUCKETS),
        relation=sympy.Le(bucket_size, bound),
        domain=(),
        source=OURS,
        derivation=(
            Step(
                "from S_a to S_b are |{x ≤ S_b}| − |{x ≤ S_a}| ≤ (b − a)L + (n − 1)(L − 1) keys, by `sample_rank`",
                lambda: (
                    (_PLACE + _SHARE) * segment_length + sample_rank().bound - _PLACE * segment_length - _ended(_SHARE)
                ),
            ),
            Step(
                "a bucket of ⌊M/n⌋ + 1 samples, of which M mod n ≥ 1 there are, has this bound at most",
                lambda: _is_room(_room(bound, _ended(_SHARE + 1)).subs(_MORE, _MORE + 1)),
                concludes=bound,
            ),
            Step("one of ⌊M/n⌋ likewise", lambda: _is_room(_room(bound, _ended(_SHARE)))),
            Step(
                "the last has ⌊M/n⌋, and the n(L − 1) keys at most that are behind all last samples",
                lambda: _is_room(
                    _room(bound, _SHARE * segment_length + _REST).subs(_REST, n * (segment_length - 1) - _ROOM)
                ),
            ),
            Step(
                "d = (an + 1)L: one of a + 1 samples may have the bound",
                lambda: sympy.expand(bound.subs(d, (_SHARE * n + 1) * segment_length) - _ended(_SHARE + 1)),
                argued="the order of keys, which the checks carry out",
            ),
        ),
    )


def oversampled_bucket() -> Statement:
    """|B_j| ≤ d/n + (n² − 1)(d − 1)/(rn³) + (n − 1)/n ≤ (1 + 1/r)d/n + 1, for L = ⌈d/(rn²)⌉ and shorter segments.

    Source: ours.
    """
    bound = d / n + (n**2 - 1) * (d - 1) / (oversampling * n**3) + (n - 1) / n
    return Statement(
        label="oversampled_bucket",
        title="The same, with a number of samples chosen",
        assumptions=(
            *SAMPLED,
            Given("segment", "L", "≤", _longest(), words=r"{}, as it is for $L=\lceil d/(rn^{2})\rceil$"),
            *BUCKETS,
        ),
        relation=sympy.Le(bucket_size, bound),
        domain=(),
        source=OURS,
        derivation=(
            Step("⌈x/q⌉ ≤ 1 + (x − 1)/q for whole x and q, as x is ⌈x/q⌉q − q + 1 or more", _rounded_up),
            Step("the bound grows with L", lambda: sympy.diff(largest_bucket().bound, segment_length) >= 0),
            Step(
                "and so it is at most its value there",
                lambda: largest_bucket().bound.subs(segment_length, _longest()) - bound,
                concludes=bound,
            ),
            Step(
                "which (1 + 1/r)d/n + 1 exceeds",
                lambda: sympy.together((1 + 1 / oversampling) * d / n + 1 - bound).subs(d, _MORE + 1) > 0,
            ),
        ),
    )


def received_keys() -> Statement:
    """aL + (n − 2)(L − 1): with two ranks no rank ever receives more than it had.

    Attained for n ≥ 2. What a rank keeps does not travel, so that one rank fewer is in doubt; a rank alone receives
    nothing, and the bound is (a − 1)L + 1 then.

    Source: ours.
    """
    bound = segment_count * segment_length + (n - 2) * (segment_length - 1)
    kept = (segment_count - 1) * segment_length + (n - 1) * (segment_length - 1)
    return Statement(
        label="received_keys",
        title="Keys that a rank receives in a sort by regular samples",
        assumptions=(*SAMPLED, *BUCKETS, rf"{EQUAL} is on rank $j$"),
        relation=sympy.Le(received_count, bound),
        domain=(),
        source=OURS,
        derivation=(
            Step(
                "where the sample that ends it is another rank's, n − 2 ranks have L − 1 more at most",
                lambda: segment_count * segment_length + sympy.summation(segment_length - 1, (_RANK, 1, n - 2)) - bound,
                concludes=bound,
            ),
            Step("where it is its own, n − 1 have, and L of its keys do not travel", lambda: sympy.Eq(bound - kept, 1)),
            Step(
                "the last one has no key behind the last samples",
                lambda: (bound - segment_count * segment_length).subs(n, 2 + _OTHERS) >= 0,
            ),
            Step(
                "a rank alone receives nothing",
                lambda: decided(sympy.expand(bound.subs({n: 1, segment_count: _OTHERS + 1})).is_positive),
            ),
        ),
    )


def sort_relation() -> Statement:
    """(n − 1)(32 + as) + (s + j)(aL + (n − 2)(L − 1)) bytes in four supersteps.

    Source: ours; what an h-relation costs is Valiant 1990's.
    """
    bound = (n - 1) * (OPENING_BYTES + COUNT_BYTES + segment_count * value_bytes) + (
        value_bytes + index_bytes
    ) * received_keys().bound
    return Statement(
        label="sort_relation",
        title="What a sort by regular samples sends",
        assumptions=(
            *(*SAMPLED, *BUCKETS, rf"{EQUAL} is on rank $j$"),
            "keys have $s$ bytes, and their indices $j$, which travel with them; samples go to all",
            Given("opening", r"b_0", "=", sympy.Integer(OPENING_BYTES), words="each rank first tells $b_0$ bytes, {}"),
            Given("counts", r"b_1", "=", sympy.Integer(COUNT_BYTES), words="and how many keys come in $b_1$ bytes, {}"),
        ),
        relation=sympy.Le(sort_bytes, bound),
        domain=(),
        source=OURS,
        derivation=(
            Step(
                "in three supersteps every rank tells each of n − 1 as much",
                lambda: (
                    sympy.summation(OPENING_BYTES + segment_count * value_bytes + COUNT_BYTES, (_RANK, 1, n - 1))
                    - bound
                    + (value_bytes + index_bytes) * received_keys().bound
                ),
                concludes=bound,
            ),
            Step(
                "in the fourth none sends more than its aL keys, which is no more than one may receive",
                lambda: (received_keys().bound - segment_count * segment_length).subs(n, 2 + _OTHERS) >= 0,
            ),
            Step(
                "a rank alone sends nothing, and the bound is positive",
                lambda: decided(sympy.expand(bound.subs({n: 1, segment_count: _OTHERS + 1})).is_positive),
            ),
        ),
    )


def best_sort_segment() -> Statement:
    """L* = max(1, √(sd/((s + j)n))): with few keys every key is a sample.

    Samples and a bucket's excess take 2(n − 1)√((s + j)sd/n) − (n − 1)(s + j) bytes then, if L* > 1. Of one rank every
    length takes nothing.

    Source: ours.
    """
    turning = sympy.sqrt(value_bytes * d / ((value_bytes + index_bytes) * n))
    bound = sympy.Max(1, turning)
    return Statement(
        label="best_sort_segment",
        title="Best length of a segment",
        assumptions=(
            *(*SAMPLED, "each rank has $d/n$ keys of $s$ bytes, with indices of $j$ bytes"),
            Given("length", "L", "≥", sympy.Integer(1), words="{} need not be whole"),
            "a rank tells $d/(nL)$ samples to $n-1$, and receives $(n-1)(L-1)$ keys too much",
        ),
        relation=sympy.Eq(best_segment, bound),
        domain=(sympy.Ge(n, 2),),
        source="ours",
        derivation=(
            Step(
                "the slope of their bytes is (n − 1)(s + j)(1 − sd/((s + j)nL²))",
                lambda: sympy.simplify(
                    sympy.diff(_samples_and_excess(), segment_length)
                    - (n - 1) * (value_bytes + index_bytes) * (1 - turning**2 / segment_length**2)
                ),
            ),
            Step("it is 0 at the root", lambda: (1 - turning**2 / segment_length**2).subs(segment_length, turning)),
            Step(
                "and grows: of lengths from 1 on the best is the root, or 1 if that is less",
                lambda: sympy.diff(_samples_and_excess(), segment_length, 2).subs(n, 2 + _OTHERS) > 0,
                concludes=bound,
            ),
            Step(
                "at the root they take 2(n − 1)√((s + j)sd/n), less (n − 1)(s + j)",
                lambda: (
                    _samples_and_excess().subs(segment_length, turning)
                    - (n - 1) * (2 * sympy.sqrt((value_bytes + index_bytes) * value_bytes * d / n))
                    + (n - 1) * (value_bytes + index_bytes)
                ),
            ),
        ),
    )


def threshold_rank() -> Statement:
    """||{x ≤ S_m}| − k| ≤ (n(L − 1) + 1)/2 for the best m: a threshold that no distribution of the keys can spoil.

    With s samples of each of equal shards it is (d/s − n + 1)/2.

    Source: ours.
    """
    bound = (n * (segment_length - 1) + 1) / 2
    doubt = (n - 1) * (segment_length - 1) / 2
    return Statement(
        label="threshold_rank",
        title="Keys up to the best sample for a threshold",
        assumptions=(
            *SAMPLED,
            "up to $S_0$ are no keys, and up to the one behind the last sample all",
            "of all $m$ that one is taken whose number of keys can differ least from $k$",
        ),
        relation=sympy.Le(threshold_error, bound),
        domain=(),
        source=OURS,
        derivation=(
            Step(
                "the middles of |{x ≤ S_m}| lie L apart, so that one is within L/2 of k, and it within its doubt",
                lambda: segment_length / 2 + doubt - bound,
                concludes=bound,
            ),
            Step(
                "or k is below the first by more than that, and none of the keys are taken",
                lambda: segment_length + doubt - segment_length / 2 - bound,
            ),
            Step(
                "or there are no samples: d is n(L − 1) at most, and none or all of the keys are taken",
                lambda: bound - n * (segment_length - 1) / 2 > 0,
            ),
            Step(
                "or it is above the last by more, and all keys are taken, at most n(L − 1) beyond the last sample's mL",
                lambda: bound - (n * (segment_length - 1) - doubt - segment_length / 2) > 0,
            ),
        ),
    )


def _all_segments() -> sympy.Expr:
    """Σ_i q_i L, of q_i samples of rank i that are m in all."""
    segments = sympy.Sum(_SAMPLES[_RANK] * segment_length, (_RANK, 1, n)).expand()
    return segments.factor().xreplace({sympy.Sum(_SAMPLES[_RANK], (_RANK, 1, n)): _PLACE})


def _ended(samples: sympy.Expr) -> sympy.Expr:
    """Keys of a bucket of so many samples that ends with one, at most."""
    return samples * segment_length + (n - 1) * (segment_length - 1)


def _room(bound: sympy.Expr, size: sympy.Expr) -> sympy.Expr:
    """What is left of the bound, of d = ML + rest keys with M = share·n + more samples."""
    return sympy.expand(bound.subs(d, (_SHARE * n + _MORE) * segment_length + _REST) - size)


def _is_room(left: sympy.Expr) -> sympy.Basic:
    """Whether n times as much is seen not to be negative."""
    return decided(sympy.expand(sympy.cancel((n * left).subs(n, _OTHERS + 1))).is_nonnegative)


def _longest() -> sympy.Expr:
    return 1 + (d - 1) / (oversampling * n**2)


def _rounded_up() -> sympy.Basic:
    whole, divisor = sympy.symbols("whole divisor", integer=True, positive=True)
    number = (whole - 1) * divisor + 1 + _OTHERS
    return decided(sympy.expand(1 + (number - 1) / divisor - whole).is_nonnegative)


def _samples_and_excess() -> sympy.Expr:
    samples = (n - 1) * value_bytes * d / (n * segment_length)
    return samples + (value_bytes + index_bytes) * (n - 1) * (segment_length - 1)


STATEMENTS = by_label(
    __name__,
    sample_rank,
    largest_bucket,
    oversampled_bucket,
    received_keys,
    sort_relation,
    best_sort_segment,
    threshold_rank,
)
"""The statements of this file."""
