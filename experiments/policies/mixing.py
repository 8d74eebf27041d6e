"""With which weights do workers average their models? Doubly stochastic ones, which keep the mean of all models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

Edge = tuple[int, int]
"""Two workers that may exchange models, the smaller number first."""


def metropolis_weights(members: Sequence[int], edges: Iterable[Edge]) -> tuple[tuple[Fraction, ...], ...]:
    """P_ij = 1/(1 + max(deg i, deg j)) on edges, P_ii = 1 − Σ_j P_ij: symmetric, so doubly stochastic.

    Args:
        members: the workers, in the order of rows and columns.
        edges: between members, each once.

    Source: Xiao, Boyd 2004, the local-degree rule with one more in the denominator.
    """
    joined = set(edges)
    degrees = Counter(end for edge in joined for end in edge)
    rows = []
    for member in members:
        others = {
            other: Fraction(1, 1 + max(degrees[member], degrees[other]))
            for other in members
            if (min(member, other), max(member, other)) in joined
        }
        rest = 1 - sum(others.values(), Fraction(0))
        rows.append(tuple(rest if other == member else others.get(other, Fraction(0)) for other in members))
    return tuple(rows)
