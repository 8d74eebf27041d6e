"""Per-parameter barriers: BSP's numbers, no later, and often sooner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Durations, Link, Recorded
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Banded, Problem, Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.parameter_database import ParameterDatabase
from sparsync.verify.monitors.trace import Applied, Arrived, Released, Sent, Stepped

Sets = tuple[tuple[int, ...], ...]
BLOCKS, SIZE = 4, 2


@dataclass
class Sparse:
    """Gradients that depend on the blocks read, touch the blocks written, and remember what they read."""

    reads: Sets
    writes: Sets
    seen: dict[tuple[int, int], list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.initial = torch.ones(BLOCKS * SIZE, dtype=torch.float64)
        self.block_sizes: tuple[int, ...] = (SIZE,) * BLOCKS
        self.mixer = torch.randn(BLOCKS * SIZE, BLOCKS * SIZE, generator=torch.Generator().manual_seed(1)).double()

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        del batch
        own = torch.zeros(BLOCKS, SIZE, dtype=torch.float64)
        own[list(self.reads[worker])] = model.view(BLOCKS, SIZE)[list(self.reads[worker])]
        self.seen[worker, step] = own.flatten().tolist()
        everywhere = (self.mixer @ own.flatten() - 0.1 * (worker + 1)).tanh().view(BLOCKS, SIZE)
        gradient = torch.zeros(BLOCKS, SIZE, dtype=torch.float64)
        gradient[list(self.writes[worker])] = everywhere[list(self.writes[worker])]
        return 0.0, gradient.flatten()

    def quality(self, model: Tensor) -> float:
        return float(model.norm())


def run(
    policy: Policy,
    problem: Problem,
    *,
    worker_count: int,
    durations: Durations,
    horizon: Horizon,
    is_on_grid: bool = False,
    **cluster: Any,
) -> Simulation:
    vectors = Vectors(problem, Descent(is_on_grid=is_on_grid), worker_count=worker_count)
    simulation = Simulation(policy, Cluster(worker_count, durations, **cluster), horizon, vectors=vectors)
    simulation.run()
    return simulation


def step_ends(simulation: Simulation) -> dict[tuple[int, int], float]:
    return {(event.worker, event.clock): event.time for event in simulation.trace if isinstance(event, Stepped)}


@st.composite
def access(draw: st.DrawFn, worker_count: int = 4) -> tuple[Sets, Sets]:
    blocks = st.sets(st.integers(0, BLOCKS - 1))
    writes = [draw(blocks) for _ in range(worker_count)]
    reads = [row | draw(blocks) for row in writes]
    return tuple(tuple(sorted(row)) for row in reads), tuple(tuple(sorted(row)) for row in writes)


ROWS = st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=4), min_size=4, max_size=4)


@settings(max_examples=20, deadline=None)
@given(sets=access(), rows=ROWS, latency=st.sampled_from([0.0, 0.5]))
def test_workers_read_what_they_would_with_a_barrier_and_no_later(
    sets: tuple[Sets, Sets], rows: list[list[float]], latency: float
) -> None:
    """On the grid to the last bit: each block gets the same additions, and elsewhere BSP adds zeros."""
    problems, runs = (Sparse(*sets), Sparse(*sets)), []
    link = Link(latency_seconds=latency)
    for policy, problem in zip((Bsp(), ParameterDatabase(*sets)), problems, strict=True):
        durations = Recorded(tuple(map(tuple, rows)))
        cluster: dict[str, Any] = {"worker_count": 4, "durations": durations, "upload": link, "download": link}
        runs.append(step_ends(run(policy, problem, horizon=Horizon(steps=5), is_on_grid=True, **cluster)))
    late, early = runs
    assert problems[0].seen == problems[1].seen
    assert early.keys() == late.keys()
    assert all(early[key] <= late[key] for key in late)


@pytest.mark.parametrize("join", [4.2, 4.5, 4.8, 5.1, 5.4, 5.7, 6.0, 6.3, 6.6, 6.9, 7.2])
def test_with_whole_models_it_is_bsp(join: float) -> None:
    """A worker may come back while others compute, while their reports travel, and while they wait."""
    problem = Quadratics([1.0, 0.5, 2.0], worker_count=4, spread=1.0, noise=0.1, block_count=3)
    link = Link(latency_seconds=0.25, bytes_per_second=100.0, is_shared=True)
    traces = [
        run(
            policy,
            problem,
            worker_count=4,
            durations=Constant((1.0, 1.5, 2.0)),
            horizon=Horizon(steps=8),
            upload=link,
            changes=(Change(4.1, 1, "crash"), Change(join, 1, "join")),
        ).trace
        for policy in (Bsp(), ParameterDatabase())
    ]
    assert traces[0] == traces[1]


def test_a_report_of_an_earlier_life_is_not_that_of_the_last_step() -> None:
    """Worker 1 crashes with a report under way, is back before it arrives, and has made another step by then."""
    problem = Quadratics([1.0, 0.5], worker_count=2, spread=1.0)
    traces = [
        run(
            policy,
            problem,
            worker_count=2,
            durations=Constant((2.25, 1.0)),
            horizon=Horizon(steps=4),
            upload=Link(latency_seconds=3.0),
            changes=(Change(1.5, 1, "crash"), Change(1.75, 1, "join")),
        ).trace
        for policy in (Bsp(), ParameterDatabase())
    ]
    sent = [event for event in traces[0] if isinstance(event, Sent) and event.worker == 1]
    arrived = next(event for event in traces[0] if isinstance(event, Arrived) and event.message == sent[0].message)
    assert sent[1].time < arrived.time
    assert traces[0] == traces[1]


def largest_leads(simulation: Simulation, worker_count: int) -> list[list[int]]:
    """[i][j]: how many steps more than j worker i had finished, at most."""
    clock = [0] * worker_count
    leads = [[0] * worker_count for _ in range(worker_count)]
    for event in simulation.trace:
        if isinstance(event, Stepped):
            clock[event.worker] = event.clock
            for other in range(worker_count):
                leads[event.worker][other] = max(leads[event.worker][other], event.clock - clock[other])
    return leads


FIVE_ROWS = st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=4), min_size=5, max_size=5)
CHAIN = tuple((worker, worker + 1) for worker in range(5))
"""Five workers, of whom neighbours share one block of six that both write."""


def on_a_line(sets: tuple[Sets, Sets], problem: Problem, durations: Durations, horizon: Horizon) -> list[list[int]]:
    policy = ParameterDatabase(*sets)
    return largest_leads(run(policy, problem, worker_count=5, durations=durations, horizon=horizon), 5)


@settings(max_examples=12, deadline=None)
@given(FIVE_ROWS)
def test_on_a_line_nobody_is_further_ahead_than_away(rows: list[list[float]]) -> None:
    """Who writes a block is at most one step ahead of those who read it, and they are of it: d steps for distance d.

    Where only one writes a block, its readers on both sides must have read it before it is written again; two hops
    then cost one step, and the lead is at most ⌊d/2⌋ + 1.
    """
    durations, horizon, banded = Recorded(tuple(map(tuple, rows))), Horizon(steps=6), Banded(5)
    chain = Quadratics([1.0] * 6, worker_count=5, block_count=6)
    shared = on_a_line((CHAIN, CHAIN), chain, durations, horizon)
    single = on_a_line((banded.reads, banded.writes), banded, durations, horizon)
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]
    assert all(shared[i][j] <= abs(i - j) for i, j in pairs)
    assert all(single[i][j] <= abs(i - j) // 2 + 1 for i, j in pairs)


def test_while_one_end_of_a_line_is_stuck_everybody_gets_as_far_ahead_as_allowed() -> None:
    durations, horizon, banded = Constant((1000.0, 1.0, 1.0, 1.0, 1.0)), Horizon(seconds=900.0), Banded(5)
    chain = Quadratics([1.0] * 6, worker_count=5, block_count=6)
    assert [row[0] for row in on_a_line((CHAIN, CHAIN), chain, durations, horizon)] == [0, 1, 2, 3, 4]
    single = on_a_line((banded.reads, banded.writes), banded, durations, horizon)
    assert [row[0] for row in single] == [0, 1, 2, 2, 3]


def test_workers_that_share_nothing_wait_for_nobody() -> None:
    blocks = ((0,), (1,), (2, 3))
    policy, problem = ParameterDatabase(blocks, blocks), Sparse(blocks, blocks)
    durations = Constant((1.0, 2.0, 5.0))
    simulation = run(policy, problem, worker_count=3, durations=durations, horizon=Horizon(seconds=20.0))
    assert simulation.view.clock == [20, 10, 4]


def test_a_block_is_not_overwritten_before_all_its_readers_have_read_it() -> None:
    """Worker 1 reads block 0, and for its step t + 1 also waits for block 1, which slow worker 2 writes.

    Worker 0 alone writes block 0. Its second step is done at 2, but worker 1 reads the first only at 10, when worker 2
    has finished one: there is one copy, so worker 0 goes on at 10, and is never more than two steps ahead of worker 2.
    """
    reads, writes = ((0,), (0, 1), (1,)), ((0,), (), (1,))
    policy, problem = ParameterDatabase(reads, writes), Sparse(reads, writes)
    durations = Constant((1.0, 1.0, 10.0))
    simulation = run(policy, problem, worker_count=3, durations=durations, horizon=Horizon(seconds=40.0))
    released = [event.time for event in simulation.trace if isinstance(event, Released) and event.worker == 0]
    assert released[:4] == [1.0, 10.0, 20.0, 30.0]
    assert largest_leads(simulation, 3)[0] == [0, 1, 2]


def test_a_block_waits_for_a_reader_that_writes_nothing() -> None:
    """Worker 0's second report is there at 2; worker 1 has read the first version only when it goes on at 10."""
    reads, writes = ((0,), (0,)), ((0,), ())
    policy, problem = ParameterDatabase(reads, writes), Sparse(reads, writes)
    durations = Constant((1.0, 10.0))
    simulation = run(policy, problem, worker_count=2, durations=durations, horizon=Horizon(seconds=30.0))
    released = [event.time for event in simulation.trace if isinstance(event, Released) and event.worker == 0]
    assert released == [1.0, 10.0, 20.0, 30.0]


def test_a_report_weighs_as_in_a_round_with_those_who_went_after_that_step() -> None:
    """Worker 2 goes after one step: worker 1's first step, though it ends later, is in a round with it."""
    blocks = ((0,), (1,), (2,))
    policy, problem = ParameterDatabase(blocks, blocks), Sparse(blocks, blocks)
    simulation = run(
        policy,
        problem,
        worker_count=3,
        durations=Constant((3.0, 7.0, 4.0)),
        horizon=Horizon(seconds=14.0),
        changes=(Change(5.5, 2, "crash"),),
    )
    added = {event.time: event.weights for event in simulation.trace if isinstance(event, Applied)}
    third, half = (1 / 3,), (1 / 2,)
    assert added == {3.0: third, 4.0: third, 6.0: half, 7.0: third, 9.0: half, 12.0: half, 14.0: half}


def test_readers_of_what_nobody_writes_any_more_go_on() -> None:
    reads, writes = ((0, 1), (1,), (2,)), ((0,), (1,), (2,))
    policy, problem = ParameterDatabase(reads, writes), Sparse(reads, writes)
    simulation = run(
        policy,
        problem,
        worker_count=3,
        durations=Constant((1.0, 50.0, 1.0)),
        horizon=Horizon(seconds=8.0),
        changes=(Change(3.5, 1, "crash"),),
    )
    assert [event.time for event in simulation.trace if isinstance(event, Stepped) and event.worker == 0] == [
        1.0,
        4.5,
        5.5,
        6.5,
        7.5,
    ]


def test_additions_to_a_block_weigh_as_those_of_a_round() -> None:
    problem = Banded(4)
    policy = ParameterDatabase(problem.reads, problem.writes)
    simulation = run(policy, problem, worker_count=4, durations=Constant(), horizon=Horizon(seconds=3.0))
    assert {event.weights for event in simulation.trace if isinstance(event, Applied)} == {(0.25,)}


def test_a_banded_problem_is_minimised_without_barriers() -> None:
    """What workers do is gradient descent with η = 0.1 on eigenvalues in [1, 3]: f − min f falls by 0.81 at least."""
    problem = Banded(6, seed=2)
    policy = ParameterDatabase(problem.reads, problem.writes)
    durations = Constant((1.0, 1.5, 2.0, 1.0, 3.0, 1.0))
    simulation = run(policy, problem, worker_count=6, durations=durations, horizon=Horizon(steps=40))
    assert simulation.vectors is not None
    assert problem.quality(problem.initial) > 1
    assert problem.quality(simulation.vectors.shared) < 0.81**40 * problem.quality(problem.initial)


def test_the_mean_of_banded_gradients_is_the_gradient_of_the_mean_of_losses() -> None:
    problem = Banded(4, block_size=3, coupling=0.75, seed=5)
    model = torch.linspace(-1, 2, 12, dtype=torch.float64)
    gradients = [problem.loss_and_gradient(worker, 0, model, 1.0)[1] for worker in range(4)]

    def losses(at: Tensor) -> float:
        return sum(problem.loss_and_gradient(worker, 0, at, 1.0)[0] for worker in range(4)) / 4

    units = torch.eye(12, dtype=torch.float64)
    # Central differences of a quadratic are exact but for rounding.
    numerical = torch.stack(
        [torch.tensor((losses(model + unit) - losses(model - unit)) / 2, dtype=torch.float64) for unit in units]
    )
    assert torch.allclose(torch.stack(gradients).mean(dim=0), numerical, rtol=0, atol=1e-12)
    minimum = losses(model) - problem.quality(model)
    assert losses(model + 0.5) - problem.quality(model + 0.5) == pytest.approx(minimum, abs=1e-12)
    assert [gradient.view(4, 3).abs().sum(dim=1).nonzero().flatten().tolist() for gradient in gradients] == [
        [0],
        [1],
        [2],
        [3],
    ]


@pytest.mark.parametrize(
    ("reads", "writes", "message"),
    [
        (((0,), (0,)), ((0,), (1,)), r"worker 1 writes blocks \(1,\)"),
        (((0,),), ((0,), (1,)), "reads of 1 workers, but writes of 2"),
        (((0,), (1,)), None, "reads are"),
    ],
)
def test_access_sets_that_contradict_each_other_are_refused(reads: Sets, writes: Sets | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ParameterDatabase(reads, writes)


@pytest.mark.parametrize(
    ("blocks", "message"), [(((0,),), "blocks of 1 workers"), (((0,), (1,), (4,)), "0 to 3, got 4")]
)
def test_blocks_and_workers_that_are_not_there_are_refused(blocks: Sets, message: str) -> None:
    problem = Sparse(((0,),) * 3, ((0,),) * 3)
    with pytest.raises(ValueError, match=message):
        run(
            ParameterDatabase(blocks, blocks),
            problem,
            worker_count=3,
            durations=Constant(),
            horizon=Horizon(steps=1),
        )
