"""What evidence is there for what an example changes, for divergences of private steps, and for bounds of attacks?

Vectors of whole lengths are clipped in exact fractions; sums are selected from by `SELECTORS`; divergences are
integrated with 30 digits; attacks are points of the region of error rates, and outcomes of randomised response. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import mpmath
import sympy
import torch
from hypothesis import strategies as st

from sparsync.kernels.selection import SELECTORS
from sparsync.theory.language.symbols import clip_norm, loss_excess, loss_factor, noise_ratio, sample_share
from sparsync.theory.learning.privacy_losses import OTHER_CHANCE
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (0, 1, 1))
"""Two entries of vectors whose lengths are whole."""
DIGITS = 30
"""In which divergences are integrated."""
MOST_ERROR = mpmath.mpf(10) ** -24
"""Of an integral, relative, as the quadrature estimates it; more earns nothing."""
TOLERANCE = mpmath.mpf(10) ** -18
"""Of a divergence, relative: ln(1 + x) has the error of 1 + x over x, which is 2·10⁻⁵ at least in the listed cases."""

Vector = tuple[Fraction, Fraction]


def clipped(vector: Vector, length: Fraction, limit: Fraction) -> Vector:
    """min(1, C/‖g‖)·g."""
    factor = min(Fraction(1), limit / length) if length else Fraction(1)
    return vector[0] * factor, vector[1] * factor


def move_margin(vectors: Sequence[tuple[Vector, Fraction]], limit: Fraction) -> Fraction:
    """C² less the squared distance of the sum from that without the first; the longest C is attained.

    Args:
        vectors: with their lengths.
        limit: C.
    """
    rows = [clipped(vector, length, limit) for vector, length in vectors]
    totals = [[sum((row[axis] for row in some), Fraction(0)) for axis in (0, 1)] for some in (rows, rows[1:])]
    moved = sum(((one - other) ** 2 for one, other in zip(*totals, strict=True)), Fraction(0))
    stated = STATEMENTS["clipped_sum_move"].fraction(clip_norm=limit)
    return stated * stated - moved


def selection_margin(largest: int, halves: int) -> Fraction:
    """The squared distance of two selections of one entry, less the bound; C is twice so many halves of 2.

    The example is as long as the statement assumes it to be at most.

    Whole numbers below 2²⁰ in float64, so that nothing is rounded.
    """
    clip = 2 * halves
    length = STATEMENTS["selected_sum_move"].given("example_length").subs(clip_norm, clip)
    total = torch.tensor([largest, max(largest - halves, 0)], dtype=torch.float64)
    other = total + torch.tensor([0, float(length)], dtype=torch.float64)
    moved = SELECTORS["top_k"](other, 1).dense() - SELECTORS["top_k"](total, 1).dense()
    stated = STATEMENTS["selected_sum_move"].fraction(largest_entry=largest, clip_norm=clip)
    return Fraction(float(moved.square().sum())) - stated


def vector_of(triple: tuple[int, int, int], scale: Fraction) -> tuple[Vector, Fraction]:
    """A vector and its length."""
    first, second, length = triple
    return (first * scale, second * scale), length * abs(scale)


def move_check(_profile: Profile) -> Outcome:
    """`rational`: sums of two listed vectors, shorter and longer than C; the longer attain it."""
    scales = (Fraction(0), Fraction(1, 10), Fraction(1), Fraction(-7))
    vectors = [vector_of(*case) for case in product(TRIPLES, scales)]
    margins = [move_margin([one, vectors[5]], limit) for one in vectors for limit in (Fraction(1), Fraction(5, 2))]
    return _counted(margins)


def selection_check(_profile: Profile) -> Outcome:
    """`rational`: the listed sums move as far as stated, by an example of length C."""
    margins = [selection_margin(largest, halves) for largest in (1, 2, 10, 1000) for halves in (1, 2, 3)]
    return _counted(margins)


def _counted(margins: Sequence[Fraction]) -> Outcome:
    """Earned where none is below 0, and some is 0."""
    return Outcome(earned=min(margins) == 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def move_cases() -> Members:
    """(vectors with their lengths, C), the first longer than C as often as not."""
    scale = st.integers(-40, 40).map(lambda quarters: Fraction(quarters, 4))
    vectors = st.lists(
        st.tuples(st.sampled_from(TRIPLES), scale).map(lambda case: vector_of(*case)), min_size=1, max_size=4
    )
    return st.tuples(vectors, st.integers(1, 8).map(lambda halves: Fraction(halves, 2)))


def selection_cases() -> Members:
    """(a, C/2)."""
    return st.tuples(st.integers(1, 2**9), st.integers(1, 2**9))


def assumed_step(share: float, noise: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The probability of an example and the deviation of the noise over C, as the statement assumes them."""
    given = STATEMENTS["sampled_gaussian_divergence"].given
    probability = given("inclusion").subs(sample_share, sympy.Rational(share))
    variance = given("noise_variance").subs({noise_ratio: sympy.Rational(noise), clip_norm: 1})
    return mpmath.mpf(str(sympy.N(probability, DIGITS))), mpmath.sqrt(mpmath.mpf(str(sympy.N(variance, DIGITS))))


def divergence(order: int, share: float, noise: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The Rényi divergence by quadrature, and the quadrature's estimate of the error of its integral, relative."""
    with mpmath.workdps(DIGITS):
        q, sigma = assumed_step(share, noise)

        def density(x: mpmath.mpf) -> mpmath.mpf:
            quotient = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * sigma**2))
            return quotient**order * mpmath.npdf(x, 0, sigma)

        # The integrand is a sum of Gaussians of deviation σ around 0, 1, …, α.
        ends = [mpmath.mpf(place) for place in range(order + 1)]
        limits = [-14 * sigma, *ends, order + 14 * sigma]
        value, error = mpmath.quad(density, limits, error=True)
        return mpmath.log(value) / (order - 1), error / value


def divergence_check(_profile: Profile) -> Outcome:
    """`numeric`: quadrature of the definition at listed orders, shares and noises."""
    wrong = []
    cases = list(product((2, 3, 6), (0.01, 0.25, 0.75, 1.0), (0.75, 2.0)))
    for order, share, noise in cases:
        value, error = divergence(order, share, noise)
        with mpmath.workdps(DIGITS):
            exact = STATEMENTS["sampled_gaussian_divergence"].exact(
                order=order, sample_share=Fraction(share), noise_ratio=Fraction(noise)
            )
            stated = mpmath.mpf(str(sympy.N(exact, DIGITS)))
            if error > MOST_ERROR or abs(value - stated) > TOLERANCE * stated:
                wrong.append([order, share, noise])
    return Outcome(earned=not wrong, detail={"cases_count": len(cases), "wrong_cases": wrong})


def _allowed(factor: Fraction, excess: Fraction, chance: Fraction) -> Fraction:
    """The largest chance that is assumed beside one from the other data."""
    values = {loss_factor: factor, loss_excess: excess, OTHER_CHANCE: chance}
    return Fraction(str(STATEMENTS["membership_bound"].given("loss").subs(values)))


def _needed(factor: Fraction, excess: Fraction, chance: Fraction) -> Fraction:
    """The smallest chance beside which this one is allowed."""
    least, more = _allowed(factor, excess, Fraction(0)), _allowed(factor, excess, Fraction(1))
    return (chance - least) / (more - least)


def advantage_margin(factor: Fraction, excess: Fraction, rate: Fraction) -> Fraction:
    """The bound less the largest advantage at a false positive rate F: min(e^ε F + δ, 1 − (1 − F − δ)/e^ε, 1) − F."""
    best = min(_allowed(factor, excess, rate), 1 - _needed(factor, excess, 1 - rate), Fraction(1)) - rate
    return STATEMENTS["membership_bound"].fraction(loss_factor=factor, loss_excess=excess) - best


def response_margin(factor: Fraction) -> Fraction:
    """Minus the difference for randomised response, which tells the truth with e^ε/(1 + e^ε) and attains the bound."""
    truth = factor / (1 + factor)
    stated = STATEMENTS["membership_bound"].fraction(loss_factor=factor, loss_excess=0)
    return -abs(truth - (1 - truth) - stated)


def advantage_check(_profile: Profile) -> Outcome:
    """`rational`: listed rates do not exceed the bound, and that where both lines meet attains it."""
    pairs = list(product((Fraction(1), Fraction(3, 2), Fraction(20)), (Fraction(0), Fraction(1, 8), Fraction(1))))
    pairs.append((Fraction(1, 2), Fraction(1, 2)))
    margins = [advantage_margin(*pair, Fraction(rate, 16)) for pair in pairs for rate in range(17)]
    meeting = [advantage_margin(factor, excess, (1 - excess) / (1 + factor)) for factor, excess in pairs]
    responses = [response_margin(Fraction(factor)) for factor in (1, 2, 9)]
    return Outcome(
        earned=min(margins) >= 0 and not any(meeting) and not any(responses),
        detail={"cases_count": len(margins) + len(meeting) + len(responses), "smallest_margin": str(min(margins))},
    )


def advantage_cases() -> Members:
    """(e^ε, δ, F), where both lines meet among them."""
    pair = st.tuples(
        st.integers(1, 400).map(lambda eighths: Fraction(eighths, 8)),
        st.integers(0, 32).map(lambda part: Fraction(part, 32)),
    )
    pair = pair.filter(lambda case: sum(case) >= 1)
    rate = st.integers(0, 64).map(lambda part: Fraction(part, 64))
    drawn = st.tuples(pair, rate).map(lambda case: (*case[0], case[1]))
    return drawn | pair.map(lambda case: (*case, (1 - case[1]) / (1 + case[0])))


def _advantage_query() -> list[Query]:
    """(T − F)·denominator ≤ numerator, of the bound as it stands."""
    found, named = sympy.symbols("T F", real=True)
    assumed = STATEMENTS["membership_bound"].given("loss")
    above, below = sympy.fraction(sympy.together(STATEMENTS["membership_bound"].bound))
    premises = (
        found <= assumed.subs(OTHER_CHANCE, named),
        1 - named <= assumed.subs(OTHER_CHANCE, 1 - found),
        loss_factor > 0,
        loss_excess >= 0,
    )
    gained = (found - named) * below
    return [Query("TPR − FPR is within the bound", premises, gained <= above, gained <= above / 2)]


CHECKS: dict[str, dict[Grade, Check]] = {
    "clipped_sum_move": {"rational": move_check, "property": property_check(move_cases, move_margin)},
    "selected_sum_move": {"rational": selection_check, "property": property_check(selection_cases, selection_margin)},
    "sampled_gaussian_divergence": {"numeric": divergence_check},
    "membership_bound": {
        "smt": smt_check(_advantage_query),
        "rational": advantage_check,
        "property": property_check(advantage_cases, advantage_margin),
    },
}
"""Every check of these statements, by label and grade."""

EDGES: dict[str, tuple[Remark, ...]] = {
    "sampled_gaussian_divergence": (
        Edge("order >= 2", {"order": 1, "sample_share": Fraction(1, 4), "noise_ratio": 10}),
        Unneeded("sample_share <= 1", "it is a probability"),
    ),
    "membership_bound": (
        # An attack that never says yes.
        Edge("loss_factor >= 1 - loss_excess", {"loss_factor": Fraction(15, 16), "loss_excess": 0}, lambda: 0),
    ),
}
"""Beyond the conditions."""
