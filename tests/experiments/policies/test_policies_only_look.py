"""Policies read the view and never write it; their questions change nothing, not even the random numbers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from sparsync.experiments.engine.clusters import Change
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Effect
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.registry import POLICIES
from tests.experiments.policies.test_policies import BROKEN, UNUSUAL, Named, random_cluster, simulation

ORDERS = ("on_step", "on_arrive", "on_alarm", "on_membership")
QUESTIONS = ("gate", "watched", "refresh")
CHANGES = (Change(4.1, 2, "crash"), Change(7.3, 0, "leave"), Change(9.9, 2, "join"))


def watch(policy: Policy) -> None:
    """Compare the view, and where the policy is only asked the policy too, before and after each call."""

    def state(*, is_asked: bool) -> int:
        view = {name: value for name, value in vars(policy.view).items() if name != "random"}
        own = {name: value for name, value in vars(policy).items() if name not in (*ORDERS, *QUESTIONS, "view")}
        return hash(pickle.dumps((view, own, policy.view.random.getstate()) if is_asked else view))

    def ordering(hook: Callable[..., Iterable[Effect]]) -> Callable[..., Iterator[Effect]]:
        def call(*arguments: Any) -> Iterator[Effect]:
            # Hooks may be generators, and the engine carries out each effect before they go on.
            before = state(is_asked=False)
            effects = iter(hook(*arguments))
            for effect in effects:
                assert state(is_asked=False) == before, hook
                yield effect
                before = state(is_asked=False)
            assert state(is_asked=False) == before, hook

        return call

    def asking(hook: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            before = state(is_asked=True)
            answer = hook(*arguments)
            assert state(is_asked=True) == before, hook
            return answer

        return call

    for name in ORDERS:
        setattr(policy, name, ordering(getattr(policy, name)))
    for name in QUESTIONS:
        setattr(policy, name, asking(getattr(policy, name)))


@pytest.mark.parametrize("named", [*((name, {}) for name in POLICIES), *UNUSUAL], ids=str)
def test_policies_do_not_write_what_they_are_shown(named: Named) -> None:
    cluster = replace(random_cluster(5, 3), changes=CHANGES)
    options: dict[str, Any] = {"make_judge": None} if named[0] in BROKEN else {}
    run = simulation(named, cluster, horizon=Horizon(seconds=15.0), descent=Descent(), **options)
    watch(run.policy)
    run.run()
    assert min(run.view.clock[worker] for worker in (1, 3, 4)) > 1


@dataclass(eq=False)
class Scribbling(Asp):
    """Writes into the view where it may order, or where it is asked."""

    where: str = "on_step"

    def on_step(self, worker: int) -> Iterable[Effect]:
        if self.where == "on_step":
            self.view.alive.discard(4)
        return super().on_step(worker)

    def gate(self, worker: int) -> bool:
        if self.where == "gate":
            self.view.random.random()
        return super().gate(worker)


@pytest.mark.parametrize("where", ["on_step", "gate"])
def test_one_that_writes_is_found(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES, "scribbling", Scribbling)
    run = simulation(
        ("scribbling", {"where": where}), random_cluster(5, 3), horizon=Horizon(seconds=9.0), descent=Descent()
    )
    watch(run.policy)
    with pytest.raises(AssertionError, match=where):
        run.run()
