"""What evidence is there for the lag of a coordinate under drift and noise, besides the derivations?

The chain of the residual is solved exactly, in fractions, and its mean compared; the energies of the derivation are not
used. Only the bounds are read from `theory/`. Ours.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.steady_state import stationary_law
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check

LEVELS = range(1, 7)
"""N of the walks that are solved: at most 2·6 − 1 states."""
CHANCES = (*(Fraction(part, 512) for part in (257, 270, 300, 384, 500)), Fraction(1))
"""p: from hardly any drift, where the least lag is approached, to no noise, where the largest is attained."""


def walk_lag(level_count: int, up: Fraction) -> tuple[Fraction, Fraction]:
    """Λ and r at rest, of a walk with unit steps: mean residual over mean step, and sends per step.

    Args:
        level_count: N.
        up: p, not 1/2.
    """
    law = dict(zip(range(-level_count + 1, level_count), stationary_law(level_count, up), strict=True))
    mean = sum((level * share for level, share in law.items()), Fraction(0))
    top = law[level_count - 1] * up + law[1 - level_count] * (1 - up)
    return mean / (2 * up - 1), top


def equality_margin(level_count: int, up: Fraction) -> Fraction:
    """−|Λ − stated Λ|."""
    stated = STATEMENTS["coordinate_lag"].fraction(level_count=level_count, up_probability=up)
    return -abs(walk_lag(level_count, up)[0] - stated)


def most_margin(level_count: int, up: Fraction) -> Fraction:
    """Bound − Λ."""
    lag, rate = walk_lag(level_count, up)
    return STATEMENTS["lag_most"].fraction(send_rate=rate) - lag


def least_margin(level_count: int, up: Fraction) -> Fraction:
    """Λ − bound."""
    lag, rate = walk_lag(level_count, up)
    return lag - STATEMENTS["lag_least"].fraction(send_rate=rate)


MARGINS: dict[str, Callable[[int, Fraction], Fraction]] = {
    "coordinate_lag": equality_margin,
    "lag_most": most_margin,
    "lag_least": least_margin,
}


def solved_walks(_profile: Profile, *, label: str) -> Outcome:
    """`rational`: the statement holds of every walk of a grid."""
    margins = [MARGINS[label](*case) for case in product(LEVELS, CHANCES)]
    return Outcome(earned=min(margins) >= 0, detail={"walks_count": len(margins), "smallest_margin": str(min(margins))})


def _walks() -> st.SearchStrategy[tuple[int, Fraction]]:
    chances = st.one_of(st.sampled_from(CHANCES), st.fractions(Fraction(33, 64), 1, max_denominator=64))
    return st.tuples(st.integers(1, max(LEVELS)), chances)


EDGES: dict[str, tuple[Remark, ...]] = {
    "coordinate_lag": (
        Edge("up_probability > 1/2", {"up_probability": Fraction(1, 2), "level_count": 3}),
        Unneeded("up_probability <= 1", "it is a chance; walks that go down are the mirror images of those that go up"),
    ),
    "lag_most": (Edge("send_rate <= 1", {"send_rate": Fraction(33, 32)}),),
    "lag_least": (Unneeded("send_rate <= 1", "nothing is sent more than once a step; beyond, the bound is negative"),),
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    label: {
        "rational": partial(solved_walks, label=label),
        "property": property_check(_walks, margin, rank=lambda level_count, _up: level_count),
    }
    for label, margin in MARGINS.items()
}
"""Every check of these statements, by label and grade."""
