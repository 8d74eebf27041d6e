"""Sums that decide events have the bits of plain addition, whatever the version of Python."""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.clusters import Cluster
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.policies.registry import POLICIES
from sparsync.verify.monitors.trace import trace_hash
from tests.experiments.policies.test_policies import BROKEN, UNUSUAL, Named, random_cluster, simulation

EVERYONE: list[Named] = [*((name, {}) for name in POLICIES), *UNUSUAL, ("lb_bsp", {"planner": "proportional"})]


def rounded_once(values: Iterable[Any], start: Any = 0) -> Any:
    """What Python 3.12 and later come close to."""
    terms = [start, *values]
    return math.fsum(terms) if any(isinstance(term, float) for term in terms) else reduce(add, terms)


def rounded_at_every_term(values: Iterable[Any], start: Any = 0) -> Any:
    """Python up to 3.11."""
    return reduce(add, values, start)


def hash_with(addition: Callable[..., Any], named: Named, monkeypatch: pytest.MonkeyPatch) -> str:
    judged: dict[str, Any] = {"make_judge": None} if named[0] in BROKEN else {}
    run = simulation(named, random_cluster(5, 1), horizon=Horizon(seconds=30.0), descent=Descent(), **judged)
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "sum", addition)
        run.run()
    return trace_hash(run.trace)


def test_tenths_keep_their_roundings() -> None:
    """Compensated, they would add up to 1."""
    assert sum_in_order([0.1] * 10) == 0.9999999999999999 != math.fsum([0.1] * 10)


@given(values=st.lists(st.floats(-1e9, 1e9)))
def test_a_sum_is_that_of_all_but_the_last_and_the_last(values: list[float]) -> None:
    assert sum_in_order(iter(values)) == (sum_in_order(values[:-1]) + values[-1] if values else 0.0)


@pytest.mark.parametrize("named", EVERYONE, ids=str)
def test_no_trace_depends_on_how_python_adds(named: Named, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {hash_with(addition, named, monkeypatch) for addition in (rounded_once, rounded_at_every_term)}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    "named",
    [("osp", {"adapts": True}), ("adsp", {"period": 2.0, "target_loss": 0.001})],
    ids=lambda named: str(named[0]),
)
def test_losses_are_added_in_worker_order_however_a_set_is_stored(
    named: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of these three, small sets of CPython go through the last one first.
    there, orders = (1, 2, 32), []
    cluster = Cluster(33, absent=frozenset(range(33)) - frozenset(there))
    run = simulation(named, cluster, horizon=Horizon(seconds=5.0), descent=Descent())

    def note(losses: Iterable[float]) -> float:
        known = {run.view.statistics[worker].loss: worker for worker in there}
        orders.append(tuple(known[loss] for loss in losses))
        return 1.0

    monkeypatch.setattr(sys.modules[type(run.policy).__module__], "sum_in_order", note)
    run.run()
    assert set(orders) == {there}
