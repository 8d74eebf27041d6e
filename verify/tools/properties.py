"""Can a statement be broken by searching? hypothesis draws members of its class and minimises the margin.

One search per statement, run in-process, deterministic, and without hypothesis' example database. A margin is at least
zero where the statement holds; where it is a fraction, a search that finds no negative one has tested the inequality
itself, not a rounding of it. The smallest margin found is how nearly the bound is attained. Ours.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st

from sparsync.verify.tools.outcome import Check, Outcome, Profile

Case = tuple[Any, ...]
"""The arguments of a margin."""
Margin = Callable[..., Fraction | float]
"""A case to how much room the statement leaves there; negative iff the statement fails."""
Members = st.SearchStrategy[Any]
"""Draws cases that satisfy the hypotheses of a statement."""


@dataclass(frozen=True)
class Search:
    """The outcome of one search.

    Args:
        examples_count: number of examples whose margin was computed.
        smallest_margin: the smallest margin found; negative iff the statement was broken.
        case: the example with the smallest margin.
    """

    examples_count: int
    smallest_margin: Fraction | float
    case: Case

    @property
    def found_counterexample(self) -> bool:
        """True iff some example broke the statement (or had a margin that is no number)."""
        return not self.smallest_margin >= 0


def property_check(members: Callable[[], Members], margin: Margin, *, rank: Callable[..., int] | None = None) -> Check:
    """The grade `property`: a search over the members finds no negative margin.

    Args:
        members: makes the strategy of cases; called when the check runs.
        margin: a case's arguments to the room that the statement leaves.
        rank: see `search_margin`.
    """

    def check(profile: Profile) -> Outcome:
        found = search_margin(margin, members(), max_examples=profile.examples_count, rank=rank)
        detail = {
            "examples_count": found.examples_count,
            "smallest_margin": str(found.smallest_margin),
            "case": _printable(found.case),
        }
        return Outcome(earned=not found.found_counterexample, detail=detail)

    return check


def search_margin(
    margin: Margin, members: Members, *, max_examples: int, rank: Callable[..., int] | None = None
) -> Search:
    """Minimise a margin over members.

    Args:
        margin: a case's arguments to a fraction or float.
        members: the cases to draw.
        max_examples: how many examples hypothesis may draw.
        rank: among cases of equal margin the one of smallest rank is reported.
    """
    outcomes: list[tuple[Fraction | float, Case]] = []
    _searcher(margin, members, outcomes=outcomes, max_examples=max_examples)()
    undefined = [outcome for outcome in outcomes if math.isnan(outcome[0])]
    smallest, case = (
        undefined[0] if undefined else min(outcomes, key=lambda outcome: (outcome[0], rank(*outcome[1]) if rank else 0))
    )
    return Search(examples_count=len(outcomes), smallest_margin=smallest, case=case)


def _searcher(
    margin: Margin,
    members: Members,
    *,
    outcomes: list[tuple[Fraction | float, Case]],
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
        if math.isfinite(value):
            target(-float(value), label="smallest margin")

    return draw


def _printable(value: object) -> object:
    """A case as JSON: fractions as "p/q", sequences as lists."""
    if isinstance(value, tuple | list):
        return [_printable(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else str(value)
