"""A policy written from the pages alone runs in both engines; a broken one is caught on real processes, too."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor

from sparsync.experiments.engine.horizon import PolicyError
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.shared_model import SharedModel
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.racing import real
from sparsync.experiments.racing.contest import run_contestant
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.monitors.trace import Applied, Mass, Stepped
from tests.experiments.policies.test_broken_policies import POLICY_FAULTS, AppliesAgain
from tests.support.launch.real_runs import real_server, usual_race
from tests.support.pages import python_block
from tests.support.paths import ROOT

CONTRIBUTING = ROOT / "paper" / "docs" / "contributing.md"


def test_a_policy_of_the_pages_runs_in_both_engines_from_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "half_synchronous.py"
    path.write_text(python_block(CONTRIBUTING, "class HalfSynchronous"), encoding="utf-8")
    name, race = f"{path}:HalfSynchronous", usual_race(seconds=60.0)
    outcome = run_contestant(replace(race, seconds=20.0), name)
    assert min(outcome.worker_steps) > 3
    with real_server(make_policy(name, {}), race, steps=12) as (server, _):
        server.run()
        server.finish()
    assert {event.worker for event in server.trace if isinstance(event, Stepped)} == {0, 1, 2, 3}
    assert sum(isinstance(event, Applied) for event in server.trace) > 4


@pytest.mark.parametrize("fault", POLICY_FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_a_policy_stops_the_real_run(fault: type[Policy]) -> None:
    _, text = POLICY_FAULTS[fault]
    # Of who is slow depends whose message is the first that shows it.
    text = text.replace("message 0 of worker 0 waits", r"message \d+ of worker \d waits")
    with (
        real_server(fault(), usual_race(selector="top_k", density=0.25, seconds=60.0)) as (server, _),
        pytest.raises(Violation, match=text),
    ):
        server.run()


def test_a_message_cannot_be_ordered_twice_for_real() -> None:
    with (
        real_server(AppliesAgain(), usual_race(seconds=60.0)) as (server, _),
        pytest.raises(PolicyError, match=r"message \d is not in the inbox"),
    ):
        server.run()


class Faulty(SharedModel):
    """Its seventh call goes wrong."""

    calls = 0

    def is_time(self) -> bool:
        self.calls += 1
        return self.calls == 7


class AppliesTwice(Faulty):
    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        if self.is_time():
            self._shipments[messages[0]].add_to(self.model, weights[0])
        return super().apply(messages, weights)


class LosesAMessage(Faulty):
    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        return super().apply(messages, (0.0, *weights[1:]) if self.is_time() else weights)


class GivesAStaleModel(Faulty):
    """What workers read is the model before the last sum."""

    before: Tensor | None = None

    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        before = self.model.clone()
        mass = super().apply(messages, weights)
        if self.is_time():
            self.model = before
        return mass


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (AppliesTwice, "the shared model after messages"),
        (LosesAMessage, "the shared model after messages"),
        (GivesAStaleModel, r"the model of version \d+ that worker \d reads"),
    ],
)
def test_a_fault_of_the_server_stops_the_real_run(
    fault: type[Faulty], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real, "SharedModel", fault)
    assert "SharedModel(" in inspect.getsource(real.open_server)
    with (
        real_server(Bsp(), usual_race(selector="top_k", density=0.25, seconds=60.0)) as (server, _),
        pytest.raises(Violation, match=text),
    ):
        server.run()
