"""With which weights do workers average their models? Doubly stochastic ones, which keep the mean of all models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

Edge = tuple[int, int]
"""Two workers that may exchange models, the smaller number first."""


def metropolis_weights(members: Sequence[int], edges: Iterable[Edge]) -> tuple[dict[int, Fraction], ...]:
    """P_ij = 1/(1 + max(deg i, deg j)) on edges, P_ii = 1 − Σ_j P_ij: symmetric, so doubly stochastic.

    Args:
        members: the workers, in the order of rows.
        edges: between members, each once.

    Returns:
        Of each member its own weight and those of its neighbours; the others are zero.

    Source: Xiao, Boyd 2004, the local-degree rule with one more in the denominator.
    """
    neighbours = defaultdict[int, list[int]](list)
    for one, other in edges:
        neighbours[one].append(other)
        neighbours[other].append(one)
    rows = []
    for member in members:
        degree = len(neighbours[member])
        counts = {other: 1 + max(degree, len(neighbours[other])) for other in neighbours[member]}
        shares = {count: Fraction(1, count) for count in counts.values()}
        rest = 1 - sum((times * shares[count] for count, times in Counter(counts.values()).items()), Fraction(0))
        rows.append({member: rest} | {other: shares[count] for other, count in counts.items()})
    return tuple(rows)


def full_rows(members: Sequence[int], rows: Iterable[dict[int, Fraction]]) -> tuple[tuple[float, ...], ...]:
    """Rows of floats, with their zeros."""
    places = {member: place for place, member in enumerate(members)}
    full = []
    for row in rows:
        numbers = [0.0] * len(members)
        for member, weight in row.items():
            numbers[places[member]] = weight.numerator / weight.denominator
        full.append(tuple(numbers))
    return tuple(full)
