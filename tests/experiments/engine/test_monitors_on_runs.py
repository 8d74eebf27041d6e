"""Runs of the engine keep their promises, exactly on the grid and within rounding otherwise; no change goes unseen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Drawn, Link, exponential
from sparsync.experiments.engine.core import JudgeMaker
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import KEEP, Effect, Mix, Pull
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Judge, Report, Violation, judge_trace
from sparsync.verify.monitors.residual import ResidualBound
from sparsync.verify.monitors.rows import as_rows, from_rows
from sparsync.verify.monitors.trace import (
    Applied,
    Arrived,
    Event,
    Header,
    Joined,
    Mass,
    Released,
    Sent,
    Started,
    Stepped,
)

CURVATURES = (1.0, 2.0, 0.5, 0.1, 1.5, 0.7, 0.3, 1.1)
COUNT = 4
LINKED = Cluster(
    COUNT, Constant((1.0, 1.1, 1.3, 3.0)), upload=Link(0.05, 1e3, is_shared=True), download=Link(0.05, 1e4)
)
CHURN = Cluster(
    COUNT,
    Drawn(exponential(), seed=3),
    upload=Link(0.3),
    download=Link(0.1),
    changes=(
        Change(2.0, 3, "join"),
        Change(4.0, 0, "crash"),
        Change(5.5, 0, "join"),
        Change(9.0, 1, "leave"),
        Change(9.5, 2, "crash"),
        Change(9.6, 2, "join"),
    ),
    absent=frozenset({3}),
)
Weights = Callable[[int], tuple[tuple[float, ...], ...]]


def everybody(count: int) -> tuple[tuple[float, ...], ...]:
    """All take the mean."""
    return ((1 / count,) * count,) * count


def handed_on(count: int) -> tuple[tuple[float, ...], ...]:
    """Each takes the model of the next; exact on the grid."""
    return tuple(tuple(float(other == (one + 1) % count) for other in range(count)) for one in range(count))


@dataclass(eq=False)
class Together(Policy):
    """All wait for each other and mix."""

    weights: Weights = everybody
    rounds: int = field(default=0, init=False)
    is_decentralised: ClassVar[bool] = True

    def on_step(self, worker: int) -> Iterable[Effect]:
        del worker
        if self.view.waiting != self.view.alive:
            return ()
        self.rounds += 1
        members = tuple(sorted(self.view.waiting))
        return (Mix(members, self.weights(len(members))),)

    def gate(self, worker: int) -> bool:
        return self.view.clock[worker] <= self.rounds

    def refresh(self, worker: int) -> Pull:
        del worker
        return KEEP

    def guarantee(self) -> Guarantee:
        return Guarantee(gap=1)


SHARING: dict[str, Callable[[], Policy]] = {
    "bsp": Bsp,
    "asp": Asp,
    "ssp": lambda: Ssp(2),
}


class SingleQuadratics(Quadratics):
    """In single precision."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.initial = self.initial.float()

    def loss_and_gradient(self, worker: int, step: int, model: Tensor, batch: float) -> tuple[float, Tensor]:
        loss, gradient = super().loss_and_gradient(worker, step, model, batch)
        return loss, gradient.float()


ARITHMETIC = {"grid": (Quadratics, True), "float64": (Quadratics, False), "float32": (SingleQuadratics, False)}


class Done(NamedTuple):
    header: Header
    guarantee: Guarantee
    trace: list[Event]
    end: float
    report: Report


def noting(judges: list[Judge]) -> JudgeMaker:
    """Judges as usual, which are put into the list."""

    def make_judge(header: Header, guarantee: Guarantee) -> Judge:
        judges.append(Judge(header, guarantee))
        return judges[-1]

    return make_judge


def ran(
    policy: Policy,
    *,
    arithmetic: str = "grid",
    cluster: Cluster = LINKED,
    steps: int = 6,
    **descent: Any,
) -> Done:
    """One run, judged while it went."""
    kind, is_on_grid = ARITHMETIC[arithmetic]
    problem = kind(CURVATURES, worker_count=COUNT, spread=1.0, noise=0.1, block_count=2, seed=1)
    judges: list[Judge] = []
    vectors = Vectors(problem, Descent(density=0.25, is_on_grid=is_on_grid, **descent), worker_count=COUNT)
    simulation = Simulation(policy, cluster, Horizon(steps=steps), vectors=vectors, make_judge=noting(judges))
    simulation.run()
    (judge,) = judges
    return Done(judge.header, judge.guarantee, simulation.trace, simulation.view.now, judge.report())


@pytest.mark.parametrize("arithmetic", ARITHMETIC)
@pytest.mark.parametrize("selector", [None, "top_k", "gaussian_k"])
@pytest.mark.parametrize("name", SHARING)
def test_a_run_with_a_shared_model_passes(name: str, selector: str | None, arithmetic: str) -> None:
    done = ran(SHARING[name](), arithmetic=arithmetic, selector=selector)
    assert [worker.applied for worker in done.report.workers] == [6] * COUNT
    assert done.report.in_flight == done.report.inbox == ()


@pytest.mark.parametrize(
    ("name", "arithmetic"),
    # A barrier of three adds with weights 1/3, which are not on the grid.
    [("bsp", "float64"), ("bsp", "float32"), *((name, kind) for name in ("asp", "ssp") for kind in ARITHMETIC)],
)
def test_a_run_passes_whoever_comes_and_goes(name: str, arithmetic: str) -> None:
    done = ran(SHARING[name](), arithmetic=arithmetic, cluster=CHURN, selector="top_k", momentum=0.5)
    assert done.report.workers[2].steps == 6


@pytest.mark.parametrize("arithmetic", ARITHMETIC)
def test_a_run_without_memory_passes_because_it_says_so(arithmetic: str) -> None:
    done = ran(Asp(), arithmetic=arithmetic, selector="top_k", feedback="none")
    assert not done.guarantee.remembers
    with pytest.raises(Violation, match="worker 0 forgets"):
        judge_trace(done.header, Guarantee(), done.trace, done.end)


@pytest.mark.parametrize(
    ("arithmetic", "weights"), [("grid", handed_on), ("float64", everybody), ("float32", everybody)]
)
@pytest.mark.parametrize(("selector", "step"), [(None, 1.0), ("top_k", 0.25)])
def test_a_run_that_mixes_passes(arithmetic: str, weights: Weights, selector: str | None, step: float) -> None:
    done = ran(Together(weights), arithmetic=arithmetic, selector=selector, consensus_step=step)
    assert done.report.mixed_bytes > 0
    assert done.report.largest_gap == 1


@pytest.mark.parametrize("name", SHARING)
def test_a_recorded_run_is_judged_like_a_live_one(name: str) -> None:
    done = ran(SHARING[name](), selector="top_k")
    events = from_rows(json.loads(json.dumps(as_rows(done.trace))))
    assert judge_trace(done.header, done.guarantee, events, done.end) == done.report


def test_the_report_of_a_constant_cluster_is_its_arithmetic() -> None:
    cluster = Cluster(2, Constant((1.0, 3.0)), download=Link(0.25))
    times = {}
    for name, policy in SHARING.items():
        judges: list[Judge] = []
        Simulation(policy(), cluster, Horizon(seconds=13.0), make_judge=noting(judges)).run()
        times[name] = judges[0].report()
    # A round takes 3.25 s: the fourth model arrives at 13.
    first, second = times["bsp"].workers
    assert (first.computing_seconds, first.waiting_seconds, first.transferring_seconds) == (4.0, 8.0, 1.0)
    assert (second.computing_seconds, second.waiting_seconds, second.transferring_seconds) == (12.0, 0.0, 1.0)
    # Nobody waits: a step every 1.25 s.
    assert times["asp"].workers[0].steps == 10
    assert times["asp"].participation_ratio == 10 / 4
    assert times["asp"].largest_gap == 7
    assert times["ssp"].largest_gap == 3
    for report in times.values():
        for worker in report.workers:
            assert worker.computing_seconds + worker.waiting_seconds + worker.transferring_seconds == 13.0


def test_a_stricter_promise_than_kept_is_broken() -> None:
    done = ran(Ssp(2))
    assert done.report.largest_gap == 3
    with pytest.raises(Violation, match="3 ahead of worker 3, promised are 2"):
        judge_trace(done.header, Guarantee(gap=2), done.trace, done.end)
    promised = Guarantee(staleness=done.report.largest_staleness - 1)
    with pytest.raises(Violation, match=f"stale by {done.report.largest_staleness}, promised"):
        judge_trace(done.header, promised, done.trace, done.end)


@pytest.mark.parametrize("arithmetic", ARITHMETIC)
def test_top_k_keeps_its_residual_bound_and_no_better_one(arithmetic: str) -> None:
    done = ran(Asp(), arithmetic=arithmetic, selector="top_k", steps=25)
    bound = ResidualBound(done.header, 0.25)
    judge_trace(done.header, done.guarantee, done.trace, done.end, more=(bound,))
    assert 0.1 < bound.closest < 1
    with pytest.raises(Violation, match="leaves a residual of norm"):
        judge_trace(done.header, done.guarantee, done.trace, done.end, more=(ResidualBound(done.header, 0.99),))


def places(events: list[Event]) -> list[tuple[int, str, int | None, int]]:
    """Every sum of every sketch: event, field, place in the field, place in the sketch."""
    found: list[tuple[int, str, int | None, int]] = []
    for number, event in enumerate(events):
        for name, value in event._asdict().items():
            if isinstance(value, Mass):
                found += [(number, name, None, place) for place in range(len(value.sums))]
            elif value and isinstance(value, tuple) and isinstance(value[0], Mass):
                found += [(number, name, item, place) for item, mass in enumerate(value) for place in range(2)]
    return found


def perturbed(events: list[Event], place: tuple[int, str, int | None, int], amount: float) -> list[Event]:
    number, name, item, component = place
    value = getattr(events[number], name)
    old = value if item is None else value[item]
    sums = tuple(entry + amount * (here == component) for here, entry in enumerate(old.sums))
    # A sketch that could not be one would be found by that alone.
    new = Mass(sums, max(old.size, *map(abs, sums)))
    changed = new if item is None else (*value[:item], new, *value[item + 1 :])
    fields: dict[str, Any] = {name: changed}
    return [*events[:number], events[number]._replace(**fields), *events[number + 1 :]]


CORRECT: dict[str, Callable[[], Done]] = {
    **{
        f"{name} {selector}": partial(ran, SHARING[name](), selector=selector, steps=4)
        for name in SHARING
        for selector in (None, "top_k")
    },
    "forgetful": lambda: ran(Asp(), selector="top_k", feedback="none", steps=4),
    "churn": lambda: ran(Asp(), selector="top_k", cluster=CHURN, steps=6),
    "mixing": lambda: ran(Together(handed_on), steps=4),
    "compressed mixing": lambda: ran(Together(handed_on), selector="top_k", consensus_step=0.25, steps=4),
}


@cache
def correct(name: str) -> Done:
    return CORRECT[name]()


@settings(max_examples=15)
@given(data=st.data(), exponent=st.integers(-30, 3), sign=st.sampled_from((-1, 1)))
@pytest.mark.parametrize("name", CORRECT)
def test_no_single_number_of_a_sketch_on_the_grid_can_be_changed(
    name: str, data: st.DataObject, exponent: int, sign: int
) -> None:
    done = correct(name)
    place = data.draw(st.sampled_from(places(done.trace)))
    with pytest.raises(Violation):
        judge_trace(done.header, done.guarantee, perturbed(done.trace, place, sign * 2.0**exponent), done.end)


@pytest.mark.parametrize(("arithmetic", "share"), [("float64", 1e-10), ("float32", 1e-3)])
@settings(max_examples=50)
@given(data=st.data())
def test_rounding_does_not_hide_a_change_that_matters(arithmetic: str, share: float, data: st.DataObject) -> None:
    done = rounded(arithmetic)
    place = data.draw(st.sampled_from(places(done.trace)))
    amount = share * done.header.initial.size
    with pytest.raises(Violation, match=r"rounding explains|forgets"):
        judge_trace(done.header, done.guarantee, perturbed(done.trace, place, amount), done.end)


@cache
def rounded(arithmetic: str) -> Done:
    return ran(Ssp(1), arithmetic=arithmetic, selector="top_k", steps=4)


@pytest.mark.parametrize("name", ["bsp top_k", "ssp top_k"])
@pytest.mark.parametrize(
    "kind", [Joined, Started, Stepped, Sent, Arrived, Applied, Released], ids=lambda kind: kind.__name__
)
def test_no_event_can_be_left_out(name: str, kind: type[Event]) -> None:
    done = correct(name)
    numbers = [number for number, event in enumerate(done.trace) if isinstance(event, kind)]
    # Messages may be on their way in the end: nobody misses the last addition.
    for number in numbers[: -1 if kind is Applied else None]:
        rest = [*done.trace[:number], *done.trace[number + 1 :]]
        with pytest.raises(Violation):
            judge_trace(done.header, done.guarantee, rest, done.end)


def test_a_model_of_other_precision_is_no_excuse() -> None:
    done = ran(Bsp(), arithmetic="float32")
    assert done.header.unit_roundoff > torch.finfo(torch.float32).eps
    with pytest.raises(Violation, match="rounding explains 0"):
        judge_trace(done.header._replace(unit_roundoff=0.0), done.guarantee, done.trace, done.end)
