"""Epochs of mixing a second time: weights and orders by hand, and epochs of a policy that runs."""

from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy
import pytest

from sparsync.experiments.engine.clusters import Cluster, Drawn, exponential
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.dybw import DynamicBackupWorkers
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.trace import Mixed
from sparsync.verify.synchronisation import mixing_epochs


def test_metropolis_weights_by_hand() -> None:
    third = Fraction(1, 3)
    assert mixing_epochs.metropolis(3, [(0, 1), (1, 2)]) == [
        [2 * third, third, 0],
        [third, third, third],
        [0, third, 2 * third],
    ]
    assert mixing_epochs.least_weight(3, [[(0, 1)], [(1, 2)]]) == Fraction(1, 2)


def test_links_are_used_in_every_order() -> None:
    links = ((0, 1), (1, 2))
    assert list(mixing_epochs.uses(links)) == [
        [[(0, 1)], [(1, 2)]],
        [[(1, 2)], [(0, 1)]],
        [[(0, 1), (1, 2)]],
    ]
    assert [len(list(mixing_epochs.connected_graphs(workers))) for workers in (2, 3, 4)] == [1, 4, 38]


def test_an_epoch_that_leaves_a_worker_out_does_not_contract() -> None:
    assert not mixing_epochs.contracts(3, [[(0, 1)]])
    assert mixing_epochs.contracts(3, [[(0, 1)], [(1, 2)]])


def epoch_factors(run: Simulation) -> list[float]:
    """The most that is left of a disagreement after each epoch, in which all links of the path of workers mix."""
    workers = run.view.worker_count
    centring = numpy.eye(workers) - 1 / workers
    mixed, used, found = centring, set[tuple[int, int]](), []
    for event in run.trace:
        if isinstance(event, Mixed):
            whole = numpy.eye(workers)
            whole[numpy.ix_(event.members, event.members)] = event.weights
            mixed = whole @ mixed
            used |= {pair for pair in pairwise(range(workers)) if whole[pair]}
            if len(used) == workers - 1:
                found.append(float(numpy.linalg.norm(mixed, 2)) ** 2)
                mixed, used = centring, set()
    return found


@pytest.mark.parametrize(("graph", "weight"), [("ring", Fraction(1, 3)), ("complete", Fraction(1, 5))])
def test_epochs_of_dynamic_backup_workers_contract_as_stated(
    graph: Literal["ring", "complete"], weight: Fraction
) -> None:
    cluster = Cluster(5, Drawn(exponential(), factors=(1.0, 1.5, 2.0, 3.0, 9.0), seed=4))
    run = Simulation(DynamicBackupWorkers(graph), cluster, Horizon(steps=60))
    run.run()
    factors = epoch_factors(run)
    assert len(factors) > 10
    # Products of a few matrices of norm 1 in double precision.
    assert max(factors) <= STATEMENTS["epoch_disagreement"].evaluate(n=5, least_weight=weight) + 1e-12
