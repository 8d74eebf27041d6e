"""Reports on unequal batches a second time, by hand and in policies that run; splits by hand and by the planner."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given

from sparsync.experiments.engine.clusters import Cluster, Constant
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.planners.batch_planner import heap_split
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


def test_a_greedy_split_by_hand() -> None:
    """Lines 1 + b and b/2 share five examples as one and four, which take 2; the bound is 7/3, as A is 1 of R = 3."""
    lines = [(Fraction(1), Fraction(1), 9), (Fraction(0), Fraction(1, 2), 9)]
    workers = [batches.straight(*line) for line in lines]
    assert batches.greedy_batches(workers, 5) == [1, 4]
    assert batches.latest(workers, [1, 4]) == batches.least_latest(workers, 5) == 2
    assert batches.latest(workers, [0, 5]) == Fraction(5, 2)
    assert batches.greedy_time_margin(lines, 5) == 0
    assert batches.greedy_time_margin(lines, 6) == Fraction(8, 3) - Fraction(5, 2)
    # With a cap of 3 the second is full, and the first is the last.
    capped = [lines[0], (*lines[1][:2], 3)]
    assert batches.greedy_batches([batches.straight(*line) for line in capped], 5) == [2, 3]
    assert batches.greedy_time_margin(capped, 5) == 0


@given(case=batches.split_cases())
def test_the_planner_splits_as_early_as_all_that_give_everybody_an_example(
    case: tuple[Sequence[batches.Times], int],
) -> None:
    """What is left after one example each goes on greedily, so that no such split is finished earlier."""
    workers, extra = case
    caps = [len(times) - 1 for times in workers]
    total = min(sum(caps), len(workers) + extra)
    split = heap_split([partial(_seconds, times) for times in workers], total, caps)
    left = [times[1:] for times in workers]
    least = batches.least_latest(left, total - len(workers))
    assert batches.latest(workers, split) == max(least, *(times[1] for times in workers), Fraction(0))


def _seconds(times: batches.Times, batch: int) -> float:
    return float(times[batch])


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
