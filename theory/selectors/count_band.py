"""What does a threshold rule keep, and how many counts does the search for its threshold need?

A threshold rule sends the entries whose magnitude bits a_i are at least t; N(t) is their number. Gaussian-k
(`kernels/reference.py`) accepts the thresholds V = {t ≥ 1 : ⌈2k/3⌉ ≤ N(t) ≤ ⌊4k/3⌋} and takes the roundest of them,
the one with the most trailing zero bits (`kernels/band_search.py`). The rule released with Shi, Chu, Cheung and See
2019 has its own files, beginning with `theory/selectors/released_rule.py`. All statements here are ours.
"""

import sympy

from sparsync.theory.contraction.ladder import CELLS, COUNT_DOMAIN, bell_shaped, falls, square_convex, top_k
from sparsync.theory.contraction.tail import is_nonnegative_polynomial
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    answer_count,
    bit_width,
    capacity,
    counted_thresholds,
    d,
    highest,
    k,
    lowest,
    ratio,
    roundest_count,
    selected_count,
    start_level,
)

LEAST_COUNT = sympy.ceiling(2 * k / 3)
"""⌈2k/3⌉, the fewest entries that Gaussian-k accepts."""
LARGEST_COUNT = sympy.floor(4 * k / 3)
"""⌊4k/3⌋, the most entries that Gaussian-k accepts."""

_SEARCH_BOUND = sympy.Max(bit_width, 2 * bit_width - start_level - 1)


def threshold_selector() -> Statement:
    """‖u − C(u)‖² ≤ (1 − N/d)‖u‖² if C sends exactly the N entries above some threshold; N = 0 gives no contraction.

    A threshold never separates equal magnitudes, so what is sent is Top_N whatever its tie-break, and every statement
    about Top-k holds with N ≥ 1 in place of k. Equality for equal magnitudes, where N is 0 or d, and in the limit
    where the entries sent exceed the others by less and less.
    """
    bound = 1 - selected_count / d
    return Statement(
        label="threshold_selector",
        title="entries above a threshold, any vector",
        assumptions=(r"$u\neq0$; $C$ sends the $N$ entries whose magnitudes reach a threshold, and no others",),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(selected_count, d),),
        source="ours; the averaging argument is classical",
        derivation=(
            Step(
                "N entries with v ≥ τ sum to at least Nτ, the other d − N to at most (d − N)τ: "
                "(1 − N/d)(sent + kept back) − kept back ≥ 0",
                lambda: _averaging(bound),
                concludes=bound,
            ),
            Step("every entry at τ makes it an equality", lambda: _averaging_residue(bound).subs(_NO_SLACK)),
            Step("N = 0: the bound is 1", lambda: bound.subs(selected_count, 0) - 1),
        ),
    )


def count_band() -> Statement:
    """‖u − C(u)‖² ≤ (1 − ⌈2k/3⌉/d)‖u‖² for Gaussian-k and every u: two thirds of Top-k's guarantee, without a fit."""
    return _with_least_count(
        top_k(), label="count_band", title="at least two thirds of k entries, any vector", hypotheses=()
    )


def count_band_square() -> Statement:
    """‖u − C(u)‖² ≤ (1 − ⌈2k/3⌉/d)²‖u‖² for Gaussian-k on the class of `square_convex`."""
    return _with_least_count(
        square_convex(),
        label="count_band_square",
        title="at least two thirds of k entries, squares convex in rank and zero at the end",
        hypotheses=(falls(CELLS, 2),),
    )


def count_band_cubic() -> Statement:
    """‖u − C(u)‖² ≤ (1 − ⌈2k/3⌉/d)³‖u‖² for Gaussian-k on the class of `bell_shaped`."""
    return _with_least_count(
        bell_shaped(),
        label="count_band_cubic",
        title="at least two thirds of k entries, symmetric unimodal law",
        hypotheses=(falls(CELLS, 3),),
    )


def band_threshold_unique() -> Statement:
    """Exactly one element of an interval of positive integers has the most trailing zero bits.

    V is such an interval, so the threshold t* of Gaussian-k is a function of the counts alone.
    """
    return Statement(
        label="band_threshold_unique",
        title="the roundest threshold of a band",
        assumptions=(r"thresholds are the integers from $\ell\ge 1$ to $h$; round means many trailing zero bits",),
        relation=sympy.Eq(roundest_count, 1),
        domain=(sympy.Le(lowest, highest),),
        source="ours",
        derivation=(
            Step("N is non-increasing: between two thresholds with counts in the band all are", _band_is_interval),
            Step("two odd multiples of 2^z have an even multiple strictly between them", _even_multiple_between),
            Step(
                "which is a multiple of 2^(z + 1), rounder than both: two roundest elements cannot be",
                _even_multiple_is_rounder,
                concludes=sympy.Integer(1),
            ),
        ),
    )


def band_search_passes() -> Statement:
    """The dyadic search from a first interval of 2^s₀ thresholds counts at most max(b, 2b − s₀ − 1) of them.

    Bisection from the whole range (s₀ = b) needs at most b: 31 in float32. Otherwise the interval around the start is
    doubled until it brackets the band, and then halved. A dyadic interval has at most two ends to count, and a doubling
    brings one new end and leaves an old one as the new midpoint, which is known already. An interval of level b − 1
    has one end at 0 or 2^b, which needs no count, and the whole range has two. So with g = s − s₀ doublings

        level s of the bracket   ends counted      midpoints counted
        s = s₀ ≤ b − 2           2                 s
        s₀ < s ≤ b − 2           2 + g             s − 1
        s = s₀ = b − 1           1                 b − 1
        s₀ < s = b − 1           1 + g             b − 2
        s = s₀ = b               0                 b
        s₀ < s = b               g = b − s₀        b − 1

    are the largest numbers possible. The bound is attained (`verify/selectors/count_band.py` enumerates small widths).
    """
    return Statement(
        label="band_search_passes",
        title="dyadic threshold search, any start",
        assumptions=(r"thresholds have $b$ bits", r"the first interval tried has $2^{s_0}$ thresholds"),
        relation=sympy.Le(counted_thresholds, _SEARCH_BOUND, evaluate=False),
        domain=(sympy.Le(start_level, bit_width),),
        source="ours",
        derivation=(
            Step("a doubling keeps one end and makes the other the midpoint", _doubling_ends),
            Step("a halving leaves dyadic halves", _dyadic_halves),
            Step("the midpoint of a dyadic interval is rounder than all else inside", _midpoint_is_roundest),
            Step("level b − 1: one end is 0 or 2^b", _outermost_ends),
            *(_cost_step(claim, case) for claim, case in _search_costs().items()),
            Step("the largest of the six is the bound itself", _some_case_attains, concludes=_SEARCH_BOUND),
        ),
    )


def candidate_list() -> Statement:
    """A list of the entries with a_i ≥ t₀ decides the search if ⌊4k/3⌋ < N(t₀) ≤ c: one answer agrees with it.

    The answer is t*, or that V is empty. The list, of capacity c, then holds every entry that any threshold of V
    counts. Without N(t₀) > ⌊4k/3⌋ entries below t₀ > 1, of a number that is not known, can change the answer, with one
    exception: N(t₀) is in the band and the roundest accepted threshold from t₀ upwards is a power of two, which no
    smaller integer outdoes. For, if N(t₀) < ⌈2k/3⌉, entries just below t₀ may or may not fill the band there; and if
    N(t₀) is in the band, V may begin at t₀, or at 1 and contain a power of two. (If d is known and at most ⌊4k/3⌋, no
    threshold counts too much, and V begins at 1 if N(t₀) is in the band.)
    """
    return Statement(
        label="candidate_list",
        title="a list of the largest entries decides the threshold",
        assumptions=(
            r"a list of capacity $c$ holds entries with $a_i\ge t_0$, as many as fit; $N=N(t_0)$ have $a_i\ge t_0$",
        ),
        relation=sympy.Eq(answer_count, 1),
        domain=(sympy.Gt(selected_count, LARGEST_COUNT), sympy.Le(selected_count, capacity)),
        source="ours",
        derivation=(
            Step("N ≤ c: the list holds min(N, c) = N entries, all there are", _list_is_complete),
            Step("t ≤ t₀ counts at least N(t₀) > ⌊4k/3⌋ entries: V lies above t₀", _below_is_rejected),
            Step(
                "an entry outside the list has a < t₀, so no t > t₀ counts it: V is a function of the list",
                _outside_is_not_counted,
                concludes=sympy.Integer(1),
            ),
        ),
    )


def _with_least_count(rung: Statement, *, label: str, title: str, hypotheses: tuple[str | Given, ...]) -> Statement:
    """A statement about Top-k, at the smallest count that Gaussian-k accepts."""
    bound = rung.bound.subs(k, LEAST_COUNT)
    return Statement(
        label=label,
        title=title,
        assumptions=(
            r"$u\neq0$; $C$ sends the largest entries, at least $\lceil 2k/3\rceil$ of them, or every non-zero entry",
            *hypotheses,
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=COUNT_DOMAIN,
        source="ours",
        derivation=(
            Step(f"{rung.label} is proved, for Top_N as well", lambda: sympy.S(not rung.unproved_claims())),
            Step("its bound does not grow with N, so N ≥ ⌈2k/3⌉ may be lowered to it", lambda: _falls_with_count(rung)),
            Step("⌈2k/3⌉ ≤ k ≤ ⌊4k/3⌋, for k = 3q + 1, 3q + 2, 3q + 3", _target_is_in_band, concludes=bound),
        ),
    )


_SENT_SLACK, _KEPT_SLACK, _LEVEL = sympy.symbols("sent_slack kept_slack tau", nonnegative=True)
_OTHERS = sympy.Symbol("others", integer=True, nonnegative=True)
_NO_SLACK = {_SENT_SLACK: 0, _KEPT_SLACK: 0}


def _averaging_residue(bound: sympy.Expr) -> sympy.Expr:
    """(bound·(sent + kept back) − kept back)·d, with d − N others."""
    sent = selected_count * _LEVEL + _SENT_SLACK
    kept_back = _OTHERS * _LEVEL - _KEPT_SLACK
    residue = (bound * (sent + kept_back) - kept_back) * d
    return sympy.expand(residue.subs(d, selected_count + _OTHERS).simplify())


def _averaging(bound: sympy.Expr) -> sympy.Basic:
    return is_nonnegative_polynomial(
        _averaging_residue(bound), selected_count, _OTHERS, _SENT_SLACK, _KEPT_SLACK, _LEVEL
    )


def _falls_with_count(rung: Statement) -> sympy.Basic:
    """bound(N) − bound(N + more) ≥ 0, by non-negative coefficients where d = N + more + rest."""
    more, rest = sympy.symbols("more rest", integer=True, nonnegative=True)
    fall = (rung.bound.subs(k, lowest) - rung.bound.subs(k, lowest + more)).subs(d, lowest + more + rest)
    numerator, denominator = sympy.fraction(sympy.cancel(fall))
    return sympy.And(
        is_nonnegative_polynomial(numerator, lowest, more, rest),
        is_nonnegative_polynomial(denominator, lowest, more, rest),
    )


def _target_is_in_band() -> sympy.Basic:
    third = sympy.Symbol("q", integer=True, nonnegative=True)
    targets = [3 * third + remainder for remainder in (1, 2, 3)]
    slacks = [target - LEAST_COUNT.subs(k, target) for target in targets]
    slacks += [LARGEST_COUNT.subs(k, target) - target for target in targets]
    return sympy.And(*(is_nonnegative_polynomial(slack, third) for slack in slacks))


def _band_is_interval() -> sympy.Basic:
    """N(t₁) ≥ N(t) ≥ N(t₂) with N(t₁) ≤ hi and N(t₂) ≥ lo leaves lo ≤ N(t) ≤ hi."""
    low, above_low, after, before, room = sympy.symbols("lo above_low after before room", nonnegative=True)
    right = low + above_low
    middle = right + after
    high = middle + before + room
    return sympy.And(
        is_nonnegative_polynomial(middle - low, low, above_low, after),
        is_nonnegative_polynomial(high - middle, low, above_low, after, before, room),
    )


def _odd_multiples() -> tuple[sympy.Expr, sympy.Expr, sympy.Expr, sympy.Expr]:
    """Two odd multiples of 2^z, the first even multiple after the smaller one, and 2^z."""
    half, gap, zeros = sympy.symbols("c g z", integer=True, nonnegative=True)
    unit = 2**zeros
    return (2 * half + 1) * unit, (2 * half + 3 + 2 * gap) * unit, (2 * half + 2) * unit, unit


def _even_multiple_between() -> sympy.Basic:
    smaller, larger, between, _unit = _odd_multiples()
    return sympy.And(sympy.factor(between - smaller) > 0, sympy.factor(sympy.expand(larger - between)) > 0)


def _even_multiple_is_rounder() -> sympy.Basic:
    smaller, larger, between, unit = _odd_multiples()
    quotients = [sympy.expand(sympy.simplify(number / (2 * unit))) for number in (smaller, larger, between)]
    return sympy.S([quotient.is_integer for quotient in quotients] == [False, False, True])


def _dyadic(index: sympy.Expr, level: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """The ends of the dyadic interval from c·2^s to (c + 1)·2^s."""
    return index * 2**level, (index + 1) * 2**level


def _doubling_ends() -> sympy.Basic:
    """The parent of interval c has index ⌊c/2⌋: an even c keeps the left end, an odd c the right one."""
    half, level = sympy.symbols("c s", integer=True, nonnegative=True)
    facts = []
    for index, kept in ((2 * half, 0), (2 * half + 1, 1)):
        ends, parent = _dyadic(index, level), _dyadic(sympy.floor(index / 2), level + 1)
        facts += [ends[kept] - parent[kept], ends[1 - kept] - (parent[0] + parent[1]) / 2]
    return sympy.And(*(sympy.Eq(sympy.simplify(fact), 0) for fact in facts))


def _dyadic_halves() -> sympy.Basic:
    """The midpoint of interval c at level s + 1 is the common end of intervals 2c and 2c + 1 at level s."""
    index, level = sympy.symbols("c s", integer=True, nonnegative=True)
    whole, left, right = _dyadic(index, level + 1), _dyadic(2 * index, level), _dyadic(2 * index + 1, level)
    middle = (whole[0] + whole[1]) / 2
    facts = (left[0] - whole[0], left[1] - middle, right[0] - middle, right[1] - whole[1])
    return sympy.And(*(sympy.Eq(sympy.simplify(fact), 0) for fact in facts))


def _midpoint_is_roundest() -> sympy.Basic:
    """In units of 2^(s − 1) the ends and the midpoint are consecutive integers: no other multiple lies inside."""
    index, below = sympy.symbols("c z", integer=True, nonnegative=True)
    left, right = (sympy.simplify(end / 2**below) for end in _dyadic(index, below + 1))
    middle = (left + right) / 2
    gaps = (sympy.expand(middle - left), sympy.expand(right - middle))
    return sympy.And(*(sympy.Eq(gap, 1) for gap in gaps), sympy.S(bool(sympy.expand(left).is_integer)))


def _outermost_ends() -> sympy.Basic:
    """The two intervals of level b − 1 in [0, 2^b]."""
    left, right = _dyadic(sympy.Integer(0), bit_width - 1), _dyadic(sympy.Integer(1), bit_width - 1)
    return sympy.And(sympy.Eq(left[0], 0), sympy.Eq(sympy.simplify(right[1] - 2**bit_width), 0))


_REST, _EXTRA = sympy.symbols("rest extra", integer=True, nonnegative=True)


def _search_costs() -> dict[str, tuple[sympy.Expr, sympy.Expr, sympy.Expr]]:
    """The six cases of `band_search_passes`: s₀, b and the most thresholds counted, in free non-negative integers."""
    doublings = 1 + _EXTRA
    found = start_level + doublings
    return {
        "s = s₀ ≤ b − 2: 2 + s": (start_level, start_level + 2 + _REST, 2 + start_level),
        "s₀ < s ≤ b − 2: (2 + g) + (s − 1)": (start_level, found + 2 + _REST, 2 + doublings + found - 1),
        "s = s₀ = b − 1: 1 + s": (start_level, start_level + 1, 1 + start_level),
        "s₀ < s = b − 1: (1 + g) + (s − 1)": (start_level, found + 1, 1 + doublings + found - 1),
        "s = s₀ = b: s": (doublings, doublings, doublings),
        "s₀ < s = b: g + (s − 1)": (start_level, found, doublings + found - 1),
    }


def _cost_step(claim: str, case: tuple[sympy.Expr, sympy.Expr, sympy.Expr]) -> Step:
    """The bound is at least the cost of one case; that the search has this cost is told in words."""

    def room() -> sympy.Basic:
        return is_nonnegative_polynomial(_room(case), start_level, _REST, _EXTRA)

    argued = "that the search counts so many ends and midpoints"
    return Step(f"{claim} thresholds are at most max(b, 2b − s₀ − 1)", room, argued=argued)


def _room(case: tuple[sympy.Expr, sympy.Expr, sympy.Expr]) -> sympy.Expr:
    start, bits, cost = case
    bound = _SEARCH_BOUND.subs({bit_width: bits, start_level: start}, simultaneous=True)
    return sympy.expand(bound - cost)


def _some_case_attains() -> sympy.Basic:
    """For s₀ = b, for s₀ = b − 1, and for s₀ < b with a bracket of level b, nothing is left between cost and bound."""
    rooms = [_room(case) for case in _search_costs().values()]
    return sympy.S([room == 0 for room in rooms] == [False, False, True, False, True, True])


def _list_is_complete() -> sympy.Expr:
    room = sympy.Symbol("room", integer=True, nonnegative=True)
    return sympy.Min(selected_count, capacity).subs(capacity, selected_count + room) - selected_count


def _below_is_rejected() -> sympy.Basic:
    """N(t) = N(t₀) + more for t ≤ t₀, and N(t₀) = ⌊4k/3⌋ + 1 + excess."""
    more, excess = sympy.symbols("more excess", integer=True, nonnegative=True)
    return sympy.S(bool((LARGEST_COUNT + 1 + excess + more - LARGEST_COUNT).is_positive))


def _outside_is_not_counted() -> sympy.Basic:
    """a = t₀ − 1 − below and t = t₀ + above give a < t."""
    below, above = sympy.symbols("below above", integer=True, nonnegative=True)
    cut = sympy.Symbol("t_0", integer=True, positive=True)
    return sympy.S(bool(((cut - 1 - below) - (cut + above)).is_negative))


STATEMENTS = by_label(
    __name__,
    threshold_selector,
    count_band,
    count_band_square,
    count_band_cubic,
    band_threshold_unique,
    band_search_passes,
    candidate_list,
)
"""The statements of this file."""
