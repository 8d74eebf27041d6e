"""Is an inequality with special functions true at every point of a box? Ball arithmetic (Arb) decides it, box by box.

A function maps balls to a ball that contains every value; where the ball is positive the inequality holds on the whole
box, otherwise the box is halved along its longest side. A proof is a finite cover; nothing is sampled. Ours; Arb:
Johansson 2017, through python-flint.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx, fmpq

from sparsync.verify.tools.outcome import Check, Outcome, Profile

PRECISION_BITS = 128
"""Of the balls' midpoints."""
LARGEST_COVER = 200_000
"""A proof that needs more boxes than this is given up."""

Box = tuple[tuple[Fraction, Fraction], ...]
"""One closed interval per variable."""
BallFunction = Callable[..., arb]
"""Balls, one per variable, to a ball that contains the function's values on their product."""


@dataclass(frozen=True)
class Positivity:
    """The claim that a function is positive on a box.

    Args:
        claim: in words.
        function: the difference of the two sides.
        box: where.
        false_twin: a function like it that is not positive somewhere on the box; its cover must fail.
    """

    claim: str
    function: BallFunction
    box: Box
    false_twin: BallFunction


def ball_check(*parts: Positivity | Callable[[], Sequence[Positivity]]) -> Check:
    """The grade `ball`: every claim has a finite cover, and at some point of its box every twin is negative.

    Args:
        parts: claims, or functions that make them from the bounds as they stand when the check runs.
    """

    def check(_profile: Profile) -> Outcome:
        claims = [claim for part in parts for claim in ((part,) if isinstance(part, Positivity) else part())]
        counts = [cover_count(claim.function, claim.box) for claim in claims]
        failed = [
            claim.claim
            for claim, count in zip(claims, counts, strict=True)
            if count is None or not is_refuted(claim.false_twin, claim.box)
        ]
        detail = {"boxes_count": sum(count or 0 for count in counts), "failed_claims": failed}
        return Outcome(earned=bool(claims) and not failed, detail=detail)

    return check


def cover_count(function: BallFunction, box: Box) -> int | None:
    """Number of boxes that prove the function positive on `box`; None if there is no proof.

    None means that at some midpoint the function is certainly not positive, or that the cover became too large.
    """
    with ctx.workprec(PRECISION_BITS):
        pending, proved = [box], 0
        while pending:
            current = pending.pop()
            if function(*(ball(*side) for side in current)) > 0:
                proved += 1
                continue
            if function(*_midpoint(current)) <= 0 or proved + len(pending) >= LARGEST_COVER:
                return None
            pending += _halves(current)
        return proved


def is_refuted(function: BallFunction, box: Box) -> bool:
    """True iff the function is certainly negative at some point met while trying to cover the box."""
    with ctx.workprec(PRECISION_BITS):
        pending, seen = [box], 0
        while pending and seen < LARGEST_COVER:
            current = pending.pop(0)
            seen += 1
            if function(*_midpoint(current)) < 0:
                return True
            if not function(*(ball(*side) for side in current)) > 0:
                pending += _halves(current)
        return False


def ball(lower: Fraction, upper: Fraction) -> arb:
    """The smallest ball we can make that contains the interval [lower, upper]."""
    return exact_ball(lower).union(exact_ball(upper))


def exact_ball(value: Fraction) -> arb:
    """A ball that contains the rational."""
    return arb(fmpq(value.numerator, value.denominator))


def _midpoint(box: Box) -> list[arb]:
    return [exact_ball((lower + upper) / 2) for lower, upper in box]


def _halves(box: Box) -> Sequence[Box]:
    widths = [upper - lower for lower, upper in box]
    longest = widths.index(max(widths))
    lower, upper = box[longest]
    middle = (lower + upper) / 2
    return [
        (*box[:longest], (lower, middle), *box[longest + 1 :]),
        (*box[:longest], (middle, upper), *box[longest + 1 :]),
    ]
