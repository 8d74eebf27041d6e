"""Load-balanced BSP: after the first barrier all finish together, and a round is one large batch."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.engine.clusters import (
    PROPORTIONAL,
    TICKS_PER_SECOND,
    BatchCost,
    Change,
    Cluster,
    Constant,
    Link,
    Recorded,
)
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Problem, Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.lb_bsp import LbBsp
from sparsync.experiments.racing.contest import QUADRATIC, Race, require_fitting
from sparsync.experiments.racing.entries import label, read_contestants
from sparsync.verify.monitors.trace import Applied, Released, Started, Stepped

Planner = Literal["heap", "climb", "proportional"]
PLANNERS: tuple[Planner, ...] = ("heap", "climb", "proportional")


def run(policy: Policy, *, horizon: Horizon, problem: Problem | None = None, **cluster: Any) -> Simulation:
    descent = Descent(is_on_grid=isinstance(problem, Quadratics))
    vectors = Vectors(problem, descent, worker_count=4) if problem else None
    simulation = Simulation(policy, Cluster(4, **cluster), horizon, vectors=vectors)
    simulation.run()
    return simulation


def batches(simulation: Simulation) -> list[tuple[float, ...]]:
    """Of each round, in worker order."""
    by_worker: dict[int, list[float]] = defaultdict(list)
    for event in simulation.trace:
        if isinstance(event, Started):
            by_worker[event.worker].append(event.batch)
    return list(zip(*(by_worker[worker] for worker in sorted(by_worker)), strict=True))


@pytest.mark.parametrize("planner", PLANNERS)
def test_equal_workers_are_left_alone(planner: Planner) -> None:
    """Then every number and time is that of BSP."""
    problem = Quadratics([1.0, 0.5], worker_count=4, spread=1.0, noise=0.1)
    link = Link(latency_seconds=0.25)
    kinds = (Stepped, Released, Applied)
    traces = [
        [
            event
            for event in run(
                policy, horizon=Horizon(steps=10), problem=problem, durations=Constant((1.5,)), upload=link
            ).trace
            if isinstance(event, kinds)
        ]
        for policy in (Bsp(), LbBsp(planner))
    ]
    assert traces[0] == traces[1]


@pytest.mark.parametrize(
    ("planner", "round_seconds"), [("proportional", 16 / 9), ("heap", 58 / 32), ("climb", 58 / 32)]
)
def test_after_one_slow_round_everybody_finishes_together(planner: Planner, round_seconds: float) -> None:
    """Paces 1, 2, 4 and 2: four batches last 4/Σv = 16/9.

    In T/32 seconds ⌊T⌋ + 2⌊T/2⌋ + ⌊T/4⌋ whole examples are done: 127 for T = 57, all 128 for T = 58.
    """
    simulation = run(LbBsp(planner), horizon=Horizon(versions=5), durations=Constant((1.0, 2.0, 4.0, 2.0)))
    ends = [event.time for event in simulation.trace if isinstance(event, Applied)]
    # Each end is rounded to the clock's next tick.
    within = 5 / TICKS_PER_SECOND
    assert ends == pytest.approx([4 + number * round_seconds for number in range(5)], rel=0, abs=within)


@pytest.mark.parametrize("planner", PLANNERS)
def test_batches_sum_to_the_number_of_workers_alive(planner: Planner) -> None:
    durations = Recorded(((1.0, 2.0, 0.5), (3.0, 1.0), (0.7,), (2.0, 2.2, 5.0, 1.0)))
    rounds = batches(run(LbBsp(planner, smoothing=0.5), horizon=Horizon(steps=9), durations=durations))
    assert rounds[0] == (1.0, 1.0, 1.0, 1.0)
    assert len(set(rounds)) > 5
    assert [sum(row) for row in rounds] == pytest.approx([4.0] * 9, rel=1e-12)


def test_a_smoothed_pace_lies_between_the_last_and_those_before() -> None:
    """Worker 0 takes 1, then 3 seconds per batch: predicted 1 + s·2; the others' 1 each."""
    durations = Recorded(((1.0, 3.0), (1.0,), (1.0,), (1.0,)))
    for smoothing, pace in ((1.0, 3.0), (0.25, 1.5)):
        simulation = run(LbBsp("proportional", smoothing), horizon=Horizon(versions=3, steps=3), durations=durations)
        expected = 4 * (1 / pace) / (3 + 1 / pace)
        assert batches(simulation)[2][0] == pytest.approx(expected, rel=1e-12)


class Examples:
    """Least squares on 500 examples of 3 numbers; remembers which ones each step drew."""

    def __init__(self) -> None:
        stream = torch.Generator().manual_seed(3)
        self.inputs = torch.randn(500, 3, dtype=torch.float64, generator=stream)
        self.targets = torch.randn(500, dtype=torch.float64, generator=stream)
        self.initial = torch.ones(3, dtype=torch.float64)
        self.block_sizes: tuple[int, ...] = (3,)
        self.drawn: dict[tuple[int, int], Tensor] = {}

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        stream = torch.Generator().manual_seed(1000 * worker + step)
        self.drawn[worker, step] = torch.randint(500, (round(32 * batch),), generator=stream)
        return self.on(self.drawn[worker, step], model)

    def on(self, examples: Tensor, model: Tensor) -> tuple[float, Tensor]:
        inputs, errors = self.inputs[examples], self.inputs[examples] @ model - self.targets[examples]
        return float(errors @ errors) / (2 * len(examples)), inputs.T @ errors / len(examples)

    def quality(self, model: Tensor) -> float:
        return self.on(torch.arange(500), model)[0]


@pytest.mark.parametrize("planner", ["heap", "climb"])
def test_a_round_is_a_step_on_all_its_examples_together(planner: Planner) -> None:
    problem, durations = Examples(), Constant((1.0, 2.0, 4.0, 3.0))
    simulation = run(LbBsp(planner), horizon=Horizon(steps=6), problem=problem, durations=durations)
    model = problem.initial.clone()
    for step in range(6):
        examples = torch.cat([problem.drawn[worker, step] for worker in range(4)])
        assert len(examples) == 4 * 32
        model -= 0.1 * problem.on(examples, model)[1]
    assert len({len(problem.drawn[worker, 5]) for worker in range(4)}) == 4
    assert simulation.vectors is not None
    # Two orders of summing 128 products of numbers below 10, six times, in steps of 0.1 that do not enlarge errors.
    assert (simulation.vectors.shared - model).abs().max() < 6 * 0.1 * 2 * 128 * 100 * 2.0**-53


def test_one_that_joins_takes_a_usual_batch_and_a_crash_shrinks_the_total() -> None:
    simulation = run(
        LbBsp("proportional"),
        horizon=Horizon(seconds=12.0),
        durations=Constant((1.0, 2.0, 4.0, 1.0)),
        absent=frozenset({3}),
        changes=(Change(4.5, 3, "join"), Change(9.0, 2, "crash")),
    )
    started = [event for event in simulation.trace if isinstance(event, Started)]
    assert next(event.batch for event in started if event.worker == 3) == 1.0
    assert sum(event.batch for event in started[-3:]) == pytest.approx(3.0, rel=1e-12)


def test_a_report_of_an_earlier_life_tells_no_pace() -> None:
    """Worker 0 takes 1 second per batch, the others 3, and reports travel for 4 seconds.

    It crashes after a double batch, and has finished a usual one when the report on the double one arrives.
    """
    simulation = run(
        LbBsp("proportional", smoothing=0.5),
        horizon=Horizon(seconds=15.0),
        durations=Constant((1.0, 3.0, 3.0, 3.0)),
        upload=Link(latency_seconds=4.0),
        changes=(Change(9.25, 0, "crash"), Change(9.5, 0, "join")),
    )
    started = [event for event in simulation.trace if isinstance(event, Started) and event.worker == 0]
    assert [event.time for event in started] == [0.0, 7.0, 9.5, 14.5]
    assert [event.batch for event in started] == pytest.approx([1.0, 2.0, 1.0, 2.0], rel=1e-12)


fast_and_slow = st.lists(st.integers(2, 12).map(lambda quarters: quarters / 4), min_size=4, max_size=4)
eighths = st.integers(0, 6).map(lambda count: count / 8)
limits = st.lists(st.integers(8, 128), min_size=4, max_size=4).filter(lambda caps: sum(caps) >= 4 * 32)


@settings(max_examples=60, deadline=None)
@given(seconds=fast_and_slow, shares=st.lists(eighths, min_size=4, max_size=4), caps=limits)
def test_affine_steps_end_within_an_example_of_each_other_wherever_caps_allow(
    seconds: list[float], shares: list[float], caps: list[int]
) -> None:
    """With one more example, nobody below its cap would be earlier than the last of those who have two or more.

    A worker that has had two batches is known by its line; of another one a pace is, by which an example costs more.
    """
    costs = tuple(map(BatchCost, shares))
    policy = LbBsp(times="learnt", caps=tuple(caps))
    simulation = run(policy, horizon=Horizon(steps=12), durations=Constant(tuple(seconds)), batch_costs=costs)
    rounds = [[round(32 * batch) for batch in row] for row in batches(simulation)]
    assert all(sum(row) == 4 * 32 for row in rounds)
    assert all(0 < given <= cap for row in rounds for given, cap in zip(row, caps, strict=True))
    last = rounds[-1]
    ends = [simulation.cluster.step_seconds(worker, 0, last[worker] / 32) for worker in range(4)]
    latest = max(end for end, given in zip(ends, last, strict=True) if given > 1)
    for worker in range(4):
        is_line = len({row[worker] for row in rounds[:-1]}) > 1
        example = seconds[worker] * (1 - shares[worker]) / 32 if is_line else ends[worker] / last[worker]
        # A line through two batches that lie one example apart is off by a clock's tick for each of 128 examples.
        assert last[worker] == caps[worker] or ends[worker] + example >= latest - 128 / TICKS_PER_SECOND


@pytest.mark.parametrize(("times", "round_count"), [("learnt", 2), ("proportional", 5)])
def test_two_batches_tell_the_lines_that_paces_come_to_step_by_step(
    times: Literal["proportional", "learnt"], round_count: int
) -> None:
    """Half of a step is fixed: d(1/2 + b/64) is 225/128 for 43 examples with d = 3/2, and for 18 with d = 9/4."""
    costs = (BatchCost(fixed_share=0.5),)
    durations = Constant((1.5, 2.25, 1.5, 2.0))
    simulation = run(LbBsp(times=times), horizon=Horizon(steps=30), durations=durations, batch_costs=costs)
    rounds = [[round(32 * batch) for batch in row] for row in batches(simulation)]
    assert rounds[-1] == [43, 18, 43, 24]
    assert rounds.index(rounds[-1]) == round_count


def test_steps_that_are_flat_and_then_straight_are_learnt() -> None:
    """Worker 1 takes 21/16 s for 24 examples or fewer, as the others do for 42."""
    costs = (PROPORTIONAL, BatchCost(0.5, flat_until=0.75), PROPORTIONAL, PROPORTIONAL)
    durations = Constant((1.0, 1.5, 1.0, 1.0))
    simulation = run(LbBsp(times="learnt"), horizon=Horizon(steps=9), durations=durations, batch_costs=costs)
    assert batches(simulation)[-1] == (42 / 32, 4 / 32, 41 / 32, 41 / 32)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_worker_that_slows_down_for_a_while_keeps_its_line(share: float) -> None:
    """Three times as slow in steps 5 to 9: with one more step on a new batch all are as early as they can be."""
    row = (1.0,) * 5 + (3.0,) * 5 + (1.0,) * 5
    costs = (BatchCost(fixed_share=share),)
    durations = Recorded((row, (1.0,), (1.5,), (2.0,)))
    simulation = run(LbBsp(times="learnt"), horizon=Horizon(steps=15), durations=durations, batch_costs=costs)
    rounds = [[round(32 * batch) for batch in row] for row in batches(simulation)]
    assert rounds[4] == rounds[14] != rounds[9]
    for step, seconds in ((9, 3.0), (14, 1.0)):
        ends = [simulation.cluster.step_seconds(worker, step, given / 32) for worker, given in enumerate(rounds[step])]
        examples = [(1 - share) * own / 32 for own in (seconds, 1.0, 1.5, 2.0)]
        assert min(end + more for end, more in zip(ends, examples, strict=True)) >= max(ends) - 128 / TICKS_PER_SECOND


@pytest.mark.parametrize("planner", PLANNERS)
def test_nobody_has_more_than_it_holds_and_the_rest_is_shared(planner: Planner) -> None:
    """The fastest would take 64 of 128 examples, and holds 40; of the 88 others 44, 22 and 22 take equally long."""
    policy = LbBsp(planner, caps=(40, 128, 128, 24))
    rounds = batches(run(policy, horizon=Horizon(steps=5), durations=Constant((1.0, 2.0, 4.0, 4.0))))
    assert rounds[0] == (35 / 32, 35 / 32, 34 / 32, 24 / 32)
    assert rounds[-1] == pytest.approx((40 / 32, 44 / 32, 22 / 32, 22 / 32), rel=1e-12)
    assert [sum(row) for row in rounds] == pytest.approx([4.0] * 5, rel=1e-12)


def test_weights_are_those_of_the_batches_under_caps_too() -> None:
    problem, durations = Examples(), Constant((1.0, 2.0, 4.0, 3.0))
    policy = LbBsp(times="learnt", caps=(30, 40, 128, 40))
    simulation = run(policy, horizon=Horizon(steps=6), problem=problem, durations=durations)
    applied = [event for event in simulation.trace if isinstance(event, Applied)]
    assert [list(event.weights) for event in applied] == [[batch / 4 for batch in row] for row in batches(simulation)]
    assert all(len(problem.drawn[worker, 5]) <= cap for worker, cap in enumerate((30, 40, 128, 40)))


def test_those_who_stay_take_what_they_can_hold_and_one_that_joins_no_more_than_that() -> None:
    """Worker 0, who alone held more than a usual batch, is gone at 2.5 and back at 6.5; worker 3 is back at 9.5."""
    changes = (Change(2.5, 0, "crash"), Change(6.5, 0, "join"), Change(9.25, 3, "crash"), Change(9.5, 3, "join"))
    policy = LbBsp(caps=(128, 24, 32, 16))
    simulation = run(policy, horizon=Horizon(seconds=12.0), durations=Constant((1.0,)), changes=changes)
    started = [event for event in simulation.trace if isinstance(event, Started)]
    assert all(32 * event.batch <= (128, 24, 32, 16)[event.worker] for event in started)
    alone = [event.batch for event in started if 4 < event.time < 6.5]
    assert sorted(alone[-3:]) == [16 / 32, 24 / 32, 32 / 32]
    assert next(event.batch for event in started if event.worker == 0 and event.time > 6) == 1.0
    assert next(event.batch for event in started if event.worker == 3 and event.time > 9.25) == 16 / 32


def test_caps_are_read_from_a_command_line_and_written_as_they_are_read() -> None:
    assert read_contestants(["lb_bsp:caps=48/16/64"], []) == [("lb_bsp", {"caps": (48, 16, 64)})]
    assert read_contestants(["lb_bsp"], ["--caps", "48"]) == [("lb_bsp", {"caps": (48,)})]
    assert label("lb_bsp", {"caps": (48, 16, 64)}) == "lb_bsp:caps=48/16/64"
    with pytest.raises(ValueError, match=r"lb_bsp: caps must be examples that workers can hold, .*, got '48/x'"):
        read_contestants(["lb_bsp:caps=48/x"], [])


@pytest.mark.parametrize(
    ("caps", "message"),
    [
        ((31,), r"caps \(31,\) let 4 workers hold 124 of 128 examples"),
        ((40, 40, 40, 7), r"caps \(40, 40, 40, 7\) let 4 workers hold 127 of 128 examples"),
        ((99, 99), r"caps must be one, or 4 for as many workers, got \(99, 99\)"),
    ],
)
def test_caps_that_hold_no_round_are_refused_before_it_begins(caps: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(LbBsp(caps=caps), horizon=Horizon(steps=1))
    with pytest.raises(ValueError, match=message):
        require_fitting(Race(data=QUADRATIC, workers=4), "lb_bsp", {"caps": caps})


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="'guessed'"):
        LbBsp(times="guessed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="planner 'proportional' needs times 'proportional', got 'learnt'"):
        LbBsp("proportional", times="learnt")
    with pytest.raises(ValueError, match=r"got \(\)"):
        LbBsp(caps=())
    with pytest.raises(ValueError, match="caps must be at least 1, got 0"):
        LbBsp(caps=(8, 0))
    with pytest.raises(ValueError, match="'magic'"):
        LbBsp("magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="got 0"):
        LbBsp(smoothing=0)
    with pytest.raises(ValueError, match="got 0"):
        LbBsp(example_count=0)
