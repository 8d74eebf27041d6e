"""Databases of blocks a second time: by hand, with a rule left out, and a policy that runs."""

from fractions import Fraction

import pytest

from sparsync.experiments.engine.clusters import Cluster, Constant
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.problems import Banded
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.parameter_database import ParameterDatabase
from sparsync.verify.monitors.trace import Stepped
from sparsync.verify.synchronisation import block_versions
from sparsync.verify.synchronisation.block_versions import Execution

READS, WRITES = [(0, 1), (1,)], [(0,), (1,)]


def test_distances_by_hand() -> None:
    """A row of four whose neighbours share a block, and one that shares a block that nobody writes."""
    reads = [(0, 1), (1, 2), (2, 3), (3,), (0, 4), (4,)]
    apart = block_versions.distances(reads, [(), (1,), (2,), (3,), (), ()])
    assert apart[0] == [0, 1, 2, 3, None, None]


def test_executions_that_wait_for_readers_agree_with_rounds_and_others_do_not() -> None:
    rounds = block_versions.stated_rounds(READS, WRITES, 2)
    waiting = Execution(READS, WRITES)
    hasty = Execution(READS, WRITES, waits_for_readers=False)
    assert not any(block_versions.differs(state, rounds) for state in block_versions.follow_all(waiting, 2))
    assert any(block_versions.differs(state, rounds) for state in block_versions.follow_all(hasty, 2))


def test_an_execution_that_cannot_go_on_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Execution, "_is_due", lambda _self, _block, _step: False)
    with pytest.raises(RuntimeError, match="nothing can happen"):
        list(block_versions.follow_all(Execution(READS, WRITES), 2))


def test_a_row_of_writers_gets_as_far_as_the_bound() -> None:
    reads, writes, turns = block_versions._row_of_writers(3)
    states = block_versions.drawn_execution(reads, writes, turns, block_versions.DRAWN_STEPS)
    assert max(state.finished[2] - state.finished[0] for state in states) == 3


@pytest.mark.parametrize("slow", [0, 2])
def test_leads_of_a_policy_are_within_the_bound(slow: int) -> None:
    problem = Banded(5)
    seconds = tuple(50.0 if worker == slow else 1.0 for worker in range(5))
    vectors = Vectors(problem, Descent(), worker_count=5)
    policy = ParameterDatabase(problem.reads, problem.writes)
    run = Simulation(policy, Cluster(5, Constant(seconds)), Horizon(seconds=200.0), vectors=vectors)
    run.run()
    allowed = block_versions.allowed_leads(problem.reads, problem.writes)
    clock, reached = [0] * 5, list[Fraction]()
    for event in run.trace:
        if isinstance(event, Stepped):
            clock[event.worker] = event.clock
            reached += [bound - (clock[one] - clock[other]) for one, other, bound in allowed]
    assert min(reached) == 0
