"""A fresh policy that lives through a recorded run decides as the first one did; another policy does not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Alarm, Effect, Plan, Send
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.engine.replay import Divergence, Replay
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.rows import as_rows, from_rows
from sparsync.verify.monitors.trace import Arrived, Event, Rang, Released, Sent, Stepped
from tests.experiments.policies.test_policies import BROKEN, UNUSUAL, Named, random_cluster, simulation
from tests.experiments.policies.test_policies_only_look import CHANGES
from tests.support.slow_cases import slow_except

SEED = 3
COMINGS = "comings and goings"


def recorded(named: Named, cluster: Cluster, **options: Any) -> Simulation:
    if named[0] in BROKEN:
        options["make_judge"] = None
    run = simulation(named, cluster, seed=SEED, **{"horizon": Horizon(seconds=15.0), "descent": Descent(), **options})
    run.run()
    return run


def replayed(policy: Policy, run: Simulation, events: Iterable[Event]) -> int:
    return Replay(policy, run.header, events, block_bytes=run.view.block_bytes, seed=SEED).run()


@pytest.mark.parametrize("cluster", slow_except({COMINGS}, [COMINGS, *CLUSTERS]))
@pytest.mark.parametrize("named", [*((name, {}) for name in POLICIES), *UNUSUAL], ids=str)
def test_a_fresh_policy_decides_as_the_recorded_one(named: Named, cluster: str) -> None:
    made = CLUSTERS[cluster](5, 1) if cluster in CLUSTERS else replace(random_cluster(5, 3), changes=CHANGES)
    run = recorded(named, made)
    # As from a file: numbers survive JSON.
    events = from_rows(json.loads(json.dumps(as_rows(run.trace))))
    assert replayed(make_policy(*named), run, events) == len(run.trace) > 30


@pytest.mark.parametrize("name", ["bsp", "ssp", "osp", "dybw"])
def test_workers_that_have_made_their_steps_leave_in_a_replay_too(name: str) -> None:
    run = recorded((name, {}), random_cluster(4, 1), horizon=Horizon(steps=6))
    assert replayed(make_policy(name, {}), run, run.trace) == len(run.trace)


@pytest.mark.parametrize(
    ("named", "other"),
    [
        (("ssp", {"staleness": 3}), ("ssp", {"staleness": 2})),
        (("asp", {}), ("bsp", {})),
        (("bsp", {}), ("backup", {"backups": 1})),
        (("osp", {"deferred_share": 0.5}), ("osp", {"deferred_share": 0.9})),
        (("pssp", {"sample": 2}), ("pssp", {"sample": 3})),
        (("lb_bsp", {}), ("bsp", {})),
        (("ds_sync", {}), ("ds_sync", {"group_size": 2})),
        (("adsp", {}), ("asp", {})),
    ],
    ids=str,
)
def test_another_policy_is_found_out_at_its_first_other_decision(named: Named, other: Named) -> None:
    run = recorded(named, random_cluster(5, 2))
    with pytest.raises(Divergence, match=r"of the trace is .*, but the policy leads to ") as caught:
        replayed(make_policy(*other), run, run.trace)
    assert 0 < caught.value.place < len(run.trace)
    assert caught.value.recorded == run.trace[caught.value.place]


def test_other_random_numbers_are_another_policy() -> None:
    run = recorded(("pbsp", {"sample": 2}), random_cluster(6, 2))
    with pytest.raises(Divergence):
        Replay(make_policy("pbsp", {"sample": 2}), run.header, run.trace, block_bytes=(8,), seed=SEED + 1).run()


@dataclass(eq=False)
class Fussy(Asp):
    """Sends block by block with an alarm in between, and takes larger steps."""

    scale: float = 2.0
    delay: float = 0.25
    block: int = 0

    def plan(self, worker: int) -> Plan:
        return Plan(batch=1.5 + worker, step_scale=self.scale)

    def on_step(self, worker: int) -> Iterable[Effect]:
        return (Send(worker, (self.block,), "part"), Alarm(self.view.now + self.delay, worker))

    def on_alarm(self, key: Any) -> Iterable[Effect]:
        return (Send(key, (1,), "rest"),) if key in self.view.waiting else ()


def test_plans_blocks_tags_and_alarms_are_decisions() -> None:
    run = Simulation(Fussy(), random_cluster(3, 1), Horizon(seconds=20.0), message_bytes=8, seed=SEED)
    run.view.block_bytes = (8, 8)
    run.run()
    assert replayed(Fussy(), run, run.trace) == len(run.trace)
    for other in (Fussy(scale=3.0), Fussy(delay=0.5), Fussy(block=1)):
        with pytest.raises(Divergence):
            replayed(other, run, run.trace)


@pytest.mark.parametrize("kind", [Stepped, Sent, Arrived, Released, Rang])
def test_what_did_not_happen_leads_elsewhere(kind: type[Event]) -> None:
    named: Named = ("selsync", {"window": 2, "threshold": 0.2, "flag_seconds": 0.3})
    run = recorded(named, random_cluster(5, 2))
    place = [place for place, event in enumerate(run.trace) if isinstance(event, kind)][3]
    with pytest.raises(Divergence):
        replayed(make_policy(*named), run, [*run.trace[:place], *run.trace[place + 1 :]])
