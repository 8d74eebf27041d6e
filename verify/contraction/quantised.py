"""What evidence is there for selected entries whose values are rounded, besides the derivations?

The two codes are run: `kernels/codec_values.py` writes and reads a block, and what is lost is computed in fractions of
the floats. The two levels without rounding are carried out in fractions here. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import sympy
import torch
from hypothesis import strategies as st

from sparsync.kernels.codec_bits import BLOCK_SIZE, Cursor
from sparsync.kernels.codec_values import VALUE_CODES, read_values, write_values
from sparsync.theory.language.symbols import selected_ratio, value_error
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.contraction.chunks import LEVELS, Squares
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

GRID = 8
"""Parts of a step of "int8" at which a largest loss is looked for, and shares that a search draws."""
EIGHT_BIT_COUNTS = (1, 2, 3, 16, 64, 65, 66, 256, 1024)
"""Lengths of blocks whose largest loss is computed."""
TWO_BIT_COUNTS = (4, 6, 8, 16, 32, 64)
"""Even lengths of blocks at which the rounding of levels changes little."""
LITTLE = Fraction(1, 2**40)
"""By what share of the mean a value lies above it."""
LARGEST_GRID = 4
"""Largest magnitude of the vectors that are all tried, in whole numbers."""
MAX_COUNT = 12
"""Longest block of fractions that a search draws."""
TIGHT = Fraction(63, 64)
"""A share of the bound that a worst vector must exceed."""

Values = tuple[float, ...]


def selection_queries() -> tuple[Query, ...]:
    """Energies T, S and E with S ≥ (1 − r)T and E ≤ qS."""
    total, sent, error = sympy.symbols("T S E", real=True)
    statement = STATEMENTS["quantised_selection"]
    bound, left, lost = statement.bound, statement.given("left"), statement.given("lost")
    premises = (
        sympy.Ge(total, 0),
        sympy.Le(sent, total),
        sympy.Ge(error, 0),
        sympy.Ge(sent, (1 - left) * total),
        sympy.Le(error, lost * sent),
        sympy.Le(value_error, 1),
        sympy.Le(selected_ratio, 1),
        sympy.Ge(value_error, 0, evaluate=False),
        sympy.Ge(selected_ratio, 0, evaluate=False),
    )
    return (
        Query(
            claim="what is left of the selection, and what rounding loses",
            premises=premises,
            conclusion=sympy.Le(total - sent + error, bound * total),
            false_twin=sympy.Le(total - sent + error, sympy.Rational(7, 8) * bound * total),
        ),
    )


def selection_margin(squares: Squares, count: int, lost: Fraction) -> Fraction:
    """bound − ratio for Top-k and Q(v) = (1 − t)v, for which q = t²; r is what this selection leaves."""
    ordered, total = sorted(squares, reverse=True), sum(squares, Fraction(0))
    if not total:
        return Fraction(0)
    sent = sum(ordered[:count], Fraction(0))
    ratio = (total - sent + lost**2 * sent) / total
    bound = STATEMENTS["quantised_selection"].fraction(selected_ratio=1 - sent / total, value_error=lost**2)
    return bound - ratio


def selection_members() -> st.SearchStrategy[tuple[Squares, int, Fraction]]:
    """Vectors, a count, and the share of each value that rounding takes."""
    vectors = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=MAX_COUNT).map(tuple)
    shares = st.integers(0, GRID).map(lambda number: Fraction(number, GRID))
    return vectors.flatmap(lambda squares: st.tuples(st.just(squares), st.integers(1, len(squares)), shares))


def decoded(values: Sequence[float], code: str) -> np.ndarray:
    """What a receiver reads of a block of float32 values."""
    number = VALUE_CODES[code].number
    sent = np.asarray(values, dtype=np.float32)
    written = np.frombuffer(write_values(sent.view(np.uint8), number), dtype=np.uint8)
    return read_values(Cursor(written), len(sent), torch.float32, number).view(np.float32)


def lost_by_code(values: Sequence[float], code: str) -> Fraction:
    """‖v − Q(v)‖²/‖v‖² in fractions of the floats; 0 for zeros."""
    sent = [Fraction(float(value)) for value in np.asarray(values, dtype=np.float32)]
    read = [Fraction(float(value)) for value in decoded(values, code)]
    total = sum((value**2 for value in sent), Fraction(0))
    error = sum(((value - other) ** 2 for value, other in zip(sent, read, strict=True)), Fraction(0))
    return error / total if total else Fraction(0)


def eight_bit_worst(count: int) -> Values:
    """The vector that attains the bound; for one value, one that is nearly cut by a step."""
    if count == 1:
        return (float(np.nextafter(np.float32(128), np.float32(0))),)
    return (64.5 if count <= 65 else 64.0, *(0.5,) * (count - 1))


def eight_bit_smallest(count: int) -> Values:
    """The same, for 65 values or more, at the least largest magnitude: others are half a step of 2^(−132)."""
    return (float(_least("eight_bit_values")), *(2.0**-133,) * (count - 1))


def _least(label: str) -> Fraction:
    least = STATEMENTS[label].given("least_magnitude")
    return Fraction(int(least.p), int(least.q))


def eight_bit_margin(values: Values) -> Fraction:
    """bound − loss."""
    return STATEMENTS["eight_bit_values"].fraction(value_count=len(values)) - lost_by_code(values, "int8")


def eight_bit_members() -> st.SearchStrategy[tuple[Values]]:
    """Blocks of floats of one scale or of many, and those that attain the bound, some at the smallest scale."""
    worst = st.sampled_from((2, 3, 17, 65, 66, 200)).map(eight_bit_worst)
    smallest = st.sampled_from((66, 200)).map(eight_bit_smallest)
    halves = st.lists(st.integers(0, 255).map(lambda step: step / 2), min_size=1, max_size=MAX_COUNT)
    return st.one_of(worst, smallest, halves.map(_with_normal), _floats()).map(lambda values: (tuple(values),))


def _floats() -> st.SearchStrategy[list[float]]:
    drawn = st.floats(-(2.0**60), 2.0**60, width=32, allow_subnormal=False)
    return st.lists(drawn, min_size=1, max_size=MAX_COUNT).map(_with_normal)


def _with_normal(values: list[float]) -> list[float]:
    """A block whose largest magnitude is a normal number: where it is not, a one is added."""
    return values if max(map(abs, values)) >= _least("two_bit_codec") else [*values, 1.0]


def eight_bit_certificates(_profile: Profile) -> Outcome:
    """`rational`: on a grid of steps the largest loss of a block, and the code's own on the worst vector, is the bound.

    For λ the bound, e² − λx² summed over a block is at most 0; a block has one value of at least 64 steps. The value
    that is nearly cut by a whole step is looked for at its limit.
    """
    agrees = [_is_largest_loss(count) for count in EIGHT_BIT_COUNTS]
    blocks = [eight_bit_worst(count) for count in EIGHT_BIT_COUNTS if count > 1]
    blocks += [eight_bit_smallest(count) for count in EIGHT_BIT_COUNTS if count >= 65]
    attained = [eight_bit_margin(values) == 0 for values in blocks]
    return Outcome(earned=all(agrees) and all(attained), detail={"blocks_count": len(agrees)})


def _is_largest_loss(count: int) -> bool:
    share = STATEMENTS["eight_bit_values"].fraction(value_count=count)
    places = [Fraction(part, GRID) for part in range(128 * GRID + 1)]
    rooms = {place: _eight_bit_error(place) ** 2 - share * place**2 for place in places}
    largest = max(room for place, room in rooms.items() if place >= 64)
    return largest + (count - 1) * max(rooms.values()) == 0


def _eight_bit_error(place: Fraction) -> Fraction:
    return abs(place - min(round(place), 127))


def two_levels(values: Sequence[Fraction]) -> Fraction:
    """What one step of Lloyd's iteration from the mean loses of magnitudes, as a share of their energy."""
    mean, total = sum(values, Fraction(0)) / len(values), sum((value**2 for value in values), Fraction(0))
    if not total:
        return Fraction(0)
    upper, lower = ([value for value in values if (value > mean) is side] for side in (True, False))
    levels = [sum(group, Fraction(0)) / len(group) for group in (lower, upper) if group]
    return sum((min((value - level) ** 2 for level in levels) for value in values), Fraction(0)) / total


def two_bit_worst(count: int) -> tuple[Fraction, ...]:
    """1, count/2 − 1 values a little above the mean 2/(count + 2), which is half of the upper level, and zeros."""
    place = Fraction(2, count + 2) * (1 + LITTLE)
    return (Fraction(1), *(place,) * (count // 2 - 1), *(Fraction(0),) * (count - count // 2))


def two_bit_margin(values: tuple[Fraction, ...]) -> Fraction:
    """bound − loss."""
    return STATEMENTS["two_bit_values"].fraction(value_count=len(values)) - two_levels(values)


def two_bit_members() -> st.SearchStrategy[tuple[tuple[Fraction, ...]]]:
    """Blocks of fractions, and those that approach the bound."""
    shares = st.integers(0, GRID**2).map(lambda number: Fraction(number, GRID**2))
    drawn = st.lists(shares, min_size=2, max_size=MAX_COUNT).map(tuple)
    worst = st.integers(2, MAX_COUNT // 2).map(lambda half: two_bit_worst(2 * half))
    return st.one_of(drawn, worst).map(lambda values: (values,))


def two_bit_cases(profile: Profile) -> Outcome:
    """`rational`: all vectors of few whole magnitudes keep to the bound, and for even n one comes near to it."""
    largest = min(max(profile.dimensions), 5)
    vectors = [
        tuple(map(Fraction, values))
        for count in range(2, largest + 1)
        for values in product(range(LARGEST_GRID + 1), repeat=count)
        if list(values) == sorted(values, reverse=True)
    ]
    kept = all(two_bit_margin(values) >= 0 for values in vectors)
    bounds = {count: STATEMENTS["two_bit_values"].fraction(value_count=count) for count in TWO_BIT_COUNTS}
    near = all(bound >= two_levels(two_bit_worst(count)) > TIGHT * bound for count, bound in bounds.items())
    return Outcome(earned=kept and near, detail={"vectors_count": len(vectors) + len(bounds)})


def codec_worst(count: int) -> Values:
    """The same in floats, the largest magnitude just below a power of two, where the steps of levels are finest."""
    top = float(np.nextafter(np.float32(2), np.float32(0)))
    # The next whole step of 2^(−15) above the mean, which is 2/(count + 2) of nearly 2^16 steps.
    place = -(-(2**17) // (count + 2)) / 2**15
    return (top, *(place,) * (count // 2 - 1), *(0.0,) * (count - count // 2))


def codec_margin(values: Values) -> float:
    """bound − loss, rounded once: a bound below 1 is right to 2^(−53)."""
    return STATEMENTS["two_bit_codec"].evaluate(value_count=len(values)) - float(lost_by_code(values, "int2"))


def codec_members() -> st.SearchStrategy[tuple[Values]]:
    """Blocks of floats, and those that come near to the bound."""
    worst = st.sampled_from((8, 16, 32, BLOCK_SIZE)).map(codec_worst)
    return st.one_of(worst, _floats()).map(lambda values: (tuple(values),))


def codec_cases(_profile: Profile) -> Outcome:
    """`numeric`: the code loses less than the bound, and more than 63/64 of it, of the worst block of each length."""
    counts = (*TWO_BIT_COUNTS[2:], BLOCK_SIZE)
    found = {count: float(lost_by_code(codec_worst(count), "int2")) for count in counts}
    bounds = {count: STATEMENTS["two_bit_codec"].evaluate(value_count=count) for count in counts}
    shares = [found[count] / bounds[count] for count in counts]
    return Outcome(
        earned=all(float(TIGHT) < share <= 1 for share in shares),
        detail={"blocks_count": len(shares), "lost_share_of_a_full_block": found[BLOCK_SIZE]},
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    "quantised_selection": {
        "smt": smt_check(selection_queries),
        "property": property_check(selection_members, selection_margin),
    },
    "eight_bit_values": {
        "rational": eight_bit_certificates,
        "property": property_check(eight_bit_members, eight_bit_margin),
    },
    "two_bit_values": {
        "rational": two_bit_cases,
        "property": property_check(two_bit_members, two_bit_margin),
    },
    "two_bit_codec": {
        "numeric": codec_cases,
        "property": property_check(codec_members, codec_margin),
    },
}
"""The checks of this file, by label and grade."""

SLACK: dict[str, dict[str, str]] = {
    "two_bit_codec": {
        "least_magnitude": "below it levels get coarser little by little: from 2^(−141) on all may be lost, and the "
        "bound has room for levels a sixteenth coarser",
    },
}
"""Why an assumed number may be a little other."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "quantised_selection": (
        Edge(
            "value_error <= 1",
            {"value_error": Fraction(17, 16), "selected_ratio": Fraction(1, 2)},
            # All the energy is sent, and rounding loses more than that.
            left=lambda: Fraction(17, 16),
        ),
        Unneeded("selected_ratio <= 1", "no selection leaves more than the whole energy"),
    ),
    "two_bit_values": (Edge("value_count >= 2", {"value_count": 1}),),
}
"""What is false beyond the conditions."""
