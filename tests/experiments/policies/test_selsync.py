from collections import Counter
from itertools import accumulate, pairwise
from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Drawn, Link, exponential
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Problem, Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.selsync import SelSync
from sparsync.verify.monitors.trace import Applied, Released, Sent, Stepped, trace_hash

INFINITY = float("inf")


class Prescribed:
    """Gradients that do not depend on the model: `norms` by worker and step, both read cyclically."""

    def __init__(self, norms: tuple[tuple[float, ...], ...]) -> None:
        self.norms = norms
        self.initial = torch.zeros(1, dtype=torch.float64)
        self.block_sizes: tuple[int, ...] = (1,)

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        del model, batch
        row = self.norms[worker % len(self.norms)]
        return 0.0, torch.tensor([row[step % len(row)]], dtype=torch.float64)

    def quality(self, model: Tensor) -> float:
        del model
        return 0.0


EVEN = Cluster(4)
NOISY = Quadratics((1.0, 0.5, 2.0), worker_count=4, spread=1.0, noise=0.5, block_count=3)


def run(policy: Policy, problem: Problem = NOISY, cluster: Cluster = EVEN, steps: float = 40) -> Simulation:
    vectors = Vectors(problem, Descent(is_on_grid=True), worker_count=cluster.worker_count)
    simulation = Simulation(policy, cluster, Horizon(steps=steps), vectors=vectors)
    simulation.run()
    return simulation


def synchronised_clocks(simulation: Simulation) -> list[int]:
    """After how many steps the workers synchronised."""
    steps = Counter[int]()
    clocks = []
    for event in simulation.trace:
        if isinstance(event, Stepped):
            steps[event.worker] += 1
        elif isinstance(event, Applied):
            assert len(set(steps.values())) == 1
            clocks.append(steps[0])
    return clocks


@pytest.mark.parametrize("is_shared", [False, True])
def test_threshold_zero_is_bsp_exactly_times_included(is_shared: bool) -> None:
    link = Link(latency_seconds=0.25, bytes_per_second=64.0, is_shared=is_shared)
    cluster = Cluster(4, Constant((1.0, 1.25, 1.5, 3.0)), upload=link, download=link)
    selective = run(SelSync(threshold=0.0), cluster=cluster)
    assert trace_hash(selective.trace) == trace_hash(run(Bsp(), cluster=cluster).trace)


def test_an_infinite_threshold_is_independent_training_after_the_first_steps() -> None:
    simulation = run(SelSync(threshold=INFINITY, window=3))
    assert synchronised_clocks(simulation) == [1, 2, 3]


@pytest.mark.parametrize("flag_seconds", [0.0, 0.125])
@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.2, INFINITY])
def test_a_step_takes_computation_and_flags_and_a_synchronised_one_the_exchange_besides(
    threshold: float, flag_seconds: float
) -> None:
    cluster = Cluster(4, Constant((2.0,)), upload=Link(latency_seconds=0.75), download=Link(latency_seconds=0.5))
    simulation = run(SelSync(threshold=threshold, flag_seconds=flag_seconds), cluster=cluster)
    exchanges = len(synchronised_clocks(simulation))
    assert 5 <= exchanges <= 40
    ends = [event.time for event in simulation.trace if isinstance(event, Stepped) and event.clock == 40]
    # The last exchange and the last flags come after the last step.
    late = 40 in synchronised_clocks(simulation)
    assert ends == [40 * 2.0 + 39 * flag_seconds + (exchanges - late) * 1.25] * 4


def test_thresholds_in_between_synchronise_some_steps() -> None:
    counts = [len(synchronised_clocks(run(SelSync(threshold=threshold)))) for threshold in (0.1, 0.2)]
    assert 40 > counts[0] > counts[1] > 5


def test_for_given_gradients_a_higher_threshold_never_synchronises_more() -> None:
    norms = tuple(
        tuple(1.0 + 0.5 * float(value) for value in torch.rand(50, generator=torch.Generator().manual_seed(worker)))
        for worker in range(4)
    )
    found = [
        set(synchronised_clocks(run(SelSync(threshold=threshold), Prescribed(norms), steps=50)))
        for threshold in (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, INFINITY)
    ]
    assert all(more >= less for more, less in pairwise(found))
    assert len({len(clocks) for clocks in found}) >= 5


def test_one_raised_flag_makes_everybody_send_in_that_step() -> None:
    calm, jump = (1.0,) * 20, (1.0,) * 9 + (4.0,) + (1.0,) * 10
    problem = Prescribed((calm, calm, jump, calm))
    simulation = run(SelSync(threshold=0.5, window=2, decay=0.0), problem, steps=20)
    # G: 1 until step 9, then 2.5, 2.5, 1; changes 1.5, 0, 0.6, 0 and their means of two 0.75, 0.75, 0.3, 0.3.
    assert synchronised_clocks(simulation) == [1, 2, 10, 11]
    senders = [event.worker for event in simulation.trace if isinstance(event, Sent)]
    assert Counter(senders) == {0: 4, 1: 4, 2: 4, 3: 4}


@settings(max_examples=25)
@given(flags=st.lists(st.tuples(*[st.booleans()] * 4), min_size=8, max_size=8), seconds=st.sampled_from((0.0, 0.5)))
def test_whoever_raises_flags_all_workers_decide_alike(flags: list[tuple[bool, ...]], seconds: float) -> None:
    # Norms that double raise the flag, others stay as they are.
    norms = tuple(tuple(2.0**count for count in accumulate(column)) for column in zip(*flags, strict=True))
    policy = SelSync(threshold=1.0, window=1, flag_seconds=seconds)
    cluster = Cluster(4, Constant((1.0, 1.5, 2.0, 1.25)), upload=Link(latency_seconds=0.5))
    simulation = run(policy, Prescribed(norms), cluster, steps=8)
    assert synchronised_clocks(simulation) == [1, *(step + 1 for step in range(1, 8) if any(flags[step]))]
    assert all(len(event.messages) == 4 for event in simulation.trace if isinstance(event, Applied))


def test_synchronised_replicas_are_equal_and_the_mean_of_what_they_were() -> None:
    simulation = run(SelSync(threshold=0.2))
    assert simulation.vectors is not None
    models = [simulation.vectors.sketch(simulation.vectors.problem.initial).sums] * 4
    for event in simulation.trace:
        if isinstance(event, Stepped):
            models[event.worker] = tuple(a + b for a, b in zip(models[event.worker], event.created.sums, strict=True))
        elif isinstance(event, Applied):
            mean = tuple(sum(entries) / 4 for entries in zip(*models, strict=True))
            assert event.model.sums == mean
            models = [mean] * 4
        elif isinstance(event, Released) and event.version >= 0:
            assert event.base.sums == models[event.worker]


class Watched:
    """Quadratics that remember models and gradients by worker and step."""

    def __init__(self, problem: Quadratics) -> None:
        self.problem, self.initial, self.block_sizes = problem, problem.initial, problem.block_sizes
        self.models: dict[tuple[int, int], Tensor] = {}
        self.gradients: dict[tuple[int, int], Tensor] = {}

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        loss, gradient = self.problem.loss_and_gradient(worker, step, model, batch)
        # On a grid so coarse that steps of any of them, with 2⁻³, are on that of the engine.
        gradient = (gradient * 2**10).round() / 2**10
        self.models[worker, step], self.gradients[worker, step] = model.clone(), gradient
        return loss, gradient

    def quality(self, model: Tensor) -> float:
        return self.problem.quality(model)


@pytest.mark.parametrize("order", ["after", "before"])
def test_replicas_are_equal_after_the_step_and_differ_by_their_steps_before_it(
    order: Literal["after", "before"],
) -> None:
    """Averaged before the local step they are η × (difference of gradients) apart, exactly."""
    watched = Watched(NOISY)
    vectors = Vectors(watched, Descent(step_size=0.125, is_on_grid=True), worker_count=4)
    simulation = Simulation(SelSync(threshold=0.2, order=order), EVEN, Horizon(steps=40), vectors=vectors)
    simulation.run()
    clocks = synchronised_clocks(simulation)
    assert 5 < len(clocks) < 40
    step_size = 0.125 if order == "before" else 0.0
    for clock in clocks[:-1]:
        # The step number `clock` is the one after the synchronisation.
        apart = [watched.models[worker, clock] - watched.models[0, clock] for worker in range(4)]
        steps = [watched.gradients[worker, clock - 1] - watched.gradients[0, clock - 1] for worker in range(4)]
        assert all(torch.equal(here, -step_size * there) for here, there in zip(apart, steps, strict=True))
        assert all(bool(there.any()) for there in steps[1:])


def test_averaging_before_the_step_is_the_mean_of_the_models_at_which_it_was_taken() -> None:
    watched = Watched(NOISY)
    vectors = Vectors(watched, Descent(step_size=0.125, is_on_grid=True), worker_count=4)
    simulation = Simulation(SelSync(threshold=0.2, order="before"), EVEN, Horizon(steps=40), vectors=vectors)
    simulation.run()
    for clock in synchronised_clocks(simulation)[:-1]:
        mean = sum(watched.models[worker, clock - 1] for worker in range(4)) / 4
        for worker in range(4):
            assert torch.equal(watched.models[worker, clock], mean - 0.125 * watched.gradients[worker, clock - 1])


def test_synchronising_every_step_before_it_lags_one_step_behind_the_mean_of_all() -> None:
    """With threshold 0 the shared model holds, after step t, what all made in the steps before it."""
    simulation = run(SelSync(threshold=0.0, order="before"))
    created = [event.created.sums for event in simulation.trace if isinstance(event, Stepped)]
    applied = [event.model.sums for event in simulation.trace if isinstance(event, Applied)]
    assert simulation.vectors is not None
    model = simulation.vectors.sketch(simulation.vectors.problem.initial).sums
    assert len(applied) == 40
    for round_ in range(40):
        assert applied[round_] == model
        made = created[4 * round_ : 4 * round_ + 4]
        model = tuple(old + sum(entries) / 4 for old, *entries in zip(model, *made, strict=True))


@pytest.mark.parametrize("descent", [Descent(selector="top_k", density=0.34), Descent()], ids=["top_k", "dense"])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_where_the_last_step_is_spared(descent: Descent, seed: int) -> None:
    changes = (Change(4.1, 2, "crash"), Change(7.3, 0, "leave"), Change(9.9, 2, "join"))
    link = Link(latency_seconds=0.2)
    cluster = Cluster(4, Drawn(exponential(), seed=seed), upload=link, changes=changes)
    vectors = Vectors(NOISY, descent, worker_count=4)
    policy = SelSync(threshold=0.2, window=2, flag_seconds=0.1, order="before")
    simulation = Simulation(policy, cluster, Horizon(seconds=40.0), vectors=vectors)
    simulation.run()
    assert any(event.kept.size for event in simulation.trace if isinstance(event, Sent))


@pytest.mark.parametrize("crash", [11.0, 11.5])
def test_nobody_waits_for_the_flag_or_the_report_of_one_that_is_gone(crash: float) -> None:
    cluster = Cluster(2, Constant((1.0, 3.0)), changes=(Change(crash, 1, "crash"),))
    simulation = Simulation(SelSync(flag_seconds=0.25), cluster, Horizon(seconds=20.0))
    simulation.run()
    # Three rounds of 3.25 seconds; the other's flag is shown at 11, and after the crash steps take 1.25 seconds each.
    assert simulation.view.clock == [3 + 1 + 7, 3]


def test_a_flag_that_is_down_does_not_wait_for_one_that_is_gone() -> None:
    cluster = Cluster(2, Constant((1.0, 3.0)), changes=(Change(5.0, 1, "crash"),))
    simulation = Simulation(SelSync(threshold=INFINITY, window=1), cluster, Horizon(seconds=10.5))
    simulation.run()
    # Synchronised at 3; a step ends at 4 and is decided at 5; five more follow.
    assert simulation.view.clock == [2 + 5, 1]


@pytest.mark.parametrize("crash", [3.0, 3.125, 3.375, 3.875])
def test_one_may_crash_at_any_point_of_a_synchronised_step_and_come_back(crash: float) -> None:
    changes = (Change(crash, 1, "crash"), Change(crash + 0.0625, 1, "join"))
    link = Link(latency_seconds=0.5)
    cluster = Cluster(2, Constant((1.0, 3.0)), upload=link, download=link, changes=changes)
    simulation = Simulation(SelSync(threshold=0.0, flag_seconds=0.25), cluster, Horizon(seconds=60.0))
    simulation.run()
    assert min(simulation.view.clock) >= 10


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"threshold": -0.5}, "-0.5"),
        ({"window": 0}, "got 0"),
        ({"decay": 1.0}, "1.0"),
        ({"flag_seconds": INFINITY}, "inf"),
        ({"order": "between"}, "'between'"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(parameters: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        SelSync(**parameters)  # type: ignore[arg-type]
