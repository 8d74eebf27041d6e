"""Policies and engines that are broken on purpose, one fault each: a monitor stops the run where it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pytest
from torch import Tensor

from sparsync.experiments.engine.clusters import Cluster, Constant
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Add, Drop, Effect, Pull
from sparsync.experiments.engine.horizon import Horizon, PolicyError
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.engine.view import Message
from sparsync.experiments.engine.worker_vectors import Dispatch
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.monitors.trace import Applied, Dropped, Mass, Released, Sent, Stepped

DESCENTS = {
    "grid": Descent(is_on_grid=True, selector="top_k", density=0.5),
    "floating point": Descent(selector="top_k", density=0.5),
}
FAULT_AT = 9
"""Which call of a method goes wrong: late enough for a sender to have a residual."""


def run(policy: Policy, make_vectors: Callable[..., Vectors] = Vectors, *, descent: str = "grid") -> Simulation:
    problem = Quadratics((1.0, 0.5, 2.0, 0.25), worker_count=4, spread=1.0, noise=0.2, block_count=2, seed=1)
    vectors = make_vectors(problem, DESCENTS[descent], worker_count=4)
    simulation = Simulation(policy, Cluster(4, Constant((1.0, 1.3, 2.1, 3.7))), Horizon(seconds=60.0), vectors=vectors)
    simulation.run()
    return simulation


class Faulty(Vectors):
    """Counts calls, so that one of them can go wrong."""

    calls = 0

    def is_time(self) -> bool:
        self.calls += 1
        return self.calls == FAULT_AT


class AppliesTwice(Faulty):
    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        if self.is_time():
            self.server._shipments[messages[0]].add_to(self.shared, weights[0])
        return super().apply(messages, weights)


class LosesAMessage(Faulty):
    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        return super().apply(messages, (0.0, *weights[1:]) if self.is_time() else weights)


class ReadsAStaleModel(Faulty):
    before: Tensor | None = None

    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        self.before = self.shared.clone()
        return super().apply(messages, weights)

    def read(self, worker: int, pull: Pull) -> tuple[Mass, tuple[int, ...]]:
        if self.before is None or not self.is_time():
            return super().read(worker, pull)
        self.workers[worker].base.copy_(self.before)
        return self.sketch(self.workers[worker].base), ()


class ForgetsAResidual(Faulty):
    def send(
        self, worker: int, message: int, blocks: Sequence[int] | None, *, spares_last_step: bool = False
    ) -> Dispatch:
        if self.is_time():
            self.workers[worker].residual.zero_()
        return super().send(worker, message, blocks, spares_last_step=spares_last_step)


ENGINE_FAULTS = {
    AppliesTwice: (Applied, "the shared model after messages"),
    LosesAMessage: (Applied, "the shared model after messages"),
    ReadsAStaleModel: (Released, "reads"),
    ForgetsAResidual: (Sent, "worker"),
}


@pytest.mark.parametrize("descent", DESCENTS)
@pytest.mark.parametrize("policy", [Bsp, Ssp])
@pytest.mark.parametrize("fault", ENGINE_FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_the_engine_stops_the_run_where_it_happens(
    fault: type[Faulty], policy: type[Policy], descent: str
) -> None:
    assert run(policy(), descent=descent).event_count > 50
    kind, text = ENGINE_FAULTS[fault]
    with pytest.raises(Violation, match=text) as caught:
        run(policy(), fault, descent=descent)
    assert isinstance(caught.value.trace[-1], kind)


@dataclass(eq=False)
class DropsUnannounced(Bsp):
    """Throws the first report of each round away."""

    def finished_round(self) -> Iterable[Effect]:
        for effect in super().finished_round():
            assert isinstance(effect, Add)
            yield Drop(effect.messages[:1])
            yield Add(effect.messages[1:], effect.weights[1:])


@dataclass(eq=False)
class GoesOnEarly(Bsp):
    """Nobody waits."""

    def gate(self, worker: int) -> bool:
        return worker in self.view.alive


@dataclass(eq=False)
class WaitsForNobody(Ssp):
    """Does not look at the others."""

    def gate(self, worker: int) -> bool:
        return self.view.is_settled(worker)


POLICY_FAULTS: dict[type[Policy], tuple[type, str]] = {
    DropsUnannounced: (Dropped, "drop"),
    GoesOnEarly: (Stepped, "message 0 of worker 0 waits for 1 steps"),
    WaitsForNobody: (Stepped, "ahead"),
}


@pytest.mark.parametrize("fault", POLICY_FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_a_policy_stops_the_run_where_it_happens(fault: type[Policy]) -> None:
    kind, text = POLICY_FAULTS[fault]
    with pytest.raises(Violation, match=text) as caught:
        run(fault())
    assert isinstance(caught.value.trace[-1], kind)


@dataclass(eq=False)
class AppliesAgain(Bsp):
    """Orders each report twice."""

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        return (Add((message.uid,), (0.25,)), Add((message.uid,), (0.25,)))


def test_a_message_cannot_be_ordered_twice() -> None:
    with pytest.raises(PolicyError, match="message 0 is not in the inbox"):
        run(AppliesAgain())
