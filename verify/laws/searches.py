"""How do the checks of the statements on laws search? Few examples each, and one grade from several checks. Ours."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from hypothesis import strategies as st

from sparsync.verify.laws.balls import NEAR_ONE_CLAIMS, gain_claims
from sparsync.verify.laws.margins import GAINS, gain_margin
from sparsync.verify.tools.balls import ball_check
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Margin, property_check

FEWEST_EXAMPLES = 20
EXAMPLES_DIVISOR = 20
"""A search over laws draws one example in twenty: each solves for quantiles at 40 digits."""


def small_search(members: Callable[[], st.SearchStrategy[tuple[object, ...]]], margin: Margin) -> Check:
    """The grade `property` with fewer examples; see `EXAMPLES_DIVISOR`."""
    search = property_check(members, margin)

    def check(profile: Profile) -> Outcome:
        count = max(FEWEST_EXAMPLES, profile.examples_count // EXAMPLES_DIVISOR)
        return search(replace(profile, examples_count=count))

    return check


def all_earned(*checks: Check) -> Check:
    """One grade from several checks, each of which must earn it; their numbers are put together."""

    def check(profile: Profile) -> Outcome:
        outcomes = [each(profile) for each in checks]
        detail = {key: value for outcome in outcomes for key, value in outcome.detail.items()}
        return Outcome(earned=all(outcome.earned for outcome in outcomes), detail=detail)

    return check


def gain_checks(label: str) -> dict[Grade, Check]:
    """Every check of a bound on the energy sent, by grade; near κ = 1 by ball arithmetic where there are claims."""
    searched: dict[Grade, Check] = {
        "property": small_search(GAINS[label].restricted().cases, partial(gain_margin, label=label))
    }
    return {"ball": ball_check(partial(gain_claims, label)), **searched} if label in NEAR_ONE_CLAIMS else searched
