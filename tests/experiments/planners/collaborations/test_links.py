"""Levelled shares: no others take less, in parts and in whole values, whichever way a peer's time bends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sparsync.experiments.planners.collaborations.links import Link, level_shares, whole_parts

LINES = st.tuples(st.integers(1, 8), st.integers(-8, 8)).map(
    lambda line: (float(line[0]), float(max(line[1], -line[0])))
)
"""Never below no seconds at all, from share 0 to 1."""
LINKS = st.lists(st.builds(Link, LINES, LINES, st.booleans()), min_size=1, max_size=4).filter(
    lambda links: any(link.averages for link in links)
)


def latest(links: Sequence[Link], shares: Sequence[float]) -> float:
    return max(link.seconds(share) for link, share in zip(links, shares, strict=True))


def least_by_program(links: Sequence[Link]) -> float:
    rows, limits = [], []
    for place, link in enumerate(links):
        for fixed, slope in (link.sends, link.receives):
            rows.append([slope * (place == other) for other in range(len(links))] + [-1.0])
            limits.append(-fixed)
    found = linprog(
        np.array([0.0] * len(links) + [1.0]),
        A_ub=np.array(rows),
        b_ub=np.array(limits),
        A_eq=np.array([[1.0] * len(links) + [0.0]]),
        b_eq=np.ones(1),
        bounds=[*((0.0, float(link.averages)) for link in links), (None, None)],
        method="highs",
    )
    assert found.status == 0, found.message
    return float(found.fun)


@settings(max_examples=60, deadline=None)
@given(LINKS)
def test_levelled_shares_are_as_good_as_the_linear_program_says(links: list[Link]) -> None:
    shares = level_shares(links)
    assert math.isclose(sum(shares), 1, rel_tol=1e-12)
    # Of a part of what two neighbouring doubles differ by.
    assert all(-1e-15 <= share <= link.averages * (1 + 1e-15) for link, share in zip(links, shares, strict=True))
    # The solver's tolerance.
    assert math.isclose(latest(links, shares), least_by_program(links), rel_tol=1e-6)


@settings(max_examples=100, deadline=None)
@given(LINKS, st.integers(1, 7))
def test_whole_parts_are_the_best_of_all(links: list[Link], total: int) -> None:
    parts = whole_parts(links, total)
    ranges = [range(total + 1) if link.averages else range(1) for link in links]
    others = (other for other in itertools.product(*ranges) if sum(other) == total)

    def largest(found: Sequence[int]) -> float:
        return latest(links, [part / total for part in found])

    assert sum(parts) == total
    assert all(part in own for part, own in zip(parts, ranges, strict=True))
    # Lines that meet are rounded on either side.
    assert math.isclose(largest(parts), min(map(largest, others)), rel_tol=1e-14)


@given(LINES, LINES)
def test_the_quickest_share_is_where_lines_meet_or_at_an_end(
    sends: tuple[float, float], receives: tuple[float, float]
) -> None:
    link = Link(sends, receives)
    grid = [Fraction(part, 240) for part in range(241)]
    assert link.seconds(link.quickest_share()) <= min(link.seconds(float(part)) for part in grid) + 1e-14 * 16


def test_a_client_has_no_share() -> None:
    client = Link((1.0, 2.0), (1.0, -1.0), averages=False)
    assert client.quickest_share() == 0
    assert level_shares([client, Link((1.0, 2.0), (1.0, 1.0))]) == [0.0, 1.0]
    assert whole_parts([client, Link((1.0, 2.0), (1.0, 1.0))], 5) == [0, 5]


def test_nobody_who_averages_is_refused() -> None:
    client = Link((1.0, 2.0), (1.0, -1.0), averages=False)
    for function in (level_shares, lambda links: whole_parts(links, 3)):
        with pytest.raises(ValueError, match="nobody of 2 peers averages"):
            function([client, client])


def test_no_parts_cannot_be_shared() -> None:
    with pytest.raises(ValueError, match="total must be at least 1, got 0"):
        whole_parts([Link((0.0, 1.0), (0.0, 1.0))], 0)
