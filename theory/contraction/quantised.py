"""What is left where the selected values are also rounded? One rule for every selection, and the library's two codes.

Q rounds the values v of the entries that a selection sends, with ‖v − Q(v)‖² ≤ q‖v‖². What the selection keeps back and
what rounding loses lie on different coordinates. The codes "int8" and "int2" are defined in `kernels/codec_values.py`:
blocks of up to 1024 values share a scale that is a power of two, or two levels. Both round deterministically, and are
not unbiased. Mean losses under laws are in `theory/laws/two_bit_laws.py`. Ours.
"""

import sympy

from sparsync.theory.contraction.tail import is_nonnegative_polynomial
from sparsync.theory.contraction.two_bit import two_bit_steps
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import d, k, lost_share, ratio, selected_ratio, value_count, value_error

HALF = sympy.Rational(1, 2)
LEAST_STEPS, MOST_STEPS, LARGEST_CODE = sympy.Integer(64), sympy.Integer(128), sympy.Integer(127)
"""In steps of the scale of "int8", the largest magnitude lies in [64, 128), and no code is larger than 127."""
NORMAL = Given(
    "least_magnitude",
    r"\max_i|v_i|",
    "≥",
    sympy.Rational(1, 2**126),
    words="the largest magnitude is a normal number of float32: {}",
)
_TOTAL, _SENT = sympy.symbols("T S", nonnegative=True)
_ROOM, _GAIN = sympy.symbols("room gain", nonnegative=True)
_PLACE = sympy.Symbol("x", real=True)


def quantised_selection() -> Statement:
    """‖u − Q(C(u))‖² ≤ (1 − (1 − q)(1 − r))‖u‖² if C leaves at most the share r, and Q loses at most q of what is sent.

    For Top-k, r = 1 − k/d: the contraction δ = k/d becomes (1 − q)k/d; any rung of the ladder may stand for r. Sharp
    over all Q with this q: Q(v) = (1 − √q)v. A given code need not attain q on a vector that attains r: of equal
    magnitudes, the worst case of Top-k, "int8" loses at most 1/16384 and "int2" less than 2^(−28).
    If Q is random, q bounds the mean of ‖v − Q(v)‖² given v, and the statement that of ‖u − Q(C(u))‖²; that Q is
    unbiased is not used.

    Source: ours.
    """
    bound = 1 - (1 - value_error) * (1 - selected_ratio)
    return Statement(
        label="quantised_selection",
        title="Selected entries whose values are rounded",
        assumptions=(
            Given(
                "left",
                r"\lVert u-C(u)\rVert^2/\lVert u\rVert^2",
                "≤",
                selected_ratio,
                words=r"$u\neq0$; $C$ sends some entries of $u$, {}",
            ),
            Given(
                "lost",
                r"\lVert v-Q(v)\rVert^2/\lVert v\rVert^2",
                "≤",
                value_error,
                words=r"{} for the values $v$ sent, $Q(0)=0$",
            ),
        ),
        relation=sympy.Le(ratio, bound, evaluate=False),
        domain=(sympy.Le(value_error, 1), sympy.Le(selected_ratio, 1)),
        source="ours",
        derivation=(
            Step(
                "‖u − Q(C(u))‖² = (T − S) + ‖v − Q(v)‖², S = ‖v‖² of T = ‖u‖², coordinate by coordinate",
                _coordinates_add,
                argued="for more coordinates than two",
            ),
            Step("S = (1 − r)T + gain, ‖v − Q(v)‖² = qS − room: bound·T less that is (1 − q)gain + room", _room),
            Step("S = (1 − r)T and Q(v) = (1 − √q)v attain it", lambda: _attained(bound), concludes=bound),
            Step("r = 1 − k/d: 1 − (k/d)(1 − q)", lambda: bound.subs(selected_ratio, 1 - k / d) - _of_top_k()),
            Step("q = 0: r", lambda: bound.subs(value_error, 0) - selected_ratio),
        ),
    )


def eight_bit_values() -> Statement:
    """ "int8" loses at most max(n/(n + 16640), (n − 1)/(n + 16383), (n + 3)/(n + 65535)) of the energy of n values.

    1023/17407 = 0.0588 in a full block of 1024. Attained, but for n = 1, by half a step in n − 1 values: beside 64.5
    steps up to n = 65, beside 64 steps from there on; for n = 1 by a value of nearly 128 steps, which is cut to 127.
    Blocks are independent, so a message loses at most what its longest block may. Where the largest magnitude is below
    2^(−126) all may be lost: q = 1. The rounding is deterministic, so E Q(v) = v does not hold.

    Source: ours.
    """
    bound = sympy.Max(*_candidates())
    return Statement(
        label="eight_bit_values",
        title="Values in eight bits with a scale for each block",
        assumptions=(
            r"$v\neq0$ holds the $n$ values of a block; $Q$ is the code int8: with the step $s=2^{e-6}$, "
            r"$2^e\leq\max_i|v_i|<2^{e+1}$, each $v_i/s$ is rounded to the nearest of $-127,\dots,127$",
            NORMAL,
        ),
        relation=sympy.Le(lost_share, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("|x| ≤ 1/2: x² − λx² ≤ (1 − λ)/4", lambda: _below_half()),
            Step("1/2 ≤ |x| ≤ 127.5: 1/4 − λx² ≤ (1 − λ)/4", lambda: _above_half()),
            Step("127.5 ≤ |x| < 128: (|x| − 127)² − λx² ≤ 1 − λ·127.5² ≤ (1 − λ)/4 for λ ≥ 1/16384", _cut_value),
            Step("the largest: (x − 64)² − λx² and (x − 127)² − λx² are convex for λ < 1", _convex_errors),
            Step(
                "so its share is at most that at 64, 64.5, 127.5 or 128, of which 127.5 is below 64.5",
                _ends_of_pieces,
            ),
            Step(
                "each of three sums with (n − 1)(1 − λ)/4 is at most 0 from a λ on: the bound is the largest",
                _three_sums,
                concludes=bound,
            ),
            Step("each is at least 1/16384 for n = 1 or larger: the third is", _third_is_large_enough),
            Step("n = 65: the first two are 1/257", lambda: _equal_at(65)),
            Step("n = 1: 1/16384; n = 1024: 1023/17407", lambda: _values(bound)),
        ),
    )


def two_bit_values() -> Statement:
    """One step of Lloyd's iteration from the mean loses at most (n − 2)/(n + 6) of the energy of n ≥ 2 values.

    The levels l and h are the means of the magnitudes at most, and above, the mean of all; each value takes the nearer
    one and keeps its sign. The bound is approached for every even n by magnitudes 1, n/2 − 1 times a little more than
    2/(n + 2), and zeros. In a full block of 1024: 0.9922, so little is guaranteed; laws lose far less.
    `two_bit_codec` adds the rounding of the levels. The code is deterministic, not unbiased.

    Source: ours; the code after the 2-bit values of SparseLoCo (arXiv 2508.15706).
    """
    bound = (value_count - 2) / (value_count + 6)
    return Statement(
        label="two_bit_values",
        title="Values by their signs and one of two levels",
        assumptions=(
            r"$v\neq0$ holds $n$ values; $l$ is the mean of the $|v_i|$ that are at most their mean, $h$ of the "
            r"others, or $l$ if there are none",
            r"$Q(v)_i$ has the sign of $v_i$ and the nearer of the magnitudes $l$ and $h$",
        ),
        relation=sympy.Le(lost_share, bound, evaluate=False),
        domain=(sympy.Ge(value_count, 2),),
        source="ours",
        derivation=(*two_bit_steps(bound),),
    )


def two_bit_codec() -> Statement:
    """ "int2" loses at most (√((n − 2)/(n + 6)) + √n/2^14)² of the energy of n values, and 2^(−28) of a single one.

    Levels are whole multiples of the largest magnitude over 2^15 to 2^16, rounded down. At n = 1024 the bound is 0.9961
    where `two_bit_values` has 0.9922: what it leaves of the energy is half of that, at n = 1024; for n ≤ 64 nearly all.
    Where the largest magnitude is below 2^(−126), all may be lost.

    Source: ours.
    """
    shared = sympy.Max(0, (value_count - 2) / (value_count + 6))
    bound = (sympy.sqrt(shared) + sympy.sqrt(value_count) / 2**14) ** 2
    return Statement(
        label="two_bit_codec",
        title="Values in two bits, levels rounded down",
        assumptions=(
            r"$v\neq0$ holds the $n$ values of a block; $Q$ is the code int2: as in the statement before with "
            r"$\lfloor|v_i|/s\rfloor$ for $|v_i|/s$, levels rounded down, $s=2^{e-15}$, $2^e\leq\max_i|v_i|<2^{e+1}$",
            NORMAL,
        ),
        relation=sympy.Le(lost_share, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("M ≤ |v|/s < M + 1, and a level is less than 1 above its floor", _below_one),
            Step("M > ⌊(l + h)/2⌋ for integers means M nearer to h than to l, or as near", _nearer),
            Step("so each error is at most 2 more than that of M with levels not rounded", _two_more),
            Step("the norm of n numbers up to 2 is ≤ 2√n, and ‖v‖/s ≥ 2^15: √q grows by √n/2^14", _grows_little),
            Step(
                "‖v/s − Q‖ ≤ √((n − 2)/(n + 6))‖v/s‖ + 2√n by `two_bit_values`",
                lambda: (sympy.sqrt(shared) + _grown()) ** 2 - bound,
                concludes=bound,
                argued="the triangle inequality",
            ),
        ),
    )


def _coordinates_add() -> sympy.Expr:
    """One coordinate sent and rounded to y, one kept back."""
    sent, kept, rounded = sympy.symbols("u_1 u_2 y", real=True)
    error = (sent - rounded) ** 2 + (kept - 0) ** 2
    return sympy.expand(error - ((sent**2 + kept**2) - sent**2 + (sent - rounded) ** 2))


def _of_top_k() -> sympy.Expr:
    return 1 - k / d * (1 - value_error)


def _room() -> sympy.Expr:
    sent = (1 - selected_ratio) * _TOTAL + _GAIN
    error = _TOTAL - sent + value_error * sent - _ROOM
    bound = 1 - (1 - value_error) * (1 - selected_ratio)
    return sympy.expand(bound * _TOTAL - error - ((1 - value_error) * _GAIN + _ROOM))


def _attained(bound: sympy.Expr) -> sympy.Expr:
    sent = (1 - selected_ratio) * _TOTAL
    error = _TOTAL - sent + (1 - (1 - sympy.sqrt(value_error))) ** 2 * sent
    return sympy.expand(error - bound * _TOTAL)


def _candidates() -> tuple[sympy.Expr, ...]:
    """The λ from which each of three sums is at most 0, from the largest value's error and place."""
    others = (value_count - 1) / 4
    worst = ((HALF**2, LEAST_STEPS + HALF), (sympy.S.Zero, LEAST_STEPS), (sympy.S.One, MOST_STEPS))
    return tuple(sympy.cancel((error + others) / (place**2 + others)) for error, place in worst)


_LAMBDA = sympy.Symbol("lambda", positive=True)
_MORE = sympy.Symbol("y", nonnegative=True)


def _below_half() -> sympy.Basic:
    """(1 − λ)(1/4 − x²) ≥ 0 with x² = 1/4 − y and 1 − λ = g."""
    room = _GAIN * (HALF**2 - (HALF**2 - _MORE))
    return is_nonnegative_polynomial(room, _GAIN, _MORE)


def _above_half() -> sympy.Basic:
    room = (1 - _LAMBDA) / 4 - (sympy.Rational(1, 4) - _LAMBDA * (HALF**2 + _MORE))
    return is_nonnegative_polynomial(sympy.expand(room), _LAMBDA, _MORE)


def _cut_value() -> sympy.Basic:
    """The error is below 1, the place at least 127.5; λ = 1/16384 + y."""
    room = (1 - _LAMBDA) / 4 - (1 - _LAMBDA * (LARGEST_CODE + HALF) ** 2)
    return is_nonnegative_polynomial(sympy.expand(room.subs(_LAMBDA, 1 / MOST_STEPS**2 + _MORE)), _MORE)


def _convex_errors() -> sympy.Basic:
    bends = (
        sympy.diff((_PLACE - code) ** 2 - (1 - _GAIN) * _PLACE**2, _PLACE, 2) for code in (LEAST_STEPS, LARGEST_CODE)
    )
    return sympy.And(*(sympy.Eq(sympy.expand(bend), 2 * _GAIN) for bend in bends))


def _ends_of_pieces() -> sympy.Basic:
    """[64, 64.5], [127.5, 128], and 1/4 − λx² between falls with x."""
    values = {place: error - _LAMBDA * place**2 for place, error in _errors_at_ends().items()}
    below = values[LEAST_STEPS + HALF] - values[LARGEST_CODE + HALF]
    return is_nonnegative_polynomial(sympy.expand(below), _LAMBDA)


def _errors_at_ends() -> dict[sympy.Rational, sympy.Rational]:
    return {
        LEAST_STEPS: sympy.S.Zero,
        LEAST_STEPS + HALF: HALF**2,
        LARGEST_CODE + HALF: HALF**2,
        MOST_STEPS: sympy.S.One,
    }


def _three_sums() -> sympy.Basic:
    ends = _errors_at_ends()
    places = (LEAST_STEPS + HALF, LEAST_STEPS, MOST_STEPS)
    sums = [ends[place] - _LAMBDA * place**2 + (value_count - 1) * (1 - _LAMBDA) / 4 for place in places]
    written = (
        value_count / (value_count + 16640),
        (value_count - 1) / (value_count + 16383),
        (value_count + 3) / (value_count + 65535),
    )
    facts = [
        sympy.And(
            sympy.Eq(sympy.simplify(sympy.solve(total, _LAMBDA)[0] - root), 0), sympy.Eq(sympy.cancel(root - shown), 0)
        )
        for total, root, shown in zip(sums, _candidates(), written, strict=True)
    ]
    # Each sum falls in λ.
    slopes = [sympy.expand(-sympy.diff(total, _LAMBDA).subs(value_count, 1 + _MORE)) for total in sums]
    return sympy.And(*facts, *(is_nonnegative_polynomial(slope, _MORE) for slope in slopes))


def _third_is_large_enough() -> sympy.Basic:
    room = (_candidates()[2] - 1 / MOST_STEPS**2).subs(value_count, 1 + _MORE)
    numerator, denominator = sympy.fraction(sympy.cancel(room))
    return sympy.And(is_nonnegative_polynomial(numerator, _MORE), is_nonnegative_polynomial(denominator, _MORE))


def _equal_at(count: int) -> sympy.Basic:
    first, second, _ = (candidate.subs(value_count, count) for candidate in _candidates())
    return sympy.And(sympy.Eq(first, sympy.Rational(1, 257)), sympy.Eq(second, first))


def _values(bound: sympy.Expr) -> sympy.Basic:
    return sympy.And(
        sympy.Eq(bound.subs(value_count, 1), sympy.Rational(1, 16384)),
        sympy.Eq(bound.subs(value_count, 1024), sympy.Rational(1023, 17407)),
    )


def _below_one() -> sympy.Basic:
    """x − ⌊x⌋ < 1."""
    level = sympy.Symbol("l", nonnegative=True)
    return sympy.simplify(sympy.frac(level).rewrite(sympy.floor) - (level - sympy.floor(level)))


def _nearer() -> sympy.Basic:
    """l + h = 2a or 2a + 1, so ⌊(l + h)/2⌋ = a: M = a + 1 + y gives 2M ≥ l + h, M = a − y gives 2M ≤ l + h."""
    middle = sympy.Symbol("a", integer=True, nonnegative=True)
    facts = []
    for odd in (0, 1):
        total = 2 * middle + odd
        facts.append(sympy.Eq(sympy.floor(total / 2), middle))
        facts.append(is_nonnegative_polynomial(sympy.expand(2 * (middle + 1 + _MORE) - total), _MORE))
        facts.append(is_nonnegative_polynomial(sympy.expand(total - 2 * (middle - _MORE)), _MORE))
    return sympy.And(*facts)


def _two_more() -> sympy.Basic:
    """|x + f + g| ≤ |x| + 2 for f, g in [0, 1): x = M − level, f = |v|/s − M, g = level − ⌊level⌋."""
    size, first, second = sympy.symbols("x 1-f 1-g", nonnegative=True)
    rooms = [
        size + 2 - abs_value for abs_value in (size + (1 - first) + (1 - second), size - (1 - first) - (1 - second))
    ]
    return sympy.And(
        is_nonnegative_polynomial(sympy.expand(rooms[0]), size, first, second),
        is_nonnegative_polynomial(sympy.expand(rooms[1].subs({first: 1, second: 1})), size),
    )


def _grown() -> sympy.Expr:
    return 2 * sympy.sqrt(value_count) / 2**15


def _grows_little() -> sympy.Expr:
    return sympy.sqrt(value_count * 2**2) / 2**15 - sympy.sqrt(value_count) / 2**14


STATEMENTS = by_label(__name__, quantised_selection, eight_bit_values, two_bit_values, two_bit_codec)
"""The statements of this file."""
