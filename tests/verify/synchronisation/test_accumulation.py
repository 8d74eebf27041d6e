"""Updates that wait for examples a second time: by hand, and made by a policy that runs."""

from fractions import Fraction

import pytest

from sparsync.experiments.engine.clusters import Cluster, Constant
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.dedloc import Dedloc
from sparsync.verify.monitors.trace import Applied
from sparsync.verify.synchronisation import accumulation

ONE = Fraction(1)


def test_updates_by_hand() -> None:
    """Reports of 1 at 1, 2, 3, …, and of 2 at 3, 6, …; the first worker's comes first."""
    workers = [(ONE, ONE), (Fraction(2), Fraction(2, 3))]
    assert accumulation.update_times(workers, Fraction(4), 3) == [3, 6, 9]


@pytest.mark.parametrize("count", [1, 3, 8])
def test_equal_workers_nearly_attain_the_bound(count: int) -> None:
    excess = Fraction(1, 1000)
    workers, target, updates = accumulation.close_case(count, 4, excess)
    assert accumulation.update_times(workers, target, updates) == [4]
    assert accumulation.time_margin(workers, target, updates) == excess / count


def test_a_policy_makes_its_updates_at_these_times() -> None:
    seconds = (1.0, 1.5, 0.25, 4.0)
    run = Simulation(Dedloc(target_batch=5), Cluster(4, Constant(seconds)), Horizon(steps=80))
    run.run()
    times = [Fraction(event.time) for event in run.trace if isinstance(event, Applied)]
    workers = [(ONE, 1 / Fraction(value)) for value in seconds]
    # The fastest has made its 80 steps at 20.
    early = [time for time in times if time < 20]
    assert len(early) > 20
    assert early == accumulation.update_times(workers, Fraction(5), len(early))
