"""Can a statement be broken by searching? hypothesis draws members of its class and minimises the exact margin.

One search per statement, run in-process, deterministic, and without hypothesis' example database. The margin is a
fraction, so a search that finds no negative one has tested the inequality itself, not a rounding of it. Ours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st

from sparsync.verify.margins import MARGINS, Margin
from sparsync.verify.strategies import star_shaped
from sparsync.verify.weights import CLASS_WEIGHTS, constant

Case = tuple[tuple[Fraction, ...], int]
"""Sorted squares v [d] and the count k."""

MAX_DIMENSION = 16
"""Largest d that a search draws."""
RANDOM_K_MAX_DIMENSION = 7
"""Largest d where the margin enumerates every subset."""


@dataclass(frozen=True)
class Search:
    """The outcome of one search.

    Args:
        examples_count: number of examples whose margin was computed.
        smallest_margin: the smallest margin found; negative iff the statement was broken.
        squares: v [d] of the example with the smallest margin.
        count: its k.
    """

    examples_count: int
    smallest_margin: Fraction
    squares: tuple[Fraction, ...]
    count: int

    @property
    def found_counterexample(self) -> bool:
        """True iff some example broke the statement."""
        return self.smallest_margin < 0


def class_members(label: str) -> st.SearchStrategy[Case]:
    """Pairs (v, k) that satisfy the hypothesis of a statement.

    Raises:
        ValueError: no statement has this label.
    """
    if label == "random_k":
        return star_shaped(constant, max_dimension=RANDOM_K_MAX_DIMENSION)
    if label not in CLASS_WEIGHTS:
        raise ValueError(f"label must be one of {sorted(MARGINS)}, got {label!r}")
    return star_shaped(CLASS_WEIGHTS[label], max_dimension=MAX_DIMENSION)


def search(label: str, *, max_examples: int) -> Search:
    """Minimise the margin of a statement over members of its class.

    Args:
        label: the statement.
        max_examples: how many examples hypothesis may draw.

    Raises:
        ValueError: no statement has this label.
    """
    return search_margin(MARGINS[label], class_members(label), max_examples=max_examples)


def search_margin(margin: Margin, members: st.SearchStrategy[Case], *, max_examples: int) -> Search:
    """Minimise any margin over any members; `search` with the parts given.

    Args:
        margin: (v, k) to a fraction.
        members: the pairs to draw.
        max_examples: how many examples hypothesis may draw.
    """
    outcomes: list[tuple[Fraction, Case]] = []
    _searcher(margin, members, outcomes=outcomes, max_examples=max_examples)()
    smallest, (squares, count) = min(outcomes, key=_informative_first)
    return Search(examples_count=len(outcomes), smallest_margin=smallest, squares=squares, count=count)


def _informative_first(outcome: tuple[Fraction, Case]) -> tuple[Fraction, int]:
    """By margin; among equals, by the number of non-zero coordinates kept back, most first (k = d says nothing)."""
    margin, (squares, count) = outcome
    return margin, -sum(v > 0 for v in squares[count:])


def _searcher(
    margin: Margin,
    members: st.SearchStrategy[Case],
    *,
    outcomes: list[tuple[Fraction, Case]],
    max_examples: int,
) -> Callable[[], None]:
    @settings(
        max_examples=max_examples,
        database=None,
        derandomize=True,
        deadline=None,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=(HealthCheck.too_slow,),
    )
    @given(members)
    def draw(case: Case) -> None:
        value = margin(*case)
        outcomes.append((value, case))
        target(-float(value), label="smallest margin")

    return draw
