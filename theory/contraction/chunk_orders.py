"""What does a shape of the whole vector say about Top-k in each chunk? Little: the largest entries may share a chunk.

v_1 ≥ … ≥ v_d are the sorted squares of all d = mb entries. For every vector the assignment that gives a chunk
consecutive ranks is the worst; then chunks are compared with each other. Ours.
"""

from collections.abc import Iterator
from itertools import combinations

import sympy

from sparsync.theory.contraction.chunks import CHUNKS, mixture_step, square_rung
from sparsync.theory.contraction.tail import is_nonnegative_polynomial, tail_lemma
from sparsync.theory.contraction.ties_and_layers import is_true, sorted_squares
from sparsync.theory.language.given import Given
from sparsync.theory.language.powers import PowerSum
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import chunk_number, chunk_size, i, j, k, p, ratio

LARGEST_DIMENSION = 6
"""Largest d for which a claim about assignments is also checked for every assignment."""
EXPLICIT_DIMENSION = 5
"""Largest d for which an identity is also expanded for a vector with named coordinates."""
_SLACKS = sympy.symbols("x_1 x_2 x_3", nonnegative=True)


def chunk_star_shaped() -> Statement:
    """Ratio ≤ Σ_{k<i≤b} w_i / Σ_{i≤b} w_i for v_i/w_i non-increasing in the whole vector, w_i = (d + 1 − i)^(2/p).

    Here d = mb. A shape of the whole vector buys almost nothing: p = 2 gives (1 − k/b)(1 − k/(2d + 1 − b)). The b
    largest entries may be in one chunk and the others zero, which attains it. One chunk is `exponent_discrete`.

    Source: ours.
    """
    power, entries = 2 / p, chunk_number * chunk_size
    rest = PowerSum(entries - chunk_size, power)
    bound = (PowerSum(entries - k, power) - rest) / (PowerSum(entries, power) - rest)
    return Statement(
        label="chunk_star_shaped",
        title="Top-k in each chunk, magnitudes of the whole vector below a power of a line",
        assumptions=(
            CHUNKS,
            Given(
                "power",
                "a",
                "=",
                power,
                words="$v_i/(mb+1-i)^a$ is non-increasing in the rank $i$ among all $mb$ entries, in any order, for {}",
            ),
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(k, chunk_size),),
        source="ours",
        derivation=(
            *worst_assignment(),
            *tail_lemma(),
            Step("(x − b)/x ≥ (x − 1 − b)/(x − 1): w_{i+b}/w_i falls, so the first chunk is worst", _falls),
            mixture_step(),
            Step(
                "v_i = w_i for i ≤ b, and zeros: Σ_{k<i≤b} (d + 1 − i)^(2/p) / Σ_{i≤b} (d + 1 − i)^(2/p) is the bound",
                lambda: _first_chunk(bound),
                concludes=bound,
            ),
            Step(
                "p = 2 gives (1 − k/b)(1 − k/(2d + 1 − b))",
                lambda: _at_two(bound) - _flat_rung(),
            ),
        ),
    )


def chunk_convex() -> Statement:
    """Ratio ≤ 1 − (k/b)(1 + (b − k)/(d + 1)) if the d = mb sorted squares are convex in rank with v_{d+1} = 0.

    Attained by v_i = d + 1 − i with neighbours in rank in one chunk. It tends to 1 − k/b as chunks become many.

    Source: ours.
    """
    bound = 1 - k / chunk_size * (1 + (chunk_size - k) / (chunk_number * chunk_size + 1))
    return Statement(
        label="chunk_convex",
        title="Top-k in each chunk, squares of the whole vector convex in rank",
        assumptions=(
            CHUNKS,
            r"the $mb$ sorted squares $v_i$, and $v_{mb+1}=0$ behind them, are convex in the rank $i$",
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(k, chunk_size),),
        source="ours",
        derivation=(
            *worst_assignment(),
            Step(
                f"v_i = Σ_t (v_{{t−1}} − 2v_t + v_{{t+1}}) max(t − i, 0): a sum of ramps, for d ≤ {EXPLICIT_DIMENSION}",
                _sum_of_ramps,
                argued="the identity for every d",
            ),
            mixture_step(),
            Step("ramps of cb + r entries, 1 ≤ r ≤ k: the bound at c + 1 chunks", lambda: _ramps(bound, few=True)),
            Step("the same for k ≤ r ≤ b", lambda: _ramps(bound, few=False)),
            Step("the bound grows with the number of chunks", lambda: _grows(bound)),
            Step("c full chunks attain the bound at c", lambda: _full_ramp() - bound, concludes=bound),
            Step("one chunk: (1 − k/b)(1 − k/(b+1))", lambda: bound.subs(chunk_number, 1) - square_rung()),
        ),
    )


def worst_assignment() -> tuple[Step, ...]:
    """The steps that give the chunks consecutive ranks: then every sent entry has the largest rank that it can have."""
    return (
        Step(
            "(c − 1)k + i entries sent pass over at most c − 1 chunks: the last has a rank ≤ (c − 1)b + i",
            _rank_of_sent,
            argued="an entry kept back before it is in a chunk whose k sent entries are all before it",
        ),
        Step(f"so consecutive ranks in a chunk send least, for all of d ≤ {LARGEST_DIMENSION}", _least_sent),
    )


def _rank_of_sent() -> sympy.Expr:
    """(c − 1)k + i sent ones, and b − k kept back in each of c − 1 chunks."""
    place = sympy.Symbol("c", positive=True)
    return sympy.expand((place - 1) * k + i + (place - 1) * (chunk_size - k) - ((place - 1) * chunk_size + i))


def _least_sent() -> sympy.Basic:
    shapes = ((2, 2), (2, 3), (3, 2))
    facts = [
        is_true((_sent(chunks, count) - _sent(_consecutive(number, size), count)).is_nonnegative)
        for number, size in shapes
        for count in range(1, size + 1)
        for chunks in _assignments(tuple(range(number * size)), size)
    ]
    return sympy.And(*facts)


def _consecutive(number: int, size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(size * chunk, size * (chunk + 1))) for chunk in range(number))


def _assignments(ranks: tuple[int, ...], size: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All ways to cut ranks into sets of one size."""
    if not ranks:
        yield ()
        return
    for others in combinations(ranks[1:], size - 1):
        rest = tuple(rank for rank in ranks[1:] if rank not in others)
        for chunks in _assignments(rest, size):
            yield ((ranks[0], *others), *chunks)


def _sent(chunks: tuple[tuple[int, ...], ...], count: int) -> sympy.Expr:
    squares = sorted_squares(sum(map(len, chunks)))
    return sympy.Add(*(squares[rank] for chunk in chunks for rank in sorted(chunk)[:count]))


def _falls() -> sympy.Basic:
    """x = b + 1 + y: (x − b)(x − 1) − (x − 1 − b)x = b; powers keep the order."""
    place = chunk_size + 1 + _SLACKS[0]
    difference = (place - chunk_size) * (place - 1) - (place - 1 - chunk_size) * place
    return is_nonnegative_polynomial(difference, chunk_size, _SLACKS[0])


def _ranks(first: sympy.Expr, last: sympy.Expr) -> sympy.Expr:
    """Σ_{first<i≤last} (d + 1 − i)^(2/p) from the end: j = d + 1 − i."""
    entries = chunk_number * chunk_size
    return sympy.Sum(j ** (2 / p), (j, entries + 1 - last, entries - first))


def _first_chunk(bound: sympy.Expr) -> sympy.Basic:
    """Each is a sum up to d − first less one up to d − last."""
    entries, split = chunk_number * chunk_size, sympy.Function("S")
    by_sums = (split(entries - k) - split(entries - chunk_size)) / (split(entries) - split(entries - chunk_size))
    named = bound.replace(PowerSum, lambda count, _power: split(count))
    numbers = {chunk_number: 3, chunk_size: 4, k: 2, p: 1}
    explicit = (_ranks(k, chunk_size) / _ranks(sympy.S.Zero, chunk_size)).subs(numbers).doit() - bound.subs(numbers)
    return sympy.And(sympy.Eq(sympy.simplify(named - by_sums), 0), sympy.Eq(sympy.simplify(explicit), 0))


def _at_two(bound: sympy.Expr) -> sympy.Expr:
    return bound.rewrite(sympy.Sum).subs(p, 2).doit()


def _flat_rung() -> sympy.Expr:
    return (1 - k / chunk_size) * (1 - k / (2 * chunk_number * chunk_size + 1 - chunk_size))


def _sum_of_ramps() -> sympy.Basic:
    facts = []
    for dimension in range(1, EXPLICIT_DIMENSION + 1):
        squares = (*sympy.symbols(f"v_1:{dimension + 1}"), sympy.S.Zero, sympy.S.Zero)
        # squares[t − 1] is v_t.
        bends = {t: squares[t - 2] - 2 * squares[t - 1] + squares[t] for t in range(2, dimension + 2)}
        for rank in range(1, dimension + 1):
            ramps = sum(bend * max(t - rank, 0) for t, bend in bends.items())
            facts.append(sympy.Eq(sympy.expand(ramps - squares[rank - 1]), 0))
    return sympy.And(*facts)


_FULL = sympy.Symbol("c", nonnegative=True)
"""Number of chunks that a ramp fills."""


def _left_of_full() -> sympy.Expr:
    """Σ over c full chunks of Σ_{k<i≤b} (n + 1 − sb − i), for a ramp of n = cb + r entries."""
    start, length = sympy.Symbol("s", integer=True), _FULL * chunk_size + _SLACKS[2]
    inner = (chunk_size - k) * (length + 1 - start * chunk_size)
    inner -= (chunk_size * (chunk_size + 1) - k * (k + 1)) / 2
    return sympy.expand(sympy.summation(inner, (start, 0, _FULL - 1)))


def _ramps(bound: sympy.Expr, *, few: bool) -> sympy.Basic:
    """bound · total − left ≥ 0 for n = cb + r, with 1 ≤ r ≤ k ≤ b or k ≤ r ≤ b."""
    one, two, rest = _SLACKS
    length = _FULL * chunk_size + rest
    last = sympy.S.Zero if few else (rest - k) * (rest - k + 1) / 2
    room = bound.subs(chunk_number, _FULL + 1) * length * (length + 1) / 2 - _left_of_full() - last
    fewer = {k: rest + 1 + one, chunk_size: rest + 1 + one + two, rest: rest + 1}
    more = {k: 1 + rest, rest: 1 + rest + one, chunk_size: 1 + rest + one + two}
    return _is_nonnegative(room.subs(fewer if few else more, simultaneous=True), _FULL, one, two, rest)


def _grows(bound: sympy.Expr) -> sympy.Basic:
    more = bound.subs(chunk_number, chunk_number + 1) - bound
    return _is_nonnegative(more.subs(chunk_size, k + _SLACKS[0]), chunk_number, k, _SLACKS[0])


def _is_nonnegative(quotient: sympy.Expr, *generators: sympy.Symbol) -> sympy.Basic:
    numerator, denominator = sympy.fraction(sympy.cancel(sympy.together(quotient)))
    return sympy.And(
        is_nonnegative_polynomial(numerator, *generators), is_nonnegative_polynomial(denominator, *generators)
    )


def _full_ramp() -> sympy.Expr:
    """What c = m full chunks leave of the ramp d + 1 − i."""
    left = _left_of_full().subs({_SLACKS[2]: 0, _FULL: chunk_number})
    entries = chunk_number * chunk_size
    return sympy.simplify(left / (entries * (entries + 1) / 2))


STATEMENTS = by_label(__name__, chunk_star_shaped, chunk_convex)
"""The statements of this file."""
