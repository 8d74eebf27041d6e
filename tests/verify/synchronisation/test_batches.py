"""Reports on unequal batches a second time: all outcomes by hand, and the weights of a policy that runs."""

from fractions import Fraction

import pytest

from sparsync.experiments.engine.clusters import Cluster, Constant
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.dedloc import Dedloc
from sparsync.experiments.policies.lb_bsp import LbBsp
from sparsync.verify.monitors.trace import Applied, Sent, Started
from sparsync.verify.synchronisation import batches

REPORTS = [(1, Fraction(1), Fraction(2)), (3, Fraction(-1), Fraction(0))]


def test_the_errors_of_two_reports_by_hand() -> None:
    """The one example with noise weighs 1/4, or 1/2; the full gradient is −1/2, the mean of the two reports' 0."""
    assert batches.full_gradient(REPORTS) == Fraction(-1, 2)
    assert batches.weighted_error(REPORTS) == Fraction(4, 16)
    assert batches.equal_error(REPORTS) == Fraction(1, 4) + Fraction(4, 4)


def test_mean_gradients_off_the_line_leave_room() -> None:
    bent = [(1, Fraction(0), Fraction(1)), (1, Fraction(2), Fraction(1)), (2, Fraction(0), Fraction(1))]
    assert batches.equal_margin(bent) > 0
    assert batches.equal_margin(batches.on_line((1, 1, 2), Fraction(1))) == 0


@pytest.mark.parametrize("policy", [LbBsp(), Dedloc(target_batch=5)])
def test_policies_weigh_reports_by_their_batches(policy: Policy) -> None:
    run = Simulation(policy, Cluster(3, Constant((1.0, 1.7, 3.1))), Horizon(steps=20))
    run.run()
    batch_of, message_batch = dict[int, float](), dict[int, float]()
    updates = list[Applied]()
    for event in run.trace:
        if isinstance(event, Started):
            batch_of[event.worker] = event.batch
        elif isinstance(event, Sent):
            message_batch[event.message] = batch_of[event.worker]
        elif isinstance(event, Applied):
            updates.append(event)
    assert len(updates) > 5
    for update in updates:
        total = sum(message_batch[message] for message in update.messages)
        # The policies divide, as we do, two numbers of double precision.
        assert update.weights == pytest.approx([message_batch[uid] / total for uid in update.messages], rel=1e-15)
