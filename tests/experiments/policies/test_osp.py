from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

import pytest

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Link
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.engine.view import Message, View
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.osp import REGULAR, Osp
from sparsync.verify.monitors.trace import Applied, Arrived, Fetched, Released, Sent, Stepped, StepStatistics

WORKERS = 4
MODEL_BYTES = 8 * 8
"""Eight blocks of one number each."""
INSTANT = Link()


def run(policy: Policy, cluster: Cluster, *, steps: float = 12, blocks: int = 8, is_on_grid: bool = True) -> Simulation:
    problem = Quadratics(
        [0.25 * (1 + place) for place in range(blocks)],
        worker_count=cluster.worker_count,
        spread=1.0,
        noise=0.1,
        block_count=blocks,
    )
    vectors = Vectors(problem, Descent(is_on_grid=is_on_grid), worker_count=cluster.worker_count)
    simulation = Simulation(policy, cluster, Horizon(steps=steps), vectors=vectors)
    simulation.run()
    return simulation


def on_shared_link(compute_seconds: float, bytes_per_second: float) -> Cluster:
    upload = Link(bytes_per_second=bytes_per_second, is_shared=True)
    return Cluster(WORKERS, Constant((compute_seconds,)), upload=upload, download=INSTANT)


UNEVEN = Cluster(4, Constant((1.0, 1.25, 1.5, 3.0)), upload=Link(latency_seconds=0.25, bytes_per_second=64.0))


def release_times(simulation: Simulation, worker: int = 0) -> list[float]:
    return [event.time for event in simulation.trace if isinstance(event, Released) and event.worker == worker]


def round_seconds(cluster: Cluster, share: float, *, blocks: int = 8) -> float:
    """Of every round but the first, which nothing precedes."""
    times = release_times(run(Osp(deferred_share=share), cluster, steps=8, blocks=blocks))
    (seconds,) = {after - before for before, after in pairwise(times)}
    return seconds


@pytest.mark.parametrize("bytes_per_second", [16.0, 64.0, 128.0, 256.0, 1024.0])
@pytest.mark.parametrize("eighths", range(8))
def test_a_round_takes_computation_and_the_important_part_or_the_link_s_time_for_all(
    bytes_per_second: float, eighths: int
) -> None:
    """T(S) = max(T_c + (M − S)n/B, Mn/B), on an upload link that all share and with free downloads."""
    compute, deferred = 2.0, MODEL_BYTES * eighths / 8
    important_seconds = (MODEL_BYTES - deferred) * WORKERS / bytes_per_second
    expected = max(compute + important_seconds, MODEL_BYTES * WORKERS / bytes_per_second)
    assert round_seconds(on_shared_link(compute, bytes_per_second), eighths / 8) == expected


@pytest.mark.parametrize("sixteenths", range(16))
def test_the_deferred_part_travels_both_ways_while_the_next_step_is_computed(sixteenths: int) -> None:
    """T(S) = max(T_c + (M − S)·2/B, S·2/B), on lines of their own in both directions: 1.0625 s at S = 15/16 M."""
    share, link = sixteenths / 16, Link(bytes_per_second=16 * 8 / 0.5)
    cluster = Cluster(4, Constant((1.0,)), upload=link, download=link)
    assert round_seconds(cluster, share, blocks=16) == max(1 + (1 - share), share)


def test_what_is_deferred_is_read_once_and_the_rest_at_the_barrier() -> None:
    link = Link(bytes_per_second=128.0)
    simulation = run(Osp(deferred_share=0.5), Cluster(4, Constant((1.0,)), upload=link, download=link), steps=10)
    read = [event for event in simulation.trace if isinstance(event, Released)]
    fetched = [event for event in simulation.trace if isinstance(event, Fetched)]
    assert {event.pulled_bytes for event in read} == {event.pulled_bytes for event in fetched} == {MODEL_BYTES // 2}
    assert simulation.pulled_bytes == (len(read) + len(fetched)) * MODEL_BYTES // 2
    assert sum(worker.pulled_bytes for worker in simulation.report().workers) == simulation.pulled_bytes


def test_the_first_round_waits_for_the_important_part_only() -> None:
    times = release_times(run(Osp(deferred_share=0.75), on_shared_link(2.0, 64.0)))
    assert times[0] == 2.0 + 16 * 4 / 64


def test_the_least_best_share_is_what_the_link_can_carry_while_a_step_is_computed() -> None:
    cluster = on_shared_link(1.25, 128.0)
    seconds = [round_seconds(cluster, eighths / 8) for eighths in range(8)]
    # B T_c / n = 40 bytes of 64.
    assert seconds.index(min(seconds)) == 5
    assert seconds[5:] == [MODEL_BYTES * WORKERS / 128.0] * 3


def test_overlap_never_more_than_halves_a_round_and_nearly_does_where_link_and_computation_are_even() -> None:
    for bytes_per_second in (64.0, 128.0, 256.0):
        cluster = on_shared_link(2.0, bytes_per_second)
        assert round_seconds(cluster, 0.0) <= 2 * min(round_seconds(cluster, eighths / 8) for eighths in range(8))
    # One block of 32 at least is waited for.
    even = on_shared_link(2.0, 8 * 32 * WORKERS / 2.0)
    assert round_seconds(even, 0.0, blocks=32) / round_seconds(even, 1.0, blocks=32) == pytest.approx(2 / (1 + 1 / 32))


def behaviour(simulation: Simulation) -> list[tuple[float, int, tuple[float, ...]]]:
    """What workers created and read, and when."""
    steps = [(event.time, event.worker, event.created.sums) for event in simulation.trace if isinstance(event, Stepped)]
    reads = [(event.time, event.worker, event.base.sums) for event in simulation.trace if isinstance(event, Released)]
    return [*steps, *reads]


@pytest.mark.parametrize("policy", [Osp(deferred_share=0.0), Osp(deferred_share=0.124)], ids=str)
def test_deferring_nothing_is_bsp_exactly(policy: Osp) -> None:
    assert behaviour(run(policy, UNEVEN)) == behaviour(run(Bsp(), UNEVEN))


class Remembering(Osp):
    """Keeps all messages."""

    def on_arrive(self, message: Message):  # type: ignore[no-untyped-def]
        self.messages = [*getattr(self, "messages", []), message]
        return super().on_arrive(message)


@pytest.mark.parametrize("share", [0.125, 0.5, 1.0])
def test_every_block_of_every_step_is_applied_once_and_at_most_one_step_late(share: float) -> None:
    policy = Remembering(deferred_share=share)
    simulation = run(policy, UNEVEN)
    sent = defaultdict[tuple[int, int], list[int]](list)
    for message in policy.messages:
        sent[message.worker, message.clock] += message.blocks or range(8)
    assert len(sent) == 4 * 12
    assert all(sorted(blocks) == list(range(8)) for blocks in sent.values())
    steps, clocks, lateness = {message.uid: message for message in policy.messages}, [0] * 4, []
    for event in simulation.trace:
        if isinstance(event, Stepped):
            clocks[event.worker] = event.clock
        elif isinstance(event, Applied):
            lateness += [clocks[steps[uid].worker] - steps.pop(uid).clock for uid in event.messages]
    assert not steps
    assert set(lateness) <= {0, 1}


@pytest.mark.parametrize("bytes_per_second", [32.0, 1024.0])
def test_deferred_blocks_are_late_exactly_where_the_link_is_slow(bytes_per_second: float) -> None:
    policy = Osp(deferred_share=0.5)
    simulation = run(policy, on_shared_link(2.0, bytes_per_second))
    corrections = [len(event.corrections) for event in simulation.trace if isinstance(event, Released)]
    # At a release its own deferred message of this round is always under way, and never an older one.
    assert set(corrections) == {1}
    arrivals = {event.message: event.time for event in simulation.trace if isinstance(event, Arrived)}
    ends = dict(enumerate(release_times(simulation)))
    deferred = [event for event in simulation.trace if isinstance(event, Sent) and event.tag == "ICS 3"]
    last = max(arrivals[event.message] for event in deferred)
    assert (last > ends[3] + 2.0) == (bytes_per_second == 32.0)
    assert last < ends[4]


def test_a_worker_goes_on_from_the_shared_model_and_its_own_deferred_change() -> None:
    """Of one worker both make up its whole step: for any share it is plain descent."""
    slow = Cluster(1, upload=Link(bytes_per_second=16.0))
    plain = [event.created.sums for event in run(Bsp(), slow).trace if isinstance(event, Stepped)]
    for share in (0.25, 0.5, 1.0):
        found = run(Osp(deferred_share=share), slow)
        assert [event.created.sums for event in found.trace if isinstance(event, Stepped)] == plain


def test_in_the_end_the_model_has_moved_by_the_mean_of_everything_created() -> None:
    simulation = run(Osp(), UNEVEN)
    created = [event.created.sums for event in simulation.trace if isinstance(event, Stepped)]
    assert simulation.vectors is not None
    begin = simulation.vectors.sketch(simulation.vectors.problem.initial).sums
    end = [event for event in simulation.trace if isinstance(event, Applied)][-1].model.sums
    assert end == tuple(
        float(Fraction(first) + sum(map(Fraction, entries)) / 4)
        for first, entries in zip(begin, zip(*created, strict=True), strict=True)
    )


def attached(policy: Osp, statistics: list[StepStatistics], sizes: tuple[int, ...] = (8, 8, 8)) -> Osp:
    """The policy after a round in which workers measured this."""
    view = View(len(statistics), block_bytes=sizes, seed=0)
    view.alive = view.waiting = set(range(len(statistics)))
    view.alive_count = view.reporting_count = len(statistics)
    view.statistics = [StepStatistics()] * len(statistics)
    list(policy.attach(view))
    for losses in (1.0, 0.0):
        view.statistics = [item._replace(loss=item.loss + losses) for item in statistics]
        for worker in view.alive:
            view.inbox[worker] = Message(worker, worker, 0, 0, None, REGULAR, 8, 1.0, 0.0)
        list(policy.on_membership(0))
    return policy


SCORED = [
    StepStatistics(loss=1.0, block_norms=(1.0, 5.0, 2.0), block_scores=(9.0, 1.0, 1.0)),
    StepStatistics(loss=0.0, block_norms=(1.0, 5.0, 2.0), block_scores=(9.0, 1.0, 3.0)),
]


@pytest.mark.parametrize(
    ("policy", "deferred"),
    [
        (Osp(deferred_share=0.4), (1,)),
        (Osp(deferred_share=0.7), (1, 2)),
        (Osp(deferred_share=1.0), (1, 2)),
        (Osp(deferred_share=0.3), ()),
        (Osp(deferred_share=0.4, importance="norm"), (0,)),
        (Osp(deferred_share=0.7, importance="norm"), (0, 2)),
    ],
    ids=str,
)
def test_the_least_important_blocks_are_deferred_up_to_the_share(policy: Osp, deferred: tuple[int, ...]) -> None:
    assert attached(policy, SCORED).deferred == deferred


def test_a_less_important_block_that_does_not_fit_is_not_passed_over() -> None:
    assert attached(Osp(deferred_share=0.5), SCORED, sizes=(8, 24, 8)).deferred == ()


@pytest.mark.parametrize(("share", "deferred"), [(0.4, ()), (0.6, (1,)), (0.9, (1,))])
def test_the_adaptive_share_grows_as_the_loss_falls(share: float, deferred: tuple[int, ...]) -> None:
    """Mean losses 1.5 and 0.5: two thirds of the share, of three blocks."""
    assert attached(Osp(deferred_share=share, adapts=True), SCORED).deferred == deferred


def test_an_adaptive_share_defers_nothing_at_first_and_something_later() -> None:
    policy = Remembering(deferred_share=0.8, adapts=True)
    run(policy, UNEVEN, steps=30)
    by_clock = {message.clock: message.blocks for message in policy.messages}
    assert by_clock[1] is by_clock[2] is None
    assert by_clock[30] is not None


@pytest.mark.parametrize("crash", [4.5, 5.125, 5.375, 8.0, 8.25])
def test_one_may_crash_at_any_stage_and_come_back(crash: float) -> None:
    changes = (Change(crash, 1, "crash"), Change(crash + 0.25, 1, "join"), Change(40.0, 0, "leave"))
    link = Link(latency_seconds=0.5, bytes_per_second=64.0)
    cluster = Cluster(2, Constant((1.0, 3.0)), upload=link, changes=changes)
    simulation = run(Osp(), cluster, steps=20, is_on_grid=False)
    assert simulation.view.clock[1] == 20
    assert not simulation.view.inbox


@pytest.mark.parametrize(
    ("parameters", "named"), [({"deferred_share": 1.5}, "1.5"), ({"importance": "size"}, "'size'")]
)
def test_parameters_out_of_range_are_refused_by_name(parameters: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Osp(**parameters)  # type: ignore[arg-type]
