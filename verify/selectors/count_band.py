"""What evidence is there for the statements of `theory/selectors/count_band.py`, besides their derivations?

Selections of `kernels/reference.py` from exact squares, every interval of small integers, every band and every start of
`kernels/band_search.py`, every small list. The released rule has its own files. Ours.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, combinations_with_replacement, product

import sympy
import torch
from hypothesis import strategies as st
from sympy.core.relational import Relational

from sparsync.kernels.band_search import count_band, search_threshold
from sparsync.kernels.reference import gaussian_k
from sparsync.theory.language.symbols import bit_width, d, k, selected_count, start_level
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.ladder import MORE_THAN_ALL, kept_back_count
from sparsync.verify.contraction.margins import exact_bound
from sparsync.verify.contraction.strategies import star_shaped
from sparsync.verify.contraction.weights import Weights, constant, cube_difference, odd
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

BAND_WEIGHTS: dict[str, Weights] = {
    "count_band": constant,
    "count_band_square": odd,
    "count_band_cubic": cube_difference,
}
"""The class of vectors of each statement about the band, by label."""

MAX_DIMENSION = 16
"""Largest d that a search draws."""
LARGEST_MAGNITUDE = 6
"""Magnitudes are drawn from 0 to this, so that ties are common."""
LIST_KEY_WIDTH, LONGEST_VECTOR, LARGEST_TARGET = 3, 6, 4
"""Bits, entries and target k of the vectors whose lists are enumerated; every list that leaves the answer open for
some vector does so among them, because ⌊4·LARGEST_TARGET/3⌋ + 1 ≤ LONGEST_VECTOR."""

BROKEN = sympy.Rational(7, 8)
"""The false twin of a bound: so much of it is too little."""


def key_width(profile: Profile) -> int:
    """Bits of the thresholds that a profile enumerates."""
    return 5 if profile.examples_count < 500 else 6


def trailing_zeros(number: int) -> int:
    """How often 2 divides a positive integer."""
    return (number & -number).bit_length() - 1


def threshold_margin(magnitudes: Sequence[int], threshold: int) -> Fraction:
    """bound − ratio for the entries that reach a threshold; the zero vector has margin = bound."""
    dimension = len(magnitudes)
    sent = [magnitude for magnitude in magnitudes if magnitude >= threshold]
    total = sum(magnitude**2 for magnitude in magnitudes)
    kept_back = total - sum(magnitude**2 for magnitude in sent)
    bound = STATEMENTS["threshold_selector"].exact(selected_count=len(sent), d=dimension)
    return Fraction(int(bound.p), int(bound.q)) - Fraction(kept_back, total or 1)


def below_threshold_count(magnitudes: Sequence[int], threshold: int) -> int:
    """Minus the number of non-zero entries kept back: sending everything attains the bound and says nothing."""
    return -sum(0 < magnitude < threshold for magnitude in magnitudes)


def band_margin(squares: Sequence[Fraction], count: int, *, label: str) -> Fraction:
    """bound − ratio for what `gaussian_k` selects; −1 where its count leaves the band with something kept back.

    Args:
        squares: [d], sorted, in the statement's class; each is exact in float64 and stands for its magnitude, which
            leaves the order, all that the guarantee uses, as it is.
        count: k.
        label: the statement.
    """
    sent = gaussian_k(torch.tensor([float(v) for v in squares], dtype=torch.float64), count).indices.tolist()
    total = sum(squares, Fraction(0))
    kept_back = total - sum((squares[index] for index in sent), Fraction(0))
    least, largest = count_band(count)
    if kept_back and not least <= len(sent) <= largest:
        return Fraction(-1)
    return exact_bound(label, dimension=len(squares), count=count) - kept_back / (total or 1)


def intervals_check(profile: Profile) -> Outcome:
    """`property`: in every interval of integers below 2^b, as many elements as stated have the most trailing zeros."""
    end = 2 ** (key_width(profile) + 1)
    intervals = [range(low, high + 1) for low in range(1, end) for high in range(low, end)]
    broken = [interval for interval in intervals if not _has_stated_count(interval)]
    return Outcome(
        earned=bool(intervals) and not broken,
        detail={"intervals_count": len(intervals), "broken_count": len(broken)},
    )


def searches_check(profile: Profile) -> Outcome:
    """`property`: every band of b-bit thresholds, from every first interval, within the bound, which is attained."""
    bits = key_width(profile)
    bands = [(low, high) for low in range(1, 2**bits + 1) for high in range(low, 2**bits + 1)]
    searches = {level: list(product(bands, _starts(bits, level))) for level in range(bits + 1)}
    largest = {
        level: max(_search_cost(band, bits, level, start) for band, start in cases) for level, cases in searches.items()
    }
    stated = {level: STATEMENTS["band_search_passes"].evaluate(bit_width=bits, start_level=level) for level in largest}
    return Outcome(
        earned=all(largest[level] == stated[level] for level in largest),
        detail={
            "searches_count": sum(map(len, searches.values())),
            "bit_width": bits,
            "largest_by_level": [largest[level] for level in sorted(largest)],
        },
    )


def lists_check(_profile: Profile) -> Outcome:
    """`property`: a complete list agrees with as many answers as stated, and with more exactly where it should."""
    lists_count, broken_count = 0, 0
    for target in range(1, LARGEST_TARGET + 1):
        above_band = range(count_band(target)[1] + 1, LONGEST_VECTOR + 1)
        stated = {selected: _stated_answers(selected, target) for selected in above_band}
        for (cut, listed), answers in _answers_by_list(target).items():
            lists_count += 1
            decided = list_decides(listed, cut, target)
            as_stated = stated.get(len(listed), len(answers)) == len(answers)
            broken_count += (len(answers) == 1) != decided or not as_stated
    return Outcome(
        earned=lists_count > 0 and broken_count == 0,
        detail={"lists_count": lists_count, "broken_count": broken_count},
    )


def list_decides(listed: Sequence[int], cut: int, target: int) -> bool:
    """Whether the list of all entries ≥ cut decides the search: the condition of `candidate_list`, or an exception."""
    least, largest = count_band(target)
    if cut == 1 or len(listed) > largest:
        return True
    answer = roundest(listed, count_band(target), lowest=cut)
    return len(listed) >= least and answer is not None and answer & (answer - 1) == 0


def roundest(magnitudes: Sequence[int], band: tuple[int, int], *, lowest: int = 1) -> int | None:
    """By inspection of every threshold of LIST_KEY_WIDTH bits from `lowest` on."""
    thresholds = range(lowest, 2**LIST_KEY_WIDTH)
    valid = [t for t in thresholds if band[0] <= sum(a >= t for a in magnitudes) <= band[1]]
    return max(valid, key=trailing_zeros, default=None)


@cache
def _answers_by_list(target: int) -> Mapping[tuple[int, tuple[int, ...]], set[int | None]]:
    answers: dict[tuple[int, tuple[int, ...]], set[int | None]] = defaultdict(set)
    for dimension in range(1, LONGEST_VECTOR + 1):
        for magnitudes in combinations_with_replacement(range(2**LIST_KEY_WIDTH), dimension):
            answer = roundest(magnitudes, count_band(target))
            for cut in range(1, 2**LIST_KEY_WIDTH):
                answers[cut, tuple(a for a in magnitudes if a >= cut)].add(answer)
    return answers


def _stated_answers(selected: int, target: int) -> float:
    return STATEMENTS["candidate_list"].evaluate(selected_count=selected, k=target, capacity=selected)


def _has_stated_count(interval: range) -> bool:
    zeros = [trailing_zeros(element) for element in interval]
    stated = STATEMENTS["band_threshold_unique"].bound
    return bool(zeros.count(max(zeros)) == stated)


def _starts(bits: int, level: int) -> range:
    """One start in every dyadic interval of a level: the others in it begin with the same interval."""
    return range(0, 2**bits, 2**level)


def _search_cost(band: tuple[int, int], bits: int, level: int, start: int) -> int:
    """How often the search counts for V = [low, high); more than any bound if it does not return t*."""
    low, high = band
    counted: list[int] = []

    def count(threshold: int) -> int:
        counted.append(threshold)
        return 3 if threshold < low else 2 if threshold < high else 1

    found = search_threshold(count, (2, 2), bit_width=bits, start=start, start_level=level)
    right = max(range(low, high), key=trailing_zeros, default=None)
    return len(counted) if found.threshold == right else 10 * bits


def _threshold_members() -> st.SearchStrategy[tuple[list[int], int]]:
    magnitudes = st.lists(st.integers(0, LARGEST_MAGNITUDE), min_size=1, max_size=MAX_DIMENSION)
    return st.tuples(magnitudes, st.integers(0, LARGEST_MAGNITUDE + 1))


def _band_members(label: str) -> st.SearchStrategy[tuple[tuple[Fraction, ...], int]]:
    return star_shaped(BAND_WEIGHTS[label], max_dimension=MAX_DIMENSION)


def threshold_queries() -> tuple[Query, ...]:
    """The statement itself, for all energies with N entries at least τ and d − N at most τ."""
    dimension, count, sent, kept_back, level = sympy.symbols("d N sent kept tau", real=True)
    bound = STATEMENTS["threshold_selector"].bound.subs({d: dimension, selected_count: count}, simultaneous=True)
    numerator, denominator = sympy.fraction(sympy.together(bound))
    stated, energy = numerator * (sent + kept_back), kept_back * denominator
    return (
        Query(
            claim="N entries at least τ and d − N at most τ: kept back ≤ bound · (sent + kept back)",
            premises=(
                *(count >= 0, count <= dimension, dimension > 0, level >= 0),
                *(sent >= count * level, kept_back >= 0, kept_back <= (dimension - count) * level),
            ),
            conclusion=sympy.Le(energy, stated),
            false_twin=sympy.Le(energy, BROKEN * stated),
        ),
    )


def band_queries(label: str, power: int) -> tuple[Query, ...]:
    """(1 − N/d)^power, what N entries leave on the class, is at most the bound: for k = 3q + 1, 3q + 2 and 3q + 3."""
    return tuple(_band_query(label, power, remainder) for remainder in (1, 2, 3))


def _band_query(label: str, power: int, remainder: int) -> Query:
    dimension, count, third = sympy.symbols("d N q", real=True)
    whole = sympy.Symbol("whole", integer=True, nonnegative=True)
    least = 2 * third + count_band(remainder)[0]
    bound = STATEMENTS[label].bound.subs({k: 3 * whole + remainder, d: dimension}, simultaneous=True)
    numerator, denominator = sympy.fraction(sympy.cancel(bound.xreplace({whole: third})))
    left, stated = (dimension - count) ** power * denominator, numerator * dimension**power
    return Query(
        claim=f"N ≥ {least} of k = {3 * third + remainder}",
        premises=(third >= 0, dimension >= 1, count >= least, count <= dimension),
        conclusion=sympy.Le(left, stated),
        false_twin=sympy.Le(left, BROKEN * stated),
    )


def search_queries() -> tuple[Query, ...]:
    """The six rows of the table in `band_search_passes`, over the reals: level s, bits b, first level s₀."""
    level, bits, start = sympy.symbols("s b s_0", real=True)
    doublings = level - start
    found = (start >= 0, sympy.Eq(level, start))
    galloped = (start >= 0, doublings >= 1)
    rows = (
        ("found at once below b − 1", (*found, level <= bits - 2), 2 + level),
        ("found below b − 1", (*galloped, level <= bits - 2), 1 + doublings + level),
        ("found at once at b − 1", (*found, sympy.Eq(level, bits - 1)), 1 + level),
        ("found at b − 1", (*galloped, sympy.Eq(level, bits - 1)), doublings + level),
        ("found at once at b", (*found, bits >= 1, sympy.Eq(level, bits)), level),
        ("found at b", (*galloped, sympy.Eq(level, bits)), doublings + level - 1),
    )
    bound, largest = _without_maximum(
        STATEMENTS["band_search_passes"].bound.subs({bit_width: bits, start_level: start}, simultaneous=True)
    )
    return tuple(
        Query(claim, (*premises, *largest), sympy.Le(cost, bound), sympy.Le(cost + 2, level))
        for claim, premises, cost in rows
    )


def _without_maximum(bound: sympy.Expr) -> tuple[sympy.Expr, tuple[Relational, ...]]:
    """Every maximum in the bound as a new symbol, and what is used of it: it is at least each of its arguments."""
    maxima = sorted(bound.atoms(sympy.Max), key=str)
    symbols = {maximum: sympy.Symbol(f"M_{index}", real=True) for index, maximum in enumerate(maxima)}
    facts = (sympy.Ge(symbol, argument) for maximum, symbol in symbols.items() for argument in maximum.args)
    return bound.xreplace(symbols), tuple(facts)


def _band_checks(label: str, power: int) -> dict[Grade, Check]:
    return {
        "smt": smt_check(partial(band_queries, label, power)),
        "property": property_check(
            partial(_band_members, label), partial(band_margin, label=label), rank=kept_back_count
        ),
    }


SLACK: dict[str, dict[str, str]] = {
    label: {"power": f"the class is that of {other}, whose certificates notice a sixteenth; searches see wider bands"}
    for label, other in (("count_band_square", "square_convex"), ("count_band_cubic", "bell_shaped"))
}
"""Assumed numbers that may be a little other."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "threshold_selector": {
        "smt": smt_check(threshold_queries),
        "property": property_check(_threshold_members, threshold_margin, rank=below_threshold_count),
    },
    "count_band": _band_checks("count_band", 1),
    "count_band_square": _band_checks("count_band_square", 2),
    "count_band_cubic": _band_checks("count_band_cubic", 3),
    "band_threshold_unique": {"property": intervals_check},
    "band_search_passes": {"smt": smt_check(search_queries), "property": searches_check},
    "candidate_list": {"property": lists_check},
}
"""Every check of these statements, and of those about the released rule, by label and grade."""


def most_answers(*, selected: int, held: int, target: int) -> int:
    """The most answers that agree with one list that holds so many of the selected entries."""
    answers: dict[tuple[int, tuple[int, ...]], set[int | None]] = defaultdict(set)
    for (cut, listed), found in _answers_by_list(target).items():
        if len(listed) == selected:
            for part in combinations(listed, held):
                answers[cut, part] |= found
    return max(map(len, answers.values()))


EDGES: dict[str, tuple[Remark, ...]] = {
    "threshold_selector": (Edge("selected_count <= d", {"d": 1, "selected_count": 2}),),
    "count_band": (Edge("k <= d", {"d": 1, "k": 2}),),
    "count_band_square": (MORE_THAN_ALL,),
    "count_band_cubic": (Edge("k <= d", {"d": 1, "k": 2}),),
    "band_search_passes": (
        Unneeded("start_level <= bit_width", "no interval holds more than all 2^b thresholds; the bound is b there"),
    ),
    "candidate_list": (
        Edge(
            "selected_count > floor(4*k/3)",
            {"capacity": 2, "k": 2, "selected_count": 2},
            left=lambda: most_answers(selected=2, held=2, target=2),
        ),
        Edge(
            "selected_count <= capacity",
            {"capacity": 2, "k": 1, "selected_count": 3},
            left=lambda: most_answers(selected=3, held=2, target=1),
        ),
    ),
    "band_threshold_unique": (Edge("lowest <= highest", {"highest": 1, "lowest": 2}, left=lambda: 0),),
}
"""What is said of the conditions, by label."""
