"""Second accounts of supersteps, epochs, grids, coherence and tails: by hand, and where they come near the bounds."""

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
from sparsync.verify.synchronisation import coherent_descent, grid_rates, mixing_epochs, regret_tails, superstep_regret
from sparsync.verify.tools.properties import search_margin

ONE, TWO = [Fraction(1)], [Fraction(5, 2)]


def test_a_superstep_by_hand() -> None:
    # The slow one's first iteration ends at 5/2, when the fast one has ended two; then two more, and one.
    found = superstep_regret.superstep([ONE, TWO], 1, [2, 1])
    assert [list(map(float, own)) for own in found.ends] == [[1, 2, 3, 4], [2.5, 5]]
    assert found.largest_lead() == 3
    # The slow one starts its second iteration when the fast one has ended two; the fast one its third at a lead of 2.
    assert found.widest_window() == 2


def test_without_monitoring_a_superstep_is_its_plan() -> None:
    found = superstep_regret.superstep([ONE, TWO], 0, [3, 1])
    assert [len(own) for own in found.ends] == [3, 1]
    assert found.largest_lead() == 2


@pytest.mark.parametrize(("monitored", "ahead"), [(0, 2), (2, 3), (3, 5)])
def test_some_superstep_attains_lead_and_window(monitored: int, ahead: int) -> None:
    durations = [ONE, [ahead + Fraction(1, monitored + 2)]]
    assert superstep_regret.lead_margin(durations, monitored, ahead, [ahead, 1]) == 0
    assert superstep_regret.window_margin(durations, monitored, ahead, [ahead, 1]) == 0


def test_descent_in_the_order_of_arrival_by_hand() -> None:
    # Both start at 2, the first one then at 1 for it reads as its update arrives: |2| + |2| + |1|.
    regret = superstep_regret.descend_on_arrivals(
        [(0, 0), (1, 0), (0, 0)], start=Fraction(2), slopes=[Fraction(1)], updates_each=3
    )
    assert regret == 5
    newest = superstep_regret.descend_on_arrivals(
        [(0, 0), (1, 1), (0, 1)], start=Fraction(2), slopes=[Fraction(1)], updates_each=3
    )
    assert newest == 2 + 1 + 0


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_one_round_attains_the_regret_of_arrivals(workers: int) -> None:
    arrivals = [(worker, 0) for worker in range(workers)]
    assert superstep_regret.arrival_margin(workers, arrivals, Fraction(1), [Fraction(1)], workers) == 0


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


def test_fibonacci_numbers_nearly_attain_the_golden_ratio() -> None:
    columns = [[scale * value for value in (Fraction(-1), Fraction(1))] for scale in grid_rates.FIBONACCI]
    spreads = sum(scale**2 for scale in grid_rates.FIBONACCI)
    margin = grid_rates.mean_disagreement_margin((1, 2), columns)
    assert 0 < margin < spreads * Fraction(1, 10**6)
    # The other way round less is left.
    assert grid_rates.mean_disagreement_margin((1, 2), columns[::-1]) > spreads / 10


def test_gradients_that_cancel_nearly_attain_the_rate() -> None:
    assert 0.8 < grid_rates.stuck_share(*grid_rates.STUCK_RUN) < 1


def test_a_straight_slope_nearly_attains_the_rate_of_coherent_gradients() -> None:
    assert coherent_descent.straight_share(1, 0) == 1
    assert 0.75 < coherent_descent.straight_share(40, 0) < coherent_descent.straight_share(200, 0) < 1


def test_incoherent_gradients_are_refused() -> None:
    with pytest.raises(ValueError, match="update 1"):
        coherent_descent.share_of([1.0, -1.0], 1.0, 1, 0.5)


def test_tails_by_hand() -> None:
    law = [regret_tails.two_point(1, Fraction(1, 2))]
    # η = 1 and T = 2: regrets are 3 and the number of late views; at least one is late with probability 3/4.
    assert regret_tails.regret([0, 1], Fraction(1)) == 4
    assert regret_tails.tail(law, 2, Fraction(1), Fraction(2)) == Fraction(3, 4)
    assert regret_tails.expected_bound(2, Fraction(1), Fraction(1, 2)) == 2


def test_the_law_of_a_view_may_depend_on_the_lags_before() -> None:
    laws = [[(1, Fraction(1))], [(0, Fraction(1))]]
    # One late view makes 1 + 1 the place of the next law, which is the first again.
    assert regret_tails.tail(laws, 2, Fraction(1), Fraction(5, 2)) == 1


def test_searches_reach_the_bounds() -> None:
    cases = superstep_regret.superstep_cases(least_ahead=1)
    assert search_margin(superstep_regret.lead_margin, cases, max_examples=60).smallest_margin == 0
    arrivals = superstep_regret.arrival_cases()
    assert search_margin(superstep_regret.arrival_margin, arrivals, max_examples=60).smallest_margin == 0
