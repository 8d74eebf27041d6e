"""What does Top-k lose where a vector is cut into chunks that each send their own k largest entries?

m chunks of b entries, d = mb, as in SparseLoCo (arXiv 2508.15706) and in `kernels/chunks.py`. The ratio of the vector
is the mean of the ratios of its chunks, weighted with their energies, so every bound within chunks is one for the
vector. Shapes of the whole vector: `theory/contraction/chunk_orders.py`; the cost against Top-k of the whole vector:
`theory/contraction/chunk_assignments.py`; laws: `theory/laws/chunk_laws.py`. Ours.
"""

import sympy

from sparsync.theory.contraction.tail import is_nonnegative_polynomial, tail_lemma
from sparsync.theory.contraction.ties_and_layers import is_true
from sparsync.theory.language.given import Given
from sparsync.theory.language.powers import PowerSum
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    chunk_number,
    chunk_size,
    d,
    i,
    j,
    k,
    p,
    ratio,
)

CHUNKS = r"$u\neq0$; each of $m$ chunks of $b$ entries sends its $k$ largest"
"""What is sent; the ratio of u = 0 is not defined."""


def chunk_wise() -> Statement:
    """‖u − C(u)‖² ≤ (1 − k/b)‖u‖² for Top-k in chunks of b entries, with equality for equal magnitudes in one chunk.

    Chunks may differ: of the one with the smallest share k/b the bound is that of the vector. It is the bound of Top-k
    of the whole vector for the same count; what differs is how many vectors attain it.

    Source: ours; within a chunk Stich, Cordonnier and Jaggi 2018.
    """
    bound = 1 - k / chunk_size
    return Statement(
        label="chunk_wise",
        title="Top-k in each chunk, any vector",
        assumptions=(
            CHUNKS,
            "where chunks differ, $b$ and $k$ are those of a chunk with the smallest $k/b$",
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(k, chunk_size),),
        source="ours; within a chunk Stich, Cordonnier and Jaggi 2018",
        derivation=(
            Step("in a chunk the mean of those left is at most the mean of all", _mean_of_the_left),
            Step("1 − k/b falls in k/b, so the smallest share has the largest bound", _smallest_share),
            mixture_step(),
            Step(
                "b equal entries in that chunk, and zeros: (b − k)/b",
                lambda: (chunk_size - k) / chunk_size - bound,
                concludes=bound,
            ),
        ),
    )


def chunk_rounding() -> Statement:
    """The library's `chunked_top_k` leaves at most 1 − ⌊kb/d⌋/b, b the smaller of the chunk size and d; sharp.

    Of k entries in all, the chunk of the entries from s to e sends ⌊ke/d⌋ − ⌊ks/d⌋. The first chunk has the smallest
    share. With fewer than d/b entries in all the bound is 1: then the first chunk sends nothing.

    Source: ours.
    """
    size = sympy.Min(chunk_size, d)
    bound = 1 - sympy.floor(k * size / d) / size
    return Statement(
        label="chunk_rounding",
        title="Top-k in each chunk, counts rounded as in the library",
        assumptions=(
            r"$u\neq0$; the $d$ entries are cut into chunks of $b$, the last of which may be shorter",
            r"the chunk of the entries from $s$ to $e$ sends its $\lfloor ke/d\rfloor-\lfloor ks/d\rfloor$ largest",
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(k, d),),
        source="ours",
        derivation=(
            Step(
                "⌊x + y⌋ − ⌊x⌋ ≥ ⌊y⌋: each full chunk sends at least ⌊kb/d⌋",
                _floors_add,
                argued="the integral part of a fraction is 0",
            ),
            Step(
                "k − ⌊k − y⌋ = −⌊−y⌋ ≥ y: the last one sends at least the share k/d of its entries",
                _last_is_rounded_up,
                argued="what is rounded down is not larger",
            ),
            Step("the first chunk begins at 0 and sends ⌊kb/d⌋", lambda: sympy.floor(k * sympy.S.Zero / d)),
            mixture_step(),
            Step(
                "equal entries in the first chunk, and zeros, attain 1 − ⌊kb/d⌋/b",
                lambda: (size - sympy.floor(k * size / d)) / size - bound,
                concludes=bound,
            ),
            Step("d ≤ b: one chunk, the bound of Top-k", lambda: bound.subs(size, d) - (1 - k / d)),
        ),
    )


def chunk_shapes() -> Statement:
    """Ratio ≤ Σ_{j≤b−k} j^(2/p) / Σ_{j≤b} j^(2/p) if in each chunk v_i/(b + 1 − i)^(2/p) is non-increasing.

    It is `exponent_discrete` at d = b, whatever the number of chunks, and sharp: p = 2 gives (1 − k/b)(1 − k/(b+1)),
    p = 1 the cubic rung. Any other bound that holds within every chunk is one for the vector by the same step.

    Source: ours.
    """
    power = 2 / p
    bound = PowerSum(chunk_size - k, power) / PowerSum(chunk_size, power)
    return Statement(
        label="chunk_shapes",
        title="Top-k in each chunk, magnitudes of each chunk below a power of a line",
        assumptions=(
            CHUNKS,
            Given(
                "power",
                "a",
                "=",
                power,
                words="in each chunk $v_i/(b+1-i)^a$ is non-increasing in the rank $i$ there for {}",
            ),
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(k, chunk_size),),
        source="ours",
        derivation=(
            *tail_lemma(),
            Step(
                "counted from the end, tail(w)/total(w) in a chunk is the bound",
                lambda: _ramp_tail(k) / _ramp_tail(sympy.S.Zero) - bound.rewrite(sympy.Sum),
                concludes=bound,
            ),
            mixture_step(),
            Step("p = 2 gives (1 − k/b)(1 − k/(b+1))", lambda: _at_two(bound) - square_rung()),
        ),
    )


def square_rung() -> sympy.Expr:
    """(1 − k/b)(1 − k/(b + 1)): the bound of `square_convex_discrete` within a chunk."""
    return (1 - k / chunk_size) * (1 - k / (chunk_size + 1))


def mixture_step() -> Step:
    """The step from chunks to the vector: energies T_c, of which at most R T_c is left."""

    def room() -> sympy.Basic:
        total, slack = sympy.IndexedBase("T", nonnegative=True), sympy.IndexedBase("s", nonnegative=True)
        largest = sympy.Symbol("R", nonnegative=True)
        left = sympy.Sum(largest * total[i] - slack[i], (i, 1, chunk_number))
        difference = largest * sympy.Sum(total[i], (i, 1, chunk_number)) - left
        added = sympy.Add(*(part.factor() for part in sympy.Add.make_args(difference.expand())))
        return sympy.Eq(sympy.expand(added - sympy.Sum(slack[i], (i, 1, chunk_number))), 0)

    return Step("if each chunk leaves at most the share R of its energy, so does the vector", room)


def _mean_of_the_left() -> sympy.Basic:
    """(b − k)·all − b·left ≥ 0: sent is at least k times the largest left, left at most b − k times."""
    largest, more, less, others = sympy.symbols("largest more less b-k", nonnegative=True)
    left, sent = others * largest - less, k * largest + more
    room = others * (left + sent) - (others + k) * left
    return is_nonnegative_polynomial(sympy.expand(room), largest, more, less, others, k)


def _smallest_share() -> sympy.Basic:
    share, more = sympy.symbols("share more", nonnegative=True)
    return is_true(((1 - share) - (1 - (share + more))).is_nonnegative)


def _floors_add() -> sympy.Basic:
    """x = X + s, y = Y + t with integers X and Y, s and t in [0, 1): the difference is Y + ⌊s + t⌋ − ⌊s⌋."""
    whole, other = sympy.symbols("X Y", integer=True)
    one, two = sympy.symbols("s t", nonnegative=True)
    difference = sympy.floor(whole + one + other + two) - sympy.floor(whole + one)
    rest = difference - (other + sympy.floor(one + two) - sympy.floor(one))
    return sympy.And(sympy.Eq(rest, 0), is_true(sympy.floor(one + two).is_nonnegative))


def _last_is_rounded_up() -> sympy.Basic:
    """⌊k − y⌋ = k + ⌊−y⌋, and −⌊−y⌋ is ⌈y⌉."""
    length = sympy.Symbol("y", nonnegative=True)
    return sympy.Eq(k - sympy.floor(k - length) + sympy.floor(-length), 0)


def _ramp_tail(cut: sympy.Expr) -> sympy.Expr:
    return sympy.Sum((chunk_size + 1 - i) ** (2 / p), (i, cut + 1, chunk_size)).change_index(i, chunk_size + 1 - i, j)


def _at_two(bound: sympy.Expr) -> sympy.Expr:
    return bound.rewrite(sympy.Sum).subs(p, 2).doit()


STATEMENTS = by_label(__name__, chunk_wise, chunk_rounding, chunk_shapes)
"""The statements of this file."""
