"""What holds for every synchronisation model: which ones coincide, and that no run breaks a promise or loses mass."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from sparsync.experiments.engine.clusters import Change, Cluster, Drawn, Link, Recorded, exponential
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.policies.ssp import Ssp
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.monitors.trace import Lost, Released, Stepped, trace_hash
from tests.support.fitting import usual_for
from tests.support.simulated_runs import LosesMessages, times
from tests.support.slow_cases import slow_except

INFINITY = math.inf
ARITHMETIC = ("ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "OMP_NUM_THREADS")
"""Variables of the environment by which sums are added."""
CURVATURES = (1.0, 0.5, 2.0, 0.25, 1.5, 0.75)
Named = tuple[str, dict[str, Any]]
# Everything that must be the barrier, and everything that must be no barrier at all.
BARRIERS: list[Named] = [
    ("ssp", {"staleness": 0}),
    ("osp", {"deferred_share": 0.0}),
    ("backup", {"backups": 0}),
    ("local_sgd", {"period": 1}),
    ("selsync", {"threshold": 0.0}),
    ("elastic_bsp", {"lookahead": 1, "monitoring": 0}),
]
NO_BARRIERS: list[Named] = [
    ("ssp", {"staleness": INFINITY}),
    ("pssp", {"sample": 0}),
    ("sync_switch", {"bsp_fraction": 0.0}),
]
# Promises that are broken, as found in the literature: the monitors must say so.
BROKEN = {"dssp_printed"}


def simulation(
    named: Named,
    cluster: Cluster,
    *,
    horizon: Horizon,
    descent: Descent | None = None,
    noise: float = 0.1,
    kind: type[Simulation] = Simulation,
    **options: Any,
) -> Simulation:
    problem = Quadratics(CURVATURES, worker_count=cluster.worker_count, spread=1.0, noise=noise, block_count=3, seed=5)
    vectors = Vectors(problem, descent or Descent(is_on_grid=True), worker_count=cluster.worker_count)
    return kind(make_policy(*named), cluster, horizon, vectors=vectors, **options)


def behaviour(run: Simulation) -> list[tuple[Any, ...]]:
    """What workers did and read, and when; of simultaneous events in worker order."""
    steps = [(e.time, e.worker, "step", e.clock, e.created.sums) for e in run.trace if isinstance(e, Stepped)]
    reads = [(e.time, e.worker, "read", 0, e.base.sums) for e in run.trace if isinstance(e, Released)]
    return sorted(steps + reads)


def random_cluster(worker_count: int, seed: int) -> Cluster:
    link = Link(latency_seconds=0.05, bytes_per_second=2e3)
    factors = tuple(1.0 + worker / 2 for worker in range(worker_count))
    return Cluster(worker_count, Drawn(exponential(), factors=factors, seed=seed), upload=link, download=link)


def run_to(named: Named, cluster: Cluster, steps: int, **options: Any) -> Simulation:
    run = simulation(named, cluster, horizon=Horizon(steps=steps), **options)
    run.run()
    return run


@cache
def behaviour_of_barriers(worker_count: int, seed: int) -> list[tuple[Any, ...]]:
    return behaviour(run_to(("bsp", {}), random_cluster(worker_count, seed), 25))


@cache
def behaviour_without_barriers(worker_count: int, seed: int) -> list[tuple[Any, ...]]:
    return behaviour(run_to(("asp", {}), random_cluster(worker_count, seed), 25))


@pytest.mark.parametrize("seed", slow_except({0}, (0, 1, 2)))
@pytest.mark.parametrize("worker_count", [4, 8])
@pytest.mark.parametrize("named", BARRIERS, ids=str)
def test_barriers_coincide_exactly(named: Named, worker_count: int, seed: int) -> None:
    run = run_to(named, random_cluster(worker_count, seed), 25)
    assert behaviour(run) == behaviour_of_barriers(worker_count, seed)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("named", NO_BARRIERS, ids=str)
def test_what_never_waits_coincides_exactly(named: Named, seed: int) -> None:
    assert behaviour(run_to(named, random_cluster(8, seed), 25)) == behaviour_without_barriers(8, seed)


@pytest.mark.parametrize("staleness", [0, 1, 3])
@pytest.mark.parametrize("name", ["pssp", "dssp"])
def test_a_full_sample_and_an_empty_range_are_ssp_exactly(name: str, staleness: int) -> None:
    same: dict[str, Any] = {
        "pssp": {"sample": 7, "staleness": staleness},
        "dssp": {"lower": staleness, "upper": staleness},
    }[name]
    cluster = random_cluster(8, 3)
    ssp = run_to(("ssp", {"staleness": staleness}), cluster, 25)
    assert behaviour(run_to((name, same), cluster, 25)) == behaviour(ssp)


@cache
def dense_run(name: str) -> Simulation:
    options = {"make_judge": None} if name in BROKEN else {}
    return run_to((name, {}), random_cluster(4, 1), 12, descent=Descent(), **options)


@pytest.mark.parametrize("selector", slow_except({"top_k"}, ("keep_all", "top_k", "gaussian_k")))
@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if not policy.is_decentralised])
def test_density_one_is_dense_exactly(name: str, selector: str) -> None:
    cluster, options = random_cluster(4, 1), {"make_judge": None} if name in BROKEN else {}
    # What is not sparse travels without indices, so that messages are of one size and travel equally long.
    full = run_to((name, {}), cluster, 12, descent=Descent(selector=selector, density=1.0), **options)
    assert behaviour(full) == behaviour(dense_run(name))


@pytest.mark.parametrize("selector", ["keep_all", "top_k", "gaussian_k"])
@pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if policy.is_decentralised])
def test_density_one_is_dense_up_to_rounding_where_models_are_mixed(name: str, selector: str) -> None:
    """A public copy gains a rounded difference, and equals the model up to that rounding."""
    cluster, steps = random_cluster(4, 1), 12
    dense = dense_run(name).vectors
    full = run_to((name, {}), cluster, steps, descent=Descent(selector=selector, density=1.0)).vectors
    assert dense is not None
    assert full is not None
    # In each step at most: two roundings of a copy and one of each of 4 terms of the mean, of numbers below 4.
    allowed = steps * (2 + 4) * 4.0 * torch.finfo(torch.float64).eps
    for ours, theirs in zip(
        [worker.base for worker in full.workers], [worker.base for worker in dense.workers], strict=True
    ):
        assert theirs.abs().max() < 4.0
        assert (ours - theirs).abs().max() <= allowed


@pytest.mark.parametrize("name", POLICIES)
def test_one_worker_is_plain_descent(name: str) -> None:
    parameters: dict[str, Any] = {"target_batch": 1} if name == "dedloc" else {}
    run = run_to((name, parameters | usual_for(name, 1)), random_cluster(1, 0), 12)
    problem = Quadratics(CURVATURES, worker_count=1, spread=1.0, noise=0.1, block_count=3, seed=5)
    plain = Vectors(problem, Descent(is_on_grid=True), worker_count=1)
    model, created = plain.shared.clone(), []
    for step in range(12):
        _, gradient = problem.loss_and_gradient(0, step, model, 1.0)
        change = (gradient * -0.1 * 2**20).round() / 2**20
        created.append(plain.sketch(change).sums)
        model += change
    assert [event.created.sums for event in run.trace if isinstance(event, Stepped)] == created


def test_barriers_coincide_in_floating_point_up_to_rounding() -> None:
    """Additions in another order round differently; where curvature × step size ≤ 1 no step enlarges a difference."""
    cluster, rounds, descent = random_cluster(8, 4), 25, Descent()
    bsp = run_to(("bsp", {}), cluster, rounds, descent=descent)
    ssp = run_to(("ssp", {"staleness": 0}), cluster, rounds, descent=descent)
    assert bsp.vectors is not None
    assert ssp.vectors is not None
    # Per round and entry n additions and two products, each off by half a unit in the last place of at most this.
    largest = 4.0
    allowed = rounds * (8 + 2) * largest * torch.finfo(torch.float64).eps
    difference = (bsp.vectors.shared - ssp.vectors.shared).abs().max()
    assert bsp.vectors.shared.abs().max() < largest
    assert difference <= allowed
    assert difference > 0


DECLARED: list[Named] = [(name, {}) for name, policy in POLICIES.items() if policy.gate_opens_on != "anything"]


UNUSUAL: list[Named] = [
    ("pssp", {"staleness": 0, "redraw_seconds": 0.7}),
    ("aw_psp", {"sampler": "cover", "labels": ((0,), (1,), (0, 1), (2,), ()), "excludes_correlated": True}),
    ("selsync", {"threshold": 0.2, "window": 2, "flag_seconds": 0.3}),
    ("elastic_bsp", {"lookahead": 4, "monitoring": 0}),
    ("sync_switch", {"bsp_fraction": 0.05, "straggler": "exclude", "straggler_factor": 1.0}),
    ("sync_switch", {"bsp_fraction": 1, "straggler": "exclude", "straggler_factor": 1.0}),
    ("sync_switch", {"straggler": "asynchronous"}),
    ("dedloc", {"target_batch": 2.5}),
    ("dybw", {"graph": "complete"}),
    ("parameter_database", {"writes": ((0,), (1,), (2,), (0, 1), ()), "reads": ((0, 1), (1,), (1, 2), (0, 1), (2,))}),
]


@pytest.mark.parametrize("named", [*DECLARED, *UNUSUAL], ids=str)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_looking_at_fewer_gates_misses_none(named: Named, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = (Change(4.1, 2, "crash"), Change(7.3, 0, "leave"), Change(9.9, 2, "join"))
    cluster = replace(random_cluster(5, seed), changes=changes)
    options: dict[str, Any] = {"horizon": Horizon(seconds=25.0), "descent": Descent()}
    options |= {"make_judge": None} if named[0] in BROKEN else {}
    declared = simulation(named, cluster, **options)
    declared.run()
    assert any(isinstance(event, Released) for event in declared.trace[-50:])
    monkeypatch.setattr(POLICIES[named[0]], "gate_opens_on", "anything")
    # A trace that is the same has been judged.
    options["make_judge"] = None
    literal = simulation(named, cluster, **options)
    literal.run()
    assert trace_hash(declared.trace) == trace_hash(literal.trace)


def trace_hashes() -> list[str]:
    """A line for each policy: its name, and the hash of a run of it."""
    compressed = Descent(selector="random_k", density=0.5, consensus_step=0.5)
    lines = []
    for name in POLICIES:
        judged: dict[str, Any] = {"make_judge": None} if name in BROKEN else {}
        cluster, horizon = random_cluster(4, 6), Horizon(seconds=15.0)
        run = simulation((name, {}), cluster, horizon=horizon, descent=compressed, **judged)
        run.run()
        lines.append(f"{name} {trace_hash(run.trace)}")
    return lines


def test_one_seed_has_one_trace_in_every_process() -> None:
    """A new process finds what this one does after all that ran in it before; strings have other hashes there."""
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    # What is measured in a step is in the trace, and other instructions round it differently.
    arithmetic = {name: os.environ[name] for name in ARITHMETIC if name in os.environ}
    program = "from tests.experiments.policies.test_policies import trace_hashes; print(*trace_hashes(), sep='\\n')"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": other, "PYTHONPATH": ".", "PATH": "/usr/bin:/bin", **arithmetic},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout.splitlines()
    assert found == trace_hashes()
    assert len({line.split()[1] for line in found}) > len(POLICIES) / 2


COMPRESSIONS = {
    "dense": Descent(),
    "top_k": Descent(selector="top_k", density=0.34, consensus_step=0.5),
    "gaussian_k": Descent(selector="gaussian_k", density=0.34, consensus_step=0.5),
}


ENOUGH_SECONDS = 100.0
"""Longer than two of the slowest steps and four of the slowest messages take."""


def machine_of(name: str, descent: Descent, kind: type[Simulation]) -> type[RuleBasedStateMachine]:
    """Someone who slows workers down, lets them crash, leave and join, while the monitors watch."""

    class Adversary(RuleBasedStateMachine):
        @initialize(
            worker_count=st.integers(1, 5),
            latency=st.sampled_from([0.0, 0.1, 2.0]),
            shared=st.booleans(),
            seconds=st.lists(st.floats(0.5, 3.0), min_size=1, max_size=6),
        )
        def begin(self, worker_count: int, latency: float, shared: bool, seconds: list[float]) -> None:
            self.factors = [1.0] * worker_count
            usual = Recorded((tuple(seconds),))

            def durations(worker: int, step: int) -> float:
                return usual(worker, step) * self.factors[worker]

            link = Link(latency_seconds=latency, bytes_per_second=1e3, is_shared=shared)
            cluster = Cluster(worker_count, durations, upload=link, download=link)
            named = (name, usual_for(name, worker_count))
            self.run_ = simulation(named, cluster, horizon=Horizon(seconds=1e6), descent=descent, kind=kind)

        @rule(seconds=st.floats(0.1, 20.0))
        def wait(self, seconds: float) -> None:
            self.run_.advance(self.run_.view.now + seconds)

        @rule(data=st.data(), factor=st.sampled_from([0.5, 1.0, 5.0]))
        def change_speed(self, data: st.DataObject, factor: float) -> None:
            self.factors[data.draw(st.integers(0, len(self.factors) - 1))] = factor

        @precondition(lambda self: len(self.run_.view.alive) > 1)
        @rule(data=st.data(), kind=st.sampled_from(["leave", "crash"]))
        def remove(self, data: st.DataObject, kind: Any) -> None:
            worker = data.draw(st.sampled_from(sorted(self.run_.view.alive)))
            self.run_.order(Change(self.run_.view.now, worker, kind))
            self.run_.advance(self.run_.view.now)

        @precondition(lambda self: len(self.run_.view.alive) < len(self.factors))
        @rule(data=st.data())
        def bring_back(self, data: st.DataObject) -> None:
            gone = [worker for worker in range(len(self.factors)) if worker not in self.run_.view.alive]
            self.run_.order(Change(self.run_.view.now, data.draw(st.sampled_from(gone)), "join"))
            self.run_.advance(self.run_.view.now)

        def teardown(self) -> None:
            if hasattr(self, "run_"):
                view, steps = self.run_.view, list(self.run_.view.clock)
                end = view.now + ENOUGH_SECONDS
                while any(view.clock[worker] == steps[worker] for worker in view.alive):
                    assert view.now < end, "whoever is there goes on: nobody waits for ever"
                    self.run_.advance(view.now + ENOUGH_SECONDS / 20)
                self.run_.finish()

    return Adversary


def attack(
    name: str,
    compression: str,
    example_count: int,
    *,
    shrinks: bool = True,
    kind: type[Simulation] = Simulation,
) -> None:
    machine = machine_of(name, COMPRESSIONS[compression], kind).TestCase
    machine.settings = settings(
        max_examples=example_count,
        stateful_step_count=10,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        phases=set(Phase) if shrinks else {Phase.generate},
    )
    machine().runTest()


@pytest.mark.parametrize("compression", slow_except({"top_k"}, COMPRESSIONS))
@pytest.mark.parametrize("name", [name for name in POLICIES if name not in BROKEN])
def test_no_adversary_makes_a_policy_break_its_promise_or_lose_mass(name: str, compression: str) -> None:
    attack(name, compression, 3)


TOLERANT = [name for name, policy in POLICIES.items() if policy.tolerates_loss and name not in BROKEN]


@pytest.mark.parametrize("name", TOLERANT)
def test_who_comes_back_goes_on_though_messages_were_lost_with_its_earlier_life(name: str) -> None:
    parameters = {**usual_for(name, 4), **({"period": 2.0} if name == "adsp" else {})}
    lost = 0
    for crash in (2.0 + tenth / 10 for tenth in range(0, 20, 4)):
        changes = (Change(crash, 1, "crash"), Change(crash + 0.5, 1, "join"))
        cluster = replace(random_cluster(4, 1), upload=Link(latency_seconds=0.5), changes=changes)
        options: dict[str, Any] = {"descent": Descent(), "kind": LosesMessages}
        run = simulation((name, parameters), cluster, horizon=Horizon(seconds=40.0), **options)
        run.run()
        lost += sum(isinstance(event, Lost) for event in run.trace)
        assert all(times(run, Stepped, worker)[-1] > 20.0 for worker in range(4)), crash
    assert lost


@pytest.mark.slow
@pytest.mark.parametrize("name", TOLERANT)
def test_no_adversary_stops_those_who_tolerate_that_messages_are_lost(name: str) -> None:
    attack(name, "top_k", 100, kind=LosesMessages)


@dataclass(eq=False)
class WaitsForNobody(Ssp):
    """Promises what SSP does, and does not look at the others."""

    def gate(self, worker: int) -> bool:
        return self.view.is_settled(worker)


def test_the_adversary_finds_a_promise_that_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred examples miss it about once in six times, so that these do about once in ten thousand."""
    monkeypatch.setitem(POLICIES, "waits_for_nobody", WaitsForNobody)
    with pytest.raises(Violation, match="ahead"):
        attack("waits_for_nobody", "dense", 500, shrinks=False)


@pytest.mark.slow
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", [name for name in POLICIES if name not in BROKEN])
def test_no_persistent_adversary_does_either(name: str, compression: str) -> None:
    attack(name, compression, 100)
