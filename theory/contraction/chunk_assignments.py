"""What does it cost that chunks, and not the vector, send their largest entries? Worst and random assignments.

m chunks of b entries send k each; Top-mk of the vector sends as many. The difference of the two ratios is never
negative, since no choice of mk entries keeps more than Top-mk. How large it can be depends on where the large entries
are: here for the worst vector, and for the mean over all assignments of the entries of any vector to the chunks. Ours.
"""

from itertools import combinations

import sympy

from sparsync.theory.contraction.chunks import CHUNKS
from sparsync.theory.contraction.tail import is_nonnegative_polynomial
from sparsync.theory.contraction.ties_and_layers import sorted_squares
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import chunk_excess, chunk_number, chunk_size, k, mean_chunk_excess

LARGEST_DIMENSION = 6
"""Largest d for which a claim about assignments is also checked for every assignment."""
MARKED = sympy.Symbol("n", integer=True, nonnegative=True)
"""Number of equal entries that are not zero."""
FOUND = sympy.Symbol("x", integer=True, nonnegative=True)
"""How many of them one chunk holds."""
_SLACKS = sympy.symbols("x_1 x_2 x_3", nonnegative=True)


def chunk_against_whole() -> Statement:
    """Top-k in each of m chunks has a ratio larger than Top-mk by at most 1 − max(k/b, 1/m); attained.

    It is `layer_wise` with equal layers. That the excess is never negative needs no hypothesis.

    Source: ours.
    """
    bound = 1 - sympy.Max(k / chunk_size, 1 / chunk_number)
    whole = 1 - k / sympy.Min(chunk_size, chunk_number * k)
    return Statement(
        label="chunk_against_whole",
        title="Top-k in each chunk against Top-mk of the vector, worst assignment",
        assumptions=(CHUNKS, r"Top-$mk$ sends the $mk$ largest of all"),
        relation=sympy.Le(chunk_excess, bound, evaluate=False),
        domain=(sympy.Le(k, chunk_size),),
        source="ours",
        derivation=(
            Step("`layer_wise` at d_l = b, k_l = k and mk in all: 1 − k/min(b, mk)", lambda: _reciprocal(bound, whole)),
            Step("min(b, mk) equal entries in one chunk, and zeros, attain it", lambda: _attained(bound), bound),
        ),
        kind="definition",
    )


def chunk_mean_excess() -> Statement:
    """Averaged over assignments the excess is ≤ (1 − 1/m)(1 − k/b) C(mk, k) C(mb − mk, b − k)/C(mb, b); attained.

    The vector is arbitrary, its entries fall into the chunks by a uniformly random permutation. So it bounds the
    expected excess of entries whose law is exchangeable, independent ones among them, where the excess of energy is
    taken relative to the energy of the vector that was drawn. mk equal entries, and zeros, attain it.

    Source: ours; the sum is De Moivre's for the hypergeometric law.
    """
    bound = (1 - 1 / chunk_number) * (1 - k / chunk_size) * hits(chunk_number * k, k)
    return Statement(
        label="chunk_mean_excess",
        title="Top-k in each chunk against Top-mk of the vector, random assignment",
        assumptions=(
            CHUNKS,
            r"a uniformly random permutation puts the entries of a fixed vector into the chunks; the mean is over it",
        ),
        relation=sympy.Le(mean_chunk_excess, bound, evaluate=False),
        domain=(sympy.Le(k, chunk_size),),
        source="ours",
        derivation=(
            Step("sorted squares are sums of gaps: the largest excess is that of n equal entries", _sums_of_gaps),
            Step("n equal entries: (min(n, mk) − m E min(N, k))/n, N hypergeometric", _equal_entries),
            Step(
                "n ≤ mk: E min(N, k) gains less with every entry, so E min(N, k)/n falls and the excess grows",
                _concave_share,
                argued="one entry more adds to the minimum if it falls into the chunk and N < k, which gets rarer",
            ),
            Step("n ≥ mk: m(k − E min(N, k))/n falls", _falling_quotient, argued="E min(N, k) does not fall in n"),
            Step(
                "x(mb − b − n + x)P(x)/(mb) falls from x to x + 1 by (x − n/m)P(x)",
                _telescope,
            ),
            Step(
                "so at n = mk the excess is E max(N − k, 0)/k = (m − 1)(b − k)/(mb) P(N = k)",
                lambda: _first_term() / k - bound,
                concludes=bound,
            ),
            Step("m = 1 or k = b: no excess", lambda: _no_excess(bound)),
        ),
    )


def chunk_mean_excess_rate() -> Statement:
    """Averaged over assignments the excess is at most √((1 − 1/m)(1 − k/b)/(2πk)), for every vector.

    At a fixed density it falls with the size of the chunks like 1/√b. For large k and b − k the bound of
    `chunk_mean_excess` is of this size; at b = 2, k = 1 and two chunks it is 0.84 of it.

    Source: ours, with Stirling's formula.
    """
    bound = sympy.sqrt((1 - 1 / chunk_number) * (1 - k / chunk_size) / (2 * sympy.pi * k))
    return Statement(
        label="chunk_mean_excess_rate",
        title="Top-k in each chunk against Top-mk, random assignment, without factorials",
        assumptions=(
            CHUNKS,
            r"a uniformly random permutation puts the entries of a fixed vector into the chunks; the mean is over it",
        ),
        relation=sympy.Le(mean_chunk_excess, bound, evaluate=False),
        domain=(sympy.Le(k, chunk_size),),
        source="ours",
        derivation=(
            Step(
                "n! = √(2πn)(n/e)^n e^{r_n}, and r_n falls to 0",
                _rest_falls,
                argued="that the limit is 0 is Stirling's formula",
            ),
            Step("in P(N = k) all powers cancel but √(mb/(2π(m − 1)k(b − k)))", _powers_cancel),
            Step(
                "of nine rests each with + is at most one with −, so they multiply to at most 1",
                _rests_pair,
            ),
            Step(
                "(1 − 1/m)(1 − k/b) times that root is the bound",
                lambda: _squared_root() - bound**2,
                concludes=bound,
            ),
            Step("m = 1 or k = b: both are 0", lambda: _no_excess(bound)),
        ),
    )


def hits(marked: sympy.Expr, found: sympy.Expr) -> sympy.Expr:
    """P(N = x): a chunk of b of mb entries holds x of those marked."""
    others = chunk_number * chunk_size - marked
    ways = sympy.binomial(marked, found) * sympy.binomial(others, chunk_size - found)
    return ways / sympy.binomial(chunk_number * chunk_size, chunk_size)


def _reciprocal(bound: sympy.Expr, whole: sympy.Expr) -> sympy.Basic:
    return _cases(bound, whole)


def _attained(bound: sympy.Expr) -> sympy.Basic:
    """One chunk holds n = min(b, mk) entries of square 1: it leaves n − k of n, the whole vector nothing."""
    count = sympy.Min(chunk_size, chunk_number * k)
    return _cases(bound, (count - k) / count)


def _cases(bound: sympy.Expr, other: sympy.Expr) -> sympy.Basic:
    """b = mk + x and mk = b + x: in each case the minimum and the maximum are known."""
    product = chunk_number * k
    pairs = ((product, 1 / chunk_number), (chunk_size, k / chunk_size))
    both = (sympy.Max(k / chunk_size, 1 / chunk_number), sympy.Min(chunk_size, product))
    residues = (sympy.simplify(bound.subs(both[0], larger) - other.subs(both[1], smaller)) for smaller, larger in pairs)
    return sympy.And(*(sympy.Eq(residue, 0) for residue in residues))


def _sums_of_gaps() -> sympy.Basic:
    """A linear function of sorted squares is a sum of its values at (1, …, 1, 0, …, 0), times gaps."""
    facts = []
    for dimension in range(1, LARGEST_DIMENSION + 1):
        weights = sympy.symbols(f"c_1:{dimension + 1}", real=True)
        squares = sorted_squares(dimension)
        gaps = [square - after for square, after in zip(squares, (*squares[1:], sympy.S.Zero), strict=True)]
        direct = sum(weight * square for weight, square in zip(weights, squares, strict=True))
        by_gaps = sum(gap * sum(weights[: place + 1]) for place, gap in enumerate(gaps))
        facts.append(sympy.Eq(sympy.expand(direct - by_gaps), 0))
    return sympy.And(*facts)


def _equal_entries() -> sympy.Basic:
    """All assignments of n equal entries for small m and b: the chunks send m E min(N, k) on average."""
    cases = [(2, 2), (2, 3), (3, 2)]
    facts = [
        sympy.Eq(_mean_sent(number, size, count, marked), _expected_minimum(number, size, count, marked))
        for number, size in cases
        for count in range(1, size + 1)
        for marked in range(number * size + 1)
    ]
    return sympy.And(*facts)


def _mean_sent(number: int, size: int, count: int, marked: int) -> sympy.Rational:
    places = list(combinations(range(number * size), marked))
    sent = sum(
        min(sum(place // size == chunk for place in chosen), count) for chosen in places for chunk in range(number)
    )
    return sympy.Rational(sent, len(places))


def _expected_minimum(number: int, size: int, count: int, marked: int) -> sympy.Expr:
    numbers = {chunk_number: number, chunk_size: size}
    terms = (
        hits(sympy.Integer(marked), sympy.Integer(found)).subs(numbers) * min(found, count) for found in range(size + 1)
    )
    return number * sum(terms)


def _concave_share() -> sympy.Basic:
    """Gains that do not grow: (n + 1)·(sum of n) − n·(sum of n + 1) ≥ 0."""
    last, more = _SLACKS[:2]
    total = MARKED * last + more
    return is_nonnegative_polynomial(sympy.expand((MARKED + 1) * total - MARKED * (total + last)), MARKED, last, more)


def _falling_quotient() -> sympy.Basic:
    """a/n ≥ (a − x)/(n + 1)."""
    less, rest = _SLACKS[:2]
    value = less + rest
    return is_nonnegative_polynomial(sympy.expand(value * (MARKED + 1) - (value - less) * MARKED), MARKED, less, rest)


def _step_down(found: sympy.Expr) -> sympy.Expr:
    """x(mb − b − n + x)/(mb)."""
    entries = chunk_number * chunk_size
    return found * (entries - chunk_size - MARKED + found) / entries


def _telescope() -> sympy.Expr:
    """Divided by P(x); P(x + 1)/P(x) is a quotient of products."""
    quotient = sympy.combsimp(hits(MARKED, FOUND + 1) / hits(MARKED, FOUND))
    return sympy.simplify(_step_down(FOUND) - _step_down(FOUND + 1) * quotient - (FOUND - MARKED / chunk_number))


def _first_term() -> sympy.Expr:
    return _step_down(k).subs(MARKED, chunk_number * k) * hits(chunk_number * k, k)


def _no_excess(bound: sympy.Expr) -> sympy.Basic:
    return sympy.And(sympy.Eq(bound.subs(chunk_number, 1), 0), sympy.Eq(bound.subs(k, chunk_size), 0))


def _rest_falls() -> sympy.Basic:
    """r_n − r_{n+1} = (n + 1/2) ln(1 + 1/n) − 1 = artanh(x)/x − 1 at x = 1/(2n + 1), and artanh has a slope ≥ 1."""
    count, place = sympy.Symbol("n", positive=True), sympy.Symbol("x", positive=True)

    def rest(number: sympy.Expr) -> sympy.Expr:
        """Without ln n!."""
        return number - (number + sympy.Rational(1, 2)) * sympy.log(number) - sympy.log(2 * sympy.pi) / 2

    fall = rest(count) - rest(count + 1) - sympy.log(count + 1)
    stated = (count + sympy.Rational(1, 2)) * sympy.log((count + 1) / count) - 1
    by_place = (1 + place) / (1 - place)
    slope = sympy.diff(sympy.log(by_place) / 2, place)
    square = 1 - 1 / slope
    return sympy.And(
        sympy.Eq(sympy.expand(sympy.expand_log(fall - stated, force=True)), 0),
        sympy.Eq(sympy.simplify(by_place.subs(place, 1 / (2 * count + 1)) - (count + 1) / count), 0),
        sympy.Eq(sympy.simplify(square - place**2), 0),
    )


def _factorials() -> tuple[tuple[sympy.Expr, ...], tuple[sympy.Expr, ...]]:
    """The numbers whose factorials are multiplied, and those by which is divided, in P(N = k) at n = mk."""
    others = chunk_size - k
    above = (chunk_number * k, chunk_number * others, chunk_size, (chunk_number - 1) * chunk_size)
    below = (k, (chunk_number - 1) * k, others, (chunk_number - 1) * others, chunk_number * chunk_size)
    return above, below


def _positive() -> dict[sympy.Symbol, sympy.Expr]:
    """k = K and b = K + J with J > 0, m = 1 + M with M > 0."""
    first, second, third = sympy.symbols("K J M", positive=True)
    return {k: first, chunk_size: first + second, chunk_number: 1 + third}


def _powers_cancel() -> sympy.Basic:
    above, below = (tuple(part.subs(_positive()) for part in side) for side in _factorials())
    logarithm = sum(part * sympy.log(sympy.factor(part)) for part in above)
    logarithm -= sum(part * sympy.log(sympy.factor(part)) for part in below)
    powers = sympy.simplify(sympy.expand(sympy.expand_log(logarithm, force=True)))
    roots = sympy.prod(above) / sympy.prod(below) / (2 * sympy.pi)
    expected = chunk_number * chunk_size / (2 * sympy.pi * (chunk_number - 1) * k * (chunk_size - k))
    return sympy.And(
        sympy.Eq(powers, 0),
        sympy.Eq(sympy.simplify(roots - expected.subs(_positive())), 0),
        sympy.Eq(sympy.expand(sum(above) - sum(below)), 0),
    )


def _rests_pair() -> sympy.Basic:
    """r falls, and mk ≥ (m − 1)k, m(b − k) ≥ (m − 1)(b − k), b ≥ k, (m − 1)b ≥ b − k for m ≥ 2; r_{mb} is left."""
    above, below = _factorials()
    larger = {chunk_number: 2 + _SLACKS[0], chunk_size: k + _SLACKS[1]}
    pairs = zip(above, (below[1], below[3], below[0], below[2]), strict=True)
    return sympy.And(*(is_nonnegative_polynomial((one - other).subs(larger), k, *_SLACKS[:2]) for one, other in pairs))


def _squared_root() -> sympy.Expr:
    shares = (1 - 1 / chunk_number) * (1 - k / chunk_size)
    return sympy.simplify(
        shares**2 * chunk_number * chunk_size / (2 * sympy.pi * (chunk_number - 1) * k * (chunk_size - k))
    )


STATEMENTS = by_label(__name__, chunk_against_whole, chunk_mean_excess, chunk_mean_excess_rate)
"""The statements of this file."""
