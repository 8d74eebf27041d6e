"""A worker is killed or stopped: who can go on accounts for it, who cannot ends in time and says why."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from sparsync.experiments.engine.real.server import Server, WorkerLostError
from sparsync.experiments.engine.replay import Replay
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.crew import Crew, Deed
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.judge import judge_trace
from sparsync.verify.monitors.trace import Departed, Joined, Lost
from tests.experiments.policies.test_policies import BROKEN
from tests.support.launch.real_runs import (
    PATIENCE_SECONDS,
    EndsWhenAllGoOn,
    real_parameters,
    real_server,
    require_within,
    usual_conditions,
    usual_race,
)
from tests.support.slow_cases import slow_except

SURVIVING = [name for name, policy in POLICIES.items() if policy.tolerates_loss and name not in BROKEN]
STRICT = [name for name, policy in POLICIES.items() if not policy.tolerates_loss and name not in BROKEN]
RACE = usual_race(seconds=PATIENCE_SECONDS, selector="top_k", density=0.25)
QUICK = usual_conditions(lost_after=2.5)
"""Who is stopped is given up soon, and nobody else where two processors have twenty processes to run."""


def require_sound(server: Server, name: str) -> None:
    """Every promise was kept, in the run and in its trace alone, and the policy decides the same again."""
    server.finish()
    judge_trace(server.header, server.guarantee, server.trace, server.view.now)
    replay = Replay(
        make_policy(name, real_parameters(name)),
        server.header,
        server.trace,
        block_bytes=server.shared.layout.block_bytes,
        seed=0,
    )
    assert replay.run() == len(server.trace)


def departures(server: Server) -> list[Departed]:
    return [event for event in server.trace if isinstance(event, Departed)]


def run_disturbed(server: Server, crew: Crew, plan: Sequence[Deed]) -> None:
    """Until whoever is disturbed is known to be gone, and perhaps back, and all who are left have gone on."""
    watcher = EndsWhenAllGoOn(server, changes=len(plan))
    crew.disturb(plan)
    server.run(watcher)
    assert watcher.has_happened, f"{plan}: gone are {watcher.gone}, back are {watcher.back}"
    assert sorted(watcher.gone) == sorted(deed.worker for deed in plan if deed.what)
    assert sorted(watcher.back) == sorted(deed.worker for deed in plan if not deed.what)


def test_the_policies_that_go_on_are_those_that_say_so() -> None:
    assert {"asp", "backup", "pbsp", "pssp", "aw_psp", "dedloc", "elastic_bsp", "adsp"} == set(SURVIVING)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@pytest.mark.parametrize("name", slow_except({"asp"}, SURVIVING))
def test_one_is_lost_and_the_others_go_on(name: str, how: signal.Signals) -> None:
    with real_server(make_policy(name, real_parameters(name)), RACE, QUICK) as (server, crew):
        run_disturbed(server, crew, [Deed(0.5, 1, how)])
    require_sound(server, name)
    (gone,) = departures(server)
    assert gone.reason == "crashed"
    assert any(gone.abandoned.sums)


@pytest.mark.parametrize("name", slow_except({"bsp", "dybw"}, STRICT))
def test_who_cannot_go_on_ends_in_time_and_names_the_lost(name: str) -> None:
    policy = make_policy(name, real_parameters(name))
    with real_server(policy, usual_race(seconds=30.0), usual_conditions(lost_after=1.0)) as (server, crew):
        began = time.monotonic()
        crew.disturb([Deed(0.3, 2, signal.SIGSTOP)])
        with pytest.raises(WorkerLostError, match=rf"worker 2 .*; {type(policy).__name__} does not go on without it"):
            server.run()
        # Told apart from the 30 s of the run, also where other processes are at work.
        require_within(began, 0.3 + 1.0 + 10.0)


@pytest.mark.parametrize("name", slow_except({"asp"}, ["asp", "backup", "aw_psp"]))
def test_one_that_was_lost_comes_back_and_goes_on_from_the_shared_model(name: str) -> None:
    with real_server(make_policy(name, real_parameters(name)), RACE) as (server, crew):
        run_disturbed(server, crew, [Deed(0.5, 1, signal.SIGKILL), Deed(0.7, 1, None)])
    require_sound(server, name)
    (back,) = (event for event in server.trace if isinstance(event, Joined) and event.time > 0)
    assert back.pulled_bytes == sum(server.view.block_bytes)


def schedule(seed: int) -> list[Deed]:
    """What happens when, and to whom; one worker at least is never touched."""
    numbers = random.Random(f"real schedule {seed}")
    deeds, gone = [], set[int]()
    for _ in range(numbers.randint(1, 4)):
        at, worker = numbers.uniform(0.1, 1.5), numbers.choice([1, 2, 3])
        if worker not in gone:
            deeds.append(Deed(at, worker, numbers.choice([signal.SIGKILL, signal.SIGSTOP])))
            gone.add(worker)
            if numbers.random() < 0.5:
                deeds.append(Deed(at + numbers.uniform(0.0, 1.0), worker, None))
    return deeds


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 30))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", slow_except({"pssp"}, SURVIVING))
def test_whatever_is_killed_stopped_and_begun_again_no_mass_is_unaccounted_for(name: str, seed: int) -> None:
    race = replace(RACE, cluster="exponential", seed=seed)
    with real_server(make_policy(name, real_parameters(name)), race, QUICK) as (server, crew):
        run_disturbed(server, crew, schedule(seed))
    server.finish()
    lost = [event for event in server.trace if isinstance(event, Lost)]
    assert sum(worker.lost for worker in server.report().workers) == len(lost)
    judge_trace(server.header, server.guarantee, server.trace, server.view.now)
