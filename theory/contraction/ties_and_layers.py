"""What do ties and layers change about Top-k? How far a threshold, or Top-k in each layer, is from Top-k of the vector.

Ratio means the share of Σv = ‖u‖² that is kept back. Both statements bound a difference of two ratios by counts alone
and say which vectors attain it. Ours.
"""

from itertools import combinations

import sympy

from sparsync.theory.contraction.tail import is_nonnegative_polynomial
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import k, kappa, layer_count, layer_excess, layer_size, strict_excess, tie_count

EXPLICIT_DIMENSION = 5
"""Largest d for which a claim about choices is also checked for every choice."""
_SLACKS = sympy.symbols("x y z", nonnegative=True)
"""What an inequality leaves over; three are enough for every case below."""
_LARGER = sympy.Symbol("a", nonnegative=True)
"""Number of coordinates above the tied magnitude."""
_TIES_MANY = {_LARGER: _SLACKS[1], k: 1 + _SLACKS[1] + _SLACKS[2], tie_count: 1 + sum(_SLACKS)}
"""b ≥ k > a ≥ 0: a = y, k = 1 + y + z, b = k + x."""
_TIES_FEW = {
    _LARGER: _SLACKS[0] + _SLACKS[1],
    k: 1 + sum(_SLACKS),
    tie_count: 1 + _SLACKS[1] + _SLACKS[2],
}
"""b ≤ k and k − b ≤ a < k: b = 1 + y + z, k = b + x, a = x + y."""


def ties() -> Statement:
    """A strict threshold at the k-th largest magnitude, shared by b, has a ratio larger by ≤ min(k, b)/max(k, b).

    Let a coordinates be larger, so that a < k ≤ a + b. Every way to break the tie keeps the same energy. The strict
    threshold sends a of max(0, k − b)..k − 1; the non-strict one sends a + b of max(k, b)..k + b − 1 and its ratio is
    smaller than Top-k's by at most (b − 1)/(k + b − 1). Attained for b ≥ k, approached for b < k; b = 1 is no tie.

    Source: ours.
    """
    bound = sympy.Min(k, tie_count) / sympy.Max(k, tie_count)
    return Statement(
        label="ties",
        title="Strict threshold at a tied magnitude against Top-k",
        assumptions=(
            r"$u\neq0$, and $b$ coordinates have the $k$-th largest magnitude",
            r"the strict threshold sends the coordinates above it, Top-$k$ also $k$ minus their number of the tied",
        ),
        relation=sympy.Le(strict_excess, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "any tie-break keeps the same energy",
                _tie_breaks_agree,
                argued=f"for d > {EXPLICIT_DIMENSION}: equal squares may be exchanged",
            ),
            Step("ratio(strict) − ratio = (k − a)θ²/Σv and ratio − ratio(non-strict) = (a + b − k)θ²/Σv", _tied_energy),
            Step("Σv ≥ (a + b)θ²", _tied_energy_is_covered),
            Step("a ≥ 0: (k − a)/(a + b) ≤ k/b where k ≤ b", lambda: _strict_loss(bound, _TIES_MANY), concludes=bound),
            Step(
                "a ≥ k − b: (k − a)/(a + b) ≤ b/k where b ≤ k", lambda: _strict_loss(bound, _TIES_FEW), concludes=bound
            ),
            Step("k ≤ b equal coordinates and zeros attain it", lambda: _tie_attained(bound)),
            Step("k − b coordinates little larger than b tied ones approach it", lambda: _tie_approached(bound)),
            Step("(a + b − k)/(a + b) ≤ (b − 1)/(k + b − 1), since a ≤ k − 1", _non_strict_gain),
        ),
    )


def layer_wise() -> Statement:
    """Top-k in each layer has a ratio larger by at most 1 − k_l/min(d_l, k), for the layer l where that is largest.

    Layer l sends k_l of its d_l coordinates, and k = Σ k_l. The whole vector keeps at least as much energy; the layers'
    ratio is the mean of theirs weighted with their energy, hence at most the largest. At equal densities κ = k_l/d_l
    the bound is 1 − max(κ, d_l/d) for the smallest layer, so 1 − κ as soon as some layer holds a share ≤ κ. Attained.

    A layer may send nothing, k_l = 0. Then the bound is 1: of a vector with k non-zero coordinates, all in that layer,
    Top-k in each layer keeps nothing and Top-k of the vector everything. Top-k in such layers is no contraction: δ = 0.

    Source: ours.
    """
    bound = 1 - layer_count / sympy.Min(layer_size, k)
    return Statement(
        label="layer_wise",
        title="Top-k in each layer against Top-k in the whole vector",
        assumptions=(
            r"$u\neq0$; layer $l$ sends $k_l\ge 0$ of its $d_l$ coordinates, the whole vector $k=\sum_l k_l\ge 1$",
            r"$l$ is the layer with the smallest $k_l/\min(d_l,k)$",
        ),
        relation=sympy.Le(layer_excess, bound, evaluate=False),
        domain=(sympy.Le(layer_count, layer_size), sympy.Le(layer_count, k)),
        source="ours",
        derivation=(
            Step(
                "no choice of k coordinates keeps more than Top-k",
                _top_is_best,
                argued=f"for d > {EXPLICIT_DIMENSION}: an exchange of a smaller square for a larger one keeps more",
            ),
            Step(
                "layers' ratio = Σ_l (share of energy) ratio_l, at most the largest ratio_l",
                _weighted_mean,
                argued="for more than three layers, which are a layer and the rest",
            ),
            Step(
                "W(n) = energy of the n largest: W(n)/n is non-increasing, so W(k_l) ≥ (k_l/n) W(n)",
                _mean_decreases,
                argued="for n ≤ k_l, where W(k_l) ≥ W(n)",
            ),
            Step("the whole vector takes n ≤ min(d_l, k) of layer l, so k_l/n ≥ k_l/min(d_l, k)", _share_decreases),
            Step(
                "E_layers ≥ (k_l/min(d_l, k)) E_whole and E_whole ≤ Σv give the bound",
                lambda: _excess_from_shares(bound),
                concludes=bound,
            ),
            Step("min(d_l, k) equal coordinates of layer l, and zeros, attain it", lambda: _layer_attained(bound)),
            Step("k_l = 0: the bound is 1, no contraction", lambda: bound.subs(layer_count, 0) - 1),
            Step("k_l/d_l = k/d = κ: the bound is 1 − max(κ, d_l/d)", lambda: _equal_densities(bound)),
        ),
    )


def sorted_squares(dimension: int) -> tuple[sympy.Expr, ...]:
    """A general non-increasing vector: every entry is the sum of the gaps that follow it."""
    gaps = sympy.symbols(f"gap_1:{dimension + 1}", nonnegative=True)
    return tuple(sympy.Add(*gaps[rank:]) for rank in range(dimension))


def is_true(fact: bool | None) -> sympy.Basic:
    """What sympy's assumptions decide, as a condition; undecided counts as false."""
    return sympy.true if fact else sympy.false


def _tie_breaks_agree() -> sympy.Basic:
    larger, tied, smaller = sympy.symbols("larger tied smaller", positive=True)
    vectors = [
        (*(larger,) * above, *(tied,) * level, *(smaller,) * (dimension - above - level))
        for dimension in range(1, EXPLICIT_DIMENSION + 1)
        for above in range(dimension)
        for level in range(1, dimension - above + 1)
    ]
    cases = ((vector, count) for vector in vectors for count in range(1, len(vector) + 1) if vector[count - 1] == tied)
    return sympy.And(*(_one_energy(vector, count, tied) for vector, count in cases))


def _one_energy(squares: tuple[sympy.Symbol, ...], count: int, tied: sympy.Symbol) -> sympy.Basic:
    above = squares.index(tied)
    ranks = [rank for rank, square in enumerate(squares) if square == tied]
    energies = {
        sympy.Add(*squares[:above], *(squares[rank] for rank in chosen))
        for chosen in combinations(ranks, count - above)
    }
    return sympy.And(sympy.Eq(len(energies), 1), sympy.Eq(energies.pop() - sympy.Add(*squares[:count]), 0))


def _tied_energy() -> sympy.Basic:
    square, rest = sympy.symbols("theta_squared rest", nonnegative=True)
    strict, top, loose = rest + tie_count * square, rest + (_LARGER + tie_count - k) * square, rest
    return sympy.And(
        sympy.Eq(sympy.expand(strict - top - (k - _LARGER) * square), 0),
        sympy.Eq(sympy.expand(top - loose - (_LARGER + tie_count - k) * square), 0),
    )


def _tied_energy_is_covered() -> sympy.Basic:
    square, extra, rest = sympy.symbols("theta_squared extra rest", nonnegative=True)
    total = (_LARGER * square + extra) + tie_count * square + rest
    return is_nonnegative_polynomial(total - (_LARGER + tie_count) * square, square, extra, rest)


def _strict_loss(bound: sympy.Expr, case: dict[sympy.Symbol, sympy.Expr]) -> sympy.Basic:
    return _is_nonnegative((bound - (k - _LARGER) / (_LARGER + tie_count)).subs(case, simultaneous=True))


def _is_nonnegative(quotient: sympy.Expr) -> sympy.Basic:
    numerator, denominator = sympy.fraction(sympy.cancel(sympy.together(quotient)))
    return sympy.And(is_nonnegative_polynomial(numerator, *_SLACKS), is_nonnegative_polynomial(denominator, *_SLACKS))


def _tie_attained(bound: sympy.Expr) -> sympy.Basic:
    square = sympy.Symbol("theta_squared", positive=True)
    strict, top = tie_count * square, (tie_count - k) * square
    many = {tie_count: k + _SLACKS[0]}
    return ((strict - top) / (tie_count * square) - bound).subs(many)


def _tie_approached(bound: sympy.Expr) -> sympy.Basic:
    square, extra = sympy.symbols("theta_squared extra", positive=True)
    total = (k - tie_count) * (square + extra) + tie_count * square
    few = {k: tie_count + _SLACKS[0]}
    return sympy.limit(tie_count * square / total, extra, 0).subs(few) - bound.subs(few)


def _non_strict_gain() -> sympy.Basic:
    gain, largest = (_LARGER + tie_count - k) / (_LARGER + tie_count), (tie_count - 1) / (k + tie_count - 1)
    case = {_LARGER: _SLACKS[1], k: 1 + _SLACKS[1] + _SLACKS[2], tie_count: 1 + _SLACKS[0]}
    return _is_nonnegative((largest - gain).subs(case, simultaneous=True))


def _top_is_best() -> sympy.Basic:
    dimensions = range(1, EXPLICIT_DIMENSION + 1)
    return sympy.And(
        *(
            _keeps_most(sorted_squares(dimension), count)
            for dimension in dimensions
            for count in range(1, dimension + 1)
        )
    )


def _keeps_most(squares: tuple[sympy.Expr, ...], count: int) -> sympy.Basic:
    best = sympy.Add(*squares[:count])
    return sympy.And(*(is_true((best - sympy.Add(*chosen)).is_nonnegative) for chosen in combinations(squares, count)))


def _weighted_mean() -> sympy.Basic:
    energies, largest = sympy.symbols("E_1:4", positive=True), sympy.Symbol("largest", nonnegative=True)
    left = [energy * (largest - slack) for energy, slack in zip(energies, _SLACKS, strict=True)]
    shares = [energy / sum(energies) * (largest - slack) for energy, slack in zip(energies, _SLACKS, strict=True)]
    is_mean = sympy.Eq(sympy.cancel(sum(left) / sum(energies) - sum(shares)), 0)
    return sympy.And(is_mean, is_true(sympy.expand(largest * sum(energies) - sum(left)).is_nonnegative))


def _mean_decreases() -> sympy.Basic:
    """n W(n+1) ≤ (n+1) W(n), where each of the n largest is at least the next one."""
    count, following, excess = sympy.symbols("n following excess", nonnegative=True)
    energy = count * following + excess
    difference = (count + 1) * energy - count * (energy + following)
    return is_nonnegative_polynomial(difference, count, following, excess)


def _share_decreases() -> sympy.Basic:
    """k_l/n ≥ k_l/min(d_l, k) for n = 1 + x at most both, whichever of d_l and k is the smaller."""
    taken, smaller, larger = 1 + _SLACKS[0], 1 + _SLACKS[0] + _SLACKS[1], 1 + sum(_SLACKS)
    cases = ({layer_size: smaller, k: larger}, {layer_size: larger, k: smaller})
    limits = (sympy.Min(layer_size, k).subs(case, simultaneous=True) for case in cases)
    return sympy.And(*(_is_nonnegative(1 / taken - 1 / limit) for limit in limits))


def _excess_from_shares(bound: sympy.Expr) -> sympy.Basic:
    """bound · Σv − (E_whole − E_layers) ≥ 0 for E_layers ≥ (k_l/m) E_whole, where m = min(d_l, k) = k_l + x."""
    whole, gained, missed = sympy.symbols("E_whole gained missed", nonnegative=True)
    smaller = layer_count + _SLACKS[0]
    layers, total = layer_count / smaller * whole + gained, whole + missed
    room = bound.subs(sympy.Min(layer_size, k), smaller) * total - (whole - layers)
    return is_nonnegative_polynomial(sympy.cancel(room * smaller), whole, gained, missed, layer_count, _SLACKS[0])


def _layer_attained(bound: sympy.Expr) -> sympy.Basic:
    cases = ({layer_size: k + _SLACKS[0]}, {k: layer_size + _SLACKS[0]})
    counts = (k, layer_size)
    excesses = ((count - layer_count) / count - 0 for count in counts)
    return sympy.And(
        *(sympy.Eq(sympy.simplify(excess - bound.subs(case)), 0) for excess, case in zip(excesses, cases, strict=True))
    )


def _equal_densities(bound: sympy.Expr) -> sympy.Basic:
    """With D coordinates in all: d_l ≤ κD gives 1 − κ, d_l ≥ κD gives 1 − d_l/D."""
    whole, size = sympy.symbols("D D_l", positive=True)
    excess = bound.subs({layer_count: kappa * layer_size})
    small = excess.subs({layer_size: size, k: size + _SLACKS[0]}, simultaneous=True) - (1 - kappa)
    large = excess.subs({layer_size: kappa * whole + _SLACKS[0], k: kappa * whole}, simultaneous=True)
    share = (kappa * whole + _SLACKS[0]) / whole
    return sympy.And(sympy.Eq(sympy.simplify(small), 0), sympy.Eq(sympy.simplify(large - (1 - share)), 0))


STATEMENTS = by_label(__name__, ties, layer_wise)
"""The statements of this file."""
