"""Growing groups a second time: by hand, and those of a policy that runs, as a study chooses their growth."""

from fractions import Fraction

import pytest

from sparsync.experiments.engine.clusters import Cluster, Constant
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.smooth_switch import SmoothSwitch
from sparsync.experiments.studies.synchronisation.switching import growth_for_share
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.trace import Applied
from sparsync.verify.synchronisation import growing_groups

SECONDS = (1021 / 1024, 769 / 1024, 257 / 1024, 2039 / 1024)
"""Reports of different workers come at different times, for a while."""


def updates_of(growth: int, seconds: float) -> list[Applied]:
    run = Simulation(SmoothSwitch(growth), Cluster(4, Constant(SECONDS)), Horizon(seconds=seconds))
    run.run()
    return [event for event in run.trace if isinstance(event, Applied)]


def test_two_workers_by_hand() -> None:
    """Reports at 1, 2 and 2; the third is the second worker's first, and the switch."""
    assert growing_groups.until_whole([[Fraction(1)], [Fraction(2)]], 3) == (Fraction(2), 3)


@pytest.mark.parametrize("growth", [1, 3, 10])
def test_a_policy_is_as_far_as_the_statements_say(growth: int) -> None:
    updates = updates_of(growth, 100.0)
    switch = 3 * growth
    sizes = [len(update.messages) for update in updates]
    assert sizes == [min(1 + version // growth, 4) for version in range(len(sizes))]
    time, added = growing_groups.until_whole([[Fraction(value)] for value in SECONDS], growth)
    assert added == sum(sizes[:switch])
    assert Fraction(updates[switch - 1].time) == time


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_a_share_of_the_time_allows_no_growth_that_takes_longer(share: float) -> None:
    seconds = 200.0
    growth = growth_for_share(Cluster(4, Constant(SECONDS)), seconds, share)
    assert updates_of(growth, seconds)[3 * growth - 1].time <= seconds * (1 - share)
    # With one more it would be too late, so that the bound on the time is later too.
    bound = STATEMENTS["switch_time"].evaluate(n=4, growth=growth + 1, longest_duration=max(SECONDS))
    assert bound >= seconds * (1 - share)
