"""All workers are sent the model at once: the same bits and decisions as one by one, and a lost worker is named."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.engine.real.broadcasts import Broadcaster, BroadcastGroup, Collective, Downlink
from sparsync.experiments.engine.real.letters import Read
from sparsync.experiments.engine.real.orders import OrderingEngine
from sparsync.experiments.engine.real.roads import Announcements
from sparsync.experiments.engine.real.server import Server, WorkerLostError
from sparsync.experiments.engine.real.wire import LostPeerError
from sparsync.experiments.engine.replay import Replay
from sparsync.experiments.racing.crew import Crew
from sparsync.experiments.racing.entries import make_policy
from sparsync.experiments.racing.real import Conditions, require_downlink
from sparsync.verify.monitors.trace import Applied, Event, Released, Sent, Stepped
from tests.support.fitting import usual_for
from tests.support.launch.broadcasting import ends, require_bodies
from tests.support.launch.real_runs import real_server, require_within, usual_conditions, usual_race
from tests.support.slow_cases import slow_except

COLLECTIVES: list[Collective] = ["broadcast", "scatter_allgather"]
STEPS = 8
PATIENCE_SECONDS = 60.0


def ran(downlink: Downlink, policy: str = "bsp", **options: Any) -> Server:
    race = usual_race(grid=True, seconds=PATIENCE_SECONDS, selector="top_k", density=0.25)
    with real_server(
        make_policy(policy, options),
        race,
        usual_conditions(downlink=downlink, lost_after=PATIENCE_SECONDS),
        steps=STEPS,
    ) as (
        server,
        _,
    ):
        server.run()
        server.finish()
    return server


def decisions(trace: Sequence[Event]) -> list[Any]:
    """All that a policy has decided, and what it decided on: by worker, as messages of a round come in any order."""
    names = {event.message: (event.worker, event.mass) for event in trace if isinstance(event, Sent)}
    applied = [
        (event.version, event.model, sorted((names[uid][0], weight) for uid, weight in zip(*event[1:3], strict=True)))
        for event in trace
        if isinstance(event, Applied)
    ]
    by_worker = [
        [event[2:] for event in trace if isinstance(event, Released | Stepped) and event.worker == worker]
        for worker in range(4)
    ]
    return [applied, by_worker]


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_the_bits_and_decisions_are_those_of_one_by_one(collective: Collective) -> None:
    alone, together = ran("unicast"), ran(collective)
    assert alone.view.version == together.view.version == STEPS
    assert torch.equal(alone.shared.model, together.shared.model)
    assert decisions(alone.trace) == decisions(together.trace)
    assert (alone.sent_bytes, alone.pulled_bytes) == (together.sent_bytes, together.pulled_bytes)
    # Who has taken its last step reads no more.
    assert (alone.broadcast_count, together.broadcast_count) == (0, STEPS - 1)
    layout = together.shared.layout
    replay = Replay(make_policy("bsp", {}), together.header, together.trace, block_bytes=layout.block_bytes, seed=0)
    assert replay.run() == len(together.trace)


def test_where_workers_keep_their_own_models_nothing_is_sent_to_all() -> None:
    alone, together = ran("unicast", "local_sgd", period=4), ran("broadcast", "local_sgd", period=4)
    assert torch.equal(alone.shared.model, together.shared.model)
    assert decisions(alone.trace) == decisions(together.trace)
    # Of eight steps the fourth ends a period at whose end all go on.
    assert together.broadcast_count == 1


@pytest.mark.parametrize(
    ("workers", "versions", "blocks", "is_broadcast"),
    [
        pytest.param([0, 1, 2, 3], [5, 5, 5, 5], None, True, id="all go on from one model"),
        pytest.param([0, 1, 3], [5, 5, 5, 5], None, False, id="one does not go on"),
        pytest.param([0, 1, 2, 3], [5, 5, 4, 5], None, False, id="one reads an earlier model"),
        pytest.param([0, 1, 2, 3], [5, 5, 5, 5], (0, 2), False, id="blocks are read"),
    ],
)
def test_what_all_read_is_sent_at_once_and_nothing_else(
    workers: list[int], versions: list[int], blocks: tuple[int, ...] | None, is_broadcast: bool
) -> None:
    """Of a real barrier only the first case comes: a broadcast that one does not take part in would never end."""
    given: list[Tensor] = []
    ordered: dict[int, Read] = {}
    body = torch.zeros(3, dtype=torch.uint8)
    engine: Any = SimpleNamespace(
        _reads=[(worker, Read(blocks, (), (), False), body) for worker in workers],
        _broadcaster=SimpleNamespace(give=given.append),
        view=SimpleNamespace(read_version=versions, clock=[7] * 4),
        _lines={
            worker: SimpleNamespace(order=lambda letter, _, to=worker: ordered.update({to: letter}))
            for worker in range(4)
        },
    )
    OrderingEngine._send_reads(engine)
    assert len(given) == is_broadcast
    assert sorted(ordered) == workers
    assert {letter.is_broadcast for letter in ordered.values()} == {is_broadcast}
    assert engine._reads == []


@pytest.mark.parametrize("name", slow_except({"lb_bsp"}, ["lb_bsp", "selsync", "parameter_database"]))
def test_every_policy_with_a_barrier_keeps_its_promises(name: str) -> None:
    policy, race = make_policy(name, usual_for(name, 4)), usual_race(seconds=PATIENCE_SECONDS)
    require_downlink("broadcast", race, policy)
    conditions = usual_conditions(downlink="broadcast", lost_after=PATIENCE_SECONDS)
    with real_server(policy, race, conditions, steps=STEPS) as (server, _):
        server.run()
        server.finish()
    assert server.view.clock == [STEPS] * 4
    layout, fresh = server.shared.layout, make_policy(name, usual_for(name, 4))
    replay = Replay(fresh, server.header, server.trace, block_bytes=layout.block_bytes, seed=race.seed)
    assert replay.run() == len(server.trace)


class Losing:
    """Worker 2 is lost when some models have been broadcast."""

    def __init__(self, server: Server, crew: Crew, how: signal.Signals) -> None:
        self.server, self.crew, self.how = server, crew, how
        self.at = 0.0

    def look(self) -> None:
        if not self.at and self.server.broadcast_count > 2:
            self.crew.signal(2, self.how)
            self.at = time.monotonic()

    def keep(self) -> None:
        return


@pytest.mark.parametrize(
    ("collective", "how"),
    [
        pytest.param("broadcast", signal.SIGKILL, id="broadcast, killed", marks=pytest.mark.slow),
        pytest.param("broadcast", signal.SIGSTOP, id="broadcast, stopped"),
        pytest.param("scatter_allgather", signal.SIGKILL, id="scatter_allgather, killed"),
        pytest.param("scatter_allgather", signal.SIGSTOP, id="scatter_allgather, stopped", marks=pytest.mark.slow),
    ],
)
def test_a_lost_worker_ends_the_run_in_time_and_is_named(collective: Collective, how: signal.Signals) -> None:
    conditions = usual_conditions(lost_after=4.0, downlink=collective, unit_seconds=0.001)
    with real_server(make_policy("bsp", {}), usual_race(seconds=PATIENCE_SECONDS), conditions) as (server, crew):
        losing = Losing(server, crew, how)
        with pytest.raises(WorkerLostError, match=r"^worker 2 .*; Bsp does not go on without it"):
            server.run(losing)
        # Told apart from the 60 s of the run, also where other processes are at work.
        require_within(losing.at, 4.0 + 10.0)


def test_a_broadcast_that_breaks_without_a_lost_worker_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    carry = BroadcastGroup.carry
    counts = itertools.count()

    def broken(group: BroadcastGroup, body: Tensor) -> None:
        if next(counts) == 2:
            raise LostPeerError("a broadcast broke: a cable was cut")
        carry(group, body)

    monkeypatch.setattr(BroadcastGroup, "carry", broken)
    conditions = usual_conditions(downlink="broadcast", lost_after=PATIENCE_SECONDS)
    race = usual_race(seconds=2 * PATIENCE_SECONDS)
    with real_server(make_policy("bsp", {}), race, conditions) as (server, _):
        began = time.monotonic()
        with pytest.raises(WorkerLostError, match="a cable was cut; which worker was lost is not known"):
            server.run()
        # Told apart from the 120 s of the run.
        require_within(began, PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("asp", {}, "Asp goes on without a lost worker, broadcast does not"),
        ("ssp", {}, "Ssp has no barrier at which all workers go on from one model"),
        ("dybw", {}, "DynamicBackupWorkers has no barrier"),
        ("bsp", {"download": "sparse"}, "broadcast sends all workers the same, a sparse download each what it lacks"),
    ],
)
def test_where_it_makes_no_sense_it_is_refused(policy: str, options: dict[str, Any], message: str) -> None:
    race = usual_race(**options)
    require_downlink("unicast", race, make_policy(policy, {}))
    with pytest.raises(ValueError, match=message):
        require_downlink("broadcast", race, make_policy(policy, {}))
    with pytest.raises(ValueError, match="downlink must be one of unicast, broadcast, scatter_allgather, got 'tree'"):
        Conditions(downlink="tree")  # type: ignore[arg-type]


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_all_get_the_server_s_body_whatever_its_size(count: int, collective: Collective) -> None:
    require_bodies(ends(collective, [torch.device("cpu")] * count))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_a_body_that_the_back_end_does_not_take_is_copied_there_and_back(collective: Collective) -> None:
    groups = ends(collective, [torch.device("cpu")] * 3)
    for group in groups:
        group._stage = torch.clone
    require_bodies(groups)


def test_who_does_not_come_is_an_error_of_the_broadcaster_and_not_a_wait_for_ever() -> None:
    announcements = Announcements(dist.HashStore())  # type: ignore[attr-defined]

    def meet() -> BroadcastGroup:
        host = torch.device("cpu")
        return announcements.broadcasts("broadcast", rank=0, worker_count=2, timeout_seconds=0.2, device=host)

    broadcaster = Broadcaster(meet)
    assert broadcaster.broken is None
    deadline = time.monotonic() + 30.0
    while broadcaster.broken is None and time.monotonic() < deadline:
        time.sleep(0.05)
    broken = broadcaster.broken
    assert broken is not None
    assert broken[1].startswith("not all have met for broadcasts: ")
