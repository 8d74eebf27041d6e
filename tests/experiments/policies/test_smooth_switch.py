import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.smooth_switch import SmoothSwitch
from sparsync.verify.monitors.trace import Applied, trace_hash

INFINITY = float("inf")
UNEVEN = Cluster(4, Constant((1.0, 1.25, 1.5, 3.0)), upload=Link(latency_seconds=0.25, bytes_per_second=64.0))


def run(policy: Policy, cluster: Cluster = UNEVEN, steps: int = 20) -> Simulation:
    problem = Quadratics((1.0, 0.5), worker_count=cluster.worker_count, spread=1.0, noise=0.1)
    vectors = Vectors(problem, Descent(is_on_grid=True), worker_count=cluster.worker_count)
    simulation = Simulation(policy, cluster, Horizon(steps=steps), vectors=vectors)
    simulation.run()
    return simulation


def additions(simulation: Simulation) -> list[Applied]:
    return [event for event in simulation.trace if isinstance(event, Applied)]


def test_a_buffer_for_all_from_the_beginning_is_bsp_exactly() -> None:
    assert trace_hash(run(SmoothSwitch(growth=0)).trace) == trace_hash(run(Bsp()).trace)


def test_a_buffer_for_one_with_weights_by_worker_is_asp_exactly() -> None:
    smooth = run(SmoothSwitch(growth=INFINITY, weight="per_worker"))
    assert trace_hash(smooth.trace) == trace_hash(run(Asp()).trace)


def test_a_buffer_for_one_with_mean_weights_moves_n_times_as_far_as_asp() -> None:
    smooth, asp = additions(run(SmoothSwitch(growth=INFINITY))), additions(run(Asp()))
    assert {event.weights for event in smooth} == {(1.0,)}
    assert {event.weights for event in asp} == {(0.25,)}


@given(growth=st.integers(1, 9), seconds=st.lists(st.sampled_from((1.0, 1.25, 1.5, 2.0, 3.0)), min_size=2, max_size=5))
def test_every_version_holds_as_many_reports_as_its_number_says(growth: int, seconds: list[float]) -> None:
    cluster = Cluster(len(seconds), Constant(tuple(seconds)))
    simulation = Simulation(SmoothSwitch(growth=growth), cluster, Horizon(versions=40))
    simulation.run()
    found = [len(event.messages) for event in additions(simulation)]
    assert found == [min(1 + version // growth, len(seconds)) for version in range(40)]


def test_a_buffer_that_waits_for_one_that_is_gone_is_emptied() -> None:
    crash = (Change(2.5, 1, "crash"),)
    simulation = Simulation(
        SmoothSwitch(growth=0), Cluster(2, Constant((1.0, 3.0)), changes=crash), Horizon(seconds=9.0)
    )
    simulation.run()
    assert [(event.time, len(event.messages)) for event in additions(simulation)][:2] == [(2.5, 1), (3.5, 1)]


@pytest.mark.parametrize(("parameters", "named"), [({"growth": -1.0}, "-1.0"), ({"weight": "sum"}, "'sum'")])
def test_parameters_out_of_range_are_refused_by_name(parameters: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        SmoothSwitch(**parameters)  # type: ignore[arg-type]
